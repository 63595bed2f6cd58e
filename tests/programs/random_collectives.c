// ranks: 1 2 3 5 8
// more ranks: 4 7 13 17
/* Random collectives against what every rank works out for itself: any collective in any form, on several communicators of
   every kind, with many under way at once, any root, in place or not, with layouts that differ between sender and receiver,
   every predefined operation on every type, operations of our own.

   random_collectives [SEED [BATCHES]]: the seed that is printed gives the same calls again, on as many ranks. With BATCHES
   not every operation meets every type. */
#include "counter.h"
#include "random_layouts.h"
#include "reference_operations.h"

#include <time.h>

enum { MOST = 64, PENDING = 10 };

enum kind {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
    REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN,
    NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, KINDS
};
static const char *const NAMES[] = {
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
    "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter_block", "Reduce_scatter", "Scan", "Exscan", "Neighbor_allgather",
    "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"};
enum form { BLOCKING, IMMEDIATE, PERSISTENT };

/* A communicator. Processes are told apart by `uid`: the rank, and 64 more in the second group. */
struct place {
    const char *name;
    MPI_Comm comm;
    int me, ours, side, theirs, is_inter;
    /* In a topology; blocks of which process, and which of its blocks. */
    int in, out, sources[MOST], destinations[MOST], twins[MOST];
    int has_topology;
};

struct trial {
    enum kind kind;
    enum form form;
    int large, in_place, root_side, root;
    const struct place *place;
    unsigned salt;
    /* Moved data: two layouts for each side, of which only alltoallw uses the second. */
    struct layout layouts[2][2];
    struct block sends[MOST], recvs[MOST];
    int send_count, recv_count;
    struct area send, recv;
    int counts[2][MOST], displs[2][MOST];
    MPI_Count large_counts[2][MOST];
    MPI_Aint large_displs[2][MOST];
    MPI_Datatype types[2][MOST];
    /* Reductions. */
    const struct element *element;
    enum operation operation;
    MPI_Datatype type;
    long extent;
    MPI_Op op;
    int count, result_first, result_count;
    MPI_Request request;
};

static void check_area(const struct trial *trial, const struct area *area, const char *what) {
    if (memcmp(area->memory, area->expected, area->length) == 0) return;
    size_t at = 0;
    while (area->memory[at] == area->expected[at]) at++;
    CHECK(0, "seed %u: %s on %s, form %d, large %d, in place %d, root %d: %s differs at byte %ld of %zu: %d, not %d", seed,
          NAMES[trial->kind], trial->place->name, trial->form, trial->large, trial->in_place, trial->root, what,
          (long)(area->memory + at - area->base), area->length, area->memory[at], area->expected[at]);
}

/* ---- Data that moves ---- */

static int uid(int side, int of) { return 64 * side + of; }

static int is_root(const struct trial *trial) {
    return trial->place->side == trial->root_side && trial->place->me == trial->root;
}

/* Has the calling process a part in it? Of the root's group of an intercommunicator only the root has. */
static int gives_to_root(const struct trial *trial) {
    return !trial->place->is_inter || trial->place->side != trial->root_side;
}

static int has_counts(enum kind kind) {
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || (kind >= ALLTOALLV && kind <= ALLTOALLW) ||
           kind == NEIGHBOR_ALLGATHERV || kind >= NEIGHBOR_ALLTOALLV;
}

static int is_rooted(enum kind kind) { return (kind >= BCAST && kind <= SCATTERV) || kind == REDUCE; }

static int is_reduction(enum kind kind) { return kind >= REDUCE && kind <= EXSCAN; }

/* One block for all, or one for each? */
static int is_same_for_all(enum kind kind) {
    return kind <= GATHERV || kind == ALLGATHER || kind == ALLGATHERV || kind == NEIGHBOR_ALLGATHER ||
           kind == NEIGHBOR_ALLGATHERV;
}

/* Units that `from` sends to `to`, of `many` if all are alike. In place both directions are alike. */
static int units_between(const struct trial *trial, int many, int from, int to) {
    if (!has_counts(trial->kind)) return many;
    unsigned key = trial->salt;
    if (is_same_for_all(trial->kind)) key += (unsigned)from;
    else key += trial->in_place ? (unsigned)(from + to) : (unsigned)(from + 2 * to);
    return (int)(key % 3) * many;
}

/* Blocks for the v and w forms lie in any order with holes between; others follow one another. */
static void place_blocks(struct trial *trial, int side, struct block *blocks, int count, int together) {
    long next = 0;
    int shift = has_counts(trial->kind) && together ? any(&own, count + 1) : 0;
    for (int i = 0; i < count; i++) {
        struct block *block = &blocks[(i + shift) % count];
        int index = (int)(block - blocks), wide = trial->kind == ALLTOALLW || trial->kind == NEIGHBOR_ALLTOALLW;
        block->layout = &trial->layouts[side][wide ? index % 2 : 0];
        long extent = block->layout->extent;
        block->count /= block->layout->units;
        /* Elements may reach below and beyond their extents. */
        if (wide) next += 64;
        block->at = next;
        next += block->count * extent;
        if (has_counts(trial->kind) && together) next += any(&own, 2) * extent;
        if (wide) next += 64;
        trial->counts[side][index] = block->count;
        trial->large_counts[side][index] = block->count;
        trial->displs[side][index] = (int)(wide ? block->at : block->at / extent);
        trial->large_displs[side][index] = wide ? block->at : block->at / extent;
        trial->types[side][index] = block->layout->type;
    }
}

static void plan_movement(struct trial *trial, int many, int unit) {
    const struct place *place = trial->place;
    enum kind kind = trial->kind;
    int me = uid(place->side, place->me), other_side = place->is_inter ? !place->side : place->side;
    int root = uid(trial->root_side, trial->root), at_root = is_root(trial), neighbors = kind >= NEIGHBOR_ALLGATHER;
    int peers = place->is_inter ? place->theirs : place->ours, same = is_same_for_all(kind);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++) trial->layouts[side][i] = any_layout(unit);
    struct block *send = trial->sends, *recv = trial->recvs;
    if (kind == BCAST) {
        /* One buffer: what the root has, and the others get. */
        if (at_root || gives_to_root(trial)) *recv++ = (struct block){.from = root, .count = many};
    } else if (kind == GATHER || kind == GATHERV) {
        if (gives_to_root(trial)) *send++ = (struct block){.from = me, .count = units_between(trial, many, me, 0)};
        for (int i = 0; at_root && i < peers; i++) {
            int from = uid(other_side, i);
            *recv++ = (struct block){.from = from, .count = units_between(trial, many, from, 0)};
        }
    } else if (kind == SCATTER || kind == SCATTERV) {
        for (int i = 0; at_root && i < peers; i++) {
            int to = uid(other_side, i);
            *send++ = (struct block){.from = me, .to = to, .count = units_between(trial, many, me, to)};
        }
        if (gives_to_root(trial))
            *recv++ = (struct block){.from = root, .to = me, .count = units_between(trial, many, root, me)};
    } else if (neighbors) {
        /* Blocks to several neighbors that are the same process differ. */
        for (int i = 0; i < (same ? 1 : place->out); i++) {
            int to = same ? 0 : i;
            *send++ = (struct block){.from = me, .to = to, .count = units_between(trial, many, me, to)};
        }
        for (int i = 0; i < place->in; i++) {
            int from = place->sources[i], to = same ? 0 : place->twins[i];
            *recv++ = (struct block){.from = from, .to = to, .count = units_between(trial, many, from, to)};
        }
    } else if (kind != BARRIER) {
        for (int i = 0; i < peers; i++) {
            int other = uid(other_side, i), to = same ? 0 : me;
            if (!same || i == 0) {
                int their = same ? 0 : other;
                *send++ = (struct block){.from = me, .to = their, .count = units_between(trial, many, me, their)};
            }
            *recv++ = (struct block){.from = other, .to = to, .count = units_between(trial, many, other, to)};
        }
    }
    trial->send_count = (int)(send - trial->sends);
    trial->recv_count = (int)(recv - trial->recvs);
    CHECK(trial->send_count <= MOST && trial->recv_count <= MOST, "%d %d", trial->send_count, trial->recv_count);
    place_blocks(trial, 0, trial->sends, trial->send_count, !same);
    place_blocks(trial, 1, trial->recvs, trial->recv_count, kind != BCAST && kind != SCATTER && kind != SCATTERV);
    trial->send = area_of(trial->sends, trial->send_count);
    trial->recv = area_of(trial->recvs, trial->recv_count);
}

/* Does this process say MPI_IN_PLACE? */
static int says_in_place(const struct trial *trial) {
    if (!trial->in_place) return 0;
    return is_rooted(trial->kind) ? is_root(trial) && trial->kind != BCAST : 1;
}

static void refill_movement(struct trial *trial) {
    int in_place = says_in_place(trial), me = trial->place->me;
    scribble(&trial->send);
    scribble(&trial->recv);
    /* A scatter's root keeps its block, so nothing comes. */
    int scatters = trial->kind == SCATTER || trial->kind == SCATTERV;
    for (int i = 0; i < trial->recv_count && !(scatters && in_place); i++) {
        const struct block *block = &trial->recvs[i];
        int gone = trial->kind >= NEIGHBOR_ALLGATHER && trial->place->sources[i] == MPI_PROC_NULL;
        if (!gone) put_block(trial->salt, block, twin(&trial->recv, trial->recv.base));
        if (trial->kind == BCAST && is_root(trial)) put_block(trial->salt, block, trial->recv.base);
        if (!in_place || trial->kind == BCAST) continue;
        /* What is to be sent lies there. */
        if (is_same_for_all(trial->kind)) {
            if (i == me) put_block(trial->salt, block, trial->recv.base);
        } else {
            struct block sent = *block;
            sent.from = block->to, sent.to = block->from;
            put_block(trial->salt, &sent, trial->recv.base);
        }
    }
    for (int i = 0; i < trial->send_count; i++) {
        put_block(trial->salt, &trial->sends[i], trial->send.base);
        put_block(trial->salt, &trial->sends[i], twin(&trial->send, trial->send.base));
    }
}

/* ---- Reductions ---- */

/* Functions x -> a x + b, one after the other: associative, not commutative. */
static void fold_maps(enum operation operation, unsigned char *first, unsigned char *second, int count, MPI_Datatype type) {
    MPI_Aint low, extent;
    unsigned char result[8];
    OK(MPI_Type_get_extent(type, &low, &extent));
    for (int i = 0; i < count; i++) {
        memcpy(result, first + i * extent, 8);
        combine(&ELEMENTS[MAP], operation, result, second + i * extent);
        memcpy(second + i * extent, result, 8);
    }
}
static void add(void *first, void *second, int *count, MPI_Datatype *type) { fold_maps(ADD, first, second, *count, *type); }
static void compose(void *first, void *second, int *count, MPI_Datatype *type) {
    fold_maps(COMPOSE, first, second, *count, *type);
}
static MPI_Op add_op, compose_op;

static void plan_reduction(struct trial *trial, int many, int combination) {
    const struct place *place = trial->place;
    /* The nth combination of type and operation. */
    for (int n = 0;; n++) {
        const struct element *element = &ELEMENTS[n / OPERATIONS % ELEMENTS_COUNT];
        enum operation operation = (enum operation)(n % OPERATIONS);
        if (!is_defined(operation, element) || combination-- > 0) continue;
        trial->element = element;
        trial->operation = operation;
        break;
    }
    MPI_Aint low, extent = 8 + 4 * (trial->salt % 3);
    if (trial->operation >= ADD) {
        MPI_Datatype pair;
        OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
        OK(MPI_Type_create_resized(pair, 0, extent, &trial->type));
        OK(MPI_Type_commit(&trial->type));
        OK(MPI_Type_free(&pair));
        trial->op = trial->operation == ADD ? add_op : compose_op;
    } else {
        trial->type = trial->element->type;
        trial->op = predefined(trial->operation);
        OK(MPI_Type_get_extent(trial->type, &low, &extent));
    }
    trial->extent = extent;
    int is_block = trial->kind == REDUCE_SCATTER_BLOCK, is_blocks = trial->kind == REDUCE_SCATTER;
    trial->count = many;
    trial->result_first = 0;
    trial->result_count = many;
    if (is_block || is_blocks) {
        /* Both groups of an intercommunicator share out as many elements. */
        int total = many * place->ours * (place->is_inter ? place->theirs : 1), rest = total;
        for (int i = 0; i < place->ours; i++) {
            int part = is_block ? total / place->ours : i == place->ours - 1 ? rest : (int)((trial->salt + (unsigned)i) % 3) * many / 2;
            if (part > rest) part = rest;
            trial->counts[1][i] = part;
            trial->large_counts[1][i] = part;
            if (i < place->me) trial->result_first += part;
            rest -= part;
        }
        trial->count = total;
        trial->result_count = trial->counts[1][place->me];
    }
    trial->send = make_area(0, trial->count * extent);
    trial->recv = make_area(0, (trial->in_place ? trial->count : trial->result_count) * extent);
}

/* The ranks whose elements count: the result is of [0, this). */
static int contributors(const struct trial *trial) {
    const struct place *place = trial->place;
    if (trial->kind == SCAN) return place->me + 1;
    if (trial->kind == EXSCAN) return place->me;
    return place->is_inter ? place->theirs : place->ours;
}

static int gets_result(const struct trial *trial) {
    if (trial->kind == REDUCE) return is_root(trial);
    return trial->kind != EXSCAN || trial->place->me > 0;
}

static void put_input(const struct trial *trial, int i, int from, unsigned char *at) {
    put_value(trial->element, trial->operation, trial->salt, i, from, trial->place->ours + trial->place->theirs, at);
}

static void refill_reduction(struct trial *trial) {
    int me = uid(trial->place->side, trial->place->me);
    scribble(&trial->send);
    scribble(&trial->recv);
    for (int i = 0; i < trial->count; i++) {
        put_input(trial, i, me, trial->send.base + i * trial->extent);
        put_input(trial, i, me, twin(&trial->send, trial->send.base) + i * trial->extent);
        if (!says_in_place(trial)) continue;
        put_input(trial, i, me, trial->recv.base + i * trial->extent);
        put_input(trial, i, me, twin(&trial->recv, trial->recv.base) + i * trial->extent);
    }
}

static void check_reduction(struct trial *trial) {
    const struct element *element = trial->element;
    int side = trial->place->is_inter ? !trial->place->side : trial->place->side;
    /* Of many elements only some are worked out. */
    int step = trial->result_count > 500 ? 29 : 1;
    for (int i = 0; gets_result(trial) && i < trial->result_count; i++) {
        unsigned char value[64] = {0}, next[64] = {0}, *found = trial->recv.base + i * trial->extent;
        int is_checked = (i + (int)(trial->salt % 29)) % step == 0;
        for (int from = 0; is_checked && from < contributors(trial); from++) {
            put_input(trial, trial->result_first + i, uid(side, from), from ? next : value);
            if (from) combine(element, trial->operation, value, next);
        }
        CHECK(!is_checked || same(element, trial->operation, value, found),
              "seed %u: %s of %s by %s on %s, form %d, in place %d, root %d: element %d of %d; %llx instead of %llx", seed,
              NAMES[trial->kind], element->name, operation_name(trial->operation), trial->place->name, trial->form,
              trial->in_place, trial->root, trial->result_first + i, trial->count, *(unsigned long long *)found,
              *(unsigned long long *)value);
        /* Padding may be anything, gaps may not. */
        long own_bytes = trial->operation >= ADD ? 8 : trial->extent;
        memcpy(twin(&trial->recv, found), found, (size_t)own_bytes);
    }
    /* What lies behind a block that came in place is free. */
    if (says_in_place(trial) && trial->kind >= REDUCE_SCATTER_BLOCK && trial->kind <= REDUCE_SCATTER)
        memcpy(twin(&trial->recv, trial->recv.base), trial->recv.base, (size_t)(trial->count * trial->extent));
}

/* ---- Calls ---- */

#define BARE(...) __VA_ARGS__
#define CALL(blocking, immediate, small, wide)                                                             \
    switch (trial->form * 2 + trial->large) {                                                              \
    case 0: OK(MPI_##blocking(BARE small)); break;                                                         \
    case 1: OK(MPI_##blocking##_c(BARE wide)); break;                                                      \
    case 2: OK(MPI_##immediate(BARE small, &trial->request)); break;                                       \
    case 3: OK(MPI_##immediate##_c(BARE wide, &trial->request)); break;                                    \
    case 4: OK(MPI_##blocking##_init(BARE small, MPI_INFO_NULL, &trial->request)); break;                  \
    case 5: OK(MPI_##blocking##_init_c(BARE wide, MPI_INFO_NULL, &trial->request)); break;                 \
    }                                                                                                      \
    break

static void call(struct trial *trial) {
    const struct place *place = trial->place;
    MPI_Comm comm = place->comm;
    int in_place = says_in_place(trial), at_root = is_root(trial), sided = place->is_inter && place->side == trial->root_side;
    int root = !sided ? trial->root : at_root ? MPI_ROOT : MPI_PROC_NULL;
    /* What does not matter is garbage. */
    int gives = !is_rooted(trial->kind) || (trial->kind == SCATTER || trial->kind == SCATTERV ? at_root : gives_to_root(trial));
    int gets = !is_rooted(trial->kind) || (trial->kind == SCATTER || trial->kind == SCATTERV ? gives_to_root(trial) : at_root);
    if (trial->kind == BCAST) gives = gets = at_root || gives_to_root(trial);
    int scatters = trial->kind == SCATTER || trial->kind == SCATTERV;
    void *from = !gives ? NULL : in_place && !scatters ? MPI_IN_PLACE : trial->send.base;
    void *to = !gets ? NULL : in_place && scatters ? MPI_IN_PLACE : trial->recv.base;
    int from_counts = gives && !(in_place && !scatters), to_counts = gets && !(in_place && scatters);
    int send_count = from_counts ? trial->counts[0][0] : -1, recv_count = to_counts ? trial->counts[1][0] : -1;
    /* Neighbors that are not there. */
    if (trial->kind >= NEIGHBOR_ALLGATHER && trial->recv_count == 0) recv_count = trial->counts[1][0] = 0;
    if (trial->kind == NEIGHBOR_ALLTOALL && trial->send_count == 0) send_count = 0;
    MPI_Datatype send_type = from_counts ? trial->layouts[0][0].type : MPI_DATATYPE_NULL;
    MPI_Datatype recv_type = to_counts ? trial->layouts[1][0].type : MPI_DATATYPE_NULL;
    int *sc = from_counts ? trial->counts[0] : NULL, *sd = from_counts ? trial->displs[0] : NULL;
    int *rc = to_counts ? trial->counts[1] : NULL, *rd = to_counts ? trial->displs[1] : NULL;
    MPI_Count *lsc = from_counts ? trial->large_counts[0] : NULL, *lrc = to_counts ? trial->large_counts[1] : NULL;
    MPI_Aint *lsd = from_counts ? trial->large_displs[0] : NULL, *lrd = to_counts ? trial->large_displs[1] : NULL;
    MPI_Datatype *st = from_counts ? trial->types[0] : NULL, *rt = trial->types[1], type = trial->type;
    MPI_Op op = trial->op;
    int count = trial->count;
    if (trial->kind == REDUCE && !gives && !gets) type = MPI_DATATYPE_NULL, op = MPI_OP_NULL, count = -1;
    if (trial->kind == REDUCE && in_place) from = MPI_IN_PLACE;
    switch (trial->kind) {
    case BARRIER:
        switch (trial->form) {
        case BLOCKING: OK(MPI_Barrier(comm)); break;
        case IMMEDIATE: OK(MPI_Ibarrier(comm, &trial->request)); break;
        case PERSISTENT: OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &trial->request)); break;
        }
        break;
    case BCAST: CALL(Bcast, Ibcast, (to, recv_count, recv_type, root, comm), (to, recv_count, recv_type, root, comm));
    case GATHER:
        CALL(Gather, Igather, (from, send_count, send_type, to, recv_count, recv_type, root, comm),
             (from, send_count, send_type, to, recv_count, recv_type, root, comm));
    case GATHERV:
        CALL(Gatherv, Igatherv, (from, send_count, send_type, to, rc, rd, recv_type, root, comm),
             (from, send_count, send_type, to, lrc, lrd, recv_type, root, comm));
    case SCATTER:
        CALL(Scatter, Iscatter, (from, send_count, send_type, to, recv_count, recv_type, root, comm),
             (from, send_count, send_type, to, recv_count, recv_type, root, comm));
    case SCATTERV:
        CALL(Scatterv, Iscatterv, (from, sc, sd, send_type, to, recv_count, recv_type, root, comm),
             (from, lsc, lsd, send_type, to, recv_count, recv_type, root, comm));
    case ALLGATHER:
        CALL(Allgather, Iallgather, (from, send_count, send_type, to, recv_count, recv_type, comm),
             (from, send_count, send_type, to, recv_count, recv_type, comm));
    case ALLGATHERV:
        CALL(Allgatherv, Iallgatherv, (from, send_count, send_type, to, rc, rd, recv_type, comm),
             (from, send_count, send_type, to, lrc, lrd, recv_type, comm));
    case ALLTOALL:
        CALL(Alltoall, Ialltoall, (from, send_count, send_type, to, recv_count, recv_type, comm),
             (from, send_count, send_type, to, recv_count, recv_type, comm));
    case ALLTOALLV:
        CALL(Alltoallv, Ialltoallv, (from, sc, sd, send_type, to, rc, rd, recv_type, comm),
             (from, lsc, lsd, send_type, to, lrc, lrd, recv_type, comm));
    case ALLTOALLW:
        CALL(Alltoallw, Ialltoallw, (from, sc, sd, st, to, rc, rd, rt, comm), (from, lsc, lsd, st, to, lrc, lrd, rt, comm));
    case REDUCE:
        CALL(Reduce, Ireduce, (from, to, count, type, op, root, comm), (from, to, count, type, op, root, comm));
    case ALLREDUCE: CALL(Allreduce, Iallreduce, (from, to, count, type, op, comm), (from, to, count, type, op, comm));
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, Ireduce_scatter_block, (from, to, rc[0], type, op, comm), (from, to, rc[0], type, op, comm));
    case REDUCE_SCATTER: CALL(Reduce_scatter, Ireduce_scatter, (from, to, rc, type, op, comm), (from, to, lrc, type, op, comm));
    case SCAN: CALL(Scan, Iscan, (from, to, count, type, op, comm), (from, to, count, type, op, comm));
    case EXSCAN: CALL(Exscan, Iexscan, (from, to, count, type, op, comm), (from, to, count, type, op, comm));
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, Ineighbor_allgather, (from, send_count, send_type, to, recv_count, recv_type, comm),
             (from, send_count, send_type, to, recv_count, recv_type, comm));
    case NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, Ineighbor_allgatherv, (from, send_count, send_type, to, rc, rd, recv_type, comm),
             (from, send_count, send_type, to, lrc, lrd, recv_type, comm));
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, Ineighbor_alltoall, (from, send_count, send_type, to, recv_count, recv_type, comm),
             (from, send_count, send_type, to, recv_count, recv_type, comm));
    case NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, Ineighbor_alltoallv, (from, sc, sd, send_type, to, rc, rd, recv_type, comm),
             (from, lsc, lsd, send_type, to, lrc, lrd, recv_type, comm));
    case NEIGHBOR_ALLTOALLW:
        CALL(Neighbor_alltoallw, Ineighbor_alltoallw, (from, sc, lsd, st, to, rc, lrd, rt, comm),
             (from, lsc, lsd, st, to, lrc, lrd, rt, comm));
    case KINDS: break;
    }
}

/* ---- Communicators ---- */

enum { WORLD, SELF, HALVES, UNEVEN, BETWEEN, GRID, RING, WEB, PLACES };
static struct place places[PLACES];

static void name_place(int which, const char *name, MPI_Comm comm) {
    struct place *place = &places[which];
    place->name = name;
    place->comm = comm;
    OK(MPI_Comm_rank(comm, &place->me));
    OK(MPI_Comm_size(comm, &place->ours));
    OK(MPI_Comm_test_inter(comm, &place->is_inter));
    if (place->is_inter) OK(MPI_Comm_remote_size(comm, &place->theirs));
}

/* Whose nth block to us is which of its blocks, where `destination` says to whom a process sends. */
static void find_twins(struct place *place, const int (*destinations)[MOST], const int *degrees) {
    for (int k = 0; k < place->in; k++) {
        int nth = 0, source = place->sources[k];
        for (int before = 0; before < k; before++) nth += place->sources[before] == source;
        for (int block = 0; block < degrees[source]; block++)
            if (destinations[source][block] == place->me && nth-- == 0) place->twins[k] = block;
    }
}

static void make_places(void) {
    static int destinations[MOST][MOST], degrees[MOST];
    int dims[3] = {0, 0, 0}, periods[3], edges[MOST * 4], index[MOST], many = 1 + any(&shared, 3);
    MPI_Comm comm, part;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    name_place(WORLD, "world", comm);
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    name_place(SELF, "self", comm);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm));
    name_place(HALVES, "halves", comm);
    int border = size > 1 ? 1 + any(&shared, size - 1) : 1, side = rank >= border;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &part));
    name_place(UNEVEN, "part", part);
    if (size > 1) {
        OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side ? 0 : border, 3, &comm));
        name_place(BETWEEN, "inter", comm);
        places[BETWEEN].side = side;
    }
    for (int d = 0; d < 3; d++) periods[d] = any(&shared, 3) > 0;
    OK(MPI_Dims_create(size, many, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, many, dims, periods, 0, &comm));
    name_place(GRID, "grid", comm);
    struct place *grid = &places[GRID];
    grid->has_topology = 1;
    grid->in = grid->out = 2 * many;
    for (int d = 0; d < many; d++) OK(MPI_Cart_shift(comm, d, 1, &grid->sources[2 * d], &grid->sources[2 * d + 1]));
    for (int k = 0; k < grid->in; k++) grid->destinations[k] = grid->sources[k], grid->twins[k] = k ^ 1;

    /* The next, oneself, the one before, which may all be the same. */
    for (int node = 0; node < size; node++) {
        degrees[node] = 3;
        for (int k = 0; k < 3; k++) edges[3 * node + k] = destinations[node][k] = (node + size + 1 - k) % size;
        index[node] = 3 * node + 3;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    name_place(RING, "graph", comm);
    struct place *ring = &places[RING];
    ring->has_topology = 1;
    ring->in = ring->out = 3;
    for (int k = 0; k < 3; k++) ring->sources[k] = ring->destinations[k] = destinations[rank][k];
    find_twins(ring, (const int(*)[MOST])destinations, degrees);

    /* Anything: several edges between two, none at all. */
    struct place *web = &places[WEB];
    web->has_topology = 1;
    for (int node = 0; node < size; node++) {
        degrees[node] = any(&shared, 5);
        for (int k = 0; k < degrees[node]; k++) {
            destinations[node][k] = any(&shared, size);
            if (destinations[node][k] == rank && web->in < MOST) web->sources[web->in++] = node;
        }
    }
    web->out = degrees[rank];
    memcpy(web->destinations, destinations[rank], sizeof web->destinations);
    for (int k = web->in - 1; k > 0; k--) {
        int other = any(&own, k + 1), source = web->sources[k];
        web->sources[k] = web->sources[other];
        web->sources[other] = source;
    }
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, web->in, web->sources, MPI_UNWEIGHTED, web->out, web->destinations,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    name_place(WEB, "web", comm);
    find_twins(web, (const int(*)[MOST])destinations, degrees);
}

/* ---- Trials ---- */

static struct trial *plan(enum kind kind, int which, int combination) {
    static const int sizes[] = {0, 1, 1, 5, 40, 300, 2500, 20000};
    struct trial *trial = calloc(1, sizeof *trial);
    if (size == 1 && which == BETWEEN) which = WORLD;
    if (kind >= NEIGHBOR_ALLGATHER && !places[which].has_topology) which = GRID + kind % 3;
    trial->place = &places[which];
    int inter = trial->place->is_inter;
    if (inter && (kind == SCAN || kind == EXSCAN)) kind = ALLREDUCE;
    trial->kind = kind;
    trial->form = (enum form)any(&shared, 3);
    trial->large = any(&shared, 2);
    trial->in_place = any(&shared, 2) && !inter && kind < NEIGHBOR_ALLGATHER;
    trial->salt = next_random(&shared);
    trial->request = MPI_REQUEST_NULL;
    trial->type = MPI_DATATYPE_NULL;
    int raw_root = any(&shared, 1 << 20), many = sizes[any(&shared, 8)], unit = any(&shared, 5);
    if (inter) {
        trial->root_side = raw_root & 1;
        trial->root = (raw_root >> 1) % (trial->root_side == trial->place->side ? trial->place->ours : trial->place->theirs);
    } else {
        trial->root = raw_root % trial->place->ours;
    }
    /* Where everyone sends to everyone, less of it. */
    if (many > 300 && !(kind == BCAST || kind == REDUCE || kind == ALLREDUCE || kind == SCAN || kind == EXSCAN))
        many = many / size + 1;
    if (is_reduction(kind)) plan_reduction(trial, many, combination);
    else plan_movement(trial, many * UNITS, unit);
    return trial;
}

static void refill(struct trial *trial, unsigned salt) {
    if (is_reduction(trial->kind)) {
        trial->salt = salt;
        refill_reduction(trial);
    } else {
        /* Block lengths depend on the salt modulo 3. */
        trial->salt = salt / 3 * 3 + trial->salt % 3;
        refill_movement(trial);
    }
}

static void verify(struct trial *trial) {
    if (is_reduction(trial->kind)) check_reduction(trial);
    check_area(trial, &trial->send, "the send buffer");
    check_area(trial, &trial->recv, "the receive buffer");
}

static void discard(struct trial *trial) {
    for (int side = 0; side < 2 && !is_reduction(trial->kind); side++)
        for (int i = 0; i < 2; i++) OK(MPI_Type_free(&trial->layouts[side][i].type));
    if (is_reduction(trial->kind) && trial->operation >= ADD) OK(MPI_Type_free(&trial->type));
    free(trial->send.memory), free(trial->send.expected), free(trial->recv.memory), free(trial->recv.expected);
    free(trial);
}

/* Complete all of them in one of many ways. */
static void complete(MPI_Request *requests, int count) {
    int flag = 0, index, done = 0, indices[PENDING];
    switch (any(&own, 5)) {
    case 0: OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
        for (int i = count - 1; i >= 0; i--) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
    case 2:
        while (!flag) OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    case 3:
        for (int i = 0; i < count; i++) {
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
            if (index == MPI_UNDEFINED) break;
        }
        break;
    case 4:
        while (done != MPI_UNDEFINED) OK(MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE));
        break;
    }
}

static void batch(int many, int systematic) {
    static int combination;
    struct trial *trials[PENDING];
    MPI_Request requests[PENDING];
    int order[PENDING], round = 0;
    for (int i = 0; i < many; i++) {
        int which = any(&shared, PLACES);
        enum kind kind = (enum kind)any(&shared, KINDS);
        if (systematic) kind = (enum kind)(REDUCE + any(&shared, EXSCAN - REDUCE + 1));
        trials[i] = plan(kind, which, combination);
        combination += is_reduction(kind);
        refill(trials[i], next_random(&shared));
        call(trials[i]);
    }
    /* Persistent ones are started in any order, again and again; the others complete with the first. */
    for (round = 0; round < 3; round++) {
        int active = 0;
        for (int i = 0; i < many; i++) {
            int at = any(&own, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (int i = 0; i < many; i++) {
            struct trial *trial = trials[order[i]];
            if (trial->form == PERSISTENT) OK(MPI_Start(&trial->request));
            if (trial->form == PERSISTENT || (trial->form == IMMEDIATE && round == 0)) requests[active++] = trial->request;
        }
        complete(requests, active);
        for (int i = 0; i < many; i++) {
            unsigned salt = next_random(&shared);
            if (round > 0 && trials[i]->form != PERSISTENT) continue;
            verify(trials[i]);
            if (trials[i]->form == PERSISTENT && round < 2) refill(trials[i], salt);
        }
    }
    for (int i = 0; i < many; i++) {
        if (trials[i]->form == PERSISTENT) OK(MPI_Request_free(&trials[i]->request));
        discard(trials[i]);
    }
}

/* How many calls were done by forced algorithms, which tests/collectives.rs wants to know. */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle wanted;

static void count_wanted(void) {
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    wanted = counter(session, "algorithms_wanted");
    OK(MPI_T_pvar_start(session, wanted));
}

static void tell_wanted(void) {
    unsigned long long calls, all;
    OK(MPI_T_pvar_read(session, wanted, &calls));
    OK(MPI_Reduce(&calls, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("%llu forced\n", all);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    count_wanted();
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, batches = full ? 400 : 30, combinations = 0;
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : full ? (unsigned)time(NULL) : 1;
    if (argc > 2) batches = atoi(argv[2]);
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("seed %u\n", seed), fflush(stdout);
    CHECK(size <= 32, "%d", size);
    shared = scramble(seed);
    own = scramble(seed * 31 + (unsigned)rank + 1);
    make_units();
    OK(MPI_Op_create(add, 1, &add_op));
    OK(MPI_Op_create(compose, 0, &compose_op));
    make_places();
    for (int i = 0; i < ELEMENTS_COUNT; i++)
        for (int op = 0; op < OPERATIONS; op++) combinations += is_defined((enum operation)op, &ELEMENTS[i]);
    for (int i = 0; i < batches; i++) batch(1 + any(&shared, PENDING), 0);
    /* Each combination of type and operation at least once. */
    for (int done = 0; done < combinations && argc <= 2; done += PENDING) batch(PENDING, 1);
    tell_wanted();
    for (int i = 0; i < PLACES; i++)
        if (places[i].comm != MPI_COMM_NULL && places[i].name) OK(MPI_Comm_free(&places[i].comm));
    OK(MPI_Op_free(&add_op));
    OK(MPI_Op_free(&compose_op));
    OK(MPI_Type_free(&unit_types[4]));
    end();
    return 0;
}
