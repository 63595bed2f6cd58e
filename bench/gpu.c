/* Buffers in the memory of GPUs: checks the bytes, then times. Run by gpu.sh.
 *
 * usage: gpu [check|host] on 2 ranks. `check` only checks; `host` times messages between host buffers without opening the driver.
 * Prints a line for each result: what, bytes, microseconds. The driver is opened at run time, so that any MPI's program is this one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUDA Driver API. */
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct { char bytes[64]; } CUipcMemHandle;
enum { CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1, CU_STREAM_NON_BLOCKING = 1 };

static struct {
    CUresult (*init)(unsigned);
    CUresult (*error_name)(CUresult, const char **);
    CUresult (*device_count)(int *);
    CUresult (*device)(int *, int);
    CUresult (*name)(char *, int, int);
    CUresult (*version)(int *);
    CUresult (*retain)(void **, int);
    CUresult (*set)(void *);
    CUresult (*allocate)(CUdeviceptr *, size_t);
    CUresult (*allocate_host)(void **, size_t, unsigned);
    CUresult (*to_device)(CUdeviceptr, const void *, size_t);
    CUresult (*to_host)(void *, CUdeviceptr, size_t);
    CUresult (*between)(CUdeviceptr, CUdeviceptr, size_t, void *);
    CUresult (*to_host_async)(void *, CUdeviceptr, size_t, void *);
    CUresult (*stream)(void **, unsigned);
    CUresult (*synchronize)(void *);
    CUresult (*share)(CUipcMemHandle *, CUdeviceptr);
    CUresult (*open)(CUdeviceptr *, CUipcMemHandle, unsigned);
    CUresult (*close)(CUdeviceptr);
} cu;

static int rank, ranks;

static void give_up(const char *what, const char *why) {
    fprintf(stderr, "gpu: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define CU(call)                                                \
    do {                                                        \
        CUresult code = (call);                                 \
        const char *name = "?";                                 \
        if (code) cu.error_name(code, &name), give_up(#call, name); \
    } while (0)

static void open_driver(void) {
    static const struct { void *to; const char *name; } all[] = {
        {&cu.init, "cuInit"}, {&cu.error_name, "cuGetErrorName"}, {&cu.device_count, "cuDeviceGetCount"}, {&cu.device, "cuDeviceGet"},
        {&cu.name, "cuDeviceGetName"}, {&cu.version, "cuDriverGetVersion"}, {&cu.retain, "cuDevicePrimaryCtxRetain"}, {&cu.set, "cuCtxSetCurrent"},
        {&cu.allocate, "cuMemAlloc_v2"}, {&cu.allocate_host, "cuMemHostAlloc"}, {&cu.to_device, "cuMemcpyHtoD_v2"},
        {&cu.to_host, "cuMemcpyDtoH_v2"}, {&cu.between, "cuMemcpyDtoDAsync_v2"}, {&cu.to_host_async, "cuMemcpyDtoHAsync_v2"},
        {&cu.stream, "cuStreamCreate"}, {&cu.synchronize, "cuStreamSynchronize"}, {&cu.share, "cuIpcGetMemHandle"},
        {&cu.open, "cuIpcOpenMemHandle_v2"}, {&cu.close, "cuIpcCloseMemHandle"},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) give_up("the driver", dlerror());
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(library, all[i].name);
        if (!found) give_up("the driver has no", all[i].name);
        memcpy(all[i].to, &found, sizeof found);
    }
    CU(cu.init(0));
}

static double now(void) { return MPI_Wtime() * 1e6; }

static void print(const char *what, size_t bytes, double us) {
    if (rank == 0) printf("%s\t%zu\t%.2f\n", what, bytes, us), fflush(stdout);
}

/* ---- Memory ---- */

enum { LONGEST = 64 << 20 };
/* Of this rank: what it sends from and receives into. */
static char *out, *in, *host[2], *device[2], *scratch;

static void use(int is_device) {
    out = is_device ? device[0] : host[0];
    in = is_device ? device[1] : host[1];
}

static void put(char *to, const char *from, size_t bytes) {
    if (to == host[0] || to == host[1]) memcpy(to, from, bytes);
    else CU(cu.to_device((uintptr_t)to, from, bytes));
}

static void take(char *to, const char *from, size_t bytes) {
    if (from == host[0] || from == host[1]) memcpy(to, from, bytes);
    else CU(cu.to_host(to, (uintptr_t)from, bytes));
}

static char byte_of(size_t i, int of) { return (char)(i * 131 + (i >> 12) + (size_t)of * 17 + 5); }

static void fill(size_t bytes) {
    for (size_t i = 0; i < bytes; i++) scratch[i] = byte_of(i, rank);
    put(out, scratch, bytes);
    memset(scratch, 0, bytes);
    put(in, scratch, bytes);
}

static long checked;

static void expect(size_t from, size_t bytes, int of, const char *what) {
    for (size_t i = from; i < from + bytes; i++)
        if (scratch[i] != byte_of(i, of)) {
            char text[100];
            snprintf(text, sizeof text, "byte %zu of %zu is wrong", i, bytes);
            give_up(what, text);
        }
    checked++;
}

/* ---- What is timed ---- */

static size_t length;
static MPI_Datatype type;
static int count;

static void round_trip(void) {
    if (rank == 0) {
        MPI_Send(out, count, type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, count, type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, count, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, count, type, 0, 1, MPI_COMM_WORLD);
    }
}

static void all_reduce(void) { MPI_Allreduce(out, in, (int)(length / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void *stream;
static CUdeviceptr theirs;

static void copy_of_peer(void) {
    CU(cu.between((uintptr_t)in, theirs, length, stream));
    CU(cu.synchronize(stream));
}

static void copy_to_host(void) {
    CU(cu.to_host_async(scratch, (uintptr_t)out, length, stream));
    CU(cu.synchronize(stream));
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of batches, in microseconds for one; all ranks do as many as the first says. */
static double timed(void (*operation)(void)) {
    enum { BATCHES = 9, WARM_UP = 10 };
    const double budget = 15e3;
    double times[BATCHES], begun;
    int times_each;
    for (int i = 0; i < WARM_UP; i++) operation();
    MPI_Barrier(MPI_COMM_WORLD);
    begun = now();
    for (int i = 0; i < WARM_UP; i++) operation();
    times_each = (int)(budget * WARM_UP / (now() - begun + 1)) + 1;
    if (times_each > 20000) times_each = 20000;
    MPI_Bcast(&times_each, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int batch = 0; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        begun = now();
        for (int i = 0; i < times_each; i++) operation();
        times[batch] = (now() - begun) / times_each;
    }
    qsort(times, BATCHES, sizeof *times, order);
    return times[BATCHES / 2];
}

static int only_checks;

static void messages(const char *what, const size_t *sizes, int how_many) {
    type = MPI_BYTE;
    for (int i = 0; i < how_many; i++) {
        length = sizes[i], count = (int)length;
        fill(length);
        round_trip();
        take(scratch, in, length);
        expect(0, length, 1 - rank, what);
        if (!only_checks) print(what, length, timed(round_trip) / 2);
    }
}

/* The lower rank has the one kind of memory, the upper one the other. */
static void mixed(const char *what, int lower, int upper, const size_t *sizes, int how_many) {
    use(rank == 0 ? lower : upper);
    messages(what, sizes, how_many);
}

static void strided(void) {
    enum { BYTES = 1 << 20, BLOCK = 256, STRIDE = 512 };
    use(1);
    length = BYTES;
    MPI_Type_vector(BYTES / BLOCK, BLOCK, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    count = 1;
    fill(2 * BYTES);
    round_trip();
    take(scratch, in, 2 * BYTES);
    for (size_t at = 0; at < 2 * BYTES; at += STRIDE) {
        expect(at, BLOCK, 1 - rank, "vector");
        for (size_t i = at + BLOCK; i < at + STRIDE; i++)
            if (scratch[i]) give_up("vector", "a gap is written");
    }
    if (!only_checks) print("vector, device to device", length, timed(round_trip) / 2);
    MPI_Type_free(&type);
    type = MPI_BYTE, count = BYTES;
    if (!only_checks) print("device to device", length, timed(round_trip) / 2);
}

static void sums(const size_t *sizes, int how_many) {
    use(1);
    for (int i = 0; i < how_many; i++) {
        length = sizes[i];
        double *values = (double *)scratch;
        for (size_t n = 0; n < length / sizeof(double); n++) values[n] = (double)(n % 1000) + rank;
        put(out, scratch, length);
        all_reduce();
        take(scratch, in, length);
        for (size_t n = 0; n < length / sizeof(double); n++)
            if (values[n] != 2.0 * (double)(n % 1000) + 1) give_up("all-reduce", "a wrong sum");
        checked++;
        if (!only_checks) print("all-reduce of doubles", length, timed(all_reduce));
    }
}

/* What the driver takes for the same, without MPI. */
static void floors(const size_t *sizes, int how_many) {
    CUipcMemHandle handle;
    CUdeviceptr own;
    use(1);
    /* No library has opened this one. */
    CU(cu.allocate(&own, LONGEST));
    out = (char *)(uintptr_t)own;
    CU(cu.stream(&stream, CU_STREAM_NON_BLOCKING));
    CU(cu.share(&handle, (uintptr_t)out));
    MPI_Sendrecv_replace(&handle, sizeof handle, MPI_BYTE, 1 - rank, 2, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CU(cu.open(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    for (int i = 0; i < how_many; i++) {
        length = sizes[i];
        fill(length);
        MPI_Barrier(MPI_COMM_WORLD);
        copy_of_peer();
        take(scratch, in, length);
        expect(0, length, 1 - rank, "a copy of the peer's memory");
        MPI_Barrier(MPI_COMM_WORLD);
        /* One at a time: the other waits in a barrier. */
        double us = 0;
        enum { TIMES = 50 };
        if (!only_checks && rank == 0) {
            for (int n = 0; n < TIMES; n++) copy_of_peer();
            us = now();
            for (int n = 0; n < TIMES; n++) copy_of_peer();
            print("floor: copy of the peer's memory", length, (now() - us) / TIMES);
            us = now();
            for (int n = 0; n < TIMES; n++) copy_to_host();
            print("floor: device to pinned host", length, (now() - us) / TIMES);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CU(cu.close(theirs));
}

/* From a process that has not yet sent to the other from a device; both ways, by half. */
static void first(void) {
    use(1);
    type = MPI_BYTE, length = 2 << 20, count = (int)length;
    fill(length);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = now();
    round_trip();
    double us = (now() - begun) / 2;
    take(scratch, in, length);
    expect(0, length, 1 - rank, "the first message");
    if (!only_checks) print("first message", length, us);
}

int main(int argc, char **argv) {
    static const size_t long_ones[] = {8, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20}, few[] = {8, 2 << 20}, sums_of[] = {8, 2 << 20, 16 << 20};
    static const size_t host_ones[] = {8, 32 << 10, 256 << 10, 2 << 20, 16 << 20};
    int is_host = argc > 1 && strcmp(argv[1], "host") == 0, devices = 1, version, number;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    only_checks = argc > 1 && strcmp(argv[1], "check") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) give_up("ranks", "two are needed");
    MPI_Get_library_version(text, &number);
    text[strcspn(text, "\n\t")] = 0;
    if (rank == 0) printf("# library\t%s\n", text);
    for (int i = 0; i < 2; i++) {
        host[i] = malloc(LONGEST);
        if (!host[i]) give_up("memory", "not enough");
        memset(host[i], 1, LONGEST);
    }
    if (is_host) {
        scratch = malloc(LONGEST);
        if (!scratch) give_up("memory", "not enough");
        mixed("host to host, without the driver", 0, 0, host_ones, 5);
        MPI_Finalize();
        return 0;
    }
    open_driver();
    CU(cu.device_count(&devices));
    if (devices < 1) give_up("devices", "there is none");
    void *context;
    int own;
    CU(cu.device(&own, rank % devices));
    CU(cu.retain(&context, own));
    CU(cu.set(context));
    CU(cu.name(text, sizeof text, own));
    CU(cu.version(&version));
    if (rank == 0) printf("# device\t%s, %d of them, driver interface %d.%d\n", text, devices, version / 1000, version % 1000 / 10);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr at;
        CU(cu.allocate(&at, LONGEST));
        device[i] = (char *)(uintptr_t)at;
    }
    CU(cu.allocate_host((void **)&scratch, LONGEST, 0));
    first();
    mixed("device to device", 1, 1, long_ones, 6);
    mixed("device to host and back", 1, 0, few, 2);
    sums(sums_of, 3);
    strided();
    mixed("host to host", 0, 0, host_ones, 5);
    floors(long_ones, 6);
    if (rank == 0) printf("# checked\t%ld\n", checked);
    MPI_Finalize();
    return 0;
}
