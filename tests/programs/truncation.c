// ranks: 2
/* A message longer than the buffer: an error of the receiver, nothing beyond the buffer, and the next message is fine. */
#include "check.h"

enum { LONGEST = 1 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    char *buffer = malloc(LONGEST);
    static const int lengths[] = {2, 100, 5000, 40000, LONGEST};
    for (int i = 0; i < 5; i++)
        for (int way = 0; way < 4; way++) {
            int length = lengths[i], room = length / 2, next = 0;
            if (rank == 0) {
                fill(buffer, length, i);
                /* Way 1 and 3: the message is there before its receive. */
                if (way % 2 == 0) OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                MPI_Request request;
                OK(MPI_Isend(buffer, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
                OK(MPI_Send(&length, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                continue;
            }
            MPI_Request request;
            MPI_Status status;
            memset(buffer, 99, length);
            if (way % 2 == 0) {
                OK(MPI_Irecv(buffer, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
                OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD));
                if (way == 0) {
                    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
                } else {
                    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(1, &request, &status));
                    FAILS(MPI_ERR_TRUNCATE, status.MPI_ERROR);
                }
            } else {
                OK(MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                FAILS(MPI_ERR_TRUNCATE, MPI_Recv(buffer, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            for (int k = room; k < length; k++) CHECK(buffer[k] == 99, "byte %d behind the buffer of %d was written", k, room);
            OK(MPI_Recv(&next, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(next == length, "the next message says %d", next);
        }
    /* Of a message in long rows, which its sender writes where it belongs, the first byte alone. */
    MPI_Datatype rows;
    OK(MPI_Type_vector(LONGEST / 256, 128, 256, MPI_BYTE, &rows));
    OK(MPI_Type_commit(&rows));
    for (int i = 0; i < 5; i++) {
        if (rank == 0) {
            fill(buffer, LONGEST, i);
            OK(MPI_Send(buffer, 1, rows, 1, 3, MPI_COMM_WORLD));
        } else {
            memset(buffer, 99, LONGEST);
            FAILS(MPI_ERR_TRUNCATE, MPI_Recv(buffer, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK((unsigned char)buffer[0] == byte_of(i, 0) && buffer[1] == 99, "%d %d", buffer[0], buffer[1]);
        }
    }
    OK(MPI_Type_free(&rows));
    free(buffer);
    end();
    return 0;
}
