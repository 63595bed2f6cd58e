/* A file of PnetCDF's that ranks write and read together: variables by blocks, records, attributes. PnetCDF and this program know MPICH's header and
 * nothing of us. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

static int rank, size;

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: rank %d of %d: not so: %s\n", __FILE__, __LINE__, rank, size, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        }                                                                                             \
    } while (0)
#define OK(call) CHECK((call) == NC_NOERR)

enum { ROWS = 9, EACH = 5, RECORDS = 6 };

int main(int argc, char **argv) {
    int file, rows, columns, time, fixed, record, in[ROWS][EACH], out[ROWS][EACH];
    short one[EACH], back[EACH];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    OK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    OK(ncmpi_def_dim(file, "rows", ROWS, &rows));
    OK(ncmpi_def_dim(file, "columns", EACH * size, &columns));
    OK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
    OK(ncmpi_def_var(file, "fixed", NC_INT, 2, (int[]){rows, columns}, &fixed));
    OK(ncmpi_def_var(file, "record", NC_SHORT, 2, (int[]){time, columns}, &record));
    OK(ncmpi_put_att_text(file, NC_GLOBAL, "title", 5, "files"));
    OK(ncmpi_enddef(file));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < EACH; c++) out[r][c] = 1000 * r + EACH * rank + c;
    MPI_Offset start[2] = {0, EACH * rank}, count[2] = {ROWS, EACH};
    OK(ncmpi_put_vara_int_all(file, fixed, start, count, &out[0][0]));
    for (int t = 0; t < RECORDS; t++) {
        for (int c = 0; c < EACH; c++) one[c] = (short)(100 * t + EACH * rank + c);
        OK(ncmpi_put_vara_short_all(file, record, (MPI_Offset[]){t, EACH * rank}, (MPI_Offset[]){1, EACH}, one));
    }
    OK(ncmpi_close(file));
    OK(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
    int other = (rank + 1) % size;
    start[1] = EACH * other;
    OK(ncmpi_get_vara_int_all(file, fixed, start, count, &in[0][0]));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < EACH; c++) CHECK(in[r][c] == 1000 * r + EACH * other + c);
    OK(ncmpi_begin_indep_data(file));
    for (int t = 0; t < RECORDS; t++) {
        OK(ncmpi_get_vara_short(file, record, (MPI_Offset[]){t, EACH * other}, (MPI_Offset[]){1, EACH}, back));
        for (int c = 0; c < EACH; c++) CHECK(back[c] == 100 * t + EACH * other + c);
    }
    OK(ncmpi_end_indep_data(file));
    OK(ncmpi_close(file));
    if (rank == 0) puts("netcdf: all is there");
    MPI_Finalize();
    return 0;
}
