// ranks: 1 2 4
/* Collectives, blocking, non-blocking and persistent, in memory of every kind: within a group, in place, between two groups, with neighbours. */
#include "device.h"

static MPI_Comm comm;
static int ranks, root, send_root;

/* Of the v and w forms: what rank i sends to rank j, in elements; blocks lie `n` elements apart. */
enum { MOST = 16 };
static int send_counts[MOST], receive_counts[MOST], displacements[MOST], byte_displacements[MOST];
static MPI_Datatype types[MOST];
static MPI_Aint byte_displacements_of_neighbours[MOST];

static void irregular(int n) {
    int own, each;
    OK(MPI_Comm_rank(comm, &own));
    for (each = 0; each < MOST; each++) {
        send_counts[each] = receive_counts[each] = (own + each) % 2 ? n : n / 2;
        displacements[each] = each * n;
        byte_displacements[each] = each * n * (int)sizeof(int);
        byte_displacements_of_neighbours[each] = byte_displacements[each];
        types[each] = MPI_INT;
    }
}

/* What rank i contributes where all contribute the same to everyone. */
static int contributed(int n) {
    int own;
    OK(MPI_Comm_rank(comm, &own));
    for (int each = 0; each < MOST; each++) receive_counts[each] = each % 2 ? n : n / 2;
    return own % 2 ? n : n / 2;
}

/* Name, its names in lower case, and arguments before the request. */
#define FORMS(name, call, small, setup, ...)                                        \
    static void name(char *const *b, int n) {                                       \
        setup;                                                                      \
        (void)b;                                                                    \
        OK(MPI_##call(__VA_ARGS__, comm));                                          \
    }                                                                               \
    static void name##_immediate(char *const *b, int n) {                           \
        MPI_Request request;                                                        \
        setup;                                                                      \
        (void)b;                                                                    \
        OK(MPI_I##small(__VA_ARGS__, comm, &request));                              \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                  \
    }                                                                               \
    static void name##_persistent(char *const *b, int n) {                          \
        MPI_Request request;                                                        \
        setup;                                                                      \
        (void)b;                                                                    \
        OK(MPI_##call##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request));          \
        for (int i = 0; i < 2; i++) {                                               \
            OK(MPI_Start(&request));                                                \
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                              \
        }                                                                           \
        OK(MPI_Request_free(&request));                                             \
    }

#define NONE (void)0
#define IRREGULAR irregular(n)
#define MINE int mine = contributed(n); irregular_places(n)
static void irregular_places(int n) {
    for (int each = 0; each < MOST; each++) displacements[each] = each * n, byte_displacements[each] = each * n * (int)sizeof(int);
}
#define AT_ROOT int is_root = rank == root
#define EQUAL for (int each = 0; each < MOST; each++) receive_counts[each] = n

FORMS(bcast, Bcast, bcast, NONE, b[1], n, MPI_INT, send_root)
FORMS(gather, Gather, gather, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT, send_root)
FORMS(scatter, Scatter, scatter, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT, send_root)
FORMS(gatherv, Gatherv, gatherv, MINE, b[0], mine, MPI_INT, b[1], receive_counts, displacements, MPI_INT, send_root)
FORMS(scatterv, Scatterv, scatterv, MINE, b[0], receive_counts, displacements, MPI_INT, b[1], mine, MPI_INT, send_root)
FORMS(allgather, Allgather, allgather, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT)
FORMS(allgatherv, Allgatherv, allgatherv, MINE, b[0], mine, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(alltoall, Alltoall, alltoall, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT)
FORMS(alltoallv, Alltoallv, alltoallv, IRREGULAR, b[0], send_counts, displacements, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(alltoallw, Alltoallw, alltoallw, IRREGULAR, b[0], send_counts, byte_displacements, types, b[1], receive_counts, byte_displacements, types)
FORMS(reduce, Reduce, reduce, NONE, b[0], b[1], n, MPI_INT, MPI_SUM, send_root)
FORMS(allreduce, Allreduce, allreduce, NONE, b[0], b[1], n, MPI_INT, MPI_BXOR)
FORMS(reduce_scatter_block, Reduce_scatter_block, reduce_scatter_block, NONE, b[0], b[1], n, MPI_INT, MPI_SUM)
FORMS(reduce_scatter, Reduce_scatter, reduce_scatter, EQUAL, b[0], b[1], receive_counts, MPI_INT, MPI_MAX)
FORMS(scan, Scan, scan, NONE, b[0], b[1], n, MPI_INT, MPI_SUM)
FORMS(exscan, Exscan, exscan, NONE, b[0], b[1], n, MPI_INT, MPI_SUM)

FORMS(gather_in_place, Gather, gather, AT_ROOT, is_root ? MPI_IN_PLACE : b[0], n, MPI_INT, b[1], n, MPI_INT, root)
FORMS(scatter_in_place, Scatter, scatter, AT_ROOT, b[0], n, MPI_INT, is_root ? MPI_IN_PLACE : b[1], n, MPI_INT, root)
FORMS(gatherv_in_place, Gatherv, gatherv, AT_ROOT; MINE, is_root ? MPI_IN_PLACE : b[0], mine, MPI_INT, b[1], receive_counts, displacements, MPI_INT, root)
FORMS(scatterv_in_place, Scatterv, scatterv, AT_ROOT; MINE, b[0], receive_counts, displacements, MPI_INT, is_root ? MPI_IN_PLACE : b[1], mine, MPI_INT, root)
FORMS(allgather_in_place, Allgather, allgather, NONE, MPI_IN_PLACE, n, MPI_INT, b[1], n, MPI_INT)
FORMS(allgatherv_in_place, Allgatherv, allgatherv, MINE, MPI_IN_PLACE, mine, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(alltoall_in_place, Alltoall, alltoall, NONE, MPI_IN_PLACE, n, MPI_INT, b[1], n, MPI_INT)
FORMS(alltoallv_in_place, Alltoallv, alltoallv, IRREGULAR, MPI_IN_PLACE, send_counts, displacements, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(alltoallw_in_place, Alltoallw, alltoallw, IRREGULAR, MPI_IN_PLACE, send_counts, byte_displacements, types, b[1], receive_counts, byte_displacements, types)
FORMS(reduce_in_place, Reduce, reduce, AT_ROOT, is_root ? MPI_IN_PLACE : b[1], is_root ? b[1] : b[0], n, MPI_INT, MPI_SUM, root)
FORMS(allreduce_in_place, Allreduce, allreduce, NONE, MPI_IN_PLACE, b[1], n, MPI_INT, MPI_SUM)
FORMS(reduce_scatter_block_in_place, Reduce_scatter_block, reduce_scatter_block, NONE, MPI_IN_PLACE, b[1], n, MPI_INT, MPI_SUM)
FORMS(reduce_scatter_in_place, Reduce_scatter, reduce_scatter, EQUAL, MPI_IN_PLACE, b[1], receive_counts, MPI_INT, MPI_SUM)
FORMS(scan_in_place, Scan, scan, NONE, MPI_IN_PLACE, b[1], n, MPI_INT, MPI_SUM)
FORMS(exscan_in_place, Exscan, exscan, NONE, MPI_IN_PLACE, b[1], n, MPI_INT, MPI_SUM)

FORMS(neighbor_allgather, Neighbor_allgather, neighbor_allgather, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, neighbor_allgatherv, EQUAL; irregular_places(n), b[0], n, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(neighbor_alltoall, Neighbor_alltoall, neighbor_alltoall, NONE, b[0], n, MPI_INT, b[1], n, MPI_INT)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, neighbor_alltoallv, EQUAL; irregular_places(n), b[0], receive_counts, displacements, MPI_INT, b[1], receive_counts, displacements, MPI_INT)
FORMS(neighbor_alltoallw, Neighbor_alltoallw, neighbor_alltoallw, irregular(n); EQUAL, b[0], receive_counts, byte_displacements_of_neighbours, types, b[1], receive_counts, byte_displacements_of_neighbours, types)

#define CALL(name) {#name, name, 0}, {#name " (immediate)", name##_immediate, 0}, {#name " (persistent)", name##_persistent, 0}
/* Procedures that are the same between two groups. */
#define ANYWHERE                                                                                                                         \
    CALL(bcast), CALL(gather), CALL(scatter), CALL(gatherv), CALL(scatterv), CALL(allgather), CALL(allgatherv), CALL(alltoall), CALL(alltoallv), \
        CALL(alltoallw), CALL(reduce), CALL(allreduce), CALL(reduce_scatter_block), CALL(reduce_scatter)

static const struct call WITHIN[] = {
    ANYWHERE, CALL(scan), CALL(exscan), CALL(gather_in_place), CALL(scatter_in_place), CALL(gatherv_in_place), CALL(scatterv_in_place),
    CALL(allgather_in_place), CALL(allgatherv_in_place), CALL(alltoall_in_place), CALL(alltoallv_in_place), CALL(alltoallw_in_place),
    CALL(reduce_in_place), CALL(allreduce_in_place), CALL(reduce_scatter_block_in_place), CALL(reduce_scatter_in_place), CALL(scan_in_place),
    CALL(exscan_in_place),
};

static const struct call BETWEEN[] = {ANYWHERE};

static const struct call NEIGHBOURS[] = {
    CALL(neighbor_allgather), CALL(neighbor_allgatherv), CALL(neighbor_alltoall), CALL(neighbor_alltoallv), CALL(neighbor_alltoallw),
};

static const enum kind KINDS[][BUFFERS] = {
    {DEVICE, DEVICE}, {MIXED, MIXED}, {DEVICE, HOST}, {HOST, DEVICE}, {OTHER, DEVICE}, {MANAGED, POOLED}, {MAPPED, MAPPED},
};

static const int COUNTS[] = {0, 1, 2, 256, 7500, 65537};

static void try_calls(const struct call *calls, int how_many) {
    struct table table = {.calls = calls, .how_many = how_many, .buffers = 2};
    for (int i = 0; i < HOW_MANY(COUNTS); i++) {
        int n = COUNTS[i];
        size_t bytes = (size_t)n * (size_t)(size + 2) * sizeof(int);
        /* Of what is long, two pairs of kinds and the blocking forms. */
        table.stride = n > 10000 ? 3 : 1;
        try_table(&table, KINDS, n > 1000 ? 2 : HOW_MANY(KINDS), bytes, n);
    }
}

static void run(void) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    ranks = size, root = send_root = size - 1;
    try_calls(WITHIN, HOW_MANY(WITHIN));
    OK(MPI_Comm_free(&comm));

    MPI_Comm ring;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){1}, 0, &ring));
    comm = ring;
    try_calls(NEIGHBOURS, HOW_MANY(NEIGHBOURS));
    OK(MPI_Comm_free(&comm));

    if (size % 2 == 0) {
        MPI_Comm half;
        int is_second = rank >= size / 2;
        OK(MPI_Comm_split(MPI_COMM_WORLD, is_second, 0, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_second ? 0 : size / 2, 3, &comm));
        /* The first of the first group is the root. */
        send_root = is_second ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        try_calls(BETWEEN, HOW_MANY(BETWEEN));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_free(&half));
    }
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
