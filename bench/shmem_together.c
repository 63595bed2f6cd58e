/* What several PEs do at once: atomics on one cell, signals, collectives; beside the CPU's instruction, and MPI.
 *
 *   shmem_together [--seconds S] [KIND:N ...]
 *
 * KIND is
 *   contended    every PE adds to one cell of 8 bytes; the floor is the CPU's instruction by all of them
 *   signal       half round trip of N bytes, put with a signal and waited for; the floor is MPI_Send and MPI_Recv
 *   barrier      shmem_barrier_all; the floor is MPI_Barrier
 *   broadcast    N bytes, roots in turn; the floor is MPI_Bcast
 *   reduce       a sum of N bytes of longs; the floor is MPI_Allreduce */
#define _GNU_SOURCE
#include "shmem_measure.h"
#include <stdatomic.h>

static int me, pes, size;
static char *from, *to;
static uint64_t *signals;
static long *cell;
static _Atomic long *mapped;

#define OPERATION(name, what)                                   \
    static void name(int count)                                 \
    {                                                           \
        for (int i = 0; i < count; i++) {                       \
            what;                                               \
        }                                                       \
    }

OPERATION(contended, shmem_long_atomic_inc(cell, 0))
OPERATION(instruction, atomic_fetch_add(mapped, 1))
OPERATION(barrier, shmem_barrier_all())
OPERATION(mpi_barrier, MPI_Barrier(MPI_COMM_WORLD))
OPERATION(broadcast, shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, (size_t)size, i % pes))
OPERATION(mpi_broadcast, MPI_Bcast(from, size, MPI_BYTE, i % pes, MPI_COMM_WORLD))
OPERATION(reduce, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)to, (long *)from, (size_t)size / 8))
OPERATION(mpi_reduce, MPI_Allreduce(from, to, size / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD))

/* Only ever set to what it has not been before. */
static uint64_t round_trip;

static void signal_rounds(int count)
{
    for (int i = 0; i < count; i++) {
        round_trip++;
        if (me == 0) {
            shmem_putmem_signal(to, from, (size_t)size, signals, round_trip, SHMEM_SIGNAL_SET, 1);
            shmem_signal_wait_until(signals, SHMEM_CMP_EQ, round_trip);
        } else if (me == 1) {
            shmem_signal_wait_until(signals, SHMEM_CMP_EQ, round_trip);
            shmem_putmem_signal(to, from, (size_t)size, signals, round_trip, SHMEM_SIGNAL_SET, 0);
        }
    }
}

static void message_rounds(int count)
{
    for (int i = 0; i < count; i++) {
        if (me == 0) {
            MPI_Send(from, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(to, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (me == 1) {
            MPI_Recv(to, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(from, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

static const struct {
    const char *kind;
    operations *work, *floor;
    int parts;
} kinds[] = {
    {"contended", contended, instruction, 1}, {"signal", signal_rounds, message_rounds, 2}, {"barrier", barrier, mpi_barrier, 1},
    {"broadcast", broadcast, mpi_broadcast, 1}, {"reduce", reduce, mpi_reduce, 1},
};

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    size_t room = (size_t)largest_size(&a);
    from = shmem_align(4096, room);
    to = shmem_align(4096, room);
    signals = shmem_calloc(1, sizeof *signals);
    cell = shmem_calloc(1, sizeof *cell);
    if (!from || !to || !signals || !cell)
        give_up("shmem_together: no memory");
    memset(from, 1, room);
    mapped = shmem_ptr(cell, 0);
    shmem_barrier_all();
    for (int i = 0; i < a.count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (cell_is(a.cells[i], kinds[k].kind)) {
                char fields[80];
                size = cell_size(a.cells[i]);
                snprintf(fields, sizeof fields, "operation=%s size=%d ranks=%d", kinds[k].kind, size, pes);
                compare("shmem_together", fields, kinds[k].work, kinds[k].floor, kinds[k].parts, a.seconds * 1e6 / a.count);
            }
    end();
    return 0;
}
