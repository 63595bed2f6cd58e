/* Calls that an optimised program does by itself, unless a profiling library has them: then (`counted`) it has heard of all. */
#include <shmem.h>
#include <stdio.h>

extern int profile_calls(void) __attribute__((weak));

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    long *value = shmem_calloc(1, sizeof *value);
    uint64_t *bits = shmem_calloc(1, sizeof *bits);
    shmem_long_p(value, 7, next);
    for (int i = 0; i < 3; i++)
        shmem_uint64_atomic_xor(bits, (uint64_t)1 << i, next);
    shmem_barrier_all();
    int good = shmem_long_g(value, next) == 7 && *bits == 7;
    if (argc > 1)
        good = good && profile_calls && profile_calls() == 4;
    else
        good = good && !profile_calls;
    if (!good)
        fprintf(stderr, "PE %d: %ld %lu, %d calls\n", me, *value, (unsigned long)*bits, profile_calls ? profile_calls() : -1);
    shmem_barrier_all();
    shmem_finalize();
    return good ? 0 : 1;
}
