/* What MPI_THREAD_MULTIPLE costs, and how fast several threads of two ranks send at once.
 *
 *   threads [--single] [--seconds S] [KIND:N ...]
 *
 * MPI is initialised with MPI_THREAD_MULTIPLE; with --single as MPI_THREAD_SINGLE. KIND is
 *   latency   half round trip of N bytes between ranks 0 and 1, one thread each
 *   own       messages of 8 bytes from each of N threads of rank 0 to its partner in rank 1, in windows of 64, each pair
 *             of threads in a communicator of its own; the time is that of one message, over all threads
 *   shared    the same in one communicator, each pair with a tag of its own
 * Thread t of rank r is bound to the CPU of place r * N + t.
 * Data is checked before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"
#include <pthread.h>

enum { TAG = 7, WINDOW = 64, MAX_THREADS = 64 };

static int rank, size, threads, seed;
static char *outgoing, *incoming;

/* ---- one thread ---- */

static void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(outgoing, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(incoming, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(incoming, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(outgoing, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void check_latency(int new_seed)
{
    rewrite(outgoing, size, (uint64_t)(new_seed + rank));
    memset(incoming, 0x55, (size_t)size);
    rounds(1);
    if (!is_written(incoming, size, (uint64_t)(new_seed + 1 - rank)))
        give_up("threads: received data differs from what was sent");
}

static struct samples *measure_latency(double budget_us)
{
    outgoing = buffer(size);
    incoming = buffer(size);
    check_latency(1);
    struct samples *samples = time_operations(rounds, 2, budget_us);
    check_latency(1000);
    free(outgoing);
    free(incoming);
    return samples;
}

/* ---- several threads ---- */

static struct worker {
    _Alignas(128) pthread_t thread;
    int index, windows, tag;
    MPI_Comm comm;
    int64_t data[WINDOW];
} workers[MAX_THREADS];

static void *run(void *argument)
{
    struct worker *w = argument;
    MPI_Request requests[WINDOW];
    pin(rank * threads + w->index);
    for (int n = 0; n < w->windows; n++) {
        for (int i = 0; i < WINDOW; i++) {
            if (rank == 0)
                MPI_Isend(&w->data[i], 8, MPI_BYTE, 1, w->tag, w->comm, &requests[i]);
            else
                MPI_Irecv(&w->data[i], 8, MPI_BYTE, 0, w->tag, w->comm, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, w->tag + threads, w->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, w->tag + threads, w->comm);
    }
    return NULL;
}

/* Thread 0 is the caller. */
static void windows(int count)
{
    for (int i = 0; i < threads; i++)
        workers[i].windows = count;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
            give_up("threads: cannot make a thread");
    run(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
}

static int64_t sent_by(int thread, int message)
{
    return seed + 1000 * thread + message;
}

static void check_windows(int new_seed)
{
    seed = new_seed;
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < WINDOW; j++)
            workers[i].data[j] = rank == 0 ? sent_by(i, j) : -1;
    windows(1);
    for (int i = 0; i < threads; i++)
        for (int j = 0; rank == 1 && j < WINDOW; j++)
            if (workers[i].data[j] != sent_by(i, j))
                give_up("threads: a message arrived in the wrong place");
}

static struct samples *measure_windows(int own, double budget_us)
{
    if (threads < 1 || threads > MAX_THREADS)
        give_up("threads: 1 to 64 threads");
    for (int i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].tag = TAG + (own ? 0 : i);
        workers[i].comm = MPI_COMM_WORLD;
        if (own)
            MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    check_windows(1);
    /* Making the threads must not show. */
    struct samples *samples = time_in_batches(windows, WINDOW * threads, budget_us, 1);
    check_windows(100000);
    for (int i = 0; own && i < threads; i++)
        MPI_Comm_free(&workers[i].comm);
    pin(rank);
    return samples;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int single = has_option(argc, argv, "--single"), granted, ranks;
    int wanted = single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("threads: needs 2 ranks");
    pin(rank);
    if (rank == 0)
        print_library();
    if (granted < wanted)
        give_up("threads: MPI_THREAD_MULTIPLE is not granted");

    for (int i = 0; i < a.count; i++) {
        const char *cell = a.cells[i];
        double budget_us = a.seconds * 1e6 / a.count;
        size = threads = cell_size(cell);
        int latency = cell_is(cell, "latency"), own = cell_is(cell, "own");
        struct samples *samples = latency ? measure_latency(budget_us) : measure_windows(own, budget_us);
        if (rank != 0)
            continue;
        if (latency)
            printf("result latency level=%s size=%d ", single ? "single" : "multiple", size);
        else
            printf("result rate communicator=%s threads=%d ", own ? "own" : "shared", threads);
        print_samples(samples);
    }
    MPI_Finalize();
    return 0;
}
