/* A file of netCDF-4's that ranks write and read together: blocks of a 3-D array, collectively and independently, chunked and compressed variables,
 * a record dimension that grows, attributes. netCDF, HDF5 beneath it and this program know Open MPI's header and nothing of us. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
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
            fprintf(stderr, "%s:%d: rank %d of %d: %s: %s\n", __FILE__, __LINE__, rank, size, #call, nc_strerror(code_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        }                                                                                             \
    } while (0)

enum { PLANES = 12, ROWS = 20, COLUMNS = 30, RECORDS = 5, VARIABLES = 4 };

static const char *const NAMES[VARIABLES] = {"contiguous", "chunked", "compressed", "records"};

static double value_of(int x, int y, int z) { return x * 10000.0 + y * 100.0 + z; }

/* Each rank has some columns of all rows of all planes. */
static void select_own(size_t *start, size_t *count, int planes) {
    start[0] = start[1] = 0;
    count[0] = (size_t)planes;
    count[1] = ROWS;
    start[2] = (size_t)(COLUMNS * rank / size);
    count[2] = (size_t)(COLUMNS * (rank + 1) / size) - start[2];
}

static void transfer(int file, int variable, int writes, int planes) {
    size_t start[3], count[3], at = 0;
    select_own(start, count, planes);
    double *data = calloc(count[0] * count[1] * count[2] + 1, sizeof *data);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t x = 0, i = 0; x < count[0] && pass != writes; x++)
            for (size_t y = 0; y < count[1]; y++)
                for (size_t z = 0; z < count[2]; z++, i++) {
                    double value = value_of((int)x, (int)y, (int)(start[2] + z));
                    if (writes) data[i] = value;
                    else CHECK(data[i] == value);
                    at++;
                }
        if (pass == 0)
            OK(writes ? nc_put_vara_double(file, variable, start, count, data) : nc_get_vara_double(file, variable, start, count, data));
    }
    CHECK(at == count[0] * count[1] * count[2]);
    free(data);
}

static void write_all(const char *path) {
    int file, dims[4], variables[VARIABLES];
    size_t chunk[3] = {4, 7, 11};
    OK(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    OK(nc_def_dim(file, "plane", PLANES, &dims[0]));
    OK(nc_def_dim(file, "row", ROWS, &dims[1]));
    OK(nc_def_dim(file, "column", COLUMNS, &dims[2]));
    OK(nc_def_dim(file, "time", NC_UNLIMITED, &dims[3]));
    for (int i = 0; i < VARIABLES; i++) {
        int of_variable[3] = {i == 3 ? dims[3] : dims[0], dims[1], dims[2]};
        OK(nc_def_var(file, NAMES[i], i == 1 ? NC_FLOAT : NC_DOUBLE, 3, of_variable, &variables[i]));
        if (i == 0) OK(nc_def_var_chunking(file, variables[i], NC_CONTIGUOUS, NULL));
        if (i == 1 || i == 2) OK(nc_def_var_chunking(file, variables[i], NC_CHUNKED, chunk));
        if (i == 2) OK(nc_def_var_deflate(file, variables[i], 1, 1, 3));
        OK(nc_put_att_int(file, variables[i], "ranks", NC_INT, 1, &size));
    }
    OK(nc_put_att_text(file, NC_GLOBAL, "title", 5, "whole"));
    OK(nc_enddef(file));
    for (int i = 0; i < VARIABLES; i++) {
        OK(nc_var_par_access(file, variables[i], i == 1 ? NC_INDEPENDENT : NC_COLLECTIVE));
        transfer(file, variables[i], 1, i == 3 ? RECORDS : PLANES);
    }
    OK(nc_close(file));
}

static void read_all(const char *path) {
    int file, variable, ranks;
    size_t length;
    OK(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    OK(nc_inq_dimlen(file, 3, &length));
    CHECK(length == RECORDS);
    for (int i = 0; i < VARIABLES; i++) {
        OK(nc_inq_varid(file, NAMES[i], &variable));
        OK(nc_get_att_int(file, variable, "ranks", &ranks));
        CHECK(ranks == size);
        /* Compressed ones are for all ranks together only. */
        for (int access = i == 2; access < 2; access++) {
            OK(nc_var_par_access(file, variable, access ? NC_COLLECTIVE : NC_INDEPENDENT));
            transfer(file, variable, 0, i == 3 ? RECORDS : PLANES);
        }
    }
    OK(nc_close(file));
}

/* One process alone, by netCDF's ordinary way to a file. */
static void read_alone(const char *path) {
    static double all[PLANES][ROWS][COLUMNS];
    int file, variable;
    OK(nc_open(path, NC_NOWRITE, &file));
    for (int i = 0; i < VARIABLES; i++) {
        OK(nc_inq_varid(file, NAMES[i], &variable));
        OK(nc_get_var_double(file, variable, &all[0][0][0]));
        for (int x = 0; x < (i == 3 ? RECORDS : PLANES); x++)
            for (int y = 0; y < ROWS; y++)
                for (int z = 0; z < COLUMNS; z++) CHECK(all[x][y][z] == value_of(x, y, z));
    }
    OK(nc_close(file));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    write_all(argv[1]);
    read_all(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        read_alone(argv[1]);
        puts("netcdf: all is there");
    }
    MPI_Finalize();
    return 0;
}
