/* A file of PnetCDF's that ranks write and read together: blocks, strided and mapped sections, lists of sections, non-blocking and buffered requests,
 * record variables, independent accesses, definitions that move what is there. PnetCDF and this program know Open MPI's header and nothing of us. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: rank %d of %d: not so: %s\n", __FILE__, __LINE__, rank, size, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        }                                                                                             \
    } while (0)

#define OK(call)                                                                                      \
    do {                                                                                              \
        int code_ = (call);                                                                           \
        if (code_ != NC_NOERR) {                                                                      \
            fprintf(stderr, "%s:%d: rank %d of %d: %s: %s\n", __FILE__, __LINE__, rank, size, #call, ncmpi_strerror(code_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        }                                                                                             \
    } while (0)

enum { ROWS = 24, WIDTH = 6, RECORDS = 3, LATER = 40 };

static int value_of(int row, MPI_Offset column) { return row * 1000 + (int)column; }

struct names {
    int grid, strided, mapped, listed, buffered, records;
};

static int defined(int file, const char *name, int type, int first, int second) {
    int variable, dims[2] = {first, second};
    OK(ncmpi_def_var(file, name, type, 2, dims, &variable));
    return variable;
}

static struct names definitions(int file) {
    struct names names;
    int row, column, time;
    OK(ncmpi_def_dim(file, "row", ROWS, &row));
    OK(ncmpi_def_dim(file, "column", (MPI_Offset)WIDTH * size, &column));
    OK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
    names.grid = defined(file, "grid", NC_INT, row, column);
    names.strided = defined(file, "strided", NC_DOUBLE, row, column);
    names.mapped = defined(file, "mapped", NC_SHORT, row, column);
    names.listed = defined(file, "listed", NC_INT64, row, column);
    names.buffered = defined(file, "buffered", NC_FLOAT, row, column);
    names.records = defined(file, "records", NC_INT, time, column);
    OK(ncmpi_put_att_int(file, NC_GLOBAL, "ranks", NC_INT, 1, &size));
    return names;
}

/* The columns of a rank: WIDTH in a row, or every size-th. */
static void write_all(int file, const struct names *names) {
    MPI_Offset block[2] = {0, (MPI_Offset)WIDTH * rank}, count[2] = {ROWS, WIDTH};
    MPI_Offset turn[2] = {0, rank}, stride[2] = {1, size}, map[2] = {1, ROWS};
    int grid[ROWS][WIDTH], strided[ROWS][WIDTH], mapped[WIDTH][ROWS], requests[4], states[4];
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++) {
            grid[row][i] = value_of(row, block[1] + i);
            strided[row][i] = mapped[i][row] = value_of(row, rank + (MPI_Offset)i * size);
        }
    OK(ncmpi_put_vara_int_all(file, names->grid, block, count, &grid[0][0]));
    OK(ncmpi_put_vars_int_all(file, names->strided, turn, count, stride, &strided[0][0]));
    OK(ncmpi_put_varm_int_all(file, names->mapped, turn, count, stride, map, &mapped[0][0]));
    /* Sections of several variables, in one access. */
    MPI_Offset *starts[ROWS], *counts[ROWS], at[ROWS][2], of[ROWS][2];
    for (int row = 0; row < ROWS; row++) {
        at[row][0] = row, at[row][1] = block[1], of[row][0] = 1, of[row][1] = WIDTH;
        starts[row] = at[row], counts[row] = of[row];
    }
    OK(ncmpi_iput_varn_int(file, names->listed, ROWS, starts, counts, &grid[0][0], &requests[0]));
    OK(ncmpi_buffer_attach(file, sizeof grid));
    OK(ncmpi_bput_vara_int(file, names->buffered, block, count, &grid[0][0], &requests[1]));
    MPI_Offset records[2] = {0, block[1]}, some[2] = {RECORDS, WIDTH};
    OK(ncmpi_iput_vara_int(file, names->records, records, some, &grid[0][0], &requests[2]));
    OK(ncmpi_wait_all(file, 3, requests, states));
    for (int i = 0; i < 3; i++) OK(states[i]);
    OK(ncmpi_buffer_detach(file));
    /* One element more of each rank, by itself. */
    OK(ncmpi_begin_indep_data(file));
    MPI_Offset one[2] = {0, block[1]};
    OK(ncmpi_put_var1_int(file, names->grid, one, &grid[0][0]));
    OK(ncmpi_end_indep_data(file));
}

static void compare(int file, int variable, int rows, int by_turns) {
    MPI_Offset columns = (MPI_Offset)WIDTH * size, start[2] = {0, 0}, count[2] = {rows, columns};
    /* What the next rank has written. */
    int other = (rank + 1) % size, found[ROWS][WIDTH], *all = calloc((size_t)(ROWS * columns), sizeof *all);
    MPI_Offset first[2] = {0, by_turns ? other : (MPI_Offset)WIDTH * other}, some[2] = {rows, WIDTH}, stride[2] = {1, by_turns ? size : 1};
    OK(ncmpi_get_vars_int_all(file, variable, first, some, stride, &found[0][0]));
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < WIDTH; i++) CHECK(found[row][i] == value_of(row, first[1] + i * stride[1]));
    int request, state;
    OK(ncmpi_iget_vara_int(file, variable, start, count, all, &request));
    OK(ncmpi_wait_all(file, 1, &request, &state));
    for (int row = 0; row < rows; row++)
        for (MPI_Offset i = 0; i < columns; i++) CHECK(all[row * columns + i] == value_of(row, i));
    free(all);
}

static void compare_all(int file, const struct names *names) {
    MPI_Offset records;
    OK(ncmpi_inq_dimlen(file, 2, &records));
    CHECK(records == RECORDS);
    compare(file, names->grid, ROWS, 0);
    compare(file, names->strided, ROWS, 1);
    compare(file, names->mapped, ROWS, 1);
    compare(file, names->listed, ROWS, 0);
    compare(file, names->buffered, ROWS, 0);
    compare(file, names->records, RECORDS, 0);
}

int main(int argc, char **argv) {
    int file, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    for (int format = 0; format < 3; format++) {
        static const int FORMATS[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
        if (format < 2) {
            /* The older formats have no 64-bit integers. */
            OK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | FORMATS[format], MPI_INFO_NULL, &file));
            int dim, variable, own = value_of(7, rank), all;
            MPI_Offset at = rank;
            OK(ncmpi_def_dim(file, "rank", size, &dim));
            OK(ncmpi_def_var(file, "own", NC_INT, 1, &dim, &variable));
            OK(ncmpi_enddef(file));
            OK(ncmpi_put_var1_int_all(file, variable, &at, &own));
            at = size - 1;
            OK(ncmpi_sync(file));
            MPI_Barrier(MPI_COMM_WORLD);
            OK(ncmpi_get_var1_int_all(file, variable, &at, &all));
            CHECK(all == value_of(7, size - 1));
            OK(ncmpi_close(file));
            continue;
        }
        MPI_Info hints;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "nc_var_align_size", "1");
        MPI_Info_set(hints, "romio_ds_write", "disable");
        OK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | FORMATS[format], hints, &file));
        MPI_Info_free(&hints);
        struct names names = definitions(file);
        OK(ncmpi_enddef(file));
        write_all(file, &names);
        compare_all(file, &names);
        /* The header grows: all data move. */
        OK(ncmpi_redef(file));
        char text[LATER * 100] = "later";
        OK(ncmpi_put_att_text(file, NC_GLOBAL, "later", sizeof text, text));
        OK(ncmpi_enddef(file));
        compare_all(file, &names);
        OK(ncmpi_close(file));
        OK(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
        OK(ncmpi_get_att_int(file, NC_GLOBAL, "ranks", &ranks));
        CHECK(ranks == size);
        compare_all(file, &names);
        OK(ncmpi_close(file));
    }
    if (rank == 0) puts("pnetcdf: all is there");
    MPI_Finalize();
    return 0;
}
