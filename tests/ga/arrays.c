// ranks: 1 2 3 4 8
// Arrays of every kind, against what must be in them: one-sided access, whole-array operations, ghosts, products.
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

static int me, size;

static void patches(void)
{
    int dims[2] = {23, 17}, chunk[2] = {-1, -1}, lo[2], hi[2], ld[1];
    int a = NGA_Create(C_DBL, 2, dims, "a", chunk), type, ndim, got[2];
    CHECK(a && GA_Ndim(a) == 2 && !strcmp(GA_Inquire_name(a), "a"));
    NGA_Inquire(a, &type, &ndim, got);
    CHECK(type == C_DBL && ndim == 2 && got[0] == 23 && got[1] == 17);
    // The distribution covers it once, and the own part is where it says.
    int cover = 0;
    for (int p = 0; p < size; p++) {
        NGA_Distribution(a, p, lo, hi);
        if (hi[0] >= lo[0]) {
            cover += (hi[0] - lo[0] + 1) * (hi[1] - lo[1] + 1);
            CHECK(NGA_Locate(a, lo) == p && NGA_Locate(a, hi) == p);
        }
    }
    CHECK(cover == 23 * 17 && NGA_Locate(a, (int[]){23, 0}) == -1);
    NGA_Distribution(a, me, lo, hi);
    if (hi[0] >= lo[0]) {
        double *own;
        NGA_Access(a, lo, hi, &own, ld);
        for (int i = lo[0]; i <= hi[0]; i++)
            for (int j = lo[1]; j <= hi[1]; j++) own[(i - lo[0]) * ld[0] + j - lo[1]] = i * 100 + j;
        NGA_Release_update(a, lo, hi);
    }
    GA_Sync();
    double part[10][12];
    int plo[2] = {5, 3}, phi[2] = {14, 12}, pld[1] = {12};
    NGA_Get(a, plo, phi, part, pld);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) CHECK(part[i][j] == (i + 5) * 100 + j + 3);
    int map[64 * 4], procs[64], pieces = NGA_Locate_region(a, plo, phi, map, procs), seen = 0;
    for (int n = 0; n < pieces; n++)
        seen += (map[4 * n + 2] - map[4 * n] + 1) * (map[4 * n + 3] - map[4 * n + 1] + 1);
    CHECK(seen == 100 && pieces == NGA_Locate_nnodes(a, plo, phi));
    GA_Sync();
    double two = 2;
    NGA_Acc(a, plo, phi, part, pld, &two);
    GA_Sync();
    double one;
    for (int i = 0; i < 23; i += 3)
        for (int j = 0; j < 17; j += 2) {
            int at[2] = {i, j};
            NGA_Get(a, at, at, &one, pld);
            int inside = i >= 5 && i <= 14 && j >= 3 && j <= 12;
            CHECK(one == (i * 100 + j) * (inside ? 1 + 2 * size : 1));
        }
    GA_Sync();
    // Every second and third element; scattered elements; round the ends.
    GA_Zero(a);
    if (me == 0) {
        double values[8][6];
        for (int i = 0; i < 48; i++) values[i / 6][i % 6] = i + 1;
        NGA_Strided_put(a, (int[]){1, 0}, (int[]){22, 16}, (int[]){3, 3}, values, (int[]){6});
        NGA_Put(a, (int[]){0, 1}, (int[]){0, 2}, (double[]){-7, -8}, (int[]){2});
    }
    GA_Sync();
    double back[8][6];
    NGA_Strided_get(a, (int[]){1, 0}, (int[]){22, 16}, (int[]){3, 3}, back, (int[]){6});
    for (int i = 0; i < 48; i++) CHECK(back[i / 6][i % 6] == i + 1);
    double wrap[4];
    NGA_Periodic_get(a, (int[]){-1, 16}, (int[]){0, 17}, wrap, (int[]){2});
    CHECK(wrap[1] == 43 && wrap[0] == 0 && wrap[3] == 0);
    // The whole dimension, and a halo at both ends of it; one row, whose leading dimension is not used.
    int ring = NGA_Create(C_DBL, 1, (int[]){5}, "ring", NULL);
    double five[5] = {0, 1, 2, 3, 4}, seven[7], ten[10];
    if (me == 0) NGA_Put(ring, (int[]){0}, (int[]){4}, five, NULL);
    GA_Sync();
    NGA_Periodic_get(ring, (int[]){-1}, (int[]){5}, seven, NULL);
    for (int i = 0; i < 7; i++) CHECK(seven[i] == (i + 4) % 5);
    NGA_Periodic_get(ring, (int[]){-2}, (int[]){7}, ten, NULL);
    for (int i = 0; i < 10; i++) CHECK(ten[i] == (i + 3) % 5);
    GA_Sync();
    if (me == 0) NGA_Periodic_acc(ring, (int[]){-1}, (int[]){5}, seven, NULL, &two);
    GA_Sync();
    NGA_Get(ring, (int[]){0}, (int[]){4}, five, NULL);
    for (int i = 0; i < 5; i++) CHECK(five[i] == i + 2 * i * (i == 0 || i == 4 ? 2 : 1));
    GA_Destroy(ring);
    NGA_Get(a, (int[]){0, 1}, (int[]){0, 2}, wrap, (int[]){0});
    CHECK(wrap[0] == -7 && wrap[1] == -8);
    int *subs[2] = {(int[]){0, 1}, (int[]){0, 2}};
    double pair[2];
    NGA_Gather(a, pair, subs, 2);
    CHECK(pair[0] == -7 && pair[1] == -8);
    GA_Sync();
    NGA_Scatter_acc(a, pair, subs, 2, &two);
    GA_Sync();
    NGA_Gather_flat(a, pair, (int[]){0, 1, 0, 2}, 2);
    CHECK(pair[0] == -7 * (1 + 2 * size) && pair[1] == -8 * (1 + 2 * size));
    GA_Destroy(a);
    CHECK(!GA_Valid_handle(a));
}

static void whole(void)
{
    int dims[3] = {5, 6, 7};
    int a = NGA_Create(C_LONG, 3, dims, "a", NULL), b = GA_Duplicate(a, "b"), c = GA_Duplicate(a, "c");
    long three = 3, minus = -1, four = 4, value;
    GA_Fill(a, &three);
    GA_Copy(a, b);
    GA_Scale(b, &four);
    GA_Add(&minus, a, &four, b, c);
    CHECK(GA_Ldot(a, a) == 9 * 210 && GA_Ldot(b, c) == 12 * 45 * 210);
    GA_Elem_multiply(a, b, c);
    GA_Add_constant(c, &minus);
    CHECK(GA_Ldot(c, a) == 35 * 3 * 210);
    NGA_Fill_patch(c, (int[]){1, 2, 3}, (int[]){1, 2, 3}, &(long){99});
    int at[3];
    NGA_Select_elem(c, "max", &value, at);
    CHECK(value == 99 && at[0] == 1 && at[1] == 2 && at[2] == 3);
    GA_Abs_value(c);
    NGA_Zero_patch(c, (int[]){0, 0, 0}, (int[]){4, 5, 5});
    CHECK(GA_Ldot(c, c) == 35L * 35 * 30);
    CHECK(GA_Compare_distr(a, b) == 0);
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    long next[1] = {0};
    int counter = NGA_Create(C_LONG, 1, (int[]){1}, "counter", NULL), zero[1] = {0};
    for (int i = 0; i < 100; i++) NGA_Read_inc(counter, zero, 1);
    GA_Sync();
    NGA_Get(counter, zero, zero, next, NULL);
    CHECK(next[0] == 100L * size);
    GA_Destroy(counter);
}

static void matrices(void)
{
    enum { M = 21, N = 13, K = 34 };
    int a = NGA_Create(C_DBL, 2, (int[]){M, K}, "a", NULL), b = NGA_Create(C_DBL, 2, (int[]){N, K}, "b", NULL);
    int c = NGA_Create(C_DBL, 2, (int[]){M, N}, "c", NULL), t = NGA_Create(C_DBL, 2, (int[]){N, M}, "t", NULL);
    static double x[M][K], y[N][K], z[M][N], w[N][M];
    for (int i = 0; i < M * K; i++) x[i / K][i % K] = (i * 7) % 11 - 5;
    for (int i = 0; i < N * K; i++) y[i / K][i % K] = (i * 5) % 13 - 6;
    if (me == 0) {
        NGA_Put(a, (int[]){0, 0}, (int[]){M - 1, K - 1}, x, (int[]){K});
        NGA_Put(b, (int[]){0, 0}, (int[]){N - 1, K - 1}, y, (int[]){K});
    }
    double one = 1;
    GA_Fill(c, &one);
    GA_Dgemm('n', 't', M, N, K, 2.0, a, b, -1.0, c);
    GA_Transpose(c, t);
    NGA_Get(c, (int[]){0, 0}, (int[]){M - 1, N - 1}, z, (int[]){N});
    NGA_Get(t, (int[]){0, 0}, (int[]){N - 1, M - 1}, w, (int[]){M});
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += x[i][k] * y[j][k];
            CHECK(z[i][j] == 2 * sum - 1 && w[j][i] == z[i][j]);
        }
    double norm, sum = 0, most = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            sum += fabs(z[i][j]);
            most = fmax(most, fabs(z[i][j]));
        }
    GA_Norm_infinity(c, &norm);
    CHECK(norm == most);
    GA_Norm1(c, &norm);
    CHECK(fabs(norm - sum) < 1e-9 * sum);
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    GA_Destroy(t);
    int s = NGA_Create(C_DBL, 2, (int[]){9, 9}, "s", NULL), v = NGA_Create(C_DBL, 1, (int[]){9}, "v", NULL);
    GA_Fill(s, &one);
    GA_Zero_diagonal(s);
    GA_Shift_diagonal(s, &(double){4});
    GA_Get_diag(s, v);
    CHECK(GA_Ddot(v, v) == 9 * 16);
    GA_Scale_rows(s, v);
    GA_Symmetrize(s);
    CHECK(GA_Ddot(s, s) == 9 * 256 + 72 * 16);
    GA_Destroy(s);
    GA_Destroy(v);
}

static void ghosts(void)
{
    int dims[2] = {12, 10}, width[2] = {2, 1}, lo[2], hi[2], stored[2], ld[1];
    int g = NGA_Create_ghosts(C_INT, 2, dims, width, "g", NULL);
    CHECK(GA_Has_ghosts(g));
    NGA_Distribution(g, me, lo, hi);
    int *own;
    if (hi[0] >= lo[0]) {
        NGA_Access(g, lo, hi, &own, ld);
        for (int i = lo[0]; i <= hi[0]; i++)
            for (int j = lo[1]; j <= hi[1]; j++) own[(i - lo[0]) * ld[0] + j - lo[1]] = i * 100 + j;
    }
    GA_Update_ghosts(g);
    if (hi[0] >= lo[0]) {
        NGA_Access_ghosts(g, stored, &own, ld);
        CHECK(stored[0] == hi[0] - lo[0] + 5 && stored[1] == hi[1] - lo[1] + 3 && ld[0] == stored[1]);
        for (int i = 0; i < stored[0]; i++)
            for (int j = 0; j < stored[1]; j++)
                CHECK(own[i * ld[0] + j] == (lo[0] - 2 + i + 12) % 12 * 100 + (lo[1] - 1 + j + 10) % 10);
    }
    GA_Sync();
    GA_Destroy(g);
}

/* Many updates, so that each algorithm has its turn; three dimensions, of which one is not cut, and one has no margin. */
static void many_updates(void)
{
    int dims[3] = {16, 5, 12}, width[3] = {1, 2, 0}, chunk[3] = {0, 5, 0}, lo[3], hi[3], stored[3], ld[2], *own;
    int g = NGA_Create_ghosts(C_INT, 3, dims, width, "volume", chunk);
    NGA_Distribution(g, me, lo, hi);
    for (int update = 0; update < 30; update++) {
        if (hi[0] >= lo[0]) {
            NGA_Access(g, lo, hi, &own, ld);
            for (int i = lo[0]; i <= hi[0]; i++)
                for (int j = lo[1]; j <= hi[1]; j++)
                    for (int k = lo[2]; k <= hi[2]; k++)
                        own[((i - lo[0]) * ld[0] + j - lo[1]) * ld[1] + k - lo[2]] = update * 100000 + i * 1000 + j * 50 + k;
        }
        GA_Update_ghosts(g);
        if (hi[0] >= lo[0]) {
            NGA_Access_ghosts(g, stored, &own, ld);
            for (int i = 0; i < stored[0]; i++)
                for (int j = 0; j < stored[1]; j++)
                    for (int k = 0; k < stored[2]; k++) {
                        int x = (lo[0] - 1 + i + 16) % 16, y = (lo[1] - 2 + j + 5) % 5, z = lo[2] + k;
                        CHECK(own[(i * ld[0] + j) * ld[1] + k] == update * 100000 + x * 1000 + y * 50 + z);
                    }
        }
        GA_Sync();
    }
    GA_Destroy(g);
}

/* Processes remember the element that they have counted last: not beyond its array, or in another element, array or type. */
static void counters(void)
{
    int dims[2] = {5, 7}, type[3] = {C_LONG, C_INT, C_LONGLONG}, a[3];
    for (int turn = 0; turn < 6; turn++) {
        for (int n = 0; n < 3; n++) {
            a[n] = NGA_Create(type[(n + turn) % 3], 2, dims, "counters", NULL);
            GA_Zero(a[n]);
        }
        for (int n = 0; n < 3; n++)
            for (int i = 0; i < 35; i++) {
                int at[2] = {i / 7, i % 7}, other[2] = {i / 7, 6};
                int64_t wide[2] = {i / 7, i % 7};
                for (int k = 0; k < 3; k++) NGA_Read_inc(a[n], at, 1);
                NGA_Read_inc64(a[n], wide, 1);
                NGA_Read_inc(a[(n + 1) % 3], at, 1);
                CHECK(NGA_Read_inc(a[n], other, 0) >= 0);
            }
        GA_Sync();
        for (int n = 0; n < 3; n++)
            for (int i = 0; i < 35; i++) {
                int at[2] = {i / 7, i % 7};
                CHECK(NGA_Read_inc(a[n], at, 0) == 5 * size);
            }
        GA_Sync();
        for (int n = 0; n < 3; n++) GA_Destroy(a[n]);
    }
}

static void handles(void)
{
    int c = GA_Create_handle(), dims[2] = {11, 9}, block[2] = {2, 3};
    GA_Set_data(c, 2, dims, C_DCPL);
    GA_Set_block_cyclic(c, block);
    GA_Set_array_name(c, "cyclic");
    CHECK(GA_Allocate(c) == 1 && GA_Total_blocks(c) == 18);
    DoubleComplex i = {0, 1};
    GA_Fill(c, &i);
    DoubleComplex sum = GA_Zdot(c, c);
    CHECK(sum.real == -99 && sum.imag == 0);
    GA_Destroy(c);
    int map[3] = {0, 4, 0}, blocks[2] = {2, 1};
    if (size >= 2) {
        int r = NGA_Create_irreg(C_FLOAT, 2, dims, "irregular", blocks, map), lo[2], hi[2];
        NGA_Distribution(r, 1, lo, hi);
        CHECK(lo[0] == 4 && hi[0] == 10 && lo[1] == 0 && hi[1] == 8);
        GA_Destroy(r);
    }
    int big[7] = {2, 3, 2, 3, 2, 3, 2};
    int seven = NGA_Create(C_SCPL, 7, big, "seven", NULL);
    SingleComplex two = {2, 0};
    GA_Fill(seven, &two);
    CHECK(GA_Cdot(seven, seven).real == 4 * 432);
    GA_Destroy(seven);
    // A group's array.
    int color = GA_Pgroup_split_irreg(GA_Pgroup_get_world(), me % 2), members = GA_Pgroup_nnodes(color);
    int g = NGA_Create_config(C_INT, 1, (int[]){100}, "half", NULL, color);
    GA_Fill(g, &(int){me % 2 + 1});
    CHECK(GA_Idot(g, g) == 100 * (me % 2 + 1) * (me % 2 + 1) && members == (size + 1 - me % 2) / 2);
    // A process outside the group owns no part of it.
    if (members < size) {
        int lo, hi;
        NGA_Distribution(g, size - 1, &lo, &hi);
        CHECK(hi < lo);
    }
    GA_Destroy(g);
    GA_Pgroup_destroy(color);
    Integer memory, at;
    CHECK(MA_push_get(MT_DBL, 100, "work", &memory, &at) && MA_pop_stack(memory));
    CHECK(NGA_Create64(C_DBL, 2, (int64_t[]){1L << 30, 1L << 30}, "huge", NULL) == 0);
}

/* Planes of three dimensions, in which columns of the product are not neighbours in memory. */
static void planes(void)
{
    enum { M = 5, K = 7, N = 6 };
    int left[3] = {M, 2, K}, right[3] = {2, K, N}, made[3] = {M, N, 2};
    int a = NGA_Create(C_DBL, 3, left, "left", NULL), b = NGA_Create(C_DBL, 3, right, "right", NULL);
    int c = NGA_Create(C_DBL, 3, made, "made", NULL);
    double x[M][K], y[K][N], z[M][N], one = 1, zero = 0;
    int alo[3] = {0, 1, 0}, ahi[3] = {M - 1, 1, K - 1}, blo[3] = {1, 0, 0}, bhi[3] = {1, K - 1, N - 1};
    int clo[3] = {0, 0, 1}, chi[3] = {M - 1, N - 1, 1};
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) x[i][k] = i - k;
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) y[k][j] = k * j + 1;
    if (me == 0) {
        ga_nbhdl_t handle;
        NGA_NbPut(a, alo, ahi, x, (int[]){1, K}, &handle);
        while (!NGA_NbTest(&handle)) {}
        NGA_Put(b, blo, bhi, y, (int[]){K, N});
    }
    GA_Sync();
    NGA_Matmul_patch('n', 'n', &one, &zero, a, alo, ahi, b, blo, bhi, c, clo, chi);
    NGA_Get(c, clo, chi, z, (int[]){N, 1});
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += x[i][k] * y[k][j];
            CHECK(z[i][j] == sum);
        }
    GA_Sync();
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
}

/* A matrix in four dimensions: where it lies, and its first and last element. */
struct thin {
    int row, column, lo[4], hi[4];
};

static struct thin thin(unsigned *state, int rows, int columns)
{
    struct thin t;
    t.row = *state % 3;
    t.column = t.row + 1 + *state / 3 % (3 - t.row);
    for (int d = 0; d < 4; d++) t.lo[d] = t.hi[d] = (*state >> (4 + 2 * d)) % 2;
    t.hi[t.row] += rows - 1;
    t.hi[t.column] += columns - 1;
    *state = *state * 1664525u + 1013904223u;
    return t;
}

/* Products of matrices that are a row, a column or an element of four dimensions. */
static void thin_matrices(void)
{
    enum { EXTENT = 4, ALL = EXTENT * EXTENT * EXTENT * EXTENT };
    int dims[4] = {EXTENT, EXTENT, EXTENT, EXTENT}, lo[4] = {0, 0, 0, 0}, hi[4] = {3, 3, 3, 3}, ld[3] = {4, 4, 4};
    int strides[4] = {64, 16, 4, 1}, arrays[3];
    double values[2][ALL], got[ALL], two = 2, zero = 0;
    unsigned state = 99;
    for (int n = 0; n < 3; n++) arrays[n] = NGA_Create(C_DBL, 4, dims, "thin", NULL);
    for (int n = 0; n < 2; n++)
        for (int at = 0; at < ALL; at++) values[n][at] = at % 17 - 5 * n;
    if (me == 0)
        for (int n = 0; n < 2; n++) NGA_Put(arrays[n], lo, hi, values[n], ld);
    GA_Sync();
    for (int turn = 0; turn < 100; turn++) {
        int m = 1 + turn % 2, k = 1 + turn / 2 % 2, n = 1 + turn / 4 % 2;
        struct thin a = thin(&state, m, k), b = thin(&state, k, n), c = thin(&state, m, n);
        NGA_Matmul_patch('n', 'n', &two, &zero, arrays[0], a.lo, a.hi, arrays[1], b.lo, b.hi, arrays[2], c.lo, c.hi);
        NGA_Get(arrays[2], lo, hi, got, ld);
        int from_a = 0, from_b = 0, from_c = 0;
        for (int d = 0; d < 4; d++) {
            from_a += a.lo[d] * strides[d];
            from_b += b.lo[d] * strides[d];
            from_c += c.lo[d] * strides[d];
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int l = 0; l < k; l++)
                    sum += values[0][from_a + i * strides[a.row] + l * strides[a.column]] * values[1][from_b + l * strides[b.row] + j * strides[b.column]];
                CHECK(got[from_c + i * strides[c.row] + j * strides[c.column]] == 2 * sum);
            }
        GA_Sync();
    }
    for (int n = 0; n < 3; n++) GA_Destroy(arrays[n]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    CHECK(GA_Initialize_comm(MPI_COMM_WORLD) == 1);
    CHECK(MA_init(C_DBL, 1000, 1000));
    me = GA_Nodeid();
    size = GA_Nnodes();
    patches();
    whole();
    matrices();
    planes();
    thin_matrices();
    ghosts();
    many_updates();
    counters();
    handles();
    GA_Terminate();
    MPI_Finalize();
}
