// ranks: 1 2 4 6 8
// mpiexec: --set topology=1x8
/* Topologies: grids, graphs, distributed graphs, what is asked of them, and what is wrong with their arguments; on a machine
   where no order of ranks is better than another. */
#include "check.h"

static void balanced_grids(void) {
    int dims[4] = {0, 0, 0, 0};
    OK(MPI_Dims_create(24, 3, dims));
    CHECK(dims[0] == 4 && dims[1] == 3 && dims[2] == 2, "%d %d %d", dims[0], dims[1], dims[2]);
    int fixed[3] = {0, 3, 0};
    OK(MPI_Dims_create(36, 3, fixed));
    CHECK(fixed[0] == 4 && fixed[1] == 3 && fixed[2] == 3, "%d %d %d", fixed[0], fixed[1], fixed[2]);
    OK(MPI_Dims_create(1, 0, NULL));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(2, 0, NULL));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(7, 3, (int[]){0, 3, 0}));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(8, 2, (int[]){2, 2}));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(8, 2, (int[]){-1, 0}));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(8, -1, dims));
    FAILS(MPI_ERR_ARG, MPI_Dims_create(0, 1, (int[]){0}));
}

static int kind(MPI_Comm comm) {
    int status;
    OK(MPI_Topo_test(comm, &status));
    return status;
}

static void is_cart(MPI_Comm comm, int ndims, const int *dims, const int *periods) {
    int got[3][5] = {{-7, -7, -7, -7, -7}, {-7, -7, -7, -7, -7}, {-7, -7, -7, -7, -7}}, count, own, expected[4];
    CHECK(kind(comm) == MPI_CART, "%d", kind(comm));
    OK(MPI_Cartdim_get(comm, &count));
    CHECK(count == ndims, "%d", count);
    OK(MPI_Cart_get(comm, 5, got[0], got[1], got[2]));
    OK(MPI_Comm_rank(comm, &own));
    for (int d = ndims - 1, rest = own; d >= 0; rest /= dims[d--]) expected[d] = rest % dims[d];
    for (int d = 0; d < 5; d++) {
        CHECK(got[0][d] == (d < ndims ? dims[d] : -7), "dims[%d] is %d", d, got[0][d]);
        CHECK(got[1][d] == (d < ndims ? periods[d] : -7), "periods[%d] is %d", d, got[1][d]);
        CHECK(got[2][d] == (d < ndims ? expected[d] : -7), "coords[%d] is %d", d, got[2][d]);
    }
    int members, coords[4], again;
    OK(MPI_Comm_size(comm, &members));
    for (int other = 0; other < members; other++) {
        OK(MPI_Cart_coords(comm, other, ndims, coords));
        OK(MPI_Cart_rank(comm, coords, &again));
        CHECK(again == other, "%d instead of %d", again, other);
        for (int d = 0; d < ndims; d++) {
            if (periods[d]) {
                coords[d] -= 3 * dims[d];
                OK(MPI_Cart_rank(comm, coords, &again));
                CHECK(again == other, "%d instead of %d", again, other);
                coords[d] += 3 * dims[d];
            } else {
                int inside = coords[d];
                coords[d] = dims[d];
                FAILS(MPI_ERR_ARG, MPI_Cart_rank(comm, coords, &again));
                coords[d] = -1;
                FAILS(MPI_ERR_ARG, MPI_Cart_rank(comm, coords, &again));
                coords[d] = inside;
            }
        }
    }
    /* Everyone's neighbors agree with everyone's places. */
    OK(MPI_Cart_coords(comm, own, ndims, coords));
    for (int d = 0; d < ndims; d++)
        for (int disp = -3; disp <= 3; disp++) {
            int ends[2], places[2] = {coords[d] - disp, coords[d] + disp};
            OK(MPI_Cart_shift(comm, d, disp, &ends[0], &ends[1]));
            for (int e = 0; e < 2; e++) {
                int there = MPI_PROC_NULL, inside = coords[d];
                coords[d] = places[e];
                if (periods[d] || (places[e] >= 0 && places[e] < dims[d])) OK(MPI_Cart_rank(comm, coords, &there));
                coords[d] = inside;
                CHECK(ends[e] == there, "%d instead of %d, shifted %d along %d", ends[e], there, disp, d);
            }
        }
}

static void grids(void) {
    int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1};
    MPI_Comm cart, copy, sub;
    OK(MPI_Dims_create(size, 3, dims));
    for (int reorder = 0; reorder < 2; reorder++) {
        OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, (int[]){5, 0, -1}, reorder, &cart));
        int mapped, own;
        OK(MPI_Cart_map(MPI_COMM_WORLD, 3, dims, periods, &mapped));
        OK(MPI_Comm_rank(cart, &own));
        CHECK(mapped == own, "%d instead of %d", mapped, own);
        is_cart(cart, 3, dims, periods);
        OK(MPI_Comm_dup(cart, &copy));
        is_cart(copy, 3, dims, periods);
        OK(MPI_Comm_free(&cart));
        is_cart(copy, 3, dims, periods);
        OK(MPI_Comm_free(&copy));
    }
    OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart));
    OK(MPI_Comm_dup_with_info(cart, MPI_INFO_NULL, &copy));
    is_cart(copy, 3, dims, periods);
    OK(MPI_Comm_free(&copy));
    /* Other constructors make communicators without a topology. */
    OK(MPI_Comm_split(cart, 0, 0, &copy));
    CHECK(kind(copy) == MPI_UNDEFINED, "%d", kind(copy));
    OK(MPI_Comm_free(&copy));
    CHECK(kind(MPI_COMM_WORLD) == MPI_UNDEFINED, "%d", kind(MPI_COMM_WORLD));

    for (int remain = 0; remain < 8; remain++) {
        int flags[3] = {remain & 1, remain & 2, remain & 4}, kept = 0, sub_dims[3], sub_periods[3], whole[3], part[3];
        OK(MPI_Cart_sub(cart, flags, &sub));
        OK(MPI_Cart_coords(cart, rank, 3, whole));
        for (int d = 0; d < 3; d++)
            if (flags[d]) sub_dims[kept] = dims[d], sub_periods[kept] = periods[d], part[kept++] = whole[d];
        is_cart(sub, kept, sub_dims, sub_periods);
        int own, expected = 0, members, product = 1;
        for (int d = 0; d < kept; d++) expected = expected * sub_dims[d] + part[d], product *= sub_dims[d];
        OK(MPI_Comm_rank(sub, &own));
        OK(MPI_Comm_size(sub, &members));
        CHECK(own == expected && members == product, "%d of %d", own, members);
        if (kept == 0) {
            OK(MPI_Cart_sub(sub, NULL, &copy));
            is_cart(copy, 0, NULL, NULL);
            OK(MPI_Cart_rank(copy, NULL, &own));
            CHECK(own == 0, "%d", own);
            FAILS(MPI_ERR_DIMS, MPI_Cart_shift(copy, 0, 1, &own, &own));
            OK(MPI_Comm_free(&copy));
        }
        OK(MPI_Comm_free(&sub));
    }
    OK(MPI_Comm_free(&cart));

    /* Not everyone finds a place. */
    int mapped;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &cart));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 0, NULL, NULL, &mapped));
    CHECK(mapped == (rank == 0 ? 0 : MPI_UNDEFINED), "%d", mapped);
    CHECK((cart == MPI_COMM_NULL) == (rank > 0), "one process is in a grid without dimensions");
    if (rank == 0) {
        is_cart(cart, 0, NULL, NULL);
        OK(MPI_Comm_free(&cart));
    }
    if (size > 1) {
        int fewer = size - 1;
        OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &fewer, periods, 1, &cart));
        CHECK((cart == MPI_COMM_NULL) == (rank == fewer), "the last one finds no place");
        if (rank < fewer) {
            is_cart(cart, 1, &fewer, periods);
            OK(MPI_Comm_free(&cart));
        }
    }
}

static void wrong_grids(void) {
    MPI_Comm cart = MPI_COMM_NULL;
    int periods[2] = {0, 0}, out[2];
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size + 1}, periods, 0, &cart));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){1, 0}, periods, 0, &cart));
    CHECK(cart == MPI_COMM_NULL, "nobody is in a grid without places");
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){-1, -1}, periods, 0, &cart));
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, -1, (int[]){1}, periods, 0, &cart));
    FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, periods, 0, &cart));
    FAILS(MPI_ERR_COMM, MPI_Cart_create(MPI_COMM_NULL, 1, (int[]){1}, periods, 0, &cart));
    FAILS(MPI_ERR_DIMS, MPI_Cart_map(MPI_COMM_WORLD, 1, (int[]){size + 1}, periods, out));
    if (size > 1) {
        /* One is wrong, or says something else: all hear of it. */
        int class;
        int code = MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){rank == 1 ? -1 : size}, periods, 0, &cart);
        OK(MPI_Error_class(code, &class));
        CHECK(class == (rank == 1 ? MPI_ERR_DIMS : MPI_ERR_ARG), "%d", class);
        FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size}, (int[]){rank == 1}, 0, &cart));
    }
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_get(MPI_COMM_WORLD, 1, out, out, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_rank(MPI_COMM_WORLD, out, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, out, out + 1));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_sub(MPI_COMM_WORLD, out, &cart));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){size, 1}, periods, 0, &cart));
    FAILS(MPI_ERR_RANK, MPI_Cart_coords(cart, size, 2, out));
    FAILS(MPI_ERR_RANK, MPI_Cart_coords(cart, -1, 2, out));
    FAILS(MPI_ERR_RANK, MPI_Cart_coords(cart, MPI_PROC_NULL, 2, out));
    FAILS(MPI_ERR_ARG, MPI_Cart_coords(cart, 0, 1, out));
    FAILS(MPI_ERR_ARG, MPI_Cart_coords(cart, 0, 2, NULL));
    FAILS(MPI_ERR_ARG, MPI_Cart_get(cart, 1, out, out, out));
    FAILS(MPI_ERR_ARG, MPI_Cart_rank(cart, NULL, out));
    FAILS(MPI_ERR_DIMS, MPI_Cart_shift(cart, 2, 1, out, out + 1));
    FAILS(MPI_ERR_DIMS, MPI_Cart_shift(cart, -1, 1, out, out + 1));
    FAILS(MPI_ERR_ARG, MPI_Cart_sub(cart, NULL, &cart));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(cart, out, out + 1));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(cart, out, out, out));
    OK(MPI_Comm_free(&cart));
}

/* Node i is connected to itself, to the next one, and once more to the next one. */
static void graphs(void) {
    int index[9], edges[27], out[30];
    MPI_Comm graph, copy;
    for (int i = 0; i < size; i++) {
        index[i] = 3 * i + 3;
        edges[3 * i] = i;
        edges[3 * i + 1] = edges[3 * i + 2] = (i + 1) % size;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &copy));
    OK(MPI_Comm_dup(copy, &graph));
    OK(MPI_Comm_free(&copy));
    CHECK(kind(graph) == MPI_GRAPH, "%d", kind(graph));
    int nodes, count, mapped, own;
    OK(MPI_Comm_rank(graph, &own));
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped));
    CHECK(mapped == own, "%d instead of %d", mapped, own);
    OK(MPI_Graphdims_get(graph, &nodes, &count));
    CHECK(nodes == size && count == 3 * size, "%d %d", nodes, count);
    int got_index[10] = {0}, got_edges[30];
    got_index[size] = got_edges[3 * size] = -7;
    OK(MPI_Graph_get(graph, size + 1, 3 * size + 1, got_index, got_edges));
    CHECK(!memcmp(index, got_index, size * sizeof *index) && got_index[size] == -7, "index");
    CHECK(!memcmp(edges, got_edges, 3 * size * sizeof *edges) && got_edges[3 * size] == -7, "edges");
    for (int other = 0; other < size; other++) {
        OK(MPI_Graph_neighbors_count(graph, other, &count));
        CHECK(count == 3, "%d", count);
        out[3] = -7;
        OK(MPI_Graph_neighbors(graph, other, 4, out));
        CHECK(!memcmp(out, edges + 3 * other, 3 * sizeof *out) && out[3] == -7, "neighbors of %d", other);
    }
    FAILS(MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, size, &count));
    FAILS(MPI_ERR_RANK, MPI_Graph_neighbors(graph, -1, 3, out));
    FAILS(MPI_ERR_ARG, MPI_Graph_neighbors(graph, 0, 2, out));
    FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, size - 1, 3 * size, got_index, got_edges));
    FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, size, 3 * size - 1, got_index, got_edges));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(graph, &count));
    OK(MPI_Comm_free(&graph));

    /* Nodes without neighbors, ranks without nodes, no nodes at all. */
    OK(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){0}, NULL, 0, &graph));
    OK(MPI_Graph_map(MPI_COMM_WORLD, 1, (int[]){0}, NULL, &mapped));
    CHECK(mapped == (rank == 0 ? 0 : MPI_UNDEFINED), "%d", mapped);
    CHECK((graph == MPI_COMM_NULL) == (rank > 0), "one node");
    if (rank == 0) {
        OK(MPI_Graph_neighbors_count(graph, 0, &count));
        CHECK(count == 0, "%d", count);
        OK(MPI_Comm_free(&graph));
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph));
    CHECK(graph == MPI_COMM_NULL, "an empty graph is no communicator");

    index[size] = 3 * size;
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){-1}, edges, 0, &graph));
    FAILS(MPI_ERR_RANK, MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){1}, 0, &graph));
    FAILS(MPI_ERR_RANK, MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){-1}, 0, &graph));
    if (size > 1) FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, 2, (int[]){1, 0}, edges, 0, &graph));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(MPI_COMM_WORLD, out, out + 1));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graph_get(MPI_COMM_WORLD, 0, 0, out, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, out));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors(MPI_COMM_WORLD, 0, 0, out));
}

static void is_dist(MPI_Comm comm, int in, const int *sources, const int *source_weights, int out,
                    const int *destinations, const int *dest_weights) {
    int indegree, outdegree, weighted, got[4][20];
    CHECK(kind(comm) == MPI_DIST_GRAPH, "%d", kind(comm));
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted));
    CHECK(indegree == in && outdegree == out, "%d %d", indegree, outdegree);
    CHECK(weighted == (source_weights != NULL), "%d", weighted);
    memset(got, 0x55, sizeof got);
    const int *expected[4] = {sources, source_weights, destinations, dest_weights};
    const int counts[4] = {in, in, out, out};
    OK(MPI_Dist_graph_neighbors(comm, 20, got[0], got[1], 20, got[2], got[3]));
    for (int list = 0; list < 4; list++)
        for (int i = 0; i < 20; i++) {
            int value = i < counts[list] && expected[list] ? expected[list][i] : 0x55555555;
            CHECK(got[list][i] == value, "%d instead of %d at %d of list %d", got[list][i], value, i, list);
        }
    /* Less room, and no wish for weights. */
    memset(got, 0x55, sizeof got);
    int few = in > 0;
    OK(MPI_Dist_graph_neighbors(comm, few, got[0], MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
    CHECK(got[0][few] == 0x55555555 && (!few || got[0][0] == sources[0]), "%d", got[0][few]);
}

static void distributed_graphs(void) {
    MPI_Comm graph, copy;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    /* Twice to the next one. */
    int sources[2] = {before, before}, destinations[2] = {next, next};
    int from_weights[2] = {before, before + 50}, to_weights[2] = {rank, rank + 50};
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, from_weights, 2, destinations, to_weights,
                                      MPI_INFO_NULL, 1, &graph));
    is_dist(graph, 2, sources, from_weights, 2, destinations, to_weights);
    OK(MPI_Comm_dup(graph, &copy));
    OK(MPI_Comm_free(&graph));
    is_dist(copy, 2, sources, from_weights, 2, destinations, to_weights);
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(copy, sources, sources));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &graph));
    is_dist(graph, 2, sources, NULL, 2, destinations, NULL);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                      MPI_INFO_NULL, 0, &graph));
    is_dist(graph, 0, NULL, (int[]){0}, 0, NULL, (int[]){0});
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                      &graph));
    is_dist(graph, 0, NULL, NULL, 0, NULL, NULL);
    OK(MPI_Comm_free(&graph));

    /* Everyone tells the edges of the next one: to itself, and to rank 0 twice. */
    int weights[3] = {rank, rank + 100, rank + 200};
    for (int weighted = 0; weighted < 2; weighted++) {
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 2, (int[]){next, next}, (int[]){1, 2}, (int[]){next, 0, 0},
                                 weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph));
        int in = 0, in_ranks[20], in_weights[20];
        for (int teller = 0; teller < size; teller++) {
            int told = (teller + 1) % size;
            if (told == rank) in_ranks[in] = told, in_weights[in++] = teller;
            if (rank == 0)
                for (int i = 1; i < 3; i++) in_ranks[in] = told, in_weights[in++] = teller + 100 * i;
        }
        is_dist(graph, in, in_ranks, weighted ? in_weights : NULL, 3, (int[]){rank, 0, 0},
                weighted ? (int[]){before, before + 100, before + 200} : NULL);
        OK(MPI_Comm_free(&graph));
    }
    /* Rank 0 tells all of a ring, the others nothing. */
    int all[8], ones[8], ring[8], ring_weights[8];
    for (int i = 0; i < size; i++) all[i] = i, ones[i] = 1, ring[i] = (i + 1) % size, ring_weights[i] = 10 + i;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : size, all, ones, ring, rank ? MPI_WEIGHTS_EMPTY : ring_weights,
                             MPI_INFO_NULL, 0, &graph));
    is_dist(graph, 1, &before, (int[]){10 + before}, 1, &next, (int[]){10 + rank});
    OK(MPI_Comm_free(&graph));
}

static void wrong_distributed_graphs(void) {
    MPI_Comm graph = MPI_COMM_NULL;
    int none[1] = {0}, self[1] = {rank}, one[1] = {1}, out[1];
    FAILS(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &size, one, 0, none, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, one, 1, (int[]){MPI_PROC_NULL}, one,
                                                       MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, self, one, 0, none, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, self, (int[]){-1}, 1, self, one, MPI_INFO_NULL, 0,
                                                      &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, self, MPI_WEIGHTS_EMPTY, 1, self, one,
                                                      MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, self, MPI_UNWEIGHTED, 1, self, one, MPI_INFO_NULL,
                                                      0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, NULL, one, 1, self, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_RANK, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &size, one, self, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_RANK, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, one, &size, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, (int[]){-1}, self, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, -1, self, one, self, one, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, one, self, (int[]){-2}, MPI_INFO_NULL, 0, &graph));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors(MPI_COMM_WORLD, 0, out, out, 0, out, out));
    if (size > 1) {
        /* Only some have weights; only one is wrong. */
        FAILS(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, one, self, rank ? one : MPI_UNWEIGHTED,
                                                 MPI_INFO_NULL, 0, &graph));
        int class, code = MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, one, rank ? self : &size, one, MPI_INFO_NULL, 0,
                                                &graph);
        OK(MPI_Error_class(code, &class));
        CHECK(class == (rank ? MPI_ERR_ARG : MPI_ERR_RANK), "%d", class);
    }
}

static void intercommunicators(void) {
    if (size < 2) return;
    MPI_Comm half, inter, new = MPI_COMM_NULL;
    int one[1] = {1}, zero[1] = {0}, out;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    CHECK(kind(inter) == MPI_UNDEFINED, "%d", kind(inter));
    FAILS(MPI_ERR_COMM, MPI_Cart_create(inter, 1, one, zero, 0, &new));
    FAILS(MPI_ERR_COMM, MPI_Cart_map(inter, 1, one, zero, &out));
    FAILS(MPI_ERR_COMM, MPI_Graph_create(inter, 1, zero, zero, 0, &new));
    FAILS(MPI_ERR_COMM, MPI_Graph_map(inter, 1, zero, zero, &out));
    FAILS(MPI_ERR_COMM, MPI_Dist_graph_create(inter, 0, zero, zero, zero, zero, MPI_INFO_NULL, 0, &new));
    FAILS(MPI_ERR_COMM, MPI_Dist_graph_create_adjacent(inter, 0, zero, zero, 0, zero, zero, MPI_INFO_NULL, 0, &new));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(inter, &out));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    balanced_grids();
    grids();
    wrong_grids();
    graphs();
    distributed_graphs();
    wrong_distributed_graphs();
    intercommunicators();
    end();
    return 0;
}
