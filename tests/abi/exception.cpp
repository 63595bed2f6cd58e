/* An error handler that throws: the exception passes through the library to the caller. */
#include <mpi.h>
#include <cstdio>
static void thrower(MPI_Comm *, int *code, ...) { throw *code; }
int main() {
    MPI_Init(nullptr, nullptr);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(thrower, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int caught = 0, value = 0;
    for (int round = 0; round < 3; round++)
        try { MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); } catch (int code) { caught += code == MPI_ERR_RANK; }
    MPI_Errhandler_free(&handler);
    std::printf("caught %d\n", caught);
    MPI_Finalize();
}
