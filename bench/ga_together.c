/* What all processes do at once, beside what it is made of.
 *
 *   ga_together [--seconds S] [KIND:N ...]
 *
 * KIND is
 *   readinc   NGA_Read_inc on one element; the floor is the CPU's instruction on one number
 *   sync      GA_Sync; the floor is MPI_Barrier
 *   create    NGA_Create of N bytes for each process, and GA_Destroy; the floor is MPI_Barrier */
#define _GNU_SOURCE
#include "ga_measure.h"
#include <armci.h>
#include <stdatomic.h>

static int counter, zero[1], size;
static _Atomic long *number;

#define OPERATION(name, what)                                   \
    static void name(int count)                                 \
    {                                                           \
        for (int i = 0; i < count; i++) {                       \
            what;                                               \
        }                                                       \
    }

OPERATION(read_inc, NGA_Read_inc(counter, zero, 1))
OPERATION(instruction, atomic_fetch_add(number, 1))
OPERATION(synchronize, GA_Sync())
OPERATION(barrier, MPI_Barrier(MPI_COMM_WORLD))
OPERATION(create, int dims[1] = {size / 8 * GA_Nnodes()}; GA_Destroy(NGA_Create(C_DBL, 1, dims, "short-lived", NULL)))

static const struct {
    const char *kind;
    operations *work, *floor;
} kinds[] = {{"readinc", read_inc, instruction}, {"sync", synchronize, barrier}, {"create", create, barrier}};

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    void *blocks[MAX_CPUS];
    counter = NGA_Create(C_LONG, 1, (int[]){1}, "counter", NULL);
    if (!counter || ARMCI_Malloc(blocks, 64))
        give_up("ga_together: no memory");
    number = blocks[0];
    for (int i = 0; i < a.count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (cell_is(a.cells[i], kinds[k].kind)) {
                char fields[80];
                size = cell_size(a.cells[i]);
                snprintf(fields, sizeof fields, "operation=%s size=%d ranks=%d", kinds[k].kind, size, GA_Nnodes());
                compare("ga_together", fields, kinds[k].work, kinds[k].floor, a.seconds * 1e6 / a.count);
            }
    end();
    return 0;
}
