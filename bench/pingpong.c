/* Half round trip between ranks 0 and 1, by size.
 *
 *   pingpong [--real] [--seconds S] [SIZE ...]
 *
 * Without --real the same two buffers travel unmodified every round, as in the OSU and Intel benchmarks. With it
 * the sender rewrites its buffer and the receiver reads what came, every round, inside the timing, as applications
 * do; `floors --real` times the same work through memory that both sides map.
 * Data is checked before and after the timing of each size, and with --real in every round. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { TAG = 7, WARM_UP_ROUNDS = 20 };

static int rank;
static char *outgoing, *incoming;

/* One round: there and back. */
static void round_clean(int size)
{
    if (rank == 0) {
        MPI_Send(outgoing, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(incoming, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(incoming, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static int wrong_rounds;

static void round_real(int size, uint64_t seed)
{
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

static void check_data(int size, uint64_t seed)
{
    memset(incoming, 0x55, (size_t)size);
    round_real(size, seed);
    if (wrong_rounds != 0)
        give_up("pingpong: received data differs from what was sent");
}

static void rounds(int real, int size, int count)
{
    if (real)
        for (int i = 0; i < count; i++)
            round_real(size, (uint64_t)i * 0x9e3779b97f4a7c15u);
    else
        for (int i = 0; i < count; i++)
            round_clean(size);
}

/* Both ranks must do the same number of rounds, and rank 0 has the clock. */
static int agree(int value)
{
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

static void measure(int real, int size, double budget_us)
{
    static struct samples samples;
    check_data(size, 1);

    rounds(real, size, WARM_UP_ROUNDS);
    double one_round = 0;
    for (int count = 4;; count *= 4) {
        double start = now_us();
        rounds(real, size, count);
        double took = now_us() - start;
        one_round = took / count;
        if (agree(took > budget_us / 20 || count > 1000000))
            break;
    }

    struct plan plan = plan_for(one_round, budget_us);
    plan.batch = agree(plan.batch);
    plan.batches = agree(plan.batches);
    samples.count = plan.batches;
    for (int i = 0; i < plan.batches; i++) {
        double start = now_us();
        rounds(real, size, plan.batch);
        samples.us[i] = (now_us() - start) / plan.batch / 2;
    }

    check_data(size, 2);
    if (rank == 0) {
        printf("result pingpong size=%d ", size);
        print_samples(&samples);
    }
}

int main(int argc, char **argv)
{
    int real = 0, sizes[64], count = 0, ranks;
    double seconds = 2;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--real") == 0)
            real = 1;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[++i]);
        else if (count < 64)
            sizes[count++] = atoi(argv[i]);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("pingpong: needs 2 ranks");
    pin(rank);
    if (rank == 0)
        print_library();

    int largest = 8;
    for (int i = 0; i < count; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    outgoing = buffer(largest);
    incoming = buffer(largest);
    for (int i = 0; i < count; i++)
        measure(real, sizes[i], seconds * 1e6 / count);

    MPI_Finalize();
    return 0;
}
