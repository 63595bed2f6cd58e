// ranks: 1 2 4
// Non-blocking operations on patches: what is of another node goes on while the program calls nothing, and is over when its handle is waited for.
#include <ga.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, PICKED = 100 };

static void check(int condition, int line)
{
    if (!condition) GA_Error("wrong, in line", line);
}
#define CHECK(condition) check(condition, __LINE__)

static double value(int i, int j) { return i * 1000.0 + j; }

int main(int argc, char **argv)
{
    int dims[2] = {N, N}, lo[2], hi[2], ld[1] = {N};
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int me = GA_Nodeid(), size = GA_Nnodes();
    int array = NGA_Create(C_DBL, 2, dims, "array", NULL), sums = NGA_Create(C_DBL, 2, dims, "sums", NULL);
    double *all = malloc(N * N * sizeof(double)), *again = malloc(N * N * sizeof(double)), one = 1;
    ga_nbhdl_t first = 0, second = 0;
    GA_Zero(sums);

    /* Each process puts some rows, which are of several owners. */
    lo[0] = me * N / size, hi[0] = (me + 1) * N / size - 1, lo[1] = 0, hi[1] = N - 1;
    for (int i = lo[0]; i <= hi[0]; i++)
        for (int j = 0; j < N; j++) all[(i - lo[0]) * N + j] = value(i, j);
    NGA_NbPut(array, lo, hi, all, ld, &first);
    NGA_NbWait(&first);
    CHECK(first == 0);
    GA_Sync();

    /* Two gets of the whole; the second is over first, the first comes while nothing is called. */
    lo[0] = 0, hi[0] = N - 1;
    memset(all, 0xff, N * N * sizeof(double));
    NGA_NbGet(array, lo, hi, all, ld, &first);
    NGA_NbGet(array, lo, hi, again, ld, &second);
    for (int i = 0; i < N * N; i++)
        while (((volatile long *)all)[i] == -1) sched_yield();
    NGA_NbWait(&second);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) CHECK(again[i * N + j] == value(i, j));
    while (!NGA_NbTest(&first)) {}
    NGA_NbWait(&first);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) CHECK(all[i * N + j] == value(i, j));

    NGA_NbAcc(sums, lo, hi, all, ld, &one, &first);
    NGA_NbWait(&first);
    /* Without a handle a synchronization completes it. */
    NGA_NbGet(array, lo, hi, again, ld, NULL);
    GA_Sync();
    CHECK(again[N * N - 1] == value(N - 1, N - 1));
    NGA_Get(sums, lo, hi, again, ld);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) CHECK(again[i * N + j] == size * value(i, j));

    /* Elements of all owners. */
    int subscripts[PICKED][2], *picked[PICKED];
    double values[PICKED];
    for (int i = 0; i < PICKED; i++) {
        subscripts[i][0] = (7 * i) % N, subscripts[i][1] = (31 * i + me) % N;
        picked[i] = subscripts[i];
    }
    NGA_Gather(array, values, picked, PICKED);
    for (int i = 0; i < PICKED; i++) CHECK(values[i] == value(subscripts[i][0], subscripts[i][1]));
    free(all), free(again);
    GA_Terminate();
    return MPI_Finalize();
}
