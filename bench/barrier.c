/* MPI_Barrier over all ranks.
 *
 *   barrier [--seconds S] */
#define _GNU_SOURCE
#include "mpi_measure.h"

static void barriers(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    struct samples *samples = time_operations(barriers, 1, a.seconds * 1e6);
    if (rank == 0) {
        printf("result barrier ranks=%d ", ranks);
        print_samples(samples);
    }
    MPI_Finalize();
    return 0;
}
