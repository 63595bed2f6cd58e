/* What the programs of this folder share: memory by its kind, and calls that are made with every kind.
 *
 * A call of a table is made with host memory first; what it leaves there is what it must leave in memory of other kinds. A program takes one
 * word: with which current context of the driver the calls are made. */
#ifndef DEVICE_H
#define DEVICE_H

#define _GNU_SOURCE
#include "../programs/check.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

/* Of the driver's interface (CUDA Driver API, "Context Management", "Memory Management"). */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
enum { CU_MEM_ATTACH_GLOBAL = 1, CU_MEMHOSTALLOC_PORTABLE = 1 };

static struct {
    CUresult (*init)(unsigned);
    CUresult (*device_count)(int *);
    CUresult (*device)(CUdevice *, int);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*set)(CUcontext);
    CUresult (*current)(CUcontext *);
    CUresult (*allocate)(CUdeviceptr *, size_t);
    CUresult (*allocate_managed)(CUdeviceptr *, size_t, unsigned);
    CUresult (*allocate_pooled)(CUdeviceptr *, size_t, void *);
    CUresult (*allocate_host)(void **, size_t, unsigned);
    CUresult (*release)(CUdeviceptr);
    CUresult (*release_host)(void *);
    CUresult (*physical)(unsigned long long *, size_t, const void *, unsigned long long);
    CUresult (*release_physical)(unsigned long long);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*release_reserved)(CUdeviceptr, size_t);
    CUresult (*map)(CUdeviceptr, size_t, size_t, unsigned long long, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*access)(CUdeviceptr, size_t, const void *, size_t);
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr);
    CUresult (*to_device)(CUdeviceptr, const void *, size_t);
    CUresult (*to_host)(void *, CUdeviceptr, size_t);
} cu;

enum { MOST_DEVICES = 8 };
static void *driver;
static int devices;
static CUcontext contexts[MOST_DEVICES];
/* What the calls under test are made with. */
static CUcontext given;

/* The call under way, for the report of a fault. */
static char doing[256];
/* What all calls of a table have in common. */
static const char *with = "";

#define DRIVER(call)                                                          \
    do {                                                                      \
        CUresult driver_code = (call);                                        \
        CHECK(driver_code == 0, "the driver says %d, %s", driver_code, doing); \
    } while (0)

__attribute__((unused)) static CUcontext current_context(void) {
    CUcontext context = NULL;
    if (cu.current) DRIVER(cu.current(&context));
    return context;
}

/* The call succeeds, and the program's current context is what it was. */
#undef OK
#define OK(call)                                                                          \
    do {                                                                                  \
        CUcontext ok_before = current_context();                                          \
        int ok_code = (call);                                                             \
        if (ok_code != MPI_SUCCESS) explain(ok_code);                                     \
        CHECK(ok_code == MPI_SUCCESS, "code %d, %s", ok_code, doing);                     \
        CHECK(current_context() == ok_before, "another context is current, %s", doing);   \
    } while (0)

__attribute__((unused)) static void explain(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (MPI_Error_string(code, text, &length) == MPI_SUCCESS) fprintf(stderr, "rank %d: %s\n", rank, text);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    void *frames[64];
    dprintf(STDERR_FILENO, "rank %d: signal %d, address %p, %s\n", rank, number, info->si_addr, doing);
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    _exit(99);
}

static void *procedure(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return found;
}

/* Open the driver, and a context for each device. Where nobody does, all memory is host memory. */
static void open_driver(void) {
    void *frames[1];
    backtrace(frames, 1); /* Loads what it needs now, not in the handler. */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    void *library = driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&cu.init = procedure(library, "cuInit");
    *(void **)&cu.device_count = procedure(library, "cuDeviceGetCount");
    *(void **)&cu.device = procedure(library, "cuDeviceGet");
    *(void **)&cu.retain = procedure(library, "cuDevicePrimaryCtxRetain");
    *(void **)&cu.create = procedure(library, "cuCtxCreate_v2");
    *(void **)&cu.destroy = procedure(library, "cuCtxDestroy_v2");
    *(void **)&cu.set = procedure(library, "cuCtxSetCurrent");
    *(void **)&cu.allocate = procedure(library, "cuMemAlloc_v2");
    *(void **)&cu.allocate_managed = procedure(library, "cuMemAllocManaged");
    *(void **)&cu.allocate_pooled = procedure(library, "cuMemAllocAsync");
    *(void **)&cu.allocate_host = procedure(library, "cuMemHostAlloc");
    *(void **)&cu.release = procedure(library, "cuMemFree_v2");
    *(void **)&cu.release_host = procedure(library, "cuMemFreeHost");
    *(void **)&cu.physical = procedure(library, "cuMemCreate");
    *(void **)&cu.release_physical = procedure(library, "cuMemRelease");
    *(void **)&cu.reserve = procedure(library, "cuMemAddressReserve");
    *(void **)&cu.release_reserved = procedure(library, "cuMemAddressFree");
    *(void **)&cu.map = procedure(library, "cuMemMap");
    *(void **)&cu.unmap = procedure(library, "cuMemUnmap");
    *(void **)&cu.access = procedure(library, "cuMemSetAccess");
    *(void **)&cu.range = procedure(library, "cuMemGetAddressRange_v2");
    *(void **)&cu.to_device = procedure(library, "cuMemcpyHtoD_v2");
    *(void **)&cu.to_host = procedure(library, "cuMemcpyDtoH_v2");
    DRIVER(cu.init(0));
    *(void **)&cu.current = procedure(library, "cuCtxGetCurrent");
    DRIVER(cu.device_count(&devices));
    CHECK(devices > 0, "no device");
    if (devices > MOST_DEVICES) devices = MOST_DEVICES;
    for (int i = 0; i < devices; i++) {
        CUdevice device;
        DRIVER(cu.device(&device, i));
        DRIVER(cu.retain(&contexts[i], device));
    }
}

/* DEVICE: the rank's own one; OTHER: the next one's, if there is another; POOLED: memory of a pool, which has no IPC handle; MAPPED:
 * of virtual memory management, which has a descriptor; MIXED: DEVICE at even ranks, HOST at odd ones. */
enum kind { HOST, DEVICE, OTHER, MANAGED, PINNED, POOLED, MAPPED, MIXED };
__attribute__((unused)) static const char *const kind_names[] = {"host", "device", "other device", "managed", "pinned", "pooled", "mapped", "mixed"};

static enum kind resolved(enum kind kind) {
    if (!cu.init) return HOST;
    return kind != MIXED ? kind : rank % 2 == 0 ? DEVICE : HOST;
}

static CUcontext context_of(enum kind kind) { return contexts[(rank + (kind == OTHER)) % devices]; }

/* Code between these two runs with a context for memory of the kind. */
static CUcontext enter(enum kind kind) {
    CUcontext before = current_context();
    DRIVER(cu.set(context_of(kind)));
    return before;
}
static void leave(CUcontext before) { DRIVER(cu.set(before)); }

enum { GRANULARITY = 2 << 20 };

/* Memory of virtual memory management, of a device. */
static CUdeviceptr take_mapped(int device, size_t bytes) {
    /* CUmemAllocationProp: pinned, a file descriptor, at this device; CUmemAccessDesc: this device, to read and write. */
    struct { int type, handles, at, id; void *meta; unsigned char flags[8]; } wanted = {1, 1, 1, device, NULL, {0}};
    struct { int at, id, flags; } access = {1, device, 3};
    unsigned long long physical;
    CUdeviceptr address;
    bytes = (bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
    DRIVER(cu.physical(&physical, bytes, &wanted, 0));
    DRIVER(cu.reserve(&address, bytes, 0, 0, 0));
    DRIVER(cu.map(address, bytes, 0, physical, 0));
    DRIVER(cu.access(address, bytes, &access, 1));
    DRIVER(cu.release_physical(physical));
    return address;
}

static void give_mapped(CUdeviceptr address) {
    size_t bytes;
    DRIVER(cu.range(NULL, &bytes, address));
    DRIVER(cu.unmap(address, bytes));
    DRIVER(cu.release_reserved(address, bytes));
}

static void *take(enum kind kind, size_t bytes) {
    void *memory = NULL;
    CUdeviceptr address = 0;
    kind = resolved(kind);
    bytes += bytes == 0;
    if (kind == HOST) {
        memory = malloc(bytes);
        CHECK(memory, "no memory");
        return memory;
    }
    CUcontext before = enter(kind);
    if (kind == PINNED) DRIVER(cu.allocate_host(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
    if (kind == MANAGED) DRIVER(cu.allocate_managed(&address, bytes, CU_MEM_ATTACH_GLOBAL));
    if (kind == POOLED) DRIVER(cu.allocate_pooled(&address, bytes, NULL));
    if (kind == DEVICE || kind == OTHER) DRIVER(cu.allocate(&address, bytes));
    if (kind == MAPPED) address = take_mapped(rank % devices, bytes);
    leave(before);
    return kind == PINNED ? memory : (void *)(uintptr_t)address;
}

static void give(enum kind kind, void *memory) {
    kind = resolved(kind);
    if (kind == HOST) {
        free(memory);
        return;
    }
    CUcontext before = enter(kind);
    if (kind == PINNED)
        DRIVER(cu.release_host(memory));
    else if (kind == MAPPED)
        give_mapped((uintptr_t)memory);
    else
        DRIVER(cu.release((uintptr_t)memory));
    leave(before);
}

static int is_read_directly(enum kind kind) {
    kind = resolved(kind);
    return kind == HOST || kind == PINNED || kind == MANAGED;
}

/* Host memory to memory of a kind. */
static void store(enum kind kind, void *to, const void *from, size_t bytes) {
    if (bytes == 0) return;
    if (is_read_directly(kind)) {
        memcpy(to, from, bytes);
        return;
    }
    CUcontext before = enter(resolved(kind));
    DRIVER(cu.to_device((uintptr_t)to, from, bytes));
    leave(before);
}

/* And back. */
static void load(enum kind kind, void *to, const void *from, size_t bytes) {
    if (bytes == 0) return;
    if (is_read_directly(kind)) {
        memcpy(to, from, bytes);
        return;
    }
    CUcontext before = enter(resolved(kind));
    DRIVER(cu.to_host(to, (uintptr_t)from, bytes));
    leave(before);
}

/* Bytes that differ between seeds, fast. */
static void noise(void *to, size_t bytes, unsigned seed) {
    enum { PERIOD = 8191 };
    static unsigned char block[2 * PERIOD];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!block[0]) fill(block, sizeof block, 77), block[0] |= 1;
    pthread_mutex_unlock(&lock);
    size_t at = seed * 613u % PERIOD;
    for (size_t done = 0; done < bytes; done += PERIOD)
        memcpy((char *)to + done, block + at, bytes - done < PERIOD ? bytes - done : PERIOD);
}

/* A call, on so many elements. Its buffers are all as long as the table says. */
enum { BUFFERS = 3, MARGIN = 64 };
struct call {
    const char *name;
    void (*run)(char *const *buffers, int count);
    /* Buffers of it that stay host memory, as bits. */
    unsigned host;
};

struct table {
    const struct call *calls;
    int how_many;
    /* How many buffers they have. */
    int buffers;
    /* Where in a buffer the address points that the call gets; from there on the rest is for it. */
    size_t base;
    /* What each holds before. Without it: noise. */
    void (*prepare)(void *memory, size_t bytes, unsigned seed);
    /* Makes bytes equal that need not be. */
    void (*normalise)(void *memory, size_t bytes);
    /* Each so many-th call alone; 0: all. */
    int stride;
    /* Before each call, with its buffers and the number of its kinds (0: what is compared with), and when all are done. */
    void (*before)(char *const *buffers, size_t bytes, int kinds);
    void (*end)(void);
};

struct memory {
    enum kind kind;
    char *start;
    size_t bytes;
};

static struct memory kept[BUFFERS][MIXED + 1];

/* Kept from call to call. */
static char *memory_of(int buffer, enum kind kind, size_t bytes) {
    struct memory *memory = &kept[buffer][kind];
    if (memory->bytes < bytes) {
        if (memory->start) give(kind, memory->start);
        *memory = (struct memory){kind, take(kind, bytes), bytes};
    }
    return memory->start;
}

__attribute__((unused)) static void give_all(void) {
    for (int buffer = 0; buffer < BUFFERS; buffer++)
        for (int kind = 0; kind <= MIXED; kind++)
            if (kept[buffer][kind].start) give(kind, kept[buffer][kind].start), kept[buffer][kind] = (struct memory){0};
}

static void prepare(const struct table *table, char *to, size_t bytes, unsigned seed) {
    noise(to, bytes + 2 * MARGIN, seed + 1000);
    if (table->prepare)
        table->prepare(to + MARGIN, bytes, seed);
    else
        noise(to + MARGIN, bytes, seed);
}

static void run_with(const struct table *table, const struct call *call, int number, const enum kind *kinds, char *const *starts, size_t bytes, int count) {
    char *buffers[BUFFERS] = {0};
    snprintf(doing, sizeof doing, "%s of %d%s: %s, %s, %s", call->name, count, with, kind_names[kinds[0]], kind_names[kinds[1]], kind_names[kinds[2]]);
    for (int i = 0; i < table->buffers; i++) buffers[i] = starts[i] + MARGIN + table->base;
    if (table->before) table->before(buffers, bytes - table->base, number);
    call->run(buffers, count);
}

/* Make each call of a table with host memory, and then with each of these kinds; `bytes` for each buffer. */
__attribute__((unused)) static void try_table(const struct table *table, const enum kind (*kinds)[BUFFERS], int how_many, size_t bytes, int count) {
    size_t all = bytes + 2 * MARGIN;
    char *before[BUFFERS], *expected[BUFFERS], *found = malloc(all);
    for (int i = 0; i < table->buffers; i++) {
        before[i] = malloc(all);
        expected[i] = malloc(all);
        CHECK(before[i] && expected[i] && found, "no memory");
    }
    for (int c = 0; c < table->how_many; c += table->stride ? table->stride : 1) {
        const struct call *call = &table->calls[c];
        for (int i = 0; i < table->buffers; i++) {
            prepare(table, before[i], bytes, (unsigned)(rank * 31 + c * 7 + i * 3 + count));
            memcpy(expected[i], before[i], all);
        }
        run_with(table, call, 0, (enum kind[BUFFERS]){HOST, HOST, HOST}, expected, bytes, count);
        for (int k = 0; k < how_many; k++) {
            enum kind chosen[BUFFERS] = {HOST, HOST, HOST};
            char *starts[BUFFERS] = {0};
            for (int i = 0; i < table->buffers; i++) {
                if (!(call->host >> i & 1)) chosen[i] = kinds[k][i];
                starts[i] = memory_of(i, chosen[i], all);
                store(chosen[i], starts[i], before[i], all);
            }
            run_with(table, call, k + 1, chosen, starts, bytes, count);
            for (int i = 0; i < table->buffers; i++) {
                load(chosen[i], found, starts[i], all);
                if (table->normalise) {
                    table->normalise(expected[i] + MARGIN, bytes);
                    table->normalise(found + MARGIN, bytes);
                }
                size_t at = 0;
                if (memcmp(found, expected[i], all) != 0)
                    while (found[at] == expected[i][at]) at++;
                CHECK(memcmp(found, expected[i], all) == 0, "byte %ld of %zu of buffer %d is %d, not %d (before: %d), %s", (long)at - MARGIN, bytes, i,
                      found[at], expected[i][at], before[i][at], doing);
            }
        }
    }
    if (table->end) table->end();
    for (int i = 0; i < table->buffers; i++) free(before[i]), free(expected[i]);
    free(found);
}

static void (*tests)(void);
/* Threads are allowed, even where the program is to have one. */
static int always_multiple;

static void *in_thread(void *unused) {
    (void)unused;
    CHECK(!current_context(), "a new thread has a context");
    tests();
    return NULL;
}

/* `host`: without a driver; `own`, `none`, `other`: the current context; `thread`: in a thread that has none. */
__attribute__((unused)) static int device_main(int argc, char **argv, void (*run)(void)) {
    const char *how = argc > 1 ? argv[1] : "own";
    int provided;
    if (strcmp(how, "host") != 0) open_driver();
    int is_thread = strcmp(how, "thread") == 0;
    OK(MPI_Init_thread(&argc, &argv, is_thread || always_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (strcmp(how, "own") == 0) given = contexts[rank % devices];
    if (strcmp(how, "other") == 0) {
        CUdevice device;
        DRIVER(cu.device(&device, (rank + 1) % devices));
        DRIVER(cu.create(&given, 0, device));
    }
    if (cu.set) DRIVER(cu.set(given));
    tests = run;
    if (is_thread) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0, "no thread");
        CHECK(pthread_join(thread, NULL) == 0, "no end");
    } else {
        run();
    }
    give_all();
    OK(MPI_Finalize());
    return 0;
}

#define HOW_MANY(array) ((int)(sizeof(array) / sizeof *(array)))

#endif
