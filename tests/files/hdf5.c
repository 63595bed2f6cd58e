/* A file of HDF5's that ranks write and read together: contiguous and chunked data sets, blocks of a 3-D array, attributes, collective and independent
 * transfers. HDF5 and this program know MPICH's header and nothing of us. */
#include <hdf5.h>
#include <mpi.h>
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

enum { PLANES = 12, ROWS = 20, COLUMNS = 30 };

static double value_of(int x, int y, int z) { return x * 10000.0 + y * 100.0 + z; }

/* Each rank has some columns of all rows of all planes: many pieces. */
static void select_own(hid_t file_space, hsize_t *start, hsize_t *count) {
    start[0] = start[1] = 0;
    count[0] = PLANES;
    count[1] = ROWS;
    start[2] = (hsize_t)(COLUMNS * rank / size);
    count[2] = (hsize_t)(COLUMNS * (rank + 1) / size) - start[2];
    CHECK(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
}

static void transfer(hid_t set, int writes, H5FD_mpio_xfer_t mode) {
    hsize_t start[3], count[3];
    hid_t space = H5Dget_space(set), plist = H5Pcreate(H5P_DATASET_XFER);
    select_own(space, start, count);
    hid_t memory = H5Screate_simple(3, count, NULL);
    CHECK(H5Pset_dxpl_mpio(plist, mode) >= 0);
    size_t number = (size_t)(count[0] * count[1] * count[2]), at = 0;
    double *data = calloc(number, sizeof *data);
    for (hsize_t x = 0; writes && x < count[0]; x++)
        for (hsize_t y = 0; y < count[1]; y++)
            for (hsize_t z = 0; z < count[2]; z++) data[at++] = value_of((int)x, (int)y, (int)(start[2] + z));
    CHECK((writes ? H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, plist, data)
                  : H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, plist, data)) >= 0);
    for (hsize_t x = 0; !writes && x < count[0]; x++)
        for (hsize_t y = 0; y < count[1]; y++)
            for (hsize_t z = 0; z < count[2]; z++) CHECK(data[at++] == value_of((int)x, (int)y, (int)(start[2] + z)));
    free(data);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(plist);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CHECK(file >= 0);
    hsize_t extent[3] = {PLANES, ROWS, COLUMNS}, chunk[3] = {4, 7, 11};
    static const char *const names[] = {"contiguous", "independent", "chunked"};
    for (int i = 0; i < 3; i++) {
        hid_t space = H5Screate_simple(3, extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
        if (i == 2) CHECK(H5Pset_chunk(plist, 3, chunk) >= 0);
        hid_t set = H5Dcreate2(file, names[i], H5T_IEEE_F64BE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
        CHECK(set >= 0);
        transfer(set, 1, i == 1 ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
        hid_t scalar = H5Screate(H5S_SCALAR);
        hid_t attribute = H5Acreate2(set, "ranks", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &size) >= 0);
        H5Aclose(attribute);
        H5Sclose(scalar);
        H5Dclose(set);
        H5Pclose(plist);
        H5Sclose(space);
    }
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
    CHECK(file >= 0);
    for (int i = 0; i < 3; i++) {
        hid_t set = H5Dopen2(file, names[i], H5P_DEFAULT);
        CHECK(set >= 0);
        transfer(set, 0, H5FD_MPIO_COLLECTIVE);
        transfer(set, 0, H5FD_MPIO_INDEPENDENT);
        H5Dclose(set);
    }
    CHECK(H5Fclose(file) >= 0);
    H5Pclose(access);
    if (rank == 0) {
        /* One process alone, by HDF5's ordinary way to a file. */
        file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
        CHECK(file >= 0);
        static double all[PLANES][ROWS][COLUMNS];
        for (int i = 0; i < 3; i++) {
            hid_t set = H5Dopen2(file, names[i], H5P_DEFAULT);
            CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
            for (int x = 0; x < PLANES; x++)
                for (int y = 0; y < ROWS; y++)
                    for (int z = 0; z < COLUMNS; z++) CHECK(all[x][y][z] == value_of(x, y, z));
            H5Dclose(set);
        }
        H5Fclose(file);
        puts("hdf5: all is there");
    }
    MPI_Finalize();
    return 0;
}
