// ranks: 2 3 5
// more ranks: 1 4 8 9
/* Random operations on random windows against a sequential model: every kind of window, several at once; puts, gets, accumulates of every
   predefined operation on every type, fetches, swaps, with requests or without, with derived datatypes on both sides; between fences,
   posts and completes, under locks of one target and of all, with flushes. How the model knows what must come out: random_windows.h.

   win_random [SEED [ROUNDS]]: the seed that is printed gives the same calls again, on as many ranks. */
#include "random_windows.h"

#include <time.h>

static struct window windows[WINDOWS];
static int round_number, one_node;

#define SAYS(w, condition, format, ...)                                                                         \
    CHECK(condition, "seed %u, round %d, %s window of %s: " format, seed, round_number, FLAVOR_NAMES[(w)->flavor], \
          (w)->element->name __VA_OPT__(, ) __VA_ARGS__)

/* ---- Windows ---- */

static void make_window(struct window *w) {
    *w = (struct window){.flavor = (enum flavor)any(&shared, FLAVORS)};
    /* Nodes share no memory. */
    if (!one_node && (w->flavor == SHARED || w->flavor == APART)) w->flavor = ALLOCATE;
    w->element = &ELEMENTS[any(&shared, ELEMENTS_COUNT - 1)];
    if (any(&shared, 2)) w->element = any(&shared, 2) ? &ELEMENTS[5] : &ELEMENTS[30];
    MPI_Aint lower, extent;
    OK(MPI_Type_get_extent(w->element->type, &lower, &extent));
    w->extent = extent;
    /* Ranks of the window in another order than those of the world. */
    int turn = any(&shared, size), mirrored = any(&shared, 2);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, (mirrored ? size - rank : rank + turn) % size, &w->comm));
    OK(MPI_Comm_rank(w->comm, &w->me));
    int unaligned = w->flavor == CREATE && any(&shared, 3) == 0;
    for (int i = 0; i < size; i++) {
        static const int most[] = {40, 200, MOST_SLOTS};
        w->slots[i] = any(&shared, 12) == 0 ? 0 : 8 + any(&shared, most[any(&shared, 3)] - 7);
        w->units[i] = any(&shared, 2) ? 1 : (int)extent;
        w->model[i] = calloc(1, bytes_of(w, i) + 1);
        w->uses[i] = calloc((size_t)w->slots[i] + 1, sizeof(struct use));
        if (unaligned) w->skew = 1 + any(&shared, 7);
    }
    MPI_Aint bytes = (MPI_Aint)bytes_of(w, w->me), address = 0;
    size_t whole = (size_t)bytes + 2 * EDGE + (size_t)w->skew;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    if (w->flavor == APART) OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    if (any(&shared, 3) == 0) OK(MPI_Info_set(info, "accumulate_ops", "same_op"));
    switch (w->flavor) {
    case CREATE: case DYNAMIC:
        OK(posix_memalign((void **)&w->block, 64, whole + 64));
        w->memory = w->block + 32 + w->skew;
        memset(w->block, 0x5e, whole + 64);
        if (w->flavor == CREATE) {
            OK(MPI_Win_create(w->memory, bytes, w->units[w->me], info, w->comm, &w->win));
            break;
        }
        OK(MPI_Win_create_dynamic(info, w->comm, &w->win));
        for (int i = 0; i < size; i++) w->units[i] = 1;
        if (bytes > 0) OK(MPI_Win_attach(w->win, w->memory, bytes));
        OK(MPI_Get_address(w->memory, &address));
        break;
    case ALLOCATE: OK(MPI_Win_allocate(bytes, w->units[w->me], info, w->comm, &w->memory, &w->win)); break;
    default: OK(MPI_Win_allocate_shared(bytes, w->units[w->me], info, w->comm, &w->memory, &w->win));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Allgather(&address, 1, MPI_AINT, w->origins, 1, MPI_AINT, w->comm));
}

static void free_window(struct window *w) {
    OK(MPI_Barrier(w->comm));
    if (w->flavor == DYNAMIC && w->slots[w->me] > 0) OK(MPI_Win_detach(w->win, w->memory));
    OK(MPI_Win_free(&w->win));
    if (w->block)
        for (int i = 0; i < 32; i++) SAYS(w, w->block[i] == 0x5e && w->memory[bytes_of(w, w->me) + (size_t)i % EDGE] == 0x5e, "edge %d", i);
    free(w->block);
    for (int i = 0; i < size; i++) free(w->model[i]), free(w->uses[i]);
    OK(MPI_Comm_free(&w->comm));
}

/* Each rank stores to its own memory; all know what. */
static void store_locally(struct window *w, int all) {
    for (int i = 0; i < size; i++)
        for (int slot = 0; slot < w->slots[i]; slot++) {
            if (!all && any(&shared, 7)) continue;
            unsigned char *at = w->model[i] + (size_t)slot * (size_t)w->extent;
            any_value(w, REPLACE, at);
            if (i == w->me) memcpy(w->memory + (size_t)slot * (size_t)w->extent, at, (size_t)w->extent);
        }
}

static void check_memory(struct window *w, enum mode mode) {
    for (int slot = 0; slot < w->slots[w->me]; slot++) {
        size_t at = (size_t)slot * (size_t)w->extent;
        SAYS(w, same(w->element, SUM, w->memory + at, w->model[w->me] + at), "slot %d of %d in the memory of rank %d after %s is wrong", slot,
             w->slots[w->me], w->me, MODE_NAMES[mode]);
        /* Holes may differ. */
        memcpy(w->model[w->me] + at, w->memory + at, (size_t)w->extent);
    }
}

/* ---- A round of one window ---- */

struct round {
    struct window *w;
    enum mode mode;
    struct op *ops;
    int count, locked, next, pending;
    char allowed[MOST_RANKS][MOST_RANKS];
    MPI_Request requests[OPS];
};

static void plan_round(struct round *r, struct window *w, enum mode mode, int count) {
    *r = (struct round){.w = w, .mode = mode, .locked = -1};
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < size; k++) r->allowed[i][k] = (char)(any(&shared, 3) != 0);
        memset(w->uses[i], 0, (size_t)w->slots[i] * sizeof(struct use));
    }
    memset(w->flushes, 0, sizeof w->flushes);
    store_locally(w, any(&shared, 4) == 0);
    r->ops = malloc(sizeof(struct op) * (size_t)count);
    for (int tries = 0; tries < 2 * count && r->count < count; tries++) r->count += any_op(w, mode, &r->ops[r->count], size, r->allowed);
}

static MPI_Group ranks_where(struct window *w, const struct round *r, int as_target) {
    int list[MOST_RANKS], n = 0;
    for (int i = 0; i < size; i++)
        if (as_target ? r->allowed[i][w->me] : r->allowed[w->me][i]) list[n++] = i;
    MPI_Group all, some;
    OK(MPI_Win_get_group(w->win, &all));
    OK(MPI_Group_incl(all, n, list, &some));
    OK(MPI_Group_free(&all));
    return some;
}

static void open_round(struct round *r) {
    struct window *w = r->w;
    int assert = 0;
    switch (r->mode) {
    case FENCE:
        if (any(&shared, 2)) assert |= MPI_MODE_NOPRECEDE;
        OK(MPI_Win_fence(assert, w->win));
        break;
    case GENERAL: {
        MPI_Group origins = ranks_where(w, r, 1), targets = ranks_where(w, r, 0);
        OK(MPI_Win_post(origins, any(&shared, 2) ? MPI_MODE_NOSTORE : 0, w->win));
        OK(MPI_Win_start(targets, 0, w->win));
        OK(MPI_Group_free(&origins));
        OK(MPI_Group_free(&targets));
        break;
    }
    case LOCK: case LOCK_ALL:
        OK(MPI_Win_sync(w->win));
        OK(MPI_Barrier(w->comm));
        if (r->mode == LOCK_ALL) OK(MPI_Win_lock_all(any(&shared, 2) ? MPI_MODE_NOCHECK : 0, w->win));
        break;
    default: break;
    }
}

static void wait_for_requests(struct round *r) {
    OK(MPI_Waitall(r->pending, r->requests, MPI_STATUSES_IGNORE));
    r->pending = 0;
}

static void unlock(struct round *r) {
    if (r->locked >= 0) OK(MPI_Win_unlock(r->locked, r->w->win));
    r->locked = -1;
}

static void close_round(struct round *r) {
    struct window *w = r->w;
    int over = 0;
    switch (r->mode) {
    case FENCE: OK(MPI_Win_fence(any(&shared, 2) ? MPI_MODE_NOSUCCEED : 0, w->win)); break;
    case GENERAL:
        OK(MPI_Win_complete(w->win));
        if (any(&own, 2)) OK(MPI_Win_wait(w->win));
        else while (!over) OK(MPI_Win_test(w->win, &over));
        break;
    case LOCK: case LOCK_ALL:
        wait_for_requests(r);
        if (r->mode == LOCK) unlock(r);
        else OK(MPI_Win_unlock_all(w->win));
        OK(MPI_Barrier(w->comm));
        OK(MPI_Win_sync(w->win));
        break;
    default: break;
    }
}

/* ---- Operations ---- */

/* Memory of one side, and the address that goes with its datatype. */
static unsigned char *make_side(struct window *w, const struct op *op, const struct shape *shape, const unsigned char *values, unsigned char **base) {
    size_t extent = (size_t)w->extent, room = (size_t)(3 * op->elements + 8) * extent;
    unsigned char *memory = malloc(room + 2 * extent + 16);
    memset(memory, 0xa5, room + 2 * extent + 16);
    *base = memory + extent;
    for (int i = 0; values && i < op->elements; i++) memcpy(*base + (size_t)shape->slots[i] * extent, values + (size_t)i * extent, extent);
    return memory;
}

static void check_side(struct window *w, const struct op *op, const struct shape *shape, unsigned char *base, int is_certain) {
    size_t extent = (size_t)w->extent;
    for (int i = 0; i < op->elements; i++) {
        unsigned char *at = base + (size_t)shape->slots[i] * extent;
        if (is_certain || !op->seen[i]->several || op->seen[i]->how != COMBINED)
            SAYS(w, same(w->element, SUM, at, op->found + (size_t)i * extent), "%s of %d from rank %d finds a wrong element %d (slot %d)",
                 VERB_NAMES[op->verb], op->elements, op->target, i, op->at + op->there.slots[i]);
        memset(at, 0xa5, extent);
    }
    for (unsigned char *at = base - extent; at < base + (size_t)(3 * op->elements + 8) * extent; at++)
        SAYS(w, *at == 0xa5, "%s of %d from rank %d wrote beside its elements, at byte %ld", VERB_NAMES[op->verb], op->elements, op->target,
             (long)(at - base));
}

static MPI_Op operation_of(int operation) {
    return operation == REPLACE ? MPI_REPLACE : operation == NONE ? MPI_NO_OP : predefined((enum operation)operation);
}

static void issue(struct round *r, struct op *op) {
    struct window *w = r->w;
    MPI_Aint extent = w->extent;
    if (r->mode == LOCK && r->locked != op->target) {
        wait_for_requests(r);
        unlock(r);
        if (op->verb == FLUSH) return;
        OK(MPI_Win_lock(any(&own, 3) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, op->target, 0, w->win));
        r->locked = op->target;
    }
    if (op->verb == FLUSH) {
        if (op->operation == 1 && r->mode == LOCK_ALL) OK(MPI_Win_flush_all(w->win));
        else OK(MPI_Win_flush(op->target, w->win));
        return;
    }
    if ((r->mode == LOCK || r->mode == LOCK_ALL) && any(&own, 10) == 0) OK(MPI_Win_flush_local(op->target, w->win));
    int is_read = op->verb == GET, fetches = op->verb >= GET_ACCUMULATE;
    unsigned char *here, *back = NULL;
    op->near = make_side(w, op, &op->here, is_read ? NULL : op->operands, &here);
    if (fetches) op->results = make_side(w, op, &op->back, NULL, &back);
    MPI_Datatype unit = w->element->type;
    MPI_Aint disp = w->origins[op->target] + (op->at + op->there.low) * extent / w->units[op->target];
    if (op->verb < FETCH && w->units[op->target] == 1) disp = w->origins[op->target] + (op->at + op->there.low) * extent;
    MPI_Op mpi_op = operation_of(op->operation);
    MPI_Request *request = op->with_request ? &r->requests[r->pending++] : NULL;
    if (op->verb >= FETCH) {
        disp = w->origins[op->target] + (op->at + op->there.slots[0]) * extent / w->units[op->target];
        here += op->here.slots[0] * extent, back += op->back.slots[0] * extent;
        if (op->verb == FETCH) OK(MPI_Fetch_and_op(here, back, unit, op->target, disp, mpi_op, w->win));
        else OK(MPI_Compare_and_swap(here, op->compare, back, unit, op->target, disp, w->win));
        return;
    }
    here += op->here.low * extent;
    if (back) back += op->back.low * extent;
    MPI_Datatype near = type_of(w, &op->here), far = type_of(w, &op->there), result = fetches ? type_of(w, &op->back) : MPI_DATATYPE_NULL;
    int a = op->here.count, b = op->there.count, c = op->back.count, to = op->target;
    switch (op->verb) {
    case PUT:
        if (request) OK(MPI_Rput(here, a, near, to, disp, b, far, w->win, request));
        else if (op->large) OK(MPI_Put_c(here, a, near, to, disp, b, far, w->win));
        else OK(MPI_Put(here, a, near, to, disp, b, far, w->win));
        break;
    case GET:
        if (request) OK(MPI_Rget(here, a, near, to, disp, b, far, w->win, request));
        else if (op->large) OK(MPI_Get_c(here, a, near, to, disp, b, far, w->win));
        else OK(MPI_Get(here, a, near, to, disp, b, far, w->win));
        break;
    case ACCUMULATE:
        if (request) OK(MPI_Raccumulate(here, a, near, to, disp, b, far, mpi_op, w->win, request));
        else if (op->large) OK(MPI_Accumulate_c(here, a, near, to, disp, b, far, mpi_op, w->win));
        else OK(MPI_Accumulate(here, a, near, to, disp, b, far, mpi_op, w->win));
        break;
    default:
        if (request) OK(MPI_Rget_accumulate(here, a, near, back, c, result, to, disp, b, far, mpi_op, w->win, request));
        else if (op->large) OK(MPI_Get_accumulate_c(here, a, near, back, c, result, to, disp, b, far, mpi_op, w->win));
        else OK(MPI_Get_accumulate(here, a, near, back, c, result, to, disp, b, far, mpi_op, w->win));
    }
    OK(MPI_Type_free(&near));
    OK(MPI_Type_free(&far));
    if (fetches) OK(MPI_Type_free(&result));
}

/* The next operation of ours; 0: there is none. */
static int step(struct round *r) {
    while (r->next < r->count && r->ops[r->next].origin != r->w->me) r->next++;
    if (r->next == r->count) return 0;
    issue(r, &r->ops[r->next++]);
    return 1;
}

static void finish_round(struct round *r) {
    struct window *w = r->w;
    check_memory(w, r->mode);
    for (int i = 0; i < r->count; i++) {
        struct op *op = &r->ops[i];
        if (op->verb == FLUSH) continue;
        if (op->origin == w->me) {
            if (op->verb == GET) check_side(w, op, &op->here, op->near + w->extent, 1);
            if (op->verb >= GET_ACCUMULATE) check_side(w, op, &op->back, op->results + w->extent, 0);
        }
        free(op->near), free(op->results), free(op->operands), free(op->found), free(op->compare), free(op->seen);
        free(op->here.slots), free(op->there.slots), free(op->back.slots);
    }
    free(r->ops);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    one_node = on_one_node();
    CHECK(size <= MOST_RANKS, "%d", size);
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : (unsigned)time(NULL);
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, rounds = argc > 2 ? atoi(argv[2]) : full ? 12000 : 240;
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    shared = seed, own = seed * 31u + (unsigned)rank + 1u;
    static struct round first, second;
    long done = 0;
    for (round_number = 0; round_number < rounds; round_number++) {
        if (round_number % 6 == 0)
            for (int i = 0; i < WINDOWS; i++) {
                if (round_number > 0) free_window(&windows[i]);
                make_window(&windows[i]);
                store_locally(&windows[i], 1);
            }
        int which = any(&shared, WINDOWS), other = any(&shared, 2) ? (which + 1) % WINDOWS : -1;
        plan_round(&first, &windows[which], (enum mode)any(&shared, MODES), 1 + any(&shared, any(&shared, 2) ? OPS : 40));
        if (other >= 0) {
            static const enum mode beside[] = {FENCE, GENERAL, LOCK_ALL};
            plan_round(&second, &windows[other], beside[any(&shared, 3)], 1 + any(&shared, 60));
            open_round(&second);
        }
        open_round(&first);
        while (step(&first))
            if (other >= 0 && any(&own, 2)) step(&second);
        if (other >= 0)
            while (step(&second)) {}
        close_round(&first);
        if (other >= 0) close_round(&second);
        finish_round(&first);
        if (other >= 0) finish_round(&second);
        done += first.count + (other >= 0 ? second.count : 0);
    }
    for (int i = 0; i < WINDOWS; i++) free_window(&windows[i]);
    if (rank == 0 && argc > 1) printf("seed %u: %ld operations\n", seed, done);
    end();
    return 0;
}
