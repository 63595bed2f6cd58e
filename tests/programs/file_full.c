// ranks: 1 2 5
// mpiexec: --set file_fault=enospc=12
/* A file system that fills up: the collective write that meets it first fails on all ranks alike, whichever of them wrote; nothing hangs. */
#include "check.h"

enum { RECORD = 100, RECORDS = 50 };

int main(int argc, char **argv) {
    char path[256], records[RECORD * RECORDS] = {0}, text[MPI_MAX_ERROR_STRING];
    long number = getpid();
    int failed = 0, length;
    MPI_File fh;
    MPI_Datatype one, mine;
    begin(&argc, &argv);
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-full-%ld", number);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPI_Type_contiguous(RECORD, MPI_BYTE, &one));
    OK(MPI_Type_create_resized(one, 0, RECORD * size, &mine));
    OK(MPI_Type_commit(&mine));
    OK(MPI_File_set_view(fh, RECORD * rank, MPI_BYTE, mine, "native", MPI_INFO_NULL));
    for (int call = 0; call < 40; call++) {
        MPI_Request request;
        int code, class = MPI_SUCCESS, least, most;
        if (call % 2) {
            OK(MPI_File_iwrite_all(fh, records, sizeof records, MPI_BYTE, &request));
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            code = MPI_File_write_all(fh, records, sizeof records, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        if (code != MPI_SUCCESS) {
            failed++;
            OK(MPI_Error_class(code, &class));
            OK(MPI_Error_string(code, text, &length));
            CHECK(strstr(text, path) && strstr(text, "No space left on device"), "%s", text);
        }
        OK(MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        OK(MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(least == most && (class == MPI_SUCCESS || class == MPI_ERR_NO_SPACE), "call %d: %d to %d", call, least, most);
    }
    CHECK(failed > 0, "it never filled up");
    OK(MPI_Type_free(&mine));
    OK(MPI_Type_free(&one));
    OK(MPI_File_close(&fh));
    CHECK(access(path, F_OK) != 0, "it is left");
    end();
}
