/* Ranks that outnumber the CPUs: none is bound, neither at first nor after it has yielded for a while, and each has begun on the CPU whose turn it
 * was. `turns looks` takes the latter for a failure of this launch only, with exit code 3: the kernel may have moved a rank before it looked. */
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>

enum { ROUNDS = 20000 };

static cpu_set_t allowed(void) {
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity");
    return set;
}

/* The CPU that comes `turn` places behind the first, going round. */
static int cpu_of(const cpu_set_t *set, int turn) {
    int cpu = -1;
    for (turn %= CPU_COUNT(set); turn >= 0; turn--)
        do cpu++;
        while (!CPU_ISSET(cpu, set));
    return cpu;
}

int main(int argc, char **argv) {
    cpu_set_t before = allowed();
    begin(&argc, &argv);
    int here = sched_getcpu(), began = here == cpu_of(&before, rank), all = 0;
    cpu_set_t after = allowed();
    CHECK(CPU_EQUAL(&before, &after), "MPI_Init leaves %d of %d CPUs", CPU_COUNT(&after), CPU_COUNT(&before));
    CHECK(size > CPU_COUNT(&before), "%d ranks on %d CPUs share none", size, CPU_COUNT(&before));
    for (int round = 0; round < ROUNDS; round++) {
        int got = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
        OK(MPI_Sendrecv(&round, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == round, "%d in round %d", got, round);
    }
    after = allowed();
    CHECK(CPU_EQUAL(&before, &after), "%d of %d CPUs after %d rounds", CPU_COUNT(&after), CPU_COUNT(&before), ROUNDS);
    OK(MPI_Allreduce(&began, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    end();
    return all || argc < 2 ? 0 : 3;
}
