// ranks: 2 3 5 8
// more ranks: 4 13 17 33
/* Non-blocking collectives: more under way than there is room for, completed in any order, of all sizes, among blocking ones;
   on several communicators in another order on each rank; calls that fail on one rank; calls that go on while a rank computes; and arrays of
   counts that are gone before a call is over. */
#include "check.h"

#include <stdlib.h>

enum { MANY = 44, KINDS = 11, MOST = 20000 };
static const int COUNTS[] = {1, 28, 29, 300, 1000, 8192, MOST};

struct call {
    int kind, count, root, *in, *out;
};

static int value(int from, int to, int number, int i) { return from * 1009 + to * 97 + number * 31 + i % 777; }

static int is_personal(int kind) { return kind == 4 || kind == 7 || kind == 8; }

static void start(struct call *call, int number, MPI_Comm comm, MPI_Datatype gapped, MPI_Request *request) {
    call->kind = number % KINDS;
    call->count = COUNTS[number * 5 % 7];
    if (is_personal(call->kind) && call->count > 3000) call->count = 3000;
    if (call->kind == 6 && call->count > 8192) call->count = 8192;
    call->root = number % size;
    int blocks = is_personal(call->kind) || call->kind == 6 ? size : 1, total = blocks * call->count;
    if (total < size) total = size;
    call->in = malloc(sizeof(int) * total * 2);
    call->out = malloc(sizeof(int) * total * 2);
    for (int to = 0; to < blocks; to++)
        for (int i = 0; i < call->count; i++)
            call->in[to * call->count + i] = value(rank, is_personal(call->kind) ? to : 0, number, i);
    memset(call->out, 0x5a, sizeof(int) * total * 2);
    int *in = call->in, *out = call->out, count = call->count, root = call->root;
    switch (call->kind) {
    case 0: OK(MPI_Ibarrier(comm, request)); break;
    case 1:
        /* Every second rank keeps its elements with gaps. */
        if (rank == root)
            for (int i = 0; i < count; i++) out[rank % 2 ? 2 * i : i] = in[i];
        OK(MPI_Ibcast(out, count, rank % 2 ? gapped : MPI_INT, root, comm, request));
        break;
    case 2: OK(MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 3:
        memcpy(out, in, sizeof(int) * (size_t)count);
        OK(MPI_Iallreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm, request));
        break;
    case 4: OK(MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, comm, request)); break;
    case 5: OK(MPI_Ireduce(in, out, count, MPI_INT, MPI_SUM, root, comm, request)); break;
    case 6: OK(MPI_Iallgather(in, count, MPI_INT, out, count, MPI_INT, comm, request)); break;
    case 7:
        memcpy(out, in, sizeof(int) * (size_t)total);
        OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, comm, request));
        break;
    case 8: OK(MPI_Iscatter(in, count, MPI_INT, out, count, MPI_INT, root, comm, request)); break;
    case 9: OK(MPI_Iscan(in, out, count, MPI_INT, MPI_SUM, comm, request)); break;
    case 10: OK(MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, root, comm, request)); break;
    }
}

static int sum(int number, int i, int ranks) {
    int sum = 0;
    for (int from = 0; from < ranks; from++) sum += value(from, 0, number, i);
    return sum;
}

static int expected(const struct call *call, int number, int block, int i) {
    switch (call->kind) {
    case 1: return value(call->root, 0, number, i);
    case 2: case 3: case 5: return sum(number, i, size);
    case 4: case 7: return value(block, rank, number, i);
    case 6: return value(block, 0, number, i);
    case 8: return value(call->root, rank, number, i);
    case 9: return sum(number, i, rank + 1);
    default: return value(i, 0, number, 0);
    }
}

static void verify(struct call *call, int number) {
    int kind = call->kind, is_gapped = kind == 1 && rank % 2;
    int blocks = kind == 4 || kind == 6 || kind == 7 ? size : 1, count = kind == 10 ? size : call->count;
    int is_here = kind > 0 && (rank == call->root || (kind != 5 && kind != 10));
    if (kind == 10 && count > call->count) count = call->count;
    for (int block = 0; block < blocks && is_here; block++)
        for (int i = 0; i < count; i++) {
            int at = is_gapped ? 2 * i : block * count + i, should = expected(call, number, block, i);
            CHECK(call->out[at] == should, "call %d of kind %d, block %d, element %d of %d: %d, not %d", number, kind, block,
                  i, count, call->out[at], should);
            if (is_gapped) CHECK(call->out[at + 1] == 0x5a5a5a5a, "a gap was written to");
        }
    free(call->in);
    free(call->out);
}

static void mixed(MPI_Comm comm, MPI_Datatype gapped, int round) {
    struct call calls[MANY];
    MPI_Request requests[MANY];
    int all = 0;
    for (int i = 0; i < MANY; i++) {
        start(&calls[i], round * MANY + i, comm, gapped, &requests[i]);
        if (i % 10 != 5) continue;
        OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm));
        CHECK(all == size * (size - 1) / 2, "%d", all);
    }
    for (int i = 0; i < MANY; i++) {
        int at = round % 2 ? i : MANY - 1 - i, done = 0;
        while (round == 2 && !done) OK(MPI_Test(&requests[at], &done, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
        verify(&calls[at], round * MANY + at);
    }
}

/* Types and communicators are freed while calls go on. */
static void freed(void) {
    MPI_Comm comm;
    MPI_Datatype gapped;
    MPI_Request requests[12];
    int data[12][2000];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped));
    OK(MPI_Type_commit(&gapped));
    for (int call = 0; call < 12; call++) {
        for (int i = 0; i < 2000; i++) data[call][i] = rank == call % size ? call + i : -1;
        OK(MPI_Ibcast(data[call], 1000, gapped, call % size, comm, &requests[call]));
    }
    OK(MPI_Type_free(&gapped));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Waitall(12, requests, MPI_STATUSES_IGNORE));
    for (int call = 0; call < 12; call++)
        for (int i = 0; i < 2000; i += 2) CHECK(data[call][i] == call + i, "call %d: %d at %d", call, data[call][i], i);
}

/* Rank 0 shows more than there is room for on many communicators before it comes to the one that the others wait for first. */
static void apart(void) {
    enum { COMMS = 7, CALLS = 8, LONG = 200000 };
    static char data[COMMS][CALLS][LONG];
    MPI_Comm comms[COMMS];
    MPI_Request requests[COMMS * CALLS];
    for (int c = 0; c < COMMS; c++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]));
        for (int i = 0; i < 3; i++) {
            OK(MPI_Ibarrier(comms[c], &requests[0]));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        }
    }
    for (int turn = 0; turn < COMMS; turn++) {
        int c = rank == 0 ? turn : COMMS - 1 - turn;
        for (int i = 0; i < CALLS; i++) {
            if (rank == 0) fill(data[c][i], LONG, (unsigned)(c * CALLS + i));
            OK(MPI_Ibcast(data[c][i], LONG, MPI_BYTE, 0, comms[c], &requests[c * CALLS + i]));
        }
        if (rank > 0) OK(MPI_Waitall(CALLS, &requests[c * CALLS], MPI_STATUSES_IGNORE));
    }
    if (rank == 0) OK(MPI_Waitall(COMMS * CALLS, requests, MPI_STATUSES_IGNORE));
    for (int c = 0; c < COMMS; c++) {
        for (int i = 0; i < CALLS; i++) CHECK_BYTES(data[c][i], LONG, (unsigned)(c * CALLS + i));
        OK(MPI_Comm_free(&comms[c]));
    }
}

/* The last rank's call is wrong, as the call with this number. */
static void failing(int wrong) {
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int number = 1; number < 8; number++) {
        int own = rank + number, all = -1;
        if (number == wrong && rank == size - 1) {
            FAILS(MPI_ERR_ROOT, MPI_Ibcast(&own, 1, MPI_INT, size, comm, &request));
            continue;
        }
        if (number == wrong) {
            /* No rank needs the last one for it: a rank that has not learned yet that it left the call completes it. */
            int class = MPI_SUCCESS, code = MPI_Ibcast(&own, 1, MPI_INT, 0, comm, &request);
            if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            OK(MPI_Error_class(code, &class));
            CHECK(class == MPI_ERR_OTHER || (class == MPI_SUCCESS && own == number), "class %d, %d", class, own);
            continue;
        }
        OK(MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_SUM, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(all == size * number + size * (size - 1) / 2, "call %d: %d", number, all);
    }
    OK(MPI_Comm_free(&comm));
}

/* The others need the last rank's part, and are told that it does not come. */
static void missing(void) {
    MPI_Comm comm;
    MPI_Request request;
    int own = 1, all = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int number = 1; number < 12; number++) {
        int is_wrong = number == 6;
        if (is_wrong && rank == size - 1) {
            FAILS(MPI_ERR_BUFFER, MPI_Iallreduce(&own, &own, 1, MPI_INT, MPI_SUM, comm, &request));
            continue;
        }
        OK(MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_SUM, comm, &request));
        if (is_wrong) {
            FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
            continue;
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(all == size, "call %d: %d", number, all);
    }
    OK(MPI_Comm_free(&comm));
}

/* The last rank computes, and tests another request now and then: so the others' calls end, which need its part of many steps. */
static void computing(void) {
    enum { LONG = 300000 };
    static double own[LONG], all[LONG];
    MPI_Request sum, word;
    int last = size - 1, told = 0, done = 0;
    for (int i = 0; i < LONG; i++) own[i] = rank + i % 5;
    OK(MPI_Iallreduce(own, all, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sum));
    if (rank == last) {
        double computed = 0;
        OK(MPI_Irecv(&told, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &word));
        while (!done) {
            for (int i = 1; i < 2000; i++) computed += 1.0 / i;
            OK(MPI_Test(&word, &done, MPI_STATUS_IGNORE));
        }
        CHECK(told == 7 && computed > 8, "told %d, %f", told, computed);
    }
    OK(MPI_Wait(&sum, MPI_STATUS_IGNORE));
    for (int i = 0; i < LONG; i++) CHECK(all[i] == size * (size - 1) / 2 + size * (i % 5), "%f at %d", all[i], i);
    if (rank == 0 && last > 0) {
        told = 7;
        OK(MPI_Send(&told, 1, MPI_INT, last, 3, MPI_COMM_WORLD));
    }
}

/* Arrays of counts that a program frees when the call returns, as mpi4py does where it converts them. */
static void counts_that_go(void) {
    int total = 0, *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size);
    for (int from = 0; from < size; from++) {
        counts[from] = 1 + from * 200;
        displs[from] = total;
        total += counts[from];
    }
    int count = counts[rank], *own = malloc(sizeof(int) * total), *in = malloc(sizeof(int) * total), *out = malloc(sizeof(int) * total);
    MPI_Request requests[2];
    for (int i = 0; i < total; i++) own[i] = rank;
    for (int i = 0; i < total; i++) in[i] = out[i] = -1;
    OK(MPI_Iallgatherv(own, count, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD, &requests[0]));
    for (int to = 0; to < size; to++) counts[to] = displs[to] = 0x40000000;
    free(counts);
    free(displs);
    int *lengths = malloc(4 * sizeof(int) * size), *places = lengths + size, *expected = places + size, *from = expected + size;
    for (int other = 0; other < size; other++) {
        lengths[other] = expected[other] = total / size;
        places[other] = from[other] = other * (total / size);
    }
    OK(MPI_Ialltoallv(own, lengths, places, MPI_INT, out, expected, from, MPI_INT, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 4 * size; i++) lengths[i] = 0x40000000;
    free(lengths);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int other = 0, at = 0; other < size; other++)
        for (int i = 0; i < 1 + other * 200; i++, at++) CHECK(in[at] == other, "%d at %d of rank %d", in[at], i, other);
    for (int i = 0; i < total / size * size; i++) CHECK(out[i] == i / (total / size), "%d at %d", out[i], i);
    free(own);
    free(in);
    free(out);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Datatype gapped;
    MPI_Comm comm;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped));
    OK(MPI_Type_commit(&gapped));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int round = 0; round < 4; round++) mixed(comm, gapped, round);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Type_free(&gapped));
    freed();
    apart();
    for (int wrong = 2; wrong < 6; wrong++) failing(wrong);
    missing();
    for (int round = 0; round < 5; round++) computing();
    for (int round = 0; round < 20; round++) counts_that_go();
    end();
    return 0;
}
