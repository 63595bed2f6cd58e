// Started by tests/shmem.rs: does what the specification leaves undefined, as its argument says.
#include "check.h"

static int object;

int main(int argc, char **argv)
{
    shmem_init();
    const char *what = argc > 1 ? argv[1] : "";
    int local = 0, me = shmem_my_pe(), n = shmem_n_pes();
#define CASE(name) if (strcmp(what, name) == 0)
    CASE("pe") shmem_int_p(&object, 1, n);
    CASE("negative") shmem_int_get(&local, &object, 1, -1);
    CASE("address") shmem_int_put(&local, &object, 1, 0);
    CASE("beyond") {
        char *end = shmem_malloc(64);
        shmem_putmem(end, &local, (size_t) 1 << 40, 0);
    }
    CASE("team") {
        shmem_team_t team;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
        shmem_team_destroy(team);
        shmem_team_sync(team);
    }
    CASE("context") {
        shmem_ctx_t ctx;
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
        shmem_ctx_quiet(ctx);
    }
    CASE("size") shmem_malloc(100 + me * 1000);
    CASE("count") shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &object, &object, me ? 0 : 1);
    CASE("root") {
        /* Each thinks that it is the root, and waits for nobody. */
        for (int i = 0; i < 3; i++)
            shmem_int_broadcast(SHMEM_TEAM_WORLD, &object, &object, 1, me);
        shmem_barrier_all();
    }
    CASE("routine") {
        if (me)
            shmem_barrier_all();
        else
            shmem_sync_all();
    }
    CASE("free") shmem_free(&object);
    CASE("twice") {
        void *block = shmem_malloc(10);
        shmem_free(block);
        shmem_free(block);
    }
    CASE("align") shmem_align(24, 100);
    CASE("misaligned") shmem_int_atomic_inc((int *) ((char *) &object + 1), 0);
    CASE("comparison") shmem_int_wait_until(&object, 17, 0);
    CASE("unlock") {
        long *lock = shmem_calloc(1, sizeof *lock);
        shmem_clear_lock(lock);
    }
    CASE("full") {
        void *all = shmem_malloc((size_t) 1 << 45);
        void *some = shmem_malloc(100);
        CHECK(all == NULL && some != NULL);
        shmem_finalize();
        return 0;
    }
    CASE("exit") {
        if (me == n - 1)
            shmem_global_exit(7);
        for (;;)
            shmem_int_wait_until(&object, SHMEM_CMP_NE, 0);
    }
    CASE("holder") {
        /* The others wait for a lock whose holder dies. */
        static long lock;
        if (me == 1)
            shmem_set_lock(&lock);
        shmem_barrier_all();
        if (me == 1)
            abort();
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    CASE("dead") {
        if (me == n - 1)
            abort();
        shmem_barrier_all();
    }
    CASE("late") {
        shmem_finalize();
        shmem_int_p(&object, 1, 0);
    }
    shmem_finalize();
    return 0;
}
