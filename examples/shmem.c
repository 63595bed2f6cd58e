/* A wave on a string, with OpenSHMEM: each processing element has a part of the string and puts its ends into its neighbours' memory, with a
 * signal that they are there.
 *
 *   oshcc -O2 shmem.c -o shmem -lm
 *   oshrun -n 4 ./shmem [points [steps]]
 *
 * The string is a whole sine wave, which is the same again after as many steps as there are points. */
#include <math.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double worst, worst_of_all;

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), all = shmem_n_pes();
    int points = (argc > 1 ? atoi(argv[1]) : 256) / all * all, own = points / all, steps = argc > 2 ? atoi(argv[2]) : points;
    int left = (me + all - 1) % all, right = (me + 1) % all;

    /* Two rows of own points with one neighbour's on each side, for even and odd steps; and a signal for each side. */
    double *now = shmem_calloc((size_t)own + 2, sizeof *now), *next = shmem_calloc((size_t)own + 2, sizeof *next);
    uint64_t *signals = shmem_calloc(2, sizeof *signals);
    double *before = calloc((size_t)own + 2, sizeof *before);
    for (int i = 0; i <= own + 1; i++)
        now[i] = before[i] = sin(2 * acos(-1.0) * (me * own + i - 1) / points);
    /* At rest in the beginning: the first step is half of a usual one. */
    shmem_barrier_all();

    for (int step = 1; step <= steps; step++) {
        for (int i = 1; i <= own; i++)
            next[i] = step == 1 ? (now[i - 1] + now[i + 1]) / 2 : now[i - 1] + now[i + 1] - before[i];
        shmem_double_put_signal(next + own + 1, next + 1, 1, &signals[1], (uint64_t)step, SHMEM_SIGNAL_SET, left);
        shmem_double_put_signal(next, next + own, 1, &signals[0], (uint64_t)step, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&signals[0], SHMEM_CMP_GE, (uint64_t)step);
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_GE, (uint64_t)step);
        for (int i = 0; i <= own + 1; i++)
            before[i] = now[i];
        for (int i = 0; i <= own + 1; i++)
            now[i] = next[i];
        /* Nobody's ends are overwritten before they are read. */
        shmem_barrier_all();
    }
    for (int i = 1; i <= own; i++) {
        double wanted = sin(2 * acos(-1.0) * (me * own + i - 1) / points) * cos(2 * acos(-1.0) * steps / points);
        worst = fmax(worst, fabs(now[i] - wanted));
    }
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &worst_of_all, &worst, 1);
    if (me == 0)
        printf("%d points, %d steps on %d processing elements: off by %.1e at most\n", points, steps, all, worst_of_all);
    if (worst_of_all > 1e-9)
        shmem_global_exit(1);
    shmem_free(signals), shmem_free(next), shmem_free(now);
    free(before);
    shmem_finalize();
    return 0;
}
