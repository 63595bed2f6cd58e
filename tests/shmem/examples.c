// ranks: 1 2 3 4 8
// What the specification's examples show, written anew: one small program for each idea (OpenSHMEM 1.6, the examples of its routines).
#include "check.h"

static int me, n;

/* Statics are symmetric, and a PE's neighbour is written to without its doing anything. */
static void neighbours(void)
{
    static long from_left = -1, source[10], target[10];
    for (int i = 0; i < 10; i++)
        source[i] = me * 10 + i;
    shmem_barrier_all();
    shmem_long_put(target, source, 10, (me + 1) % n);
    shmem_long_p(&from_left, me, (me + 1) % n);
    shmem_barrier_all();
    int left = (me + n - 1) % n;
    CHECK(from_left == left);
    for (int i = 0; i < 10; i++)
        CHECK(target[i] == left * 10 + i);
}

/* Every second element there, every third here. */
static void strides(void)
{
    static short source[30], target[30], back[10];
    for (int i = 0; i < 30; i++) {
        source[i] = (short) (me * 100 + i);
        target[i] = -1;
    }
    shmem_barrier_all();
    shmem_short_iput(target, source, 2, 3, 10, (me + 1) % n);
    shmem_barrier_all();
    int left = (me + n - 1) % n;
    for (int i = 0; i < 20; i++)
        CHECK(target[i] == (i % 2 ? -1 : left * 100 + i / 2 * 3));
    shmem_short_iget(back, target, 1, 2, 10, (me + 1) % n);
    for (int i = 0; i < 10; i++)
        CHECK(back[i] == me * 100 + i * 3);
}

/* One wins the race for a word; an exchange around the ring; a counter that everybody raises. */
static void atomics(void)
{
    static int race = -1, word, counter;
    word = me;
    shmem_barrier_all();
    int before = shmem_int_atomic_compare_swap(&race, -1, me, 0), won = before == -1;
    int got = shmem_int_atomic_swap(&word, 1000 + me, (me + 1) % n);
    shmem_int_atomic_inc(&counter, n - 1);
    shmem_int_atomic_add(&counter, 4, n - 1);
    CHECK(got == (me + 1) % n);
    shmem_barrier_all();
    CHECK(word == 1000 + (me + n - 1) % n);
    CHECK(shmem_int_g(&counter, n - 1) == 5 * n);
    static int winners, mine;
    mine = won;
    shmem_barrier_all();
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &winners, &mine, 1);
    CHECK(winners == 1 && (!won || shmem_int_g(&race, 0) == me));
}

/* A critical section on PE 0's data. */
static void locks(void)
{
    static long lock, slots[64], next;
    shmem_set_lock(&lock);
    long at = shmem_long_g(&next, 0);
    shmem_long_p(&slots[at], me + 1, 0);
    shmem_long_p(&next, at + 1, 0);
    shmem_quiet();
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    if (me == 0) {
        long sum = 0;
        for (int i = 0; i < n; i++)
            sum += slots[i];
        CHECK(next == n && sum == (long) n * (n + 1) / 2);
    }
    while (shmem_test_lock(&lock))
        ;
    shmem_clear_lock(&lock);
    shmem_barrier_all();
}

/* Data, then a flag: by a fence, and with a signal. Messages come in the order in which the flags rise. */
static void pipeline(void)
{
    enum { STAGES = 5, LENGTH = 1000 };
    static long data[LENGTH], flag, blocks[STAGES][LENGTH];
    static uint64_t signal;
    if (me == 0)
        for (int i = 0; i < LENGTH; i++)
            data[i] = 7 * i;
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    if (me + 1 < n) {
        shmem_long_put(data, data, LENGTH, me + 1);
        shmem_fence();
        shmem_long_p(&flag, 1, me + 1);
    }
    for (int i = 0; i < LENGTH; i++)
        CHECK(data[i] == 7 * i);
    for (int stage = 0; stage < STAGES; stage++) {
        if (me == 0)
            for (int i = 0; i < LENGTH; i++)
                blocks[stage][i] = stage * LENGTH + i;
        else
            shmem_signal_wait_until(&signal, SHMEM_CMP_GE, (uint64_t) stage + 1);
        for (int i = 0; i < LENGTH; i++)
            CHECK(blocks[stage][i] == stage * LENGTH + i);
        if (me + 1 < n)
            shmem_long_put_signal_nbi(blocks[stage], blocks[stage], LENGTH, &signal, 1, SHMEM_SIGNAL_ADD, me + 1);
    }
    shmem_barrier_all();
    CHECK(me == 0 || shmem_signal_fetch(&signal) == STAGES);
}

/* Everybody's flag rises at PE 0, which takes them as they come: all, any, some, and with a value for each. */
static void waits(void)
{
    static int flags[64], again[64], status[64];
    static size_t indices[64];
    static int values[64];
    shmem_barrier_all();
    if (me != 0) {
        shmem_int_p(&flags[me], me, 0);
        shmem_int_wait_until(&again[0], SHMEM_CMP_EQ, 1);
        shmem_int_p(&again[me], me, 0);
    } else {
        int left = n - 1;
        status[0] = 1;
        while (left > 0) {
            size_t at = shmem_int_wait_until_any(flags, (size_t) n, status, SHMEM_CMP_NE, 0);
            CHECK(at != SIZE_MAX && flags[at] == (int) at && !status[at]);
            status[at] = 1;
            left--;
        }
        for (int pe = 1; pe < n; pe++)
            shmem_int_p(&again[0], 1, pe);
        memset(status, 0, sizeof status);
        status[0] = 1;
        for (int pe = 0; pe < n; pe++)
            values[pe] = pe;
        for (left = n - 1; left > 0;) {
            size_t found = shmem_int_wait_until_some_vector(again, (size_t) n, indices, status, SHMEM_CMP_EQ, values);
            CHECK(found >= 1);
            for (size_t i = 0; i < found; i++)
                status[indices[i]] = 1;
            left -= (int) found;
        }
        CHECK(left == 0);
    }
    shmem_barrier_all();
}

/* Every second PE, and a grid: collectives within them, PEs translated between them. */
static void teams(void)
{
    static long values[64], all[64 * 2], one, sum;
    shmem_team_t evens, row, column;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens) == 0);
    CHECK((evens == SHMEM_TEAM_INVALID) == me % 2 && shmem_team_n_pes(evens) == (me % 2 ? -1 : (n + 1) / 2));
    if (evens != SHMEM_TEAM_INVALID) {
        CHECK(shmem_team_my_pe(evens) == me / 2);
        values[0] = me == 0 ? 77 : 0;
        shmem_long_broadcast(evens, all, values, 1, 0);
        CHECK(all[0] == 77);
        shmem_team_destroy(evens);
    }
    int columns = n % 2 ? 1 : 2;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, columns, NULL, 0, &row, NULL, 0, &column) == 0);
    CHECK(shmem_team_n_pes(row) == columns && shmem_team_n_pes(column) == n / columns);
    CHECK(shmem_team_translate_pe(row, shmem_team_my_pe(row), SHMEM_TEAM_WORLD) == me);
    one = me;
    shmem_barrier_all();
    shmem_long_sum_reduce(column, &sum, &one, 1);
    long wanted = 0;
    for (int pe = me % columns; pe < n; pe += columns)
        wanted += pe;
    CHECK(sum == wanted);
    values[0] = me * 2;
    values[1] = me * 2 + 1;
    shmem_barrier_all();
    shmem_long_fcollect(SHMEM_TEAM_WORLD, all, values, 2);
    for (int i = 0; i < 2 * n; i++)
        CHECK(all[i] == i);
    shmem_barrier_all();
    /* As many from each as its number says. */
    shmem_long_collect(SHMEM_TEAM_WORLD, all, values, (size_t) (me % 3));
    long at = 0;
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < pe % 3; i++)
            CHECK(all[at++] == pe * 2 + i);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_barrier_all();
}

/* The transposed matrix of blocks, dense and with strides. */
static void exchanges(void)
{
    static int source[64 * 4], target[64 * 4];
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < 2; i++)
            source[pe * 2 + i] = me * 1000 + pe * 10 + i;
    shmem_barrier_all();
    shmem_int_alltoall(SHMEM_TEAM_WORLD, target, source, 2);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < 2; i++)
            CHECK(target[pe * 2 + i] == pe * 1000 + me * 10 + i);
    for (int i = 0; i < 64 * 4; i++)
        target[i] = -1;
    shmem_barrier_all();
    shmem_int_alltoalls(SHMEM_TEAM_WORLD, target, source, 2, 1, 2);
    for (int pe = 0; pe < n; pe++) {
        CHECK(target[pe * 4] == pe * 1000 + me * 10 && target[pe * 4 + 2] == pe * 1000 + me * 10 + 1);
        CHECK(target[pe * 4 + 1] == -1);
    }
    shmem_barrier_all();
}

/* Two contexts of one PE, each with its own completion; and plain stores where memory is shared. */
static void contexts(void)
{
    static long first[100], second[100], direct;
    long mine[100];
    shmem_ctx_t one, two;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &one) == 0 && shmem_ctx_create(SHMEM_CTX_PRIVATE, &two) == 0);
    for (int i = 0; i < 100; i++)
        mine[i] = me + i;
    shmem_barrier_all();
    int right = (me + 1) % n, left = (me + n - 1) % n;
    shmem_ctx_long_put_nbi(one, first, mine, 100, right);
    shmem_ctx_long_put_nbi(two, second, mine, 100, right);
    shmem_ctx_quiet(one);
    shmem_ctx_quiet(two);
    long *there = shmem_ptr(&direct, right);
    if (there)
        *there = me;
    else
        shmem_long_p(&direct, me, right);
    shmem_barrier_all();
    CHECK(direct == left);
    for (int i = 0; i < 100; i++)
        CHECK(first[i] == left + i && second[i] == left + i);
    shmem_ctx_destroy(one);
    shmem_ctx_destroy(two);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    neighbours();
    strides();
    atomics();
    locks();
    pipeline();
    waits();
    teams();
    exchanges();
    contexts();
    shmem_finalize();
    return 0;
}
