// ranks: 2
/* Requests one at a time: test without completion, free, cancel, status query, null and empty. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, value = 0, other = 1 - rank, cancelled, count;

    OK(MPI_Test(&request, &flag, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0, "not an empty status");
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));

    /* Not complete before the other side is asked to send. */
    OK(MPI_Irecv(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag && request != MPI_REQUEST_NULL, "nothing was sent yet");
    OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "nothing was sent yet");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int mine = 40 + rank;
    OK(MPI_Send(&mine, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
    while (!flag) OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(request != MPI_REQUEST_NULL && status.MPI_SOURCE == other, "a query must not retire the request");
    OK(MPI_Wait(&request, &status));
    CHECK(value == 40 + other && request == MPI_REQUEST_NULL, "value %d", value);

    /* A receive that nothing matches can be cancelled, and then matches nothing. */
    OK(MPI_Irecv(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "the receive was not cancelled");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&mine, 1, MPI_INT, other, 2, MPI_COMM_WORLD));
    value = 0;
    OK(MPI_Recv(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(value == 40 + other && !cancelled, "value %d", value);

    /* Freed while it is on its way: it still arrives. */
    enum { LONG = 500000 };
    char *out = malloc(LONG), *in = malloc(LONG);
    fill(out, LONG, rank);
    OK(MPI_Isend(out, LONG, MPI_BYTE, other, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL, "a freed request is null");
    OK(MPI_Recv(in, LONG, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(in, LONG, other);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
    return 0;
}
