/* Whole arrays and patches of Global Arrays for Fortran. */
#include "arrays.h"

#include <complex.h>

#define CORNERS(x) INTEGER *x##ilo, INTEGER *x##ihi, INTEGER *x##jlo, INTEGER *x##jhi
#define PATCH_OF(x) PATCH x = patch(*g_##x, x##lo, x##hi)
#define PATCH2_OF(x) PATCH x = patch2(*x##ilo, *x##ihi, *x##jlo, *x##jhi)
#define A INTEGER *g_a
#define B INTEGER *g_b
#define C INTEGER *g_c
#define LO_HI(x) INTEGER *x##lo, INTEGER *x##hi
#define HANDLE(x) (int)*g_##x
#define AT(x) HANDLE(x), x.lo, x.hi
/* The names of a procedure for each type of elements. */
#define TYPED(start, end, of) \
    ALSO(start##c##end, of); \
    ALSO(start##d##end, of); \
    ALSO(start##i##end, of); \
    ALSO(start##s##end, of); \
    ALSO(start##z##end, of)

BOTH(void, zero)(A) { GA_Zero(HANDLE(a)); }
BOTH(void, copy)(A, B) { GA_Copy(HANDLE(a), HANDLE(b)); }
BOTH(void, fill)(A, void *value) { GA_Fill(HANDLE(a), value); }
BOTH(void, randomize)(A, void *value) { GA_Randomize(HANDLE(a), value); }
BOTH(void, scale)(A, void *alpha) { GA_Scale(HANDLE(a), alpha); }
TYPED(ga_, scale, ga_scale);
TYPED(nga_, scale, ga_scale);
TYPED(ga_, scal, ga_scale);
BOTH(void, add)(void *alpha, A, void *beta, B, C) { GA_Add(alpha, HANDLE(a), beta, HANDLE(b), HANDLE(c)); }
TYPED(ga_, add, ga_add);
TYPED(nga_, add, ga_add);
BOTH(void, transpose)(A, B) { GA_Transpose(HANDLE(a), HANDLE(b)); }
BOTH(void, symmetrize)(A) { GA_Symmetrize(HANDLE(a)); }
BOTH(void, abs_value)(A) { GA_Abs_value(HANDLE(a)); }
BOTH(void, recip)(A) { GA_Recip(HANDLE(a)); }
BOTH(void, add_constant)(A, void *alpha) { GA_Add_constant(HANDLE(a), alpha); }
BOTH(void, norm1)(A, double *to) { GA_Norm1(HANDLE(a), to); }
BOTH(void, norm_infinity)(A, double *to) { GA_Norm_infinity(HANDLE(a), to); }
BOTH(void, median)(A, B, C, INTEGER *g_m) { GA_Median(HANDLE(a), HANDLE(b), HANDLE(c), HANDLE(m)); }
BOTH(void, step_max)(A, B, void *to) { GA_Step_max(HANDLE(a), HANDLE(b), to); }
BOTH(void, step_bound_info)(A, B, C, INTEGER *g_m, void *least, void *wolfe, void *most) {
    GA_Step_bound_info(HANDLE(a), HANDLE(b), HANDLE(c), HANDLE(m), least, wolfe, most);
}
BOTH(void, merge_mirrored)(A) { GA_Merge_mirrored(HANDLE(a)); }
BOTH(void, elem_multiply)(A, B, C) { GA_Elem_multiply(HANDLE(a), HANDLE(b), HANDLE(c)); }
BOTH(void, elem_divide)(A, B, C) { GA_Elem_divide(HANDLE(a), HANDLE(b), HANDLE(c)); }
BOTH(void, elem_maximum)(A, B, C) { GA_Elem_maximum(HANDLE(a), HANDLE(b), HANDLE(c)); }
BOTH(void, elem_minimum)(A, B, C) { GA_Elem_minimum(HANDLE(a), HANDLE(b), HANDLE(c)); }
/* Rows of Fortran's matrix are columns of C's. */
BOTH(void, scale_rows)(A, INTEGER *g_v) { GA_Scale_cols(HANDLE(a), HANDLE(v)); }
BOTH(void, scale_cols)(A, INTEGER *g_v) { GA_Scale_rows(HANDLE(a), HANDLE(v)); }
BOTH(void, get_diag)(A, INTEGER *g_v) { GA_Get_diag(HANDLE(a), HANDLE(v)); }
BOTH(void, add_diagonal)(A, INTEGER *g_v) { GA_Add_diagonal(HANDLE(a), HANDLE(v)); }
BOTH(void, set_diagonal)(A, INTEGER *g_v) { GA_Set_diagonal(HANDLE(a), HANDLE(v)); }
BOTH(void, shift_diagonal)(A, void *value) { GA_Shift_diagonal(HANDLE(a), value); }
BOTH(void, zero_diagonal)(A) { GA_Zero_diagonal(HANDLE(a)); }

/* Patches. */
BOTH(void, abs_value_patch)(A, INTEGER *alo, INTEGER *ahi) {
    PATCH_OF(a);
    GA_Abs_value_patch64(AT(a));
}
BOTH(void, recip_patch)(A, INTEGER *alo, INTEGER *ahi) {
    PATCH_OF(a);
    GA_Recip_patch64(AT(a));
}
BOTH(void, add_constant_patch)(A, INTEGER *alo, INTEGER *ahi, void *alpha) {
    PATCH_OF(a);
    GA_Add_constant_patch64(AT(a), alpha);
}
void nga_zero_patch_(A, INTEGER *alo, INTEGER *ahi) {
    PATCH_OF(a);
    NGA_Zero_patch64(AT(a));
}
void ga_zero_patch_(A, CORNERS(a)) {
    PATCH2_OF(a);
    NGA_Zero_patch64(AT(a));
}
void nga_fill_patch_(A, INTEGER *alo, INTEGER *ahi, void *value) {
    PATCH_OF(a);
    NGA_Fill_patch64(AT(a), value);
}
void ga_fill_patch_(A, CORNERS(a), void *value) {
    PATCH2_OF(a);
    NGA_Fill_patch64(AT(a), value);
}
TYPED(nga_, fill_patch, nga_fill_patch);
TYPED(ga_, fill_patch, ga_fill_patch);
void nga_scale_patch_(A, INTEGER *alo, INTEGER *ahi, void *alpha) {
    PATCH_OF(a);
    NGA_Scale_patch64(AT(a), alpha);
}
void ga_scale_patch_(A, CORNERS(a), void *alpha) {
    PATCH2_OF(a);
    NGA_Scale_patch64(AT(a), alpha);
}
TYPED(nga_, scale_patch, nga_scale_patch);
TYPED(ga_, scal_patch, ga_scale_patch);
void nga_add_patch_(void *alpha, A, LO_HI(a), void *beta, B, LO_HI(b), C, LO_HI(c)) {
    PATCH_OF(a);
    PATCH_OF(b);
    PATCH_OF(c);
    NGA_Add_patch64(alpha, AT(a), beta, AT(b), AT(c));
}
void ga_add_patch_(void *alpha, A, CORNERS(a), void *beta, B, CORNERS(b), C, CORNERS(c)) {
    PATCH2_OF(a);
    PATCH2_OF(b);
    PATCH2_OF(c);
    NGA_Add_patch64(alpha, AT(a), beta, AT(b), AT(c));
}
TYPED(nga_, add_patch, nga_add_patch);
TYPED(ga_, add_patch, ga_add_patch);
void nga_copy_patch_(char *letter, A, LO_HI(a), B, LO_HI(b)) {
    PATCH_OF(a);
    PATCH_OF(b);
    NGA_Copy_patch64(*letter, AT(a), AT(b));
}
void ga_copy_patch_(char *letter, A, CORNERS(a), B, CORNERS(b)) {
    PATCH2_OF(a);
    PATCH2_OF(b);
    NGA_Copy_patch64(*letter, AT(a), AT(b));
}
ALSO(ga_copy_patch_dp, ga_copy_patch);
void nga_merge_distr_patch_(A, LO_HI(a), B, LO_HI(b)) {
    PATCH_OF(a);
    PATCH_OF(b);
    NGA_Merge_distr_patch64(AT(a), AT(b));
}
#define ELEMENTWISE(name, function) \
    BOTH(void, name)(A, LO_HI(a), B, LO_HI(b), C, LO_HI(c)) { \
        PATCH_OF(a); \
        PATCH_OF(b); \
        PATCH_OF(c); \
        function(AT(a), AT(b), AT(c)); \
    }
ELEMENTWISE(elem_multiply_patch, GA_Elem_multiply_patch64)
ELEMENTWISE(elem_divide_patch, GA_Elem_divide_patch64)
ELEMENTWISE(elem_maximum_patch, GA_Elem_maximum_patch64)
ELEMENTWISE(elem_minimum_patch, GA_Elem_minimum_patch64)
BOTH(void, median_patch)(A, LO_HI(a), B, LO_HI(b), C, LO_HI(c), INTEGER *g_m, LO_HI(m)) {
    PATCH_OF(a);
    PATCH_OF(b);
    PATCH_OF(c);
    PATCH_OF(m);
    GA_Median_patch64(AT(a), AT(b), AT(c), AT(m));
}
BOTH(void, step_max_patch)(A, LO_HI(a), B, LO_HI(b), void *to) {
    PATCH_OF(a);
    PATCH_OF(b);
    GA_Step_max_patch64(AT(a), AT(b), to);
}

/* Dot products. */
#if INTEGER_BYTES == 8
#define DOT_INTEGERS GA_Ldot
#define DOT_INTEGER_PATCHES NGA_Ldot_patch64
#else
#define DOT_INTEGERS GA_Idot
#define DOT_INTEGER_PATCHES NGA_Idot_patch64
#endif
static float complex single(SingleComplex value) { return CMPLXF(value.real, value.imag); }
static double complex twice(DoubleComplex value) { return CMPLX(value.real, value.imag); }
#define SAME(value) (value)
#define DOT(letter, type, function, of_patches, convert) \
    BOTH(type, letter##dot)(A, B) { return convert(function(HANDLE(a), HANDLE(b))); } \
    type nga_##letter##dot_patch_(A, char *ta, LO_HI(a), B, char *tb, LO_HI(b)) { \
        PATCH_OF(a); \
        PATCH_OF(b); \
        return convert(of_patches(HANDLE(a), *ta, a.lo, a.hi, HANDLE(b), *tb, b.lo, b.hi)); \
    } \
    type ga_##letter##dot_patch_(A, char *ta, CORNERS(a), B, char *tb, CORNERS(b)) { \
        PATCH2_OF(a); \
        PATCH2_OF(b); \
        return convert(of_patches(HANDLE(a), *ta, a.lo, a.hi, HANDLE(b), *tb, b.lo, b.hi)); \
    }
DOT(i, INTEGER, DOT_INTEGERS, DOT_INTEGER_PATCHES, SAME)
DOT(s, float, GA_Fdot, NGA_Fdot_patch64, SAME)
DOT(d, double, GA_Ddot, NGA_Ddot_patch64, SAME)
ALSO(ga_ddot_patch_dp, ga_ddot_patch);
DOT(c, float complex, GA_Cdot, NGA_Cdot_patch64, single)
DOT(z, double complex, GA_Zdot, NGA_Zdot_patch64, twice)

/* Searching, numbering, scanning, packing. */
void nga_select_elem_(A, char *op, void *value, INTEGER *subscript, size_t op_length) {
    int64_t at[GA_MAX_DIM] = {0};
    TEXT(op);
    NGA_Select_elem64(HANDLE(a), c_op, value, at);
    reversed_out(subscript, at, dimensions(*g_a), 1);
}
BOTH(void, patch_enum)(A, INTEGER *lo, INTEGER *hi, void *start, void *step) {
    GA_Patch_enum64(HANDLE(a), (int64_t)*lo - 1, (int64_t)*hi - 1, start, step);
}
BOTH(void, scan_copy)(A, B, INTEGER *mask, INTEGER *lo, INTEGER *hi) {
    GA_Scan_copy64(HANDLE(a), HANDLE(b), (int)*mask, (int64_t)*lo - 1, (int64_t)*hi - 1);
}
BOTH(void, scan_add)(A, B, INTEGER *mask, INTEGER *lo, INTEGER *hi, INTEGER *exclusive) {
    GA_Scan_add64(HANDLE(a), HANDLE(b), (int)*mask, (int64_t)*lo - 1, (int64_t)*hi - 1, (int)*exclusive);
}
BOTH(void, pack)(A, B, INTEGER *mask, INTEGER *lo, INTEGER *hi, INTEGER *count) {
    int64_t found = 0;
    GA_Pack64(HANDLE(a), HANDLE(b), (int)*mask, (int64_t)*lo - 1, (int64_t)*hi - 1, &found);
    *count = (INTEGER)found;
}
BOTH(void, unpack)(A, B, INTEGER *mask, INTEGER *lo, INTEGER *hi, INTEGER *count) {
    int64_t found = 0;
    GA_Unpack64(HANDLE(a), HANDLE(b), (int)*mask, (int64_t)*lo - 1, (int64_t)*hi - 1, &found);
    *count = (INTEGER)found;
}

/* Products: a matrix of Fortran's is its transpose in C, so the factors change places. */
void nga_matmul_patch_(char *ta, char *tb, void *alpha, void *beta, A, LO_HI(a), B, LO_HI(b), C, LO_HI(c)) {
    PATCH_OF(a);
    PATCH_OF(b);
    PATCH_OF(c);
    NGA_Matmul_patch64(*tb, *ta, alpha, beta, AT(b), AT(a), AT(c));
}
ALSO(nga_matmul_patch_alt, nga_matmul_patch);
void ga_matmul_patch_(char *ta, char *tb, void *alpha, void *beta, A, CORNERS(a), B, CORNERS(b), C, CORNERS(c)) {
    PATCH2_OF(a);
    PATCH2_OF(b);
    PATCH2_OF(c);
    NGA_Matmul_patch64(*tb, *ta, alpha, beta, AT(b), AT(a), AT(c));
}
ALSO(ga_matmul, ga_matmul_patch);
ALSO(ga_matmul_mirrored, ga_matmul_patch);
#define GEMM(name, type, function) \
    void ga_##name##_(char *ta, char *tb, INTEGER *m, INTEGER *n, INTEGER *k, type *alpha, A, B, type *beta, C) { \
        function(*tb, *ta, *n, *m, *k, *alpha, HANDLE(b), HANDLE(a), *beta, HANDLE(c)); \
    }
GEMM(sgemm, float, GA_Sgemm64)
GEMM(dgemm, double, GA_Dgemm64)
GEMM(cgemm, SingleComplex, GA_Cgemm64)
GEMM(zgemm, DoubleComplex, GA_Zgemm64)

/* Systems and eigenvectors: what is not symmetric is turned, and turned back. */
static int turned(int g_a) {
    int type, ndim, made;
    int64_t dims[GA_MAX_DIM] = {0}, other[2], chunk[2] = {0, 0};
    NGA_Inquire64(g_a, &type, &ndim, dims);
    if (ndim != 2) GA_Error("an array of a system of equations that is no matrix has this many dimensions", ndim);
    other[0] = dims[1];
    other[1] = dims[0];
    made = NGA_Create_config64(type, 2, other, "turned", chunk, GA_Get_pgroup(g_a));
    if (!made) GA_Error("there is no memory for the transpose of an array of rows", (int)dims[0]);
    return made;
}
static int solved(int (*solve)(int, int), A, B) {
    int other = turned(HANDLE(b)), row;
    GA_Transpose(HANDLE(b), other);
    row = solve(HANDLE(a), other);
    GA_Transpose(other, HANDLE(b));
    GA_Destroy(other);
    return row;
}
static int lu_of_plain(int a, int b) {
    GA_Lu_solve('t', a, b);
    return 0;
}
static int lu_of_transposed(int a, int b) {
    GA_Lu_solve('n', a, b);
    return 0;
}
static int llt_or_lu(int a, int b) {
    int row = GA_Llt_solve(a, b);
    if (row != 0) GA_Lu_solve('t', a, b);
    return row;
}
void ga_lu_solve_(char *letter, A, B) { solved(*letter == 'n' || *letter == 'N' ? lu_of_plain : lu_of_transposed, g_a, g_b); }
ALSO(ga_lu_solve_seq, ga_lu_solve);
void ga_lu_solve_alt_(INTEGER *is_transposed, A, B) { solved(*is_transposed ? lu_of_transposed : lu_of_plain, g_a, g_b); }
BOTH(INTEGER, llt_solve)(A, B) { return solved(GA_Llt_solve, g_a, g_b); }
BOTH(INTEGER, solve)(A, B) { return solved(llt_or_lu, g_a, g_b); }
BOTH(INTEGER, spd_invert)(A) { return GA_Spd_invert(HANDLE(a)); }
#define VECTORS(call) int v = turned(HANDLE(v)); call; GA_Transpose(v, HANDLE(v)); GA_Destroy(v)
void ga_diag_(A, INTEGER *g_s, INTEGER *g_v, double *values) { VECTORS(GA_Diag(HANDLE(a), HANDLE(s), v, values)); }
void ga_diag_seq_(A, INTEGER *g_s, INTEGER *g_v, double *values) { VECTORS(GA_Diag_seq(HANDLE(a), HANDLE(s), v, values)); }
void ga_diag_std_(A, INTEGER *g_v, double *values) { VECTORS(GA_Diag_std(HANDLE(a), v, values)); }
void ga_diag_std_seq_(A, INTEGER *g_v, double *values) { VECTORS(GA_Diag_std_seq(HANDLE(a), v, values)); }
void ga_diag_reuse_(INTEGER *reuse, A, INTEGER *g_s, INTEGER *g_v, double *values) {
    if (*reuse < 0) {
        GA_Diag_reuse((int)*reuse, HANDLE(a), HANDLE(s), HANDLE(v), values);
        return;
    }
    VECTORS(GA_Diag_reuse((int)*reuse, HANDLE(a), HANDLE(s), v, values));
}
