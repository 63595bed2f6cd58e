// ranks: 2 4 8
/* MPI_Alloc_mem gives memory that the ranks of a node share: messages to, from and between such buffers, of every size
 * class; alignment; reuse after a free; a child made by fork. */
#define _GNU_SOURCE
#include "check.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does the address lie in the job's segment? */
static int is_shared(const void *address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;
    CHECK(maps, "no list of mappings");
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && (uintptr_t)address >= begin && (uintptr_t)address < end)
            found = strstr(line, "isthmus-job") || strstr(line, "isthmus-pool");
    }
    fclose(maps);
    return found;
}

static char *allocate(long bytes) {
    char *memory = NULL;
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    CHECK(is_shared(memory) == (bytes >= 4096), "%ld bytes", bytes);
    return memory;
}

static void around(char *from, char *to, int bytes, int mark) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    fill(from, bytes, rank * 7 + mark);
    memset(to, 0xee, (size_t)bytes);
    OK(MPI_Sendrecv(from, bytes, MPI_BYTE, next, 3, to, bytes, MPI_BYTE, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(to, bytes, previous * 7 + mark);
    CHECK_BYTES(from, bytes, rank * 7 + mark);
}

/* Shared and not, on either side, from the beginning and from within. */
static void messages(void) {
    static const int sizes[] = {1, 4096, 5000, 65536, 300001, 1 << 20, 5 << 20};
    for (unsigned at = 0; at < sizeof sizes / sizeof *sizes; at++) {
        int bytes = sizes[at];
        char *from[2] = {allocate(bytes + 100), malloc((size_t)bytes + 100)};
        char *to[2] = {allocate(bytes + 100), malloc((size_t)bytes + 100)};
        CHECK(from[1] && to[1], "%d bytes", bytes);
        for (int form = 0; form < 4; form++) {
            around(from[form & 1], to[form >> 1], bytes, form);
            around(from[form & 1] + 33, to[form >> 1] + 1, bytes, form + 50);
        }
        OK(MPI_Free_mem(to[0]));
        OK(MPI_Free_mem(from[0]));
        free(from[1]);
        free(to[1]);
    }
}

static void alignment(void) {
    MPI_Info info;
    char *memory;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "1048576"));
    OK(MPI_Alloc_mem(10000, info, &memory));
    CHECK((uintptr_t)memory % 1048576 == 0 && is_shared(memory), "%p", (void *)memory);
    OK(MPI_Free_mem(memory));
    OK(MPI_Info_free(&info));
}

/* Freed memory does not change the peer's messages: each frees and allocates while the others still send from theirs. */
static void reuse(void) {
    for (int round = 0; round < 20; round++) {
        int bytes = 4096 << (round % 9);
        char *mine = allocate(bytes), *theirs = allocate(bytes);
        around(mine, theirs, bytes, round);
        OK(MPI_Free_mem(mine));
        mine = allocate(bytes);
        fill(mine, bytes, 99);
        CHECK_BYTES(theirs, bytes, (rank + size - 1) % size * 7 + round);
        OK(MPI_Free_mem(theirs));
        OK(MPI_Free_mem(mine));
    }
}

/* More than the machine has is refused or comes from elsewhere, and nothing breaks. */
static void too_much(void) {
    char *memory;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory));
    char *good = allocate(8192);
    FAILS(MPI_ERR_BASE, MPI_Free_mem(good + 4096));
    OK(MPI_Free_mem(good));
    FAILS(MPI_ERR_BASE, MPI_Free_mem(good));
}

static void child(void) {
    char *memory = allocate(100000);
    fill(memory, 100000, rank);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_BYTES(memory, 100000, rank);
        _exit(0);
    }
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "status %x", (unsigned)status);
    CHECK_BYTES(memory, 100000, rank);
    OK(MPI_Free_mem(memory));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    messages();
    alignment();
    reuse();
    child();
    too_much();
    end();
    return 0;
}
