/* printed HOW: rank 0 prints a line and waits in a barrier; rank 1 ends the job meanwhile: abort, signal, or exit (_exit). With own, rank 0 has
 * given its output a buffer before, which is lost. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char buffer[1 << 16];
    const char *how = argc > 1 ? argv[1] : "";
    if (argc > 2 && strcmp(argv[2], "own") == 0) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    begin(&argc, &argv);
    if (rank == 0) printf("printed before the end\n");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 1 && strcmp(how, "signal") == 0) raise(SIGKILL);
    if (rank == 1 && strcmp(how, "exit") == 0) _exit(3);
    /* Not in MPI, which would print what is left. */
    if (rank == 0) sleep(30);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
    return 0;
}
