// ranks: 1 2 3 4
// more ranks: 7
// Operations on matrices and vectors, of every type and in both widths of indexes, against a copy at every process.
#include "model.h"

enum { TURNS = 84, LARGEST = 24, LONGEST = 150 };

static struct array a, b, c, v;
static struct patch p, q, r;

#define AT(x, i, j) (x).v[(i) * (x).dims[1] + (j)]

static void destroy(const struct array *x)
{
    GA_Sync();
    GA_Destroy(x->handle);
}

static void transposed(void)
{
    int dims[2] = {1 + next(LARGEST), 1 + next(LARGEST)}, turned[2] = {dims[1], dims[0]}, extents[2];
    make_some(&a, 2, dims);
    make_some(&b, 2, turned);
    GA_Transpose(a.handle, b.handle);
    for (int i = 0; i < dims[0]; i++)
        for (int j = 0; j < dims[1]; j++) AT(b, j, i) = AT(a, i, j);
    SAME(&b);
    give_some(&b);
    some_patch(&p, &a);
    extents[0] = p.hi[1] - p.lo[1] + 1;
    extents[1] = p.hi[0] - p.lo[0] + 1;
    patch_of(&q, &b, extents);
    /* Their product, which knows the one of the two transposed. */
    number sum = 0;
    for (int i = 0; i < extents[1]; i++)
        for (int j = 0; j < extents[0]; j++) sum += AT(a, p.lo[0] + i, p.lo[1] + j) * AT(b, q.lo[0] + j, q.lo[1] + i);
    number found = 0;
    char ta = turn % 3 ? 'n' : 't', tb = turn % 3 ? 'T' : 'N';
    switch (type) {
    case C_INT: found = NGA_Idot_patch(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q)); break;
    case C_LONG: found = NGA_Ldot_patch64(a.handle, ta, CORNERS64(p), b.handle, tb, CORNERS64(q)); break;
    case C_LONGLONG: found = NGA_Lldot_patch(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q)); break;
    case C_FLOAT: found = NGA_Fdot_patch64(a.handle, ta, CORNERS64(p), b.handle, tb, CORNERS64(q)); break;
    case C_DBL: found = NGA_Ddot_patch(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q)); break;
    case C_SCPL: {
        SingleComplex of = NGA_Cdot_patch(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q));
        found = of.real + I * of.imag;
        break;
    }
    default: {
        DoubleComplex of = NGA_Zdot_patch(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q));
        found = of.real + I * of.imag;
    }
    }
    CHECK(is_near(found, sum));
    if (turn % 2) NGA_Copy_patch64('t', a.handle, CORNERS64(p), b.handle, CORNERS64(q));
    else NGA_Copy_patch('T', a.handle, CORNERS(p), b.handle, CORNERS(q));
    for (int i = 0; i < extents[1]; i++)
        for (int j = 0; j < extents[0]; j++) AT(b, q.lo[0] + j, q.lo[1] + i) = AT(a, p.lo[0] + i, p.lo[1] + j);
    SAME(&b);
    SAME(&a);
    destroy(&a);
    destroy(&b);
}

static void symmetrized(void)
{
    int dims[2];
    dims[0] = dims[1] = 1 + next(LARGEST);
    make_some(&a, 2, dims);
    memcpy(b.v, a.v, sizeof b.v);
    GA_Symmetrize(a.handle);
    for (int i = 0; i < dims[0]; i++)
        for (int j = 0; j < dims[0]; j++) AT(a, i, j) = quotient(b.v[i * dims[0] + j] + b.v[j * dims[0] + i], 2);
    SAME(&a);
    destroy(&a);
}

static void diagonals(void)
{
    int dims[2] = {1 + next(LARGEST), 1 + next(LARGEST)}, least = dims[0] < dims[1] ? dims[0] : dims[1];
    number by = value();
    make_some(&a, 2, dims);
    make_some(&v, 1, &least);
    GA_Add_diagonal(a.handle, v.handle);
    for (int i = 0; i < least; i++) AT(a, i, i) += v.v[i];
    SAME(&a);
    GA_Shift_diagonal(a.handle, scalar(by));
    for (int i = 0; i < least; i++) AT(a, i, i) += by;
    SAME(&a);
    GA_Get_diag(a.handle, v.handle);
    for (int i = 0; i < least; i++) v.v[i] = AT(a, i, i);
    SAME(&v);
    GA_Zero_diagonal(a.handle);
    for (int i = 0; i < least; i++) AT(a, i, i) = 0;
    SAME(&a);
    give_some(&v);
    GA_Set_diagonal(a.handle, v.handle);
    for (int i = 0; i < least; i++) AT(a, i, i) = v.v[i];
    SAME(&a);
    SAME(&v);
    destroy(&v);
    make_some(&v, 1, &dims[0]);
    GA_Scale_rows(a.handle, v.handle);
    for (int n = 0; n < a.count; n++) a.v[n] *= v.v[n / dims[1]];
    SAME(&a);
    destroy(&v);
    make_some(&v, 1, &dims[1]);
    GA_Scale_cols(a.handle, v.handle);
    for (int n = 0; n < a.count; n++) a.v[n] *= v.v[n % dims[1]];
    SAME(&a);
    SAME(&v);
    destroy(&v);
    destroy(&a);
}

/* An element of a factor, as its letter says. */
static number factor(const struct array *x, const int *lo, char letter, int i, int j)
{
    number found = letter == 'n' ? x->v[(lo[0] + i) * x->dims[1] + lo[1] + j] : x->v[(lo[0] + j) * x->dims[1] + lo[1] + i];
    return letter == 'c' ? conj(found) : found;
}

static void multiply(char ta, char tb, const int *alo, const int *blo, const int *clo, int m, int n, int k, number alpha, number beta)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            number sum = 0;
            for (int l = 0; l < k; l++) sum += factor(&a, alo, ta, i, l) * factor(&b, blo, tb, l, j);
            number *at = &AT(c, clo[0] + i, clo[1] + j);
            *at = alpha * sum + beta * *at;
        }
}

static void gemm(char ta, char tb, int m, int n, int k, number x, number y)
{
    SingleComplex cx = {(float)creal(x), (float)cimag(x)}, cy = {(float)creal(y), (float)cimag(y)};
    DoubleComplex zx = {creal(x), cimag(x)}, zy = {creal(y), cimag(y)};
    switch (type + (turn % 2 ? 100000 : 0)) {
    case C_FLOAT: GA_Sgemm(ta, tb, m, n, k, (float)creal(x), a.handle, b.handle, (float)creal(y), c.handle); break;
    case C_DBL: GA_Dgemm(ta, tb, m, n, k, creal(x), a.handle, b.handle, creal(y), c.handle); break;
    case C_SCPL: GA_Cgemm(ta, tb, m, n, k, cx, a.handle, b.handle, cy, c.handle); break;
    case C_DCPL: GA_Zgemm(ta, tb, m, n, k, zx, a.handle, b.handle, zy, c.handle); break;
    case C_FLOAT + 100000: GA_Sgemm64(ta, tb, m, n, k, (float)creal(x), a.handle, b.handle, (float)creal(y), c.handle); break;
    case C_DBL + 100000: GA_Dgemm64(ta, tb, m, n, k, creal(x), a.handle, b.handle, creal(y), c.handle); break;
    case C_SCPL + 100000: GA_Cgemm64(ta, tb, m, n, k, cx, a.handle, b.handle, cy, c.handle); break;
    default: GA_Zgemm64(ta, tb, m, n, k, zx, a.handle, b.handle, zy, c.handle);
    }
}

/* The corners of a transposed factor are those after its transposition. */
static struct patch as_factor(struct patch stored, char letter)
{
    struct patch x = stored;
    if (letter == 'n') return x;
    for (int d = 0; d < 2; d++) {
        x.lo[d] = stored.lo[1 - d];
        x.hi[d] = stored.hi[1 - d];
        x.lo64[d] = stored.lo64[1 - d];
        x.hi64[d] = stored.hi64[1 - d];
    }
    return x;
}

/* The factors may be larger than what is multiplied. */
static void multiplied(void)
{
    static const char letters[] = "ntc";
    int m = 1 + next(LARGEST - 4), n = 1 + next(LARGEST - 4), k = 1 + next(LARGEST - 4), zero[2] = {0, 0};
    char ta = letters[next(3)], tb = letters[next(3)];
    int left[2] = {ta == 'n' ? m : k, ta == 'n' ? k : m}, right[2] = {tb == 'n' ? k : n, tb == 'n' ? n : k}, made[2] = {m, n};
    int dims[3][2];
    for (int d = 0; d < 2; d++) {
        dims[0][d] = left[d] + next(4);
        dims[1][d] = right[d] + next(4);
        dims[2][d] = made[d] + next(4);
    }
    number alpha = value(), beta = next(4) ? value() : 0;
    if (is_integer()) return;
    make_some(&a, 2, dims[0]);
    make_some(&b, 2, dims[1]);
    make_some(&c, 2, dims[2]);
    gemm(ta, tb, m, n, k, alpha, beta);
    multiply(ta, tb, zero, zero, zero, m, n, k, alpha, beta);
    SAME(&c);
    patch_of(&p, &a, left);
    patch_of(&q, &b, right);
    patch_of(&r, &c, made);
    give_some(&c);
    struct patch f = as_factor(p, ta), g = as_factor(q, tb);
    if (turn % 2) NGA_Matmul_patch64(ta, tb, scalar(alpha), scalar(beta), a.handle, CORNERS64(f), b.handle, CORNERS64(g), c.handle, CORNERS64(r));
    else NGA_Matmul_patch(ta, tb, scalar(alpha), scalar(beta), a.handle, CORNERS(f), b.handle, CORNERS(g), c.handle, CORNERS(r));
    multiply(ta, tb, p.lo, q.lo, r.lo, m, n, k, alpha, beta);
    SAME(&c);
    give_some(&c);
#define RANGES(x) x.lo[0], x.hi[0], x.lo[1], x.hi[1]
    if (turn % 2) GA_Matmul_patch64(ta, tb, scalar(alpha), scalar(beta), a.handle, RANGES(f), b.handle, RANGES(g), c.handle, RANGES(r));
    else GA_Matmul_patch(ta, tb, scalar(alpha), scalar(beta), a.handle, RANGES(f), b.handle, RANGES(g), c.handle, RANGES(r));
    multiply(ta, tb, p.lo, q.lo, r.lo, m, n, k, alpha, beta);
    SAME(&c);
    SAME(&a);
    SAME(&b);
    destroy(&a);
    destroy(&b);
    destroy(&c);
}

/* Vectors, and one of marks, whose type is another one. */
static void prefixes(void)
{
    static struct array marks;
    int length = 1 + next(LONGEST), is_first = 1, of_values = type;
    make_some(&a, 1, &length);
    make_some(&b, 1, &length);
    type = TYPES[next(7)];
    int of_marks = type;
    make(&marks, 1, &length);
    for (int n = 0; n < length; n++) marks.v[n] = next(4) ? 0 : value();
    give(&marks);
    type = of_values;
    some_patch(&p, &a);
    int lo = p.lo[0], hi = p.hi[0];
    number last = 0;
    if (turn % 2) GA_Scan_copy64(a.handle, b.handle, marks.handle, lo, hi);
    else GA_Scan_copy(a.handle, b.handle, marks.handle, lo, hi);
    for (int n = lo; n <= hi; n++) {
        if (marks.v[n] != 0) last = a.v[n], is_first = 0;
        if (!is_first) b.v[n] = last;
    }
    SAME(&b);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        if (turn % 2) GA_Scan_add64(a.handle, b.handle, marks.handle, lo, hi, exclusive);
        else GA_Scan_add(a.handle, b.handle, marks.handle, lo, hi, exclusive);
        is_first = 1;
        for (int n = lo; n <= hi; n++) {
            if (marks.v[n] != 0) last = 0, is_first = 0;
            if (!exclusive) last += a.v[n];
            if (!is_first) b.v[n] = last;
            if (exclusive) last += a.v[n];
        }
        SAME(&b);
    }
    int count, marked = 0;
    int64_t count64;
    if (turn % 2) GA_Pack64(a.handle, b.handle, marks.handle, lo, hi, &count64), count = (int)count64;
    else GA_Pack(a.handle, b.handle, marks.handle, lo, hi, &count);
    for (int n = lo; n <= hi; n++)
        if (marks.v[n] != 0) b.v[marked++] = a.v[n];
    CHECK(count == marked);
    SAME(&b);
    give_some(&b);
    if (turn % 2) GA_Unpack64(b.handle, a.handle, marks.handle, lo, hi, &count64), count = (int)count64;
    else GA_Unpack(b.handle, a.handle, marks.handle, lo, hi, &count);
    marked = 0;
    for (int n = lo; n <= hi; n++)
        if (marks.v[n] != 0) a.v[n] = b.v[marked++];
    CHECK(count == marked);
    SAME(&a);
    /* In place. */
    GA_Pack(a.handle, a.handle, marks.handle, lo, hi, &count);
    marked = 0;
    for (int n = lo; n <= hi; n++)
        if (marks.v[n] != 0) b.v[marked++] = a.v[n];
    memcpy(a.v, b.v, marked * sizeof *a.v);
    SAME(&a);
    GA_Unpack(a.handle, a.handle, marks.handle, lo, hi, &count);
    marked = 0;
    for (int n = lo; n <= hi; n++)
        if (marks.v[n] != 0) a.v[n] = b.v[marked++];
    SAME(&a);
    number start = value(), step = value();
    if (turn % 2) GA_Patch_enum64(a.handle, lo, hi, scalar(start), scalar(step));
    else GA_Patch_enum(a.handle, lo, hi, scalar(start), scalar(step));
    for (int n = lo; n <= hi; n++) a.v[n] = start + (n - lo) * step;
    SAME(&a);
    type = of_marks;
    SAME(&marks);
    type = of_values;
    destroy(&a);
    destroy(&b);
    destroy(&marks);
}

int main(void)
{
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    state = 23 + size;
    for (turn = 0; turn < TURNS; turn++) {
        type = TYPES[next(7)];
        transposed();
        symmetrized();
        diagonals();
        multiplied();
        prefixes();
    }
    GA_Terminate();
    return 0;
}
