/* GA_Update_ghosts with margins of one double, corners too, beside MPI_Sendrecv with subarray types, dimension by dimension.
 *
 *   ga_ghosts [--messages] [--seconds S] [DIMENSIONS:N ...]
 *
 * N points per process in each dimension; everything is periodic. What both leave in the margins is compared. With --messages, and without
 * Global Arrays, MPI_Sendrecv alone. */
#define _GNU_SOURCE
#include "ga_measure.h"

enum { MOST = 4 };

static int dimensions, local[MOST];
static double *box;
static MPI_Comm grid;
static MPI_Datatype types[MOST][4];

#ifdef WITH_GA
static int array;

static void update(int count)
{
    for (int i = 0; i < count; i++)
        GA_Update_ghosts(array);
}

/* The array, and its own block with the margins. */
static double *make_array(const int *dims, const int *blocks, const int *wanted)
{
    int ours[MOST], there[MOST], width[MOST] = {1, 1, 1, 1}, ld[MOST], extents[MOST], chunk[MOST];
    double *at;
    memcpy(extents, dims, sizeof extents);
    for (int d = 0; d < dimensions; d++)
        chunk[d] = dims[d] / blocks[d];
    array = NGA_Create_ghosts(C_DBL, dimensions, extents, width, "ghosts", chunk);
    if (!array)
        give_up("ga_ghosts: no memory");
    GA_Nblock(array, there);
    NGA_Access_ghosts(array, ours, &at, ld);
    for (int d = 0; d < dimensions; d++)
        if (there[d] != blocks[d] || ours[d] != wanted[d])
            give_up("ga_ghosts: blocks differ");
    return at;
}
#endif

static void exchange(int count)
{
    for (int i = 0; i < count; i++)
        for (int d = 0; d < dimensions; d++) {
            int below, above;
            MPI_Cart_shift(grid, d, 1, &below, &above);
            MPI_Sendrecv(box, 1, types[d][0], below, 0, box, 1, types[d][1], above, 0, grid, MPI_STATUS_IGNORE);
            MPI_Sendrecv(box, 1, types[d][2], above, 1, box, 1, types[d][3], below, 1, grid, MPI_STATUS_IGNORE);
        }
}

/* A slab of the box: in dimension `d` the index `at`, in those before it everything, in those after it what is not margin. */
static MPI_Datatype slab(int d, int at)
{
    int extents[MOST], starts[MOST];
    for (int e = 0; e < dimensions; e++) {
        extents[e] = e == d ? 1 : e < d ? local[e] : local[e] - 2;
        starts[e] = e == d ? at : e < d ? 0 : 1;
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(dimensions, local, extents, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void make(int n, int messages)
{
    int blocks[MOST] = {1, 1, 1, 1}, periodic[MOST] = {1, 1, 1, 1}, left = ranks;
    long points = 1;
    for (int d = 0; left > 1; d = (d + 1) % dimensions, left /= 2) {
        if (left % 2)
            give_up("ga_ghosts: takes 2, 4, 8 or 16 processes");
        blocks[d] *= 2;
    }
    for (int d = 0; d < dimensions; d++) {
        local[d] = n + 2;
        points *= local[d];
    }
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, blocks, periodic, 0, &grid);
    box = aligned_alloc(4096, ((size_t)points * 8 + 4095) / 4096 * 4096);
    if (!box)
        give_up("ga_ghosts: no memory");
    for (int d = 0; d < dimensions; d++) {
        types[d][0] = slab(d, 1);
        types[d][1] = slab(d, n + 1);
        types[d][2] = slab(d, n);
        types[d][3] = slab(d, 0);
    }
    for (long i = 0; i < points; i++)
        box[i] = (double)(i + points * rank);
    exchange(1);
#ifdef WITH_GA
    if (messages)
        return;
    int dims[MOST] = {1, 1, 1, 1};
    for (int d = 0; d < dimensions; d++)
        dims[d] = n * blocks[d];
    double *ours = make_array(dims, blocks, local);
    for (long i = 0; i < points; i++)
        ours[i] = (double)(i + points * rank);
    update(1);
    if (memcmp(ours, box, (size_t)points * 8) != 0)
        give_up("ga_ghosts: the margins differ");
#else
    (void)messages;
#endif
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int messages = has_option(argc, argv, "--messages");
    begin(&argc, &argv);
    for (int i = 0; i < a.count; i++) {
        char fields[80];
        double budget_us = a.seconds * 1e6 / a.count;
        int n = cell_size(a.cells[i]);
        dimensions = a.cells[i][0] - '0';
        make(n, messages);
        snprintf(fields, sizeof fields, "way=%s dimensions=%d size=%d ranks=%d", messages ? "sendrecv" : "ga", dimensions, n, ranks);
#ifdef WITH_GA
        if (!messages) {
            compare("ga_ghosts", fields, update, exchange, budget_us);
            GA_Destroy(array);
        } else
#endif
            measure_alone("ga_ghosts", fields, exchange, budget_us);
        for (int d = 0; d < dimensions; d++)
            for (int t = 0; t < 4; t++)
                MPI_Type_free(&types[d][t]);
        MPI_Comm_free(&grid);
        free(box);
    }
    end();
    return 0;
}
