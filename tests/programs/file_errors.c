// ranks: 1 3
/* Files: what is wrong is told by the class that the standard names, on all ranks of a collective call, with file and reason. */
#include <sys/stat.h>

#include "check.h"

static char folder[200], path[256], name[300];
static MPI_File fh;
static int heard;

static void handler(MPI_File *file, int *code, ...) {
    (void)code;
    CHECK(*file == fh, "another file");
    heard++;
}

#define SAYS(class, call)                                   \
    do {                                                           \
        int says_code = (call), says_class, says_length;           \
        char says_text[MPI_MAX_ERROR_STRING];                      \
        CHECK(says_code != MPI_SUCCESS, "went well");              \
        OK(MPI_Error_class(says_code, &says_class));               \
        OK(MPI_Error_string(says_code, says_text, &says_length));  \
        CHECK(says_class == (class), "%d: %s", says_class, says_text); \
    } while (0)

static const char *in_folder(const char *file) {
    snprintf(name, sizeof name, "%s/%s", folder, file);
    return name;
}

static void opening(void) {
    MPI_Comm self = MPI_COMM_WORLD;
    SAYS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(self, in_folder("nothing"), MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_BAD_FILE, MPI_File_open(self, folder, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_BAD_FILE, MPI_File_open(self, folder, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(self, in_folder("no/file"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_AMODE, MPI_File_open(self, path, MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_AMODE, MPI_File_open(self, path, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_AMODE, MPI_File_open(self, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_AMODE, MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_FILE_EXISTS, MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(in_folder("nothing"), MPI_INFO_NULL));
    if (size > 1) {
        int amode = rank == 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
        SAYS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh));
        /* One rank alone finds no file. */
        const char *file = rank == 1 ? in_folder("nothing") : path;
        SAYS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    }
}

static void text_names_the_file(void) {
    char text[MPI_MAX_ERROR_STRING];
    int length, code = MPI_File_open(MPI_COMM_WORLD, in_folder("nothing"), MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "/nothing") && strstr(text, "No such file or directory"), "%s", text);
}

static void arguments(void) {
    int value = 1, count = rank == size - 1 ? -1 : 1;
    MPI_Request request;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    /* The error of one is the error of all. */
    SAYS(MPI_ERR_COUNT, MPI_File_write_at_all(fh, 0, &value, count, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_COUNT, MPI_File_read_all(fh, &value, count, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Datatype type = rank == size - 1 ? MPI_DATATYPE_NULL : MPI_INT;
    SAYS(MPI_ERR_TYPE, MPI_File_write_all(fh, &value, 1, type, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite_at_all(fh, 0, &value, count, MPI_INT, &request));
    SAYS(MPI_ERR_COUNT, MPI_Wait(&request, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_write_at_all(fh, rank == size - 1 ? -5 : 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_read_at(fh, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_seek(fh, -1, MPI_SEEK_SET));
    SAYS(MPI_ERR_ARG, MPI_File_seek(fh, 1, 12345));
    SAYS(MPI_ERR_ARG, MPI_File_set_size(fh, -1));
    SAYS(MPI_ERR_ARG, MPI_File_preallocate(fh, -1));
    SAYS(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "my own", MPI_INFO_NULL));
    SAYS(MPI_ERR_ARG, MPI_File_set_view(fh, rank == size - 1 ? -3 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Datatype backwards;
    OK(MPI_Type_vector(2, 1, -2, MPI_INT, &backwards));
    OK(MPI_Type_commit(&backwards));
    SAYS(MPI_ERR_IO, MPI_File_set_view(fh, 0, MPI_INT, backwards, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&backwards));
    SAYS(MPI_ERR_ARG, MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL));
    if (size > 1)
        SAYS(MPI_ERR_NOT_SAME, MPI_File_set_view(fh, 0, rank ? MPI_INT : MPI_DOUBLE, rank ? MPI_INT : MPI_DOUBLE, "native", MPI_INFO_NULL));
    /* Beyond what a file can have. */
    SAYS(MPI_ERR_ARG, MPI_File_write_at(fh, 0x7fffffffffffffffLL, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    char byte = 0;
    SAYS(MPI_ERR_IO, MPI_File_write_at(fh, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    /* Split accesses. */
    SAYS(MPI_ERR_IO, MPI_File_read_all_end(fh, &value, MPI_STATUS_IGNORE));
    OK(MPI_File_read_all_begin(fh, &value, 1, MPI_INT));
    SAYS(MPI_ERR_IO, MPI_File_read_all_begin(fh, &byte, 1, MPI_INT));
    SAYS(MPI_ERR_IO, MPI_File_write_all_end(fh, &value, MPI_STATUS_IGNORE));
    OK(MPI_File_read_all_end(fh, &value, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

static void modes(void) {
    int value = 1;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_READ_ONLY, MPI_File_write_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_READ_ONLY, MPI_File_write_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_READ_ONLY, MPI_File_set_size(fh, 0));
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_ACCESS, MPI_File_read_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_write_ordered(fh, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

/* What one rank meets alone, or gives alone, is told on all, and changes nothing. */
static void together(void) {
    int value = 1, last = rank == size - 1;
    MPI_Offset bytes;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_size(fh, 12));
    if (size > 1) {
        SAYS(MPI_ERR_NOT_SAME, MPI_File_set_size(fh, last ? 100 : 8));
        SAYS(MPI_ERR_NOT_SAME, MPI_File_preallocate(fh, last ? 100 : 200));
        SAYS(MPI_ERR_NOT_SAME, MPI_File_seek_shared(fh, last, MPI_SEEK_SET));
    }
    SAYS(MPI_ERR_ARG, MPI_File_seek_shared(fh, -1, MPI_SEEK_SET));
    SAYS(MPI_ERR_ARG, MPI_File_seek_shared(fh, 0, 12345));
    OK(MPI_File_get_size(fh, &bytes));
    CHECK(bytes == 12, "%lld", (long long)bytes);
    /* One member has not ended its access yet: nobody closes. */
    OK(MPI_File_read_all_begin(fh, &value, 4, MPI_BYTE));
    if (!last) OK(MPI_File_read_all_end(fh, &value, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_IO, MPI_File_close(&fh));
    if (last) OK(MPI_File_read_all_end(fh, &value, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

/* Views without data, and views whose places are all the same ones. */
static void odd_views(void) {
    MPI_Datatype none, same;
    MPI_Offset where;
    int value = 1;
    OK(MPI_Type_contiguous(0, MPI_INT, &none));
    OK(MPI_Type_commit(&none));
    OK(MPI_Type_create_resized(MPI_INT, 0, 0, &same));
    OK(MPI_Type_commit(&same));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    OK(MPI_File_write_ordered(fh, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, none, "native", MPI_INFO_NULL));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(fh, &where, &etype, &filetype, datarep));
    CHECK(where == 4 * size, "%lld", (long long)where);
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_view(fh, 0, MPI_INT, none, "native", MPI_INFO_NULL));
    SAYS(MPI_ERR_ARG, MPI_File_read(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where == 0, "a read that is refused moves the pointer to %lld", (long long)where);
    OK(MPI_File_set_view(fh, 0, MPI_INT, same, "native", MPI_INFO_NULL));
    OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    SAYS(MPI_ERR_ARG, MPI_File_get_byte_offset(fh, 0x3fffffffffffffffLL, &where));
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&none));
    OK(MPI_Type_free(&same));
}

/* Hints that come when the file is open already, and names that mean another file later on. */
static void later(void) {
    int out[3] = {1, 2, 3}, in[5];
    char back[300], own[20];
    MPI_Info info;
    MPI_Datatype every_other;
    snprintf(own, sizeof own, "of-%d", rank);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_ds_write", "enable"));
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &every_other));
    OK(MPI_Type_commit(&every_other));
    OK(MPI_File_open(MPI_COMM_SELF, in_folder(own), MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_view(fh, 0, MPI_INT, every_other, "native", info));
    OK(MPI_File_write(fh, out, 3, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_free(&every_other));
    CHECK(getcwd(back, sizeof back) && chdir(folder) == 0, "folders");
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPI_File_read(fh, in, 5, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == 1 && in[1] == 0 && in[2] == 2 && in[4] == 3, "%d %d %d", in[0], in[1], in[2]);
    CHECK(chdir(back) == 0, "folders");
    OK(MPI_File_close(&fh));
    CHECK(access(name, F_OK) != 0, "%s is left", name);
    /* A name that is no text. */
    if (rank == 0) {
        OK(MPI_File_open(MPI_COMM_SELF, in_folder("\xff\xfe"), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
        OK(MPI_File_close(&fh));
        CHECK(access(name, F_OK) != 0, "it is left");
    }
}

static void handlers(void) {
    MPI_Errhandler mine, now;
    int value = 1, code;
    MPI_Request request;
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &now));
    CHECK(now == MPI_ERRORS_RETURN, "of no file");
    OK(MPI_Errhandler_free(&now));
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_errhandler(fh, mine));
    OK(MPI_File_get_errhandler(fh, &now));
    CHECK(now == mine, "of the file");
    OK(MPI_Errhandler_free(&now));
    OK(MPI_Errhandler_free(&mine));
    code = MPI_File_write_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS && heard == 1, "%d", heard);
    OK(MPI_File_iwrite_all(fh, &value, 1, MPI_INT, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS && heard == 2, "%d", heard);
    MPI_File_call_errhandler(fh, MPI_ERR_OTHER);
    CHECK(heard == 3, "%d", heard);
    OK(MPI_File_close(&fh));
    fh = MPI_FILE_NULL;
    SAYS(MPI_ERR_FILE, MPI_File_close(&fh));
    SAYS(MPI_ERR_FILE, MPI_File_sync(fh));
}

static void full_device(void) {
    static char bytes[1 << 20];
    MPI_Request request;
    OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    SAYS(MPI_ERR_NO_SPACE, MPI_File_write_at_all(fh, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_NO_SPACE, MPI_File_write_at(fh, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite_at(fh, 0, bytes, sizeof bytes, MPI_BYTE, &request));
    SAYS(MPI_ERR_NO_SPACE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(folder, sizeof folder, "/tmp/isthmus-files-%ld", number);
    snprintf(path, sizeof path, "%s/file", folder);
    if (rank == 0) mkdir(folder, 0700);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    OK(MPI_File_close(&fh));
    opening();
    text_names_the_file();
    arguments();
    modes();
    together();
    odd_views();
    later();
    handlers();
    full_device();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_File_delete(path, MPI_INFO_NULL));
        CHECK(rmdir(folder) == 0, "something is left");
    }
    end();
}
