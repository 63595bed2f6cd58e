/* Sends to itself, and asks the tool how many sends it has seen. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int sent = 0;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        int out = round, in = -1;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
        MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent += in == round;
    }
    printf("sent %d, seen %d\n", sent, MPI_Pcontrol(42));
    MPI_Finalize();
    return 0;
}
