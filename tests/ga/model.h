/* Arrays of Global Arrays beside a plain copy of them, the same at every process. Elements are whole numbers, which every type holds. */
#ifndef MODEL_H
#define MODEL_H

#include <complex.h>
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

enum { MOST_ELEMENTS = 1200, MOST_RANK = 4, LAYOUTS = 8 };

static int me, size, type, layout, turn;
static unsigned long state;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            char what[256];                                                                                            \
            snprintf(what, sizeof what, "turn %d, type %d, layout %d: %s, line", turn, type, layout, #condition);      \
            GA_Error(what, __LINE__);                                                                                  \
        }                                                                                                              \
    } while (0)

/* The same at every process. */
static inline int next(int below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)below);
}

static inline int is_complex(void) { return type == C_SCPL || type == C_DCPL; }
static inline int is_single(void) { return type == C_FLOAT || type == C_SCPL; }
static inline int is_integer(void) { return type == C_INT || type == C_LONG || type == C_LONGLONG; }

static inline size_t width(void)
{
    return type == C_INT || type == C_FLOAT ? 4 : type == C_DCPL ? 16 : 8;
}

static inline void set(void *to, int at, number value)
{
    switch (type) {
    case C_INT: ((int *)to)[at] = (int)creal(value); break;
    case C_LONG: ((long *)to)[at] = (long)creal(value); break;
    case C_LONGLONG: ((long long *)to)[at] = (long long)creal(value); break;
    case C_FLOAT: ((float *)to)[at] = (float)creal(value); break;
    case C_DBL: ((double *)to)[at] = creal(value); break;
    case C_SCPL: ((SingleComplex *)to)[at] = (SingleComplex){(float)creal(value), (float)cimag(value)}; break;
    default: ((DoubleComplex *)to)[at] = (DoubleComplex){creal(value), cimag(value)};
    }
}

static inline number element(const void *of, int at)
{
    switch (type) {
    case C_INT: return ((const int *)of)[at];
    case C_LONG: return ((const long *)of)[at];
    case C_LONGLONG: return ((const long long *)of)[at];
    case C_FLOAT: return ((const float *)of)[at];
    case C_DBL: return ((const double *)of)[at];
    case C_SCPL: return ((const SingleComplex *)of)[at].real + I * ((const SingleComplex *)of)[at].imag;
    default: return ((const DoubleComplex *)of)[at].real + I * ((const DoubleComplex *)of)[at].imag;
    }
}

/* As a C function wants it. */
static inline void *scalar(number value)
{
    static char room[8][16];
    static int used;
    char *at = room[used++ % 8];
    set(at, 0, value);
    return at;
}

static inline int is_near(number a, number b)
{
    double error = is_integer() ? 0 : is_single() ? 1e-4 : 1e-12;
    return cabs(a - b) <= error * (1 + cabs(b));
}

/* From -8 to 8, without 0. */
static inline int some(void)
{
    int value = next(16) - 8;
    return value < 0 ? value : value + 1;
}

static inline number value(void)
{
    double real = some();
    return is_complex() ? real + I * some() : real;
}

/* Whole numbers are divided as C does it. */
static inline number quotient(number a, number b) { return is_integer() ? trunc(creal(a) / creal(b)) : a / b; }

struct array { int handle, rank, dims[MOST_RANK], count; number v[MOST_ELEMENTS]; };

/* Corners in both kinds of integers; places of its elements in the array's copy. */
struct patch { int lo[MOST_RANK], hi[MOST_RANK], count, at[MOST_ELEMENTS]; int64_t lo64[MOST_RANK], hi64[MOST_RANK]; };

#define CORNERS(p) (p).lo, (p).hi
#define CORNERS64(p) (p).lo64, (p).hi64

static inline void whole_corners(const struct array *a, int lo[], int hi[], int ld[])
{
    for (int d = 0; d < a->rank; d++) {
        lo[d] = 0;
        hi[d] = a->dims[d] - 1;
        if (d) ld[d - 1] = a->dims[d];
    }
}

static char bytes_of_elements[16 * MOST_ELEMENTS];

/* Let the array have the copy's elements. */
static inline void give(const struct array *a)
{
    int lo[MOST_RANK], hi[MOST_RANK], ld[MOST_RANK];
    whole_corners(a, lo, hi, ld);
    for (int n = 0; n < a->count; n++) set(bytes_of_elements, n, a->v[n]);
    GA_Sync();
    if (me == 0) NGA_Put(a->handle, lo, hi, bytes_of_elements, ld);
    GA_Sync();
}

static inline void give_some(struct array *a)
{
    for (int n = 0; n < a->count; n++) a->v[n] = value();
    give(a);
}

static inline void fetch(const struct array *a)
{
    int lo[MOST_RANK], hi[MOST_RANK], ld[MOST_RANK];
    whole_corners(a, lo, hi, ld);
    NGA_Get(a->handle, lo, hi, bytes_of_elements, ld);
}

/* Is every element of the array as in the copy? */
#define SAME(a)                                                                                                        \
    do {                                                                                                               \
        fetch(a);                                                                                                      \
        for (int its = 0; its < (a)->count; its++) CHECK(is_near(element(bytes_of_elements, its), (a)->v[its]));       \
    } while (0)

/* An array of these extents, distributed in some way. */
static inline void make(struct array *a, int rank, const int *dims)
{
    int block[MOST_RANK], grid[MOST_RANK], margin[MOST_RANK], counts[MOST_RANK], map[256], places = 0, left = size;
    a->rank = rank;
    a->count = 1;
    for (int d = 0; d < rank; d++) {
        a->count *= a->dims[d] = dims[d];
        block[d] = 1 + next(3);
        grid[d] = 1 + next(left);
        margin[d] = next(2);
        int most = left / grid[d] < 1 ? 1 : grid[d] < dims[d] ? grid[d] : dims[d];
        counts[d] = most;
        for (int n = 0; n < most; n++) map[places++] = n * dims[d] / most;
        left /= grid[d];
    }
    CHECK(a->count <= MOST_ELEMENTS);
    a->handle = GA_Create_handle();
    GA_Set_data(a->handle, rank, a->dims, type);
    switch (layout = next(LAYOUTS)) {
    case 0: GA_Set_irreg_distr(a->handle, map, counts); break;
    case 1: GA_Set_block_cyclic(a->handle, block); break;
    case 2: GA_Set_block_cyclic_proc_grid(a->handle, block, grid); break;
    case 3: GA_Set_tiled_proc_grid(a->handle, block, grid); break;
    case 4: GA_Set_ghosts(a->handle, margin); break;
    case 5: GA_Set_restricted_range(a->handle, size / 2, size - 1); break;
    default: break;
    }
    if (!GA_Allocate(a->handle)) GA_Error("no memory", __LINE__);
}

/* One with elements. */
static inline void make_some(struct array *a, int rank, const int *dims)
{
    make(a, rank, dims);
    give_some(a);
}

/* Where in the copy the patch's elements are, the last dimension fastest. */
static inline void place(struct patch *p, const struct array *a)
{
    int index[MOST_RANK];
    p->count = 1;
    for (int d = 0; d < a->rank; d++) {
        index[d] = p->lo[d];
        p->count *= p->hi[d] - p->lo[d] + 1;
        p->lo64[d] = p->lo[d];
        p->hi64[d] = p->hi[d];
    }
    for (int n = 0; n < p->count; n++) {
        p->at[n] = 0;
        for (int d = 0; d < a->rank; d++) p->at[n] = p->at[n] * a->dims[d] + index[d];
        for (int d = a->rank - 1; d >= 0 && ++index[d] > p->hi[d]; d--) index[d] = p->lo[d];
    }
}

static inline void some_patch(struct patch *p, const struct array *a)
{
    for (int d = 0; d < a->rank; d++) {
        p->lo[d] = next(a->dims[d]);
        p->hi[d] = p->lo[d] + next(a->dims[d] - p->lo[d]);
    }
    place(p, a);
}

/* A patch of these extents, somewhere. */
static inline void patch_of(struct patch *p, const struct array *a, const int *extents)
{
    for (int d = 0; d < a->rank; d++) {
        p->lo[d] = next(a->dims[d] - extents[d] + 1);
        p->hi[d] = p->lo[d] + extents[d] - 1;
    }
    place(p, a);
}

static const int TYPES[7] = {C_INT, C_LONG, C_LONGLONG, C_FLOAT, C_DBL, C_SCPL, C_DCPL};

#endif
