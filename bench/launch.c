/* Init and finalize and nothing else: `isthmus bench launch` times the whole command. */
#define _GNU_SOURCE
#include "mpi_measure.h"

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        print_library();
    MPI_Finalize();
    return 0;
}
