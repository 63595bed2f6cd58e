cat > ph5.c <<'END'
#include <hdf5.h>
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate("c.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    int bad = file < 0 || H5Fclose(file) < 0;
    MPI_Finalize();
    return bad;
}
END
h5pcc.openmpi ph5.c -o ph5
$MPIEXEC -n $RANKS ./ph5
