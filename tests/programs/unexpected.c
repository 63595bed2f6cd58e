// ranks: 2 4
/* Thousands of messages nobody waits for yet, small and large, taken in the opposite order. */
#include "check.h"

enum { SMALL = 3000, LARGE = 24, LARGE_BYTES = 200000 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request *requests = malloc((SMALL + LARGE) * sizeof *requests);
    int *values = malloc(SMALL * sizeof *values);
    char *large = malloc((size_t)LARGE * LARGE_BYTES), *buffer = malloc(LARGE_BYTES);

    for (int i = 0; i < LARGE; i++) {
        fill(large + (size_t)i * LARGE_BYTES, LARGE_BYTES, i + rank);
        OK(MPI_Isend(large + (size_t)i * LARGE_BYTES, LARGE_BYTES, MPI_BYTE, next, SMALL + i, MPI_COMM_WORLD, &requests[SMALL + i]));
    }
    for (int i = 0; i < SMALL; i++) {
        values[i] = rank * SMALL + i;
        OK(MPI_Isend(&values[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[i]));
    }
    /* The last message must not be stopped by the messages before it. */
    int token = rank;
    OK(MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 30000, previous, 30000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(token == previous, "token of %d", token);

    for (int i = SMALL - 1; i >= 0; i--) {
        int value;
        OK(MPI_Recv(&value, 1, MPI_INT, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == previous * SMALL + i, "%d under tag %d", value, i);
    }
    for (int i = LARGE - 1; i >= 0; i--) {
        OK(MPI_Recv(buffer, LARGE_BYTES, MPI_BYTE, previous, SMALL + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_BYTES(buffer, LARGE_BYTES, i + previous);
    }
    OK(MPI_Waitall(SMALL + LARGE, requests, MPI_STATUSES_IGNORE));

    /* More eager payload than any ring or first budget holds, while the receiver computes. */
    enum { FLOOD = 4000, BYTES = 8000 };
    if (rank == 0) {
        for (int i = 0; i < FLOOD; i++) {
            fill(buffer, BYTES, i);
            OK(MPI_Send(buffer, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
    } else if (rank == 1) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < FLOOD; i++) {
            OK(MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_BYTES(buffer, BYTES, i);
        }
    }
    end();
    return 0;
}
