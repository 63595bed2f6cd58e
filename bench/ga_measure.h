/* What the Global Arrays experiments share: a cell beside its floor, which the same program measures in turn with it. */
#ifndef ISTHMUS_BENCH_GA_MEASURE_H
#define ISTHMUS_BENCH_GA_MEASURE_H

#include "mpi_measure.h"
#include <ga.h>
#include <macdecls.h>

/* In turn, so that what moves about on the machine moves both. */
enum { TURNS = 5 };

/* The medians of two operations that all processes do together, in about `budget_us`, and one result line. */
static inline void compare(const char *name, const char *fields, operations *work, operations *floor, double budget_us)
{
    static struct samples ours, theirs;
    ours.count = theirs.count = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct samples *samples = time_operations(floor, 1, budget_us / TURNS / 2);
        theirs.us[theirs.count++] = median(samples);
        samples = time_operations(work, 1, budget_us / TURNS / 2);
        ours.us[ours.count++] = median(samples);
    }
    if (GA_Nodeid() == 0) {
        printf("result %s %s floor=%.5f ", name, fields, median(&theirs));
        print_samples(&ours);
    }
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    GA_Initialize();
    pin(GA_Nodeid());
    if (GA_Nodeid() == 0)
        print_library();
}

static inline void end(void)
{
    GA_Terminate();
    MPI_Finalize();
}

#endif
