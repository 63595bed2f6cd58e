/* Ring exchange over all ranks, by size: each rank sends to its right neighbour while it receives from its left one,
 * by MPI_Sendrecv.
 *
 *   exchange [--seconds S] [SIZE ...]
 *
 * With more ranks than CPUs this shows how a library waits: whoever has to run next is the one that has no CPU.
 * Data is checked before and after the timing of each size. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7 };

static int rank, ranks, size;
static char *outgoing, *incoming;

static void exchanges(int count)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int i = 0; i < count; i++)
        MPI_Sendrecv(outgoing, size, MPI_BYTE, right, TAG, incoming, size, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void check_data(uint64_t seed)
{
    rewrite(outgoing, size, seed + (uint64_t)rank);
    memset(incoming, 0x55, (size_t)size);
    exchanges(1);
    if (!is_written(incoming, size, seed + (uint64_t)((rank + ranks - 1) % ranks)))
        give_up("exchange: received data differs from what was sent");
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();

    outgoing = buffer(largest_size(&a));
    incoming = buffer(largest_size(&a));
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        check_data(1);
        struct samples *samples = time_operations(exchanges, 1, a.seconds * 1e6 / a.count);
        check_data(1000);
        if (rank == 0) {
            printf("result exchange ranks=%d size=%d ", ranks, size);
            print_samples(samples);
        }
    }
    MPI_Finalize();
    return 0;
}
