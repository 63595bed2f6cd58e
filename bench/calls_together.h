/* What all ranks call together beside the collectives of collectives.c: scans, pairs, neighbourhoods, communicators. */
#ifndef ISTHMUS_BENCH_CALLS_TOGETHER_H
#define ISTHMUS_BENCH_CALLS_TOGETHER_H

#include "calls.h"

static MPI_Comm ring;

static int doubles(void)
{
    return size < 8 ? 1 : size / 8;
}

static void scan(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Scan(outgoing, incoming, doubles(), MPI_DOUBLE, MPI_SUM, world);
}

static void exscan(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Exscan(outgoing, incoming, doubles(), MPI_DOUBLE, MPI_SUM, world);
}

/* The largest of one value and who has it. */
static void maxloc(int count)
{
    struct {
        double value;
        int rank;
    } mine = {rank % 3, rank}, all = {0, 0};
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world);
    int least = ranks > 2 ? 2 : ranks - 1;
    if (all.rank != least)
        give_up("calls: MPI_MAXLOC found somebody else");
}

static void make_ring(void)
{
    int periodic = 1;
    MPI_Cart_create(world, 1, &ranks, &periodic, 0, &ring);
}

static void free_ring(void)
{
    MPI_Comm_free(&ring);
}

static void neighbor_allgather(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Neighbor_allgather(outgoing, size, MPI_BYTE, incoming, size, MPI_BYTE, ring);
}

static void neighbor_alltoall(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Neighbor_alltoall(outgoing, size, MPI_BYTE, incoming, size, MPI_BYTE, ring);
}

static void comm_dup(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm made;
        MPI_Comm_dup(world, &made);
        MPI_Comm_free(&made);
    }
}

static void comm_split(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm made;
        MPI_Comm_split(world, rank % 2, -rank, &made);
        MPI_Comm_free(&made);
    }
}

static void comm_create(int count)
{
    MPI_Group group;
    MPI_Comm_group(world, &group);
    for (int i = 0; i < count; i++) {
        MPI_Comm made;
        MPI_Comm_create_group(world, group, 0, &made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
}

static void make_carts(int count, int reorder)
{
    int dimensions[2] = {0, 0}, periodic[2] = {1, 1};
    MPI_Dims_create(ranks, 2, dimensions);
    for (int i = 0; i < count; i++) {
        MPI_Comm made;
        MPI_Cart_create(world, 2, dimensions, periodic, reorder, &made);
        MPI_Comm_free(&made);
    }
}

static void cart_create(int count)
{
    make_carts(count, 0);
}

static void cart_reorder(int count)
{
    make_carts(count, 1);
}

static void graph_create(int count)
{
    int sides[2] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    for (int i = 0; i < count; i++) {
        MPI_Comm made;
        MPI_Dist_graph_create_adjacent(world, 2, sides, MPI_UNWEIGHTED, 2, sides, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &made);
        MPI_Comm_free(&made);
    }
}

#endif
