// ranks: 1 2
/* MPI_Cancel makes MPI_Wait return whatever others do (MPI-5.0 §3.8.4): receives, synchronous sends to oneself, announced
 * sends, and sends that wait for room. Each either completes or is cancelled, and nothing of a cancelled one is received. */
#include "away.h"
#include "check.h"

enum { LONG = 1 << 20, MANY = 400, SHORT = 900 };

static int cancelled(MPI_Request *request) {
    MPI_Status status;
    int flag;
    OK(MPI_Cancel(request));
    OK(MPI_Wait(request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    return flag;
}

static void to_oneself(void) {
    static char out[LONG], in[LONG];
    MPI_Request request;
    int flag;
    OK(MPI_Irecv(in, LONG, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request));
    CHECK(cancelled(&request), "an unmatched receive");
    OK(MPI_Issend(out, 1, MPI_BYTE, rank, 2, MPI_COMM_WORLD, &request));
    CHECK(cancelled(&request), "a synchronous send to oneself");
    OK(MPI_Isend(out, LONG, MPI_BYTE, rank, 3, MPI_COMM_WORLD, &request));
    CHECK(cancelled(&request), "a long send to oneself");
    OK(MPI_Iprobe(rank, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a cancelled message is probed");
}

/* Rank 1 receives nothing before all sends are cancelled or complete. */
static void to_another(void) {
    static char out[LONG], in[LONG];
    static MPI_Request requests[MANY + 1];
    int gone = 0, sent = 0;
    if (rank == 0) {
        OK(MPI_Isend(out, LONG, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &requests[0]));
        for (int i = 1; i <= MANY; i++) OK(MPI_Isend(out, SHORT, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[i]));
        for (int i = 0; i <= MANY; i++) gone += cancelled(&requests[i]);
        sent = MANY + 1 - gone;
        OK(MPI_Send(&sent, 1, MPI_INT, 1, 6, MPI_COMM_WORLD));
    } else if (rank == 1) {
        OK(MPI_Recv(&sent, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < sent; i++) {
            OK(MPI_Recv(in, LONG, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        int flag;
        OK(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a cancelled message is probed");
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The receiver, which has posted nothing, is not even there: that the announced send is over is decided without it. */
static void to_somebody_away(void) {
    static char out[LONG], in[LONG];
    MPI_Request request;
    int pid, flag;
    for (int round = 0; round < 3; round++) {
        if (rank == 0) {
            OK(MPI_Recv(&pid, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Isend(out, LONG, MPI_BYTE, 1, 8, MPI_COMM_WORLD, &request));
            CHECK(cancelled(&request), "nobody has received it");
            call_back(pid);
            OK(MPI_Isend(out, LONG, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == 1) {
            pid = callable();
            OK(MPI_Send(&pid, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
            stay_away();
            OK(MPI_Iprobe(0, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a cancelled message is probed");
            OK(MPI_Recv(in, LONG, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    to_oneself();
    if (size > 1) to_another();
    if (size > 1) to_somebody_away();
    end();
}
