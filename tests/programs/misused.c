/* misused CASE: run by `checking` with ISTHMUS_CHECK on two ranks. Mistakes with messages and requests is found, and nothing else. */
#include "check.h"

static int data[64], more[64];
static float real[64];
static MPI_Comm comm = MPI_COMM_WORLD;

static void send(int count, MPI_Datatype type) { OK(MPI_Send(data, count, type, 1, 3, comm)); }

/* The sender's types and the receiver's are compared, as far as the message goes. */
static void types(void) {
    MPI_Datatype pair, row;
    int lengths[] = {1, 1}, length = 0;
    MPI_Aint places[] = {0, 8};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Type_create_struct(2, lengths, places, parts, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_contiguous(4, MPI_INT, &row));
    OK(MPI_Type_commit(&row));
    if (rank == 0) {
        send(4, MPI_INT), send(4, MPI_INT), send(4, MPI_INT), send(1, pair), send(1, pair), send(1, MPI_INT), send(8, MPI_INT);
        OK(MPI_Pack(data, 4, MPI_INT, more, sizeof more, &length, comm));
        OK(MPI_Send(more, length, MPI_PACKED, 1, 3, comm));
        OK(MPI_Sendrecv(data, 4, MPI_INT, 1, 3, more, 4, MPI_INT, 1, 3, comm, &status));
    } else {
        FAILS(MPI_ERR_TYPE, MPI_Recv(real, 64, MPI_FLOAT, 0, 3, comm, &status));
        OK(MPI_Irecv(real, 4, MPI_FLOAT, 0, MPI_ANY_TAG, comm, &request));
        FAILS(MPI_ERR_TYPE, MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == 0 && status.MPI_TAG == 3, "%d", status.MPI_SOURCE);
        OK(MPI_Recv(more, 9, row, MPI_ANY_SOURCE, 3, comm, &status));
        CHECK(status.MPI_SOURCE == 0, "%d", status.MPI_SOURCE);
        OK(MPI_Recv(more, 2, pair, 0, 3, comm, &status));
        FAILS(MPI_ERR_TYPE, MPI_Recv(more, 12, MPI_INT, 0, 3, comm, &status));
        OK(MPI_Recv(more, 2, pair, 0, 3, comm, &status));
        OK(MPI_Probe(0, 3, comm, &status));
        CHECK(status.MPI_SOURCE == 0, "%d", status.MPI_SOURCE);
        OK(MPI_Recv(more, 2, row, 0, 3, comm, &status));
        OK(MPI_Recv(more, 4, MPI_INT, 0, 3, comm, &status));
        FAILS(MPI_ERR_TYPE, MPI_Sendrecv(data, 4, MPI_INT, 0, 3, real, 4, MPI_FLOAT, 0, 3, comm, &status));
    }
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&row));
}

/* A buffer that a request has is left alone. */
static void buffers(void) {
    int other = 1 - rank;
    MPI_Request request, second;
    MPI_Datatype column;
    OK(MPI_Irecv(data, 8, MPI_INT, other, 1, comm, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Irecv(data + 7, 8, MPI_INT, other, 2, comm, &second));
    FAILS(MPI_ERR_BUFFER, MPI_Send(data, 1, MPI_INT, other, 2, comm));
    OK(MPI_Send(more, 8, MPI_INT, other, 1, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_BUFFER, MPI_Sendrecv(data, 4, MPI_INT, other, 1, data + 3, 4, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
    /* It was sent twice, which is right, and then changed, which is not. */
    OK(MPI_Isend(more, 8, MPI_INT, other, 1, comm, &request));
    OK(MPI_Isend(more, 8, MPI_INT, other, 1, comm, &second));
    OK(MPI_Recv(data, 8, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Recv(data, 8, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    more[7]++;
    FAILS(MPI_ERR_BUFFER, MPI_Wait(&second, MPI_STATUS_IGNORE));
    CHECK(second == MPI_REQUEST_NULL, "it is complete");
    /* Every second one each. */
    OK(MPI_Type_vector(8, 1, 2, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Irecv(data, 1, column, other, 1, comm, &request));
    OK(MPI_Isend(data + 1, 1, column, other, 1, comm, &second));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&column));
    /* A persistent request has its buffer while it is active. */
    OK(MPI_Send_init(more, 8, MPI_INT, other, 1, comm, &request));
    for (int i = 0; i < 2; i++) {
        more[0]++;
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Start(&request));
        FAILS(MPI_ERR_BUFFER, MPI_Irecv(more, 8, MPI_INT, other, 1, comm, &second));
        OK(MPI_Recv(data, 8, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&request));
}

/* Collectives under way have buffers as messages have. */
static void collectives(void) {
    MPI_Request request, second;
    int in[2] = {1, 2}, out[4], sum[2];
    OK(MPI_Iallgather(in, 2, MPI_INT, out, 2, MPI_INT, comm, &request));
    in[1]++;
    FAILS(MPI_ERR_BUFFER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL, "it is complete");
    /* What one receives another one may not have. */
    OK(MPI_Iallreduce(in, sum, 2, MPI_INT, MPI_SUM, comm, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Irecv(sum + 1, 1, MPI_INT, !rank, 1, comm, &second));
    FAILS(MPI_ERR_BUFFER, MPI_Send(sum, 1, MPI_INT, !rank, 1, comm));
    FAILS(MPI_ERR_BUFFER, MPI_Bcast(sum, 2, MPI_INT, 0, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum[0] == 2, "%d", sum[0]);
    /* In place, what is sent changes; two may send one buffer; blocks that touch are one. */
    out[2 * rank] = out[2 * rank + 1] = rank;
    OK(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Iallreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, comm, &request));
    OK(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &second));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    OK(MPI_Iscan(in, sum, 2, MPI_INT, MPI_SUM, comm, &request));
    OK(MPI_Ibcast(rank ? out : in, 2, MPI_INT, 0, comm, &second));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    /* A persistent one has its buffers while it is active. */
    OK(MPI_Bcast_init(in, 2, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
    for (int i = 0; i < 2; i++) {
        in[0] = 7 + i;
        OK(MPI_Start(&request));
        FAILS(MPI_ERR_BUFFER, MPI_Irecv(in, 2, MPI_INT, !rank, 1, comm, &second));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Start(&request));
    if (rank == 0) in[0]++;
    if (rank == 0) FAILS(MPI_ERR_BUFFER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    else OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

/* A partition that is ready is left alone until the send is complete. */
static void partitions(void) {
    int other = !rank;
    MPI_Request requests[2], second;
    OK(MPI_Psend_init(data, 4, 4, MPI_INT, other, 2, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(more, 4, 4, MPI_INT, other, 2, comm, MPI_INFO_NULL, &requests[1]));
    for (int i = 0; i < 3; i++) {
        for (int at = 0; at < 16; at++) data[at] = at + i;
        OK(MPI_Startall(2, requests));
        data[8]++;
        OK(MPI_Pready(2, requests[0]));
        data[0]++;
        OK(MPI_Pready_range(0, 1, requests[0]));
        FAILS(MPI_ERR_BUFFER, MPI_Irecv(data + 5, 1, MPI_INT, other, 1, comm, &second));
        OK(MPI_Pready(3, requests[0]));
        if (i == 1) data[9]++;
        if (i == 1) FAILS(MPI_ERR_BUFFER, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        else OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        CHECK(i == 1 || (more[8] == 9 + i && more[0] == 1 + i), "%d", more[8]);
    }
    for (int i = 0; i < 2; i++) OK(MPI_Request_free(&requests[i]));
}

static void no_operation(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
}

/* Each of these is said at the end. */
static void left(void) {
    int keyval;
    MPI_Comm copy;
    MPI_Op op;
    MPI_Datatype type;
    MPI_Request request;
    for (int i = 0; i < 2; i++) OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Op_create(no_operation, 1, &op));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Type_free_keyval(&keyval));
    if (rank == 0) OK(MPI_Isend(data, 4, MPI_INT, 1, 9, copy, &request));
    OK(MPI_Recv_init(more, 4, MPI_INT, 1 - rank, 9, comm, &request));
    /* Nobody knows when its buffer may be used. */
    OK(MPI_Irecv(data + 8, 4, MPI_INT, 1 - rank, 8, comm, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Barrier(comm));
    OK(MPI_Send(more, 4, MPI_INT, 1 - rank, 8, comm));
}

/* Does a standard send end before it is received? */
static void ends_early(int expected) {
    int flag;
    MPI_Request request;
    if (rank == 0) OK(MPI_Isend(data, 1, MPI_INT, 1, 1, comm, &request));
    OK(MPI_Barrier(comm));
    if (rank == 0) {
        OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == expected, "%d", flag);
    }
    OK(MPI_Barrier(comm));
    if (rank == 1) OK(MPI_Recv(more, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    if (rank == 0) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 1 && size == 2, "%d", argc);
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const char *what = argv[1];
    if (strcmp(what, "types") == 0) types();
    else if (strcmp(what, "buffers") == 0) buffers();
    else if (strcmp(what, "collectives") == 0) collectives();
    else if (strcmp(what, "partitions") == 0) partitions();
    else if (strcmp(what, "left") == 0) left();
    else ends_early(strcmp(what, "standard") == 0);
    end();
    return 0;
}
