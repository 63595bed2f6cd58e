/* Libraries that take host memory only: each says so of a buffer in the memory of a device, and ends the job. */
#include "device.h"

#include <armci.h>
#include <ga.h>
#include <macdecls.h>
#include <shmem.h>

enum { BYTES = 256 };
static char *device;

static void with_shmem(const char *what) {
    shmem_init();
    long *object = shmem_malloc(BYTES);
    if (strcmp(what, "shmem_putmem") == 0) shmem_putmem(object, device, BYTES, 0);
    if (strcmp(what, "shmem_long_get") == 0) shmem_long_get((long *)device, object, 4, 0);
    if (strcmp(what, "shmem_long_iput") == 0) shmem_long_iput(object, (long *)device, 1, 2, 4, 0);
}

static void with_armci(const char *what) {
    void *memory[16];
    double scale = 1;
    ARMCI_Init();
    ARMCI_Malloc(memory, BYTES);
    if (strcmp(what, "ARMCI_Put") == 0) ARMCI_Put(device, memory[0], BYTES, 0);
    if (strcmp(what, "ARMCI_Get") == 0) ARMCI_Get(memory[0], device, BYTES, 0);
    if (strcmp(what, "ARMCI_Acc") == 0) ARMCI_Acc(ARMCI_ACC_DBL, &scale, device, memory[0], BYTES, 0);
    if (strcmp(what, "ARMCI_PutV") == 0) {
        void *from[1] = {device}, *to[1] = {memory[0]};
        armci_giov_t entry = {.src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = 1, .bytes = BYTES};
        ARMCI_PutV(&entry, 1, 0);
    }
}

static void with_ga(const char *what) {
    int extents[1] = {100}, low[1] = {0}, high[1] = {9}, distance[1] = {10};
    double one = 1;
    GA_Initialize();
    int array = NGA_Create(C_DBL, 1, extents, "array", NULL);
    if (strcmp(what, "NGA_Put") == 0) NGA_Put(array, low, high, device, distance);
    if (strcmp(what, "NGA_Get") == 0) NGA_Get(array, low, high, device, distance);
    if (strcmp(what, "NGA_Acc") == 0) NGA_Acc(array, low, high, device, distance, &one);
}

int main(int argc, char **argv) {
    CHECK(argc == 2, "a call is named");
    open_driver();
    device = take(DEVICE, BYTES);
    if (strncmp(argv[1], "shmem", 5) == 0) {
        with_shmem(argv[1]);
    } else {
        OK(MPI_Init(&argc, &argv));
        if (strncmp(argv[1], "ARMCI", 5) == 0)
            with_armci(argv[1]);
        else
            with_ga(argv[1]);
    }
    printf("not refused\n");
    return 0;
}
