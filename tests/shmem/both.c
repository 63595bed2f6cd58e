// ranks: 1 4
// MPI and OpenSHMEM in one program, initialised and finalised in either order, and once more.
#include "check.h"
#include <mpi.h>

static long from_left;

int main(int argc, char **argv)
{
    int first = argc > 1;
    if (first)
        MPI_Init(&argc, &argv);
    shmem_init();
    if (!first)
        MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(rank == shmem_my_pe() && size == shmem_n_pes());
    long *heap = shmem_malloc(8192);
    for (int i = 0; i < 1024; i++)
        heap[i] = rank;
    shmem_barrier_all();
    // A message out of the heap, and one into static data.
    long got[1024];
    MPI_Sendrecv(heap, 1024, MPI_LONG, (rank + 1) % size, 0, got, 1024, MPI_LONG, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got[1023] == (rank + size - 1) % size);
    long me = rank;
    MPI_Sendrecv(&me, 1, MPI_LONG, (rank + 1) % size, 0, &from_left, 1, MPI_LONG, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    shmem_barrier_all();
    CHECK(shmem_g(&from_left, (rank + 1) % size) == rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        shmem_finalize();
        MPI_Barrier(MPI_COMM_WORLD);
        shmem_init();
        shmem_barrier_all();
        MPI_Finalize();
        shmem_p(&from_left, 5L, 0);
        shmem_barrier_all();
        shmem_finalize();
    } else {
        MPI_Finalize();
        shmem_barrier_all();
        shmem_finalize();
    }
    return 0;
}
