// ranks: 4
// more ranks: 2 7
/* Thousands of non-blocking and persistent collectives under way at once, on many communicators, completed in another order on
   each rank: all of them are right. */
#include "check.h"

#include <stdint.h>

enum { COMMS = 20, CALLS = 5000, MOST = 24 };
enum kind { ALLREDUCE, BCAST, BARRIER, ALLGATHER, SCAN, REDUCE, KINDS };

struct call {
    enum kind kind;
    int count, root, number, is_persistent;
    int32_t own[MOST], all[8 * MOST];
};

static struct call calls[CALLS];
static MPI_Request requests[CALLS];
static MPI_Comm comms[COMMS];

static unsigned next_number(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int32_t element(const struct call *one, int from, int i) { return one->number * 31 + from * 7 + i; }

#define EITHER(name, immediate, ...)                                                                          \
    do {                                                                                                      \
        if (one->is_persistent) {                                                                             \
            OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request));                                       \
            OK(MPI_Start(request));                                                                           \
        } else {                                                                                              \
            OK(MPI_I##immediate(__VA_ARGS__, request));                                                       \
        }                                                                                                     \
    } while (0)

static void start(struct call *one, MPI_Comm comm, MPI_Request *request) {
    for (int i = 0; i < one->count; i++) one->own[i] = element(one, rank, i);
    memset(one->all, -1, sizeof one->all);
    int count = one->count, root = one->root;
    int32_t *own = one->own, *all = one->all;
    switch (one->kind) {
    case ALLREDUCE: EITHER(Allreduce, allreduce, own, all, count, MPI_INT32_T, MPI_SUM, comm); break;
    case BCAST: EITHER(Bcast, bcast, own, count, MPI_INT32_T, root, comm); break;
    case BARRIER: EITHER(Barrier, barrier, comm); break;
    case ALLGATHER: EITHER(Allgather, allgather, own, count, MPI_INT32_T, all, count, MPI_INT32_T, comm); break;
    case SCAN: EITHER(Scan, scan, own, all, count, MPI_INT32_T, MPI_SUM, comm); break;
    case REDUCE: EITHER(Reduce, reduce, own, all, count, MPI_INT32_T, MPI_SUM, root, comm); break;
    case KINDS: break;
    }
}

static void verify(const struct call *one) {
    int summed = one->kind == SCAN ? rank + 1 : one->kind == ALLREDUCE || (one->kind == REDUCE && rank == one->root) ? size : 0;
    for (int i = 0; i < one->count; i++) {
        int32_t sum = 0;
        for (int from = 0; from < summed; from++) sum += element(one, from, i);
        if (summed > 0) CHECK(one->all[i] == sum, "call %d of kind %d: element %d", one->number, one->kind, i);
        if (one->kind == BCAST) CHECK(one->own[i] == element(one, one->root, i), "call %d: element %d", one->number, i);
        for (int from = 0; one->kind == ALLGATHER && from < size; from++)
            CHECK(one->all[from * one->count + i] == element(one, from, i), "call %d: element %d of %d", one->number, i, from);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    unsigned common = 7, own = 99 + (unsigned)rank;
    for (int i = 0; i < COMMS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < CALLS; i++) {
        struct call *one = &calls[i];
        one->kind = (enum kind)(next_number(&common) % KINDS);
        one->count = (int)(next_number(&common) % (MOST + 1));
        one->root = (int)(next_number(&common) % (unsigned)size);
        one->is_persistent = next_number(&common) % 10 == 0;
        one->number = i;
        start(one, comms[next_number(&common) % COMMS], &requests[i]);
    }
    /* One by one, in an order of our own; some are over when they are waited for, some are not. */
    static int order[CALLS];
    for (int i = 0; i < CALLS; i++) order[i] = i;
    for (int i = CALLS - 1; i > 0; i--) {
        int other = (int)(next_number(&own) % (unsigned)(i + 1)), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
    for (int i = 0; i < CALLS; i++) {
        int at = order[i], is_over = 0;
        while (i % 3 == 0 && !is_over) OK(MPI_Test(&requests[at], &is_over, MPI_STATUS_IGNORE));
        if (i % 3 != 0) OK(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
        verify(&calls[at]);
        if (calls[at].is_persistent) OK(MPI_Request_free(&requests[at]));
        CHECK(requests[at] == MPI_REQUEST_NULL, "call %d", at);
    }
    for (int i = 0; i < COMMS; i++) OK(MPI_Comm_free(&comms[i]));
    end();
    return 0;
}
