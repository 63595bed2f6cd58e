/* torn VICTIM [mapped] [posted]: ranks 0 and 1 send each other a long message in turn, until VICTIM, one of them, is killed in
 * the middle of a copy by a fault that is injected. The other one hears of it and goes on: with itself, with fresh memory, and
 * with rank 2 if there is one. If "posted" is said, the receive is posted before and its rank computes meanwhile. Survivors
 * print "survived". */
#include "check.h"

#include <time.h>

enum { LENGTH = 8 << 20, MOST = 600, GO = MOST, END = MOST + 1 };

static void compute(int ms) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static char *take(int mapped) {
    char *memory = NULL;
    if (mapped)
        OK(MPI_Alloc_mem(LENGTH, MPI_INFO_NULL, &memory));
    else
        memory = malloc(LENGTH);
    CHECK(memory, "no memory");
    return memory;
}

static void give_back(char *memory, int mapped) {
    if (mapped)
        OK(MPI_Free_mem(memory));
    else
        free(memory);
}

/* One message between ranks 0 and 1. The code of what fails first. */
static int exchange(char *buffer, int round, int posted) {
    int code = MPI_SUCCESS, partner = 1 - rank;
    MPI_Request request;
    if (round % 2 == rank) {
        fill(buffer, LENGTH, (unsigned)round);
        if (posted) code = MPI_Recv(NULL, 0, MPI_BYTE, partner, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!code) code = MPI_Send(buffer, LENGTH, MPI_BYTE, partner, round, MPI_COMM_WORLD);
        return code;
    }
    memset(buffer, 0xee, LENGTH);
    OK(MPI_Irecv(buffer, LENGTH, MPI_BYTE, partner, round, MPI_COMM_WORLD, &request));
    if (posted) {
        code = MPI_Send(NULL, 0, MPI_BYTE, partner, GO, MPI_COMM_WORLD);
        compute(20);
    }
    int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!code && !waited) CHECK_BYTES(buffer, LENGTH, (unsigned)round);
    return code ? code : waited;
}

/* A message to `to` and one from `from`, which may be oneself, whatever memory they lie in. */
static void sound(int to, int from) {
    for (int kinds = 0; kinds < 4; kinds++) {
        char *out = take(kinds & 1), *in = take(kinds >> 1);
        MPI_Request requests[2];
        fill(out, LENGTH, (unsigned)(rank * 4 + kinds));
        memset(in, 0xee, LENGTH);
        OK(MPI_Irecv(in, LENGTH, MPI_BYTE, from, END, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out, LENGTH, MPI_BYTE, to, END, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_BYTES(in, LENGTH, (unsigned)(from * 4 + kinds));
        give_back(out, kinds & 1);
        give_back(in, kinds >> 1);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int victim = atoi(argv[1]), mapped = 0, posted = 0, code = MPI_SUCCESS, value = 0;
    for (int i = 2; i < argc; i++) {
        mapped |= strcmp(argv[i], "mapped") == 0;
        posted |= strcmp(argv[i], "posted") == 0;
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank < 2) {
        char *buffer = take(mapped);
        for (int round = 0; !code; round++) {
            CHECK(round < MOST, "nobody was killed");
            code = exchange(buffer, round, posted);
        }
        CHECK(rank != victim, "the victim goes on");
        FAILS(MPIX_ERR_PROC_FAILED, code);
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Send(buffer, LENGTH, MPI_BYTE, victim, END, MPI_COMM_WORLD));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(buffer, LENGTH, MPI_BYTE, victim, END, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        give_back(buffer, mapped);
        sound(rank, rank);
    }
    if (size > 2) {
        int other = rank == 2 ? 1 - victim : 2;
        if (rank == 2) OK(MPI_Recv(&value, 1, MPI_INT, other, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank != 2) OK(MPI_Send(&value, 1, MPI_INT, other, GO, MPI_COMM_WORLD));
        sound(other, other);
    }
    end();
    printf("survived\n");
    return 0;
}
