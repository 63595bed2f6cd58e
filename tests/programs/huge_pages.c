/* Memory of the job in huge pages from the machine's pool, run by tests/huge_pages.rs: huge_pages MODE
 *   all      every block of 2 MiB and more is in huge pages: of MPI_Alloc_mem, of windows, and with them the rings
 *   hint     only the window whose info asks for it is
 *   some     as many as there are; the rest is ordinary memory
 *   none     none is
 *   taken    rank 0 takes the pool away from the machine in the middle: what was taken stays, what comes then is ordinary memory */
#include "check.h"

#include <stdint.h>

enum { LENGTH = 8 << 20 };

/* KiB of the pages that the kernel maps there. */
static long page_of(const void *address) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    long page = 0;
    int inside = 0;
    CHECK(maps, "no list of mappings");
    while (!page && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2 && strchr(line, '-') < strchr(line, ' '))
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
        else if (inside)
            sscanf(line, "KernelPageSize: %ld kB", &page);
    }
    fclose(maps);
    CHECK(page, "no mapping");
    return page;
}

/* Every byte of it is written, read by a peer, and replaced by what a peer sends. */
static void use(char *memory, int bytes, int mark) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    char *other = malloc((size_t)bytes);
    CHECK(other, "no memory");
    fill(memory, bytes, rank + mark);
    OK(MPI_Sendrecv(memory, bytes, MPI_BYTE, next, 1, other, bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(other, bytes, previous + mark);
    fill(other, bytes, rank + mark + 1);
    OK(MPI_Sendrecv(other, bytes, MPI_BYTE, previous, 2, memory, bytes, MPI_BYTE, next, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(memory, bytes, next + mark + 1);
    free(other);
}

static char *allocate(int bytes) {
    char *memory;
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    return memory;
}

/* A window, written by the neighbour. The size of its pages. */
static long window(const char *hint) {
    MPI_Info info;
    MPI_Win win;
    char *base, *from = malloc(LENGTH);
    long page;
    CHECK(from, "no memory");
    OK(MPI_Info_create(&info));
    if (hint) OK(MPI_Info_set(info, "isthmus_huge_pages", hint));
    OK(MPI_Win_allocate(LENGTH, 1, info, MPI_COMM_WORLD, &base, &win));
    fill(from, LENGTH, rank);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(from, LENGTH, MPI_BYTE, (rank + 1) % size, 0, LENGTH, MPI_BYTE, win));
    OK(MPI_Win_fence(0, win));
    CHECK_BYTES(base, LENGTH, (rank + size - 1) % size);
    page = page_of(base);
    OK(MPI_Win_free(&win));
    OK(MPI_Info_free(&info));
    free(from);
    return page;
}

/* Large messages through the ring, and collectives through staging memory. */
static void through_rings(void) {
    double in[4096], out[4096];
    char *a = malloc(LENGTH), *b = malloc(LENGTH);
    CHECK(a && b, "no memory");
    for (int turn = 0; turn < 5; turn++) {
        int next = (rank + 1) % size, previous = (rank + size - 1) % size;
        fill(a, LENGTH, rank + turn);
        OK(MPI_Sendrecv(a, LENGTH, MPI_BYTE, next, 1, b, LENGTH, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_BYTES(b, LENGTH, previous + turn);
        for (int i = 0; i < 4096; i++) in[i] = rank + i;
        OK(MPI_Allreduce(in, out, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < 4096; i++) CHECK(out[i] == size * (double)i + size * (size - 1) / 2, "%d: %g", i, out[i]);
    }
    free(a);
    free(b);
}

static void take_pool_away(void) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        FILE *pages = fopen("/proc/sys/vm/nr_hugepages", "w");
        CHECK(pages && fputs("0\n", pages) >= 0 && fclose(pages) == 0, "the pool cannot be changed");
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    if (!strcmp(mode, "hint")) {
        CHECK(window("hugetlb") == 2048 && window("off") == 4 && window(NULL) == 4, "pages of windows");
        end();
        return 0;
    }
    char *first = allocate(LENGTH), *small = allocate(100000);
    long page = page_of(first);
    if (!strcmp(mode, "all") || !strcmp(mode, "taken")) CHECK(page == 2048, "pages of %ld KiB", page);
    if (!strcmp(mode, "none")) CHECK(page == 4, "pages of %ld KiB", page);
    CHECK(page_of(small) == 4, "what is small is in ordinary pages");
    use(first, LENGTH, 3);
    if (!strcmp(mode, "taken")) {
        take_pool_away();
        char *second = allocate(LENGTH);
        CHECK(page_of(second) == 4, "there is no pool");
        use(second, LENGTH, 4);
        OK(MPI_Free_mem(second));
    }
    /* Freed and had again, more than the heap keeps. */
    for (int turn = 0; turn < 20; turn++) {
        char *more = allocate(LENGTH / 2 + turn * 4096);
        use(more, LENGTH / 2, turn);
        OK(MPI_Free_mem(more));
    }
    if (!strcmp(mode, "all")) CHECK(window(NULL) == 2048 && window("off") == 4, "pages of windows");
    through_rings();
    use(first, LENGTH, 5);
    OK(MPI_Free_mem(small));
    OK(MPI_Free_mem(first));
    end();
    return 0;
}
