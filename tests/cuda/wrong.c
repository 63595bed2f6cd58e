/* Errors with memory of devices, by the first word: the call fails with the driver's name for it, or goes another way; and after it
 * messages arrive as before. Of the stand-in for the driver it needs `cuda_fail`. */
#include "device.h"

#include <sys/wait.h>

enum { LONG = 1 << 20, SHORT = 64, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801, MAP_FAILED = 205, INVALID_PTX = 218 };

static void (*fail_with)(const char *, CUresult);
static char *out, *in, *host;

static void fresh(void) {
    out = take(DEVICE, LONG), in = take(DEVICE, LONG);
    host = malloc(LONG);
    CHECK(host, "no memory");
}

/* Between the two ranks, both ways, from device to device. */
static void exchange(int bytes, unsigned seed) {
    snprintf(doing, sizeof doing, "%d bytes, seed %u", bytes, seed);
    fill(host, (size_t)bytes, seed + (unsigned)rank);
    store(DEVICE, out, host, (size_t)bytes);
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - rank, 1, in, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    load(DEVICE, host, in, (size_t)bytes);
    CHECK_BYTES(host, (size_t)bytes, seed + (unsigned)(1 - rank));
}

static void told(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(code != MPI_SUCCESS, "%s succeeds", what);
    OK(MPI_Error_string(code, text, &length));
    printf("%s: %s\n", what, text);
    fflush(stdout);
}

static void freed_memory(void) {
    if (rank == 0) {
        char *gone = take(DEVICE, LONG);
        give(DEVICE, gone);
        told(MPI_Send(gone, SHORT, MPI_BYTE, 1, 9, MPI_COMM_WORLD), "a send of freed memory");
        told(MPI_Recv(gone, SHORT, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "a receive into freed memory");
    }
}

static void context_that_is_gone(void) {
    if (rank == 0) {
        CUcontext mine, before = current_context();
        CUdevice device;
        CUdeviceptr address;
        DRIVER(cu.device(&device, 0));
        DRIVER(cu.create(&mine, 0, device));
        DRIVER(cu.allocate(&address, LONG));
        /* While the context is there it goes. */
        char *memory = (char *)(uintptr_t)address;
        OK(MPI_Sendrecv(memory, SHORT, MPI_BYTE, 0, 1, memory + SHORT, SHORT, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        DRIVER(cu.destroy(mine));
        DRIVER(cu.set(before));
        told(MPI_Send(memory, SHORT, MPI_BYTE, 1, 9, MPI_COMM_WORLD), "a send of memory whose context is gone");
    }
}

/* Copies fail at the first rank: the other one hears of nothing, or of what it can receive as host memory. */
static void copies(void) {
    static const int sizes[] = {SHORT, LONG};
    for (int i = 0; i < 2; i++) {
        if (rank == 0) {
            fail_with("cuMemcpyAsync", ILLEGAL_ADDRESS);
            int code = MPI_Send(out, sizes[i], MPI_BYTE, 1, 9, MPI_COMM_WORLD);
            fail_with("cuMemcpyAsync", 0);
            if (code != MPI_SUCCESS) told(code, "a send");
            int failed = code != MPI_SUCCESS;
            OK(MPI_Send(&failed, 1, MPI_INT, 1, 10, MPI_COMM_WORLD));
        } else {
            /* If the message is announced, it is there to be received, and fails. */
            MPI_Request request;
            int failed, flag = 0;
            OK(MPI_Irecv(in, sizes[i], MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request));
            OK(MPI_Recv(&failed, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            int code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(failed || (flag && code == MPI_SUCCESS), "the sender succeeds, the receiver does not");
            if (code != MPI_SUCCESS) told(code, "a receive");
            if (!flag && code == MPI_SUCCESS) {
                OK(MPI_Cancel(&request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            }
        }
        exchange(sizes[i], 50);
        if (rank == 0) {
            OK(MPI_Recv(host, 1, MPI_BYTE, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            fail_with("cuMemcpyAsync", ILLEGAL_ADDRESS);
            int code = MPI_Recv(in, sizes[i], MPI_BYTE, 1, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fail_with("cuMemcpyAsync", 0);
            if (code == MPI_SUCCESS) {
                /* The sender's driver has copied. */
                load(DEVICE, host, in, (size_t)sizes[i]);
                CHECK_BYTES(host, (size_t)sizes[i], 50);
            } else {
                told(code, "a receive");
            }
        } else {
            MPI_Request request;
            fill(host, (size_t)sizes[i], 50);
            OK(MPI_Isend(host, sizes[i], MPI_BYTE, 0, 12, MPI_COMM_WORLD, &request));
            OK(MPI_Send(host, 1, MPI_BYTE, 0, 11, MPI_COMM_WORLD));
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        exchange(sizes[i], 60);
    }
}

/* A procedure fails at both ranks from now on, and everything goes another way. */
static void goes_anyway(const char *name, CUresult code) {
    int sum[2000], one[2000];
    MPI_Datatype gaps;
    fail_with(name, code);
    exchange(SHORT, 3);
    exchange(LONG, 5);
    for (int i = 0; i < 2000; i++) one[i] = i + rank;
    store(DEVICE, out, one, sizeof one);
    OK(MPI_Allreduce(out, in, 2000, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    load(DEVICE, sum, in, sizeof sum);
    for (int i = 0; i < 2000; i++) CHECK(sum[i] == 2 * i + 1, "element %d is %d", i, sum[i]);
    int lengths[64], places[64];
    for (int i = 0; i < 64; i++) lengths[i] = 1 + i % 3, places[i] = i * 4 + i % 2;
    OK(MPI_Type_indexed(64, lengths, places, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Sendrecv(out, 1, gaps, 1 - rank, 1, in, 1, gaps, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    load(DEVICE, sum, in, sizeof sum);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < lengths[i]; k++) CHECK(sum[places[i] + k] == places[i] + k + 1 - rank, "element %d", places[i] + k);
    OK(MPI_Type_free(&gaps));
    fail_with(name, 0);
    exchange(LONG, 7);
}

/* One is killed while the other copies its memory, or is about to. */
static void killed(void) {
    MPI_Request request;
    if (rank == 1) {
        OK(MPI_Isend(out, LONG, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request));
        OK(MPI_Isend(out, LONG, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request));
        raise(SIGKILL);
    }
    for (int i = 0; i < 3; i++) {
        int code = MPI_Recv(in, LONG, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            told(code, "a receive from a process that was killed");
            break;
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The child has the driver's state of its parent, which nobody may use there. */
static void forked(void) {
    exchange(LONG, 1);
    pid_t child = fork();
    if (child == 0) _exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends by %d", status);
    exchange(LONG, 2);
}

/* The driver does not start: there is host memory alone. */
static void no_start(void) {
    fill(host, LONG, (unsigned)rank);
    char *got = malloc(LONG);
    CHECK(got, "no memory");
    OK(MPI_Sendrecv(host, LONG, MPI_BYTE, 1 - rank, 1, got, LONG, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(got, LONG, (unsigned)(1 - rank));
    free(got);
}

/* Memory that comes and goes at the same addresses is other memory each time. */
static void again_and_again(void) {
    for (unsigned i = 0; i < 40; i++) {
        int bytes = i % 2 ? LONG : 300000;
        give(DEVICE, out);
        give(DEVICE, in);
        out = take(DEVICE, LONG), in = take(DEVICE, LONG);
        exchange(bytes, i);
    }
}

static const struct {
    const char *name;
    void (*does)(void);
    const char *fails;
    CUresult code;
} WAYS[] = {
    {"freed", freed_memory, NULL, 0},
    {"context", context_that_is_gone, NULL, 0},
    {"copies", copies, NULL, 0},
    {"again", again_and_again, NULL, 0},
    {"forked", forked, NULL, 0},
    {"killed", killed, NULL, 0},
    {"handles", NULL, "cuIpcGetMemHandle", NOT_SUPPORTED},
    {"mappings", NULL, "cuIpcOpenMemHandle", MAP_FAILED},
    {"registration", NULL, "cuMemHostRegister", NOT_SUPPORTED},
    {"pinned", NULL, "cuMemHostAlloc", 2},
    {"kernels", NULL, "cuModuleLoadData", INVALID_PTX},
    {"words", NULL, "cuStreamWriteValue32", NOT_SUPPORTED},
    {"rows", NULL, "cuMemcpy2DAsync", NOT_SUPPORTED},
};

int main(int argc, char **argv) {
    CHECK(argc == 2, "what is to go wrong?");
    const char *what = argv[1];
    if (strcmp(what, "start") == 0) {
        /* The driver's library is loaded, and cuInit fails by the environment. */
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        CHECK(library, "%s", dlerror());
        CUresult (*init)(unsigned);
        *(void **)&init = procedure(library, "cuInit");
        CHECK(init(0) != 0, "the driver starts");
        begin(&argc, &argv);
        host = malloc(LONG);
        no_start();
        end();
        return 0;
    }
    open_driver();
    begin(&argc, &argv);
    CHECK(size == 2, "two ranks");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    *(void **)&fail_with = procedure(driver, "cuda_fail");
    DRIVER(cu.set(contexts[rank % devices]));
    fresh();
    int found = 0;
    for (int i = 0; i < HOW_MANY(WAYS); i++) {
        if (strcmp(WAYS[i].name, what) != 0) continue;
        found = 1;
        if (WAYS[i].does)
            WAYS[i].does();
        else
            goes_anyway(WAYS[i].fails, WAYS[i].code);
    }
    CHECK(found, "%s", what);
    exchange(SHORT, 90);
    exchange(LONG, 91);
    end();
    return 0;
}
