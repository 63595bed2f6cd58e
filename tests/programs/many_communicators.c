// ranks: 2
// more ranks: 3 8 64
/* Ten thousand communicators live at once (of more than 8 ranks one thousand), some of them used until they have taken all that they
   ever will; what they took is given back with them, and taken again by the next ones. */
#include "check.h"

#include <limits.h>

/* What docs/memory.md says of one: so many bytes, and so many for each of its ranks. */
enum { BUDGET = 16 << 10, BUDGET_A_RANK = 40 };
enum { MOST = 10000, TOGETHER = 50, CALLS = 4, ROUNDS = 12 };

static MPI_Comm comms[MOST];
static int many, used;

/* Bytes in memory, those of shared memory divided by the ranks that map them; the mean of all ranks. */
static long resident(void) {
    char line[256];
    long own = -1, all;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    FILE *maps = fopen("/proc/self/smaps_rollup", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "Pss: %ld", &own) == 1) break;
    CHECK(own > 0, "no smaps_rollup");
    fclose(maps);
    OK(MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return (all << 10) / size;
}

/* Make them all, and use them: each in a non-blocking call, many at a time, and the last ones in calls of both forms. How much
   memory those took each that had but one call, and those with more. */
static void make_and_use(long *once, long *more) {
    MPI_Request requests[TOGETHER];
    int own[TOGETHER], sums[TOGETHER];
    long before = resident();
    for (int first = 0; first < many; first += TOGETHER) {
        for (int i = 0; i < TOGETHER; i++) OK(MPI_Comm_idup(MPI_COMM_WORLD, &comms[first + i], &requests[i]));
        OK(MPI_Waitall(TOGETHER, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < TOGETHER; i++) {
            own[i] = rank + first + i;
            OK(MPI_Iallreduce(&own[i], &sums[i], 1, MPI_INT, MPI_SUM, comms[first + i], &requests[i]));
        }
        OK(MPI_Waitall(TOGETHER, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < TOGETHER; i++) CHECK(sums[i] == size * (first + i) + size * (size - 1) / 2, "%d", sums[i]);
    }
    *once = (resident() - before) / many;
    before = resident();
    for (int i = many - used; i < many; i++)
        for (int call = 0; call < CALLS; call++) {
            int words[] = {call * i, call - i};
            OK(MPI_Bcast(&words[0], 1, MPI_INT, 0, comms[i]));
            OK(MPI_Ibcast(&words[1], 1, MPI_INT, 0, comms[i], &requests[0]));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            CHECK(words[0] == call * i && words[1] == call - i, "%d, %d", words[0], words[1]);
        }
    *more = (resident() - before) / used;
}

static void discard(void) {
    for (int i = 0; i < many; i++) OK(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    many = size > 8 ? MOST / 10 : MOST;
    used = size > 8 ? many / 4 : many / 20;
    long once, more, held[ROUNDS], budget = BUDGET + BUDGET_A_RANK * size, before = resident();
    for (int round = 0; round < ROUNDS; round++) {
        make_and_use(&once, &more);
        held[round] = resident() - before;
        if (round == 0) CHECK(once + more < budget, "%ld bytes each, %ld with more calls, not %ld", once, more, budget);
        if (round == 0 && rank == 0) printf("%ld bytes each, %ld with more calls\n", once, more);
        discard();
        /* Nobody's memory is taken back while another holds it. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    /* Pages are touched for some rounds until those that were given back are enough; how many rounds depends on who was quicker.
       What leaks leaks in each of them. */
    long leaked = LONG_MAX;
    for (int round = 2; round < ROUNDS; round++) {
        long grown = (held[round] - held[round - 2]) / (2 * many);
        if (grown < leaked) leaked = grown;
    }
    CHECK(leaked < 64, "%ld bytes each: %ld, then %ld bytes", leaked, held[ROUNDS - 3], held[ROUNDS - 1]);
    end();
    return 0;
}
