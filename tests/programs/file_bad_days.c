/* file_bad_days SCENARIO FOLDER: what a folder does to the files of a job, told by the class that the standard names, on all ranks alike.
 *
 * full: a file system of less than 1 MiB. read-only: one that is not to be written to, with a file `there`. denied: the last rank alone has given up its user's
 * rights. vanished: somebody else removes or cuts the file. replaced: another file gets its name. limited: files may not be longer than LENGTH (`ulimit -f`).
 * descriptors: the last rank has none left. many: counts beyond 2^31. writes: writes on and on, after the file `isthmus-file.synced` was made, to be killed.
 * again: what `writes` had synchronised is there, and no lock is left. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LENGTH = 1 << 20, PIECE = 512 };

/* It holds; what failed last is said. */
#define HOLDS(condition) CHECK(condition, "%s", strerror(errno))

static char path[512], *data;
static MPI_File fh;

/* The class of the error, and that its text names the file. */
static int class_of(int code, const char *name) {
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    if (code == MPI_SUCCESS) return MPI_SUCCESS;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, name) != NULL, "%s", text);
    return class;
}

static int all_have(int class) {
    int least, most;
    OK(MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return least == most;
}

#define ALL_FAIL(expected, call)                                                       \
    do {                                                                               \
        int all_class = class_of((call), "isthmus-file");                              \
        CHECK(all_class == (expected) && all_have(all_class), "class %d", all_class); \
    } while (0)

static int opened(int amode) { return MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh); }

/* Records of all ranks in turn. */
static void interleave(void) {
    MPI_Datatype piece, type;
    OK(MPI_Type_contiguous(PIECE, MPI_BYTE, &piece));
    OK(MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(fh, (MPI_Offset)PIECE * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&piece));
    OK(MPI_Type_free(&type));
}

static void full(void) {
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE));
    interleave();
    ALL_FAIL(MPI_ERR_NO_SPACE, MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Request request;
    OK(MPI_File_iwrite_at_all(fh, 0, data, LENGTH, MPI_BYTE, &request));
    ALL_FAIL(MPI_ERR_NO_SPACE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    ALL_FAIL(MPI_ERR_NO_SPACE, MPI_File_preallocate(fh, 1 << 24));
    /* There is room again. */
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_write_at_all(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
}

static void read_only(void) {
    ALL_FAIL(MPI_ERR_READ_ONLY, opened(MPI_MODE_RDWR | MPI_MODE_CREATE));
    ALL_FAIL(MPI_ERR_READ_ONLY, opened(MPI_MODE_WRONLY));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_delete(path, MPI_INFO_NULL));
    OK(opened(MPI_MODE_RDONLY));
    ALL_FAIL(MPI_ERR_READ_ONLY, MPI_File_write_at_all(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

static void denied(void) {
    if (rank == 0) {
        int made = open(path, O_CREAT | O_WRONLY, 0600);
        CHECK(made >= 0 && fchmod(made, 0600) == 0, "%s", path);
        close(made);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == size - 1) HOLDS(seteuid(65534) == 0);
    ALL_FAIL(MPI_ERR_ACCESS, opened(MPI_MODE_RDWR));
    if (rank == size - 1) HOLDS(seteuid(0) == 0);
    OK(opened(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    OK(MPI_File_close(&fh));
}

static void vanished(void) {
    MPI_Status status;
    int count;
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE));
    interleave();
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Cut behind the second record of each rank. */
    if (rank == 0) HOLDS(truncate(path, 2 * (off_t)PIECE * size) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at_all(fh, 0, data, LENGTH, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 2 * PIECE, "%d", count);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) HOLDS(unlink(path) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    ALL_FAIL(MPI_ERR_NO_SUCH_FILE, opened(MPI_MODE_RDWR));
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE));
    if (rank == 0) HOLDS(unlink(path) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    ALL_FAIL(MPI_ERR_NO_SUCH_FILE, MPI_File_close(&fh));
    HOLDS(fh == MPI_FILE_NULL);
}

static void replaced(void) {
    char other[600];
    struct stat about;
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE));
    snprintf(other, sizeof other, "%s.other", path);
    if (rank == 0) {
        int made = open(other, O_CREAT | O_WRONLY, 0600);
        HOLDS(made >= 0 && write(made, "other", 5) == 5 && close(made) == 0 && rename(other, path) == 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    interleave();
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    HOLDS(stat(path, &about) == 0 && about.st_size == 5);
    ALL_FAIL(MPI_ERR_NO_SUCH_FILE, MPI_File_close(&fh));
    HOLDS(fh == MPI_FILE_NULL && stat(path, &about) == 0 && about.st_size == 5);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
}

static void limited(void) {
    struct rlimit limit;
    MPI_Request request;
    char text[MPI_MAX_ERROR_STRING];
    int number;
    HOLDS(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = LENGTH;
    HOLDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE));
    ALL_FAIL(MPI_ERR_IO, MPI_File_set_size(fh, 2 * LENGTH));
    ALL_FAIL(MPI_ERR_IO, MPI_File_preallocate(fh, 2 * LENGTH));
    /* One rank makes that call of the system, and all tell its reason. */
    OK(MPI_Error_string(MPI_File_set_size(fh, 2 * LENGTH), text, &number));
    CHECK(strstr(text, strerror(EFBIG)) != NULL, "%s", text);
    ALL_FAIL(MPI_ERR_IO, MPI_File_write_at_all(fh, LENGTH, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_IO, MPI_File_write_at(fh, LENGTH - 1, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite_at(fh, PIECE, data, LENGTH, MPI_BYTE, &request));
    FAILS(MPI_ERR_IO, MPI_Wait(&request, MPI_STATUS_IGNORE));
    interleave();
    if (size > 1) ALL_FAIL(MPI_ERR_IO, MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH / size / PIECE * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

static void descriptors(void) {
    MPI_File another;
    static int taken[1 << 16];
    int number = 0;
    struct rlimit limit = {256, 256};
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE));
    OK(MPI_File_write_at_all(fh, (MPI_Offset)rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    if (rank == size - 1) {
        HOLDS(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        limit.rlim_cur = 256;
        HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        while ((taken[number] = open("/dev/null", O_RDONLY)) >= 0) number++;
        HOLDS(errno == EMFILE);
    }
    ALL_FAIL(MPI_ERR_IO, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &another));
    interleave();
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(fh));
    OK(MPI_File_close(&fh));
    while (number > 0) close(taken[--number]);
    OK(opened(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    OK(MPI_File_close(&fh));
}

static void many(void) {
    const MPI_Count bytes = (MPI_Count)3 << 30;
    /* Nothing of it is touched behind what the file has. */
    char *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Status status;
    MPI_Count count;
    MPI_Request request;
    MPI_Offset end;
    HOLDS(memory != MAP_FAILED);
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE));
    OK(MPI_File_write_at_all(fh, (MPI_Offset)rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all_c(fh, 0, memory, bytes, MPI_BYTE, &status));
    OK(MPI_Get_elements_c(&status, MPI_BYTE, &count));
    CHECK(count == (MPI_Count)size * PIECE && memory[1] == 2, "%lld", (long long)count);
    OK(MPI_File_iread_at_c(fh, PIECE, memory, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_elements_c(&status, MPI_BYTE, &count));
    CHECK(count == (MPI_Count)(size - 1) * PIECE, "%lld", (long long)count);
    /* At an offset beyond 2^31, and beyond 2^32 elements of the view. */
    end = (MPI_Offset)5 << 30;
    OK(MPI_File_write_at_all(fh, end + (MPI_Offset)rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_get_size(fh, &end));
    HOLDS(end >= ((MPI_Offset)5 << 30) + PIECE);
    /* More bytes than a file can have. */
    ALL_FAIL(MPI_ERR_ARG, MPI_File_write_at_all_c(fh, INT64_MAX - 5, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    munmap(memory, (size_t)bytes);
}

static void writes(void) {
    OK(opened(MPI_MODE_RDWR | MPI_MODE_CREATE));
    interleave();
    OK(MPI_File_write_at_all(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    char marker[600];
    snprintf(marker, sizeof marker, "%s.synced", path);
    if (rank == 0) HOLDS(close(open(marker, O_CREAT | O_WRONLY, 0600)) == 0);
    memset(data, 9, LENGTH);
    OK(MPI_File_set_atomicity(fh, 1));
    for (;;) {
        OK(MPI_File_write_at_all(fh, LENGTH, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
        OK(MPI_File_write_at(fh, 2 * LENGTH, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void again(void) {
    OK(opened(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    interleave();
    OK(MPI_File_set_atomicity(fh, 1));
    char *back = calloc(LENGTH, 1);
    OK(MPI_File_read_at_all(fh, 0, back, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    HOLDS(memcmp(back, data, LENGTH) == 0);
    OK(MPI_File_write_at(fh, 0, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    free(back);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*does)(void);
    } scenarios[] = {{"full", full}, {"read-only", read_only}, {"denied", denied}, {"vanished", vanished},
                     {"many", many}, {"writes", writes},       {"again", again},   {"replaced", replaced},
                     {"limited", limited}, {"descriptors", descriptors}};
    begin(&argc, &argv);
    HOLDS(argc == 3);
    snprintf(path, sizeof path, "%s/isthmus-file", argv[2]);
    data = malloc(LENGTH);
    for (int i = 0; i < LENGTH; i++) data[i] = (char)(rank * 31 + i % 251 + 1);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) scenarios[i].does();
    free(data);
    end();
    return 0;
}
