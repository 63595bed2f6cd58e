// ranks: 2 4
/* Calls of all members in which some name nothing, or less than others, end. */
#include "check.h"

/* A communicator for some, the null handle for the others. */
static void made_for(int mine, MPI_Comm made, const char *what) {
    CHECK((made != MPI_COMM_NULL) == mine, "%s", what);
    if (made == MPI_COMM_NULL) return;
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
}

static void communicators(void) {
    MPI_Comm made;
    MPI_Group world, group;
    int first = 0, mine = rank == 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &first, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, mine ? group : MPI_GROUP_EMPTY, &made));
    made_for(mine, made, "MPI_Comm_create with groups and none");
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
    made_for(0, made, "MPI_Comm_create with no groups");
    if (mine) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made));
        made_for(1, made, "MPI_Comm_create_group");
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, mine ? 5 : MPI_UNDEFINED, 0, &made));
    made_for(mine, made, "MPI_Comm_split");
    OK(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &made));
    made_for(0, made, "MPI_Comm_split by nobody");
    const int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    for (int i = 0; i < 4; i++) {
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, mine ? types[i] : MPI_UNDEFINED, 0, mine ? info : MPI_INFO_NULL, &made));
        if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, types[i], 0, mine ? info : MPI_INFO_NULL, &made));
        if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
        OK(MPI_Info_free(&info));
    }
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, mine ? MPI_INFO_ENV : MPI_INFO_NULL, &made));
    made_for(1, made, "MPI_Comm_dup_with_info");
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
}

static void topologies(void) {
    MPI_Comm made, grid;
    int dims[1] = {1}, no = 0, remain[1] = {0}, one = rank == 0;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, &no, 1, &made));
    made_for(one, made, "MPI_Cart_create of one place");
    dims[0] = 0;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, &no, 0, &made));
    made_for(0, made, "MPI_Cart_create without places");
    dims[0] = size;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, &no, 0, &grid));
    OK(MPI_Cart_sub(grid, remain, &made));
    made_for(1, made, "MPI_Cart_sub");
    OK(MPI_Comm_free(&grid));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &made));
    made_for(one, made, "MPI_Cart_create without dimensions");
    int index[1] = {1}, edges[1] = {0};
    OK(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 1, &made));
    made_for(one, made, "MPI_Graph_create of one node");
    OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &made));
    made_for(0, made, "MPI_Graph_create without nodes");
    /* All edges told by one process. */
    int sources[1] = {0}, degrees[1] = {1}, ends[1] = {size - 1}, weights[1] = {3};
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, one, one ? sources : NULL, one ? degrees : NULL, one ? ends : NULL, one ? weights : MPI_WEIGHTS_EMPTY,
                             MPI_INFO_NULL, 0, &made));
    made_for(1, made, "MPI_Dist_graph_create");
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, one, sources, degrees, ends, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made));
    made_for(1, made, "MPI_Dist_graph_create, unweighted");
    int last = rank == size - 1;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, last, last ? sources : NULL, last ? weights : MPI_WEIGHTS_EMPTY, one, one ? ends : NULL,
                                      one ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made));
    int in = 7, out = rank;
    OK(MPI_Neighbor_alltoall(one ? &out : NULL, 1, MPI_INT, last ? &in : NULL, 1, MPI_INT, made));
    CHECK(!last || in == 0, "%d", in);
    made_for(1, made, "MPI_Dist_graph_create_adjacent");
}

/* Both sides of an intercommunicator, of which one says less. */
static void intercommunicators(void) {
    MPI_Comm half, inter, made;
    int low = rank < size / 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    /* Only leaders name what leads to the other side. */
    int leader, peer = low ? size / 2 : 0;
    OK(MPI_Comm_rank(half, &leader));
    OK(MPI_Intercomm_create(half, 0, leader ? MPI_COMM_NULL : MPI_COMM_WORLD, leader ? MPI_PROC_NULL : peer, 9, &inter));
    OK(MPI_Comm_split(inter, low ? 1 : MPI_UNDEFINED, 0, &made));
    CHECK(made == MPI_COMM_NULL, "nobody is there");
    OK(MPI_Comm_split(inter, leader ? MPI_UNDEFINED : 1, 0, &made));
    made_for(!leader, made, "MPI_Comm_split of an intercommunicator");
    OK(MPI_Comm_split_type(inter, leader ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &made));
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
    MPI_Group own, first;
    int zero = 0;
    OK(MPI_Comm_group(inter, &own));
    OK(MPI_Group_incl(own, 1, &zero, &first));
    OK(MPI_Comm_create(inter, low ? first : MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_COMM_NULL, "nobody is there");
    OK(MPI_Comm_create(inter, first, &made));
    made_for(!leader, made, "MPI_Comm_create on an intercommunicator");
    int value = 3, sum = 0;
    OK(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, low ? (leader ? MPI_PROC_NULL : MPI_ROOT) : 0, inter));
    CHECK(!low || leader || sum == 3 * (size - size / 2), "%d", sum);
    OK(MPI_Intercomm_merge(inter, 0, &made));
    made_for(1, made, "MPI_Intercomm_merge");
    OK(MPI_Group_free(&own));
    OK(MPI_Group_free(&first));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

static void windows(void) {
    MPI_Win win;
    int one = rank == 0, memory = 0, value = 5;
    void *base;
    OK(MPI_Win_create(one ? &memory : NULL, one ? sizeof memory : 0, one ? sizeof memory : 1, one ? MPI_INFO_ENV : MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    if (rank == size - 1) OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(!one || memory == 5, "%d", memory);
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(one ? 4 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_free(&win));
    if (on_one_node()) {
        OK(MPI_Win_allocate_shared(one ? 4 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        OK(MPI_Win_free(&win));
    }
}

static void collectives(void) {
    int one = rank == 0, counts[64] = {0}, places[64] = {0}, value = 4, all = 0;
    MPI_Datatype types[64];
    for (int i = 0; i < 64; i++) types[i] = MPI_DATATYPE_NULL;
    counts[0] = 1;
    OK(MPI_Allgatherv(one ? &value : NULL, one, MPI_INT, &all, counts, places, MPI_INT, MPI_COMM_WORLD));
    CHECK(all == 4, "%d", all);
    OK(MPI_Gatherv(one ? &value : NULL, one, one ? MPI_INT : MPI_DATATYPE_NULL, one ? &all : NULL, one ? counts : NULL, one ? places : NULL,
                   one ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, &value, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    counts[0] = 0;
    OK(MPI_Alltoallw(NULL, counts, places, types, NULL, counts, places, types, MPI_COMM_WORLD));
    OK(MPI_Alltoallv(NULL, counts, places, MPI_DATATYPE_NULL, NULL, counts, places, MPI_DATATYPE_NULL, MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    communicators();
    topologies();
    intercommunicators();
    windows();
    collectives();
    end();
    return 0;
}
