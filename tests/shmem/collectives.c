// ranks: 1 2 3 4 8
// Collectives of sizes on both sides of every limit, in place and not, on teams and active sets, against what they must give.
#include "check.h"

#define MOST 20000
static long source[MOST], dest[8 * MOST], p_work[MOST];
static long p_sync[SHMEM_SYNC_SIZE];
static const size_t sizes[] = { 0, 1, 3, 27, 28, 200, 5000, MOST };

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t count = sizes[k];
        for (size_t i = 0; i < count; i++)
            source[i] = me * 100000 + (long) i;
        for (int root = 0; root < n; root++) {
            memset(dest, 0xff, sizeof dest);
            CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, count, root) == 0);
            for (size_t i = 0; i < count; i++)
                CHECK(dest[i] == root * 100000 + (long) i);
            CHECK(dest[count] == -1);
        }
        CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, count) == 0);
        for (size_t i = 0; i < count * n; i++)
            CHECK(dest[i] == (long) (i / count) * 100000 + (long) (i % count));
        // Everybody another size.
        size_t own = count * (me + 1) / n, at = 0;
        CHECK(shmem_collect(SHMEM_TEAM_WORLD, dest, source, own) == 0);
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < count * (pe + 1) / n; i++)
                CHECK(dest[at++] == pe * 100000 + (long) i);
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == (long) n * (n - 1) / 2 * 100000 + (long) (i * n));
        CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, source, count) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == (long) me * (me + 1) / 2 * 100000 + (long) (i * (me + 1)));
        CHECK(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest, source, count) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == (long) me * (me - 1) / 2 * 100000 + (long) (i * me));
        // In place.
        CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, source, source, count) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(source[i] == (n - 1) * 100000 + (long) i);
        for (size_t i = 0; i < count; i++)
            source[i] = me * 100000 + (long) i;
        shmem_long_min_to_all(dest, source, (int) count, 0, 0, n, p_work, p_sync);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == (long) i);
        size_t block = count / n;
        CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, block) == 0);
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < block; i++)
                CHECK(dest[pe * block + i] == pe * 100000 + (long) (me * block + i));
        CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 3, 2, block / 2) == 0);
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < block / 2; i++)
                CHECK(dest[(pe * (block / 2) + i) * 3] == pe * 100000 + (long) ((me * (block / 2) + i) * 2));
    }
    // Every second PE, as an active set.
    int half = (n + 1) / 2;
    if (me % 2 == 0) {
        for (int round = 0; round < 20; round++) {
            source[0] = me;
            shmem_barrier(0, 1, half, p_sync);
            shmem_broadcast64(dest, source, 1, half - 1, 0, 1, half, p_sync);
            CHECK(me == 2 * (half - 1) || dest[0] == 2 * (half - 1));
            shmem_fcollect64(dest, source, 1, 0, 1, half, p_sync);
            for (int i = 0; i < half; i++)
                CHECK(dest[i] == 2 * i);
            shmem_sync(0, 1, half, p_sync);
        }
    }
    shmem_barrier_all();
    shmem_team_t x, y;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &x, NULL, 0, &y) == 0);
    int width = n < 3 ? n : 3;
    CHECK(shmem_team_my_pe(x) == me % width && shmem_team_my_pe(y) == me / width);
    source[0] = me;
    shmem_sum_reduce(x, dest, source, 1);
    long sum = 0;
    for (int pe = me / width * width; pe < n && pe < (me / width + 1) * width; pe++)
        sum += pe;
    CHECK(dest[0] == sum);
    shmem_barrier_all();
    for (int round = 0; round < 100; round++) {
        shmem_team_t again;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &again) == 0);
        CHECK(shmem_team_my_pe(again) == n - 1 - me);
        source[0] = me;
        shmem_broadcast(again, dest, source, 1, 0);
        CHECK(dest[0] == n - 1);
        shmem_team_destroy(again);
    }
    shmem_finalize();
    return 0;
}
