/* GA_Dgemm of square matrices by all processes, beside the BLAS's dgemm by process 0 with a thread for each CPU.
 *
 *   ga_gemm [--seconds S] [N ...]
 *
 * The product is compared with the BLAS's. Without a BLAS (libblas.so.3) only matrices of 64 rows are multiplied, and there is no floor. */
#define _GNU_SOURCE
#include "ga_measure.h"
#include <dlfcn.h>
#include <math.h>

typedef void dgemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
                   const double *, const int *, const double *, double *, const int *, size_t, size_t);
enum { MOST_WITHOUT = 64 };

static int n, ga, gb, gc;
static double *a, *b, *c;
static dgemm *blas;
static void (*set_threads)(int);

static void multiply(int count)
{
    for (int i = 0; i < count; i++)
        GA_Dgemm('n', 'n', n, n, n, 1.0, ga, gb, 0.0, gc);
}

/* By rows is transposed by columns. */
static void multiply_alone(int count)
{
    double one = 1, zero = 0;
    cpu_set_t mine, all;
    int cpus[MAX_CPUS], length = read_cpus(cpus);
    if (rank != 0)
        return;
    if (length > 0) {
        CPU_ZERO(&all);
        for (int i = 0; i < length; i++)
            CPU_SET((size_t)cpus[i], &all);
        sched_getaffinity(0, sizeof mine, &mine);
        sched_setaffinity(0, sizeof all, &all);
    }
    if (set_threads)
        set_threads(length > 0 ? length : 2);
    for (int i = 0; i < count; i++)
        blas("N", "N", &n, &n, &n, &one, b, &n, a, &n, &zero, c, &n, 1, 1);
    if (set_threads)
        set_threads(1);
    if (length > 0)
        sched_setaffinity(0, sizeof mine, &mine);
}

static int new_matrix(const char *name, double *elements)
{
    int dims[2] = {n, n}, lo[2] = {0, 0}, hi[2] = {n - 1, n - 1}, ld[1] = {n};
    int handle = NGA_Create(C_DBL, 2, dims, (char *)name, NULL);
    if (!handle)
        give_up("ga_gemm: no memory");
    if (rank == 0)
        NGA_Put(handle, lo, hi, elements, ld);
    GA_Sync();
    return handle;
}

static void check_product(void)
{
    int lo[2] = {0, 0}, hi[2] = {n - 1, n - 1}, ld[1] = {n};
    double *product = malloc(sizeof *product * (size_t)n * (size_t)n);
    multiply(1);
    if (rank == 0 && blas) {
        multiply_alone(1);
        NGA_Get(gc, lo, hi, product, ld);
        for (int i = 0; i < n * n; i++)
            if (!(fabs(product[i] - c[i]) < 1e-9 * n))
                give_up("ga_gemm: the products differ");
    }
    free(product);
    GA_Sync();
}

int main(int argc, char **argv)
{
    struct arguments given = arguments(argc, argv);
    /* Its threads begin here, where they may run on all CPUs. */
    void *library = dlopen("libblas.so.3", RTLD_NOW | RTLD_GLOBAL);
    if (library) {
        *(void **)&blas = dlsym(library, "dgemm_");
        *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    }
    begin(&argc, &argv);
    for (int i = 0; i < given.count; i++) {
        char fields[80];
        double budget_us = given.seconds * 1e6 / given.count;
        n = cell_size(given.cells[i]);
        if (!blas && n > MOST_WITHOUT)
            continue;
        size_t elements = (size_t)n * (size_t)n;
        a = malloc(sizeof *a * elements);
        b = malloc(sizeof *b * elements);
        c = malloc(sizeof *c * elements);
        if (!a || !b || !c)
            give_up("ga_gemm: no memory");
        for (size_t k = 0; k < elements; k++) {
            a[k] = (double)(k * 7 % 11) / 11;
            b[k] = (double)(k * 5 % 13) / 13;
        }
        ga = new_matrix("a", a);
        gb = new_matrix("b", b);
        gc = new_matrix("c", c);
        check_product();
        snprintf(fields, sizeof fields, "size=%d ranks=%d", n, ranks);
        if (blas)
            compare("ga_gemm", fields, multiply, multiply_alone, budget_us);
        else
            measure_alone("ga_gemm", fields, multiply, budget_us);
        GA_Destroy(ga);
        GA_Destroy(gb);
        GA_Destroy(gc);
        free(a);
        free(b);
        free(c);
    }
    end();
    return 0;
}
