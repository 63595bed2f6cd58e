/* Multiplying matrices with Global Arrays: tasks are blocks of the product, handed out by a counter; whoever has one gets the blocks that it
 * needs, and accumulates its product.
 *
 *   mpicc -O2 arrays.c -o arrays -lga -larmci
 *   mpiexec -n 4 ./arrays [order [block]] */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double element(int which, int i, int j)
{
    return which == 0 ? i + 1.0 * j / 8 : (i == j ? 2 : 0) + (i == j + 1 ? 1 : 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int order = argc > 1 ? atoi(argv[1]) : 64, block = argc > 2 ? atoi(argv[2]) : 16;
    int dims[2] = {order, order}, one = 1, arrays[3], blocks = (order + block - 1) / block;
    for (int i = 0; i < 3; i++) {
        arrays[i] = NGA_Create(C_DBL, 2, dims, "matrix", NULL);
        GA_Zero(arrays[i]);
    }
    int counter = NGA_Create(C_LONG, 1, &one, "tasks", NULL);
    GA_Zero(counter);

    /* Each process writes what lies in its own memory. */
    for (int which = 0; which < 2; which++) {
        int low[2], high[2], stride;
        double *own;
        NGA_Distribution(arrays[which], GA_Nodeid(), low, high);
        if (low[0] < 0 || high[0] < low[0])
            continue;
        NGA_Access(arrays[which], low, high, &own, &stride);
        for (int i = low[0]; i <= high[0]; i++)
            for (int j = low[1]; j <= high[1]; j++)
                own[(i - low[0]) * stride + j - low[1]] = element(which, i, j);
        NGA_Release_update(arrays[which], low, high);
    }
    GA_Sync();

    double *a = malloc((size_t)block * (size_t)block * sizeof *a), *b = malloc((size_t)block * (size_t)block * sizeof *b);
    double *c = malloc((size_t)block * (size_t)block * sizeof *c), alpha = 1;
    int zero = 0, mine = 0;
    for (;;) {
        long task = NGA_Read_inc(counter, &zero, 1);
        if (task >= (long)blocks * blocks * blocks)
            break;
        mine++;
        int at[3] = {(int)(task / blocks / blocks) * block, (int)(task / blocks % blocks) * block, (int)(task % blocks) * block}, size[3];
        for (int d = 0; d < 3; d++)
            size[d] = at[d] + block > order ? order - at[d] : block;
        int low_a[2] = {at[0], at[2]}, high_a[2] = {at[0] + size[0] - 1, at[2] + size[2] - 1};
        int low_b[2] = {at[2], at[1]}, high_b[2] = {at[2] + size[2] - 1, at[1] + size[1] - 1};
        int low_c[2] = {at[0], at[1]}, high_c[2] = {at[0] + size[0] - 1, at[1] + size[1] - 1};
        NGA_Get(arrays[0], low_a, high_a, a, &size[2]);
        NGA_Get(arrays[1], low_b, high_b, b, &size[1]);
        for (int i = 0; i < size[0]; i++)
            for (int j = 0; j < size[1]; j++) {
                double sum = 0;
                for (int k = 0; k < size[2]; k++)
                    sum += a[i * size[2] + k] * b[k * size[1] + j];
                c[i * size[1] + j] = sum;
            }
        NGA_Acc(arrays[2], low_c, high_c, c, &size[1], &alpha);
    }
    GA_Sync();

    /* A row of the product is known: column j is twice that of the first matrix, plus the column on its right. */
    int wrong = 0, row = order / 2, low[2] = {row, 0}, high[2] = {row, order - 1};
    double *line = malloc((size_t)order * sizeof *line);
    NGA_Get(arrays[2], low, high, line, &order);
    for (int j = 0; j < order; j++) {
        double wanted = 2 * element(0, row, j) + (j + 1 < order ? element(0, row, j + 1) : 0);
        wrong += line[j] - wanted > 1e-9 || wanted - line[j] > 1e-9;
    }
    int all = mine;
    GA_Igop(&all, 1, "+");
    GA_Igop(&wrong, 1, "+");
    if (GA_Nodeid() == 0)
        printf("%d x %d on %d processes: %d tasks, %d elements wrong\n", order, order, GA_Nnodes(), all, wrong);
    if (wrong != 0)
        GA_Error("the product is wrong", wrong);
    free(a), free(b), free(c), free(line);
    GA_Destroy(counter);
    for (int i = 0; i < 3; i++)
        GA_Destroy(arrays[i]);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
