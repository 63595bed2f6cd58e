/* GA_Update_ghosts with margins of one double, corners too, beside MPI_Sendrecv with subarray types, dimension by dimension.
 *
 *   ga_ghosts [--seconds S] [DIMENSIONS:N ...]
 *
 * N points per process in each dimension; everything is periodic. What both leave in the margins is compared. */
#define _GNU_SOURCE
#include "ga_measure.h"

enum { MOST = 4 };

static int array, dimensions, local[MOST];
static double *box;
static MPI_Comm grid;
static MPI_Datatype types[MOST][4];

static void update(int count)
{
    for (int i = 0; i < count; i++)
        GA_Update_ghosts(array);
}

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

static long make(int n)
{
    int dims[MOST], blocks[MOST], width[MOST], periodic[MOST], ld[MOST], ranks = GA_Nnodes();
    double *ours;
    long points = 1;
    for (int d = 0; d < dimensions; d++) {
        dims[d] = n;
        width[d] = periodic[d] = 1;
    }
    for (int d = 0; ranks > 1; d = (d + 1) % dimensions, ranks /= 2)
        dims[d] *= 2;
    array = NGA_Create_ghosts(C_DBL, dimensions, dims, width, "ghosts", NULL);
    if (!array)
        give_up("ga_ghosts: no memory");
    GA_Nblock(array, blocks);
    NGA_Access_ghosts(array, local, &ours, ld);
    for (int d = 0; d < dimensions; d++) {
        if (local[d] != n + 2 || blocks[d] * n != dims[d])
            give_up("ga_ghosts: blocks differ; take 2, 4 or 8 processes");
        points *= local[d];
    }
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, blocks, periodic, 0, &grid);
    box = aligned_alloc(4096, ((size_t)points * 8 + 4095) / 4096 * 4096);
    for (int d = 0; d < dimensions; d++) {
        types[d][0] = slab(d, 1);
        types[d][1] = slab(d, n + 1);
        types[d][2] = slab(d, n);
        types[d][3] = slab(d, 0);
    }
    for (long i = 0; i < points; i++)
        box[i] = ours[i] = (double)(i + points * GA_Nodeid());
    update(1);
    exchange(1);
    if (memcmp(ours, box, (size_t)points * 8) != 0)
        give_up("ga_ghosts: the margins differ");
    return points;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    for (int i = 0; i < a.count; i++) {
        char fields[80];
        dimensions = a.cells[i][0] - '0';
        make(cell_size(a.cells[i]));
        snprintf(fields, sizeof fields, "dimensions=%d size=%d ranks=%d", dimensions, cell_size(a.cells[i]), GA_Nnodes());
        compare("ga_ghosts", fields, update, exchange, a.seconds * 1e6 / a.count);
        for (int d = 0; d < dimensions; d++)
            for (int t = 0; t < 4; t++)
                MPI_Type_free(&types[d][t]);
        MPI_Comm_free(&grid);
        free(box);
        GA_Destroy(array);
    }
    end();
    return 0;
}
