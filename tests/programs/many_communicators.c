// ranks: 2 3
// more ranks: 8
/* Ten thousand communicators live at once, some of them used until they have taken all that they ever will; what they took is
   given back with them, and taken again by the next ten thousand. */
#include "check.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY = 10000, TOGETHER = 50, USED = 500, CALLS = 4, BUDGET = 64 << 10, ROUNDS = 12 };

static MPI_Comm comms[MANY];

/* Bytes in memory, those in shared memory included. */
static long resident(void) {
    long all, here;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &all, &here) == 2, "statm");
    fclose(file);
    return here * sysconf(_SC_PAGESIZE);
}

/* Make them all, and use them: each in a non-blocking call, many at a time, and the last ones in blocking calls too. How much
   memory those took each that had but one call, and those with more. */
static void make_and_use(long *once, long *more) {
    MPI_Request requests[TOGETHER];
    int own[TOGETHER], sums[TOGETHER];
    long before = resident();
    for (int first = 0; first < MANY; first += TOGETHER) {
        for (int i = 0; i < TOGETHER; i++) OK(MPI_Comm_idup(MPI_COMM_WORLD, &comms[first + i], &requests[i]));
        OK(MPI_Waitall(TOGETHER, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < TOGETHER; i++) {
            own[i] = rank + first + i;
            OK(MPI_Iallreduce(&own[i], &sums[i], 1, MPI_INT, MPI_SUM, comms[first + i], &requests[i]));
        }
        OK(MPI_Waitall(TOGETHER, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < TOGETHER; i++) CHECK(sums[i] == size * (first + i) + size * (size - 1) / 2, "%d", sums[i]);
    }
    *once = (resident() - before) / MANY;
    before = resident();
    for (int i = MANY - USED; i < MANY; i++)
        for (int call = 0; call < CALLS; call++) {
            int word = call * i;
            OK(MPI_Bcast(&word, 1, MPI_INT, 0, comms[i]));
            CHECK(word == call * i, "%d", word);
        }
    *more = (resident() - before) / USED;
}

static void discard(void) {
    for (int i = 0; i < MANY; i++) OK(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long once, more, held[ROUNDS], before = resident();
    for (int round = 0; round < ROUNDS; round++) {
        make_and_use(&once, &more);
        held[round] = resident() - before;
        if (round == 0) CHECK(once + more < BUDGET, "%ld bytes each, %ld with more calls", once, more);
        if (round == 0 && rank == 0) printf("%ld bytes each, %ld with more calls\n", once, more);
        discard();
        /* Nobody's memory is taken back while another holds it. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    /* Pages are touched for some rounds until those that were given back are enough; how many rounds depends on who was quicker.
       What leaks leaks in each of them. */
    long leaked = LONG_MAX;
    for (int round = 2; round < ROUNDS; round++) {
        long grown = (held[round] - held[round - 2]) / (2 * MANY);
        if (grown < leaked) leaked = grown;
    }
    CHECK(leaked < 64, "%ld bytes each: %ld, then %ld bytes", leaked, held[ROUNDS - 3], held[ROUNDS - 1]);
    end();
    return 0;
}
