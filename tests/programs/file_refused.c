// ranks: 2 3
/* Files: null addresses, freed infos and null datatypes that the last rank alone gives a collective call are told on all ranks, by the same class, and the
 * next call goes well. Conversions that fail on one rank, too. Pointers do not move if an access is refused, and closed files have no handle. */
#include "check.h"

#define SAYS(class, call)                                                                          \
    do {                                                                                           \
        int says_code = (call), says_class = MPI_SUCCESS;                                          \
        if (says_code != MPI_SUCCESS) OK(MPI_Error_class(says_code, &says_class));                 \
        CHECK(says_code != MPI_SUCCESS && says_class == (class), "class %d", says_class);          \
    } while (0)

static char path[256];
static MPI_File fh;
static int last;

static void opening(void) {
    MPI_Info freed;
    MPI_File other;
    OK(MPI_Info_create(&freed));
    MPI_Info gone = freed;
    OK(MPI_Info_free(&freed));
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
    SAYS(MPI_ERR_ARG, MPI_File_open(MPI_COMM_WORLD, last ? NULL : path, amode, MPI_INFO_NULL, &other));
    SAYS(MPI_ERR_ARG, MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, last ? NULL : &other));
    SAYS(MPI_ERR_INFO, MPI_File_open(MPI_COMM_WORLD, path, amode, last ? gone : MPI_INFO_NULL, &other));
    SAYS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, last ? 0 : amode, MPI_INFO_NULL, &other));
    SAYS(MPI_ERR_INFO, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", last ? gone : MPI_INFO_NULL));
    SAYS(MPI_ERR_ARG, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, last ? NULL : "native", MPI_INFO_NULL));
    SAYS(MPI_ERR_TYPE, MPI_File_set_view(fh, 0, MPI_INT, last ? MPI_DATATYPE_NULL : MPI_INT, "native", MPI_INFO_NULL));
    SAYS(MPI_ERR_NOT_SAME, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, last ? "internal" : "native", MPI_INFO_NULL));
    if (last) SAYS(MPI_ERR_INFO, MPI_File_set_info(fh, gone));
}

static void accesses(void) {
    int value = 5, in = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset where;
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Status *none = last ? NULL : MPI_STATUS_IGNORE;
    /* In both ABIs a null address may be how a status is ignored. */
    if (MPI_STATUS_IGNORE) {
        SAYS(MPI_ERR_ARG, MPI_File_write_at_all(fh, 0, &value, 1, MPI_INT, none));
        SAYS(MPI_ERR_ARG, MPI_File_read_all(fh, &value, 1, MPI_INT, none));
        SAYS(MPI_ERR_ARG, MPI_File_write_ordered(fh, &value, 1, MPI_INT, none));
    }
    /* The refused rank is elsewhere when the others come, and has no request to complete. */
    if (last) {
        SAYS(MPI_ERR_ARG, MPI_File_iwrite_at_all(fh, 0, &value, 1, MPI_INT, NULL));
        for (int other = 0; other < size - 1; other++) OK(MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&value, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_File_iwrite_at_all(fh, 0, &value, 1, MPI_INT, &request));
        SAYS(MPI_ERR_ARG, MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    SAYS(MPI_ERR_TYPE, MPI_File_write_ordered(fh, &value, 1, last ? MPI_DATATYPE_NULL : MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_TYPE, MPI_File_write_ordered_begin(fh, &value, 1, last ? MPI_DATATYPE_NULL : MPI_INT));
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where == 0, "the shared pointer moved to %lld", (long long)where);
    OK(MPI_File_write_ordered(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(fh, rank, &in, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in == value, "%d", in);
}

/* An access that cannot be leaves pointers where they are. */
static void pointers(void) {
    int value = 5;
    MPI_Offset where, far = 0x1fffffffffffffff;
    MPI_Request request;
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_seek(fh, far, MPI_SEEK_SET));
    SAYS(MPI_ERR_ARG, MPI_File_write(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_read(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_write_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_iwrite(fh, &value, 1, MPI_INT, &request));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where == far, "%llx", (long long)where);
    OK(MPI_File_seek_shared(fh, far, MPI_SEEK_SET));
    SAYS(MPI_ERR_ARG, MPI_File_write_shared(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    SAYS(MPI_ERR_ARG, MPI_File_write_ordered(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where == far, "%llx", (long long)where);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    SAYS(MPI_ERR_ARG, MPI_File_get_byte_offset(fh, 0x7fffffffffffffffLL, &where));
}

static int fails;

static int convert(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state) {
    (void)type, (void)position, (void)state;
    memcpy(user, file, 4 * (size_t)count);
    return fails ? MPI_ERR_CONVERSION : MPI_SUCCESS;
}

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state) {
    (void)state;
    int size_of_type;
    int code = MPI_Type_size(type, &size_of_type);
    *bytes = size_of_type;
    return code;
}

static void conversions(void) {
    int in = 0;
    OK(MPI_Register_datarep("fails at times", convert, MPI_CONVERSION_FN_NULL, extent, NULL));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "fails at times", MPI_INFO_NULL));
    for (fails = last; ; fails = 0) {
        int class = size > 0 && fails ? MPI_ERR_CONVERSION : MPI_SUCCESS, any;
        OK(MPI_Allreduce(&class, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
#define READS(call)                                                             \
        do {                                                                    \
            int code = (call), told = MPI_SUCCESS;                              \
            if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &told));          \
            CHECK(told == any, "class %d, not %d", told, any);                  \
        } while (0)
        READS(MPI_File_read_at_all(fh, 0, &in, 1, MPI_INT, MPI_STATUS_IGNORE));
        READS(MPI_File_read_ordered(fh, &in, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_read_at_all_begin(fh, 0, &in, 1, MPI_INT));
        READS(MPI_File_read_at_all_end(fh, &in, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
        if (any == MPI_SUCCESS) break;
    }
}

/* It is closed, though it could not be deleted. */
static void closing(void) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) CHECK(unlink(path) == 0, "%s", path);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    SAYS(MPI_ERR_NO_SUCH_FILE, MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL, "a handle is left");
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    last = rank == size - 1;
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-refused-%ld", number);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    opening();
    accesses();
    pointers();
    conversions();
    closing();
    end();
}
