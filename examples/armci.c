/* The transpose of a matrix that is spread by rows, with ARMCI: each process puts its part of a column block of the result, strided, into
 * another process's memory.
 *
 *   mpicc -O2 armci.c -o armci -larmci
 *   mpiexec -n 4 ./armci [rows per process]
 *
 * A task counter (ARMCI_Rmw) hands the blocks of the check out to whoever is free. */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rows = argc > 1 ? atoi(argv[1]) : 32, n = rows * ranks;

    void **result = malloc((size_t)ranks * sizeof *result), **counter = malloc((size_t)ranks * sizeof *counter);
    ARMCI_Malloc(result, (armci_size_t)((size_t)rows * (size_t)n * sizeof(double)));
    ARMCI_Malloc(counter, sizeof(long));
    if (rank == 0)
        *(long *)counter[0] = 0;

    /* Element (i, j) of the matrix is i * n + j; a block of it, transposed, goes to each process. */
    double *block = malloc((size_t)rows * (size_t)rows * sizeof(double));
    for (int to = 0; to < ranks; to++) {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                block[i * rows + j] = (double)(rank * rows + j) * n + to * rows + i;
        double *there = (double *)result[to] + rank * rows;
        int from_stride = rows * (int)sizeof(double), to_stride = n * (int)sizeof(double), counts[2] = {from_stride, rows};
        ARMCI_PutS(block, &from_stride, there, &to_stride, counts, 1, to);
    }
    /* All puts are complete at their targets, and everybody is here. */
    ARMCI_AllFence();
    ARMCI_Barrier();

    /* Rows of the result are checked by whoever asks next for one. */
    long row, wrong = 0, checked = 0, totals[2];
    double *line = malloc((size_t)n * sizeof(double));
    for (;;) {
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &row, counter[0], 1, 0);
        if (row >= n)
            break;
        ARMCI_Get((double *)result[row / rows] + row % rows * n, line, n * (int)sizeof(double), (int)(row / rows));
        for (int j = 0; j < n; j++)
            wrong += line[j] != (double)j * n + row;
        checked++;
    }
    long mine[2] = {wrong, checked};
    MPI_Reduce(mine, totals, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("transposed %d x %d on %d processes: %ld rows checked, %ld elements wrong\n", n, n, ranks, totals[1], totals[0]);
        if (totals[0] != 0 || totals[1] != n)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    ARMCI_Barrier();
    ARMCI_Free(counter[rank]);
    ARMCI_Free(result[rank]);
    free(result), free(counter), free(block), free(line);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
