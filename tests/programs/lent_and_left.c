/* lent_and_left SEED mapped|own: collectives of long data, in which ranks read each other's memory, until one of them dies in the middle. A rank whose call
 * fails uses its memory for something else at once; one whose call succeeds has the right data. The job's exit code is the dead
 * rank's. Every survivor prints "survived". */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { LENGTH = 150000, KINDS = 8 };

static void die(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

static unsigned seed_of(int round, int from, int to) { return (unsigned)(round * 101 + from * 11 + to); }

/* The combined contributions of all for one rank. */
static void check_combined(const unsigned char *at, int round, int to) {
    for (size_t i = 0; i < LENGTH; i++) {
        unsigned char all = 0;
        for (int from = 0; from < size; from++) all ^= byte_of(seed_of(round, from, to), i);
        CHECK(at[i] == all, "byte %zu of %d is wrong", i, LENGTH);
    }
}

/* What a call gives to this rank, if it succeeds. */
static int call(int kind, int round, int root, unsigned char *mine, unsigned char *theirs) {
    int personal = kind == 2 || kind == 3 || kind == 7, code = MPI_SUCCESS;
    for (int to = 0; to < (personal ? size : 1); to++) fill(mine + to * LENGTH, LENGTH, seed_of(round, rank, to));
    switch (kind) {
    case 0: code = MPI_Bcast(rank == root ? mine : theirs, LENGTH, MPI_BYTE, root, MPI_COMM_WORLD); break;
    case 1: code = MPI_Allgather(mine, LENGTH, MPI_BYTE, theirs, LENGTH, MPI_BYTE, MPI_COMM_WORLD); break;
    case 2: code = MPI_Alltoall(mine, LENGTH, MPI_BYTE, theirs, LENGTH, MPI_BYTE, MPI_COMM_WORLD); break;
    case 3: code = MPI_Scatter(mine, LENGTH, MPI_BYTE, theirs, LENGTH, MPI_BYTE, root, MPI_COMM_WORLD); break;
    case 4: code = MPI_Gather(mine, LENGTH, MPI_BYTE, theirs, LENGTH, MPI_BYTE, root, MPI_COMM_WORLD); break;
    case 5: code = MPI_Allreduce(mine, theirs, LENGTH, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD); break;
    case 6: code = MPI_Reduce(mine, theirs, LENGTH, MPI_BYTE, MPI_BXOR, root, MPI_COMM_WORLD); break;
    case 7: code = MPI_Reduce_scatter_block(mine, theirs, LENGTH, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD); break;
    }
    /* It is ours again, whatever became of the call. */
    memset(mine, 0xee, (size_t)LENGTH * (size_t)size);
    if (code != MPI_SUCCESS) return code;
    if (kind == 0 && rank != root) CHECK_BYTES(theirs, LENGTH, seed_of(round, root, 0));
    if (kind == 3) CHECK_BYTES(theirs, LENGTH, seed_of(round, root, rank));
    if (kind == 1 || kind == 2 || (kind == 4 && rank == root))
        for (int from = 0; from < size; from++)
            CHECK_BYTES(theirs + from * LENGTH, LENGTH, seed_of(round, from, kind == 2 ? rank : 0));
    if (kind == 5 || kind == 7 || (kind == 6 && rank == root)) check_combined(theirs, round, kind == 7 ? rank : 0);
    return code;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 3, "%d arguments", argc);
    unsigned seed = (unsigned)atoi(argv[1]);
    int class = 0, dead = (int)(seed % (unsigned)size), code = MPI_SUCCESS;
    unsigned char *mine = NULL, *theirs = NULL;
    size_t bytes = (size_t)LENGTH * (size_t)size;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (strcmp(argv[2], "mapped") == 0) {
        OK(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &mine));
    } else {
        mine = malloc(bytes);
    }
    theirs = malloc(bytes);
    CHECK(mine && theirs, "%zu bytes", bytes);
    for (int i = 0; i < 4; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == dead) {
        for (unsigned i = 0; i < seed; i++) next_random(&seed);
        struct itimerval soon = {.it_value.tv_usec = 2000 + (long)(next_random(&seed) % 30000)};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    for (int round = 0; code == MPI_SUCCESS; round++) code = call(round % KINDS, round, (round / 2) % size, mine, theirs);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
    printf("survived\n");
    fflush(stdout);
    end();
    return 0;
}
