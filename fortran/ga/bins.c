/* Values sorted into bins, for Fortran: upstream has this only there (fapi.c, sparse.c of Global Arrays 5.9). Bin b has g_cnt(b) values, which begin
 * behind the g_off(b)-th element of g_bin. */
#include "arrays.h"

/* Counts or offsets of bins, in memory to be freed. */
static long *all_of(INTEGER g_a, int64_t *length) {
    int type = 0, ndim = 0;
    int64_t dims[GA_MAX_DIM] = {0}, lo = 0, hi, i, ld = 0;
    long *wide;
    NGA_Inquire64((int)g_a, &type, &ndim, dims);
    if (ndim != 1 || (type != MT_C_INT && type != MT_C_LONGINT && type != MT_C_LONGLONG))
        GA_Error("bins: counts and offsets must be integers, in one dimension; the handle of the array", (int)g_a);
    *length = dims[0];
    hi = dims[0] - 1;
    wide = malloc(sizeof(long) * (size_t)(dims[0] + 1));
    if (!wide) abort();
    NGA_Get64((int)g_a, &lo, &hi, wide, &ld);
    if (type == MT_C_INT)
        for (i = dims[0] - 1; i >= 0; i--) wide[i] = ((const int *)wide)[i];
    return wide;
}

static int by_value(const void *a, const void *b) {
    INTEGER x = *(const INTEGER *)a, y = *(const INTEGER *)b;
    return (x > y) - (x < y);
}

static void check_bins(INTEGER g_bin) {
    int type = 0, ndim = 0;
    int64_t dims[GA_MAX_DIM];
    NGA_Inquire64((int)g_bin, &type, &ndim, dims);
    if (ndim != 1 || type_out(type) != MT_F_INT) GA_Error("bins: their values must be INTEGERs, in one dimension; the handle of the array", (int)g_bin);
}

/* Each bin is sorted by the process that has its first value. Collective. */
BOTH(void, bin_sorter)(INTEGER *g_bin, INTEGER *g_cnt, INTEGER *g_off) {
    int64_t bins = 0, offsets = 0, ld = 0, b;
    long *count, *offset;
    int me = GA_Pgroup_nodeid(GA_Get_pgroup((int)*g_bin));
    check_bins(*g_bin);
    GA_Sync();
    count = all_of(*g_cnt, &bins);
    offset = all_of(*g_off, &offsets);
    for (b = 0; b < bins && b < offsets; b++) {
        int64_t lo = offset[b], hi = lo + count[b] - 1;
        INTEGER *values;
        if (count[b] < 1 || NGA_Locate64((int)*g_bin, &lo) != me) continue;
        values = malloc(sizeof(INTEGER) * (size_t)count[b]);
        if (!values) abort();
        NGA_Get64((int)*g_bin, &lo, &hi, values, &ld);
        qsort(values, (size_t)count[b], sizeof(INTEGER), by_value);
        NGA_Put64((int)*g_bin, &lo, &hi, values, &ld);
        free(values);
    }
    free(count);
    free(offset);
    GA_Sync();
}

/* A matrix of INTEGERs, 2 by as many columns as there are processes: the first and the last bin whose first value the process has, or 0 and -1.
 * Collective. */
BOTH(LOGICAL, create_bin_range)(INTEGER *g_bin, INTEGER *g_cnt, INTEGER *g_off, INTEGER *g_range) {
    int group = GA_Get_pgroup((int)*g_bin), me = GA_Pgroup_nodeid(group), made;
    int64_t bins = 0, offsets = 0, ld = 2, b, dims[2] = {GA_Pgroup_nnodes(group), 2}, chunk[2] = {1, 2}, lo[2] = {me, 0}, hi[2] = {me, 1};
    INTEGER range[2] = {0, -1};
    long *count, *offset;
    check_bins(*g_bin);
    made = NGA_Create_config64(type_in(MT_F_INT), 2, dims, "bins of processes", chunk, group);
    if (!made) return 0;
    GA_Pgroup_sync(group);
    count = all_of(*g_cnt, &bins);
    offset = all_of(*g_off, &offsets);
    for (b = 0; b < bins && b < offsets; b++) {
        int64_t first = offset[b];
        if (count[b] < 1 || NGA_Locate64((int)*g_bin, &first) != me) continue;
        if (range[0] == 0) range[0] = (INTEGER)b + 1;
        range[1] = (INTEGER)b + 1;
    }
    free(count);
    free(offset);
    NGA_Put64(made, lo, hi, range, &ld);
    GA_Pgroup_sync(group);
    *g_range = made;
    return 1;
}

/* How many values for each bin processes before this one of the default group have, of as many as `mine` says that this one has. Collective. */
static long *before_mine(const long *mine, int64_t bins) {
    enum { AT_A_TIME = 1 << 16 };
    int processes = GA_Nnodes(), me = GA_Nodeid(), p;
    int64_t step = AT_A_TIME / processes > 0 ? AT_A_TIME / processes : 1, first, b;
    long *before = calloc((size_t)bins + 1, sizeof(long)), *table = malloc(sizeof(long) * (size_t)(step * processes));
    if (!before || !table) abort();
    for (first = 0; first < bins; first += step) {
        int64_t width = bins - first < step ? bins - first : step;
        memset(table, 0, sizeof(long) * (size_t)(width * processes));
        memcpy(table + width * me, mine + first, sizeof(long) * (size_t)width);
        GA_Lgop(table, (int)(width * processes), "+");
        for (p = 0; p < me; p++)
            for (b = 0; b < width; b++) before[first + b] += table[width * p + b];
    }
    free(table);
    return before;
}

/* Put values into their bins, behind those of processes before: value i into bin subs(i), which is never less than the one before. Collective over
 * the default group. */
BOTH(void, bin_index)(INTEGER *g_bin, INTEGER *g_cnt, INTEGER *g_off, INTEGER *values, INTEGER *subs, INTEGER *n, LOGICAL *sorts) {
    int64_t bins = 0, i, ld = 0;
    long *offset, *mine, *before;
    check_bins(*g_bin);
    offset = all_of(*g_off, &bins);
    mine = calloc((size_t)bins + 1, sizeof(long));
    if (!mine) abort();
    for (i = 0; i < *n; i++) {
        if (subs[i] < 1 || subs[i] > bins) GA_Error("ga_bin_index: there is no bin of this number", (int)subs[i]);
        if (i > 0 && subs[i] < subs[i - 1]) GA_Error("ga_bin_index: bins must ascend; the one that does not", (int)subs[i]);
        mine[subs[i] - 1]++;
    }
    before = before_mine(mine, bins);
    for (i = 0; i < *n; i += mine[subs[i] - 1]) {
        int64_t bin = subs[i] - 1, lo = offset[bin] + before[bin], hi = lo + mine[bin] - 1;
        NGA_Put64((int)*g_bin, &lo, &hi, values + i, &ld);
    }
    free(offset);
    free(mine);
    free(before);
    if (*sorts) ga_bin_sorter_(g_bin, g_cnt, g_off);
    else GA_Sync();
}
