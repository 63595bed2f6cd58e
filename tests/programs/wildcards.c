// ranks: 2 4 8 16
/* Receives from anybody with any tag; messages of one sender never overtake one another. */
#include "check.h"

enum { MESSAGES = 200 };

struct message {
    int sender, number;
    char padding[24];
};

/* Rank 0 takes everything as it comes. */
static void as_it_comes(void) {
    if (rank > 0) {
        for (int i = 0; i < MESSAGES; i++) {
            struct message message = {rank, i, {0}};
            OK(MPI_Send(&message, sizeof message, MPI_BYTE, 0, i % 7, MPI_COMM_WORLD));
        }
        return;
    }
    int *next = calloc(size, sizeof *next);
    for (int i = 0; i < MESSAGES * (size - 1); i++) {
        struct message message;
        MPI_Status status;
        OK(MPI_Recv(&message, sizeof message, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == message.sender, "status says %d, message says %d", status.MPI_SOURCE, message.sender);
        CHECK(status.MPI_TAG == message.number % 7, "tag %d on number %d", status.MPI_TAG, message.number);
        CHECK(message.number == next[message.sender], "number %d of rank %d came instead of %d", message.number,
              message.sender, next[message.sender]);
        next[message.sender]++;
    }
    free(next);
}

/* Small and large alternate, by one sender and tag: still in order. */
static void order_across_protocols(void) {
    enum { ROUNDS = 40 };
    static const int lengths[] = {8, 100000, 64, 3000, 1 << 20, 0, 20000};
    char *buffer = malloc(1 << 20);
    if (rank == 1) {
        for (int i = 0; i < ROUNDS; i++) {
            int length = lengths[i % 7];
            fill(buffer, length, i);
            OK(MPI_Send(buffer, length, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
        }
    } else if (rank == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Status status;
            int count;
            OK(MPI_Recv(buffer, 1 << 20, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 1, i % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == lengths[i % 7], "message %d has %d bytes", i, count);
            CHECK_BYTES(buffer, count, i);
        }
    }
    free(buffer);
}

/* Posted receives match in the order they were posted, wildcard or not. */
static void order_of_posting(void) {
    if (rank == 0) {
        int values[4] = {-1, -1, -1, -1};
        MPI_Request requests[4];
        OK(MPI_Irecv(&values[0], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Irecv(&values[2], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]));
        OK(MPI_Irecv(&values[3], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[3]));
        OK(MPI_Send(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD));
        OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 4; i++) CHECK(values[i] == 100 + i, "receive %d got %d", i, values[i]);
    } else if (rank == 1) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 4; i++) {
            int value = 100 + i;
            OK(MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    as_it_comes();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    order_across_protocols();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    order_of_posting();
    end();
    return 0;
}
