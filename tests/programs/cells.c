// ranks: 2 4
// more ranks: 8
/* Messages of the lengths that travel in cells, which are answered in: to and fro, in bursts both ways, in floods that are
   not answered, before their receives and cut short, probed for, scattered. What arrives is what was sent, whoever has
   the cells, and some are in use where messages are answered. */
#include "counter.h"

enum { LONGEST = (128 << 10) + 1, BURST = 12, FLOOD = 200 };

static const int lengths[] = {511, 512, 513, 2048, 4095, 4096, 4097, 8192, 30001, 65536, 131071, 131072, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char *buffers[2 * BURST];
static int other;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

static void count_cells(void) {
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    handle = counter(session, "in_cells");
    OK(MPI_T_pvar_start(session, handle));
}

static unsigned long long in_cells(void) {
    unsigned long long value;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

/* The seed of a message from `from`. */
static unsigned seed(int from, int number) { return (unsigned)(from * 131 + number * 17 + 5); }

static void give(int length, int number) {
    fill(buffers[0], (size_t)length, seed(rank, number));
    OK(MPI_Send(buffers[0], length, MPI_BYTE, other, number, MPI_COMM_WORLD));
    /* Ours again: what the other has is not what is written here now. */
    memset(buffers[0], 0xEE, (size_t)length);
}

static void take(int length, int number, int how) {
    unsigned char *at = buffers[BURST];
    MPI_Status status;
    MPI_Message message;
    MPI_Datatype both, pairs;
    int got = length;
    memset(at, 0x55, LONGEST + 1);
    switch (how) {
    case 0: OK(MPI_Recv(at, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, number, MPI_COMM_WORLD, &status)); break;
    case 1:
        OK(MPI_Mprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        OK(MPI_Mrecv(at, length, MPI_BYTE, &message, &status));
        break;
    case 2: /* cut short */
        got = length / 2;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv(at, got, MPI_BYTE, other, number, MPI_COMM_WORLD, &status));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        break;
    default: /* every byte but each third */
        got = length / 2 * 2;
        OK(MPI_Type_contiguous(2, MPI_BYTE, &both));
        OK(MPI_Type_create_resized(both, 0, 3, &pairs));
        OK(MPI_Type_commit(&pairs));
        unsigned char *apart = malloc((size_t)length * 2 + 8);
        OK(MPI_Recv(apart, length / 2 + 1, pairs, other, number, MPI_COMM_WORLD, &status));
        for (int i = 0; i < got; i++) at[i] = apart[i / 2 * 3 + i % 2];
        free(apart);
        OK(MPI_Type_free(&pairs));
        OK(MPI_Type_free(&both));
    }
    CHECK_BYTES(at, got, seed(other, number));
    if (how < 3) CHECK(at[got] == 0x55, "%d bytes, and one more", got);
}

static void to_and_fro(int length, int how, int rounds) {
    for (int number = 0; number < rounds; number++) {
        if (rank < other) give(length, number);
        take(length, number, how);
        if (rank > other) give(length, number);
    }
}

/* Both at once; the receives are there before, or long after. */
static void burst(int length, int late, int mixed) {
    MPI_Request requests[2 * BURST];
    int taking = 0, giving = 0;
    for (int step = 0; step < 2; step++)
        for (int number = 0; number < BURST; number++) {
            int bytes = mixed ? lengths[(number + length) % LENGTHS] : length;
            if (step == late) {
                OK(MPI_Irecv(buffers[BURST + number], bytes, MPI_BYTE, other, number, MPI_COMM_WORLD, &requests[BURST + number]));
                taking++;
            } else {
                fill(buffers[number], (size_t)bytes, seed(rank, number));
                OK(MPI_Isend(buffers[number], bytes, MPI_BYTE, other, number, MPI_COMM_WORLD, &requests[number]));
                giving++;
            }
        }
    CHECK(taking == BURST && giving == BURST, "%d and %d", taking, giving);
    OK(MPI_Waitall(2 * BURST, requests, MPI_STATUSES_IGNORE));
    for (int number = 0; number < BURST; number++)
        CHECK_BYTES(buffers[BURST + number], mixed ? lengths[(number + length) % LENGTHS] : length, seed(other, number));
}

/* In one direction, and a short answer at the end. */
static void flood(int length, int from) {
    for (int number = 0; number < FLOOD; number++)
        if (rank % 2 == from)
            give(length, number);
        else
            take(length, number, number % 7 == 6);
    int token = 0;
    if (rank % 2 == from)
        OK(MPI_Recv(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        OK(MPI_Send(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    count_cells();
    other = rank ^ 1;
    for (int i = 0; i < 2 * BURST; i++) buffers[i] = malloc(LONGEST + 1);
    for (int i = 0; i < LENGTHS; i++)
        for (int how = 0; how < 4; how++) to_and_fro(lengths[i], how, 20);
    to_and_fro(8192, 0, 600);
    unsigned long long before = in_cells();
    CHECK(before > 0, "none of %d messages that were answered", 80 * LENGTHS + 600);
    for (int i = 0; i < LENGTHS; i++)
        for (int late = 0; late < 2; late++) burst(lengths[i], late, 0);
    for (int i = 0; i < 2 * LENGTHS; i++) burst(i, i % 2, 1);
    for (int from = 0; from < 2; from++) {
        flood(1024, from);
        flood(20000, from);
        to_and_fro(20000, from, 20);
    }
    to_and_fro(4096, 0, 300);
    CHECK(in_cells() > before, "none after the floods");
    for (int i = 0; i < 2 * BURST; i++) free(buffers[i]);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
