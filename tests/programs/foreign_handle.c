/* foreign_handle WHEN: tells of a constant of the MPICH ABI, and aborts with it, while the others wait: when MPI is there, or `before`
 * or `after` that. */
#include "check.h"

int main(int argc, char **argv) {
    MPI_Comm foreign = (MPI_Comm)0x44000000;
    char text[MPI_MAX_ERROR_STRING];
    int length, value;
    if (strcmp(argv[1], "before") == 0) MPI_Abort(foreign, 7);
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int after = strcmp(argv[1], "after") == 0;
    if (rank > 0 && !after) OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    int code = MPI_Comm_size(foreign, &value);
    FAILS(MPI_ERR_COMM, code);
    OK(MPI_Error_string(code, text, &length));
    puts(text);
    fflush(stdout);
    if (after) end();
    if (rank > 0) pause();
    MPI_Abort(foreign, 7);
    puts("not aborted");
    return 0;
}
