/* Two ranks that send each other a message in turn, many times: for frames that are lost between nodes once the connection has proved good. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 4000; i++)
        if (i % 2 == rank)
            OK(MPI_Send(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    end();
    return 0;
}
