// ranks: 2 4
/* Probe, Iprobe, Mprobe, Improbe: what is announced is what is received. */
#include "check.h"

enum { MESSAGES = 60 };

static int length_of(int sender, int number) {
    static const int lengths[] = {0, 5, 64, 1000, 9000, 70000, 300000};
    return lengths[(sender + number) % 7];
}

static void receive_all(int matched, int blocking) {
    char *buffer = malloc(300000);
    for (int i = 0; i < MESSAGES * (size - 1); i++) {
        MPI_Status announced, status;
        MPI_Message message = MPI_MESSAGE_NULL;
        int length, count, flag = 0;
        if (matched && blocking) OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &announced));
        if (matched && !blocking)
            while (!flag) OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &announced));
        if (!matched && blocking) OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &announced));
        if (!matched && !blocking)
            while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &announced));
        OK(MPI_Get_count(&announced, MPI_BYTE, &length));
        CHECK(length == length_of(announced.MPI_SOURCE, announced.MPI_TAG), "%d bytes announced", length);
        if (matched && i % 2) {
            OK(MPI_Mrecv(buffer, length, MPI_BYTE, &message, &status));
        } else if (matched) {
            MPI_Request request;
            OK(MPI_Imrecv(buffer, length, MPI_BYTE, &message, &request));
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Recv(buffer, length, MPI_BYTE, announced.MPI_SOURCE, announced.MPI_TAG, MPI_COMM_WORLD, &status));
        }
        CHECK(message == MPI_MESSAGE_NULL, "the message handle is left");
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == length && status.MPI_SOURCE == announced.MPI_SOURCE && status.MPI_TAG == announced.MPI_TAG,
              "announced %d from %d, received %d from %d", length, announced.MPI_SOURCE, count, status.MPI_SOURCE);
        CHECK_BYTES(buffer, length, status.MPI_SOURCE * 1000 + status.MPI_TAG);
    }
    free(buffer);
}

static void send_all(void) {
    char *buffer = malloc(300000);
    for (int i = 0; i < MESSAGES; i++) {
        int length = length_of(rank, i);
        fill(buffer, length, rank * 1000 + i);
        OK(MPI_Send(buffer, length, MPI_BYTE, 0, i, MPI_COMM_WORLD));
    }
    free(buffer);
}

static int errors;

static void count_errors(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    errors++;
}

/* Messages that are taken out of matching stay until they are received: all at once, the last first, some of them still on their way, after
 * their communicator is freed. The error of one that is too long is told to that communicator. */
static void taken_and_kept(void) {
    enum { TAKEN = 40 };
    MPI_Comm comm;
    MPI_Errhandler handler;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(count_errors, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    static char buffers[TAKEN][300000];
    if (rank == 1) {
        MPI_Request requests[TAKEN];
        for (int i = 0; i < TAKEN; i++) {
            fill(buffers[i], length_of(1, i), i);
            OK(MPI_Isend(buffers[i], length_of(1, i), MPI_BYTE, 0, i, comm, &requests[i]));
        }
        OK(MPI_Waitall(TAKEN, requests, MPI_STATUSES_IGNORE));
    }
    MPI_Message messages[TAKEN];
    for (int i = 0; rank == 0 && i < TAKEN; i++) OK(MPI_Mprobe(1, i, comm, &messages[i], MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    for (int i = TAKEN - 1; rank == 0 && i >= 0; i--) {
        int length = length_of(1, i), is_short = i % 5 == 0 && length > 0, code;
        MPI_Message copy = messages[i];
        errors = 0;
        code = MPI_Mrecv(buffers[i], length - is_short, MPI_BYTE, &messages[i], MPI_STATUS_IGNORE);
        CHECK(messages[i] == MPI_MESSAGE_NULL && errors == is_short, "%d errors", errors);
        CHECK((code != MPI_SUCCESS) == is_short, "code %d", code);
        CHECK_BYTES(buffers[i], length - is_short, i);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        code = MPI_Mrecv(buffers[i], length, MPI_BYTE, &copy, MPI_STATUS_IGNORE);
        CHECK(code != MPI_SUCCESS, "message %d was received twice", i);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    taken_and_kept();
    for (int kind = 0; kind < 4; kind++) {
        if (rank == 0) {
            receive_all(kind & 1, kind & 2);
        } else {
            send_all();
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    int flag = 1;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a message is left");

    MPI_Message message;
    MPI_Status status;
    OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "source %d", status.MPI_SOURCE);
    OK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status));
    end();
    return 0;
}
