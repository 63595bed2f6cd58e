// ranks: 1 3
// Symmetric blocks that are far larger than what is touched of them take what is touched, zeroed or not, and give it back.
#include "check.h"
#include "../programs/job_memory.h"

enum { LARGE = 192 << 20, SHORT = 5 << 20, AT = 100 << 20, SLACK = 12 << 20 };

static long taken(long before)
{
    shmem_barrier_all();
    long now = job_memory() - before;
    shmem_barrier_all();
    return now;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), size = shmem_n_pes();
    for (int turn = 0; turn < 3; turn++) {
        long before = job_memory();
        shmem_barrier_all();
        char *block = turn ? shmem_calloc(LARGE + 24, 1) : shmem_malloc(LARGE + 24);
        CHECK(block);
        CHECK(!comes_when_touched() || taken(before) < SLACK);
        CHECK(!turn || (block[0] == 0 && block[AT] == 0 && block[LARGE + 23] == 0));
        shmem_barrier_all();
        shmem_long_p((long *)(block + AT), me + 1, (me + 1) % size);
        block[0] = block[LARGE + 23] = 7;
        shmem_barrier_all();
        CHECK(*(long *)(block + AT) == (me + size - 1) % size + 1);
        CHECK(!comes_when_touched() || taken(before) < SLACK);
        shmem_free(block);
        CHECK(taken(before) < SLACK);
        // Short ones share pages with their neighbours, whose bytes stay.
        char *first = shmem_malloc(100), *second = shmem_malloc(SHORT), *third = shmem_malloc(100);
        CHECK(first && second && third);
        memset(first, 1, 100), memset(second, 2, SHORT), memset(third, 3, 100);
        shmem_free(second);
        second = shmem_calloc(1, SHORT);
        CHECK(second);
        for (int at = 0; at < SHORT; at++) CHECK(second[at] == 0);
        for (int at = 0; at < 100; at++) CHECK(first[at] == 1 && third[at] == 3);
        shmem_free(first), shmem_free(second), shmem_free(third);
    }
    shmem_finalize();
    return 0;
}
