// ranks: 1 2 3 4 8
/* Persistent collectives: made in the same order everywhere, started in any, again and again, among others. */
#include "any_collective.h"

enum { COMMS = 3, MANY = 20, ROUNDS = 12 };

static void shuffle(int *order, int count, unsigned *state) {
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(next_random(state) % (unsigned)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

int main(int argc, char **argv) {
    MPI_Comm comms[COMMS];
    struct collective all[MANY];
    unsigned same = 7, own;
    int flag;
    begin(&argc, &argv);
    own = 100 + (unsigned)rank;
    comms[0] = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]));

    for (int kind = 0; kind < KINDS; kind++) {
        for (int variant = 0; variant < 4; variant++) {
            struct collective one = make((enum kind)kind, comms[0], 1, 300, variant & 1, variant / 2);
            call(&one, PERSISTENT);
            OK(MPI_Test(&one.request, &flag, MPI_STATUS_IGNORE));
            CHECK(flag, "an inactive request is complete");
            for (unsigned salt = 0; salt < 3; salt++) {
                refill(&one, salt);
                OK(MPI_Start(&one.request));
                OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
                CHECK(one.request != MPI_REQUEST_NULL, "a persistent request stays");
                verify(&one);
            }
            OK(MPI_Request_free(&one.request));
            discard(&one);
        }
    }

    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        all[i] = any(&same, comms[next_random(&same) % COMMS]);
        call(&all[i], PERSISTENT);
        requests[i] = all[i].request;
    }
    /* Requests keep a freed communicator alive. */
    OK(MPI_Comm_free(&comms[1]));
    for (unsigned round = 0; round < ROUNDS; round++) {
        int order[MANY];
        for (int i = 0; i < MANY; i++) refill(&all[i], round * MANY + (unsigned)i);
        shuffle(order, MANY, &own);
        for (int i = 0; i < MANY; i++) OK(MPI_Start(&requests[order[i]]));
        struct collective blocking = any(&same, comms[2]);
        refill(&blocking, round);
        call(&blocking, round % 2 ? BLOCKING : IMMEDIATE);
        OK(MPI_Wait(&blocking.request, MPI_STATUS_IGNORE));
        complete(requests, MANY, &own);
        verify(&blocking);
        discard(&blocking);
        for (int i = 0; i < MANY; i++) verify(&all[i]);
    }
    OK(MPI_Startall(0, requests));
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL, "%d", i);
        discard(&all[i]);
    }

    /* Among point-to-point requests. */
    int left = (rank + size - 1) % size, right = (rank + 1) % size, in = -1, sum = -1;
    MPI_Request mixed[3];
    OK(MPI_Recv_init(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &mixed[0]));
    OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &mixed[1]));
    OK(MPI_Send_init(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &mixed[2]));
    for (int round = 0; round < 20; round++) {
        in = sum = -1;
        OK(MPI_Startall(3, mixed));
        FAILS(MPI_ERR_REQUEST, (MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_Start(&mixed[0])));
        OK(MPI_Waitall(3, mixed, MPI_STATUSES_IGNORE));
        CHECK(in == left && sum == size * (size - 1) / 2, "%d %d", in, sum);
    }
    for (int i = 0; i < 3; i++) OK(MPI_Request_free(&mixed[i]));
    OK(MPI_Comm_free(&comms[2]));
    end();
    return 0;
}
