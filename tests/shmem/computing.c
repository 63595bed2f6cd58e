// ranks: 1 2 4
// PEs that compute call nothing, and are read, written and counted at all the same, wherever they are; and what they have started comes.
#include "check.h"

#include <sched.h>

#define LONG 40000

static long counter, data[LONG], far_end[LONG];
static uint64_t signal;

/* All of it comes while nothing is called, also from another PE that calls nothing. */
static void get_while_computing(int other)
{
    static long few[10], all[LONG];
    memset(all, 0xff, sizeof all);
    memset(few, 0xff, sizeof few);
    shmem_get_nbi(all, data, LONG, other);
    shmem_get_nbi(few, data + 3, 10, other);
    for (int i = 0; i < LONG; i++)
        while (((volatile long *)all)[i] == -1)
            sched_yield();
    for (int i = 0; i < 10; i++)
        while (((volatile long *)few)[i] == -1)
            sched_yield();
    shmem_quiet();
    for (int i = 0; i < LONG; i++)
        CHECK(all[i] == other + i);
    for (int i = 0; i < 10; i++)
        CHECK(few[i] == other + 3 + i);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < LONG; i++)
        data[i] = me + i;
    shmem_barrier_all();
    get_while_computing((me + n / 2) % n);
    shmem_barrier_all();
    for (int computing = 0; computing < n; computing++) {
        if (me != computing) {
            long mine[LONG], got[100], rows[100];
            shmem_get(got, data + 5, 100, computing);
            for (int i = 0; i < 100; i++)
                CHECK(got[i] == computing + 5 + i);
            shmem_iget(rows, data, 1, 7, 100, computing);
            for (int i = 0; i < 100; i++)
                CHECK(rows[i] == computing + 7 * i);
            for (int i = 0; i < LONG; i++)
                mine[i] = computing * 3 + i;
            /* All write the same. */
            shmem_put(far_end, mine, LONG, computing);
            shmem_fence();
            shmem_long_atomic_inc(&counter, computing);
            shmem_quiet();
            CHECK(shmem_long_atomic_fetch(&counter, computing) >= 1);
            shmem_long_put_signal(far_end, mine, 10, &signal, 1, SHMEM_SIGNAL_ADD, computing);
        } else {
            while (__atomic_load_n(&signal, __ATOMIC_ACQUIRE) != (uint64_t) n - 1)
                ;
            CHECK(counter == n - 1);
            for (int i = 0; n > 1 && i < LONG; i++)
                CHECK(far_end[i] == computing * 3 + i);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
