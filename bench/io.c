/* Files: collective writes and reads of one file by all ranks, accesses of one rank's own, writes behind computation, opening and closing.
 *
 *   io [--seconds S] KIND:SIZE ...
 *
 * KIND is write- or read- and blocks (a cube of doubles, each rank a box of it), 4096 or 64 (records of so many bytes, the ranks' in turn): SIZE is the
 * whole file's. Or write-checkpoint: a new file of eight arrays, as HDF5 writes it: rank 0 writes headers, all write their slab of an array through a
 * view, then the file gets its size and is closed; SIZE is all arrays'. Or own-write and own-read: SIZE is what each call moves, in a file of its rank's, one call after the other, up to 64 of them or 64 MiB;
 * the floor is the same by pwrite and pread. Or hidden: SIZE is what MPI_File_iwrite_at moves while rank 0 computes twice as long as that takes.
 * Or open: SIZE is the number of ranks. The files are in ISTHMUS_BENCH_FOLDER, or in /dev/shm, and have the hints of ISTHMUS_BENCH_HINTS
 * (KEY=VALUE,KEY=VALUE). What is read is compared with what was written.
 * Memory begins at a page: where malloc puts it differs from library to library, and the speed of copies with it. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

#include <fcntl.h>
#include <unistd.h>

enum { MOST_CALLS = 64, MOST_BYTES = 64 << 20, ARRAYS = 8, HEADER = 2048 };

static int rank, ranks, writes, bytes, calls, array_bytes, plain = -1;
static char path[512], *data;
static MPI_File file;
static MPI_Info hints;
static MPI_Datatype array_type;

static void check(int code, const char *what)
{
    char why[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, why, &length);
    fprintf(stderr, "isthmus bench: %s\n", why);
    give_up(what);
}

static void accesses(int count)
{
    for (int i = 0; i < count; i++)
        if (writes)
            check(MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at_all");
        else
            check(MPI_File_read_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at_all");
    /* Not all libraries wait for the others in a collective access: rank 0 measures how long all take. */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void own(int count)
{
    for (int i = 0; i < count; i++)
        for (int call = 0; call < calls; call++) {
            MPI_Offset at = (MPI_Offset)call * bytes;
            if (writes)
                check(MPI_File_write_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at");
            else
                check(MPI_File_read_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at");
        }
}

/* The same without MPI. */
static void own_plain(int count)
{
    for (int i = 0; i < count; i++)
        for (int call = 0; call < calls; call++) {
            off_t at = (off_t)call * bytes;
            ssize_t done = writes ? pwrite(plain, data, (size_t)bytes, at) : pread(plain, data, (size_t)bytes, at);
            if (done != bytes)
                give_up("io: pwrite or pread");
        }
}

/* Headers of rank 0, and of all ranks a box in each of the arrays. Returns with the file open. */
static void write_arrays(void)
{
    static char header[HEADER];
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file), "MPI_File_open");
    check(MPI_File_set_size(file, 0), "MPI_File_set_size");
    for (int i = 0; i < ARRAYS; i++) {
        MPI_Offset at = (MPI_Offset)i * (HEADER + array_bytes);
        if (rank == 0)
            check(MPI_File_write_at(file, at, header, HEADER, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at");
        check(MPI_File_set_view(file, at + HEADER, MPI_BYTE, array_type, "native", MPI_INFO_NULL), "MPI_File_set_view");
        check(MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at_all");
        check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "MPI_File_set_view");
    }
    check(MPI_File_set_size(file, (MPI_Offset)ARRAYS * (HEADER + array_bytes)), "MPI_File_set_size");
}

static void checkpoints(int count)
{
    for (int i = 0; i < count; i++) {
        write_arrays();
        check(MPI_File_close(&file), "MPI_File_close");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void opens(int count)
{
    for (int i = 0; i < count; i++) {
        check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file), "MPI_File_open");
        check(MPI_File_close(&file), "MPI_File_close");
    }
}

static void read_hints(void)
{
    const char *given = getenv("ISTHMUS_BENCH_HINTS");
    char *text = strdup(given ? given : "");
    MPI_Info_create(&hints);
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');
        if (!value)
            give_up("io: a hint is KEY=VALUE");
        *value = 0;
        MPI_Info_set(hints, word, value + 1);
    }
    free(text);
}

/* The box of a rank in a cube of doubles. */
static MPI_Datatype box(int size)
{
    int edge = 1, dims[3] = {0}, at[3], sub[3], full[3];
    while ((double)(edge + 1) * (edge + 1) * (edge + 1) * 8 <= size)
        edge++;
    MPI_Dims_create(ranks, 3, dims);
    at[0] = rank / (dims[1] * dims[2]), at[1] = rank / dims[2] % dims[1], at[2] = rank % dims[2];
    bytes = 8;
    array_bytes = edge * edge * edge * 8;
    for (int d = 0; d < 3; d++) {
        int start = edge * at[d] / dims[d];
        full[d] = edge;
        sub[d] = edge * (at[d] + 1) / dims[d] - start;
        at[d] = start;
        bytes *= sub[d];
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(3, full, sub, at, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype records(int size, int record)
{
    MPI_Datatype one, type;
    bytes = size / ranks / record * record;
    MPI_Type_contiguous(record, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)record * ranks, &type);
    MPI_Type_free(&one);
    return type;
}

static void fill(void)
{
    data = buffer(bytes);
    for (int i = 0; i < bytes; i++)
        data[i] = (char)(rank * 31 + i * 7 + i / 251);
}

static void compare(void)
{
    for (int i = 0; i < bytes; i++)
        if (data[i] != (char)(rank * 31 + i * 7 + i / 251))
            give_up("io: what was read is not what was written");
}

static struct samples *together(const char *what, int size, double budget_us)
{
    int record = strcmp(what, "blocks") == 0 ? 0 : atoi(what);
    MPI_Datatype type = record ? records(size, record) : box(size);
    MPI_Type_commit(&type);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file), "MPI_File_open");
    check(MPI_File_set_view(file, (MPI_Offset)record * rank, MPI_BYTE, type, "native", MPI_INFO_NULL), "MPI_File_set_view");
    fill();
    int timed = writes;
    writes = 1;
    accesses(1);
    writes = timed;
    if (!writes)
        memset(data, 0, (size_t)bytes);
    struct samples *samples = time_operations(accesses, 1, budget_us);
    memset(data, 0, (size_t)bytes);
    writes = 0;
    accesses(1);
    compare();
    free(data);
    check(MPI_File_close(&file), "MPI_File_close");
    MPI_Type_free(&type);
    return samples;
}

static struct samples *checkpoint(int size, double budget_us)
{
    array_type = box(size / ARRAYS);
    MPI_Type_commit(&array_type);
    fill();
    struct samples *samples = time_operations(checkpoints, 1, budget_us);
    write_arrays();
    MPI_Offset last = (MPI_Offset)(ARRAYS - 1) * (HEADER + array_bytes) + HEADER;
    check(MPI_File_set_view(file, last, MPI_BYTE, array_type, "native", MPI_INFO_NULL), "MPI_File_set_view");
    memset(data, 0, (size_t)bytes);
    writes = 0;
    accesses(1);
    compare();
    free(data);
    check(MPI_File_close(&file), "MPI_File_close");
    MPI_Type_free(&array_type);
    return samples;
}

/* Prints its own line. */
static void alone(const char *what, int size, double budget_us)
{
    char name[600];
    snprintf(name, sizeof name, "%s-%d", path, rank);
    check(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, hints, &file),
          "MPI_File_open");
    plain = open(name, O_RDWR);
    bytes = size;
    calls = MOST_BYTES / size < 1 ? 1 : MOST_BYTES / size > MOST_CALLS ? MOST_CALLS : MOST_BYTES / size;
    data = buffer(size);
    if (plain < 0)
        give_up("io: the file is not there");
    memset(data, 1 + rank, (size_t)size);
    int timed = writes;
    writes = 1;
    own(1);
    writes = timed;
    /* The floor on both sides, since the machine changes. */
    double before = median(time_operations(own_plain, calls, budget_us / 4));
    static struct samples ours;
    ours = *time_operations(own, calls, budget_us / 2);
    double after = median(time_operations(own_plain, calls, budget_us / 4));
    if (rank == 0) {
        printf("result io kind=%s size=%d floor=%.4f ", what, size, (before + after) / 2);
        print_samples(&ours);
    }
    free(data);
    close(plain);
    check(MPI_File_close(&file), "MPI_File_close");
}

/* A chain of dependent steps; the empty statement keeps the compiler from seeing through them. */
static void compute(long steps)
{
    uint64_t x = 1;
    for (long i = 0; i < steps; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static double write_behind(long steps)
{
    MPI_Request request;
    double start = now_us();
    check(MPI_File_iwrite_at(file, 0, data, bytes, MPI_BYTE, &request), "MPI_File_iwrite_at");
    compute(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now_us() - start;
}

/* How much of a write rank 0 hides behind twice as much computation. Prints its own line. */
static void hidden(int size, double budget_us)
{
    static struct samples bare, with, alone_us;
    if (rank == 0) {
        check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file), "MPI_File_open");
        bytes = size;
        data = buffer(size);
        memset(data, 1, (size_t)size);
        double one = 1e30, thousand = 1e30;
        for (int i = 0; i < WARM_UP; i++) {
            double took = write_behind(0), start = now_us();
            one = took < one ? took : one;
            compute(100000);
            took = now_us() - start;
            thousand = took < thousand ? took : thousand;
        }
        long steps = (long)(2 * one / thousand * 100000) + 1;
        double fit = budget_us / (6 * one);
        int count = fit < 5 ? 5 : fit > MAX_SAMPLES ? MAX_SAMPLES : (int)fit;
        for (int i = 0; i < count; i++) {
            bare.us[i] = write_behind(0);
            with.us[i] = write_behind(steps);
            double start = now_us();
            compute(steps);
            alone_us.us[i] = now_us() - start;
        }
        bare.count = with.count = alone_us.count = count;
        double a = median(&bare), b = median(&with), c = median(&alone_us);
        printf("result io kind=hidden size=%d hidden=%.2f us=%.4f with=%.4f computation=%.4f samples=%d\n", size, 100 * (a + c - b) / a, a, b, c, count);
        fflush(stdout);
        free(data);
        check(MPI_File_close(&file), "MPI_File_close");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    read_hints();
    const char *folder = getenv("ISTHMUS_BENCH_FOLDER");
    snprintf(path, sizeof path, "%s/isthmus-bench-io-%d", folder ? folder : "/dev/shm", agree((int)getpid()));
    for (int i = 0; i < a.count; i++) {
        const char *kind = a.cells[i], *colon = strchr(kind, ':');
        int size = cell_size(kind), length = colon ? (int)(colon - kind) : 0;
        char what[64];
        snprintf(what, sizeof what, "%.*s", length, kind);
        double budget_us = a.seconds * 1e6 / a.count;
        struct samples *samples;
        writes = strstr(what, "write") != NULL;
        if (strncmp(what, "own-", 4) == 0) {
            alone(what, size, budget_us);
            continue;
        }
        if (strcmp(what, "hidden") == 0) {
            hidden(size, budget_us);
            continue;
        }
        if (strcmp(what, "write-checkpoint") == 0)
            samples = checkpoint(size, budget_us);
        else if (strcmp(what, "open") == 0)
            samples = time_operations(opens, 1, budget_us);
        else
            samples = together(strchr(what, '-') ? strchr(what, '-') + 1 : what, size, budget_us);
        if (rank == 0) {
            printf("result io kind=%s size=%d ", what, size);
            print_samples(samples);
        }
    }
    MPI_Info_free(&hints);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    MPI_Finalize();
    return 0;
}
