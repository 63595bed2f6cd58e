/* Rank 1 dies at once; the others ask for errors to be returned a moment later, and go on. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int value = 0, code;
    begin(&argc, &argv);
    if (rank == 1) raise(SIGKILL);
    usleep(150000);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    code = MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS, "nothing was sent");
    printf("survived\n");
    end();
    return 0;
}
