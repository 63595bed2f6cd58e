/* Half round trip of sections of arrays between ranks 0 and 1, strided on both sides, by size of what is sent.
 *
 *   strided [--seconds S] [SHAPE:SIZE ...]
 *
 * SHAPE is
 *   vector    every second double
 *   2d        half the columns of a matrix, about as many rows as columns
 *   3d        half the rows and columns of each plane of a cube
 * Data, and that nothing beside it was written, is checked before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "sections.h"

enum { TAG = 7, OUTSIDE = -1 };

static int rank;
static struct section section;
static double *outgoing, *incoming;

static void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(outgoing, 1, section.type, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(incoming, 1, section.type, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(incoming, 1, section.type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(outgoing, 1, section.type, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void check_data(double seed)
{
    fill(outgoing, &section, OUTSIDE - 1);
    fill(incoming, &section, OUTSIDE);
    rewrite_section(outgoing, &section, seed + rank);
    rounds(1);
    if (!is_written_section(incoming, &section, seed + (1 - rank), OUTSIDE))
        give_up("strided: received data differs from what was sent");
}

/* The section of `doubles` doubles. */
static struct section shape_of(const char *cell, int doubles)
{
    if (cell_is(cell, "vector"))
        return every_second(doubles);
    if (cell_is(cell, "2d")) {
        int columns = 1;
        while (columns * columns < doubles)
            columns *= 2;
        return section_2d(doubles / columns, columns, 2 * columns);
    }
    if (cell_is(cell, "3d")) {
        int edge = 1;
        while (edge * edge * edge * 8 <= doubles)
            edge *= 2;
        return section_3d(doubles / edge / edge, edge, edge, 2 * edge, 2 * edge);
    }
    give_up("strided: a cell is vector:SIZE, 2d:SIZE or 3d:SIZE");
    return section;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        give_up("strided: needs 2 ranks");
    pin(rank);
    if (rank == 0)
        print_library();

    for (int i = 0; i < a.count; i++) {
        int size = cell_size(a.cells[i]);
        section = shape_of(a.cells[i], size / (int)sizeof(double));
        int bytes = (int)(section.span * sizeof(double));
        outgoing = (double *)buffer(bytes);
        incoming = (double *)buffer(bytes);
        check_data(1);
        struct samples *samples = time_operations(rounds, 2, a.seconds * 1e6 / a.count);
        check_data(1000);
        if (rank == 0) {
            printf("result strided shape=%.*s size=%d ", (int)strcspn(a.cells[i], ":"), a.cells[i], size);
            print_samples(samples);
        }
        free(outgoing);
        free(incoming);
        MPI_Type_free(&section.type);
    }
    MPI_Finalize();
    return 0;
}
