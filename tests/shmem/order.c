// ranks: 2 4 8
// Litmus tests of fence and quiet, signals after data, sleeping waits, static data in a forked child.
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static long x, y, seen[8], data[64], flag;
static uint64_t signals[8];
static int before_fork = 5;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    // Message passing: a PE that sees the flag sees the puts before the fence.
    for (long round = 1; round <= 300; round++) {
        if (me == 0) {
            for (int i = 0; i < 64; i++)
                shmem_p(&data[i], round, n - 1);
            shmem_fence();
            shmem_p(&flag, round, n - 1);
        } else if (me == n - 1) {
            shmem_wait_until(&flag, SHMEM_CMP_GE, round);
            for (int i = 0; i < 64; i++)
                CHECK(*(volatile long *) &data[i] >= round);
        }
        if (round % 50 == 0)
            shmem_barrier_all();
    }
    // Store buffering: after a quiet at least one of two sees the other's store.
    for (int round = 0; round < 200; round++) {
        x = y = 0;
        shmem_barrier_all();
        if (me < 2) {
            shmem_p(me ? &y : &x, 1L, 0);
            shmem_quiet();
            long other = shmem_g(me ? &x : &y, 0);
            shmem_p(&seen[me], other, 0);
        }
        shmem_barrier_all();
        if (me == 0)
            CHECK(seen[0] || seen[1]);
        shmem_barrier_all();
    }
    // Everybody signals everybody; the one that waits sleeps.
    if (me == 0)
        usleep(50000);
    for (int pe = 0; pe < n; pe++)
        shmem_signal_set(&signals[me], 9, pe);
    size_t indices[8], all = 0;
    int status[8] = { 0 };
    while (all < (size_t) n) {
        size_t some = shmem_uint64_wait_until_some(signals, (size_t) n, indices, status, SHMEM_CMP_EQ, 9);
        for (size_t i = 0; i < some; i++)
            status[indices[i]] = 1;
        all += some;
    }
    CHECK(shmem_uint64_test_all(signals, (size_t) n, NULL, SHMEM_CMP_EQ, 9));
    CHECK(shmem_uint64_wait_until_any(signals, (size_t) n, status, SHMEM_CMP_EQ, 9) == SIZE_MAX);
    // A plain store through a pointer of ours is seen too.
    shmem_barrier_all();
    flag = 0;
    shmem_barrier_all();
    if (me == 0) {
        usleep(20000);
        volatile long *there = shmem_ptr(&flag, n - 1);
        if (there)
            *there = 77;
        else
            shmem_p(&flag, 77L, n - 1);
    }
    if (me == n - 1)
        shmem_wait_until(&flag, SHMEM_CMP_EQ, 77L);
    shmem_barrier_all();
    // A child has its own static data.
    pid_t child = fork();
    if (child == 0) {
        int well = before_fork == 5;
        before_fork = 6;
        _exit(well ? 0 : 1);
    }
    int code;
    CHECK(waitpid(child, &code, 0) == child && code == 0 && before_fork == 5);
    shmem_p(&data[me], (long) me, (me + 1) % n);
    shmem_barrier_all();
    CHECK(data[(me + n - 1) % n] == (me + n - 1) % n);
    shmem_finalize();
    return 0;
}
