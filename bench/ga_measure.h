/* What the Global Arrays experiments share: a cell beside its floor, which the same program measures in turn with it. Compiled without
 * -DWITH_GA, for libraries that have no Global Arrays, the programs measure what MPI has in its place. */
#ifndef ISTHMUS_BENCH_GA_MEASURE_H
#define ISTHMUS_BENCH_GA_MEASURE_H

#include "mpi_measure.h"
#ifdef WITH_GA
#include <armci.h>
#include <ga.h>
#include <macdecls.h>
#endif

/* In turn, so that what moves about on the machine moves both. */
enum { TURNS = 5 };

static int rank, ranks;

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
    if (rank == 0) {
        printf("result %s %s floor=%.5f ", name, fields, median(&theirs));
        print_samples(&ours);
    }
}

/* The median of an operation of MPI, and one result line. */
static inline void measure_alone(const char *name, const char *fields, operations *work, double budget_us)
{
    static struct samples all;
    all.count = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct samples *samples = time_operations(work, 1, budget_us / TURNS);
        all.us[all.count++] = median(samples);
    }
    if (rank == 0) {
        printf("result %s %s ", name, fields);
        print_samples(&all);
    }
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef WITH_GA
    GA_Initialize();
    /* For upstream's Global Arrays (docs/numbers/ga.md, "Beside upstream"), which take buffers from there. */
    MA_init(C_DBL, 16 << 20, 16 << 20);
#endif
    pin(rank);
    if (rank == 0)
        print_library();
}

static inline void end(void)
{
#ifdef WITH_GA
    GA_Terminate();
#endif
    MPI_Finalize();
}

#endif
