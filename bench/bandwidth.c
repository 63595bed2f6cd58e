/* Bandwidth between ranks 0 and 1, by size: windows of 64 messages, each window answered by an empty message.
 *
 *   bandwidth [--both] [--seconds S] [SIZE ...]
 *
 * One way, or with --both a window in each direction at once. All messages of a window leave from one buffer and
 * arrive in one, as in the OSU and Intel benchmarks, so that figures can be compared with theirs. The time is that of
 * one message; with --both of one message of either direction.
 * Data is checked before and after the timing of each size, by windows with places of their own. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7, WINDOW = 64, CHECKED_BYTES = 8 << 20 };

static int rank, peer, size, both;
static char *outgoing, *incoming;
static MPI_Request requests[2 * WINDOW];

/* `step` is 0, or the distance of the messages' places. */
static void window(int messages, int step)
{
    int sends = rank == 0 || both, receives = rank == 1 || both, active = 0;
    traffic.due += sends ? (double)messages * size : 0;
    for (int i = 0; receives && i < messages; i++)
        MPI_Irecv(incoming + (size_t)i * (size_t)step, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[active++]);
    for (int i = 0; sends && i < messages; i++)
        MPI_Isend(outgoing + (size_t)i * (size_t)step, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[active++]);
    MPI_Waitall(active, requests, MPI_STATUSES_IGNORE);
    if (both)
        return;
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD);
}

static void windows(int count)
{
    for (int i = 0; i < count; i++)
        window(WINDOW, 0);
}

static void check_data(uint64_t seed)
{
    /* Places of 8 bytes at least, so that the words that are written are aligned. */
    int step = (size + 7) / 8 * 8, messages = CHECKED_BYTES / step;
    messages = messages > WINDOW ? WINDOW : messages < 1 ? 1 : messages;
    for (int i = 0; i < messages; i++)
        rewrite(outgoing + (size_t)i * (size_t)step, size, seed + (uint64_t)(i + WINDOW * rank));
    memset(incoming, 0x55, (size_t)messages * (size_t)step);
    window(messages, step);
    for (int i = 0; (rank == 1 || both) && i < messages; i++)
        if (!is_written(incoming + (size_t)i * (size_t)step, size, seed + (uint64_t)(i + WINDOW * peer)))
            give_up("bandwidth: received data differs from what was sent");
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int ranks;
    both = has_option(argc, argv, "--both");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("bandwidth: needs 2 ranks");
    peer = 1 - rank;
    pin(rank);
    if (rank == 0)
        print_library();

    int largest = largest_size(&a);
    outgoing = buffer(largest > CHECKED_BYTES ? largest : CHECKED_BYTES);
    incoming = buffer(largest > CHECKED_BYTES ? largest : CHECKED_BYTES);
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        begin_count();
        check_data(1);
        struct samples *samples = time_operations(windows, both ? 2 * WINDOW : WINDOW, a.seconds * 1e6 / a.count);
        check_data(1000);
        end_count();
        if (rank == 0) {
            printf("result bandwidth size=%d ", size);
            print_counts();
            print_samples(samples);
        }
    }
    MPI_Finalize();
    return 0;
}
