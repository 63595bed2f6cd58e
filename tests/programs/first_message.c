/* The first messages of 2 ranks, once the test says so: each shows in a folder that it runs, and waits for the file `go` there. With a
   second argument rank 1 computes for so many milliseconds before it receives. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 1 && size == 2, "%d arguments", argc);
    char name[4096];
    snprintf(name, sizeof name, "%s/ready-%d", argv[1], rank);
    FILE *ready = fopen(name, "w");
    CHECK(ready, "%s", name);
    fclose(ready);
    snprintf(name, sizeof name, "%s/go", argv[1]);
    while (access(name, F_OK) != 0) usleep(10000);
    if (rank == 1 && argc > 2) usleep(1000 * (useconds_t)atoi(argv[2]));
    int other = -1;
    if (rank == 0) OK(MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
    OK(MPI_Recv(&other, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 1) OK(MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
    CHECK(other == 1 - rank, "%d", other);
    end();
    return 0;
}
