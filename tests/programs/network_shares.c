/* network_shares FOLDER: 2 nodes with as many ranks each. Those of the second node but the last compute until there is the file `done` in the
   folder. Rank 0 has more messages to and from each of them than can be under way. Meanwhile it and the last rank exchange messages, then
   the last one makes the file. */
#include "check.h"

enum { MESSAGES = 40, FRAMED = 61440, LONG = 100000, ROUNDS = 50, MOST_RANKS = 16 };

static char out[LONG], in[LONG], room[MOST_RANKS][MESSAGES][LONG];

static int compute_until(const char *file) {
    volatile int steps = 0;
    while (access(file, F_OK) != 0) steps++;
    return steps;
}

/* With the first or last rank. */
static void exchange(int peer, int bytes) {
    for (int i = 0; i < ROUNDS; i++) {
        memset(out, i, (size_t)bytes);
        if (rank == 0) OK(MPI_Send(out, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD));
        OK(MPI_Recv(in, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank != 0) OK(MPI_Send(out, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD));
        CHECK(in[0] == i && in[bytes - 1] == i, "%d in round %d", in[0], i);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 1 && size > 3 && size % 2 == 0 && size / 2 <= MOST_RANKS, "%d arguments, %d ranks", argc, size);
    char file[4096];
    snprintf(file, sizeof file, "%s/done", argv[1]);
    int first = size / 2, last = size - 1, count = 0;
    MPI_Request requests[2 * MOST_RANKS * MESSAGES];
    static char framed[FRAMED];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        for (int peer = first; peer < last; peer++) {
            /* They have all been announced before their sender computes. */
            for (int i = 0; i < MESSAGES; i++)
                OK(MPI_Probe(peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(NULL, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD));
            for (int i = 0; i < MESSAGES; i++) {
                OK(MPI_Irecv(room[peer - first][i], LONG, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[count++]));
                OK(MPI_Isend(framed, FRAMED, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[count++]));
            }
        }
    } else if (rank >= first && rank < last) {
        for (int i = 0; i < MESSAGES; i++)
            OK(MPI_Isend(out, LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[count++]));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compute_until(file);
        for (int i = 0; i < MESSAGES; i++)
            OK(MPI_Recv(framed, FRAMED, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (rank == 0 || rank == last) {
        exchange(rank == 0 ? last : 0, 8);
        exchange(rank == 0 ? last : 0, LONG);
    }
    if (rank == last) {
        FILE *done = fopen(file, "w");
        CHECK(done, "%s", file);
        fclose(done);
    }
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    end();
    return 0;
}
