/* 2-D heat diffusion: a plate with hot and cold rims, cut into blocks, one per rank.
 *
 *   mpicc -O3 heat.c -o heat -lm
 *   mpiexec -n 4 ./heat [picture.png [cells [steps]]]
 *
 * Each step, a rank exchanges the rim of its block with its four neighbours by non-blocking messages, computes the
 * inside of the block while they travel, and then the rim. At the end rank 0 collects the blocks and writes a PNG. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NORTH, SOUTH, WEST, EAST, SIDES };

static int rank, size;

/* The block of this rank: `rows` x `columns` cells, with a rim of one cell around them. */
static int cells, rows, columns, first_row, first_column, grid_rows, grid_columns;

static size_t at(int row, int column) { return (size_t)(row + 1) * (columns + 2) + column + 1; }

static void fail(const char *what) {
    fprintf(stderr, "heat: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *memory(size_t bytes) {
    void *found = calloc(1, bytes);
    if (!found) fail("out of memory");
    return found;
}

/* Part `index` of `parts` of a line of `cells` cells. */
static int part_begin(int index, int parts) { return (int)((int64_t)cells * index / parts); }

static void cut_the_plate(int neighbour[SIDES]) {
    for (grid_rows = (int)sqrt((double)size); size % grid_rows; grid_rows--) {}
    grid_columns = size / grid_rows;
    int row = rank / grid_columns, column = rank % grid_columns;
    first_row = part_begin(row, grid_rows);
    rows = part_begin(row + 1, grid_rows) - first_row;
    first_column = part_begin(column, grid_columns);
    columns = part_begin(column + 1, grid_columns) - first_column;
    neighbour[NORTH] = row > 0 ? rank - grid_columns : MPI_PROC_NULL;
    neighbour[SOUTH] = row + 1 < grid_rows ? rank + grid_columns : MPI_PROC_NULL;
    neighbour[WEST] = column > 0 ? rank - 1 : MPI_PROC_NULL;
    neighbour[EAST] = column + 1 < grid_columns ? rank + 1 : MPI_PROC_NULL;
}

/* A hot arc above, a cold one below, and a hot disc in the middle that cools. */
static void heat_up(double *plate) {
    for (int row = -1; row <= rows; row++)
        for (int column = -1; column <= columns; column++) {
            double y = (first_row + row + 0.5) / cells, x = (first_column + column + 0.5) / cells;
            double warmth = 0;
            if (first_row + row < 0) warmth = sin(M_PI * x);
            if (first_row + row >= cells) warmth = -sin(M_PI * x);
            if (hypot(x - 0.5, y - 0.5) < 0.2) warmth = 1;
            plate[at(row, column)] = warmth;
        }
}

static double relax(const double *old, double *new, int row_begin, int row_end, int column_begin, int column_end) {
    double change = 0;
    for (int row = row_begin; row < row_end; row++) {
        const double *above = old + at(row - 1, 0), *here = old + at(row, 0), *below = old + at(row + 1, 0);
        double *out = new + at(row, 0);
        for (int column = column_begin; column < column_end; column++) {
            out[column] = 0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
            double difference = out[column] - here[column];
            change += difference * difference;
        }
    }
    return change;
}

/* One step from `old` to `new`; the answer is this block's part of the change. */
static double step(double *old, double *new, const int neighbour[SIDES], double *rims) {
    double *to_west = rims, *to_east = rims + rows, *from_west = rims + 2 * rows, *from_east = rims + 3 * rows;
    MPI_Request requests[2 * SIDES];
    for (int row = 0; row < rows; row++) {
        to_west[row] = old[at(row, 0)];
        to_east[row] = old[at(row, columns - 1)];
    }
    MPI_Irecv(old + at(-1, 0), columns, MPI_DOUBLE, neighbour[NORTH], SOUTH, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(old + at(rows, 0), columns, MPI_DOUBLE, neighbour[SOUTH], NORTH, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(from_west, rows, MPI_DOUBLE, neighbour[WEST], EAST, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(from_east, rows, MPI_DOUBLE, neighbour[EAST], WEST, MPI_COMM_WORLD, &requests[3]);
    MPI_Isend(old + at(0, 0), columns, MPI_DOUBLE, neighbour[NORTH], NORTH, MPI_COMM_WORLD, &requests[4]);
    MPI_Isend(old + at(rows - 1, 0), columns, MPI_DOUBLE, neighbour[SOUTH], SOUTH, MPI_COMM_WORLD, &requests[5]);
    MPI_Isend(to_west, rows, MPI_DOUBLE, neighbour[WEST], WEST, MPI_COMM_WORLD, &requests[6]);
    MPI_Isend(to_east, rows, MPI_DOUBLE, neighbour[EAST], EAST, MPI_COMM_WORLD, &requests[7]);

    double change = relax(old, new, 1, rows - 1, 1, columns - 1);
    MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
    for (int row = 0; row < rows; row++) {
        if (neighbour[WEST] != MPI_PROC_NULL) old[at(row, -1)] = from_west[row];
        if (neighbour[EAST] != MPI_PROC_NULL) old[at(row, columns)] = from_east[row];
    }
    change += relax(old, new, 0, 1, 0, columns) + relax(old, new, rows - 1, rows, 0, columns);
    return change + relax(old, new, 1, rows - 1, 0, 1) + relax(old, new, 1, rows - 1, columns - 1, columns);
}

/* ---- the picture ---- */

static void colour(double warmth, uint8_t out[3]) {
    static const double stops[5][3] = {{20, 30, 110}, {60, 150, 220}, {245, 245, 240}, {245, 160, 50}, {150, 10, 25}};
    double place = (fmin(1, fmax(-1, warmth)) + 1) * 2;
    int stop = (int)fmin(3, place);
    for (int i = 0; i < 3; i++) out[i] = (uint8_t)lround(stops[stop][i] + (place - stop) * (stops[stop + 1][i] - stops[stop][i]));
}

static uint32_t crc(uint32_t sum, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return sum;
}

static void big_endian(uint8_t *out, uint32_t value) {
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void chunk(FILE *file, const char *kind, const uint8_t *bytes, uint32_t length) {
    uint8_t word[4];
    big_endian(word, length);
    fwrite(word, 1, 4, file);
    fwrite(kind, 1, 4, file);
    fwrite(bytes, 1, length, file);
    big_endian(word, ~crc(crc(~0u, (const uint8_t *)kind, 4), bytes, length));
    fwrite(word, 1, 4, file);
}

/* PNG with stored deflate blocks: no library needed. */
static void write_png(const char *path, const uint8_t *pixels, int side) {
    size_t line = 1 + 3 * (size_t)side, length = line * side, done = 0, end = 0;
    uint8_t *raw = memory(length), *packed = memory(length + length / 65535 * 5 + 16), head[13] = {0};
    uint32_t a = 1, b = 0;
    for (int y = 0; y < side; y++) memcpy(raw + y * line + 1, pixels + (size_t)y * 3 * side, 3 * (size_t)side);
    packed[end++] = 0x78;
    packed[end++] = 0x01;
    while (done < length) {
        size_t piece = length - done < 65535 ? length - done : 65535;
        packed[end++] = done + piece == length;
        packed[end++] = (uint8_t)piece, packed[end++] = (uint8_t)(piece >> 8);
        packed[end++] = (uint8_t)~piece, packed[end++] = (uint8_t)(~piece >> 8);
        memcpy(packed + end, raw + done, piece);
        end += piece, done += piece;
    }
    for (size_t i = 0; i < length; i++) {
        a = (a + raw[i]) % 65521;
        b = (b + a) % 65521;
    }
    big_endian(packed + end, b << 16 | a);
    end += 4;

    FILE *file = fopen(path, "wb");
    if (!file) fail("cannot write the picture");
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    big_endian(head, (uint32_t)side);
    big_endian(head + 4, (uint32_t)side);
    head[8] = 8, head[9] = 2;
    chunk(file, "IHDR", head, 13);
    chunk(file, "IDAT", packed, (uint32_t)end);
    chunk(file, "IEND", head, 0);
    if (fclose(file)) fail("cannot write the picture");
    free(raw);
    free(packed);
}

/* Every rank paints its block; rank 0 puts the blocks together. */
static void paint(const char *path, const double *plate) {
    int place[4] = {first_row, first_column, rows, columns};
    uint8_t *block = memory((size_t)rows * columns * 3);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) colour(plate[at(row, column)], block + 3 * ((size_t)row * columns + column));
    if (rank > 0) {
        MPI_Send(place, 4, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(block, rows * columns * 3, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        free(block);
        return;
    }
    uint8_t *picture = memory((size_t)cells * cells * 3);
    for (int from = 0; from < size; from++) {
        if (from > 0) {
            MPI_Recv(place, 4, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            block = memory((size_t)place[2] * place[3] * 3);
            MPI_Recv(block, place[2] * place[3] * 3, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int row = 0; row < place[2]; row++)
            memcpy(picture + 3 * ((size_t)(place[0] + row) * cells + place[1]), block + 3 * (size_t)row * place[3], 3 * (size_t)place[3]);
        free(block);
    }
    write_png(path, picture, cells);
    free(picture);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = argc > 1 ? argv[1] : "heat.png";
    cells = argc > 2 ? atoi(argv[2]) : 512;
    int steps = argc > 3 ? atoi(argv[3]) : 4000, neighbour[SIDES];
    cut_the_plate(neighbour);
    if (rows < 2 || columns < 2) fail("too few cells for so many ranks");

    size_t area = (size_t)(rows + 2) * (columns + 2);
    double *old = memory(area * sizeof *old), *new = memory(area * sizeof *new), *rims = memory(4 * (size_t)rows * sizeof *rims);
    heat_up(old);
    memcpy(new, old, area * sizeof *old);
    double begun = MPI_Wtime(), change = 0, total = 0;
    for (int done = 1; done <= steps; done++) {
        change = step(old, new, neighbour, rims);
        double *swap = old;
        old = new, new = swap;
        if (done % (steps / 10 > 0 ? steps / 10 : 1) == 0 || done == steps) {
            MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            if (rank == 0) printf("step %5d of %d: change %.3e\n", done, steps, sqrt(total) / cells), fflush(stdout);
        }
    }
    double seconds = MPI_Wtime() - begun;
    if (rank == 0)
        printf("%d x %d cells on %d ranks (%d x %d): %.2f s, %.0f million cells per second\n", cells, cells, size, grid_rows,
               grid_columns, seconds, (double)cells * cells * steps / seconds * 1e-6);
    paint(path, old);
    free(old);
    free(new);
    free(rims);
    MPI_Finalize();
    return 0;
}
