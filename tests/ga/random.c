// ranks: 1 2 3 5 8
// more ranks: 4 6 7 9
// Random arrays of every type, distribution and margin; random sections put, got, added and scattered; against a copy at every process.
#include <ga.h>
#include <macdecls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 300, SECTIONS = 8, MOST = 7, ELEMENTS = 4000 };

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            char what[256];                                                                                            \
            snprintf(what, sizeof what, "round %d, %d dimensions, type %d, layout %d: %s, line", turn, ndim, type, layout, #condition); \
            GA_Error(what, __LINE__);                                                                                  \
        }                                                                                                              \
    } while (0)

static int me, size, turn, ndim, type, layout, array, dims[MOST], width[MOST];
/* Integers that every type holds; complex elements have their opposite as imaginary part. */
static long model[ELEMENTS], values[ELEMENTS];
static char buffer[16 * 16 * ELEMENTS];
static unsigned long state;

/* The same at every process. */
static int next(int below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)below);
}

static void set(int at, long value)
{
    switch (type) {
    case C_INT: ((int *)buffer)[at] = (int)value; break;
    case C_LONG: ((long *)buffer)[at] = value; break;
    case C_LONGLONG: ((long long *)buffer)[at] = value; break;
    case C_FLOAT: ((float *)buffer)[at] = (float)value; break;
    case C_DBL: ((double *)buffer)[at] = (double)value; break;
    case C_SCPL: ((SingleComplex *)buffer)[at] = (SingleComplex){(float)value, (float)-value}; break;
    default: ((DoubleComplex *)buffer)[at] = (DoubleComplex){(double)value, (double)-value};
    }
}

static int is(const void *of, int at, long value)
{
    switch (type) {
    case C_INT: return ((const int *)of)[at] == value;
    case C_LONG: return ((const long *)of)[at] == value;
    case C_LONGLONG: return ((const long long *)of)[at] == value;
    case C_FLOAT: return ((const float *)of)[at] == value;
    case C_DBL: return ((const double *)of)[at] == value;
    case C_SCPL: return ((const SingleComplex *)of)[at].real == value && ((const SingleComplex *)of)[at].imag == -value;
    default: return ((const DoubleComplex *)of)[at].real == value && ((const DoubleComplex *)of)[at].imag == -value;
    }
}

static const void *two(void)
{
    static int i = 2;
    static long l = 2;
    static float f[2] = {2, 0};
    static double d[2] = {2, 0};
    return type == C_INT ? (void *)&i : type == C_LONG || type == C_LONGLONG ? (void *)&l : type == C_FLOAT || type == C_SCPL ? (void *)f : (void *)d;
}

static int place(const int *index)
{
    int at = 0;
    for (int d = 0; d < ndim; d++) at = at * dims[d] + (index[d] % dims[d] + dims[d]) % dims[d];
    return at;
}

/* A section: of each index its place in the model, and in a buffer with these leading dimensions. */
struct section { int lo[MOST], hi[MOST], skip[MOST], ld[MOST], count, at[ELEMENTS], in[ELEMENTS]; };

static struct section section;

static void enumerate(int beyond)
{
    int extents[MOST], index[MOST] = {0};
    section.count = 1;
    for (int d = 0; d < ndim; d++) {
        int low = next(dims[d]), high = low + next(beyond ? dims[d] : dims[d] - low);
        if (beyond) low -= dims[d] / 2, high -= dims[d] / 2;
        section.lo[d] = low;
        section.hi[d] = high;
        extents[d] = (high - low) / section.skip[d] + 1;
        section.count *= extents[d];
    }
    /* Margins in the buffer, but in arrays of so many dimensions that it would not hold them. */
    for (int d = 1; d < ndim; d++) section.ld[d - 1] = extents[d] + (ndim < 4 ? next(3) : 0);
    for (int n = 0; n < section.count; n++) {
        int where[MOST], in = 0;
        for (int d = 0; d < ndim; d++) {
            where[d] = section.lo[d] + index[d] * section.skip[d];
            in = d ? in * section.ld[d - 1] + index[d] : index[d];
        }
        section.at[n] = place(where);
        section.in[n] = in;
        for (int d = ndim - 1; d >= 0 && ++index[d] == extents[d]; d--) index[d] = 0;
    }
}

static void one_section(void)
{
    int owner = next(size), kind = next(8), is_strided = kind == 4 || kind == 5, beyond = kind == 6 || kind == 7;
    int64_t lo[MOST], hi[MOST], skip[MOST], ld[MOST];
    ga_nbhdl_t request;
    for (int d = 0; d < ndim; d++) section.skip[d] = is_strided ? 1 + next(3) : 1;
    enumerate(beyond);
    for (int d = 0; d < ndim; d++) {
        lo[d] = section.lo[d];
        hi[d] = section.hi[d];
        skip[d] = section.skip[d];
        ld[d] = section.ld[d];
    }
    for (int n = 0; n < section.count; n++) {
        values[n] = next(100) - 50;
        set(section.in[n], values[n]);
    }
    int adds = kind == 1 || kind == 5 || kind == 7;
    for (int n = 0; n < section.count; n++) model[section.at[n]] = adds ? model[section.at[n]] + 2 * size * values[n] : values[n];
    if (adds || me == owner) switch (kind) {
        case 0: NGA_Put(array, section.lo, section.hi, buffer, section.ld); break;
        case 1: NGA_Acc(array, section.lo, section.hi, buffer, section.ld, (void *)two()); break;
        case 2: NGA_Put64(array, lo, hi, buffer, ld); break;
        case 3: NGA_NbPut(array, section.lo, section.hi, buffer, section.ld, &request), NGA_NbWait(&request); break;
        case 4: NGA_Strided_put(array, section.lo, section.hi, section.skip, buffer, section.ld); break;
        case 5: NGA_Strided_acc64(array, lo, hi, skip, buffer, ld, (void *)two()); break;
        case 6: NGA_Periodic_put(array, section.lo, section.hi, buffer, section.ld); break;
        default: NGA_Periodic_acc64(array, lo, hi, buffer, ld, (void *)two());
        }
    GA_Sync();
    memset(buffer, 0x77, sizeof buffer);
    if (is_strided) NGA_Strided_get(array, section.lo, section.hi, section.skip, buffer, section.ld);
    else if (beyond) NGA_Periodic_get(array, section.lo, section.hi, buffer, section.ld);
    else NGA_Get(array, section.lo, section.hi, buffer, section.ld);
    for (int n = 0; n < section.count; n++) CHECK(is(buffer, section.in[n], model[section.at[n]]));
    GA_Sync();
}

static void some_elements(void)
{
    enum { COUNT = 12 };
    int where[COUNT][MOST], *subscripts[COUNT];
    for (int n = 0; n < COUNT; n++) {
        for (int d = 0; d < ndim; d++) where[n][d] = next(dims[d]);
        subscripts[n] = where[n];
        set(n, n - 5);
        model[place(where[n])] += 2 * size * (n - 5);
    }
    NGA_Scatter_acc(array, buffer, subscripts, COUNT, (void *)two());
    GA_Sync();
    NGA_Gather(array, buffer, subscripts, COUNT);
    for (int n = 0; n < COUNT; n++) CHECK(is(buffer, n, model[place(where[n])]));
    GA_Sync();
}

/* The own part with its margins, each side from around the other end. */
static void margins(void)
{
    int lo[MOST], hi[MOST], extents[MOST], ld[MOST], index[MOST] = {0}, total = 1;
    char *at;
    GA_Update_ghosts(array);
    NGA_Distribution(array, me, lo, hi);
    for (int d = 0; d < ndim; d++)
        if (hi[d] < lo[d]) return;
    NGA_Access_ghosts(array, extents, &at, ld);
    for (int d = 0; d < ndim; d++) {
        CHECK(extents[d] == hi[d] - lo[d] + 1 + 2 * width[d]);
        total *= extents[d];
    }
    for (int n = 0; n < total; n++) {
        int where[MOST], in = 0;
        for (int d = 0; d < ndim; d++) {
            where[d] = lo[d] - width[d] + index[d];
            in = d ? in * ld[d - 1] + index[d] : index[d];
        }
        CHECK(is(at, in, model[place(where)]));
        for (int d = ndim - 1; d >= 0 && ++index[d] == extents[d]; d--) index[d] = 0;
    }
    NGA_Release_ghosts(array);
}

static void make(void)
{
    int chunk[MOST], block[MOST], grid[MOST], map[64], counts[MOST], at = 0, left = size, total = 1;
    for (int d = 0; d < ndim; d++) {
        int most = ndim == 1 ? 300 : ndim == 2 ? 40 : ndim == 3 ? 12 : ndim == 4 ? 6 : 3;
        dims[d] = 1 + next(most);
        width[d] = next(3) < dims[d] ? next(2) : 0;
        chunk[d] = next(4) - 1;
        block[d] = 1 + next(4);
        grid[d] = 1 + next(left);
        left /= grid[d];
        total *= dims[d];
    }
    left = size;
    for (int d = 0; d < ndim; d++) {
        int most = left < dims[d] ? left : dims[d];
        counts[d] = 1 + next(most);
        left /= counts[d];
        for (int n = 0, cut = 0; n < counts[d]; n++) {
            /* Anywhere behind the one before, as long as there is an element left for each that is to come. */
            if (n) cut += 1 + next(dims[d] - counts[d] + n - cut);
            map[at++] = cut;
        }
    }
    array = GA_Create_handle();
    GA_Set_data(array, ndim, dims, type);
    switch (layout) {
    case 0: break;
    case 1: GA_Set_chunk(array, chunk); break;
    case 2: GA_Set_irreg_distr(array, map, counts); break;
    case 3: GA_Set_ghosts(array, width); break;
    case 4:
        GA_Set_irreg_distr(array, map, counts);
        GA_Set_ghosts(array, width);
        break;
    case 5: GA_Set_block_cyclic(array, block); break;
    case 6: GA_Set_block_cyclic_proc_grid(array, block, grid); break;
    case 7: GA_Set_tiled_proc_grid(array, block, grid); break;
    default: GA_Set_restricted_range(array, size / 2, size - 1);
    }
    if (!GA_Allocate(array)) GA_Error("no memory", __LINE__);
    CHECK(total <= ELEMENTS);
    memset(model, 0, sizeof model);
}

int main(void)
{
    static const int types[] = {C_INT, C_LONG, C_LONGLONG, C_FLOAT, C_DBL, C_SCPL, C_DCPL};
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    state = 5 + size;
    for (turn = 0; turn < ROUNDS; turn++) {
        ndim = 1 + (next(3) ? next(4) : next(MOST));
        type = types[next(7)];
        layout = next(9);
        make();
        for (int n = 0; n < SECTIONS; n++) one_section();
        some_elements();
        /* Each algorithm, and the one that is chosen. */
        int updates = layout != 3 && layout != 4 ? 0 : next(4) ? 3 : 30;
        for (int n = 0; n < updates; n++) margins();
        GA_Sync();
        GA_Destroy(array);
    }
    GA_Terminate();
    return 0;
}
