/* A wavefront solver with the communication pattern of NAS LU (SSOR): a square grid of points is cut into columns and rows of ranks; each
 * sweep goes plane by plane from one corner to the opposite one, and each rank waits for its northern and western neighbours, relaxes its
 * block and tells its southern and eastern ones: many small messages. Then the same way back, and an exchange of whole faces.
 *
 *   wavefront [--seconds S] [SIZE ...]
 *
 * SIZE is the number of points along an edge, as are the planes; the result is the time of one iteration (both sweeps and the faces).
 * The sum over all points is compared with that of one rank that does everything. */
#define _GNU_SOURCE
#include "mpi_measure.h"

#include <math.h>

enum { UNKNOWNS = 5 };

static int rank, ranks, columns, rows, column, row, edge, width, height;
static double *grid, *north, *west, *faces[2];

static int neighbour(int down, int right)
{
    int r = row + down, c = column + right;
    return r < 0 || c < 0 || r >= rows || c >= columns ? MPI_PROC_NULL : r * columns + c;
}

static double *point(int plane, int y, int x)
{
    return grid + (((size_t)plane * (size_t)height + (size_t)y) * (size_t)width + (size_t)x) * UNKNOWNS;
}

/* One plane of a sweep; `way` is 1 from the first corner on, -1 back. */
static void relax(int plane, int way)
{
    MPI_Recv(north, width * UNKNOWNS, MPI_DOUBLE, neighbour(-way, 0), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(west, height * UNKNOWNS, MPI_DOUBLE, neighbour(0, -way), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            int y = way > 0 ? j : height - 1 - j, x = way > 0 ? i : width - 1 - i;
            for (int u = 0; u < UNKNOWNS; u++) {
                double *at = point(plane, y, x) + u;
                *at = 0.5 * *at + 0.2 * north[x * UNKNOWNS + u] + 0.2 * west[y * UNKNOWNS + u] + 0.1 * (u + 1);
                north[x * UNKNOWNS + u] = west[y * UNKNOWNS + u] = *at;
            }
        }
    MPI_Send(north, width * UNKNOWNS, MPI_DOUBLE, neighbour(way, 0), 1, MPI_COMM_WORLD);
    MPI_Send(west, height * UNKNOWNS, MPI_DOUBLE, neighbour(0, way), 2, MPI_COMM_WORLD);
}

static void iterations(int count)
{
    int face = edge * (width > height ? width : height);
    while (count-- > 0) {
        for (int way = 1; way >= -1; way -= 2)
            for (int plane = 0; plane < edge; plane++) {
                memset(north, 0, (size_t)width * UNKNOWNS * sizeof *north);
                memset(west, 0, (size_t)height * UNKNOWNS * sizeof *west);
                relax(way > 0 ? plane : edge - 1 - plane, way);
            }
        MPI_Sendrecv(faces[0], face, MPI_DOUBLE, neighbour(1, 0), 3, faces[1], face, MPI_DOUBLE, neighbour(-1, 0), 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(faces[0], face, MPI_DOUBLE, neighbour(0, 1), 4, faces[1], face, MPI_DOUBLE, neighbour(0, -1), 4,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void cut(int of_rows, int of_columns, int at)
{
    rows = of_rows, columns = of_columns, row = at / columns, column = at % columns;
    width = edge / columns, height = edge / rows;
    size_t points = (size_t)edge * (size_t)width * (size_t)height * UNKNOWNS;
    grid = calloc(points, sizeof *grid);
    north = calloc((size_t)width * UNKNOWNS, sizeof *north);
    west = calloc((size_t)height * UNKNOWNS, sizeof *west);
    for (int i = 0; i < 2; i++)
        faces[i] = calloc((size_t)edge * (size_t)edge, sizeof *faces[i]);
    if (!grid || !north || !west || !faces[0] || !faces[1])
        give_up("wavefront: out of memory");
}

static double sum(void)
{
    double all = 0;
    for (size_t i = 0; i < (size_t)edge * (size_t)width * (size_t)height * UNKNOWNS; i++)
        all += grid[i];
    return all;
}

static void drop(void)
{
    free(grid), free(north), free(west), free(faces[0]), free(faces[1]);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    int across = 1;
    while (across * across < ranks)
        across++;
    while (ranks % across != 0)
        across++;
    for (int i = 0; i < a.count; i++) {
        edge = cell_size(a.cells[i]);
        if (edge % across != 0 || edge % (ranks / across) != 0)
            give_up("wavefront: the size is no multiple of the rows and columns of ranks");
        /* Alone, on rank 0. */
        double wanted = 0;
        if (rank == 0) {
            cut(1, 1, 0);
            iterations(2);
            wanted = sum();
            drop();
        }
        cut(ranks / across, across, rank);
        iterations(2);
        double ours = sum(), all = 0;
        MPI_Reduce(&ours, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && fabs(all - wanted) > 1e-9 * fabs(wanted))
            give_up("wavefront: the sum is another one than on one rank");
        begin_count();
        struct samples *samples = time_operations(iterations, 1, a.seconds * 1e6 / a.count);
        end_count();
        if (rank == 0) {
            printf("result wavefront size=%d ", edge);
            print_counts();
            print_samples(samples);
        }
        drop();
    }
    MPI_Finalize();
    return 0;
}
