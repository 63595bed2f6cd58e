/* A histogram of data that is spread over all ranks, in a window: each rank keeps a part of the bins, and adds to the others' by
 * MPI_Accumulate, without their help.
 *
 *   mpicc -O2 window.c -o window
 *   mpiexec -n 4 ./window [samples]
 *
 * A sample is the sum of twelve random numbers, so that the histogram is a bell. Rank 0 reads all bins by MPI_Get and checks that no sample
 * was lost. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS_PER_RANK = 16 };

static double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long samples = argc > 1 ? atol(argv[1]) : 20000;
    int bins = BINS_PER_RANK * ranks;

    long *own;
    MPI_Win window;
    MPI_Win_allocate(BINS_PER_RANK * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    for (int i = 0; i < BINS_PER_RANK; i++)
        own[i] = 0;
    /* Nobody adds to bins that are not empty yet. */
    MPI_Barrier(MPI_COMM_WORLD);

    /* Counted here first, so that an accumulate carries many samples. */
    long *mine = calloc((size_t)bins, sizeof(long));
    unsigned long long state = 12345 + (unsigned long long)rank;
    for (long i = 0; i < samples; i++) {
        double sum = 0;
        for (int j = 0; j < 12; j++)
            sum += uniform(&state);
        mine[(int)(sum / 12 * bins)]++;
    }
    MPI_Win_lock_all(0, window);
    for (int to = 0; to < ranks; to++)
        MPI_Accumulate(mine + to * BINS_PER_RANK, BINS_PER_RANK, MPI_LONG, to, 0, BINS_PER_RANK, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        long *all = malloc((size_t)bins * sizeof(long)), sum = 0, most = 1;
        for (int from = 0; from < ranks; from++)
            MPI_Get(all + from * BINS_PER_RANK, BINS_PER_RANK, MPI_LONG, from, 0, BINS_PER_RANK, MPI_LONG, window);
        MPI_Win_flush_all(window);
        for (int i = 0; i < bins; i++) {
            sum += all[i];
            most = all[i] > most ? all[i] : most;
        }
        for (int i = 0; i < bins; i += ranks)
            printf("%5.3f %.*s\n", (i + 0.5) / bins, (int)(60 * all[i] / most), "############################################################");
        printf("%ld samples, %ld counted\n", samples * ranks, sum);
        if (sum != samples * ranks)
            MPI_Abort(MPI_COMM_WORLD, 1);
        free(all);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(mine);
    MPI_Finalize();
    return 0;
}
