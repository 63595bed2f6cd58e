/* Time per message of 8 bytes from rank 1 to rank 0 through a queue of posted receives or unexpected messages, by the
 * length of the queue.
 *
 *   messagerate [--seconds S] [KIND:LENGTH ...]
 *
 * KIND is words joined by hyphens:
 *   posted      rank 0 posts so many receives, each with a tag of its own, then the messages are sent
 *   unexpected  all messages are there before rank 0 receives the first
 *   reversed    they are matched in the opposite order, so that the one that is looked for is the last in the queue
 *   any         receives from MPI_ANY_SOURCE, instead of from rank 1
 *   wild        receives from MPI_ANY_SOURCE with MPI_ANY_TAG; in order only
 * A round is all of it: posting, sending, matching, copying, and a message that says that the next round may begin.
 * Which message arrived where is checked before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

static int rank, length, unexpected, reversed, source, wild, seed;
static int64_t *data;
static MPI_Request *requests;

/* Tags beyond those of the messages. */
static int go(void)
{
    return length;
}

static int wanted(int tag)
{
    return wild ? MPI_ANY_TAG : tag;
}

static int all_sent(void)
{
    return length + 1;
}

static void send_all(void)
{
    for (int i = 0; i < length; i++) {
        int tag = reversed && !unexpected ? length - 1 - i : i;
        data[tag] = seed + tag;
        MPI_Send(&data[tag], 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
}

static void round_posted(void)
{
    if (rank == 0) {
        for (int i = 0; i < length; i++)
            MPI_Irecv(&data[i], 8, MPI_BYTE, source, wanted(i), MPI_COMM_WORLD, &requests[i]);
        MPI_Send(NULL, 0, MPI_BYTE, 1, go(), MPI_COMM_WORLD);
        MPI_Waitall(length, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, go(), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_all();
    }
}

static void round_unexpected(void)
{
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, all_sent(), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++) {
            int tag = reversed ? length - 1 - i : i;
            MPI_Recv(&data[tag], 8, MPI_BYTE, source, wanted(tag), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, go(), MPI_COMM_WORLD);
    } else {
        send_all();
        MPI_Send(NULL, 0, MPI_BYTE, 0, all_sent(), MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, go(), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        if (unexpected)
            round_unexpected();
        else
            round_posted();
    }
}

static void check_data(int new_seed)
{
    seed = new_seed;
    for (int i = 0; i < length; i++)
        data[i] = -1;
    rounds(1);
    for (int i = 0; rank == 0 && i < length; i++)
        if (data[i] != seed + i)
            give_up("messagerate: a message arrived in the wrong place");
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("messagerate: needs 2 ranks");
    pin(rank);
    if (rank == 0)
        print_library();

    data = (int64_t *)buffer(largest_size(&a) * (int)sizeof *data);
    requests = malloc((size_t)largest_size(&a) * sizeof *requests);
    for (int i = 0; i < a.count; i++) {
        length = cell_size(a.cells[i]);
        unexpected = strstr(a.cells[i], "unexpected") != NULL;
        reversed = strstr(a.cells[i], "reversed") != NULL;
        wild = strstr(a.cells[i], "wild") != NULL;
        source = wild || strstr(a.cells[i], "any") ? MPI_ANY_SOURCE : 1;
        check_data(1);
        struct samples *samples = time_operations(rounds, length, a.seconds * 1e6 / a.count);
        check_data(1000);
        if (rank == 0) {
            printf("result messagerate kind=%.*s queue=%d ", (int)strcspn(a.cells[i], ":"), a.cells[i], length);
            print_samples(samples);
        }
    }
    MPI_Finalize();
    return 0;
}
