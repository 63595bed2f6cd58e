/* Collectives over all ranks, by size.
 *
 *   collectives [--nonblocking] [--alloc] [--seconds S] [NAME:SIZE ...]
 *
 * NAME is barrier, bcast, reduce, allreduce, allgather, alltoall, scatter, gather or reduce_scatter. SIZE is what a rank
 * contributes to bcast, reduce, allreduce and reduce_scatter altogether, and the block of a pair in the others, as in
 * the OSU benchmarks; data are doubles, reductions sums.
 * Rooted ones have each rank in turn as root, so that no rank runs ahead of the others for long.
 * With --nonblocking the form that returns a request is timed, followed at once by MPI_Wait, beside the blocking one.
 * With --alloc the buffers come from MPI_Alloc_mem.
 * Results are checked, for each root, before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum collective { BARRIER, BCAST, REDUCE, ALLREDUCE, ALLGATHER, ALLTOALL, SCATTER, GATHER, REDUCE_SCATTER, COLLECTIVES };

static const char *const names[COLLECTIVES] = {"barrier",  "bcast",   "reduce", "allreduce",     "allgather",
                                               "alltoall", "scatter", "gather", "reduce_scatter"};

static int rank, ranks;
static enum collective what;
static int count;                  /* doubles of a rank, or of a pair */
static int *counts;                /* reduce_scatter: doubles of each result */
static double *outgoing, *incoming;

/* How many blocks a rank sends from, and how many it receives. On many ranks a block for each of them is most of the machine's memory. */
static int blocks_out(enum collective of)
{
    return of == SCATTER || of == ALLTOALL ? ranks : 1;
}

static int blocks_in(enum collective of)
{
    return of == GATHER || of == ALLTOALL || of == ALLGATHER ? ranks : 1;
}

static int is_rooted(void)
{
    return what == BCAST || what == REDUCE || what == SCATTER || what == GATHER;
}

/* What this rank sends in a call; 0 where that depends on the algorithm. */
static double bytes_due(int root)
{
    double block = (double)count * sizeof(double);
    switch (what) {
    case ALLTOALL:
        return block * (ranks - 1);
    case SCATTER:
        return rank == root ? block * (ranks - 1) : 0;
    case GATHER:
        return rank == root ? 0 : block;
    default:
        return 0;
    }
}

static void blocking(int root)
{
    MPI_Comm world = MPI_COMM_WORLD;
    traffic.due += bytes_due(root);
    switch (what) {
    case BARRIER:
        MPI_Barrier(world);
        break;
    case BCAST:
        MPI_Bcast(rank == root ? outgoing : incoming, count, MPI_DOUBLE, root, world);
        break;
    case REDUCE:
        MPI_Reduce(outgoing, incoming, count, MPI_DOUBLE, MPI_SUM, root, world);
        break;
    case ALLREDUCE:
        MPI_Allreduce(outgoing, incoming, count, MPI_DOUBLE, MPI_SUM, world);
        break;
    case ALLGATHER:
        MPI_Allgather(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, world);
        break;
    case ALLTOALL:
        MPI_Alltoall(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, world);
        break;
    case SCATTER:
        MPI_Scatter(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, root, world);
        break;
    case GATHER:
        MPI_Gather(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, root, world);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter(outgoing, incoming, counts, MPI_DOUBLE, MPI_SUM, world);
        break;
    case COLLECTIVES:
        break;
    }
}

static void nonblocking(int root)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    traffic.due += bytes_due(root);
    switch (what) {
    case BARRIER:
        MPI_Ibarrier(world, &request);
        break;
    case BCAST:
        MPI_Ibcast(rank == root ? outgoing : incoming, count, MPI_DOUBLE, root, world, &request);
        break;
    case REDUCE:
        MPI_Ireduce(outgoing, incoming, count, MPI_DOUBLE, MPI_SUM, root, world, &request);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(outgoing, incoming, count, MPI_DOUBLE, MPI_SUM, world, &request);
        break;
    case ALLGATHER:
        MPI_Iallgather(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, world, &request);
        break;
    case ALLTOALL:
        MPI_Ialltoall(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, world, &request);
        break;
    case SCATTER:
        MPI_Iscatter(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, root, world, &request);
        break;
    case GATHER:
        MPI_Igather(outgoing, count, MPI_DOUBLE, incoming, count, MPI_DOUBLE, root, world, &request);
        break;
    case REDUCE_SCATTER:
        MPI_Ireduce_scatter(outgoing, incoming, counts, MPI_DOUBLE, MPI_SUM, world, &request);
        break;
    case COLLECTIVES:
        break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One operation: a round of all roots, or one collective that has none. */
static void blocking_rounds(int rounds)
{
    int roots = is_rooted() ? ranks : 1;
    for (int i = 0; i < rounds; i++)
        for (int root = 0; root < roots; root++)
            blocking(root);
}

static void nonblocking_rounds(int rounds)
{
    int roots = is_rooted() ? ranks : 1;
    for (int i = 0; i < rounds; i++)
        for (int root = 0; root < roots; root++)
            nonblocking(root);
}

/* The `i`-th double that `from` has for `to` (0 where all get the same). Small whole numbers: sums are exact. */
static double value(int seed, int from, int to, int i)
{
    return seed + 100 * from + 10 * to + i % 997;
}

static int holds(const double *at, int doubles, int seed, int from, int to, int first)
{
    int different = 0;
    for (int i = 0; i < doubles; i++)
        different += at[i] != value(seed, from, to, first + i);
    return different == 0;
}

/* Whether these are the sums over all ranks. */
static int holds_sums(const double *at, int doubles, int seed, int first)
{
    int different = 0;
    for (int i = 0; i < doubles; i++)
        different += at[i] != ranks * (seed + (first + i) % 997) + 100 * (ranks * (ranks - 1) / 2);
    return different == 0;
}

static int is_right(int seed, int root)
{
    int right = 1;
    switch (what) {
    case BCAST:
        return rank == root || holds(incoming, count, seed, root, 0, 0);
    case REDUCE:
        return rank != root || holds_sums(incoming, count, seed, 0);
    case ALLREDUCE:
        return holds_sums(incoming, count, seed, 0);
    case REDUCE_SCATTER: {
        int first = 0;
        for (int i = 0; i < rank; i++)
            first += counts[i];
        return holds_sums(incoming, counts[rank], seed, first);
    }
    case GATHER:
    case ALLGATHER:
        for (int from = 0; (rank == root || what == ALLGATHER) && from < ranks; from++)
            right &= holds(incoming + (size_t)from * (size_t)count, count, seed, from, 0, 0);
        return right;
    case SCATTER:
        return holds(incoming, count, seed, root, rank, 0);
    case ALLTOALL:
        for (int from = 0; from < ranks; from++)
            right &= holds(incoming + (size_t)from * (size_t)count, count, seed, from, rank, 0);
        return right;
    case BARRIER:
    case COLLECTIVES:
        break;
    }
    return 1;
}

static void check_data(int seed, void (*once)(int root))
{
    int blocks = blocks_out(what);
    for (int to = 0; to < blocks; to++)
        for (int i = 0; i < count; i++)
            outgoing[(size_t)to * (size_t)count + (size_t)i] = value(seed, rank, blocks > 1 ? to : 0, i);
    for (int root = 0; root < (is_rooted() ? ranks : 1); root++) {
        int mine = what == GATHER && rank != root ? 0 : blocks_in(what);
        memset(incoming, 0x55, (size_t)count * (size_t)mine * sizeof(double));
        once(root);
        if (!is_right(seed, root))
            give_up("collectives: a result is wrong");
    }
}

static enum collective named(const char *cell)
{
    enum collective of = BARRIER;
    while (of < COLLECTIVES && !cell_is(cell, names[of]))
        of++;
    if (of == COLLECTIVES)
        give_up("collectives: a cell is NAME:SIZE");
    return of;
}

static void prepare(const char *cell)
{
    what = named(cell);
    count = cell_size(cell) / (int)sizeof(double);
    count = count > 0 ? count : 1;
    for (int i = 0; i < ranks; i++)
        counts[i] = count / ranks + (i < count % ranks);
}

/* Median time of one collective; on rank 0. */
static double measure(int seed, int requests, double budget_us)
{
    void (*once)(int) = requests ? nonblocking : blocking;
    check_data(seed, once);
    /* A communicator's first calls make what later ones use. */
    for (int i = 0; i < 3; i++)
        once(0);
    begin_count();
    struct samples *samples =
        time_operations(requests ? nonblocking_rounds : blocking_rounds, is_rooted() ? ranks : 1, budget_us);
    check_data(seed + 1, once);
    end_count();
    return median(samples);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int requests = has_option(argc, argv, "--nonblocking"), alloc = has_option(argc, argv, "--alloc");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();

    int out = 8, in = 8;
    for (int i = 0; i < a.count; i++) {
        int size = cell_size(a.cells[i]) > 8 ? cell_size(a.cells[i]) : 8;
        enum collective of = named(a.cells[i]);
        if (size > (1 << 30) / ranks)
            give_up("collectives: too large for so many ranks");
        out = size * blocks_out(of) > out ? size * blocks_out(of) : out;
        in = size * blocks_in(of) > in ? size * blocks_in(of) : in;
    }
    outgoing = (double *)(alloc ? allocated(out) : buffer(out));
    incoming = (double *)(alloc ? allocated(in) : buffer(in));
    counts = calloc((size_t)ranks, sizeof *counts);
    double budget_us = a.seconds * 1e6 / (a.count > 0 ? a.count : 1);
    for (int i = 0; i < a.count; i++) {
        prepare(a.cells[i]);
        double floor_us = requests ? measure(1, 0, budget_us / 2) : 0;
        double us = measure(3, requests, requests ? budget_us / 2 : budget_us);
        if (rank == 0) {
            printf("result collectives collective=%s ranks=%d size=%d ", names[what], ranks, cell_size(a.cells[i]));
            print_counts();
            printf("us=%.4f", us);
            if (requests)
                printf(" floor=%.4f", floor_us);
            printf("\n");
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
