/* What all processes do at once, beside what it is made of.
 *
 *   ga_together [--seconds S] [KIND:N ...]
 *
 * KIND is
 *   readinc   NGA_Read_inc on one element; the floor is the CPU's instruction on one number
 *   sync      GA_Sync; the floor is MPI_Barrier
 *   create    NGA_Create of N bytes for each process, and GA_Destroy; the floor is MPI_Barrier
 * Without Global Arrays: MPI_Fetch_and_op and MPI_Win_flush, MPI_Barrier, MPI_Win_allocate and MPI_Win_free. */
#define _GNU_SOURCE
#include "ga_measure.h"
#include <stdatomic.h>

static int size;

#define OPERATION(name, what)                                   \
    static void name(int count)                                 \
    {                                                           \
        for (int i = 0; i < count; i++) {                       \
            what;                                               \
        }                                                       \
    }

static const char *const kinds[] = {"readinc", "sync", "create"};
enum { KINDS = 3 };

OPERATION(barrier, MPI_Barrier(MPI_COMM_WORLD))

#ifdef WITH_GA

static int counter, zero[1];
static _Atomic long *number;

OPERATION(read_inc, NGA_Read_inc(counter, zero, 1))
OPERATION(instruction, atomic_fetch_add(number, 1))
OPERATION(synchronize, GA_Sync())
OPERATION(create, int dims[1] = {size / 8 * ranks}; GA_Destroy(NGA_Create(C_DBL, 1, dims, "short-lived", NULL)))

static operations *const work[] = {read_inc, synchronize, create}, *const floors[] = {instruction, barrier, barrier};

static void make(void)
{
    void *blocks[MAX_CPUS];
    counter = NGA_Create(C_LONG, 1, (int[]){1}, "counter", NULL);
    if (!counter || ARMCI_Malloc(blocks, 64))
        give_up("ga_together: no memory");
    number = blocks[0];
}

static void measure(int kind, const char *fields, double budget_us)
{
    compare("ga_together", fields, work[kind], floors[kind], budget_us);
}

#else

static MPI_Win counter;
static long one = 1, before;
static char *memory;

OPERATION(fetch_and_op, MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, counter); MPI_Win_flush(0, counter))
OPERATION(create, MPI_Win window; MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window); MPI_Win_free(&window))

static operations *const work[] = {fetch_and_op, barrier, create};

static void make(void)
{
    long *at;
    MPI_Win_allocate(sizeof *at, sizeof *at, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &counter);
    *at = 0;
    MPI_Win_lock_all(0, counter);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure(int kind, const char *fields, double budget_us)
{
    measure_alone("ga_together", fields, work[kind], budget_us);
}

#endif

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    make();
    for (int i = 0; i < a.count; i++)
        for (int k = 0; k < KINDS; k++)
            if (cell_is(a.cells[i], kinds[k])) {
                char fields[80];
                size = cell_size(a.cells[i]);
                snprintf(fields, sizeof fields, "operation=%s size=%d ranks=%d", kinds[k], size, ranks);
                measure(k, fields, a.seconds * 1e6 / a.count);
            }
#ifndef WITH_GA
    MPI_Win_unlock_all(counter);
    MPI_Win_free(&counter);
#endif
    end();
    return 0;
}
