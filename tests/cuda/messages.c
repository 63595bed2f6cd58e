// ranks: 1 2
// more ranks: 4
/* Messages in every mode, from and to memory of every kind, round a ring. */
#include "device.h"

static int to, from;
static MPI_Comm comm;
static MPI_Request requests[2];

static void receive_first(char *const *b, int n) { OK(MPI_Irecv(b[1], n, MPI_BYTE, from, 5, comm, &requests[0])); }
static void wait_for(int how_many) { OK(MPI_Waitall(how_many, requests, MPI_STATUSES_IGNORE)); }

#define BLOCKING(name, call)                        \
    static void name(char *const *b, int n) {       \
        receive_first(b, n);                        \
        OK(call(b[0], n, MPI_BYTE, to, 5, comm));   \
        wait_for(1);                                \
    }
BLOCKING(standard, MPI_Send)
BLOCKING(synchronous, MPI_Ssend)
BLOCKING(buffered, MPI_Bsend)

/* The receive is there: the sender has heard so. */
static void agree(void) { OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, from, 6, NULL, 0, MPI_BYTE, to, 6, comm, MPI_STATUS_IGNORE)); }

static void ready(char *const *b, int n) {
    receive_first(b, n);
    agree();
    OK(MPI_Rsend(b[0], n, MPI_BYTE, to, 5, comm));
    wait_for(1);
}

static void immediate_ready(char *const *b, int n) {
    receive_first(b, n);
    agree();
    OK(MPI_Irsend(b[0], n, MPI_BYTE, to, 5, comm, &requests[1]));
    wait_for(2);
}

#define IMMEDIATE(name, call)                                      \
    static void name(char *const *b, int n) {                      \
        MPI_Status status;                                         \
        int count;                                                 \
        OK(call(b[0], n, MPI_BYTE, to, 5, comm, &requests[0]));    \
        OK(MPI_Recv(b[1], n, MPI_BYTE, from, 5, comm, &status));   \
        OK(MPI_Get_count(&status, MPI_BYTE, &count));              \
        CHECK(count == n, "%d of %d", count, n);                   \
        wait_for(1);                                               \
    }
IMMEDIATE(immediate, MPI_Isend)
IMMEDIATE(immediate_synchronous, MPI_Issend)
IMMEDIATE(immediate_buffered, MPI_Ibsend)

static void received_late(char *const *b, int n) {
    MPI_Status status;
    int flag = 0;
    OK(MPI_Isend(b[0], n, MPI_BYTE, to, 5, comm, &requests[0]));
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    OK(MPI_Irecv(b[1], n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]));
    while (!flag) OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
}

static void longer_receive(char *const *b, int n) {
    OK(MPI_Isend(b[0], n / 2, MPI_BYTE, to, 5, comm, &requests[0]));
    OK(MPI_Recv(b[1], n, MPI_BYTE, from, 5, comm, MPI_STATUS_IGNORE));
    wait_for(1);
}

#define PERSISTENT(name, call)                                              \
    static void name(char *const *b, int n) {                               \
        OK(MPI_Recv_init(b[1], n, MPI_BYTE, from, 5, comm, &requests[0]));  \
        OK(call(b[0], n, MPI_BYTE, to, 5, comm, &requests[1]));             \
        for (int i = 0; i < 2; i++) {                                       \
            OK(MPI_Start(&requests[0]));                                    \
            agree();                                                        \
            OK(MPI_Start(&requests[1]));                                    \
            wait_for(2);                                                    \
        }                                                                   \
        OK(MPI_Request_free(&requests[0]));                                 \
        OK(MPI_Request_free(&requests[1]));                                 \
    }
PERSISTENT(persistent, MPI_Send_init)
PERSISTENT(persistent_synchronous, MPI_Ssend_init)
PERSISTENT(persistent_buffered, MPI_Bsend_init)
PERSISTENT(persistent_ready, MPI_Rsend_init)

static void partitioned(char *const *b, int n) {
    int parts = n % 4 == 0 ? 4 : 1;
    OK(MPI_Precv_init(b[1], parts, n / parts, MPI_BYTE, from, 5, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(b[0], parts, n / parts, MPI_BYTE, to, 5, comm, MPI_INFO_NULL, &requests[1]));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Startall(2, requests));
        for (int part = parts; part-- > 0;) OK(MPI_Pready(part, requests[1]));
        for (int arrived = 0; !arrived;) OK(MPI_Parrived(requests[0], parts - 1, &arrived));
        wait_for(2);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void matched(char *const *b, int n) {
    MPI_Message message;
    OK(MPI_Isend(b[0], n, MPI_BYTE, to, 5, comm, &requests[0]));
    OK(MPI_Mprobe(from, 5, comm, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(b[1], n, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    wait_for(1);
}

static void immediate_matched(char *const *b, int n) {
    MPI_Message message;
    int flag = 0;
    OK(MPI_Isend(b[0], n, MPI_BYTE, to, 5, comm, &requests[0]));
    while (!flag) OK(MPI_Improbe(from, 5, comm, &flag, &message, MPI_STATUS_IGNORE));
    OK(MPI_Imrecv(b[1], n, MPI_BYTE, &message, &requests[1]));
    wait_for(2);
}

static void exchanged(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n, MPI_BYTE, to, 5, b[1], n, MPI_BYTE, from, 5, comm, MPI_STATUS_IGNORE));
}

static void replaced(char *const *b, int n) {
    OK(MPI_Sendrecv_replace(b[1], n, MPI_BYTE, to, 5, from, 5, comm, MPI_STATUS_IGNORE));
}

static void immediate_exchanged(char *const *b, int n) {
    OK(MPI_Isendrecv(b[0], n, MPI_BYTE, to, 5, b[1], n, MPI_BYTE, from, 5, comm, &requests[0]));
    wait_for(1);
}

static void immediate_replaced(char *const *b, int n) {
    OK(MPI_Isendrecv_replace(b[1], n, MPI_BYTE, to, 5, from, 5, comm, &requests[0]));
    wait_for(1);
}

/* To itself. */
static void own(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n, MPI_BYTE, 0, 5, b[1], n, MPI_BYTE, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static void late_to_itself(char *const *b, int n) {
    OK(MPI_Isend(b[0], n, MPI_BYTE, 0, 5, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Recv(b[1], n, MPI_BYTE, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    wait_for(1);
}

/* Many at once, of which the receives are posted in between. */
static void many(char *const *b, int n) {
    enum { MANY = 8 };
    MPI_Request all[2 * MANY];
    int part = n / MANY;
    for (int i = 0; i < MANY; i++) OK(MPI_Isend(b[0] + i * part, part, MPI_BYTE, to, i, comm, &all[i]));
    for (int i = 0; i < MANY; i++) OK(MPI_Irecv(b[1] + i * part, part, MPI_BYTE, from, i, comm, &all[MANY + i]));
    OK(MPI_Waitall(2 * MANY, all, MPI_STATUSES_IGNORE));
}

static void cancelled(char *const *b, int n) {
    MPI_Status status;
    int flag;
    OK(MPI_Irecv(b[1], n, MPI_BYTE, from, 99, comm, &requests[0]));
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "it is not cancelled");
}

static void to_nobody(char *const *b, int n) {
    OK(MPI_Send(b[0], n, MPI_BYTE, MPI_PROC_NULL, 0, comm));
    OK(MPI_Recv(b[1], n, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
}

#define CALL(name) {#name, name, 0}
static const struct call CALLS[] = {
    CALL(standard), CALL(synchronous), CALL(buffered), CALL(ready), CALL(immediate), CALL(immediate_synchronous), CALL(immediate_buffered),
    CALL(immediate_ready), CALL(received_late), CALL(longer_receive), CALL(persistent), CALL(persistent_synchronous), CALL(persistent_buffered),
    CALL(persistent_ready), CALL(partitioned), CALL(matched), CALL(immediate_matched), CALL(exchanged), CALL(replaced), CALL(immediate_exchanged),
    CALL(immediate_replaced), CALL(own), CALL(late_to_itself), CALL(many), CALL(cancelled), CALL(to_nobody),
};

static const enum kind KINDS[][BUFFERS] = {
    {DEVICE, DEVICE}, {MIXED, MIXED}, {DEVICE, HOST}, {HOST, DEVICE}, {DEVICE, OTHER}, {OTHER, DEVICE}, {MANAGED, MANAGED}, {MANAGED, DEVICE}, {PINNED, DEVICE}, {MAPPED, DEVICE}, {HOST, MAPPED},
    {POOLED, DEVICE}, {DEVICE, POOLED},
};

static const int SIZES[] = {0, 1, 8, 1024, 30 << 10, (1 << 20) + 3};

static void run(void) {
    enum { ATTACHED = 4 << 20 };
    static char attached[ATTACHED];
    int length;
    void *detached;
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Buffer_attach(attached, ATTACHED));
    struct table table = {.calls = CALLS, .how_many = HOW_MANY(CALLS), .buffers = 2};
    for (int i = 0; i < HOW_MANY(SIZES); i++) try_table(&table, KINDS, SIZES[i] > 1 << 20 ? 4 : HOW_MANY(KINDS), (size_t)SIZES[i], SIZES[i]);
    OK(MPI_Buffer_detach(&detached, &length));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
