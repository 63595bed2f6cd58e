// A self-consistent field as programs of quantum chemistry do it: tasks from a counter, blocks of the density got, blocks of the Fock matrix
// accumulated, then symmetrized, diagonalized and multiplied; against plain loops. tests/ga.rs says on how many ranks.
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

enum { N = 22, BLOCK = 5, BLOCKS = (N + BLOCK - 1) / BLOCK, OCCUPIED = 8, ITERATIONS = 4 };

static double core[N][N], overlap[N][N], middle[N][N];
static int all_lo[2] = {0, 0}, all_hi[2] = {N - 1, N - 1}, all_ld[1] = {N};

static double integral(int i, int j, int k, int l)
{
    double distance = middle[i][j] - middle[k][l];
    return 0.1 * overlap[i][j] * overlap[k][l] / sqrt(1 + distance * distance);
}

static void model(void)
{
    double at[N];
    for (int i = 0; i < N; i++) at[i] = i + 0.3 * sin(i);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double apart = at[i] - at[j];
            core[i][j] = -2 * exp(-0.5 * apart * apart) - (i == j ? 0.3 * cos(at[i]) : 0);
            overlap[i][j] = exp(-0.7 * apart * apart);
            middle[i][j] = (at[i] + at[j]) / 2;
        }
}

/* The corners of a block, which is ragged at the end. */
static void corners(int row, int column, int *lo, int *hi)
{
    lo[0] = row * BLOCK, lo[1] = column * BLOCK;
    hi[0] = lo[0] + BLOCK < N ? lo[0] + BLOCK - 1 : N - 1;
    hi[1] = lo[1] + BLOCK < N ? lo[1] + BLOCK - 1 : N - 1;
}

/* Adds its part of the Fock matrix for each task that this process gets; answers how many those were. */
static int build(int fock, int density, int counter)
{
    int zero[1] = {0}, count = 0;
    for (long task; (task = NGA_Read_inc(counter, zero, 1)) < BLOCKS * BLOCKS * BLOCKS * BLOCKS; count++) {
        int i = task % BLOCKS, j = task / BLOCKS % BLOCKS, k = task / BLOCKS / BLOCKS % BLOCKS, l = task / BLOCKS / BLOCKS / BLOCKS;
        int ij[2][2], kl[2][2], jl[2][2], ik[2][2], ld[1] = {BLOCK};
        double of_kl[BLOCK][BLOCK], of_jl[BLOCK][BLOCK], direct[BLOCK][BLOCK] = {{0}}, exchange[BLOCK][BLOCK] = {{0}}, two = 2, minus = -1;
        corners(i, j, ij[0], ij[1]), corners(k, l, kl[0], kl[1]), corners(j, l, jl[0], jl[1]), corners(i, k, ik[0], ik[1]);
        ga_nbhdl_t handle;
        NGA_NbGet(density, kl[0], kl[1], of_kl, ld, &handle);
        NGA_Get(density, jl[0], jl[1], of_jl, ld);
        NGA_NbWait(&handle);
        for (int a = ij[0][0]; a <= ij[1][0]; a++)
            for (int b = ij[0][1]; b <= ij[1][1]; b++)
                for (int c = kl[0][0]; c <= kl[1][0]; c++)
                    for (int d = kl[0][1]; d <= kl[1][1]; d++) {
                        double value = integral(a, b, c, d);
                        direct[a - ij[0][0]][b - ij[0][1]] += value * of_kl[c - kl[0][0]][d - kl[0][1]];
                        exchange[a - ik[0][0]][c - ik[0][1]] += value * of_jl[b - jl[0][0]][d - jl[0][1]];
                    }
        NGA_Acc(fock, ij[0], ij[1], direct, ld, &two);
        NGA_Acc(fock, ik[0], ik[1], exchange, ld, &minus);
    }
    return count;
}

/* The same by one process. */
static void expected(double (*density)[N], double (*fock)[N])
{
    memcpy(fock, core, sizeof core);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                for (int l = 0; l < N; l++) {
                    double value = integral(i, j, k, l);
                    fock[i][j] += 2 * value * density[k][l];
                    fock[i][k] -= value * density[j][l];
                }
}

int main(int argc, char **argv)
{
    static double got[N][N], wanted[N][N], vectors[N][N], density[N][N];
    MPI_Init(&argc, &argv);
    GA_Initialize();
    model();
    int me = GA_Nodeid(), dims[2] = {N, N}, narrow[2] = {N, OCCUPIED}, one[1] = {1}, total = 0, had;
    int g_core = NGA_Create(C_DBL, 2, dims, "core", NULL), g_fock = GA_Duplicate(g_core, "Fock"), g_density = GA_Duplicate(g_core, "density");
    int g_vectors = GA_Duplicate(g_core, "vectors"), g_orbitals = NGA_Create(C_DBL, 2, narrow, "orbitals", NULL);
    int g_counter = NGA_Create(C_LONG, 1, one, "next task", NULL);
    if (me == 0) NGA_Put(g_core, all_lo, all_hi, core, all_ld);
    GA_Zero(g_density);
    for (int turn = 0; turn < ITERATIONS; turn++) {
        GA_Copy(g_core, g_fock);
        GA_Zero(g_counter);
        had = build(g_fock, g_density, g_counter);
        GA_Sync();
        total += had;
        GA_Symmetrize(g_fock);
        NGA_Get(g_fock, all_lo, all_hi, got, all_ld);
        expected(density, wanted);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) CHECK(fabs(got[i][j] - wanted[i][j]) < 1e-10 && got[i][j] == got[j][i]);

        double values[N];
        GA_Diag_std(g_fock, g_vectors, values);
        NGA_Get(g_vectors, all_lo, all_hi, vectors, all_ld);
        for (int v = 0; v < N; v++) {
            CHECK(v == 0 || values[v] >= values[v - 1]);
            for (int i = 0; i < N; i++) {
                double product = 0;
                for (int j = 0; j < N; j++) product += got[i][j] * vectors[j][v];
                CHECK(fabs(product - values[v] * vectors[i][v]) < 1e-9);
            }
        }

        int hi[2] = {N - 1, OCCUPIED - 1};
        NGA_Copy_patch('n', g_vectors, all_lo, hi, g_orbitals, all_lo, hi);
        GA_Dgemm('n', 't', N, N, OCCUPIED, 1, g_orbitals, g_orbitals, 0, g_density);
        NGA_Get(g_density, all_lo, all_hi, density, all_ld);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int v = 0; v < OCCUPIED; v++) sum += vectors[i][v] * vectors[j][v];
                CHECK(fabs(density[i][j] - sum) < 1e-12);
            }
        double energy = GA_Ddot(g_core, g_density) + GA_Ddot(g_fock, g_density), plain = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) plain += (core[i][j] + got[i][j]) * density[i][j];
        CHECK(fabs(energy - plain) < 1e-9);
    }
    GA_Igop(&total, 1, "+");
    CHECK(total == ITERATIONS * BLOCKS * BLOCKS * BLOCKS * BLOCKS);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
