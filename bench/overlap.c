/* How much of a large copy is hidden behind computation at rank 0, while rank 1 is inside MPI, by size.
 *
 *   overlap [--seconds S] [SIDE:SIZE ...]
 *
 * SIDE is
 *   isend    rank 0: isend, compute, wait; rank 1 waits in MPI_Recv
 *   irecv    rank 0: irecv (from rank 1), compute, wait; rank 1 waits in MPI_Send
 *   rput     rank 0: Rput, compute, wait and flush; rank 1 waits in MPI_Recv
 *   rget     rank 0: Rget, compute, wait; rank 1 waits in MPI_Recv
 *   isend-4, irecv-4, rput-4, rget-4    the same, with twice as much to compute
 *   rput-busy, rget-busy    as rput-4 and rget-4, but rank 1 computes as well, as long as rank 0 does, before it waits
 *
 * Three times are taken in turn: without the computation (a), with it (b), the computation alone (c). It is fixed work,
 * as long as two copies (or four), without memory traffic: a library that took the CPU from it for a thread of its own
 * would show in b. The share hidden is (a + c - b) / a, of the medians.
 *
 * How long the computation should be is answered differently: as long as the transfer alone (OSU, IMB-NBC), or as long as
 * it takes until more of it costs as much as it is long (Doerfler, Brightwell: "Measuring MPI send and receive overhead
 * and application availability in high performance network interfaces", EuroPVM/MPI 2006). Four copies are near the latter:
 * enough for one CPU to do alone what two did together.
 * Data is checked before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7, GO = 8, OVER = 9 };

static const struct side {
    const char *name;
    /* Does rank 0 give the bytes? By an operation on a window? Does rank 1 compute? As long as so many copies. */
    int sends, is_put, is_busy, copies;
} SIDES[] = {{"isend", 1, 0, 0, 2}, {"irecv", 0, 0, 0, 2}, {"isend-4", 1, 0, 0, 4},   {"irecv-4", 0, 0, 0, 4},   {"rput", 1, 1, 0, 2},
             {"rget", 0, 1, 0, 2},  {"rput-4", 1, 1, 0, 4}, {"rget-4", 0, 1, 0, 4}, {"rput-busy", 1, 1, 1, 4}, {"rget-busy", 0, 1, 1, 4}};
enum { SIDE_COUNT = sizeof SIDES / sizeof SIDES[0] };

static const struct side *side;
static int rank, size;
/* Memory that messages go from and to, and the origin's of windows; the window's. */
static char *data, *exposed;
static MPI_Win win;
static struct samples bare, overlapped, computation;

/* A chain of dependent steps; the empty statement keeps the compiler from seeing through them. */
static void compute(long steps)
{
    uint64_t x = 1;
    for (long i = 0; i < steps; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

/* Least of several: what disturbs it only makes it longer. */
static double compute_us(long steps)
{
    double least = 1e30;
    for (int i = 0; i < 5; i++) {
        double start = now_us();
        compute(steps);
        double took = now_us() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* As `transfer`, by an operation on a window. */
static double one_sided(long steps)
{
    MPI_Request request;
    if (rank == 1) {
        long busy;
        MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
        MPI_Recv(&busy, 1, MPI_LONG, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (busy > 0)
            compute(busy);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return 0;
    }
    long busy = side->is_busy ? steps : 0;
    MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&busy, 1, MPI_LONG, 1, GO, MPI_COMM_WORLD);
    sleep_us(100); /* Rank 1 is where it should be. */
    double start = now_us();
    if (side->sends)
        MPI_Rput(data, size, MPI_BYTE, 1, 0, size, MPI_BYTE, win, &request);
    else
        MPI_Rget(data, size, MPI_BYTE, 1, 0, size, MPI_BYTE, win, &request);
    if (steps > 0)
        compute(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (side->sends)
        MPI_Win_flush(1, win);
    double took = now_us() - start;
    MPI_Send(NULL, 0, MPI_BYTE, 1, OVER, MPI_COMM_WORLD);
    return took;
}

/* One transfer with `steps` of computation at rank 0, whose time it returns. Rank 1 says when it is about to enter;
 * as the receiver it has then nothing left to do but to wait. */
static double transfer(long steps)
{
    MPI_Request request;
    double start;
    if (side->is_put)
        return one_sided(steps);
    if (rank == 1) {
        if (side->sends) {
            MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
            MPI_Recv(data, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
        return 0;
    }
    if (side->sends) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        start = now_us();
        MPI_Isend(data, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    } else {
        start = now_us();
        MPI_Irecv(data, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    }
    if (steps > 0)
        compute(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now_us() - start;
}

static void check_data(uint64_t seed)
{
    int source = side->sends ? 0 : 1;
    char *at = side->is_put && rank == 1 ? exposed : data;
    if (rank == source)
        rewrite(at, size, seed);
    else
        memset(at, 0x55, (size_t)size);
    MPI_Win_sync(win);
    transfer(0);
    MPI_Win_sync(win);
    if (!is_written(at, size, seed))
        give_up("overlap: received data differs from what was sent");
}

static void measure(double budget_us)
{
    double estimate = 1e30;
    for (int i = 0; i < 2 * WARM_UP; i++) {
        double one = transfer(0);
        estimate = one < estimate ? one : estimate;
    }
    long steps = 1;
    int count = 0;
    if (rank == 0) {
        steps = (long)(side->copies * estimate * 100000 / compute_us(100000)) + 1;
        double fit = budget_us / ((2 + 2 * side->copies) * estimate);
        count = fit < 5 ? 5 : fit > MAX_SAMPLES ? MAX_SAMPLES : (int)fit;
    }
    count = agree(count);
    for (int i = 0; i < count; i++) {
        bare.us[i] = transfer(0);
        overlapped.us[i] = transfer(steps);
        if (rank == 0) {
            double start = now_us();
            compute(steps);
            computation.us[i] = now_us() - start;
        }
    }
    if (rank != 0)
        return;
    /* Of medians: a difference of neighbours would have the noise of all three. */
    bare.count = overlapped.count = computation.count = count;
    double a = median(&bare), b = median(&overlapped), c = median(&computation);
    printf("result overlap side=%s size=%d hidden=%.2f us=%.4f with=%.4f computation=%.4f samples=%d\n", side->name, size,
           100 * (a + c - b) / a, a, b, c, count);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("overlap: needs 2 ranks");
    pin(rank);
    if (rank == 0)
        print_library();

    data = buffer(largest_size(&a));
    MPI_Win_allocate(largest_size(&a), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &win);
    memset(exposed, 1, (size_t)largest_size(&a));
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        side = NULL;
        for (int j = 0; j < SIDE_COUNT; j++)
            if (cell_is(a.cells[i], SIDES[j].name))
                side = &SIDES[j];
        if (!side)
            give_up("overlap: no such side");
        check_data(1);
        measure(a.seconds * 1e6 / a.count);
        check_data(1000);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
