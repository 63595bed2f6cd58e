/* Half round trip between ranks 0 and 1, by size.
 *
 *   pingpong [--real] [--alloc] [--seconds S] [SIZE ...]
 *
 * Without --real the same two buffers travel unmodified every round, as in the OSU and Intel benchmarks. With it
 * the sender rewrites its buffer and the receiver reads what came, every round, inside the timing, as applications
 * do; `floors --real` times the same work through memory that both sides map. With --alloc the buffers come from
 * MPI_Alloc_mem. Of more than two ranks the others have talked with all, and wait for the next size.
 * Data is checked before and after the timing of each size, and with --real in every round. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7 };

static int rank, takes_part, size, wrong_rounds;
static char *outgoing, *incoming;

/* Each pair once, so that they are connected. */
static void talk_with_all(int ranks)
{
    for (int from = 0; from < ranks; from++) {
        for (int to = 0; to < ranks; to++) {
            if (from != to && rank == from)
                MPI_Send(NULL, 0, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
            else if (from != to && rank == to)
                MPI_Recv(NULL, 0, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* One round: there and back. */
static void round_clean(void)
{
    traffic.due += size;
    if (rank == 0) {
        MPI_Send(outgoing, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(incoming, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(incoming, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void round_real(uint64_t seed)
{
    traffic.due += size;
    if (rank == 0) {
        rewrite(outgoing, size, seed);
        MPI_Send(outgoing, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(incoming, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong_rounds += !is_written(incoming, size, ~seed);
    } else {
        MPI_Recv(incoming, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong_rounds += !is_written(incoming, size, seed);
        rewrite(outgoing, size, ~seed);
        MPI_Send(outgoing, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void check_data(uint64_t seed)
{
    memset(incoming, 0x55, (size_t)size);
    if (takes_part)
        round_real(seed);
    if (wrong_rounds != 0)
        give_up("pingpong: received data differs from what was sent");
}

static void rounds_clean(int count)
{
    for (int i = 0; takes_part && i < count; i++)
        round_clean();
}

static void rounds_real(int count)
{
    for (int i = 0; takes_part && i < count; i++)
        round_real((uint64_t)i * 0x9e3779b97f4a7c15u);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int real = has_option(argc, argv, "--real"), alloc = has_option(argc, argv, "--alloc"), ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2)
        give_up("pingpong: needs 2 ranks");
    takes_part = rank < 2;
    if (takes_part)
        pin(rank);
    if (rank == 0)
        print_library();

    int largest = largest_size(&a);
    outgoing = alloc ? allocated(largest) : buffer(largest);
    incoming = alloc ? allocated(largest) : buffer(largest);
    if (ranks > 2)
        talk_with_all(ranks);
    for (int i = 0; i < a.count; i++) {
        size = cell_size(a.cells[i]);
        begin_count();
        check_data(1);
        struct samples *samples = time_operations(real ? rounds_real : rounds_clean, 2, a.seconds * 1e6 / a.count);
        check_data(2);
        end_count();
        if (rank == 0) {
            printf("result pingpong size=%d ", size);
            print_counts();
            print_samples(samples);
        }
    }
    if (alloc) {
        MPI_Free_mem(outgoing);
        MPI_Free_mem(incoming);
    }
    MPI_Finalize();
    return 0;
}
