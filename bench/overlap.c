/* How much of a large copy is hidden behind computation at rank 0, while rank 1 is inside MPI, by size.
 *
 *   overlap [--seconds S] [SIDE:SIZE ...]
 *
 * SIDE is
 *   isend    rank 0: isend, compute, wait; rank 1 waits in MPI_Recv
 *   irecv    rank 0: irecv (from rank 1), compute, wait; rank 1 waits in MPI_Send
 *   isend-4, irecv-4    the same, with twice as much to compute
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

enum { TAG = 7, GO = 8 };

static int rank, size, sends, copies;
static char *data;
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

/* One transfer with `steps` of computation at rank 0, whose time it returns. Rank 1 says when it is about to enter;
 * as the receiver it has then nothing left to do but to wait. */
static double transfer(long steps)
{
    MPI_Request request;
    double start;
    if (rank == 1) {
        if (sends) {
            MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
            MPI_Recv(data, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
        return 0;
    }
    if (sends) {
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
    int source = sends ? 0 : 1;
    if (rank == source)
        rewrite(data, size, seed);
    else
        memset(data, 0x55, (size_t)size);
    transfer(0);
    if (!is_written(data, size, seed))
        give_up("overlap: received data differs from what was sent");
}

static void measure(const char *side, double budget_us)
{
    double estimate = 1e30;
    for (int i = 0; i < 2 * WARM_UP; i++) {
        double one = transfer(0);
        estimate = one < estimate ? one : estimate;
    }
    long steps = 1;
    int count = 0;
    if (rank == 0) {
        steps = (long)(copies * estimate * 100000 / compute_us(100000)) + 1;
        double fit = budget_us / ((2 + 2 * copies) * estimate);
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
    printf("result overlap side=%s size=%d hidden=%.2f us=%.4f with=%.4f computation=%.4f samples=%d\n", side, size,
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
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        int is_long = cell_is(a.cells[i], "isend-4") || cell_is(a.cells[i], "irecv-4");
        sends = cell_is(a.cells[i], "isend") || cell_is(a.cells[i], "isend-4");
        copies = is_long ? 4 : 2;
        check_data(1);
        measure(is_long ? (sends ? "isend-4" : "irecv-4") : sends ? "isend" : "irecv", a.seconds * 1e6 / a.count);
        check_data(1000);
    }
    MPI_Finalize();
    return 0;
}
