/* abort_some SCENARIO: MPI_Abort of a communicator that has not all ranks ends its members, and the others go on and print "survived".
   half: the upper half; self: the last rank alone; between: ranks 1 to 3, by an intercommunicator; waited: rank 0 waits for the
   last rank, and its error handler ends the job. */
#include "check.h"

int main(int argc, char **argv) {
    const char *scenario = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    int value = 0, first = 2;
    MPI_Comm part = MPI_COMM_NULL;
    if (strcmp(scenario, "half") == 0) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank >= 2, 0, &part));
    } else if (strcmp(scenario, "between") == 0) {
        MPI_Comm local;
        first = 1;
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : rank == 1 ? 1 : 2, 0, &local));
        if (rank > 0) OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank == 1 ? 2 : 1, 5, &part));
    } else {
        first = size - 1;
        OK(MPI_Comm_dup(MPI_COMM_SELF, &part));
    }
    /* A death while a survivor is still in a collective call would be an error of that call. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank < first) OK(MPI_Send(&rank, 1, MPI_INT, size - 1, 6, MPI_COMM_WORLD));
    for (int other = 0; other < first && rank == size - 1; other++) OK(MPI_Recv(&value, 1, MPI_INT, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == size - 1) MPI_Abort(part, 7);
    if (strcmp(scenario, "waited") == 0) OK(MPI_Recv(&value, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank >= first) OK(MPI_Recv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* Those that are left work with one another. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int other = 1; other < first && rank == 0; other++) OK(MPI_Recv(&value, 1, MPI_INT, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank > 0) OK(MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    printf("survived\n");
    end();
    return 0;
}
