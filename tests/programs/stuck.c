/* Ranks that wait for one another: rank 0 for a message with tag 7 from the last rank, the others in a barrier. With "compute" as its
   argument the last rank computes instead, with "stop" it stops itself as a signal from outside would. */
#include "check.h"

#include <signal.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0;
    printf("ready\n");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "stop") == 0 && rank == size - 1) raise(SIGSTOP);
    if (argc > 1 && rank == size - 1)
        for (volatile int i = 0;; i++) {
        }
    if (rank == 0) OK(MPI_Recv(&value, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
    return 0;
}
