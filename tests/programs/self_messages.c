// ranks: 1 2
/* Messages to oneself, in the world and in MPI_COMM_SELF, of every length. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { LONGEST = 3 << 20 };
    static const int lengths[] = {0, 1, 64, 5000, 17000, 200000, LONGEST};
    char *out = malloc(LONGEST), *in = malloc(LONGEST);
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 7; i++) {
            MPI_Request request;
            MPI_Status status;
            int length = lengths[i], me = c == 0 ? rank : 0, count;
            fill(out, length, i);
            memset(in, 0, length);
            OK(MPI_Irecv(in, length, MPI_BYTE, me, 1, comms[c], &request));
            OK(MPI_Send(out, length, MPI_BYTE, me, 1, comms[c]));
            OK(MPI_Wait(&request, &status));
            CHECK_BYTES(in, length, i);
            memset(in, 0, length);
            OK(MPI_Isend(out, length, MPI_BYTE, me, 2, comms[c], &request));
            OK(MPI_Recv(in, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &status));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == length && status.MPI_SOURCE == me && status.MPI_TAG == 2, "%d bytes from %d", count, status.MPI_SOURCE);
            CHECK_BYTES(in, length, i);
            memset(in, 0, length);
            OK(MPI_Sendrecv(out, length, MPI_BYTE, me, 3, in, length, MPI_BYTE, me, 3, comms[c], &status));
            CHECK_BYTES(in, length, i);
        }
    end();
    return 0;
}
