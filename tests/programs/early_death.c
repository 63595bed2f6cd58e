/* early_death [slow]: rank 1 dies at once; the others ask for errors to be returned a moment later, and go on. Slow: they are in the job
 * for a while before that, and in a call that lasts when rank 1 dies. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int value = 0, code;
    begin(&argc, &argv);
    int slow = argc > 1 && strcmp(argv[1], "slow") == 0;
    if (slow) usleep(600000);
    if (rank == 1) raise(SIGKILL);
    usleep(50000);
    if (slow && rank == 0) OK(MPI_Recv(&value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (slow && rank == 2) OK(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    code = MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS, "nothing was sent");
    printf("survived\n");
    end();
    return 0;
}
