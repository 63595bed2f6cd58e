/* Procedures that programs call in a loop and that no other experiment times.
 *
 *   calls [--seconds S] [KIND:SIZE ...]
 *
 * KIND is a name of the table below; SIZE is of a message, of a rank's contribution, or nothing that matters. Messages go
 * between ranks 0 and 1, 2 and 3 and so on, all at the same time. What is both sent and awaited by both partners counts
 * whole, what goes there and back half. Partitioned messages are of MPI-4: a library that has none fails in their cell.
 * What a partner has sent is checked before and after the timing of each cell, in kinds that leave it in `incoming` (`moves` in the table):
 * bursts, scans and neighbourhoods are not checked. */
#define _GNU_SOURCE
#include "calls.h"
#include "calls_messages.h"
#include "calls_objects.h"
#include "calls_together.h"

static const struct kind kinds[] = {
    {"issend", synchronous, NULL, NULL, 1, 1},
    {"persistent", persistent, make_persistent, free_pair, 1, 1},
    {"bsend", buffered, attach, detach, 1, 1},
    {"rsend", ready, NULL, NULL, 2, 1},
    {"probe-any", probed, NULL, NULL, 2, 1},
    {"iprobe", iprobed, NULL, NULL, 2, 1},
    {"mprobe", mprobed, NULL, NULL, 2, 1},
    {"test", tested, NULL, NULL, 2, 1},
    {"testall", testedall, NULL, NULL, 2, 1},
    {"waitany", waitedany, NULL, NULL, 2, 1},
    {"burst", burst, NULL, NULL, 1, 0},
    {"struct-sent", structs_sent, make_struct, free_struct, 2, 1},
    {"partitioned", partitioned, make_partitioned, free_pair, 1, 1},
    {"scan", scan, NULL, NULL, 1, 0},
    {"exscan", exscan, NULL, NULL, 1, 0},
    {"maxloc", maxloc, NULL, NULL, 1, 0},
    {"neighbor_allgather", neighbor_allgather, make_ring, free_ring, 1, 0},
    {"neighbor_alltoall", neighbor_alltoall, make_ring, free_ring, 1, 0},
    {"comm_dup", comm_dup, NULL, NULL, 1, 0},
    {"comm_split", comm_split, NULL, NULL, 1, 0},
    {"comm_create_group", comm_create, NULL, NULL, 1, 0},
    {"cart_create", cart_create, NULL, NULL, 1, 0},
    {"cart_create-reorder", cart_reorder, NULL, NULL, 1, 0},
    {"dist_graph_create", graph_create, NULL, NULL, 1, 0},
    {"type_struct", type_struct, NULL, NULL, 1, 0},
    {"type_vector", type_vector, NULL, NULL, 1, 0},
    {"type_indexed", type_indexed, NULL, NULL, 1, 0},
    {"type_subarray", type_subarray, NULL, NULL, 1, 0},
    {"group_incl", group_incl, NULL, NULL, 1, 0},
    {"info_create", info_create, NULL, NULL, 1, 0},
};

static const struct kind *kind_of(const char *cell)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (cell_is(cell, kinds[i].name))
            return &kinds[i];
    give_up("calls: a cell is KIND:SIZE");
    return NULL;
}

static void check_data(const struct kind *kind, uint64_t seed)
{
    rewrite(outgoing, 2 * size, seed + (uint64_t)rank);
    memset(incoming, 0x55, (size_t)size);
    kind->work(1);
    if (kind->moves && !is_written(incoming, size, seed + (uint64_t)partner))
        give_up("calls: received data differs from what was sent");
}

static struct samples *measure(const struct kind *kind, double budget_us)
{
    if (kind->prepare)
        kind->prepare();
    check_data(kind, 1);
    struct samples *samples = time_operations(kind->work, kind->parts, budget_us);
    check_data(kind, 1000);
    if (kind->finish)
        kind->finish();
    return samples;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    partner = rank ^ 1;
    pin(rank);
    if (rank == 0)
        print_library();
    if (ranks % 2 != 0)
        give_up("calls: each rank has a partner, so there is an even number of them");

    /* Two neighbours' worth, and a last whole struct. */
    int bytes = 2 * largest_size(&a) + (int)sizeof(struct particle);
    outgoing = buffer(bytes);
    incoming = buffer(bytes);
    for (int i = 0; i < a.count; i++) {
        const struct kind *kind = kind_of(a.cells[i]);
        size = cell_size(a.cells[i]);
        struct samples *samples = measure(kind, a.seconds * 1e6 / a.count);
        if (rank == 0) {
            printf("result calls call=%s ranks=%d size=%d ", kind->name, ranks, size);
            print_samples(samples);
        }
    }
    MPI_Finalize();
    return 0;
}
