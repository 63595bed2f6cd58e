// ranks: 8
// mpiexec: --set topology=0,1,0,1,0,1,0,1
/* Topologies whose ranks may be reordered, on a machine made up of two packages that ranks are dealt out to in turn: what
   crosses between packages becomes less, and the topology is still the one that was asked for. */
#include "check.h"

enum { BLOCK = 1024, DEGREE = 4 };

static int package;

/* All neighbors exchange a block. The answer is how many bytes of all crossed between packages. */
static long crossing(MPI_Comm comm) {
    static char out[DEGREE][BLOCK], in[DEGREE][BLOCK];
    int own, members, sources, destinations, weighted, kind, packages[8], from[DEGREE], to[DEGREE];
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Comm_size(comm, &members));
    OK(MPI_Allgather(&package, 1, MPI_INT, packages, 1, MPI_INT, comm));
    OK(MPI_Topo_test(comm, &kind));
    if (kind == MPI_CART) {
        sources = destinations = 4;
        for (int d = 0; d < 2; d++) OK(MPI_Cart_shift(comm, d, 1, &to[2 * d], &to[2 * d + 1]));
        memcpy(from, to, sizeof to);
    } else if (kind == MPI_GRAPH) {
        OK(MPI_Graph_neighbors_count(comm, own, &sources));
        OK(MPI_Graph_neighbors(comm, own, DEGREE, to));
        destinations = sources;
        memcpy(from, to, sizeof to);
    } else {
        OK(MPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted));
        OK(MPI_Dist_graph_neighbors(comm, DEGREE, from, MPI_UNWEIGHTED, DEGREE, to, MPI_UNWEIGHTED));
    }
    long mine = 0, all;
    for (int i = 0; i < destinations; i++) {
        fill(out[i], BLOCK, (unsigned)own);
        if (to[i] != MPI_PROC_NULL && packages[to[i]] != package) mine += BLOCK;
    }
    OK(MPI_Neighbor_alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm));
    for (int i = 0; i < sources; i++)
        if (from[i] != MPI_PROC_NULL) CHECK(wrong_byte(in[i], BLOCK, (unsigned)from[i]) < 0, "block %d from %d", i, from[i]);
    OK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, comm));
    return all;
}

/* Ranks are those of the world, each once. */
static void is_permutation(MPI_Comm comm) {
    int own, seen[8], members;
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Comm_size(comm, &members));
    OK(MPI_Allgather(&rank, 1, MPI_INT, seen, 1, MPI_INT, comm));
    CHECK(seen[own] == rank, "%d", seen[own]);
    for (int one = 0; one < members; one++)
        for (int other = 0; other < one; other++) CHECK(seen[one] != seen[other], "ranks %d and %d", one, other);
}

static void drops(const char *what, MPI_Comm comms[2], long kept, long reordered) {
    for (int reorder = 0; reorder < 2; reorder++) {
        is_permutation(comms[reorder]);
        long bytes = crossing(comms[reorder]), limit = (reorder ? reordered : kept) * BLOCK;
        CHECK(reorder ? bytes <= limit : bytes == limit, "%s, reorder %d: %ld bytes cross", what, reorder, bytes);
        OK(MPI_Comm_free(&comms[reorder]));
    }
}

static void grids(void) {
    MPI_Comm comms[2];
    for (int reorder = 0; reorder < 2; reorder++)
        OK(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){4, 2}, (int[]){1, 0}, reorder, &comms[reorder]));
    int own, coords[2], again;
    OK(MPI_Comm_rank(comms[1], &own));
    OK(MPI_Cart_coords(comms[1], own, 2, coords));
    OK(MPI_Cart_rank(comms[1], coords, &again));
    CHECK(again == own, "%d instead of %d", again, own);
    /* Kept: columns are packages, so that each row crosses, both ways; reordered: two rows each. */
    drops("grid", comms, 8, 8);
    for (int reorder = 0; reorder < 2; reorder++)
        OK(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){8, 1}, (int[]){1, 0}, reorder, &comms[reorder]));
    drops("ring", comms, 16, 4);
    /* Four of eight: one package is enough. */
    for (int reorder = 0; reorder < 2; reorder++)
        OK(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){0, 0}, reorder, &comms[reorder]));
    CHECK((comms[0] != MPI_COMM_NULL) == (rank < 4), "not reordered");
    CHECK((comms[1] != MPI_COMM_NULL) == (rank % 2 == 0), "reordered");
    long expected[2] = {4 * BLOCK, 0};
    for (int reorder = 0; reorder < 2; reorder++)
        if (comms[reorder] != MPI_COMM_NULL) {
            long bytes = crossing(comms[reorder]);
            CHECK(bytes == expected[reorder], "%ld bytes cross", bytes);
            OK(MPI_Comm_free(&comms[reorder]));
        }
}

/* Two squares of nodes. */
static void graphs(void) {
    MPI_Comm comms[2];
    int index[8], edges[16], own, got[2];
    for (int node = 0; node < 8; node++) {
        index[node] = 2 * node + 2;
        edges[2 * node] = node ^ 1;
        edges[2 * node + 1] = node ^ 4;
    }
    for (int reorder = 0; reorder < 2; reorder++)
        OK(MPI_Graph_create(MPI_COMM_WORLD, 8, index, edges, reorder, &comms[reorder]));
    OK(MPI_Comm_rank(comms[1], &own));
    OK(MPI_Graph_neighbors(comms[1], own, 2, got));
    CHECK(got[0] == (own ^ 1) && got[1] == (own ^ 4), "%d %d", got[0], got[1]);
    drops("graph", comms, 8, 0);
}

static void has_edges(MPI_Comm comm) {
    int own, from[2], to[2], from_weights[2], to_weights[2];
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Dist_graph_neighbors(comm, 2, from, from_weights, 2, to, to_weights));
    for (int i = 0; i < 2; i++) {
        int other = own ^ (i ? 4 : 1), weight = own + other + (i ? 1 : 100);
        CHECK(from[i] == other && to[i] == other, "%d: from %d, to %d", i, from[i], to[i]);
        CHECK(from_weights[i] == weight && to_weights[i] == weight, "%d: %d, %d", i, from_weights[i], to_weights[i]);
    }
}

static void distributed(void) {
    MPI_Comm comms[2];
    int others[2] = {rank ^ 1, rank ^ 4}, weights[2] = {rank + others[0] + 100, rank + others[1] + 1};
    for (int reorder = 0; reorder < 2; reorder++) {
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, others, weights, 2, others, weights, MPI_INFO_NULL, reorder,
                                          &comms[reorder]));
        has_edges(comms[reorder]);
    }
    drops("adjacent", comms, 8, 0);
    /* Rank 0 tells of all. */
    int sources[8], degrees[8], ends[16], costs[16];
    for (int node = 0; node < 8; node++) {
        sources[node] = node;
        degrees[node] = 2;
        for (int i = 0; i < 2; i++) {
            ends[2 * node + i] = node ^ (i ? 4 : 1);
            costs[2 * node + i] = node + ends[2 * node + i] + (i ? 1 : 100);
        }
    }
    for (int reorder = 0; reorder < 2; reorder++)
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : 8, sources, degrees, ends, costs, MPI_INFO_NULL, reorder,
                                 &comms[reorder]));
    drops("distributed", comms, 8, 0);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm near, comm;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Package"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, rank, info, &near));
    OK(MPI_Info_free(&info));
    OK(MPI_Allreduce(&rank, &package, 1, MPI_INT, MPI_MIN, near));
    OK(MPI_Comm_free(&near));
    CHECK(package == rank % 2, "package %d", package);
    grids();
    graphs();
    distributed();
    /* They must agree whether ranks may be reordered. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){8}, (int[]){0}, rank == 3, &comm));
    FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                                      MPI_INFO_NULL, rank == 3, &comm));
    end();
    return 0;
}
