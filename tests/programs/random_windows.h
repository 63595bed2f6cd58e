/* Windows and what random operations must make of them, worked out in order by every rank alike.

   A window is a row of slots of one predefined type at every rank. Within a round (between two times at which all synchronise) a slot is
   for puts of one origin, gets of anybody, or accumulates, which several origins may make if their order does not matter. An origin that
   has flushed may go on with its own slots in another way. So everything that is read has one right value, but for what fetches see of
   slots where others accumulate, too. */
#ifndef RANDOM_WINDOWS_H
#define RANDOM_WINDOWS_H

#include "reference_operations.h"

enum { MOST_RANKS = 16, MOST_SLOTS = 2048, WINDOWS = 3, OPS = 400, EDGE = 24 };
enum flavor { CREATE, ALLOCATE, SHARED, APART, DYNAMIC, FLAVORS };
enum mode { FENCE, GENERAL, LOCK, LOCK_ALL, MODES };
enum verb { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, FLUSH, VERBS };
static const char *const VERB_NAMES[] = {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap", "flush"};
static const char *const FLAVOR_NAMES[] = {"create", "allocate", "allocate_shared", "noncontiguous", "dynamic"};
static const char *const MODE_NAMES[] = {"fence", "post-start", "lock", "lock_all"};
enum { REPLACE = OPERATIONS, NONE };

/* The operation on a slot in this round. */
struct use {
    enum { FREE, WRITTEN, READ, COMBINED } how;
    int operation, origin, several;
    /* The origin has done other things with it before, and nobody may join. */
    int closed;
    /* How often the origin had flushed this target. */
    int flushes;
};

struct window {
    enum flavor flavor;
    const struct element *element;
    MPI_Comm comm;
    MPI_Win win;
    int me, slots[MOST_RANKS], units[MOST_RANKS];
    MPI_Aint origins[MOST_RANKS];
    MPI_Aint extent;
    int skew;
    /* Memory of this rank, with edges that nobody may touch. */
    unsigned char *memory, *block;
    unsigned char *model[MOST_RANKS];
    struct use *uses[MOST_RANKS];
    int flushes[MOST_RANKS][MOST_RANKS];
};

/* Where the elements of one side lie, in slots, and the datatype that says so. */
struct shape {
    int kind, count, parts, blocks, stride, extent, low, span;
    int *slots;
};

struct op {
    enum verb verb;
    int origin, target, elements, operation, at, with_request, large;
    struct shape here, there, back;
    /* Operands, what must be found, and which of it is certain once the round is over. */
    unsigned char *operands, *compare, *found;
    const struct use **seen;
    unsigned char *near, *results;
    MPI_Request request;
};

static size_t bytes_of(const struct window *w, int rank) { return (size_t)w->slots[rank] * (size_t)w->extent; }

/* A value that is exact whatever comes first: small, or any integer. */
static void any_value(const struct window *w, int operation, unsigned char *at) {
    const struct element *e = w->element;
    memset(at, 0, (size_t)w->extent);
    int small = operation == PROD ? any(&shared, 2) * 2 - 1 : any(&shared, 9) - 4;
    switch (e->family) {
    case REALS: put_real(at, e->number, small); break;
    case COMPLEXES:
        put_real(at, e->number, operation == PROD ? (small > 0) : small);
        put_real(at + e->width, e->number, operation == PROD ? (small < 0) : any(&shared, 9));
        break;
    case TRUTHS: memcpy(at, &(integer){any(&shared, 2)}, (size_t)e->width); break;
    case PAIRS:
        if (e->number <= UNSIGNED) memcpy(at, &(integer){small}, (size_t)e->width);
        else put_real(at, e->number, small);
        if (e->index_number == SIGNED) memcpy(at + e->index_at, &(int){any(&shared, 100)}, 4);
        else put_real(at + e->index_at, e->index_number, any(&shared, 100));
        break;
    default: {
        unsigned __int128 bits = 0;
        for (int i = 0; i < 6; i++) bits = bits << 24 | next_random(&shared);
        if (any(&shared, 4) == 0) bits = (unsigned)any(&shared, 3);
        memcpy(at, &bits, (size_t)e->width);
    } }
}

/* n elements in some order within `room` slots; 0: there is no such room. */
static int any_shape(struct shape *shape, int n, int room) {
    *shape = (struct shape){.slots = malloc(sizeof(int) * (size_t)n), .parts = 1};
    int divisors[] = {1, 2, 3, 4, 6, 8}, k = divisors[any(&shared, 6)];
    int kind = any(&shared, 5);
    if (n % k != 0 || kind == 0) kind = 0, k = 1;
    shape->kind = kind;
    shape->count = n / k;
    shape->parts = k;
    int places[8];
    switch (kind) {
    case 0: places[0] = 0; shape->span = shape->extent = 1; break;
    case 1:
        /* Blocks with a stride. */
        shape->blocks = k % 2 == 0 ? k / 2 : k;
        shape->stride = k / shape->blocks + any(&shared, 3);
        for (int i = 0; i < k; i++) places[i] = i / (k / shape->blocks) * shape->stride + i % (k / shape->blocks);
        shape->span = shape->extent = places[k - 1] + 1;
        break;
    case 2: case 3: {
        /* Anywhere, in any order, perhaps below the address. */
        char taken[32] = {0};
        shape->span = k + any(&shared, k + 1);
        for (int i = 0; i < k; i++) {
            do places[i] = any(&shared, shape->span); while (taken[places[i]]);
            taken[places[i]] = 1;
        }
        shape->low = kind == 3 ? any(&shared, 3) : 0;
        shape->extent = shape->span + any(&shared, 2);
        break;
    }
    default:
        /* Two columns of half. */
        shape->stride = 2 + any(&shared, 3);
        shape->blocks = k % 2 == 0 ? 2 : 1;
        for (int i = 0; i < k; i++) places[i] = i % (k / shape->blocks) * shape->stride + i / (k / shape->blocks);
        shape->span = (k / shape->blocks - 1) * shape->stride + shape->blocks;
        shape->extent = shape->span + any(&shared, 2);
    }
    for (int i = 0; i < shape->count; i++)
        for (int j = 0; j < k; j++) shape->slots[i * k + j] = i * shape->extent + places[j];
    if ((shape->count - 1) * shape->extent + shape->span <= room) return 1;
    free(shape->slots);
    shape->slots = NULL;
    return 0;
}

/* A row if nothing else fits; the slot at which it begins in `room`. */
static int place_shape(struct shape *shape, int n, int room) {
    for (int tries = 0; !any_shape(shape, n, room); tries++)
        if (tries == 3) {
            *shape = (struct shape){.slots = malloc(sizeof(int) * (size_t)n), .count = n, .parts = 1, .span = 1, .extent = 1};
            for (int i = 0; i < n; i++) shape->slots[i] = i;
            break;
        }
    return any(&shared, room - ((shape->count - 1) * shape->extent + shape->span) + 1);
}

/* The datatype, and how far below its elements' first slot the address lies that goes with it: `low` slots above. */
static MPI_Datatype type_of(const struct window *w, const struct shape *shape) {
    MPI_Datatype unit = w->element->type, type, bare;
    MPI_Aint extent = w->extent, places[8];
    switch (shape->kind) {
    case 0: OK(MPI_Type_dup(unit, &type)); break;
    case 1: OK(MPI_Type_vector(shape->blocks, shape->parts / shape->blocks, shape->stride, unit, &type)); break;
    case 2: case 3:
        for (int i = 0; i < shape->parts; i++) places[i] = (shape->slots[i] - shape->low) * extent;
        OK(MPI_Type_create_hindexed_block(shape->parts, 1, places, unit, &bare));
        OK(MPI_Type_create_resized(bare, -shape->low * extent, shape->extent * extent, &type));
        OK(MPI_Type_free(&bare));
        break;
    default: {
        MPI_Datatype column;
        OK(MPI_Type_create_hvector(shape->parts / shape->blocks, 1, shape->stride * extent, unit, &column));
        OK(MPI_Type_create_hvector(shape->blocks, 1, extent, column, &bare));
        OK(MPI_Type_create_resized(bare, 0, shape->extent * extent, &type));
        OK(MPI_Type_free(&bare));
        OK(MPI_Type_free(&column));
    } }
    OK(MPI_Type_commit(&type));
    return type;
}

static int is_swappable(const struct element *e) {
    return (e->family == C_INTEGER && e->type != MPI_CHAR) || e->family == OTHER_INTEGER || e->family == BYTES || e->family == TRUTHS;
}

/* May the op use the slot? */
static int suits(const struct window *w, const struct op *op, const struct use *use) {
    int is_own = !use->several && use->origin == op->origin;
    int is_flushed = is_own && use->flushes < w->flushes[op->origin][op->target];
    switch (use->how) {
    case FREE: return 1;
    case WRITTEN: return is_flushed;
    case READ: return (op->verb == GET && (is_own || !use->closed)) || is_flushed;
    default:
        if (op->verb == PUT || op->verb == GET) return is_flushed;
        if (is_own) return 1;
        return op->verb != SWAP && !use->closed && (op->operation == use->operation || op->operation == NONE) && op->operation != REPLACE;
    }
}

static void mark(const struct window *w, const struct op *op, struct use *use) {
    int is_own = !use->several && use->origin == op->origin;
    int how = op->verb == PUT ? WRITTEN : op->verb == GET ? READ : COMBINED;
    if (use->how != FREE && !is_own) use->several = 1;
    if (use->how != FREE && how != (int)use->how) use->closed = 1;
    if (use->how != COMBINED || use->operation == NONE) use->operation = op->operation;
    /* Once something else has been done, nobody else may join. */
    else if (op->operation != use->operation && op->operation != NONE) use->operation = REPLACE;
    use->how = how;
    use->origin = op->origin;
    use->flushes = w->flushes[op->origin][op->target];
}

/* What the op does to the model; what it finds. */
static void apply(struct window *w, struct op *op) {
    size_t extent = (size_t)w->extent;
    for (int i = 0; i < op->elements; i++) {
        int slot = op->at + op->there.slots[i];
        unsigned char *there = w->model[op->target] + (size_t)slot * extent, *operand = op->operands + (size_t)i * extent;
        memcpy(op->found + (size_t)i * extent, there, extent);
        mark(w, op, &w->uses[op->target][slot]);
        op->seen[i] = &w->uses[op->target][slot];
        if (op->verb == GET || op->operation == NONE) continue;
        if (op->verb == PUT || (op->operation == REPLACE && op->verb != SWAP)) memcpy(there, operand, extent);
        else if (op->verb == SWAP) {
            if (memcmp(there, op->compare, (size_t)w->element->width) == 0) memcpy(there, operand, extent);
        } else {
            unsigned char next[64];
            memcpy(next, operand, extent);
            combine(w->element, (enum operation)op->operation, there, next);
        }
    }
}

/* An operation that may be done now; 0: this try led nowhere. */
static int any_op(struct window *w, enum mode mode, struct op *op, int ranks, char (*allowed)[MOST_RANKS]) {
    *op = (struct op){.verb = (enum verb)any(&shared, SWAP + 1), .origin = any(&shared, ranks), .target = any(&shared, ranks)};
    int room = w->slots[op->target], passive = mode == LOCK || mode == LOCK_ALL;
    if (mode == GENERAL && !allowed[op->origin][op->target]) return 0;
    if (room == 0) return 0;
    if (op->verb == SWAP && !is_swappable(w->element)) return 0;
    op->with_request = passive && op->verb <= GET_ACCUMULATE && any(&shared, 3) == 0;
    op->large = any(&shared, 4) == 0;
    static const int most[] = {1, 12, 12, 48, 400};
    op->elements = op->verb >= FETCH ? 1 : 1 + any(&shared, most[any(&shared, 5)]);
    if (op->elements > room) op->elements = room;
    op->operation = REPLACE;
    if (op->verb >= ACCUMULATE && op->verb <= FETCH) {
        int choice = any(&shared, 8);
        if (choice == 0) op->operation = REPLACE;
        else if (choice == 1 && op->verb != ACCUMULATE) op->operation = NONE;
        else {
            do op->operation = any(&shared, ADD); while (!is_defined((enum operation)op->operation, w->element));
        }
    }
    op->at = place_shape(&op->there, op->elements, room);
    int is_free = 1;
    for (int i = 0; i < op->elements; i++) is_free &= suits(w, op, &w->uses[op->target][op->at + op->there.slots[i]]);
    if (!is_free) {
        free(op->there.slots);
        if (!passive || any(&shared, 3)) return 0;
        *op = (struct op){.verb = FLUSH, .origin = op->origin, .target = op->target, .operation = any(&shared, 2)};
        w->flushes[op->origin][op->target]++;
        if (op->operation == 1 && mode == LOCK_ALL)
            for (int i = 0; i < ranks; i++) w->flushes[op->origin][i] += i != op->target;
        return 1;
    }
    int wide = 3 * op->elements + 8;
    place_shape(&op->here, op->elements, wide);
    place_shape(&op->back, op->elements, wide);
    size_t bytes = (size_t)op->elements * (size_t)w->extent;
    op->operands = calloc(1, bytes);
    op->found = calloc(1, bytes);
    op->compare = calloc(1, (size_t)w->extent);
    op->seen = calloc((size_t)op->elements, sizeof *op->seen);
    for (int i = 0; i < op->elements; i++) any_value(w, op->operation, op->operands + (size_t)i * (size_t)w->extent);
    if (op->verb == SWAP) {
        if (any(&shared, 2)) memcpy(op->compare, w->model[op->target] + (size_t)(op->at + op->there.slots[0]) * (size_t)w->extent, (size_t)w->extent);
        else any_value(w, REPLACE, op->compare);
    }
    apply(w, op);
    return 1;
}

#endif
