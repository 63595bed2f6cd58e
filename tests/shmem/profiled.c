/* Calls that an optimised program does by itself, which it finds the table for, unless a profiling library has them: then (`counted`) it has heard of all. */
#include <shmem.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int profile_calls(void) __attribute__((weak));

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int pes = shmem_n_pes(), is_fenced = syscall(SYS_membarrier, 2 /* MEMBARRIER_CMD_GLOBAL_EXPEDITED */, 0, 0) == 0;
    if (!is_fenced && shmem_my_pe() == 0)
        fprintf(stderr, "membarrier is refused: not looked whether calls are done in place\n");
    size_t near_pes = isthmus_shmem_near_1.pes;
    int me = shmem_my_pe(), next = (me + 1) % pes;
    long *value = shmem_calloc(1, sizeof *value);
    uint64_t *bits = shmem_calloc(1, sizeof *bits);
    shmem_long_p(value, 7, next);
    for (int i = 0; i < 3; i++)
        shmem_uint64_atomic_xor(bits, (uint64_t)1 << i, next);
    shmem_barrier_all();
    int good = shmem_long_g(value, next) == 7 && *bits == 7;
    if (argc > 1)
        good = good && profile_calls && profile_calls() == 4 && near_pes == 0;
    else
        good = good && !profile_calls && (near_pes == (size_t)pes || (!is_fenced && near_pes == 0));
    if (!good)
        fprintf(stderr, "PE %d: %ld %lu, %d calls, %zu of %d PEs near\n", me, *value, (unsigned long)*bits,
            profile_calls ? profile_calls() : -1, near_pes, pes);
    shmem_barrier_all();
    shmem_finalize();
    if (isthmus_shmem_near_1.pes != 0) {
        fprintf(stderr, "PE %d: calls are done in place after the end\n", me);
        good = 0;
    }
    return good ? 0 : 1;
}
