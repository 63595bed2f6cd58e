// ranks: 1 2 4
/* Windows in memory of every kind, with origins, results and compared values of every kind: each rank operates on the memory of the next. */
#include "device.h"

/* One for each kind of its memory, made when it is first used. */
enum { MOST_WINDOWS = 9 };
static MPI_Win windows[MOST_WINDOWS], win;
static MPI_Aint bases[MOST_WINDOWS];
static int next, unit;
static MPI_Datatype gaps;

enum synchronisation { FENCE, LOCK, LOCK_ALL, POST_START, WAYS };
static enum synchronisation way;
static MPI_Aint base;

static MPI_Group neighbours(int which) {
    MPI_Group world, group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &which, &group));
    OK(MPI_Group_free(&world));
    return group;
}

static void open_epoch(void) {
    MPI_Group to, from;
    switch (way) {
    case FENCE: OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win)); break;
    case LOCK: OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win)); break;
    case LOCK_ALL: OK(MPI_Win_lock_all(0, win)); break;
    default:
        to = neighbours(next), from = neighbours((rank + size - 1) % size);
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        OK(MPI_Group_free(&to));
        OK(MPI_Group_free(&from));
    }
}

/* Operations that were begun are complete at the origin, and at the target where that is asked for. */
static void complete(void) {
    if (way == LOCK || way == LOCK_ALL) OK(MPI_Win_flush(next, win));
}

static void close_epoch(void) {
    switch (way) {
    case FENCE: OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win)); break;
    case LOCK: OK(MPI_Win_unlock(next, win)); break;
    case LOCK_ALL: OK(MPI_Win_unlock_all(win)); break;
    default: OK(MPI_Win_complete(win)); OK(MPI_Win_wait(win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (way != LOCK && way != LOCK_ALL) return;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    OK(MPI_Win_unlock(rank, win));
}

#define OPERATION(name, ...)                     \
    static void name(char *const *b, int n) {    \
        (void)b, (void)n;                        \
        open_epoch();                            \
        __VA_ARGS__;                             \
        close_epoch();                           \
    }

OPERATION(put, OK(MPI_Put(b[0], n, MPI_INT, next, base, n, MPI_INT, win)))
OPERATION(get, OK(MPI_Get(b[1], n, MPI_INT, next, base, n, MPI_INT, win)))
OPERATION(put_with_gaps, OK(MPI_Put(b[0], n / 2, gaps, next, base, n / 2, gaps, win)))
OPERATION(get_with_gaps, OK(MPI_Get(b[1], n / 2, gaps, next, base, n / 2, MPI_INT, win)))
OPERATION(put_into_gaps, OK(MPI_Put(b[0], n / 2, MPI_INT, next, base, n / 2, gaps, win)))
OPERATION(accumulate, OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win)))
OPERATION(replace, OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_REPLACE, win)))
OPERATION(maximum, OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_MAX, win)))
OPERATION(bits, OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_BXOR, win)))
OPERATION(accumulate_with_gaps, OK(MPI_Accumulate(b[0], n / 2, gaps, next, base, n / 2, gaps, MPI_SUM, win)))
OPERATION(twice, OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win));
          OK(MPI_Accumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win)))
OPERATION(get_accumulate, OK(MPI_Get_accumulate(b[0], n, MPI_INT, b[1], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win)))
OPERATION(get_only, OK(MPI_Get_accumulate(NULL, 0, MPI_INT, b[1], n, MPI_INT, next, base, n, MPI_INT, MPI_NO_OP, win)))
OPERATION(swap, OK(MPI_Get_accumulate(b[0], n, MPI_INT, b[1], n, MPI_INT, next, base, n, MPI_INT, MPI_REPLACE, win)))
OPERATION(fetch_and_add, if (n > 0) OK(MPI_Fetch_and_op(b[0], b[1], MPI_INT, next, base, MPI_SUM, win)))
OPERATION(fetch, if (n > 0) OK(MPI_Fetch_and_op(b[0], b[1], MPI_INT, next, base, MPI_NO_OP, win)))
OPERATION(fetch_and_replace, if (n > 1) OK(MPI_Fetch_and_op(b[0], b[1], MPI_LONG, next, base, MPI_REPLACE, win)))
/* The value to compare with is read from the target, so that the swap happens. */
OPERATION(compare_and_swap, if (n > 1) {
    OK(MPI_Get(b[1] + 4, 1, MPI_INT, next, base, 1, MPI_INT, win));
    if (way == LOCK || way == LOCK_ALL) {
        complete();
        OK(MPI_Compare_and_swap(b[0], b[1] + 4, b[1], MPI_INT, next, base, win));
    }
})
OPERATION(compare_and_keep, if (n > 1) OK(MPI_Compare_and_swap(b[0], b[0] + 4, b[1], MPI_INT, next, base, win)))

#define WITH_REQUEST(name, ...)                                     \
    static void name(char *const *b, int n) {                       \
        MPI_Request request = MPI_REQUEST_NULL;                     \
        (void)b, (void)n;                                           \
        open_epoch();                                               \
        if (way == LOCK || way == LOCK_ALL) OK(__VA_ARGS__);        \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                  \
        close_epoch();                                              \
    }
WITH_REQUEST(rput, MPI_Rput(b[0], n, MPI_INT, next, base, n, MPI_INT, win, &request))
WITH_REQUEST(rget, MPI_Rget(b[1], n, MPI_INT, next, base, n, MPI_INT, win, &request))
WITH_REQUEST(raccumulate, MPI_Raccumulate(b[0], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win, &request))
WITH_REQUEST(rget_accumulate, MPI_Rget_accumulate(b[0], n, MPI_INT, b[1], n, MPI_INT, next, base, n, MPI_INT, MPI_SUM, win, &request))

#define CALL(name) {#name, name, 0}
static const struct call CALLS[] = {
    CALL(put), CALL(get), CALL(put_with_gaps), CALL(get_with_gaps), CALL(put_into_gaps), CALL(accumulate), CALL(replace), CALL(maximum), CALL(bits),
    CALL(accumulate_with_gaps), CALL(twice), CALL(get_accumulate), CALL(get_only), CALL(swap), CALL(fetch_and_add), CALL(fetch),
    CALL(fetch_and_replace), CALL(compare_and_swap), CALL(compare_and_keep), CALL(rput), CALL(rget), CALL(raccumulate), CALL(rget_accumulate),
};

/* Origin, result, window. */
static const enum kind KINDS[][BUFFERS] = {
    {DEVICE, DEVICE, DEVICE}, {MIXED, MIXED, MIXED}, {DEVICE, DEVICE, HOST}, {HOST, HOST, DEVICE}, {DEVICE, HOST, OTHER}, {MANAGED, DEVICE, MANAGED},
    {HOST, DEVICE, MAPPED}, {DEVICE, HOST, POOLED},
};

static const int COUNTS[] = {0, 1, 2, 256, 7500, 50000};

enum flavour { CREATED, DYNAMIC, FLAVOURS };
static enum flavour flavour;

static void make(char *const *b, size_t bytes, int kinds) {
    if (windows[kinds] == MPI_WIN_NULL && flavour == CREATED) {
        OK(MPI_Win_create(b[2], (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[kinds]));
        bases[kinds] = 0;
    } else if (windows[kinds] == MPI_WIN_NULL) {
        MPI_Aint own;
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[kinds]));
        OK(MPI_Win_attach(windows[kinds], b[2], (MPI_Aint)bytes));
        OK(MPI_Get_address(b[2], &own));
        OK(MPI_Sendrecv(&own, 1, MPI_AINT, (rank + size - 1) % size, 2, &bases[kinds], 1, MPI_AINT, next, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    win = windows[kinds], base = bases[kinds];
    /* Everyone's memory is as it is to be before. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void drop(void) {
    for (int i = 0; i < MOST_WINDOWS; i++)
        if (windows[i] != MPI_WIN_NULL) OK(MPI_Win_free(&windows[i]));
}

static void run(void) {
    next = (rank + 1) % size;
    unit = 4;
    for (int i = 0; i < MOST_WINDOWS; i++) windows[i] = MPI_WIN_NULL;
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &gaps));
    OK(MPI_Type_commit(&gaps));
    struct table table = {.calls = CALLS, .how_many = HOW_MANY(CALLS), .buffers = 3, .before = make, .end = drop};
    for (int f = 0; f < FLAVOURS; f++)
        for (int w = 0; w < WAYS; w++)
            for (int i = 0; i < HOW_MANY(COUNTS); i++) {
                /* Not each size in each way. */
                if ((w == LOCK_ALL || w == POST_START) && (COUNTS[i] != 256 || f == DYNAMIC)) continue;
                if (f == DYNAMIC && COUNTS[i] != 2 && COUNTS[i] != 7500) continue;
                flavour = (enum flavour)f, way = (enum synchronisation)w;
                size_t bytes = (size_t)COUNTS[i] * 4 + 16;
                char text[64];
                snprintf(text, sizeof text, " (window %d, synchronisation %d)", f, w);
                with = text;
                try_table(&table, KINDS, COUNTS[i] > 10000 ? 3 : HOW_MANY(KINDS), bytes, COUNTS[i]);
            }
    OK(MPI_Type_free(&gaps));
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
