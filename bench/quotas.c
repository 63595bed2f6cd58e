/* What an operation takes in the mean, stops included: where a cgroup's quota ends a turn, all ranks stand still for the rest of
 * the period, which medians of short batches do not show.
 *
 *   quotas [--seconds S] [NAME:SIZE ...]
 *
 * NAME is allreduce, or both: an exchange with both neighbours in a ring of ranks, by MPI_Irecv, MPI_Isend and MPI_Waitall. SIZE in
 * bytes. Each cell takes its share of the seconds by the wall clock; ranks are not pinned. Results are checked in each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7, AT_ONCE = 64 };

static int rank, ranks, size;
static char *outgoing, *incoming;

static void allreduce(void)
{
    MPI_Allreduce(outgoing, incoming, size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

static void both(void)
{
    MPI_Request requests[4];
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Irecv(incoming, size, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(incoming + size, size, MPI_BYTE, right, TAG + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(outgoing, size, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(outgoing, size, MPI_BYTE, left, TAG + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void check(const char *name)
{
    unsigned char all = 0, from_left = (unsigned char)(1u << ((rank + ranks - 1) % ranks % 8));
    for (int r = 0; r < ranks; r++)
        all |= (unsigned char)(1u << (r % 8));
    unsigned char wanted = cell_is(name, "both") ? from_left : all;
    for (int i = 0; i < size; i++)
        if ((unsigned char)incoming[i] != wanted)
            give_up("quotas: received data differs from what was sent");
}

/* Until the time is over on rank 0; microseconds of one. */
static double mean(void (*operation)(void), double seconds)
{
    long done = 0;
    int over = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    while (!over) {
        for (int i = 0; i < AT_ONCE; i++)
            operation();
        done += AT_ONCE;
        over = MPI_Wtime() - began > seconds;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - began) * 1e6 / (double)done;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        print_library();
    outgoing = buffer(2 * largest_size(&a));
    incoming = buffer(2 * largest_size(&a));
    memset(outgoing, 1 << (rank % 8), (size_t)largest_size(&a));
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        int is_both = cell_is(a.cells[i], "both");
        if (!is_both && !cell_is(a.cells[i], "allreduce"))
            give_up("quotas: a cell is NAME:SIZE");
        memset(incoming, 0, (size_t)(2 * size));
        double us = mean(is_both ? both : allreduce, a.seconds / a.count);
        check(a.cells[i]);
        if (rank == 0) {
            printf("result quotas what=%s ranks=%d size=%d us=%.4f\n", is_both ? "both" : "allreduce", ranks, size, us);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
