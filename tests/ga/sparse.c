// ranks: 1 2 3 4 7
// Sparse matrices against dense arithmetic that every process does for itself: narrow and wide indexes, every type, more and fewer rows
// than processes.
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

static int me, size;
static unsigned long state;

static unsigned dice(unsigned sides)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(state >> 33) % sides;
}

// Small integers, so that every type has them exactly. Complex ones have an imaginary part.
typedef struct {
    double re, im;
} number;

static const int types[] = {C_INT, C_LONG, C_LONGLONG, C_FLOAT, C_DBL, C_SCPL, C_DCPL};

static int is_complex(int type) { return type == C_SCPL || type == C_DCPL; }

static void write_number(int type, void *to, long at, number value)
{
    switch (type) {
    case C_INT: ((int *)to)[at] = value.re; break;
    case C_LONG: ((long *)to)[at] = value.re; break;
    case C_LONGLONG: ((long long *)to)[at] = value.re; break;
    case C_FLOAT: ((float *)to)[at] = value.re; break;
    case C_DBL: ((double *)to)[at] = value.re; break;
    case C_SCPL: ((float *)to)[2 * at] = value.re, ((float *)to)[2 * at + 1] = value.im; break;
    default: ((double *)to)[2 * at] = value.re, ((double *)to)[2 * at + 1] = value.im;
    }
}

static number read_number(int type, const void *from, long at)
{
    switch (type) {
    case C_INT: return (number){((int *)from)[at], 0};
    case C_LONG: return (number){((long *)from)[at], 0};
    case C_LONGLONG: return (number){((long long *)from)[at], 0};
    case C_FLOAT: return (number){((float *)from)[at], 0};
    case C_DBL: return (number){((double *)from)[at], 0};
    case C_SCPL: return (number){((float *)from)[2 * at], ((float *)from)[2 * at + 1]};
    default: return (number){((double *)from)[2 * at], ((double *)from)[2 * at + 1]};
    }
}

static number times(number a, number b) { return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static void add(number *to, number a) { to->re += a.re, to->im += a.im; }
static int same(number a, number b) { return a.re == b.re && a.im == b.im; }

static number some(int type)
{
    number value = {(double)dice(9) - 4, 0};
    if (is_complex(type)) value.im = (double)dice(9) - 4;
    return value;
}

// All processes throw the same dice; the process that adds an element is thrown, too. Some places get several elements.
static int make(int type, int wide, int rows, int columns, number *dense, char *there)
{
    int s = wide ? NGA_Sprs_array_create64(rows, columns, type) : NGA_Sprs_array_create(rows, columns, type);
    memset(dense, 0, rows * columns * sizeof *dense);
    memset(there, 0, rows * columns);
    for (int n = 0; n < rows * columns / 3 + 1; n++) {
        int i = dice(rows), j = dice(columns), who = dice(size);
        number value = some(type);
        double raw[2];
        write_number(type, raw, 0, value);
        if (who == me && wide) NGA_Sprs_array_add_element64(s, i, j, raw);
        if (who == me && !wide) NGA_Sprs_array_add_element(s, i, j, raw);
        add(&dense[i * columns + j], value);
        there[i * columns + j] = 1;
    }
    CHECK(NGA_Sprs_array_assemble(s));
    return s;
}

// Every process looks at every block.
static void check(int s, int type, int rows, int columns, const number *dense, const char *there)
{
    int seen = 0, wanted = 0;
    for (int p = 0; p < size; p++)
        for (int q = 0; q < size; q++) {
            int64_t *idx, *jdx, ilo, ihi, jlo, jhi;
            void *values;
            int found = NGA_Sprs_array_get_block64(s, p, q, &idx, &jdx, &values, &ilo, &ihi, &jlo, &jhi);
            CHECK(ilo == (long)p * rows / size && ihi == (p + 1L) * rows / size - 1);
            CHECK(jlo == (long)q * columns / size && jhi == (q + 1L) * columns / size - 1);
            CHECK(found == (idx != NULL));
            if (!found) continue;
            CHECK(idx[0] == 0);
            for (int64_t i = ilo; i <= ihi; i++)
                for (int64_t n = idx[i - ilo]; n < idx[i - ilo + 1]; n++) {
                    CHECK(jdx[n] >= jlo && jdx[n] <= jhi && (n == idx[i - ilo] || jdx[n] > jdx[n - 1]));
                    CHECK(there[i * columns + jdx[n]]);
                    CHECK(same(read_number(type, values, n), dense[i * columns + jdx[n]]));
                    seen++;
                }
            free(idx), free(jdx), free(values);
        }
    for (int n = 0; n < rows * columns; n++) wanted += there[n];
    CHECK(seen == wanted);
    GA_Sync();
}

static void check_vector(int v, int type, int length, const number *wanted)
{
    char raw[64 * 16];
    NGA_Get(v, (int[]){0}, (int[]){length - 1}, raw, NULL);
    for (int n = 0; n < length; n++) CHECK(same(read_number(type, raw, n), wanted[n]));
    GA_Sync();
}

static int make_dense(int type, int ndim, int rows, int columns, number *dense)
{
    int dims[2] = {rows, columns}, g = NGA_Create(type, ndim, dims, "dense", NULL), count = rows * columns;
    char raw[64 * 64 * 16];
    for (int n = 0; n < count; n++) write_number(type, raw, n, dense[n] = some(type));
    if (me == 0) NGA_Put(g, (int[]){0, 0}, (int[]){rows - 1, columns - 1}, raw, (int[]){columns});
    GA_Sync();
    return g;
}

static void check_dense(int g, int type, int rows, int columns, const number *wanted)
{
    int dims[2], got, ndim;
    char raw[64 * 64 * 16];
    NGA_Inquire(g, &got, &ndim, dims);
    CHECK(got == type && ndim == 2 && dims[0] == rows && dims[1] == columns);
    NGA_Get(g, (int[]){0, 0}, (int[]){rows - 1, columns - 1}, raw, (int[]){columns});
    for (int n = 0; n < rows * columns; n++) CHECK(same(read_number(type, raw, n), wanted[n]));
    GA_Sync();
}

static number a[64 * 64], b[64 * 64], c[64 * 64], v[64 * 64];
static char in_a[64 * 64], in_b[64 * 64], in_c[64 * 64];

static void product(int rows, int inner, int columns, const number *x, const number *y)
{
    memset(c, 0, sizeof c);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < inner; k++)
            for (int j = 0; j < columns; j++) add(&c[i * columns + j], times(x[i * inner + k], y[k * columns + j]));
}

static void values(int type, int wide, int rows, int columns)
{
    number line[64];
    double raw[2];
    int s = make(type, wide, rows, columns, a, in_a);
    check(s, type, rows, columns, a, in_a);
    // Change a duplicate; the original stays.
    int d = NGA_Sprs_array_duplicate(s), g;
    number factor = {3, is_complex(type) ? -2 : 0};
    write_number(type, raw, 0, factor);
    NGA_Sprs_array_scale(d, raw);
    NGA_Sprs_array_shift_diag(d, raw);
    for (int n = 0; n < rows * columns; n++) {
        c[n] = times(a[n], factor);
        if (n / columns == n % columns && in_a[n]) add(&c[n], factor);
    }
    check(d, type, rows, columns, c, in_a);
    g = make_dense(type, 1, rows, 1, v);
    NGA_Sprs_array_diag_left_multiply(d, g);
    GA_Destroy(g);
    for (int n = 0; n < rows * columns; n++) c[n] = times(c[n], v[n / columns]);
    check(d, type, rows, columns, c, in_a);
    g = make_dense(type, 1, columns, 1, v);
    NGA_Sprs_array_diag_right_multiply(d, g);
    for (int n = 0; n < rows * columns; n++) c[n] = times(c[n], v[n % columns]);
    check(d, type, rows, columns, c, in_a);
    NGA_Sprs_array_destroy(d);
    check(s, type, rows, columns, a, in_a);
    // Lines.
    NGA_Sprs_array_get_diag(s, &d);
    memset(line, 0, sizeof line);
    for (int i = 0; i < rows && i < columns; i++) line[i] = a[i * columns + i];
    check_vector(d, type, rows, line);
    int j = columns / 2, at = NGA_Sprs_array_get_column(s, j);
    for (int i = 0; i < rows; i++) line[i] = a[i * columns + j];
    check_vector(at, type, rows, line);
    // A vector.
    NGA_Sprs_array_matvec_multiply(s, g, at);
    product(rows, columns, 1, a, v);
    check_vector(at, type, rows, c);
    GA_Destroy(d), GA_Destroy(at), GA_Destroy(g);
    // To a dense array and back: of what is zero only the diagonal has an element then.
    g = NGA_Sprs_array_create_from_sparse(s);
    check_dense(g, type, rows, columns, a);
    d = wide ? NGA_Sprs_array_create_from_dense64(g) : NGA_Sprs_array_create_from_dense(g);
    for (int n = 0; n < rows * columns; n++) in_c[n] = a[n].re != 0 || a[n].im != 0 || n / columns == n % columns;
    check(d, type, rows, columns, a, in_c);
    GA_Destroy(g), NGA_Sprs_array_destroy(d), NGA_Sprs_array_destroy(s);
}

static void products(int type, int wide, int rows, int inner, int columns)
{
    int s = make(type, wide, rows, inner, a, in_a), t = make(type, wide, inner, columns, b, in_b);
    int p = NGA_Sprs_array_matmat_multiply(s, t);
    product(rows, inner, columns, a, b);
    memset(in_c, 0, sizeof in_c);
    for (int n = 0; n < rows * columns; n++)
        for (int k = 0; k < inner; k++) in_c[n] |= in_a[n / columns * inner + k] && in_b[k * columns + n % columns];
    check(p, type, rows, columns, c, in_c);
    NGA_Sprs_array_destroy(p);
    int g = make_dense(type, 2, inner, columns, v);
    p = NGA_Sprs_array_sprsdns_multiply(s, g);
    product(rows, inner, columns, a, v);
    check_dense(p, type, rows, columns, c);
    GA_Destroy(g), GA_Destroy(p);
    g = make_dense(type, 2, rows, inner, v);
    p = NGA_Sprs_array_dnssprs_multiply(g, t);
    product(rows, inner, columns, v, b);
    check_dense(p, type, rows, columns, c);
    GA_Destroy(g), GA_Destroy(p);
    // A sketch, by its own labels and weights.
    int height = (rows + 1) / 2, labels[64], k, w;
    char weights[64 * 16];
    GA_Rand(17);
    p = NGA_Sprs_array_count_sketch(s, height, &k, &w);
    NGA_Get(k, (int[]){0}, (int[]){rows - 1}, labels, NULL);
    NGA_Get(w, (int[]){0}, (int[]){rows - 1}, weights, NULL);
    memset(c, 0, sizeof c);
    for (int n = 0; n < rows * inner; n++) {
        number weight = read_number(type, weights, n / inner);
        CHECK((weight.re == 1 || weight.re == -1) && weight.im == 0);
        CHECK(labels[n / inner] >= 0 && labels[n / inner] < height);
        add(&c[labels[n / inner] * inner + n % inner], times(weight, a[n]));
    }
    check_dense(p, type, height, inner, c);
    GA_Destroy(p), GA_Destroy(k), GA_Destroy(w);
    NGA_Sprs_array_destroy(s), NGA_Sprs_array_destroy(t);
}

// Pointers into our own memory, and the list of the ranges that have elements.
static void access_own(void)
{
    int s = make(C_DBL, 0, 20, 15, a, in_a), *blocks, count, lo, hi, next = 0;
    NGA_Sprs_array_row_distribution(s, me, &lo, &hi);
    NGA_Sprs_array_col_block_list(s, &blocks, &count);
    for (int q = 0; q < size; q++) {
        int *idx, *jdx, jlo, jhi, any = 0;
        double *own;
        NGA_Sprs_array_column_distribution(s, q, &jlo, &jhi);
        NGA_Sprs_array_access_col_block(s, q, &idx, &jdx, (void **)&own);
        for (int i = lo; i <= hi; i++)
            for (int j = jlo; j <= jhi; j++) any |= in_a[i * 15 + j];
        CHECK(any == (idx != NULL) && any == (next < count && blocks[next] == q));
        next += any;
        for (int i = lo; any && i <= hi; i++)
            for (int n = idx[i - lo]; n < idx[i - lo + 1]; n++) CHECK(own[n] == a[i * 15 + jdx[n]].re);
    }
    CHECK(next == count);
    free(blocks);
    // A file has every element once, with indexes from 1.
    const char *name = "sparse-export.mtx";
    NGA_Sprs_array_export(s, name);
    if (me == 0) {
        FILE *file = fopen(name, "r");
        int rows, columns, total, i, j, wanted = 0;
        double value;
        CHECK(file && fscanf(file, "%%%%MatrixMarket matrix coordinate real general %d %d %d", &rows, &columns, &total) == 3);
        CHECK(rows == 20 && columns == 15);
        for (int n = 0; n < 300; n++) wanted += in_a[n];
        CHECK(total == wanted);
        for (int n = 0; n < total; n++) {
            CHECK(fscanf(file, "%d %d %lf", &i, &j, &value) == 3);
            CHECK(in_a[(i - 1) * 15 + j - 1]-- == 1 && a[(i - 1) * 15 + j - 1].re == value);
        }
        fclose(file);
        unlink(name);
    }
    NGA_Sprs_array_destroy(s);
    CHECK(!GA_Valid_handle(s));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    char directory[] = "/tmp/ga-sparse-XXXXXX";
    if (me == 0) CHECK(mkdtemp(directory) && chdir(directory) == 0);
    for (unsigned n = 0; n < sizeof types / sizeof *types; n++) {
        values(types[n], n % 2, 13, 17);
        products(types[n], n % 2, 9, 12, 14);
    }
    values(C_DBL, 1, 2, 3);
    values(C_DBL, 0, 40, 5);
    products(C_DBL, 1, 3, 2, 5);
    access_own();
    if (me == 0) CHECK(chdir("/") == 0 && rmdir(directory) == 0);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
