#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size = 0, version = 0, subversion = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_version(&version, &subversion);
    bool right = size == 2 && version == MPI_VERSION;
    MPI_Finalize();
    return right ? 0 : 1;
}
