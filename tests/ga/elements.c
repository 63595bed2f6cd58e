// ranks: 1 2 3 4
// more ranks: 7
// Operations on elements, whole arrays and patches, of every type and in both widths of indexes, against a copy at every process.
#include "model.h"

enum { TURNS = 84 };

static struct array a, b, c, m;
static struct patch p, q, r, s;

/* The form with indexes of 64 bits in every other turn. */
#define ON_PATCH(name, array, ...) (turn % 2 ? name##64(array, CORNERS64(p), ##__VA_ARGS__) : name(array, CORNERS(p), ##__VA_ARGS__))
#define WITHOUT(name, array) (turn % 2 ? name##64(array, CORNERS64(p)) : name(array, CORNERS(p)))

#define FOR_PATCH(expression)                                                                                          \
    for (int n = 0; n < p.count; n++) {                                                                                \
        number x = a.v[p.at[n]];                                                                                       \
        (void)x;                                                                                                       \
        a.v[p.at[n]] = (expression);                                                                                   \
    }
#define FOR_ALL(expression)                                                                                            \
    for (int n = 0; n < a.count; n++) {                                                                                \
        number x = a.v[n];                                                                                             \
        (void)x;                                                                                                       \
        a.v[n] = (expression);                                                                                         \
    }

static number absolute(number x) { return is_complex() ? cabs(x) : fabs(creal(x)); }
/* What they are compared by: of complex ones the square of the absolute value. */
static double order(number x) { return is_complex() ? creal(x) * creal(x) + cimag(x) * cimag(x) : creal(x); }
static number larger(number x, number y) { return order(y) > order(x) ? y : x; }
static number smaller(number x, number y) { return order(y) < order(x) ? y : x; }

static void on_one(void)
{
    number by = value();
    some_patch(&p, &a);
    give_some(&a);
    GA_Scale(a.handle, scalar(by));
    FOR_ALL(x * by);
    SAME(&a);
    ON_PATCH(NGA_Scale_patch, a.handle, scalar(by));
    FOR_PATCH(x * by);
    SAME(&a);
    GA_Add_constant(a.handle, scalar(by));
    FOR_ALL(x + by);
    SAME(&a);
    ON_PATCH(GA_Add_constant_patch, a.handle, scalar(by));
    FOR_PATCH(x + by);
    SAME(&a);
    WITHOUT(GA_Abs_value_patch, a.handle);
    FOR_PATCH(absolute(x));
    SAME(&a);
    GA_Abs_value(a.handle);
    FOR_ALL(absolute(x));
    SAME(&a);
    give_some(&a);
    GA_Recip(a.handle);
    FOR_ALL(quotient(1, x));
    SAME(&a);
    give_some(&a);
    WITHOUT(GA_Recip_patch, a.handle);
    FOR_PATCH(quotient(1, x));
    SAME(&a);
    ON_PATCH(NGA_Fill_patch, a.handle, scalar(by));
    FOR_PATCH(by);
    SAME(&a);
    WITHOUT(NGA_Zero_patch, a.handle);
    FOR_PATCH(0);
    SAME(&a);
    turn % 2 ? GA_Fill(a.handle, scalar(by)) : NGA_Fill(a.handle, scalar(by));
    FOR_ALL(by);
    SAME(&a);
    turn % 2 ? GA_Zero(a.handle) : NGA_Zero(a.handle);
    FOR_ALL(0);
    SAME(&a);
    /* From 0 to a number, and not all alike. */
    turn % 2 ? GA_Randomize(a.handle, scalar(100)) : NGA_Randomize(a.handle, scalar(100));
    fetch(&a);
    int differ = 0;
    for (int n = 0; n < a.count; n++) {
        double x = creal(element(bytes_of_elements, n));
        CHECK(x >= 0 && x <= 100 && cimag(element(bytes_of_elements, n)) == 0);
        differ |= x != creal(element(bytes_of_elements, 0));
    }
    CHECK(differ || a.count < 8);
}

typedef void on_two(int, int, int);
typedef void on_patches(int, const int *, const int *, int, const int *, const int *, int, const int *, const int *);
typedef void on_patches64(int, const int64_t *, const int64_t *, int, const int64_t *, const int64_t *, int, const int64_t *, const int64_t *);

static number of_two(int which, number x, number y)
{
    switch (which) {
    case 0: return x * y;
    case 1: return quotient(x, y);
    case 2: return larger(x, y);
    default: return smaller(x, y);
    }
}

/* Patches of the same extents, or of these in the other order, which have as many elements. */
static void some_patches(void)
{
    int extents[MOST_RANK], turned[MOST_RANK];
    some_patch(&p, &a);
    for (int d = 0; d < a.rank; d++) extents[d] = p.hi[d] - p.lo[d] + 1;
    for (int d = 0; d < a.rank; d++) turned[d] = extents[a.rank - 1 - d];
    int fits = 1;
    for (int d = 0; d < a.rank; d++) fits &= turned[d] <= b.dims[d];
    patch_of(&q, &b, fits && next(2) ? turned : extents);
    patch_of(&r, &c, fits && next(3) == 0 ? turned : extents);
    patch_of(&s, &m, extents);
}

static void on_two_arrays(void)
{
    static on_two *const whole[] = {GA_Elem_multiply, GA_Elem_divide, GA_Elem_maximum, GA_Elem_minimum};
    static on_patches *const patches[] = {GA_Elem_multiply_patch, GA_Elem_divide_patch, GA_Elem_maximum_patch, GA_Elem_minimum_patch};
    static on_patches64 *const wide[] = {GA_Elem_multiply_patch64, GA_Elem_divide_patch64, GA_Elem_maximum_patch64, GA_Elem_minimum_patch64};
    for (int which = 0; which < 4; which++) {
        give_some(&a);
        give_some(&b);
        give_some(&c);
        whole[which](a.handle, b.handle, c.handle);
        for (int n = 0; n < a.count; n++) c.v[n] = of_two(which, a.v[n], b.v[n]);
        SAME(&c);
        some_patches();
        if (turn % 2) wide[which](a.handle, CORNERS64(p), b.handle, CORNERS64(q), c.handle, CORNERS64(r));
        else patches[which](a.handle, CORNERS(p), b.handle, CORNERS(q), c.handle, CORNERS(r));
        for (int n = 0; n < p.count; n++) c.v[r.at[n]] = of_two(which, a.v[p.at[n]], b.v[q.at[n]]);
        SAME(&c);
        SAME(&a);
        SAME(&b);
    }
    /* Into one of the operands. */
    number alpha = value(), beta = value();
    GA_Add(scalar(alpha), a.handle, scalar(beta), b.handle, a.handle);
    for (int n = 0; n < a.count; n++) a.v[n] = alpha * a.v[n] + beta * b.v[n];
    SAME(&a);
    some_patches();
    if (turn % 2) NGA_Add_patch64(scalar(alpha), a.handle, CORNERS64(p), scalar(beta), b.handle, CORNERS64(q), c.handle, CORNERS64(r));
    else NGA_Add_patch(scalar(alpha), a.handle, CORNERS(p), scalar(beta), b.handle, CORNERS(q), c.handle, CORNERS(r));
    for (int n = 0; n < p.count; n++) c.v[r.at[n]] = alpha * a.v[p.at[n]] + beta * b.v[q.at[n]];
    SAME(&c);
}

/* Of complex numbers that are as large the one or the other may be taken. */
static int is_median(number x, number y, number z, number found)
{
    double least = fmin(order(x), fmin(order(y), order(z))), most = fmax(order(x), fmax(order(y), order(z)));
    double middle = order(x) + order(y) + order(z) - least - most;
    return fabs(order(found) - middle) < 1e-4 && (is_near(found, x) || is_near(found, y) || is_near(found, z));
}

static void of_three(void)
{
    give_some(&a);
    give_some(&b);
    give_some(&c);
    GA_Median(a.handle, b.handle, c.handle, m.handle);
    fetch(&m);
    for (int n = 0; n < m.count; n++) {
        m.v[n] = element(bytes_of_elements, n);
        CHECK(is_median(a.v[n], b.v[n], c.v[n], m.v[n]));
    }
    some_patches();
    if (turn % 2) GA_Median_patch64(a.handle, CORNERS64(p), b.handle, CORNERS64(q), c.handle, CORNERS64(r), m.handle, CORNERS64(s));
    else GA_Median_patch(a.handle, CORNERS(p), b.handle, CORNERS(q), c.handle, CORNERS(r), m.handle, CORNERS(s));
    fetch(&m);
    for (int n = 0; n < p.count; n++) {
        m.v[s.at[n]] = element(bytes_of_elements, s.at[n]);
        CHECK(is_median(a.v[p.at[n]], b.v[q.at[n]], c.v[r.at[n]], m.v[s.at[n]]));
    }
    SAME(&m);
}

static void steps(void)
{
    char found[16];
    if (is_complex()) return;
    give_some(&a);
    give_some(&b);
    GA_Abs_value(a.handle);
    FOR_ALL(absolute(x));
    double least = INFINITY;
    for (int n = 0; n < a.count; n++)
        if (creal(b.v[n]) < 0) least = fmin(least, -creal(a.v[n]) / creal(b.v[n]));
    GA_Step_max(a.handle, b.handle, found);
    if (isfinite(least)) CHECK(is_near(element(found, 0), is_integer() ? trunc(least) : least));
    some_patches();
    least = INFINITY;
    for (int n = 0; n < p.count; n++)
        if (creal(b.v[q.at[n]]) < 0) least = fmin(least, -creal(a.v[p.at[n]]) / creal(b.v[q.at[n]]));
    if (turn % 2) GA_Step_max_patch64(a.handle, CORNERS64(p), b.handle, CORNERS64(q), found);
    else GA_Step_max_patch(a.handle, CORNERS(p), b.handle, CORNERS(q), found);
    if (isfinite(least)) CHECK(is_near(element(found, 0), is_integer() ? trunc(least) : least));
}

/* Where in the copy a patch's elements are in the order of the transposed patch: the first dimension the fastest. */
static const int *turned(const struct patch *of, const struct array *x)
{
    static int at[MOST_ELEMENTS];
    int index[MOST_RANK];
    memcpy(index, of->lo, sizeof index);
    for (int n = 0; n < of->count; n++) {
        at[n] = 0;
        for (int d = 0; d < x->rank; d++) at[n] = at[n] * x->dims[d] + index[d];
        for (int d = 0; d < x->rank && ++index[d] > of->hi[d]; d++) index[d] = of->lo[d];
    }
    return at;
}

static number dot_of_patches(const int *from, const int *with)
{
    number sum = 0;
    for (int n = 0; n < p.count; n++) sum += a.v[from[n]] * b.v[with[n]];
    return sum;
}

/* Of complex numbers without conjugating. */
static number dot(void)
{
    switch (type) {
    case C_INT: return GA_Idot(a.handle, b.handle);
    case C_LONG: return GA_Ldot(a.handle, b.handle);
    case C_LONGLONG: return GA_Lldot(a.handle, b.handle);
    case C_FLOAT: return GA_Fdot(a.handle, b.handle);
    case C_DBL: return GA_Ddot(a.handle, b.handle);
    case C_SCPL: {
        SingleComplex found = GA_Cdot(a.handle, b.handle);
        return found.real + I * found.imag;
    }
    default: {
        DoubleComplex found = GA_Zdot(a.handle, b.handle);
        return found.real + I * found.imag;
    }
    }
}

#define DOT(name)                                                                                                      \
    (turn % 2 ? name##64(a.handle, ta, CORNERS64(p), b.handle, tb, CORNERS64(q)) : name(a.handle, ta, CORNERS(p), b.handle, tb, CORNERS(q)))

static number dot_patch(char ta, char tb)
{
    switch (type) {
    case C_INT: return DOT(NGA_Idot_patch);
    case C_LONG: return DOT(NGA_Ldot_patch);
    case C_LONGLONG: return DOT(NGA_Lldot_patch);
    case C_FLOAT: return DOT(NGA_Fdot_patch);
    case C_DBL: return DOT(NGA_Ddot_patch);
    case C_SCPL: {
        SingleComplex found = DOT(NGA_Cdot_patch);
        return found.real + I * found.imag;
    }
    default: {
        DoubleComplex found = DOT(NGA_Zdot_patch);
        return found.real + I * found.imag;
    }
    }
}

static void to_one(void)
{
    int index[MOST_RANK];
    int64_t index64[MOST_RANK];
    char found[16];
    give_some(&a);
    give_some(&b);
    number sum = 0, most = a.v[0], least = a.v[0];
    int at_most = 0, at_least = 0;
    double norm1 = 0, norm = 0;
    for (int n = 0; n < a.count; n++) {
        sum += a.v[n] * b.v[n];
        norm1 += cabs(a.v[n]);
        norm = fmax(norm, cabs(a.v[n]));
        if (order(a.v[n]) > order(most)) most = a.v[at_most = n];
        if (order(a.v[n]) < order(least)) least = a.v[at_least = n];
    }
    CHECK(is_near(dot(), sum));
    some_patches();
    CHECK(is_near(dot_patch('n', 'n'), dot_of_patches(p.at, q.at)));
    CHECK(is_near(dot_patch('T', 'T'), dot_of_patches(p.at, q.at)));
    CHECK(is_near(dot_patch('n', 't'), dot_of_patches(p.at, turned(&q, &b))));
    CHECK(is_near(dot_patch('T', 'N'), dot_of_patches(p.at, turned(&q, &b))));
    if (a.rank <= 2) {
        double told;
        GA_Norm1(a.handle, &told);
        CHECK(fabs(told - norm1) <= 1e-5 * norm1);
        GA_Norm_infinity(a.handle, &told);
        CHECK(fabs(told - norm) <= 1e-5 * norm);
    }
    for (int which = 0; which < 2; which++) {
        int place = 0;
        if (turn % 2) NGA_Select_elem64(a.handle, which ? "max" : "min", found, index64);
        else NGA_Select_elem(a.handle, which ? "max" : "min", found, index);
        for (int d = 0; d < a.rank; d++) place = place * a.dims[d] + (turn % 2 ? (int)index64[d] : index[d]);
        CHECK(is_near(element(found, 0), which ? most : least) && place == (which ? at_most : at_least));
    }
}

static void copies(void)
{
    give_some(&a);
    give_some(&c);
    GA_Copy(a.handle, c.handle);
    memcpy(c.v, a.v, sizeof c.v);
    SAME(&c);
    give_some(&b);
    some_patches();
    if (turn % 2) NGA_Copy_patch64('n', a.handle, CORNERS64(p), b.handle, CORNERS64(q));
    else NGA_Copy_patch('N', a.handle, CORNERS(p), b.handle, CORNERS(q));
    for (int n = 0; n < p.count; n++) b.v[q.at[n]] = a.v[p.at[n]];
    SAME(&b);
    GA_Sync();
    if (turn % 2) NGA_Copy_patch64('T', a.handle, CORNERS64(p), b.handle, CORNERS64(q));
    else NGA_Copy_patch('t', a.handle, CORNERS(p), b.handle, CORNERS(q));
    const int *from = turned(&p, &a);
    for (int n = 0; n < p.count; n++) b.v[q.at[n]] = a.v[from[n]];
    SAME(&b);
    SAME(&a);
}

int main(void)
{
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    state = 11 + size;
    for (turn = 0; turn < TURNS; turn++) {
        int dims[MOST_RANK], rank = 1 + next(MOST_RANK);
        type = TYPES[next(7)];
        for (int d = 0; d < rank; d++) dims[d] = 1 + next(rank == 1 ? 120 : rank == 2 ? 16 : rank == 3 ? 8 : 5);
        make_some(&a, rank, dims);
        make_some(&b, rank, dims);
        make_some(&c, rank, dims);
        make_some(&m, rank, dims);
        on_one();
        on_two_arrays();
        of_three();
        steps();
        to_one();
        copies();
        GA_Sync();
        GA_Destroy(a.handle);
        GA_Destroy(b.handle);
        GA_Destroy(c.handle);
        GA_Destroy(m.handle);
    }
    GA_Terminate();
    return 0;
}
