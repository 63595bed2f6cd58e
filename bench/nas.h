/* What the kernels of nas.c share: the generator of random numbers, memory, and sums over all ranks. */
#ifndef ISTHMUS_BENCH_NAS_H
#define ISTHMUS_BENCH_NAS_H

#include "mpi_measure.h"

#include <math.h>

static int rank, ranks;

/* x := 5^13 x modulo 2^46, and x / 2^46 as the result (RNR-94-007, section 2.3). */
#define NAS_SEED 314159265ull
#define NAS_MULTIPLIER 1220703125ull
#define NAS_MASK ((1ull << 46) - 1)

static inline double nas_next(uint64_t *x)
{
    *x = *x * NAS_MULTIPLIER & NAS_MASK;
    return (double)*x * 0x1p-46;
}

/* The state after so many numbers. */
static inline uint64_t nas_after(uint64_t steps)
{
    uint64_t state = NAS_SEED;
    for (uint64_t power = NAS_MULTIPLIER; steps; steps >>= 1, power = power * power & NAS_MASK)
        if (steps & 1)
            state = state * power & NAS_MASK;
    return state;
}

/* Memory comes from MPI_Alloc_mem. */
static int nas_allocates;
/* Told when a kernel's timing begins (1) and ends (0). */
static void (*nas_times)(int begins);

static inline void *memory(size_t bytes)
{
    void *at = NULL;
    if (nas_allocates)
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &at);
    else
        at = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
    if (!at)
        give_up("nas: out of memory");
    /* Not what memset returns: gcc takes that for a pointer to `at`. */
    memset(at, 0, bytes);
    return at;
}

/* What memory() gave, or NULL. */
static inline void give_back(void *at)
{
    if (at && nas_allocates)
        MPI_Free_mem(at);
    else
        free(at);
}

static inline void sum_of_all(double *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline double begin_together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (nas_times)
        nas_times(1);
    return now_us();
}

/* What the slowest rank has taken. */
static inline double taken_since(double begin)
{
    double us = now_us() - begin;
    if (nas_times)
        nas_times(0);
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return us;
}

/* The kernel is at work: a watchdog that sees no output for long takes us for dead. */
static inline void still_here(const char *kernel, int iteration)
{
    if (rank == 0) {
        printf("nas: %s, iteration %d\n", kernel, iteration);
        fflush(stdout);
    }
}

static inline int is_near(double value, double wanted, double tolerance)
{
    return fabs(value - wanted) <= tolerance * fabs(wanted);
}

#endif
