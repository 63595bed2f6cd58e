/* C's part of a program in two languages (tests/fortran.rs): a handle and a status of C's go to Fortran, and those of Fortran's come here. With C_MAIN it is
 * the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void of_module_(MPI_Fint *comm, MPI_Fint *datatype, MPI_Fint *status);
void of_f08_(MPI_Fint *comm, MPI_F08_status *status);

static void check(int holds, const char *what) {
    if (holds) return;
    printf("wrong in C: %s\n", what);
    exit(1);
}

/* A communicator and the status of a message of 3 INTEGERs from rank 0 with tag 11, by each kind of status. */
void in_c_(MPI_Fint *f_comm, MPI_Fint *f_status, MPI_F08_status *f08_status) {
    MPI_Comm comm = MPI_Comm_f2c(*f_comm);
    MPI_Status status, other;
    MPI_Fint back[MPI_F_STATUS_SIZE];
    int size = 0, count = 0;
    check(MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == 1, "MPI_Comm_f2c");
    check(MPI_Status_f2c(f_status, &status) == MPI_SUCCESS && status.MPI_TAG == 11, "MPI_Status_f2c");
    check(MPI_Status_f082c(f08_status, &other) == MPI_SUCCESS && other.MPI_TAG == 11, "MPI_Status_f082c");
    MPI_Get_count(&status, MPI_INT, &count);
    check(count == 3, "the count of a status of mpif.h");
    MPI_Get_count(&other, MPI_INT, &count);
    check(count == 3, "the count of a status of mpi_f08");
    check(MPI_Status_f082f(f08_status, back) == MPI_SUCCESS && back[MPI_F_TAG] == 11, "MPI_Status_f082f");
}

#ifdef C_MAIN
int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Status status;
    MPI_F08_status f08_status;
    MPI_Fint f_comm, f_pair, f_status[MPI_F_STATUS_SIZE];
    int sent[4] = {1, 2, 3, 4}, received[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(sent, 2, pair, 0, 5, received, 4, MPI_INT, 0, 5, comm, &status);
    f_comm = MPI_Comm_c2f(comm);
    f_pair = MPI_Type_c2f(pair);
    check(MPI_Status_c2f(&status, f_status) == MPI_SUCCESS, "MPI_Status_c2f");
    check(MPI_Status_c2f08(&status, &f08_status) == MPI_SUCCESS, "MPI_Status_c2f08");
    of_module_(&f_comm, &f_pair, f_status);
    of_f08_(&f_comm, &f08_status);
    MPI_Finalize();
    printf("right\n");
    return 0;
}
#endif
