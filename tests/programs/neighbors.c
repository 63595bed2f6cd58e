// ranks: 1 2 4 6 8
/* Neighborhood collectives in all forms against what the lists of neighbors say: rings of every length, ends, several edges
   between the same two, edges to oneself, nobody. */
#include "check.h"

enum { MOST = 32, LONG = 40000 };

/* The ranks that we receive from and send to, block by block; where the block lies at the source that is for our block. */
static int in, out, sources[MOST], destinations[MOST], twins[MOST];

/* Element i of block `block` of rank `from`. */
static int element(int from, int block, int i) { return from * 1000003 + block * 10007 + i * 7 + 1; }

static int *sent, *received;

/* A neighborhood collective in any form, which is the same on all ranks of the communicator. */
#define NEIGHBOR(name, suffix, ...)                                                                 \
    do {                                                                                            \
        static const char *forms = "bip";                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                     \
        switch (forms[next_random(&choices) % 3]) {                                                               \
        case 'b': OK(MPI_Neighbor_##name##suffix(__VA_ARGS__)); break;                              \
        case 'i': OK(MPI_Ineighbor_##name##suffix(__VA_ARGS__, &request)); break;                   \
        case 'p':                                                                                   \
            OK(MPI_Neighbor_##name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &request));           \
            for (int again = 0; again < 2; again++) {                                               \
                OK(MPI_Start(&request));                                                            \
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                          \
            }                                                                                       \
            OK(MPI_Request_free(&request));                                                         \
        }                                                                                           \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                                  \
    } while (0)
static unsigned choices, rounds;

static void clear(int total) {
    for (int i = 0; i < total; i++) received[i] = -1;
}

static void block_is(const int *values, int count, int k, int same, int stride, const char *what) {
    for (int i = 0; i < count; i++) {
        int expected = sources[k] == MPI_PROC_NULL ? -1 : element(sources[k], same ? 0 : twins[k], i);
        CHECK(values[i * stride] == expected, "%s: element %d of block %d from %d: %d instead of %d", what, i, k, sources[k],
              values[i * stride], expected);
    }
}

static void equal_blocks(MPI_Comm comm, int count) {
    for (int i = 0; i < count; i++) sent[i] = element(rank, 0, i);
    clear((in + 1) * count);
    NEIGHBOR(allgather,, sent, count, MPI_INT, received, count, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + k * count, count, k, 1, 1, "allgather");
    CHECK(count == 0 || received[in * count] == -1, "written beyond the last block");
    clear((in + 1) * count);
    NEIGHBOR(allgather, _c, sent, 4 * count, MPI_BYTE, received, count, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + k * count, count, k, 1, 1, "allgather_c");

    for (int k = 0; k < out; k++)
        for (int i = 0; i < count; i++) sent[k * count + i] = element(rank, k, i);
    clear((in + 1) * count);
    NEIGHBOR(alltoall,, sent, count, MPI_INT, received, count, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + k * count, count, k, 0, 1, "alltoall");
    CHECK(count == 0 || received[in * count] == -1, "written beyond the last block");
}

/* Block k has a length of its own, and blocks lie apart in reverse order. Both ends know the length from the sender. */
static int length_of(int from, int block, int unit) { return (from * 3 + block) % 4 * unit; }

static void unequal_blocks(MPI_Comm comm, int unit) {
    int send_counts[MOST], send_places[MOST], receive_counts[MOST], receive_places[MOST], end = 0;
    MPI_Count large_counts[2][MOST];
    MPI_Aint large_places[2][MOST];
    MPI_Datatype send_types[MOST], receive_types[MOST];
    MPI_Aint send_bytes[MOST], receive_bytes[MOST];
    for (int k = out - 1; k >= 0; k--) {
        large_counts[0][k] = send_counts[k] = length_of(rank, k, unit);
        large_places[0][k] = send_places[k] = end;
        send_bytes[k] = 4 * end;
        send_types[k] = MPI_INT;
        for (int i = 0; i < send_counts[k]; i++) sent[end + i] = element(rank, k, i);
        end += send_counts[k] + 3;
    }
    end = 0;
    for (int k = in - 1; k >= 0; k--) {
        int there = sources[k] != MPI_PROC_NULL;
        large_counts[1][k] = receive_counts[k] = there ? length_of(sources[k], twins[k], unit) : 2;
        large_places[1][k] = receive_places[k] = end;
        receive_bytes[k] = 4 * end;
        receive_types[k] = MPI_INT;
        end += receive_counts[k] + 3;
    }
    clear(end);
    NEIGHBOR(alltoallv,, sent, send_counts, send_places, MPI_INT, received, receive_counts, receive_places, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 0, 1, "alltoallv");
    clear(end);
    NEIGHBOR(alltoallv, _c, sent, large_counts[0], large_places[0], MPI_INT, received, large_counts[1],
             large_places[1], MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 0, 1, "alltoallv_c");
    clear(end);
    NEIGHBOR(alltoallw,, sent, send_counts, send_bytes, send_types, received, receive_counts, receive_bytes, receive_types,
             comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 0, 1, "alltoallw");
    clear(end);
    NEIGHBOR(alltoallw, _c, sent, large_counts[0], send_bytes, send_types, received, large_counts[1], receive_bytes,
             receive_types, comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 0, 1, "alltoallw_c");

    /* One length for all that a process sends. */
    int own = length_of(rank, 1, unit);
    end = 0;
    for (int k = in - 1; k >= 0; k--) {
        int there = sources[k] != MPI_PROC_NULL;
        large_counts[1][k] = receive_counts[k] = there ? length_of(sources[k], 1, unit) : 2;
        large_places[1][k] = receive_places[k] = end;
        end += receive_counts[k] + 3;
    }
    for (int i = 0; i < own; i++) sent[i] = element(rank, 0, i);
    clear(end);
    NEIGHBOR(allgatherv,, sent, own, MPI_INT, received, receive_counts, receive_places, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 1, 1, "allgatherv");
    clear(end);
    NEIGHBOR(allgatherv, _c, sent, own, MPI_INT, received, large_counts[1], large_places[1], MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + receive_places[k], receive_counts[k], k, 1, 1, "allgatherv_c");
}

/* Elements that lie apart, another way at each end. */
static void layouts(MPI_Comm comm) {
    MPI_Datatype apart, wide;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_create_resized(apart, 0, 24, &wide));
    OK(MPI_Type_commit(&wide));
    for (int k = 0; k <= out; k++)
        for (int i = 0; i < 6; i++) sent[6 * k + i] = i % 2 ? -3 : element(rank, k, i / 2);
    clear(6 * in);
    NEIGHBOR(alltoall,, sent, 1, wide, received, 3, MPI_INT, comm);
    for (int k = 0; k < in; k++) block_is(received + 3 * k, 3, k, 0, 1, "wide to narrow");
    clear(6 * in);
    NEIGHBOR(allgather,, sent, 1, wide, received, 1, wide, comm);
    for (int k = 0; k < in; k++) {
        block_is(received + 6 * k, 3, k, 1, 2, "wide to wide");
        CHECK(received[6 * k + 1] == -1, "a gap is written");
    }
    OK(MPI_Type_free(&apart));
    OK(MPI_Type_free(&wide));
}

static void everything(MPI_Comm comm) {
    choices = ++rounds;
    const int counts[] = {0, 1, 5, 300, LONG};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) equal_blocks(comm, counts[i]);
    for (int unit = 1; unit <= 4000; unit *= 40) unequal_blocks(comm, unit);
    layouts(comm);
}

/* The blocks of a grid: what goes one way comes from the other way. */
static void on_grid(int ndims, const int *dims, const int *periods) {
    MPI_Comm cart, copy;
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &cart));
    if (cart == MPI_COMM_NULL) {
        rounds += 2;
        return;
    }
    in = out = 2 * ndims;
    for (int d = 0; d < ndims; d++) OK(MPI_Cart_shift(cart, d, 1, &sources[2 * d], &sources[2 * d + 1]));
    for (int k = 0; k < in; k++) destinations[k] = sources[k], twins[k] = k ^ 1;
    everything(cart);
    OK(MPI_Comm_dup(cart, &copy));
    everything(copy);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&cart));
}

static void grids(void) {
    int dims[4] = {0, 0, 0, 1};
    on_grid(0, NULL, NULL);
    for (int length = 1; length <= size; length++)
        for (int period = 0; period < 2; period++) on_grid(1, &length, &period);
    OK(MPI_Dims_create(size, 3, dims));
    for (int bits = 0; bits < 16; bits += 5) on_grid(4, dims, (int[]){bits & 1, bits & 2, bits & 4, bits & 8});
}

/* Every list of neighbors is known, so the k-th block from a process to us is the k-th that it sends us. */
static void find_twins(int (*neighbor)(int node, int k), int degree) {
    for (int k = 0; k < in; k++) {
        int nth = 0;
        for (int before = 0; before < k; before++) nth += sources[before] == sources[k];
        for (int block = 0; block < degree; block++)
            if (neighbor(sources[k], block) == rank && nth-- == 0) twins[k] = block;
    }
}

/* A symmetric graph: before, itself, next, next once more, before once more. */
static int around(int node, int k) { return (node + (int[]){size - 1, 0, 1, 1, size - 1}[k]) % size; }

/* A directed one: to the next one twice, to oneself, to the one after the next. */
static int ahead(int node, int k) { return (node + (int[]){1, 0, 2, 1}[k]) % size; }

/* The other end of `ahead`, in an order of its own. */
static int behind(int node, int k) { return (node + 2 * size - (int[]){0, 1, 1, 2}[k]) % size; }

static void graphs(void) {
    MPI_Comm graph;
    int index[8], edges[40];
    for (int node = 0; node < size; node++) {
        index[node] = 5 * node + 5;
        for (int k = 0; k < 5; k++) edges[5 * node + k] = around(node, k);
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    in = out = 5;
    for (int k = 0; k < 5; k++) sources[k] = destinations[k] = around(rank, k);
    find_twins(around, 5);
    everything(graph);
    OK(MPI_Comm_free(&graph));

    in = out = 4;
    for (int k = 0; k < 4; k++) sources[k] = behind(rank, k), destinations[k] = ahead(rank, k);
    find_twins(ahead, 4);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &graph));
    everything(graph);
    OK(MPI_Comm_free(&graph));

    /* Told by others; the library says in which order. */
    int other = (rank + 1) % size, told[4], unused;
    for (int k = 0; k < 4; k++) told[k] = ahead(other, k);
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &other, (int[]){4}, told, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &unused));
    CHECK(in == 4 && out == 4, "%d %d", in, out);
    OK(MPI_Dist_graph_neighbors(graph, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED));
    for (int k = 0; k < 4; k++) CHECK(destinations[k] == ahead(rank, k), "%d", destinations[k]);
    find_twins(ahead, 4);
    everything(graph);
    OK(MPI_Comm_free(&graph));

    /* A star: all send to rank 0, who sends to nobody. */
    in = rank ? 0 : size - 1;
    out = rank ? 1 : 0;
    for (int k = 0; k < in; k++) sources[k] = k + 1, twins[k] = 0;
    destinations[0] = 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &graph));
    everything(graph);
    OK(MPI_Neighbor_alltoall(rank ? sent : NULL, 1, MPI_INT, rank ? NULL : received, 1, MPI_INT, graph));
    OK(MPI_Comm_free(&graph));
}

/* Sent and received in one array: the halo of a line of cells. */
static void halo(void) {
    MPI_Comm ring;
    int cells[4] = {-1, 10 * rank + 1, 10 * rank + 2, -1}, ones[2] = {1, 1}, first, second;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring));
    OK(MPI_Neighbor_alltoallv(cells, ones, (int[]){1, 2}, MPI_INT, cells, ones, (int[]){0, 3}, MPI_INT, ring));
    first = (rank + size - 1) % size * 10 + 2;
    second = (rank + 1) % size * 10 + 1;
    CHECK(cells[0] == first && cells[3] == second, "%d %d instead of %d %d", cells[0], cells[3], first, second);
    cells[0] = cells[3] = -1;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    OK(MPI_Neighbor_alltoallw(cells, ones, (MPI_Aint[]){4, 8}, types, cells, ones, (MPI_Aint[]){0, 12}, types, ring));
    CHECK(cells[0] == first && cells[3] == second, "%d %d instead of %d %d", cells[0], cells[3], first, second);
    OK(MPI_Comm_free(&ring));
}

static void wrong(void) {
    MPI_Comm ring;
    int two[2] = {1, 1}, bad[2] = {1, -1}, places[2] = {0, 1};
    MPI_Aint bytes[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, nulls[2] = {MPI_INT, MPI_DATATYPE_NULL};
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD));
    MPI_Request request = MPI_REQUEST_NULL;
    FAILS(MPI_ERR_TOPOLOGY, MPI_Ineighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_TOPOLOGY,
          MPI_Neighbor_alltoall_init(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_TOPOLOGY,
          MPI_Neighbor_alltoallv(sent, two, places, MPI_INT, received, two, places, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_allgather(sent, -1, MPI_INT, received, 1, MPI_INT, ring));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, -1, MPI_INT, ring));
    FAILS(MPI_ERR_TYPE, MPI_Neighbor_alltoall(sent, 1, MPI_DATATYPE_NULL, received, 1, MPI_INT, ring));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, received, 1, MPI_INT, ring));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_alltoall(sent, 1, MPI_INT, NULL, 1, MPI_INT, ring));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_alltoall(sent, 1, MPI_INT, sent, 1, MPI_INT, ring));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_allgatherv(sent, 1, MPI_INT, received, bad, places, MPI_INT, ring));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_alltoallv(sent, bad, places, MPI_INT, received, two, places, MPI_INT, ring));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_alltoallw(sent, two, bytes, types, received, bad, bytes, types, ring));
    FAILS(MPI_ERR_TYPE, MPI_Neighbor_alltoallw(sent, two, bytes, nulls, received, two, bytes, types, ring));
    FAILS(MPI_ERR_ARG, MPI_Neighbor_alltoallv(sent, NULL, places, MPI_INT, received, two, places, MPI_INT, ring));
    OK(MPI_Comm_free(&ring));
    /* An edge to oneself that has one end only. */
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                      &ring));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring));
    OK(MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring, &request));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&ring));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    sent = malloc(9 * LONG * sizeof *sent);
    received = malloc(9 * LONG * sizeof *received);
    grids();
    graphs();
    halo();
    wrong();
    free(sent);
    free(received);
    end();
    return 0;
}
