// ranks: 2 3 4
// mpiexec: --set single_copy_max_cost=1000000
/* Messages that may go at once, and are announced: when their receiver finds that better, as it tries again and again, or unasked, of
   ranks that take turns where some have a CPU to themselves. They match, arrive and end as if they had gone at once, whether their
   receives are there or not. The last of an odd number of ranks is there to take turns. */
#define _GNU_SOURCE
#include "counter.h"

#include <sched.h>

#include <unistd.h>

enum { EAGER = 128 << 10, LONGEST = (256 << 10) - 2, LARGE = 1 << 20, MANY = 150, PATIENCE = 4000, QUEUED = 40, GUARD = 64 };

static const int lengths[] = {16384, 20000, 65534, 65536, 100000, EAGER, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char out[LARGE], in[LARGE + GUARD], *queued[QUEUED];
static int peer;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle announced, copied;

static unsigned long long value(MPI_T_pvar_handle handle) {
    unsigned long long value;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static unsigned seed(int from, int number) { return (unsigned)(from * 977 + number * 13 + 1); }

static void send(int length, int number) {
    fill(out, (size_t)length, seed(rank, number));
    OK(MPI_Send(out, length, MPI_BYTE, peer, number, MPI_COMM_WORLD));
    /* Ours again. */
    memset(out, 0xEE, (size_t)length);
}

static void is_here(const unsigned char *at, int length, int number) {
    long wrong = wrong_byte(at, (size_t)length, seed(peer, number));
    CHECK(wrong < 0, "byte %ld of %d in message %d", wrong, length, number);
}

/* To and fro, with room for more than comes: nothing is written there. */
static void there_and_back(int length, int number) {
    if (rank % 2 == 0) send(length, number);
    memset(in, 0x55, (size_t)length + GUARD);
    OK(MPI_Recv(in, length + GUARD, MPI_BYTE, number % 3 ? peer : MPI_ANY_SOURCE, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    is_here(in, length, number);
    for (int g = 0; g < GUARD; g++) CHECK(in[length + g] == 0x55, "%d", g);
    if (rank % 2 != 0) send(length, number);
}

static void to_and_fro(int length) {
    for (int i = 0; i < MANY; i++) there_and_back(length, i);
}

/* Both of a pair, or neither. */
static int both(int own) {
    int theirs;
    OK(MPI_Sendrecv(&own, 1, MPI_INT, peer, 0, &theirs, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return own && theirs;
}

/* Until both learn what is better by having messages announced, at the same time: what comes next is announced, too, for a while. That
   their comparisons ever meet is likely, and not certain. */
static int are_announced(int length) {
    for (int i = 0; i < PATIENCE; i++) {
        unsigned long long before = value(announced);
        there_and_back(length, i);
        if (both(value(announced) > before)) return 1;
    }
    return 0;
}

/* Both send before either receives, as programs do that rely on short messages going at once. */
static void head_on(int length) {
    for (int i = 0; i < MANY; i++) {
        send(length, i);
        OK(MPI_Recv(in, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        is_here(in, length, i);
    }
}

/* Many before their receives, which come in another order; some are cut short, some probed for, some in two rows. */
static void before_their_receives(int length) {
    MPI_Request requests[QUEUED];
    MPI_Datatype rows;
    MPI_Message message;
    MPI_Status status;
    OK(MPI_Type_vector(2, length / 2, length / 2 + 8, MPI_BYTE, &rows));
    OK(MPI_Type_commit(&rows));
    for (int i = 0; i < QUEUED; i++) {
        fill(queued[i], (size_t)length, seed(rank, i));
        OK(MPI_Isend(queued[i], length, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]));
    }
    /* What has come by then came before its receive. */
    OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, QUEUED, NULL, 0, MPI_BYTE, peer, QUEUED, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = QUEUED - 1; i >= 0; i--) {
        memset(in, 0x55, (size_t)length + GUARD);
        switch (i % 4) {
        case 0: OK(MPI_Recv(in, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); break;
        case 1:
            OK(MPI_Mprobe(peer, i, MPI_COMM_WORLD, &message, &status));
            OK(MPI_Mrecv(in, length, MPI_BYTE, &message, &status));
            break;
        case 2:
            OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
            FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in, length / 2, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
            is_here(in, length / 2, i);
            CHECK(in[length / 2] == 0x55, "beyond");
            continue;
        default:
            OK(MPI_Recv(in, 1, rows, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            memmove(in + length / 2, in + length / 2 + 8, (size_t)(length / 2));
            is_here(in, length / 2 * 2, i);
            continue;
        }
        is_here(in, length, i);
    }
    OK(MPI_Waitall(QUEUED, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Type_free(&rows));
}

/* One that must wait for its receive can be cancelled. */
static void cancel(int length) {
    MPI_Request request;
    MPI_Status status;
    int is_cancelled[QUEUED + 1];
    if (rank % 2 == 0) {
        for (int i = 0; i <= QUEUED; i++) {
            fill(out, (size_t)length, seed(rank, i));
            if (i < QUEUED) OK(MPI_Isend(out, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request));
            else OK(MPI_Issend(out, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request));
            OK(MPI_Cancel(&request));
            OK(MPI_Wait(&request, &status));
            OK(MPI_Test_cancelled(&status, &is_cancelled[i]));
        }
        CHECK(is_cancelled[QUEUED], "nobody receives it");
        OK(MPI_Send(is_cancelled, QUEUED, MPI_INT, peer, QUEUED + 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(is_cancelled, QUEUED, MPI_INT, peer, QUEUED + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < QUEUED; i++) {
            if (is_cancelled[i]) continue;
            OK(MPI_Recv(in, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            is_here(in, length, i);
        }
    }
}

/* What is cancelled does not arrive; the others do. */
static void cancelled(int length) {
    int nothing;
    if (peer < size) cancel(length);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &nothing, MPI_STATUS_IGNORE));
    CHECK(!nothing, "something is left");
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    int provided;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    announced = counter(session, "rendezvous_sent");
    copied = counter(session, "cma_bytes");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    peer = rank ^ 1;
    for (int i = 0; i < QUEUED; i++) CHECK((queued[i] = malloc(LONGEST)), "memory");
    if (peer < size) {
        /* Always announced. */
        memset(out, 1, LARGE);
        if (rank % 2 == 0) OK(MPI_Ssend(out, LARGE, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
        OK(MPI_Recv(in, LARGE, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank % 2 != 0) OK(MPI_Ssend(out, LARGE, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
        to_and_fro(LARGE);
    }
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "affinity");
    int can_copy = value(copied) > 0 && !getenv("ISTHMUS_FAULT"), cpus = CPU_COUNT(&allowed);
    int is_partly_crowded = size > cpus && 2 * size <= 3 * cpus;
    int are_tried = size <= cpus && peer < size && both(can_copy), parts_announced = 0;
    unsigned long long wished = 0;
    for (int i = 0; i < LENGTHS; i++) {
        /* Longer ones wait for their receives where each rank has a CPU. */
        if (lengths[i] > EAGER && !is_partly_crowded) continue;
        if (peer < size) {
            unsigned long long before = value(announced);
            to_and_fro(lengths[i]);
            wished += value(announced) - before;
            void (*const parts[])(int) = {to_and_fro, head_on, before_their_receives};
            for (int part = 0; part < 3; part++) {
                int is_announced = are_tried && are_announced(lengths[i]);
                before = value(announced);
                parts[part](lengths[i]);
                parts_announced += is_announced && value(announced) - before >= QUEUED / 2;
            }
        }
        cancelled(lengths[i]);
    }
    /* With a CPU for each rank they are tried, where some have one to themselves all of the longer ones are announced, else none is. */
    if (size > cpus && !is_partly_crowded) CHECK(wished == 0, "%llu announced", wished);
    else if (are_tried) CHECK(parts_announced >= LENGTHS, "%d parts had announced messages", parts_announced);
    else if (peer < size && can_copy && is_partly_crowded) CHECK(wished >= 5 * MANY, "%llu announced", wished);
    for (int i = 0; i < QUEUED; i++) free(queued[i]);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
