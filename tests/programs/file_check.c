// ranks: 2 3
// mpiexec: --set check=1
/* Where programs are checked, members of a file that make different collective calls all get an error, and the file can be used afterwards. */
#include "check.h"

int main(int argc, char **argv) {
    char path[256], text[MPI_MAX_ERROR_STRING];
    int value = 0, length, code;
    long number = getpid();
    MPI_File fh;
    MPI_Request request;
    begin(&argc, &argv);
    value = rank;
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-check-%ld", number);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    code = rank ? MPI_File_sync(fh) : MPI_File_write_at_all(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "MPI_File_write_at_all on rank 0") && strstr(text, "MPI_File_sync on rank"), "%s", text);
    FAILS(MPI_ERR_NOT_SAME, code);
    if (rank == 0) {
        code = MPI_File_read_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    } else {
        OK(MPI_File_iwrite_all(fh, &value, 1, MPI_INT, &request));
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    FAILS(MPI_ERR_NOT_SAME, code);
    OK(MPI_File_write_at_all(fh, 4 * rank, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_ordered(fh, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(fh, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(value == rank, "%d", value);
    OK(MPI_File_close(&fh));
    end();
}
