/* A profiling tool that knows C alone (tests/fortran.rs): it counts calls of some procedures, and tells at the end. */
#include <mpi.h>
#include <stdio.h>

static int sends, broadcasts, barriers;

int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int to, int tag, void *in, int in_count, MPI_Datatype in_type, int from, int in_tag,
                 MPI_Comm comm, MPI_Status *status) {
    sends++;
    return PMPI_Sendrecv(out, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, status);
}
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    broadcasts++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Barrier(MPI_Comm comm) {
    barriers++;
    return PMPI_Barrier(comm);
}
int MPI_Finalize(void) {
    printf("the tool saw %d sends, %d broadcasts, %d barriers\n", sends, broadcasts, barriers);
    fflush(stdout);
    return PMPI_Finalize();
}
