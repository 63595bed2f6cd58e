/* What the OpenSHMEM experiments share: a cell beside its floor, which the same program measures in turn with it. */
#ifndef ISTHMUS_BENCH_SHMEM_MEASURE_H
#define ISTHMUS_BENCH_SHMEM_MEASURE_H

#include "mpi_measure.h"
#include <shmem.h>

/* In turn, so that what moves about on the machine moves both. */
enum { TURNS = 5 };

/* The medians of two operations that all PEs do together, in about `budget_us`, and one result line. `parts` as for
 * time_operations. */
static inline void compare(const char *name, const char *fields, operations *work, operations *floor, int parts, double budget_us)
{
    static struct samples ours, theirs;
    ours.count = theirs.count = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct samples *samples = time_operations(floor, parts, budget_us / TURNS / 2);
        theirs.us[theirs.count++] = median(samples);
        samples = time_operations(work, parts, budget_us / TURNS / 2);
        ours.us[ours.count++] = median(samples);
    }
    if (shmem_my_pe() == 0) {
        printf("result %s %s floor=%.5f ", name, fields, median(&theirs));
        print_samples(&ours);
    }
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    shmem_init();
    pin(shmem_my_pe());
    if (shmem_my_pe() == 0)
        print_library();
}

static inline void end(void)
{
    shmem_finalize();
    MPI_Finalize();
}

#endif
