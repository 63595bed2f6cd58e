/* Checks of what exists once: setup, memory, teams, contexts, order, locks, caches. */
#include "every.h"

/* Initialisations nest. */
#define CHECK_init(function, type, c)                                                               \
    function();                                                                                     \
    MUST(shmem_n_pes() == n);                                                                       \
    shmem_finalize()
#define CHECK_init_thread(function, type, c)                                                        \
    int provided = -1;                                                                              \
    MUST(function(SHMEM_THREAD_FUNNELED, &provided) == 0 && provided >= SHMEM_THREAD_SINGLE);       \
    shmem_finalize()
#define CHECK_finalize(function, type, c)                                                           \
    shmem_init();                                                                                   \
    function();                                                                                     \
    MUST(shmem_my_pe() == me)
#define CHECK_query_thread(function, type, c)                                                       \
    int provided = -1;                                                                              \
    function(&provided);                                                                            \
    MUST(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE)
#define CHECK_query_initialized(function, type, c)                                                  \
    int initialized = -1;                                                                           \
    function(&initialized);                                                                         \
    MUST(initialized == 1)
/* It ends this program (`main`), and with another code bad.c. */
#define CHECK_global_exit(function, type, c) MUST(function != NULL)
#define CHECK_my_pe(function, type, c) MUST(function() == me)
#define CHECK__my_pe CHECK_my_pe
#define CHECK_n_pes(function, type, c) MUST(function() == n)
#define CHECK__num_pes CHECK_n_pes
#define CHECK_start_pes(function, type, c)                                                          \
    function(0);                                                                                    \
    MUST(shmem_my_pe() == me)
#define CHECK_pcontrol(function, type, c)                                                           \
    function(0);                                                                                    \
    function(1, "more", 2)
#define CHECK_pe_accessible(function, type, c)                                                      \
    for (int pe = 0; pe < n; pe++)                                                                  \
        MUST(function(pe) == 1);                                                                    \
    MUST(function(n) == 0 && function(-1) == 0)
#define CHECK_addr_accessible(function, type, c)                                                    \
    MUST(function(dest, right) == 1 && function(source, left) == 1);                                \
    MUST(function(static_dest, right) == 1 && function(local, me) == 0)
/* Is that PE on another node? */
#define IS_FAR(pe) (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) == -1)
#define POINTS_THERE(call)                                                                          \
    *(int *) dest = me;                                                                             \
    shmem_barrier_all();                                                                            \
    int *there = (int *) call(dest);                                                                \
    MUST((there ? *there == right : IS_FAR(right)) && call(local) == NULL);                         \
    shmem_barrier_all()
#define CHECK_ptr(function, type, c)                                                                \
    POINTS_THERE(PTR_TO_RIGHT)
#define PTR_TO_RIGHT(address) shmem_ptr(address, right)
#define CHECK_team_ptr(function, type, c)                                                           \
    POINTS_THERE(TEAM_PTR_TO_RIGHT);                                                                \
    MUST(shmem_team_ptr(half, dest, me / 2) == dest)
#define TEAM_PTR_TO_RIGHT(address) shmem_team_ptr(SHMEM_TEAM_WORLD, address, right)
#define CHECK_info_get_version(function, type, c)                                                   \
    int major, minor;                                                                               \
    function(&major, &minor);                                                                       \
    MUST(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION)
#define CHECK_info_get_name(function, type, c)                                                      \
    char name[SHMEM_MAX_NAME_LEN];                                                                  \
    function(name);                                                                                 \
    MUST(strcmp(name, SHMEM_VENDOR_STRING) == 0)

/* Memory that an allocation gave: symmetric, its own, writable from elsewhere; then freed. */
static void serves(void *block, size_t size, size_t alignment, int pes)
{
    MUST(block != NULL && (uintptr_t) block % alignment == 0);
    MUST((char *) block + size <= dest || (char *) block >= dest + ROOM);
    shmem_barrier_all();
    char *last = (char *) block + size - 1;
    shmem_char_p(last, (char) (me + 1), (me + 1) % pes);
    shmem_barrier_all();
    MUST(*last == left + 1);
}
#define CHECK_malloc(function, type, c)                                                             \
    void *block = function(10007);                                                                  \
    serves(block, 10007, 8, n);                                                                     \
    MUST(function(0) == NULL);                                                                      \
    shmem_free(block)
#define CHECK_shmalloc CHECK_malloc
#define CHECK_malloc_with_hints(function, type, c)                                                  \
    void *block = function(999, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);          \
    serves(block, 999, 8, n);                                                                       \
    shmem_free(block)
#define CHECK_calloc(function, type, c)                                                             \
    char *used = (char *) shmem_malloc(8000);                                                       \
    memset(used, 1, 8000);                                                                          \
    shmem_free(used);                                                                               \
    char *block = (char *) function(1000, 8);                                                       \
    for (int k = 0; k < 8000; k++)                                                                  \
        MUST(block[k] == 0);                                                                        \
    serves(block, 8000, 8, n);                                                                      \
    shmem_free(block)
#define CHECK_align(function, type, c)                                                              \
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {                                \
        void *block = function(alignment, 777);                                                     \
        serves(block, 777, alignment, n);                                                           \
        shmem_free(block);                                                                          \
    }
#define CHECK_shmemalign CHECK_align
#define CHECK_realloc(function, type, c)                                                            \
    char *block = (char *) function(NULL, 100);                                                     \
    memset(block, me + 1, 100);                                                                     \
    block = (char *) function(block, 100000);                                                       \
    for (int k = 0; k < 100; k++)                                                                   \
        MUST(block[k] == me + 1);                                                                   \
    serves(block, 100000, 8, n);                                                                    \
    block = (char *) function(block, 50);                                                           \
    MUST(block[49] == me + 1);                                                                      \
    shmem_free(block)
#define CHECK_shrealloc CHECK_realloc
#define CHECK_free(function, type, c)                                                               \
    void *block = shmem_malloc(5000);                                                               \
    function(block);                                                                                \
    MUST(shmem_malloc(5000) == block);                                                              \
    function(block);                                                                                \
    function(NULL)
#define CHECK_shfree CHECK_free

#define CHECK_team_my_pe(function, type, c)                                                         \
    int among = function(SHMEM_TEAM_SHARED);                                                        \
    MUST(shmem_team_translate_pe(SHMEM_TEAM_SHARED, among, SHMEM_TEAM_WORLD) == me);                \
    MUST(function(SHMEM_TEAM_WORLD) == me);                                                         \
    MUST(function(half) == me / 2 && function(SHMEM_TEAM_INVALID) == -1)
#define CHECK_team_n_pes(function, type, c)                                                         \
    int near = 0;                                                                                   \
    for (int pe = 0; pe < n; pe++)                                                                  \
        near += shmem_ptr(dest, pe) != NULL;                                                        \
    MUST(function(SHMEM_TEAM_WORLD) == n && function(SHMEM_TEAM_SHARED) == near);                   \
    MUST(function(half) == (n + 1 - me % 2) / 2 && function(SHMEM_TEAM_INVALID) == -1)
#define CHECK_team_get_config(function, type, c)                                                    \
    shmem_team_config_t config;                                                                     \
    config.num_contexts = 3;                                                                        \
    shmem_team_t team;                                                                              \
    MUST(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0); \
    config.num_contexts = -1;                                                                       \
    MUST(function(team, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3);        \
    MUST(function(SHMEM_TEAM_INVALID, 0, NULL) != 0);                                               \
    shmem_team_destroy(team)
#define CHECK_team_translate_pe(function, type, c)                                                  \
    MUST(function(half, me / 2, SHMEM_TEAM_WORLD) == me && function(SHMEM_TEAM_WORLD, me, half) == me / 2); \
    MUST(function(SHMEM_TEAM_WORLD, n, half) == -1 && function(SHMEM_TEAM_INVALID, 0, half) == -1); \
    if (n > 1)                                                                                      \
        MUST(function(SHMEM_TEAM_WORLD, me ^ 1, half) == -1 || (me ^ 1) == n)
#define CHECK_team_split_strided(function, type, c)                                                 \
    shmem_team_t team = SHMEM_TEAM_INVALID;                                                         \
    MUST(function(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);                            \
    MUST(shmem_team_my_pe(team) == n - 1 - me);                                                     \
    shmem_team_destroy(team);                                                                       \
    MUST(function(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID)
#define CHECK_team_split_2d(function, type, c)                                                      \
    shmem_team_t x, y;                                                                              \
    int width = n < 2 ? n : 2;                                                                      \
    MUST(function(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y) == 0);                             \
    MUST(shmem_team_my_pe(x) == me % width && shmem_team_my_pe(y) == me / width);                   \
    MUST(shmem_team_translate_pe(y, 0, SHMEM_TEAM_WORLD) == me % width);                            \
    shmem_team_destroy(x);                                                                          \
    shmem_team_destroy(y)
#define CHECK_team_destroy(function, type, c)                                                       \
    shmem_team_t team;                                                                              \
    MUST(shmem_team_split_strided(half, 0, 1, shmem_team_n_pes(half), NULL, 0, &team) == 0);        \
    MUST(shmem_team_sync(team) == 0);                                                               \
    function(team);                                                                                 \
    function(SHMEM_TEAM_INVALID)

#define CHECK_ctx_create(function, type, c)                                                         \
    shmem_ctx_t made;                                                                               \
    MUST(function(SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &made) == 0 && made != SHMEM_CTX_INVALID); \
    shmem_team_t team = SHMEM_TEAM_INVALID;                                                         \
    MUST(shmem_ctx_get_team(made, &team) == 0 && team == SHMEM_TEAM_WORLD);                         \
    shmem_ctx_destroy(made)
#define CHECK_team_create_ctx(function, type, c)                                                    \
    shmem_ctx_t made;                                                                               \
    MUST(function(half, SHMEM_CTX_SERIALIZED, &made) == 0);                                         \
    *(int *) dest = -1;                                                                             \
    shmem_barrier_all();                                                                            \
    shmem_ctx_int_p(made, (int *) dest, me, me / 2);                                                \
    shmem_ctx_quiet(made);                                                                          \
    MUST(*(int *) dest == me);                                                                      \
    shmem_ctx_destroy(made);                                                                        \
    MUST(function(SHMEM_TEAM_INVALID, 0, &made) != 0 && made == SHMEM_CTX_INVALID)
#define CHECK_ctx_destroy(function, type, c)                                                        \
    shmem_ctx_t made;                                                                               \
    MUST(shmem_ctx_create(0, &made) == 0);                                                          \
    *(int *) dest = -1;                                                                             \
    shmem_barrier_all();                                                                            \
    shmem_ctx_int_p(made, (int *) dest, me, right);                                                 \
    function(made);                                                                                 \
    function(SHMEM_CTX_INVALID);                                                                    \
    shmem_barrier_all();                                                                            \
    MUST(*(int *) dest == left)
#define CHECK_ctx_get_team(function, type, c)                                                       \
    shmem_team_t team = SHMEM_TEAM_INVALID;                                                         \
    MUST(function(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);                      \
    MUST(function(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID)
#define CHECK_ctx_session_start(function, type, c)                                                  \
    shmem_ctx_session_config_t config;                                                              \
    config.total_ops = 2;                                                                           \
    *(int *) dest = -1;                                                                             \
    shmem_barrier_all();                                                                            \
    function(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);                   \
    shmem_ctx_int_p(ctx, (int *) dest, me, right);                                                  \
    shmem_ctx_session_stop(ctx);                                                                    \
    OVER();                                                                                         \
    MUST(*(int *) dest == left)
#define CHECK_ctx_session_stop(function, type, c)                                                   \
    shmem_ctx_session_start(ctx, 0, NULL, 0);                                                       \
    function(ctx)

/* Data, then a flag: a PE that sees the flag sees the data. */
#define ORDERS(call)                                                                                \
    for (long round = 1; round <= 20; round++) {                                                    \
        long *data = (long *) dest, *flag = (long *) (dest + BEHIND);                               \
        data[0] = *flag = 0;                                                                        \
        shmem_barrier_all();                                                                        \
        shmem_ctx_long_p(ctx, data, round, right);                                                  \
        call;                                                                                       \
        shmem_ctx_long_p(ctx, flag, round, right);                                                  \
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);                                           \
        MUST(data[0] == round);                                                                     \
        OVER();                                                                                     \
    }
#define CHECK_fence(function, type, c) ORDERS(shmem_fence(); shmem_ctx_fence(ctx))
#define CHECK_quiet(function, type, c)                                                              \
    ORDERS(shmem_quiet(); shmem_ctx_quiet(ctx));                                                    \
    shmem_ctx_fence(SHMEM_CTX_INVALID);                                                             \
    shmem_ctx_quiet(SHMEM_CTX_INVALID);                                                             \
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &right, 1)
#define CHECK_pe_quiet(function, type, c) \
    ORDERS(shmem_pe_quiet(&right, 1); shmem_ctx_pe_quiet(ctx, &right, 1))

static long lock, counter;

/* 20 times each: a value read, another one written. */
#define LOCKED(take, give)                                                                          \
    if (me == 0)                                                                                    \
        counter = 0;                                                                                \
    shmem_barrier_all();                                                                            \
    for (int round = 0; round < 20; round++) {                                                      \
        take;                                                                                       \
        long value = shmem_long_g(&counter, 0);                                                     \
        shmem_long_p(&counter, value + 1, 0);                                                       \
        give;                                                                                       \
    }                                                                                               \
    shmem_barrier_all();                                                                            \
    MUST(shmem_long_g(&counter, 0) == 20 * n);                                                      \
    shmem_barrier_all()
#define CHECK_set_lock(function, type, c) LOCKED(function(&lock), shmem_clear_lock(&lock))
#define CHECK_clear_lock(function, type, c) LOCKED(shmem_set_lock(&lock), function(&lock))
#define CHECK_test_lock(function, type, c) LOCKED(while (function(&lock));, shmem_clear_lock(&lock))

#define CHECK_clear_cache_inv(function, type, c) function()
#define CHECK_set_cache_inv CHECK_clear_cache_inv
#define CHECK_udcflush CHECK_clear_cache_inv
#define CHECK_clear_cache_line_inv(function, type, c)                                               \
    FILL(char, dest, 3, i + 1);                                                                     \
    function(dest);                                                                                 \
    EXPECT(char, dest, 3, i + 1)
#define CHECK_set_cache_line_inv CHECK_clear_cache_line_inv
#define CHECK_udcflush_line CHECK_clear_cache_line_inv
