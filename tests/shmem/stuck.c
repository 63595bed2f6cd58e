/* PEs that wait for the last one in a routine which the argument names. It computes. */
#include <shmem.h>
#include <string.h>

static long word, lock;

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    shmem_init();
    int last = shmem_n_pes() - 1;
    if (shmem_my_pe() == last && !strcmp(how, "lock")) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (shmem_my_pe() == last)
        for (volatile int i = 0;; i++) {
        }
    if (!strcmp(how, "lock")) shmem_set_lock(&lock);
    if (!strcmp(how, "barrier")) shmem_barrier_all();
    if (!strcmp(how, "wait")) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    shmem_finalize();
    return 0;
}
