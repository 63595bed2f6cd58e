// ranks: 2 3 4
// more ranks: 8
/* Every mode of sending, blocking and not, sizes from nothing to 4 MiB, each byte compared. */
#include "check.h"

enum { LONGEST = 4 << 20, TAG = 17 };

static const size_t sizes[] = {0,    1,    7,     8,     63,    64,     65,     512,     2047,          2048,
                               4096, 8191, 16384, 16385, 32768, 100000, 262144, 1 << 20, (1 << 20) + 3, LONGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static char *out, *in;

static void receive(size_t length, int from, unsigned seed) {
    MPI_Status status;
    int count;
    memset(in, 0, length + 8);
    OK(MPI_Recv(in, (int)length + 8, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == TAG, "from %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    CHECK((size_t)count == length, "%d bytes instead of %zu", count, length);
    CHECK_BYTES(in, length, seed);
    for (int i = 0; i < 8; i++) CHECK(in[length + i] == 0, "byte behind the message was written");
}

/* Neighbours in a chain: even ranks send first. */
static void blocking(send_function *send, unsigned mode) {
    for (int i = 0; i < SIZES; i++) {
        unsigned seed = mode * 100 + i;
        for (int other = 0; other < size; other++) {
            if (other == rank) continue;
            fill(out, sizes[i], seed + rank);
            if (rank < other) {
                OK(send(out, (int)sizes[i], MPI_BYTE, other, TAG, MPI_COMM_WORLD));
                receive(sizes[i], other, seed + other);
            } else {
                receive(sizes[i], other, seed + other);
                OK(send(out, (int)sizes[i], MPI_BYTE, other, TAG, MPI_COMM_WORLD));
            }
        }
    }
}

static void nonblocking(isend_function *isend, unsigned mode) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < SIZES; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int count;
        unsigned seed = mode * 100 + i;
        fill(out, sizes[i], seed + rank);
        memset(in, 0, sizes[i]);
        OK(MPI_Irecv(in, (int)sizes[i], MPI_BYTE, previous, TAG, MPI_COMM_WORLD, &requests[0]));
        OK(isend(out, (int)sizes[i], MPI_BYTE, next, TAG, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, statuses));
        OK(MPI_Get_count(&statuses[0], MPI_BYTE, &count));
        CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "a request is left");
        CHECK((size_t)count == sizes[i] && statuses[0].MPI_SOURCE == previous, "%d bytes", count);
        CHECK_BYTES(in, sizes[i], seed + previous);
        CHECK_BYTES(out, sizes[i], seed + rank);
    }
}

/* A ready send may only start once the receive is posted. */
static void ready(void) {
    int other = rank ^ 1;
    for (int i = 0; i < SIZES && other < size; i++) {
        MPI_Request request;
        OK(MPI_Irecv(in, LONGEST, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 1, NULL, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        fill(out, sizes[i], 900 + i + rank);
        if (i % 2) {
            OK(MPI_Rsend(out, (int)sizes[i], MPI_BYTE, other, TAG, MPI_COMM_WORLD));
        } else {
            MPI_Request sent;
            OK(MPI_Irsend(out, (int)sizes[i], MPI_BYTE, other, TAG, MPI_COMM_WORLD, &sent));
            OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_BYTES(in, sizes[i], 900 + i + other);
    }
}

static void both_at_once(void) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < SIZES; i++) {
        MPI_Status status;
        int count;
        fill(out, sizes[i], 500 + i + rank);
        OK(MPI_Sendrecv(out, (int)sizes[i], MPI_BYTE, next, i, in, LONGEST, MPI_BYTE, previous, i, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK((size_t)count == sizes[i], "%d bytes", count);
        CHECK_BYTES(in, sizes[i], 500 + i + previous);
        OK(MPI_Sendrecv_replace(out, (int)sizes[i], MPI_BYTE, next, i, previous, i, MPI_COMM_WORLD, &status));
        CHECK_BYTES(out, sizes[i], 500 + i + previous);
    }
}

/* A synchronous send cannot return before its receive has begun. */
static void synchronous(void) {
    if (rank > 1) return;
    for (int i = 0; i < 3; i++) {
        size_t length = i == 0 ? 0 : i == 1 ? 100 : 1 << 20;
        if (rank == 0) {
            MPI_Request request;
            int done = 0;
            OK(MPI_Issend(out, (int)length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
            for (int turn = 0; turn < 1000; turn++) {
                OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
                CHECK(!done, "a synchronous send of %zu bytes completed without its receive", length);
            }
            OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Recv(in, (int)length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
}

static void nowhere(void) {
    MPI_Status status;
    int count;
    OK(MPI_Send(out, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD));
    OK(MPI_Recv(in, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0, "%d, %d, %d", status.MPI_SOURCE,
          status.MPI_TAG, count);
}

/* Programs made for MPICH name no datatype where there are no elements. */
static void nothing_of_no_type(void) {
    MPI_Request requests[2];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, previous, TAG, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, next, TAG, MPI_COMM_WORLD));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, next, TAG, NULL, 0, MPI_DATATYPE_NULL, previous, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Allgather(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    out = malloc(LONGEST + 8);
    in = malloc(LONGEST + 8);
    blocking(MPI_Send, 1);
    blocking(MPI_Ssend, 2);
    nonblocking(MPI_Isend, 3);
    nonblocking(MPI_Issend, 4);
    ready();
    both_at_once();
    synchronous();
    nowhere();
    nothing_of_no_type();
    end();
    free(out);
    free(in);
    return 0;
}
