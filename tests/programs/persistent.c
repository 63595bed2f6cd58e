// ranks: 2 4
/* Persistent sends and receives, started again and again. */
#include "check.h"

enum { ROUNDS = 50, LONG = 60000 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int small_out, small_in;
    char *out = malloc(LONG), *in = malloc(LONG);
    MPI_Request requests[4];
    OK(MPI_Recv_init(&small_in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init(in, LONG, MPI_BYTE, previous, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send_init(&small_out, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Ssend_init(out, LONG, MPI_BYTE, next, 2, MPI_COMM_WORLD, &requests[3]));
    /* Inactive requests are complete at once. */
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < ROUNDS; i++) {
        small_out = i * 100 + rank;
        fill(out, LONG, i + rank);
        if (i % 2) {
            OK(MPI_Startall(4, requests));
        } else {
            for (int k = 3; k >= 0; k--) OK(MPI_Start(&requests[k]));
        }
        OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        CHECK(small_in == i * 100 + previous, "%d in round %d", small_in, i);
        CHECK_BYTES(in, LONG, i + previous);
        for (int k = 0; k < 4; k++) CHECK(requests[k] != MPI_REQUEST_NULL, "a persistent request vanished");
    }
    for (int k = 0; k < 4; k++) OK(MPI_Request_free(&requests[k]));
    end();
    return 0;
}
