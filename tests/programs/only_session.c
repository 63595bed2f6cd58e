/* A program that opened only a session uses MPI_COMM_WORLD: it is told that this needs MPI_Init. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
    MPI_Session session;
    int size;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("not reached\n");
    return 0;
}
