/* Quotients that bound the step of an iteration, for Fortran: upstream has these two only there (elem_alg.c of Global Arrays 5.9). A quotient by zero
 * is infinite, as the largest number that upstream takes for it. */
#include "arrays.h"

#include <limits.h>

/* What 0 divided by a number is: without bounds infinite unless the divisor is negative, with bounds 0 if the divisor is positive. */
typedef struct { int is_infinite_by_zero, is_infinite_by_positive, is_infinite_by_negative; } OF_ZERO;
static const OF_ZERO plain = {1, 1, 0}, bounded = {1, 0, 1};

#define DIVIDE(type, infinity) \
    static void divide_##type(type *a, const type *b, int64_t count, OF_ZERO zero) { \
        int64_t i; \
        for (i = 0; i < count; i++) { \
            int is_infinite = a[i] != 0 ? b[i] == 0 \
                : b[i] > 0 ? zero.is_infinite_by_positive : b[i] < 0 ? zero.is_infinite_by_negative : zero.is_infinite_by_zero; \
            a[i] = is_infinite ? (type)(infinity) : a[i] == 0 ? 0 : a[i] / b[i]; \
        } \
    }
DIVIDE(int, INT_MAX)
DIVIDE(long, LONG_MAX)
DIVIDE(float, 1e37)
DIVIDE(double, 1e307)

static void divide(int type, void *a, const void *b, int64_t count, OF_ZERO zero) {
    switch (type) {
    case MT_C_INT: divide_int(a, b, count, zero); break;
    case MT_C_LONGINT: case MT_C_LONGLONG: divide_long(a, b, count, zero); break;
    case MT_C_FLOAT: divide_float(a, b, count, zero); break;
    case MT_C_DBL: divide_double(a, b, count, zero); break;
    default: GA_Error("steps of complex numbers are not ordered; the type", type);
    }
}

/* Each process divides as many of the patch's slices as the others, wherever they lie. Collective over the group of c. */
static void quotients(INTEGER *g_a, PATCH a, INTEGER *g_b, PATCH b, INTEGER *g_c, PATCH c, OF_ZERO zero) {
    int n = dimensions(*g_c), group = GA_Get_pgroup((int)*g_c), type = 0, other = 0, i;
    int64_t dims[GA_MAX_DIM], ld[GA_MAX_DIM] = {0}, count = 1, slices = c.hi[0] - c.lo[0] + 1;
    int64_t me = GA_Pgroup_nodeid(group), procs = GA_Pgroup_nnodes(group), first = slices * me / procs, last = slices * (me + 1) / procs - 1;
    double *values = NULL, *divisors;
    NGA_Inquire64((int)*g_a, &type, &i, dims);
    if (i != n || dimensions(*g_b) != n) GA_Error("patches of quotients must have as many dimensions as the result; those of the result", n);
    NGA_Inquire64((int)*g_b, &other, &i, dims);
    if (other != type) GA_Error("arrays of quotients must have one type; that of the divisors", other);
    NGA_Inquire64((int)*g_c, &other, &i, dims);
    if (other != type) GA_Error("arrays of quotients must have one type; that of the result", other);
    for (i = 0; i < n; i++)
        if (a.hi[i] - a.lo[i] != c.hi[i] - c.lo[i] || b.hi[i] - b.lo[i] != c.hi[i] - c.lo[i])
            GA_Error("patches of quotients must have the extents of the result; they differ in dimension", n - i);
    GA_Pgroup_sync(group);
    for (i = 1; i < n; i++) count *= ld[i - 1] = c.hi[i] - c.lo[i] + 1;
    count *= last - first + 1;
    if (count > 0) {
        values = malloc(sizeof(double) * 2 * (size_t)count);
        if (!values) abort();
        divisors = values + count;
        a.hi[0] = a.lo[0] + last;
        a.lo[0] += first;
        b.hi[0] = b.lo[0] + last;
        b.lo[0] += first;
        NGA_Get64((int)*g_a, a.lo, a.hi, values, ld);
        NGA_Get64((int)*g_b, b.lo, b.hi, divisors, ld);
        divide(type, values, divisors, count, zero);
    }
    /* The result may be one of the others. */
    GA_Pgroup_sync(group);
    if (count > 0) {
        c.hi[0] = c.lo[0] + last;
        c.lo[0] += first;
        NGA_Put64((int)*g_c, c.lo, c.hi, values, ld);
    }
    free(values);
    GA_Pgroup_sync(group);
}

#define QUOTIENTS(name, zero) \
    BOTH(void, name)(INTEGER *g_a, INTEGER *alo, INTEGER *ahi, INTEGER *g_b, INTEGER *blo, INTEGER *bhi, INTEGER *g_c, INTEGER *clo, INTEGER *chi) { \
        quotients(g_a, patch(*g_a, alo, ahi), g_b, patch(*g_b, blo, bhi), g_c, patch(*g_c, clo, chi), zero); \
    }
QUOTIENTS(elem_step_divide_patch, plain)
QUOTIENTS(elem_stepb_divide_patch, bounded)

BOTH(void, step_bound_info_patch)(INTEGER *g_x, INTEGER *xlo, INTEGER *xhi, INTEGER *g_v, INTEGER *vlo, INTEGER *vhi, INTEGER *g_l, INTEGER *llo,
                                  INTEGER *lhi, INTEGER *g_u, INTEGER *ulo, INTEGER *uhi, void *least, void *wolfe, void *most) {
    PATCH x = patch(*g_x, xlo, xhi), v = patch(*g_v, vlo, vhi), l = patch(*g_l, llo, lhi), u = patch(*g_u, ulo, uhi);
    GA_Step_bound_info_patch64((int)*g_x, x.lo, x.hi, (int)*g_v, v.lo, v.hi, (int)*g_l, l.lo, l.hi, *g_u, u.lo, u.hi, least, wolfe, most);
}
