/* MPI_Barrier over all ranks.
 *
 *   barrier [--seconds S] */
#define _GNU_SOURCE
#include "mpi_measure.h"

static void barriers(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static int agree(int value)
{
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

int main(int argc, char **argv)
{
    static struct samples samples;
    double budget_us = 1e6 * (argc == 3 && strcmp(argv[1], "--seconds") == 0 ? atof(argv[2]) : 1);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();

    double one = 0;
    for (int count = 4;; count *= 4) {
        double start = now_us();
        barriers(count);
        double took = now_us() - start;
        one = took / count;
        if (agree(took > budget_us / 20))
            break;
    }
    struct plan plan = plan_for(one, budget_us);
    plan.batch = agree(plan.batch);
    samples.count = agree(plan.batches);
    for (int i = 0; i < samples.count; i++) {
        double start = now_us();
        barriers(plan.batch);
        samples.us[i] = (now_us() - start) / plan.batch;
    }
    if (rank == 0) {
        printf("result barrier ranks=%d ", ranks);
        print_samples(&samples);
    }
    MPI_Finalize();
    return 0;
}
