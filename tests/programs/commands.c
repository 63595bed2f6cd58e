/* For launches of several commands: prints rank, size and MPI_APPNUM; checks that all share one world. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *appnum = NULL, flag = 0, sum = 0;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag));
    CHECK(flag, "MPI_APPNUM is set under mpiexec");
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2, "sum %d", sum);
    char line[256];
    snprintf(line, sizeof line, "rank %d of %d, command %d, %s", rank, size, *appnum, argc > 1 ? argv[1] : "-");
    puts(line);
    end();
    return 0;
}
