/* The program: every line of every_routine.h becomes a function that checks that routine; then all are called, in its order.
 * The file that includes this one says which name is called, as `CALLED(function, generic)`. */
#include "atomics.h"
#include "collectives.h"
#include "rest.h"
#include "transfers.h"
#include "waits.h"

#define ROUTINE(kind, function, generic, type) \
    static void check_##function(void) { CHECK_##kind(CALLED(function, generic), type, PLAIN); }
#define ROUTINE_OF_CONTEXT(kind, function, generic, type) \
    static void check_##function(void) { CHECK_##kind(CALLED(function, generic), type, ON_CONTEXT); }
#include "../every_routine.h"
#undef ROUTINE
#undef ROUTINE_OF_CONTEXT

static const struct {
    const char *name;
    void (*check)(void);
} routines[] = {
#define ROUTINE(kind, function, generic, type) { #function, check_##function },
#define ROUTINE_OF_CONTEXT ROUTINE
#include "../every_routine.h"
};

static void turn(int in_heap, char *heap)
{
    dest = in_heap ? heap : (char *) static_dest;
    source = in_heap ? (char *) static_source : heap + ROOM;
    work = in_heap ? heap + 2 * ROOM : (char *) static_work;
}

int main(void)
{
    checking = "shmem_init";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    char *heap = (char *) shmem_align(128, 3 * ROOM);
    /* Local variables are not symmetric. */
    local = (char *) malloc(ROOM);
    MUST(heap != NULL && local != NULL && shmem_ctx_create(0, &ctx) == 0);
    for (int parity = 0; parity < 2 && parity < n; parity++) {
        shmem_team_t team;
        MUST(shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, 2, (n + 1 - parity) / 2, NULL, 0, &team) == 0);
        if (team != SHMEM_TEAM_INVALID)
            half = team;
    }
    for (size_t index = 0; index < sizeof routines / sizeof *routines; index++) {
        checking = routines[index].name;
        turn(index % 2, heap);
        routines[index].check();
    }
    /* The same once more, where the others lie. */
    for (size_t index = 0; index < sizeof routines / sizeof *routines; index++) {
        checking = routines[index].name;
        turn(index % 2 == 0, heap);
        routines[index].check();
    }
    free(local);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    int initialized = 1;
    shmem_query_initialized(&initialized);
    if (initialized)
        return 4;
    /* The end by one, while the others wait. */
    start_pes(0);
    checking = "shmem_global_exit";
    static long never;
    if (me == 0)
        shmem_global_exit(0);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    return 5;
}
