/* A profiling library: it counts what it hears of. */
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>

int profile_calls(void);

static int calls;

int profile_calls(void)
{
    return calls;
}

void shmem_long_p(long *dest, long value, int pe)
{
    calls++;
    pshmem_long_p(dest, value, pe);
}

void shmem_uint64_atomic_xor(uint64_t *dest, uint64_t value, int pe)
{
    calls++;
    pshmem_uint64_atomic_xor(dest, value, pe);
}
