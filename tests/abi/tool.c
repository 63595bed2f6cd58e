/* A profiling tool: counts sends. */
#include <mpi.h>

static int seen;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    seen++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

/* What the program asks in the end. Another way would be a symbol that the program does not have without the tool. */
int MPI_Pcontrol(const int level, ...)
{
    return level == 42 ? seen : 0;
}
