/* Exchange with neighbours over all ranks, by size.
 *
 *   exchange [--both | --torus] [--real] [--seconds S] [SIZE ...]
 *
 * Without an option each rank sends to its right neighbour while it receives from its left one, by MPI_Sendrecv.
 * --both: each rank sends to both neighbours in a ring of ranks and receives from both, by MPI_Irecv, MPI_Isend and
 * MPI_Waitall, as halo exchanges do. --torus: the same with the neighbours in a torus of two dimensions (MPI_Dims_create).
 * With --real what goes out is rewritten before, and what comes in is read after each exchange.
 *
 * With more ranks than CPUs this shows how a library waits: the rank that has to run next has no CPU.
 * Data is checked before and after the timing of each size. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7, MOST_NEIGHBOURS = 4 };

static int rank, ranks, size, neighbours = 1, real;
/* Where direction `d` leads, and where what travels in that direction comes from. Directions are told apart by tags: in
 * a ring of two both lead to the same rank. */
static int to[MOST_NEIGHBOURS], from[MOST_NEIGHBOURS];
static char *outgoing[MOST_NEIGHBOURS], *incoming[MOST_NEIGHBOURS];
static uint64_t sum;

static void find_neighbours(void)
{
    int dimensions[2] = {ranks, 1};
    if (neighbours == 4)
        MPI_Dims_create(ranks, 2, memset(dimensions, 0, sizeof dimensions));
    int row = rank / dimensions[0], column = rank % dimensions[0];
    for (int d = 0; d < neighbours; d++) {
        int step = d % 2 == 0 ? 1 : -1, across = d / 2 == 0;
        for (int there = 0; there < 2; there++, step = -step) {
            int c = (column + (across ? step : 0) + dimensions[0]) % dimensions[0];
            int r = (row + (across ? 0 : step) + dimensions[1]) % dimensions[1];
            (there == 0 ? to : from)[d] = r * dimensions[0] + c;
        }
    }
}

static void exchange_by_sendrecv(void)
{
    MPI_Sendrecv(outgoing[0], size, MPI_BYTE, to[0], TAG, incoming[0], size, MPI_BYTE, from[0], TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void exchange_by_requests(void)
{
    MPI_Request requests[2 * MOST_NEIGHBOURS];
    for (int d = 0; d < neighbours; d++)
        MPI_Irecv(incoming[d], size, MPI_BYTE, from[d], TAG + d, MPI_COMM_WORLD, &requests[d]);
    for (int d = 0; d < neighbours; d++)
        MPI_Isend(outgoing[d], size, MPI_BYTE, to[d], TAG + d, MPI_COMM_WORLD, &requests[neighbours + d]);
    MPI_Waitall(2 * neighbours, requests, MPI_STATUSES_IGNORE);
}

static uint64_t words_of(const char *at)
{
    uint64_t all = 0;
    for (int i = 0; i + 8 <= size; i += 8)
        all += *(const uint64_t *)(at + i);
    return all;
}

static void exchanges(int count)
{
    traffic.due += (double)count * neighbours * size;
    for (int i = 0; i < count; i++) {
        for (int d = 0; real && d < neighbours; d++)
            rewrite(outgoing[d], size, (uint64_t)i);
        if (neighbours == 1)
            exchange_by_sendrecv();
        else
            exchange_by_requests();
        for (int d = 0; real && d < neighbours; d++)
            sum += words_of(incoming[d]);
    }
}

static void check_data(uint64_t seed)
{
    int rewriting = real;
    real = 0;
    for (int d = 0; d < neighbours; d++) {
        rewrite(outgoing[d], size, seed + (uint64_t)(rank * MOST_NEIGHBOURS + d));
        memset(incoming[d], 0x55, (size_t)size);
    }
    exchanges(1);
    for (int d = 0; d < neighbours; d++)
        if (!is_written(incoming[d], size, seed + (uint64_t)(from[d] * MOST_NEIGHBOURS + d)))
            give_up("exchange: received data differs from what was sent");
    real = rewriting;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    real = has_option(argc, argv, "--real");
    neighbours = has_option(argc, argv, "--both") ? 2 : has_option(argc, argv, "--torus") ? 4 : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();

    find_neighbours();
    for (int d = 0; d < neighbours; d++) {
        outgoing[d] = buffer(largest_size(&a));
        incoming[d] = buffer(largest_size(&a));
    }
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        begin_count();
        check_data(1);
        struct samples *samples = time_operations(exchanges, 1, a.seconds * 1e6 / a.count);
        check_data(1000);
        end_count();
        if (rank == 0) {
            printf("result exchange ranks=%d size=%d sum=%d ", ranks, size, (int)(sum & 1));
            print_counts();
            print_samples(samples);
        }
    }
    MPI_Finalize();
    return 0;
}
