// ranks: 1 2 3 5
// more ranks: 4 7 8 13 17
/* Random collectives against what every rank works out for itself: any collective in any form, on several communicators of
   every kind, with many under way at once, any root, in place or not, with layouts that differ between sender and receiver,
   every predefined operation on every type, operations of our own.

   random_collectives [SEED [BATCHES]]: the seed that is printed gives the same calls again, on as many ranks. With BATCHES
   it is left to chance what is called; without, every collective comes in every form on every kind of communicator, and
   every operation meets every type. */
#define _GNU_SOURCE
#include "counter.h"
#include "random_places.h"
#include "reference_operations.h"

#include <time.h>

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
    /* Its number among those under way, and when it began. */
    int slot;
    unsigned began;
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

static int uid(int side, int of) { return MOST * side + of; }

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
        /* The data to be sent. */
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

static void plan_reduction(struct trial *trial, int many) {
    const struct place *place = trial->place;
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

/* Values come again after so many, which no algorithm has a block of. */
enum { PERIOD = 997 };

static void put_input(const struct trial *trial, int i, int from, unsigned char *at) {
    int all = trial->place->ours + trial->place->theirs;
    put_value(trial->element, trial->operation, trial->salt, i % PERIOD, from, all, at);
}

/* All that the calling process gives. */
static void put_inputs(const struct trial *trial, unsigned char *base) {
    int me = uid(trial->place->side, trial->place->me);
    for (int i = 0; i < trial->count; i++) {
        unsigned char *at = base + i * trial->extent;
        if (i < PERIOD) put_input(trial, i, me, at);
        else memcpy(at, at - PERIOD * trial->extent, (size_t)trial->extent);
    }
}

static void refill_reduction(struct trial *trial) {
    struct area *areas[] = {&trial->send, &trial->recv};
    for (int i = 0; i < 2; i++) {
        scribble(areas[i]);
        if (i == 1 && !says_in_place(trial)) break;
        put_inputs(trial, areas[i]->base);
        memcpy(areas[i]->expected, areas[i]->memory, areas[i]->length);
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
    /* The memory behind a block that came in place is free. */
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
    /* Arguments that do not matter are garbage. */
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
        if (trial->form != PERSISTENT) enter_barrier(trial->slot, trial->began);
        switch (trial->form) {
        case BLOCKING:
            OK(MPI_Barrier(comm));
            leave_barrier(place, trial->slot, trial->began);
            break;
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

/* ---- Trials ---- */

/* What to call, and how; with so many elements that values of all sorts are among them? */
struct wish {
    enum kind kind;
    int which;
    enum form form;
    int in_place, is_long;
};

static int is_possible(const struct wish *wish) {
    enum kind kind = wish->kind;
    if (kind >= NEIGHBOR_ALLGATHER) return wish->which >= GRID && !wish->in_place;
    if (wish->which == BETWEEN) return size > 1 && kind != SCAN && kind != EXSCAN && !wish->in_place;
    return !wish->in_place || (kind != BARRIER && kind != BCAST);
}

static struct wish any_wish(void) {
    struct wish wish = {.which = any(&shared, PLACES)};
    wish.kind = (enum kind)any(&shared, KINDS);
    wish.form = (enum form)any(&shared, 3);
    wish.in_place = any(&shared, 2);
    if (size == 1 && wish.which == BETWEEN) wish.which = WORLD;
    if (wish.kind >= NEIGHBOR_ALLGATHER && wish.which < GRID) wish.which = GRID + wish.kind % 3;
    if (wish.which == BETWEEN && (wish.kind == SCAN || wish.kind == EXSCAN)) wish.kind = ALLREDUCE;
    wish.in_place = wish.in_place && is_possible(&wish);
    return wish;
}

/* The calls made, which are the same on all ranks. */
static int called[KINDS][PLACES][PERSISTENT + 1][2], combined[ELEMENTS_COUNT][OPERATIONS];

/* The next that was not called; of all kinds of communicators those with topologies for neighbors only. */
static int next_wish(struct wish *wish) {
    for (int n = 0; n < KINDS * PLACES * (PERSISTENT + 1) * 2; n++) {
        *wish = (struct wish){(enum kind)(n % KINDS), n / KINDS % PLACES, (enum form)(n / KINDS / PLACES % 3),
                              n / KINDS / PLACES / 3, 0};
        if (wish->kind < NEIGHBOR_ALLGATHER && wish->which >= GRID) continue;
        if (is_possible(wish) && !called[wish->kind][wish->which][wish->form][wish->in_place]) return 1;
    }
    return 0;
}

/* A type and an operation, if possible two that have not met. Have any two not? */
static int next_combination(const struct element **element, enum operation *operation) {
    int start = any(&shared, ELEMENTS_COUNT * OPERATIONS), is_new = 0;
    *element = NULL;
    for (int n = 0; n < ELEMENTS_COUNT * OPERATIONS && !is_new; n++) {
        int at = (start + n) % (ELEMENTS_COUNT * OPERATIONS), other = at / OPERATIONS;
        enum operation op = (enum operation)(at % OPERATIONS);
        is_new = is_defined(op, &ELEMENTS[other]) && !combined[other][op];
        if (is_new || (!*element && is_defined(op, &ELEMENTS[other]))) *element = &ELEMENTS[other], *operation = op;
    }
    return is_new;
}

static struct trial *plan(const struct wish *wish, int slot) {
    static const int sizes[] = {0, 1, 1, 5, 40, 300, 2500, 20000};
    struct trial *trial = calloc(1, sizeof *trial);
    enum kind kind = wish->kind;
    trial->place = &places[wish->which];
    trial->kind = kind;
    trial->form = wish->form;
    trial->in_place = wish->in_place;
    trial->slot = slot;
    /* A call's numbers may be large ones at one rank, and not at another. */
    trial->large = any(&own, 2);
    trial->salt = next_random(&shared);
    trial->request = MPI_REQUEST_NULL;
    trial->type = MPI_DATATYPE_NULL;
    int raw_root = any(&shared, 1 << 20), unit = any(&shared, 5);
    int many = sizes[wish->is_long ? 4 + any(&shared, 4) : any(&shared, 8)];
    if (trial->place->is_inter) {
        trial->root_side = raw_root & 1;
        trial->root = (raw_root >> 1) % (trial->root_side == trial->place->side ? trial->place->ours : trial->place->theirs);
    } else {
        trial->root = raw_root % trial->place->ours;
    }
    called[kind][wish->which][wish->form][wish->in_place]++;
    int goes_far = kind == BCAST || kind == REDUCE || kind == ALLREDUCE || kind == SCAN || kind == EXSCAN;
    if (goes_far && any(&shared, 40) == 0) many = 100000;
    /* Where everyone sends to everyone, less of it. */
    if (many > 300 && !goes_far) many = many / size + 1;
    if (is_reduction(kind)) {
        next_combination(&trial->element, &trial->operation);
        combined[trial->element - ELEMENTS][trial->operation] += many >= 40;
        plan_reduction(trial, many);
    } else {
        plan_movement(trial, many * UNITS, unit);
    }
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
    free_area(&trial->send);
    free_area(&trial->recv);
    free(trial);
}

/* It is known to be complete. */
static void left(const struct trial *trial) {
    if (trial->kind == BARRIER) leave_barrier(trial->place, trial->slot, trial->began);
}

/* Complete all of them in one of many ways. */
static void complete(MPI_Request *requests, struct trial **trials, int count) {
    int flag = 0, index, done = 0, indices[PENDING];
    switch (any(&own, 5)) {
    case 0: OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
        for (int i = count - 1; i >= 0; i--) {
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            left(trials[i]);
        }
        break;
    case 2:
        while (!flag) OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    case 3:
        for (int i = 0; i < count; i++) {
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
            if (index == MPI_UNDEFINED) break;
            left(trials[index]);
        }
        break;
    case 4:
        for (;;) {
            OK(MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE));
            if (done == MPI_UNDEFINED) break;
            for (int i = 0; i < done; i++) left(trials[indices[i]]);
        }
        break;
    }
    for (int i = 0; i < count; i++) left(trials[i]);
}

/* A message beside the collectives, which no wildcard may mistake for one of theirs. */
struct letter {
    const struct place *place;
    int sent, received;
    MPI_Request request;
};

/* Among several groups there is none. */
static int has_letter(const struct place *place) { return place->name && !place->is_inter; }

static void expect_letter(struct letter *letter, int which, unsigned salt) {
    const struct place *place = letter->place = &places[which];
    if (!has_letter(place)) return;
    letter->sent = (int)(salt & 0xffff) + place->me;
    OK(MPI_Irecv(&letter->received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, place->comm, &letter->request));
}

static void send_letter(const struct letter *letter) {
    const struct place *place = letter->place;
    if (!has_letter(place)) return;
    OK(MPI_Send(&letter->sent, 1, MPI_INT, (place->me + 1) % place->ours, letter->sent % 100, place->comm));
}

static void take_letter(struct letter *letter) {
    const struct place *place = letter->place;
    MPI_Status status;
    if (!has_letter(place)) return;
    OK(MPI_Wait(&letter->request, &status));
    int from = (place->me + place->ours - 1) % place->ours, wanted = letter->sent - place->me + from;
    CHECK(letter->received == wanted && status.MPI_SOURCE == from && status.MPI_TAG == wanted % 100,
          "seed %u: on %s from %d came %d, not %d", seed, place->name, status.MPI_SOURCE, letter->received, wanted);
}

static void batch(int many, int systematic) {
    static unsigned now;
    struct trial *trials[PENDING], *active_trials[PENDING];
    MPI_Request requests[PENDING];
    struct letter letter;
    int order[PENDING], round = 0, moves = any(&shared, 8) == 0, which = any(&shared, PLACES), sends_at = any(&own, many);
    now++;
    expect_letter(&letter, which, next_random(&shared));
    for (int i = 0; i < many; i++) {
        struct wish wish;
        if (!systematic || !next_wish(&wish)) {
            do wish = any_wish();
            while (systematic && !is_reduction(wish.kind));
            wish.is_long = systematic;
        }
        trials[i] = plan(&wish, i);
        trials[i]->began = now;
        refill(trials[i], next_random(&shared));
        /* Ranks come apart. */
        if (any(&own, wish.kind == BARRIER ? 2 : 20) == 0) usleep((useconds_t)any(&own, 500));
        if (i == sends_at) send_letter(&letter);
        call(trials[i]);
    }
    /* Persistent ones are started in any order, again and again; the others complete with the first. */
    for (round = 0; round < 3; round++, now++) {
        int active = 0;
        for (int i = 0; i < many; i++) {
            int at = any(&own, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        int together = any(&own, 2), starting = 0;
        for (int i = 0; i < many; i++) {
            struct trial *trial = trials[order[i]];
            if (trial->form != PERSISTENT) continue;
            trial->began = now;
            if (trial->kind == BARRIER) enter_barrier(trial->slot, now);
            if (!together) OK(MPI_Start(&trial->request));
            requests[starting++] = trial->request;
        }
        if (together) OK(MPI_Startall(starting, requests));
        for (int i = 0; i < many; i++) {
            struct trial *trial = trials[order[i]];
            if (trial->form == BLOCKING || (trial->form == IMMEDIATE && round > 0)) continue;
            active_trials[active] = trial;
            requests[active++] = trial->request;
        }
        if (moves && round == 0) free_places();
        complete(requests, active_trials, active);
        for (int i = 0; i < many; i++) {
            unsigned salt = next_random(&shared);
            if (round > 0 && trials[i]->form != PERSISTENT) continue;
            verify(trials[i]);
            if (trials[i]->form == PERSISTENT && round < 2) refill(trials[i], salt);
        }
    }
    take_letter(&letter);
    for (int i = 0; i < many; i++) {
        if (trials[i]->form == PERSISTENT) OK(MPI_Request_free(&trials[i]->request));
        discard(trials[i]);
    }
    if (moves) make_places();
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

static void tell_called(void) {
    int calls = 0, forms = 0, combinations = 0;
    for (int i = 0; i < KINDS * PLACES * (PERSISTENT + 1) * 2; i++) {
        int times = (&called[0][0][0][0])[i];
        calls += times, forms += times > 0;
    }
    for (int i = 0; i < ELEMENTS_COUNT * OPERATIONS; i++) combinations += (&combined[0][0])[i] > 0;
    if (rank == 0)
        printf("%d calls: %d of collective, communicator, form, in place or not; %d of type and operation\n", calls, forms,
               combinations);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    count_wanted();
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, batches = full ? 400 : 30;
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : full ? (unsigned)time(NULL) : 1;
    if (argc > 2) batches = atoi(argv[2]);
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("seed %u\n", seed), fflush(stdout);
    CHECK(size <= MOST, "%d", size);
    shared = scramble(seed);
    own = scramble(seed * 31 + (unsigned)rank + 1);
    make_units();
    OK(MPI_Op_create(add, 1, &add_op));
    OK(MPI_Op_create(compose, 0, &compose_op));
    watch_barriers();
    make_places();
    for (int i = 0; i < batches; i++) batch(1 + any(&shared, PENDING), 0);
    struct wish wish;
    struct trial trial;
    while (argc <= 2 && (next_wish(&wish) || next_combination(&trial.element, &trial.operation))) batch(PENDING, 1);
    tell_called();
    tell_wanted();
    free_places();
    OK(MPI_Op_free(&add_op));
    OK(MPI_Op_free(&compose_op));
    OK(MPI_Type_free(&unit_types[4]));
    end();
    return 0;
}
