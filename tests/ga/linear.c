// Systems of equations, inverses and eigenproblems: what comes out is put into the equations. tests/ga.rs says who solves them.
#include <complex.h>
#include <dlfcn.h>
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            char what[256];                                                                                            \
            snprintf(what, sizeof what, "n=%d type=%d: %s, line", n, type, #condition);                                \
            GA_Error(what, __LINE__);                                                                                  \
        }                                                                                                              \
    } while (0)

typedef double complex number;

static int n, type, me, layout;

static unsigned long state;

/* The same at every process, between -1 and 1. */
static double next(void)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (double)(state >> 33) / (1ul << 30) - 1;
}

static int is_complex(void) { return type == C_SCPL || type == C_DCPL; }
static double tolerance(void) { return type == C_FLOAT || type == C_SCPL ? 2e-3 : 1e-9; }

static size_t bytes(void) { return type == C_FLOAT ? 4 : type == C_DCPL ? 16 : 8; }

static void set(void *to, int at, number value)
{
    switch (type) {
    case C_FLOAT: ((float *)to)[at] = (float)creal(value); break;
    case C_DBL: ((double *)to)[at] = creal(value); break;
    case C_SCPL: ((float complex *)to)[at] = (float complex)value; break;
    default: ((number *)to)[at] = value;
    }
}

static number element(const void *of, int at)
{
    switch (type) {
    case C_FLOAT: return ((const float *)of)[at];
    case C_DBL: return ((const double *)of)[at];
    case C_SCPL: return ((const float complex *)of)[at];
    default: return ((const number *)of)[at];
    }
}

/* An array of these elements; which distribution it has goes round. */
static int array_of(const number *values, int ndim, int columns, const char *name)
{
    int handle = GA_Create_handle(), dims[2] = {n, columns}, block[2] = {3, 2}, lo[2] = {0, 0}, hi[2], ld[1] = {columns};
    hi[0] = n - 1;
    hi[1] = columns - 1;
    GA_Set_data(handle, ndim, dims, type);
    GA_Set_array_name(handle, (char *)name);
    if (layout++ % 2) GA_Set_block_cyclic(handle, block);
    if (!GA_Allocate(handle)) GA_Error("no memory", __LINE__);
    void *buffer = malloc((size_t)n * columns * bytes());
    for (int at = 0; at < n * columns; at++) set(buffer, at, values[at]);
    if (me == 0) NGA_Put(handle, lo, hi, buffer, ld);
    GA_Sync();
    free(buffer);
    return handle;
}

static number *elements(int handle, int columns)
{
    int lo[2] = {0, 0}, hi[2] = {n - 1, columns - 1}, ld[1] = {columns};
    void *buffer = malloc((size_t)n * columns * bytes());
    number *values = malloc((size_t)n * columns * sizeof *values);
    NGA_Get(handle, lo, hi, buffer, ld);
    for (int at = 0; at < n * columns; at++) values[at] = element(buffer, at);
    free(buffer);
    GA_Sync();
    return values;
}

/* Random elements; positive definite if asked for. */
static number *matrix(int is_positive)
{
    number *a = malloc((size_t)n * n * sizeof *a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = next() + (is_complex() ? next() * I : 0);
            if (is_positive && j < i) a[j * n + i] = conj(a[i * n + j]);
            if (i == j) a[i * n + j] = is_positive ? n + 1 + next() : a[i * n + j] + 4;
        }
    if (is_positive)
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) a[i * n + j] = conj(a[j * n + i]);
    return a;
}

/* a x = b, or of the transposed matrix? */
static void is_solution(const number *a, const number *x, const number *b, int columns, int is_transposed)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < columns; c++) {
            number sum = 0;
            double size = 1;
            for (int k = 0; k < n; k++) {
                number term = (is_transposed ? a[k * n + i] : a[i * n + k]) * x[k * columns + c];
                sum += term;
                size += cabs(term);
            }
            CHECK(cabs(sum - b[i * columns + c]) <= tolerance() * size);
        }
}

static void solved(int ndim, int columns, int which)
{
    int is_positive = which >= 2;
    number *a = matrix(is_positive), *b = malloc((size_t)n * columns * sizeof *b);
    for (int at = 0; at < n * columns; at++) b[at] = next();
    int g_a = array_of(a, 2, n, "a"), g_b = array_of(b, ndim, columns, "b");
    switch (which) {
    case 0: GA_Lu_solve('n', g_a, g_b); break;
    case 1: GA_Lu_solve('t', g_a, g_b); break;
    case 2: CHECK(GA_Llt_solve(g_a, g_b) == 0); break;
    default: CHECK(GA_Solve(g_a, g_b) == 0);
    }
    number *x = elements(g_b, columns), *after = elements(g_a, n);
    is_solution(a, x, b, columns, which == 1);
    for (int at = 0; at < n * n; at++) CHECK(cabs(after[at] - a[at]) < 1e-4); /* the matrix is not destroyed */
    free(after);
    free(x);
    free(b);
    free(a);
    GA_Destroy(g_a);
    GA_Destroy(g_b);
}

/* A matrix that is not positive definite is said to be none; GA_Solve takes LU then. */
static void indefinite(void)
{
    number *a = matrix(1), *b = malloc(n * sizeof *b);
    a[(n - 1) * n + n - 1] = -3;
    for (int at = 0; at < n; at++) b[at] = next();
    int g_a = array_of(a, 2, n, "a"), g_b = array_of(b, 1, 1, "b");
    CHECK(GA_Llt_solve(g_a, g_b) == n);
    number *same = elements(g_b, 1);
    for (int at = 0; at < n; at++) CHECK(cabs(same[at] - b[at]) < 1e-6);
    CHECK(GA_Solve(g_a, g_b) == n);
    number *x = elements(g_b, 1);
    is_solution(a, x, b, 1, 0);
    CHECK(GA_Spd_invert(g_a) == n);
    free(same);
    free(x);
    free(b);
    free(a);
    GA_Destroy(g_a);
    GA_Destroy(g_b);
}

static void inverted(void)
{
    number *a = matrix(1), *unit = calloc((size_t)n * n, sizeof *unit);
    for (int i = 0; i < n; i++) unit[i * n + i] = 1;
    int g_a = array_of(a, 2, n, "a");
    CHECK(GA_Spd_invert(g_a) == 0);
    number *inverse = elements(g_a, n);
    is_solution(a, inverse, unit, n, 0);
    free(inverse);
    free(unit);
    free(a);
    GA_Destroy(g_a);
}

static void eigen(int which)
{
    int has_metric = which < 3;
    number *a = matrix(1), *s = matrix(1);
    for (int at = 0; at < n * n; at++) a[at] -= at % (n + 1) == 0 ? n : 0; /* eigenvalues of both signs */
    int g_a = array_of(a, 2, n, "a"), g_s = array_of(s, 2, n, "s"), g_v = array_of(s, 2, n, "v");
    double *values = malloc(n * sizeof *values);
    switch (which) {
    case 0: GA_Diag(g_a, g_s, g_v, values); break;
    case 1: GA_Diag_seq(g_a, g_s, g_v, values); break;
    case 2: GA_Diag_reuse(0, g_a, g_s, g_v, values); break;
    case 3: GA_Diag_std(g_a, g_v, values); break;
    default: GA_Diag_std_seq(g_a, g_v, values);
    }
    number *v = elements(g_v, n);
    for (int c = 0; c < n; c++) {
        CHECK(c == 0 || values[c - 1] <= values[c]);
        double length = 0;
        for (int i = 0; i < n; i++) {
            number left = 0, right = 0;
            for (int k = 0; k < n; k++) {
                left += a[i * n + k] * v[k * n + c];
                right += (has_metric ? s[i * n + k] : i == k) * v[k * n + c];
            }
            CHECK(cabs(left - values[c] * right) < 1e-8 * (1 + n));
            length += creal(v[i * n + c] * right);
        }
        CHECK(fabs(length - 1) < 1e-8);
    }
    free(values);
    free(v);
    free(a);
    free(s);
    GA_Destroy(g_a);
    GA_Destroy(g_s);
    GA_Destroy(g_v);
}

static jmp_buf refused;

static void leave(const char *line, int code)
{
    (void)code;
    /* Where one process computes, it alone knows why. */
    if (!strstr(line, "singular, at row") && !strstr(line, "definite, at row") && !strstr(line, "it says why")) abort();
    longjmp(refused, 1);
}

/* A call that is refused at every process. */
static void is_refused(int which, int a, int b, int c, double *values)
{
    GA_Set_error_handler(leave);
    if (!setjmp(refused)) {
        switch (which) {
        case 0: GA_Lu_solve('n', a, b); break;
        case 1: GA_Lu_solve('t', a, b); break;
        case 2: GA_Solve(a, b); break;
        default: GA_Diag(b, a, c, values);
        }
        GA_Set_error_handler(NULL);
        GA_Error("not refused", which);
    }
    GA_Set_error_handler(NULL);
}

/* A row and a column of zeros in the middle: it is said, nothing is written, and eigenvalues are found all the same. */
static void singular(void)
{
    number *a = matrix(1), *b = malloc(n * sizeof *b);
    int zero = n / 2;
    for (int at = 0; at < n; at++) {
        a[zero * n + at] = a[at * n + zero] = 0;
        b[at] = next();
    }
    int g_a = array_of(a, 2, n, "a"), g_b = array_of(b, 1, 1, "b");
    for (int which = 0; which < 3; which++) is_refused(which, g_a, g_b, 0, NULL);
    CHECK(GA_Llt_solve(g_a, g_b) == zero + 1);
    CHECK(GA_Spd_invert(g_a) == zero + 1);
    number *same = elements(g_b, 1), *after = elements(g_a, n);
    for (int at = 0; at < n; at++) CHECK(cabs(same[at] - b[at]) < 1e-6);
    for (int at = 0; at < n * n; at++) CHECK(cabs(after[at] - a[at]) < 1e-4);
    if (type == C_DBL) {
        number *s = matrix(1);
        int g_s = array_of(s, 2, n, "s"), g_v = array_of(s, 2, n, "v"), closest = 0;
        double *values = malloc(n * sizeof *values);
        is_refused(3, g_a, g_s, g_v, values);
        GA_Diag_std(g_a, g_v, values);
        for (int at = 0; at < n; at++)
            if (fabs(values[at]) < fabs(values[closest])) closest = at;
        number *v = elements(g_v, n);
        CHECK(fabs(values[closest]) < 1e-9 && fabs(cabs(v[zero * n + closest]) - 1) < 1e-8);
        free(v);
        free(values);
        free(s);
        GA_Destroy(g_s);
        GA_Destroy(g_v);
    }
    free(after);
    free(same);
    free(b);
    free(a);
    GA_Destroy(g_a);
    GA_Destroy(g_b);
}

/* Are these the eigenvalues and vectors of a and the metric s? */
static int is_eigen(const number *a, const number *s, const number *v, const double *values)
{
    double worst = 0;
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++) {
            number difference = 0;
            for (int k = 0; k < n; k++) difference += (a[i * n + k] - values[c] * s[i * n + k]) * v[k * n + c];
            worst = fmax(worst, cabs(difference));
        }
    return worst < 1e-8 * (1 + n);
}

/* The factor of a metric is kept until it is erased, whatever the metric has become since: by ScaLAPACK. LAPACK reads it again. */
static void reused(void)
{
    const char *solver = getenv("ISTHMUS_GA_LINEAR");
    int keeps = solver && !strcmp(solver, "scalapack");
    number *a = matrix(1), *other = matrix(1), *s = matrix(1), *later = matrix(1);
    int g_a = array_of(a, 2, n, "a"), g_other = array_of(other, 2, n, "other"), g_s = array_of(s, 2, n, "s");
    int g_later = array_of(later, 2, n, "later"), g_v = array_of(s, 2, n, "v");
    double *values = malloc(n * sizeof *values);
    GA_Diag_reuse(0, g_a, g_s, g_v, values);
    number *v = elements(g_v, n);
    CHECK(is_eigen(a, s, v, values));
    free(v);
    GA_Copy(g_later, g_s);
    /* Another group of the same processes has no part in it. */
    GA_Pgroup_destroy(GA_Pgroup_duplicate(GA_Pgroup_get_default()));
    GA_Diag_reuse(1, g_other, g_s, g_v, values);
    v = elements(g_v, n);
    CHECK(is_eigen(other, keeps ? s : later, v, values));
    values[0] = 12345;
    GA_Diag_reuse(-1, g_a, g_s, g_v, values);
    number *untouched = elements(g_v, n);
    CHECK(values[0] == 12345 && !memcmp(v, untouched, (size_t)n * n * sizeof *v));
    free(untouched);
    free(v);
    GA_Diag_reuse(1, g_a, g_s, g_v, values);
    v = elements(g_v, n);
    CHECK(is_eigen(a, later, v, values));
    GA_Diag_reuse(-1, g_a, g_s, g_v, values);
    free(v);
    free(values);
    free(a);
    free(other);
    free(s);
    free(later);
    GA_Destroy(g_a);
    GA_Destroy(g_other);
    GA_Destroy(g_s);
    GA_Destroy(g_later);
    GA_Destroy(g_v);
}

/* On half of the processes, as their default group, which is given up. */
static void in_group(void)
{
    int half = GA_Pgroup_split_irreg(GA_Pgroup_get_world(), me % 2);
    GA_Pgroup_set_default(half);
    int there = me;
    me = GA_Pgroup_nodeid(half);
    type = C_DBL;
    n = 23 + there % 2;
    layout = 0;
    solved(2, 2, 0);
    eigen(3);
    reused();
    me = there;
    GA_Pgroup_set_default(GA_Pgroup_get_world());
    GA_Sync();
    GA_Pgroup_destroy(half);
}

/* The numbers that a new grid of the BLACS gets, whose MPI is MPICH's by its ABI: those of what was given back are used again. Nothing, where
   ScaLAPACK is not used. */
static void next_numbers(int numbers[2])
{
    enum { MPICH_COMM_SELF = 0x44000001 };
    void *library = dlopen("libscalapack-mpich.so.2.2", RTLD_NOW | RTLD_NOLOAD);
    const char *solver = getenv("ISTHMUS_GA_LINEAR");
    numbers[0] = numbers[1] = -1;
    CHECK(library || !solver || strcmp(solver, "scalapack"));
    if (!library) return;
    int (*handle)(int) = (int (*)(int))dlsym(library, "Csys2blacs_handle");
    void (*init)(int *, const char *, int, int) = (void (*)(int *, const char *, int, int))dlsym(library, "Cblacs_gridinit");
    void (*leave_grid)(int) = (void (*)(int))dlsym(library, "Cblacs_gridexit"), (*forget)(int) = (void (*)(int))dlsym(library, "Cfree_blacs_system_handle");
    numbers[0] = numbers[1] = handle(MPICH_COMM_SELF);
    init(&numbers[1], "Row", 1, 1);
    leave_grid(numbers[1]);
    forget(numbers[0]);
    dlclose(library);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 2, 7, 40, 100}, types[] = {C_DBL, C_FLOAT, C_DCPL, C_SCPL};
    MPI_Init(&argc, &argv);
    GA_Initialize();
    me = GA_Nodeid();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        n = sizes[s];
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            type = types[t];
            state = 100 * s + t;
            for (int which = 0; which < 4; which++) {
                solved(1, 1, which);
                solved(2, 3, which);
            }
            indefinite();
            inverted();
            singular();
        }
        type = C_DBL;
        for (int which = 0; which < 5; which++) eigen(which);
    }
    /* Blocks of 32 rows, several for each process. */
    n = 200;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        type = types[t];
        for (int which = 0; which < 4; which++) solved(2, 3, which);
        inverted();
        singular();
    }
    type = C_DBL;
    eigen(0);
    eigen(3);
    reused();
    n = 2;
    reused();
    int before[2], after[2];
    in_group();
    next_numbers(before);
    for (int turn = 0; turn < 8; turn++) in_group();
    next_numbers(after);
    CHECK(before[0] == after[0] && before[1] == after[1]);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
