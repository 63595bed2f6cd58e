/* Every collective in every form, with made-up data of its own: what the programs for non-blocking and persistent ones
   share. */
#ifndef ANY_COLLECTIVE_H
#define ANY_COLLECTIVE_H

#include "check.h"

enum kind {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE,
    ALLREDUCE, REDUCE_USER, ALLREDUCE_USER, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN, SCAN_USER, KINDS
};
enum form { BLOCKING, IMMEDIATE, PERSISTENT };

/* One collective. Blocks of the v forms have (block % 3) * count elements, with an element between them. */
struct collective {
    enum kind kind;
    MPI_Comm comm;
    int rank, size, root, count, in_place;
    /* Elements lie so many ints apart; a buffer has room for so many. */
    int stride, room;
    unsigned salt;
    int *send, *recv;
    int *counts, *displs, *byte_displs;
    MPI_Datatype *types;
    MPI_Request request;
    /* The call may fail; its code. */
    int may_fail, code;
};

/* Functions x -> a x + b, one after the other: associative, not commutative. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type) {
    unsigned *one = first, *two = second;
    int bytes;
    OK(MPI_Type_size(*type, &bytes));
    CHECK(bytes == 8, "%d", bytes);
    for (int i = 0; i < *count; i++) {
        two[2 * i + 1] += one[2 * i + 1] * two[2 * i];
        two[2 * i] *= one[2 * i];
    }
}

static int has_blocks_of_their_own(enum kind kind) {
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV || kind == ALLTOALLW ||
           kind == REDUCE_SCATTER;
}

static int is_reduction(enum kind kind) { return kind >= REDUCE; }

static int is_pairs(enum kind kind) { return kind == REDUCE_USER || kind == ALLREDUCE_USER || kind == SCAN_USER; }

/* Element i that `from` has for `to`. */
static int element(const struct collective *one, int from, int to, int i) {
    return (int)(one->salt * 7919u + (unsigned)from * 10007u + (unsigned)to * 101u + (unsigned)i * 3u) & 0xfffff;
}

static int block_count(const struct collective *one, int block) {
    return has_blocks_of_their_own(one->kind) ? one->counts[block] : one->count;
}

static int block_start(const struct collective *one, int block) {
    if (one->kind == REDUCE_SCATTER) {
        int start = 0;
        for (int i = 0; i < block; i++) start += one->counts[i];
        return start;
    }
    return has_blocks_of_their_own(one->kind) ? one->displs[block] : block * one->count;
}

static size_t bytes_of_buffer(const struct collective *one) {
    return sizeof(int) * (size_t)one->room * (size_t)one->stride;
}

static struct collective make(enum kind kind, MPI_Comm comm, int root, int count, int in_place, int strided) {
    struct collective one = {.kind = kind, .comm = comm, .root = root, .count = count, .in_place = in_place};
    OK(MPI_Comm_rank(comm, &one.rank));
    OK(MPI_Comm_size(comm, &one.size));
    one.root = root % one.size;
    one.stride = strided && !is_reduction(kind) ? 2 : is_pairs(kind) ? 2 : 1;
    one.counts = malloc(sizeof(int) * (size_t)one.size);
    one.displs = malloc(sizeof(int) * (size_t)one.size);
    one.byte_displs = malloc(sizeof(int) * (size_t)one.size);
    one.types = malloc(sizeof(MPI_Datatype) * (size_t)one.size);
    int next = 0;
    for (int i = 0; i < one.size; i++) {
        /* In place, both directions of a pair must be alike. */
        int length = kind >= ALLTOALLV && kind <= ALLTOALLW ? (i + one.rank) % 3 : i % 3;
        one.counts[i] = length * count;
        one.displs[i] = next;
        one.byte_displs[i] = next * one.stride * (int)sizeof(int);
        next += one.counts[i] + 1;
    }
    int has_one_block = is_reduction(kind) && kind != REDUCE_SCATTER_BLOCK && kind != REDUCE_SCATTER;
    int blocks = has_one_block ? count : count * one.size;
    one.room = 4 + (has_blocks_of_their_own(kind) && next > blocks ? next : blocks);
    one.send = malloc(bytes_of_buffer(&one));
    one.recv = malloc(bytes_of_buffer(&one));
    one.request = MPI_REQUEST_NULL;
    return one;
}

static void discard(struct collective *one) {
    free(one->send);
    free(one->recv);
    free(one->counts);
    free(one->displs);
    free(one->byte_displs);
    free(one->types);
}

static void put(const struct collective *one, int *buffer, int block, int from, int to) {
    int count = block_count(one, block), stride = one->stride;
    buffer += block_start(one, block) * stride;
    for (int i = 0; i < count; i++) buffer[i * stride] = element(one, from, to, i);
}

/* The block of a rank, at the start of the buffer. */
static void put_first(const struct collective *one, int *buffer, int block) {
    int count = block_count(one, block), stride = one->stride;
    for (int i = 0; i < count; i++) buffer[i * stride] = element(one, block, 0, i);
}

static void compare(const struct collective *one, const int *buffer, int start, int count, int from, int to) {
    for (int i = 0; i < count; i++) {
        int found = buffer[(start + i) * one->stride];
        CHECK(found == element(one, from, to, i), "kind %d: element %d of %d from %d: %d", one->kind, i, count, from, found);
        if (one->stride == 2) CHECK(buffer[(start + i) * 2 + 1] == -1, "kind %d: a gap was written to", one->kind);
    }
}

/* The input of a reduction at a rank: element i. */
static int operand(const struct collective *one, int from, int i) { return element(one, from, 0, i) % 1000; }

/* New data for the next execution. */
static void refill(struct collective *one, unsigned salt) {
    int all = one->size, me = one->rank, at_root = one->rank == one->root;
    one->salt = salt;
    /* Every element is -1. */
    memset(one->send, 0xff, bytes_of_buffer(one));
    memset(one->recv, 0xff, bytes_of_buffer(one));
    int *own = one->in_place ? one->recv : one->send;
    switch (one->kind) {
    case BARRIER: case KINDS: break;
    case BCAST:
        if (at_root) put(one, one->recv, 0, one->root, 0);
        break;
    case GATHER: case GATHERV:
        if (one->in_place && at_root) put(one, one->recv, me, me, 0);
        else put_first(one, one->send, me);
        break;
    case ALLGATHER: case ALLGATHERV:
        if (one->in_place) put(one, one->recv, me, me, 0);
        else put_first(one, one->send, me);
        break;
    case SCATTER: case SCATTERV:
        for (int other = 0; at_root && other < all; other++) put(one, one->send, other, me, other);
        break;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (int other = 0; other < all; other++) put(one, own, other, me, other);
        break;
    default: {
        /* Only the root may give its input in place. */
        int *input = one->in_place && (at_root || (one->kind != REDUCE && one->kind != REDUCE_USER)) ? one->recv : one->send;
        for (int i = 0; i < one->room; i++) {
            if (is_pairs(one->kind)) {
                input[2 * i] = operand(one, me, i) | 1;
                input[2 * i + 1] = operand(one, me, i + 1);
            } else {
                input[i] = operand(one, me, i);
            }
        }
    } }
}

/* What the first `ranks` ranks make of element i, in their order. */
static void check_sum(const struct collective *one, const int *result, int result_i, int i, int ranks) {
    unsigned a = 1, b = 0, sum = 0;
    if (is_pairs(one->kind)) {
        for (int from = 0; from < ranks; from++) {
            unsigned c = (unsigned)operand(one, from, i) | 1u, d = (unsigned)operand(one, from, i + 1);
            b = b * c + d;
            a *= c;
        }
        CHECK((unsigned)result[2 * result_i] == a && (unsigned)result[2 * result_i + 1] == b, "kind %d: element %d of %d",
              one->kind, i, one->count);
    } else {
        for (int from = 0; from < ranks; from++) sum += (unsigned)operand(one, from, i);
        CHECK((unsigned)result[result_i] == sum, "kind %d: element %d of %d: %d instead of %u", one->kind, i, one->count,
              result[result_i], sum);
    }
}

/* Is the outcome right? */
static void verify(const struct collective *one) {
    int all = one->size, me = one->rank, at_root = one->rank == one->root, rooted = at_root;
    switch (one->kind) {
    case BARRIER: case KINDS: break;
    case BCAST: compare(one, one->recv, 0, one->count, one->root, 0); break;
    case ALLGATHER: case ALLGATHERV: rooted = 1; /* fall through */
    case GATHER: case GATHERV:
        for (int other = 0; rooted && other < all; other++)
            compare(one, one->recv, block_start(one, other), block_count(one, other), other, 0);
        break;
    case SCATTER: case SCATTERV:
        if (!one->in_place || !at_root) compare(one, one->recv, 0, block_count(one, me), one->root, me);
        break;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW:
        for (int other = 0; other < all; other++)
            compare(one, one->recv, block_start(one, other), block_count(one, other), other, me);
        break;
    case ALLREDUCE: case ALLREDUCE_USER: rooted = 1; /* fall through */
    case REDUCE: case REDUCE_USER:
        for (int i = 0; rooted && i < one->count; i++) check_sum(one, one->recv, i, i, all);
        break;
    case REDUCE_SCATTER_BLOCK: case REDUCE_SCATTER:
        for (int i = 0, start = block_start(one, me), count = block_count(one, me); i < count; i++)
            check_sum(one, one->recv, i, start + i, all);
        break;
    case SCAN: case SCAN_USER:
        for (int i = 0; i < one->count; i++) check_sum(one, one->recv, i, i, me + 1);
        break;
    case EXSCAN:
        for (int i = 0; me > 0 && i < one->count; i++) check_sum(one, one->recv, i, i, me);
        break;
    }
}

/* The three forms of one procedure. */
#define FORMS(form, request, blocking, immediate, persistent, ...)                            \
    switch (form) {                                                                           \
    case BLOCKING: one->code = blocking(__VA_ARGS__); break;                                  \
    case IMMEDIATE: one->code = immediate(__VA_ARGS__, request); break;                       \
    case PERSISTENT: one->code = persistent(__VA_ARGS__, MPI_INFO_NULL, request); break;      \
    }

/* Call it. Datatypes and operations of our own are freed at once. */
static void call(struct collective *one, enum form form) {
    MPI_Datatype type = MPI_INT, made = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_SUM;
    if (is_pairs(one->kind)) {
        OK(MPI_Type_contiguous(2, MPI_INT, &made));
        OK(MPI_Op_create(compose, 0, &op));
    } else if (one->stride == 2) {
        OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &made));
    }
    if (made != MPI_DATATYPE_NULL) {
        OK(MPI_Type_commit(&made));
        type = made;
    }
    for (int i = 0; i < one->size; i++) one->types[i] = type;
    int at_root = one->rank == one->root, count = one->count, root = one->root;
    int *counts = one->counts, *displs = one->displs, *bytes = one->byte_displs;
    MPI_Datatype *types = one->types;
    MPI_Comm comm = one->comm;
    MPI_Request *request = &one->request;
    void *send = one->send, *recv = one->recv;
    void *from = one->in_place ? MPI_IN_PLACE : send, *root_from = one->in_place && at_root ? MPI_IN_PLACE : send;
    void *root_to = one->in_place && at_root ? MPI_IN_PLACE : recv;
    /* What matters nowhere else is garbage there. */
    int own = has_blocks_of_their_own(one->kind) ? counts[one->rank] : count;
    int *root_counts = at_root ? counts : NULL, *root_displs = at_root ? displs : NULL;
    switch (one->kind) {
    case BARRIER: FORMS(form, request, MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, comm); break;
    case BCAST: FORMS(form, request, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, recv, count, type, root, comm); break;
    case GATHER:
        FORMS(form, request, MPI_Gather, MPI_Igather, MPI_Gather_init, root_from, count, type, recv, count, type, root, comm);
        break;
    case GATHERV:
        FORMS(form, request, MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, root_from, own, type, recv, root_counts,
              root_displs, type, root, comm);
        break;
    case SCATTER:
        FORMS(form, request, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, send, count, type, root_to, count, type, root, comm);
        break;
    case SCATTERV:
        FORMS(form, request, MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, send, root_counts, root_displs, type, root_to,
              own, type, root, comm);
        break;
    case ALLGATHER:
        FORMS(form, request, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, from, count, type, recv, count, type, comm);
        break;
    case ALLGATHERV:
        FORMS(form, request, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, from, own, type, recv, counts, displs,
              type, comm);
        break;
    case ALLTOALL:
        FORMS(form, request, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, from, count, type, recv, count, type, comm);
        break;
    case ALLTOALLV:
        FORMS(form, request, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, from, counts, displs, type, recv, counts,
              displs, type, comm);
        break;
    case ALLTOALLW:
        FORMS(form, request, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, from, counts, bytes, types, recv, counts,
              bytes, types, comm);
        break;
    case REDUCE: case REDUCE_USER:
        FORMS(form, request, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, root_from, recv, count, type, op, root, comm);
        break;
    case ALLREDUCE: case ALLREDUCE_USER:
        FORMS(form, request, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, from, recv, count, type, op, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        FORMS(form, request, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, from, recv,
              count, type, op, comm);
        break;
    case REDUCE_SCATTER:
        FORMS(form, request, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, from, recv, counts, type, op,
              comm);
        break;
    case SCAN: case SCAN_USER:
        FORMS(form, request, MPI_Scan, MPI_Iscan, MPI_Scan_init, from, recv, count, type, op, comm);
        break;
    case EXSCAN: FORMS(form, request, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, from, recv, count, type, op, comm); break;
    case KINDS: break;
    }
    if (!one->may_fail) OK(one->code);
    if (form != BLOCKING && one->code == MPI_SUCCESS) CHECK(one->request != MPI_REQUEST_NULL, "kind %d", one->kind);
    if (made != MPI_DATATYPE_NULL) OK(MPI_Type_free(&made));
    if (op != MPI_SUM) OK(MPI_Op_free(&op));
}

/* Another one; the same on all ranks for the same state. */
__attribute__((unused)) static struct collective any(unsigned *state, MPI_Comm comm) {
    static const int counts[] = {0, 1, 3, 17, 200, 1500, 9000};
    enum kind kind = next_random(state) % KINDS;
    int root = (int)(next_random(state) % 64), count = counts[next_random(state) % 7];
    /* Scatter's root keeps its block. */
    int in_place = next_random(state) % 2, strided = next_random(state) % 3 == 0;
    return make(kind, comm, root, count, in_place, strided);
}

/* Complete requests in one of many ways. */
__attribute__((unused)) static void complete(MPI_Request *requests, int count, unsigned *state) {
    int index, flag, done = 0, indices[64];
    CHECK(count <= 64, "%d", count);
    switch (next_random(state) % 6) {
    case 0: OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
        for (int i = count - 1; i >= 0; i--) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
    case 2:
        for (int i = 0; i < count; i++)
            for (flag = 0; !flag;) OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        break;
    case 3:
        for (;;) {
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
            if (index == MPI_UNDEFINED) break;
        }
        break;
    case 4:
        for (flag = 0; !flag;) OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    default:
        while (done != MPI_UNDEFINED) OK(MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE));
    }
}

#endif
