// ranks: 2 4
// mpiexec: --set check=1
/* Where programs are checked, writes of several ranks to the same bytes are told when all synchronise or close the file, unless they were made in atomic
 * mode or in an order that the file knows; so are members that open different files. */
#include "check.h"

static char path[256];
static MPI_File fh;

static void told(int code, const char *what, const char *who) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    FAILS(MPI_ERR_IO, code);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, what) && strstr(text, who) && strstr(text, path), "%s", text);
}

static void synchronise(void) {
    OK(MPI_File_sync(fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(fh));
}

int main(int argc, char **argv) {
    int values[8] = {0}, class;
    MPI_Request request;
    MPI_Datatype every;
    begin(&argc, &argv);
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-overlap-%ld", number);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    /* Records in turn, by several calls, and a rank's own bytes again. */
    OK(MPI_Type_create_resized(MPI_INT, 0, 4 * size, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, values, 8, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write(fh, values, 3, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at(fh, 9, values, 3, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_iwrite_at(fh, 1000 + 5 * rank, values, 5, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_write_ordered(fh, values, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    /* The same bytes by all, one after the other. */
    for (int turn = 0; turn < size; turn++) {
        synchronise();
        if (turn == rank) OK(MPI_File_write_at(fh, 2000, values, 8, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    synchronise();
    /* ... and in atomic mode. */
    OK(MPI_File_set_atomicity(fh, 1));
    OK(MPI_File_write_at(fh, 3000, values, 8, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(fh, 3000, values, 8, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_atomicity(fh, 0));
    synchronise();
    /* Reads are no writes. */
    OK(MPI_File_read_at(fh, 0, values, 8, MPI_BYTE, MPI_STATUS_IGNORE));
    synchronise();
    /* One byte too many. */
    int last = rank == size - 1;
    OK(MPI_File_write_at(fh, 16 * rank, values, last ? 16 : 17, MPI_BYTE, MPI_STATUS_IGNORE));
    told(MPI_File_sync(fh), "bytes 16 to 16 ", "MPI_File_write_at on rank 0 and MPI_File_write_at on rank 1");
    OK(MPI_File_sync(fh));
    /* Records of the last rank, one of which the first rank writes, too, by another call. */
    OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, rank == 0 ? MPI_INT : every, "native", MPI_INFO_NULL));
    if (last) {
        OK(MPI_File_seek(fh, 1, MPI_SEEK_SET));
        OK(MPI_File_iwrite(fh, values, 7, MPI_INT, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (rank == 0) OK(MPI_File_write_at(fh, 2 * size - 1, values, 1, MPI_INT, MPI_STATUS_IGNORE));
    told(MPI_File_sync(fh), "MPI_File_write_at on rank 0", "MPI_File_iwrite on rank ");
    /* One after the other, as collective calls on the file order them: that is told, and no error. */
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    if (last) OK(MPI_File_write_at(fh, 0, values, 8, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(fh, 7, values, rank == 0, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(fh));
    /* ... unless there are others without an order. */
    if (last) OK(MPI_File_write_at(fh, 0, values, 8, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(fh, 7, values, rank == 0, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at(fh, 100, values, 1, MPI_INT, MPI_STATUS_IGNORE));
    told(MPI_File_sync(fh), "bytes 400 to 403 ", "MPI_File_write_at on rank 0 and MPI_File_write_at on rank ");
    /* In one collective call. */
    OK(MPI_File_write_at_all(fh, 0, values, 1, MPI_INT, MPI_STATUS_IGNORE));
    told(MPI_File_close(&fh), "bytes 0 to 3 ", "MPI_File_write_at_all on rank 0 and MPI_File_write_at_all on rank ");
    CHECK(fh == MPI_FILE_NULL, "it is open");
    OK(MPI_Type_free(&every));
    if (on_one_node()) {
        char other[300];
        snprintf(other, sizeof other, "%s%s", path, last ? "-other" : "");
        int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
        int code = MPI_File_open(MPI_COMM_WORLD, other, amode, MPI_INFO_NULL, &fh);
        CHECK(code != MPI_SUCCESS, "opened");
        OK(MPI_Error_class(code, &class));
        CHECK(class == MPI_ERR_NOT_SAME, "class %d", class);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        unlink(other);
    }
    end();
}
