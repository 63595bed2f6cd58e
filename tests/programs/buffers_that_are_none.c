/* buffers_that_are_none send|closed: rank 0 sends from memory that is not mapped; ranks close descriptors that are the library's. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(2, BYTES);
    if (argc > 1 && strcmp(argv[1], "send") == 0) {
        if (rank == 0) MPI_Send((void *)4096, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        for (int i = 3; i < 256; i++) close(i);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
