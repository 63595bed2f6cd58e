// ranks: 1 2 3 4 8
// Setup, memory, puts and gets to everybody, atomics, signals, locks, teams and contexts, each a little.
#include "check.h"

static long counter;
static int initialised = 42;
static int zeros[5000];

int main(void)
{
    int provided = -1, before = -1;
    shmem_query_initialized(&before);
    if (before)
        return 9;
    if (shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) || provided < SHMEM_THREAD_SERIALIZED)
        return 9;
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(initialised == 42);
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);

    long *array = shmem_malloc(1000 * sizeof *array);
    CHECK(array != NULL);
    long *addresses = shmem_calloc((size_t) n, sizeof *addresses);
    for (int pe = 0; pe < n; pe++)
        shmem_p(&addresses[me], (long) array, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        CHECK(addresses[pe] == (long) array);

    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < 1000; i++)
        array[i] = -1;
    shmem_barrier_all();
    long mine[1000];
    for (int i = 0; i < 1000; i++)
        mine[i] = me * 1000 + i;
    shmem_put(array, mine, 1000, right);
    shmem_barrier_all();
    for (int i = 0; i < 1000; i++)
        CHECK(array[i] == left * 1000 + i);
    long theirs[1000];
    shmem_long_get(theirs, array, 1000, right);
    for (int i = 0; i < 1000; i++)
        CHECK(theirs[i] == me * 1000 + i);
    CHECK(shmem_g(&array[7], right) == me * 1000 + 7);
    shmem_barrier_all();

    // Static data.
    shmem_long_atomic_add(&counter, me + 1, 0);
    shmem_int_p(&zeros[4000 + me], me + 100, right);
    initialised = 100 + me;
    shmem_barrier_all();
    if (me == 0)
        CHECK(counter == (long) n * (n + 1) / 2);
    CHECK(zeros[4000 + left] == left + 100);
    CHECK(shmem_int_g(&initialised, right) == 100 + right);
    int *there = shmem_ptr(&initialised, left);
    CHECK(there ? *there == 100 + left
                : shmem_team_translate_pe(SHMEM_TEAM_WORLD, left, SHMEM_TEAM_SHARED) == -1);
    int local;
    CHECK(shmem_ptr(&local, me) == NULL && !shmem_addr_accessible(&local, me));
    CHECK(shmem_addr_accessible(&initialised, right) && shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n));

    // A token goes around by signals.
    static uint64_t signal;
    static long token;
    if (me == 0)
        shmem_putmem_signal(&token, (long[]) { 7 }, sizeof token, &signal, 1, SHMEM_SIGNAL_SET, right);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1) == 1);
    CHECK(token == 7 + (me + n - 1) % n);
    if (me != 0)
        shmem_put_signal(&token, (long[]) { 7 + me }, 1, &signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_barrier_all();

    // A lock protects what is no atomic.
    static long lock, protected;
    for (int i = 0; i < 50; i++) {
        shmem_set_lock(&lock);
        long value = shmem_g(&protected, 0);
        shmem_p(&protected, value + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_g(&protected, 0) == 50L * n);

    // Teams and their contexts.
    shmem_team_t odd_or_even = SHMEM_TEAM_INVALID;
    for (int parity = 0; parity < 2; parity++) {
        int size = (n - parity + 1) / 2;
        if (size < 1)
            continue;
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, 2, size, NULL, 0, &team) == 0);
        CHECK((team != SHMEM_TEAM_INVALID) == (me % 2 == parity));
        if (team != SHMEM_TEAM_INVALID)
            odd_or_even = team;
    }
    int rank = shmem_team_my_pe(odd_or_even), size = shmem_team_n_pes(odd_or_even);
    CHECK(rank == me / 2 && shmem_team_translate_pe(odd_or_even, rank, SHMEM_TEAM_WORLD) == me);
    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(odd_or_even, SHMEM_CTX_SERIALIZED, &ctx) == 0);
    shmem_p(ctx, &array[0], 5000L + me, (rank + 1) % size);
    shmem_ctx_quiet(ctx);
    CHECK(shmem_sync(odd_or_even) == 0);
    CHECK(array[0] == 5000 + (rank + size - 1) % size * 2 + me % 2);
    shmem_ctx_destroy(ctx);
    long *sum = shmem_malloc(2 * sizeof *sum);
    sum[0] = me;
    shmem_sum_reduce(odd_or_even, &sum[1], &sum[0], 1);
    long wanted = 0;
    for (int pe = me % 2; pe < n; pe += 2)
        wanted += pe;
    CHECK(sum[1] == wanted);
    shmem_team_destroy(odd_or_even);

    shmem_free(sum);
    shmem_free(addresses);
    shmem_free(array);
    CHECK(shmem_malloc(100) == (void *) array);
    shmem_finalize();
    return 0;
}
