// ranks: 2 3 5
// mpiexec: --set mechanism=ring
/* A long message comes through the ring while its receiver does nothing but wait in a collective on a board: the rank that sends it
   comes to the collective only then. */
#include "check.h"

enum { LONG = 8 << 20, WARM = 5 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    unsigned char *bytes = malloc(LONG);
    for (int i = 0; i < WARM; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 4; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int word = rank == 0 ? 41 + round : -1;
        if (rank == 0) fill(bytes, LONG, (unsigned)round);
        if (rank == 1) OK(MPI_Irecv(bytes, LONG, MPI_BYTE, 0, round, MPI_COMM_WORLD, &request));
        if (rank == 0) OK(MPI_Send(bytes, LONG, MPI_BYTE, 1, round, MPI_COMM_WORLD));
        if (round % 2) OK(MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD));
        else OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK(round % 2 == 0 || word == 41 + round, "%d", word);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (rank == 1) CHECK(wrong_byte(bytes, LONG, (unsigned)round) == -1, "round %d", round);
    }
    free(bytes);
    end();
    return 0;
}
