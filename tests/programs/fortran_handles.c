// ranks: 2
/* Handles and statuses as Fortran's integers, and back, as C programs that know Fortran libraries use them. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm dup, back;
    MPI_Datatype pair;
    MPI_Info info;
    MPI_Request request;
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "world");
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL, "null");
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM, "sum");
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL, "null");
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL, "null");
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL, "null");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Info_create(&info));

    /* The converted handle is the same object: it can be used. */
    MPI_Fint integer = MPI_Comm_c2f(dup);
    back = MPI_Comm_f2c(integer);
    CHECK(back == dup, "%d", integer);
    int other = (rank + 1) % size, sent[2] = {rank, rank + 10}, received[2] = {-1, -1};
    OK(MPI_Isend(sent, 1, MPI_Type_f2c(MPI_Type_c2f(pair)), other, 7, back, &request));
    MPI_Status status, copy;
    OK(MPI_Recv(received, 1, pair, other, 7, dup, &status));
    CHECK(received[0] == other && received[1] == other + 10, "%d %d", received[0], received[1]);
    request = MPI_Request_f2c(MPI_Request_c2f(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Info_set(MPI_Info_f2c(MPI_Info_c2f(info)), "key", "value"));

    MPI_Fint numbers[MPI_F_STATUS_SIZE];
    int count;
    OK(MPI_Status_c2f(&status, numbers));
    CHECK(numbers[MPI_F_SOURCE] == other && numbers[MPI_F_TAG] == 7, "%d %d", numbers[MPI_F_SOURCE], numbers[MPI_F_TAG]);
    OK(MPI_Status_f2c(numbers, &copy));
    OK(MPI_Get_count(&copy, MPI_INT, &count));
    CHECK(count == 2, "%d", count);

    OK(MPI_Info_free(&info));
    OK(MPI_Type_free(&pair));
    OK(MPI_Comm_free(&dup));
    end();
    return 0;
}
