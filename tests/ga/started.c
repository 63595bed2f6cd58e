// ranks: 1 2 4
// GA_Initialize_args starts MPI where the program has not; the program ends it.
#include <ga.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int started = 1, sum = 1, dims[1] = {10}, two = 2;
    MPI_Initialized(&started);
    if (started) return 1;
    GA_Initialize_args(&argc, &argv);
    GA_Initialize_args(&argc, &argv); /* Nothing is started twice. */
    MPI_Initialized(&started);
    if (!started || !GA_Initialized()) GA_Error("not started", 1);
    int array = NGA_Create(C_INT, 1, dims, "array", NULL);
    GA_Fill(array, &two);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (GA_Idot(array, array) != 40 || sum != GA_Nnodes()) GA_Error("wrong numbers", sum);
    GA_Terminate();
    return MPI_Finalize();
}
