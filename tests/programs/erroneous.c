// ranks: 1 2
/* What the standard calls erroneous, as far as one rank can see it: the call, the class it fails with, and the section that
   says so. All rows are looked at before the program ends; what is wrong is listed. */
#include "check.h"

#include <limits.h>
#include <stdint.h>

static int rows, wrong;

/* The row's call has returned `code`: its class must be one of `classes`, which end with MPI_SUCCESS. */
static void row(int line, const char *section, const char *call, const int *classes, int code) {
    int class = MPI_SUCCESS;
    rows++;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    for (const int *expected = classes; *expected != MPI_SUCCESS; expected++)
        if (class == *expected) return;
    wrong++;
    fprintf(stderr, "line %d (MPI-5.0 %s): class %d instead of %d: %s\n", line, section, class, classes[0], call);
}

#define ROW(section, class, call) row(__LINE__, section, #call, (const int[]){class, MPI_SUCCESS}, (call))
/* The standard leaves open which. */
#define ROW2(section, one, other, call) row(__LINE__, section, #call, (const int[]){one, other, MPI_SUCCESS}, (call))

#define GARBAGE(type) ((type)(intptr_t)0x2ffffff7)
#define NO_STATUS MPI_STATUS_IGNORE

static MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF, stale_comm, inter = MPI_COMM_NULL;
static MPI_Group stale_group;
static MPI_Datatype stale_type, uncommitted, overlapping, pair_of_ints;
static MPI_Op stale_op;
static MPI_Info stale_info;
static MPI_Errhandler stale_errhandler;
static MPI_Session stale_session;

static int one, two, many[64], flag;
static char text[MPI_MAX_ERROR_STRING + MPI_MAX_INFO_VAL + 2];
static MPI_Comm made;
static MPI_Group group;
static MPI_Datatype type;
static MPI_Request request;
static MPI_Info info;
static MPI_Message message;
static MPI_Op op;

static void sum(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)length, (void)datatype;
}

/* Every object once, and what is left of it when it is freed. */
static void make_objects(void) {
    OK(MPI_Comm_dup(self, &made));
    stale_comm = made;
    OK(MPI_Comm_free(&made));
    OK(MPI_Comm_group(world, &group));
    stale_group = group;
    OK(MPI_Group_free(&group));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    stale_type = type;
    OK(MPI_Type_free(&type));
    OK(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
    OK(MPI_Type_contiguous(2, MPI_INT, &pair_of_ints));
    OK(MPI_Type_commit(&pair_of_ints));
    OK(MPI_Type_create_resized(pair_of_ints, 0, 4, &overlapping));
    OK(MPI_Type_commit(&overlapping));
    OK(MPI_Op_create(sum, 1, &op));
    stale_op = op;
    OK(MPI_Op_free(&op));
    OK(MPI_Info_create(&info));
    stale_info = info;
    OK(MPI_Info_free(&info));
    MPI_Session session;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    stale_session = session;
    OK(MPI_Session_finalize(&session));
    if (size > 1) {
        MPI_Comm mine;
        OK(MPI_Comm_split(world, rank % 2, rank, &mine));
        OK(MPI_Intercomm_create(mine, 0, world, rank % 2 == 0, 3, &inter));
        OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
        OK(MPI_Comm_free(&mine));
    }
}

static void point_to_point(void) {
    int *buf = many;
    /* 3.2: the arguments of messages. */
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Send(buf, -1, MPI_INT, 0, 0, world));
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Bsend(buf, -1, MPI_INT, 0, 0, world));
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Ssend(buf, INT_MIN, MPI_INT, 0, 0, world));
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Rsend(buf, -1, MPI_INT, 0, 0, world));
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Send_c(buf, -1, MPI_INT, 0, 0, world));
    ROW("3.2.2", MPI_ERR_COUNT, MPI_Recv(buf, -1, MPI_INT, 0, 0, world, NO_STATUS));
    ROW("3.2.2", MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, world));
    ROW("3.2.4", MPI_ERR_BUFFER, MPI_Recv(NULL, 1, MPI_INT, 0, 0, world, NO_STATUS));
    ROW("3.2.2", MPI_ERR_BUFFER, MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, 0, 0, self, &request));
    ROW("3.2.2", MPI_ERR_TYPE, MPI_Send(buf, 1, MPI_DATATYPE_NULL, 0, 0, world));
    ROW("3.2.2", MPI_ERR_TYPE, MPI_Send(buf, 1, stale_type, 0, 0, world));
    ROW("3.2.2", MPI_ERR_TYPE, MPI_Send(buf, 1, GARBAGE(MPI_Datatype), 0, 0, world));
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Send(buf, 1, uncommitted, 0, 0, world));
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Irecv(buf, 1, uncommitted, 0, 0, world, &request));
    ROW("3.2.3", MPI_ERR_RANK, MPI_Send(buf, 1, MPI_INT, size, 0, world));
    ROW("3.2.3", MPI_ERR_RANK, MPI_Send(buf, 1, MPI_INT, -77, 0, world));
    ROW("3.2.4", MPI_ERR_RANK, MPI_Send(buf, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
    ROW("3.2.3", MPI_ERR_RANK, MPI_Send(buf, 1, MPI_INT, MPI_ROOT, 0, world));
    ROW("3.2.4", MPI_ERR_RANK, MPI_Recv(buf, 1, MPI_INT, size, 0, world, NO_STATUS));
    ROW("3.2.4", MPI_ERR_RANK, MPI_Recv(buf, 1, MPI_INT, INT_MAX, 0, world, NO_STATUS));
    ROW("3.2.3", MPI_ERR_TAG, MPI_Send(buf, 1, MPI_INT, 0, -77, world));
    ROW("3.2.4", MPI_ERR_TAG, MPI_Send(buf, 1, MPI_INT, 0, MPI_ANY_TAG, world));
    ROW("3.2.4", MPI_ERR_TAG, MPI_Isend(buf, 1, MPI_INT, 0, MPI_ANY_TAG, world, &request));
    ROW("3.2.4", MPI_ERR_TAG, MPI_Recv(buf, 1, MPI_INT, 0, -77, world, NO_STATUS));
    int *bound;
    OK(MPI_Comm_get_attr(world, MPI_TAG_UB, &bound, &flag));
    if (*bound < INT_MAX) {
        ROW("3.2.3", MPI_ERR_TAG, MPI_Send(buf, 1, MPI_INT, 0, *bound + 1, world));
        ROW("3.2.4", MPI_ERR_TAG, MPI_Recv(buf, 1, MPI_INT, 0, *bound + 1, world, NO_STATUS));
    }
    ROW("3.2.3", MPI_ERR_COMM, MPI_Send(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    ROW("3.2.3", MPI_ERR_COMM, MPI_Send(buf, 1, MPI_INT, 0, 0, stale_comm));
    ROW("3.2.3", MPI_ERR_COMM, MPI_Recv(buf, 1, MPI_INT, 0, 0, GARBAGE(MPI_Comm), NO_STATUS));
    /* 3.2.5: statuses. */
    MPI_Status status;
    OK(MPI_Sendrecv(buf, 3, MPI_BYTE, rank, 5, buf + 8, 8, MPI_BYTE, rank, 5, world, &status));
    ROW("3.2.5", MPI_ERR_TYPE, MPI_Get_count(&status, MPI_DATATYPE_NULL, &one));
    ROW("5.1.11", MPI_ERR_TYPE, MPI_Get_elements(&status, stale_type, &one));
    ROW("3.2.5", MPI_ERR_ARG, MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &one));
    ROW("3.2.5", MPI_ERR_ARG, MPI_Get_count(&status, MPI_INT, NULL));
    /* 3.2.4: messages longer than the buffer. */
    OK(MPI_Isend(buf, 4, MPI_INT, 0, 1, self, &request));
    ROW("3.2.4", MPI_ERR_TRUNCATE, MPI_Recv(buf + 8, 3, MPI_INT, 0, 1, self, NO_STATUS));
    OK(MPI_Wait(&request, NO_STATUS));
    OK(MPI_Irecv(buf + 8, 3, MPI_INT, 0, 1, self, &request));
    OK(MPI_Send(buf, 4, MPI_INT, 0, 1, self));
    ROW("3.7.3", MPI_ERR_TRUNCATE, MPI_Wait(&request, NO_STATUS));
    /* 3.10: both at once. */
    ROW("3.10", MPI_ERR_COUNT, MPI_Sendrecv(buf, -1, MPI_INT, 0, 0, buf + 8, 1, MPI_INT, 0, 0, self, NO_STATUS));
    ROW("3.10", MPI_ERR_COUNT, MPI_Sendrecv(buf, 1, MPI_INT, 0, 0, buf + 8, -1, MPI_INT, 0, 0, self, NO_STATUS));
    ROW("3.10", MPI_ERR_TAG, MPI_Sendrecv(buf, 1, MPI_INT, 0, MPI_ANY_TAG, buf + 8, 1, MPI_INT, 0, 0, self, NO_STATUS));
    ROW("3.10", MPI_ERR_RANK, MPI_Sendrecv(buf, 1, MPI_INT, 1, 0, buf + 8, 1, MPI_INT, 0, 0, self, NO_STATUS));
    ROW("3.10", MPI_ERR_TYPE, MPI_Sendrecv_replace(buf, 1, MPI_DATATYPE_NULL, 0, 0, 0, 0, self, NO_STATUS));
    ROW("3.10", MPI_ERR_RANK, MPI_Isendrecv_replace(buf, 1, MPI_INT, 0, 0, 1, 0, self, &request));
    /* 3.2.4: elements that overlap must not be received. */
    ROW2("5.1.11", MPI_ERR_TYPE, MPI_ERR_BUFFER, MPI_Recv(buf, 2, overlapping, MPI_PROC_NULL, 0, world, NO_STATUS));
    ROW2("5.1.11", MPI_ERR_TYPE, MPI_ERR_BUFFER, MPI_Irecv(buf, 2, overlapping, 0, 0, self, &request));
    /* 3.8: probes. */
    ROW("3.8.1", MPI_ERR_RANK, MPI_Probe(size, 0, world, NO_STATUS));
    ROW("3.8.1", MPI_ERR_TAG, MPI_Iprobe(0, -77, world, &flag, NO_STATUS));
    ROW("3.8.1", MPI_ERR_COMM, MPI_Iprobe(0, 0, MPI_COMM_NULL, &flag, NO_STATUS));
    ROW("3.8.2", MPI_ERR_RANK, MPI_Mprobe(size, 0, world, &message, NO_STATUS));
    ROW("3.8.2", MPI_ERR_TAG, MPI_Improbe(0, -77, world, &flag, &message, NO_STATUS));
    message = MPI_MESSAGE_NULL;
    ROW2("3.8.3", MPI_ERR_REQUEST, MPI_ERR_ARG, MPI_Mrecv(buf, 1, MPI_INT, &message, NO_STATUS));
    OK(MPI_Isend(buf, 1, MPI_INT, 0, 2, self, &request));
    OK(MPI_Mprobe(0, 2, self, &message, NO_STATUS));
    MPI_Message received = message;
    ROW("3.8.3", MPI_ERR_COUNT, MPI_Mrecv(buf + 8, -1, MPI_INT, &message, NO_STATUS));
    OK(MPI_Mrecv(buf + 8, 1, MPI_INT, &message, NO_STATUS));
    ROW2("3.8.3", MPI_ERR_REQUEST, MPI_ERR_ARG, MPI_Mrecv(buf + 8, 1, MPI_INT, &received, NO_STATUS));
    ROW2("3.8.3", MPI_ERR_REQUEST, MPI_ERR_ARG, MPI_Imrecv(buf + 8, 1, MPI_INT, &received, &request));
    OK(MPI_Wait(&request, NO_STATUS));
}

static void buffers(void) {
    char room[MPI_BSEND_OVERHEAD + 64], *back;
    int length;
    ROW("3.6", MPI_ERR_BUFFER, MPI_Buffer_detach(&back, &length));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Comm_detach_buffer(self, &back, &length));
    ROW2("3.6", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Buffer_attach(room, -1));
    ROW2("3.6", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Comm_attach_buffer(self, room, -1));
    ROW("3.6", MPI_ERR_COMM, MPI_Comm_attach_buffer(MPI_COMM_NULL, room, sizeof room));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Bsend(many, 1, MPI_INT, 0, 0, self));
    OK(MPI_Buffer_attach(room, sizeof room));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Buffer_attach(room, sizeof room));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Bsend(text, sizeof text, MPI_BYTE, 0, 0, self));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Ibsend(text, sizeof text, MPI_BYTE, 0, 0, self, &request));
    OK(MPI_Buffer_detach(&back, &length));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Buffer_detach(&back, &length));
    OK(MPI_Comm_attach_buffer(self, MPI_BUFFER_AUTOMATIC, 0));
    ROW("3.6", MPI_ERR_BUFFER, MPI_Comm_attach_buffer(self, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Comm_detach_buffer(self, &back, &length));
    ROW("3.6", MPI_ERR_COMM, MPI_Comm_flush_buffer(stale_comm));
    ROW("3.6", MPI_ERR_SESSION, MPI_Session_attach_buffer(MPI_SESSION_NULL, room, sizeof room));
    ROW("3.6", MPI_ERR_SESSION, MPI_Session_flush_buffer(stale_session));
}

static void requests(void) {
    int *buf = many, index;
    MPI_Request null = MPI_REQUEST_NULL, garbage = GARBAGE(MPI_Request), copy, pair[2];
    MPI_Status statuses[2];
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Wait(&garbage, NO_STATUS));
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Test(&garbage, &flag, NO_STATUS));
    ROW("3.7.6", MPI_ERR_REQUEST, MPI_Request_get_status(garbage, &flag, NO_STATUS));
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Request_free(&null));
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Request_free(&garbage));
    ROW("3.8.4", MPI_ERR_REQUEST, MPI_Cancel(&null));
    ROW("3.8.4", MPI_ERR_REQUEST, MPI_Cancel(&garbage));
    ROW("3.7.3", MPI_ERR_ARG, MPI_Wait(NULL, NO_STATUS));
    pair[0] = pair[1] = MPI_REQUEST_NULL;
    ROW2("3.7.5", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Waitall(-1, pair, statuses));
    ROW2("3.7.5", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Testany(-1, pair, &index, &flag, statuses));
    ROW2("3.7.5", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Waitsome(-1, pair, &index, many, statuses));
    ROW("3.7.5", MPI_ERR_ARG, MPI_Waitall(2, NULL, statuses));
    pair[1] = garbage;
    ROW2("3.7.5", MPI_ERR_REQUEST, MPI_ERR_IN_STATUS, MPI_Waitall(2, pair, statuses));
    ROW("3.7.5", MPI_ERR_REQUEST, MPI_Waitany(2, pair, &index, statuses));
    /* Use after it is gone. */
    OK(MPI_Isend(buf, 1, MPI_INT, 0, 0, self, &request));
    copy = request;
    OK(MPI_Recv(buf + 8, 1, MPI_INT, 0, 0, self, NO_STATUS));
    OK(MPI_Wait(&request, NO_STATUS));
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Wait(&copy, NO_STATUS));
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Request_free(&copy));
    ROW("3.7.6", MPI_ERR_REQUEST, MPI_Request_get_status(copy, &flag, NO_STATUS));
    /* One of several fails: its error is in its status, and it is not read twice. */
    OK(MPI_Irecv(buf + 8, 1, MPI_INT, 0, 0, self, &pair[0]));
    OK(MPI_Irecv(buf + 16, 1, MPI_INT, 0, 1, self, &pair[1]));
    copy = pair[1];
    OK(MPI_Send(buf, 1, MPI_INT, 0, 0, self));
    OK(MPI_Send(buf, 2, MPI_INT, 0, 1, self));
    ROW("3.7.5", MPI_ERR_IN_STATUS, MPI_Waitall(2, pair, statuses));
    ROW("3.7.5", MPI_ERR_TRUNCATE, statuses[1].MPI_ERROR);
    ROW("3.7.3", MPI_ERR_REQUEST, MPI_Wait(&copy, NO_STATUS));
    /* 3.9: persistent ones. */
    ROW("3.9", MPI_ERR_COUNT, MPI_Send_init(buf, -1, MPI_INT, 0, 0, self, &request));
    ROW("3.9", MPI_ERR_RANK, MPI_Recv_init(buf, 1, MPI_INT, 1, 0, self, &request));
    ROW("3.9", MPI_ERR_TAG, MPI_Ssend_init(buf, 1, MPI_INT, 0, -77, self, &request));
    ROW("3.9", MPI_ERR_TYPE, MPI_Bsend_init(buf, 1, MPI_DATATYPE_NULL, 0, 0, self, &request));
    ROW("3.9", MPI_ERR_COMM, MPI_Rsend_init(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &request));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&null));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&garbage));
    OK(MPI_Isend(buf, 1, MPI_INT, 0, 0, self, &request));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&request));
    OK(MPI_Recv(buf + 8, 1, MPI_INT, 0, 0, self, NO_STATUS));
    OK(MPI_Wait(&request, NO_STATUS));
    OK(MPI_Recv_init(buf + 8, 1, MPI_INT, 0, 0, self, &request));
    OK(MPI_Start(&request));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&request));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Startall(1, &request));
    OK(MPI_Send(buf, 1, MPI_INT, 0, 0, self));
    OK(MPI_Wait(&request, NO_STATUS));
    copy = request;
    OK(MPI_Request_free(&request));
    ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&copy));
    ROW2("3.9", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Startall(-1, pair));
    /* 6.12: collective operations are freed when they are complete only. */
    OK(MPI_Barrier_init(self, MPI_INFO_NULL, &request));
    ROW("3.8.4", MPI_ERR_REQUEST, MPI_Cancel(&request));
    OK(MPI_Request_free(&request));
    if (size > 1 && rank == 0) {
        /* Nobody comes to it before rank 0 allows that. */
        OK(MPI_Ibarrier(world, &request));
        ROW("6.12", MPI_ERR_REQUEST, MPI_Request_free(&request));
        ROW("3.8.4", MPI_ERR_REQUEST, MPI_Cancel(&request));
        ROW("3.9", MPI_ERR_REQUEST, MPI_Start(&request));
        OK(MPI_Send(buf, 0, MPI_INT, 1, 4, world));
        OK(MPI_Wait(&request, NO_STATUS));
    } else if (rank == 1) {
        OK(MPI_Recv(buf, 0, MPI_INT, 0, 4, world, NO_STATUS));
        OK(MPI_Ibarrier(world, &request));
        OK(MPI_Wait(&request, NO_STATUS));
    }
    /* 13.2: generalized requests are completed once, and nothing else is. */
    ROW("13.2", MPI_ERR_REQUEST, MPI_Grequest_complete(MPI_REQUEST_NULL));
    OK(MPI_Irecv(buf, 1, MPI_INT, 0, 0, self, &request));
    ROW("13.2", MPI_ERR_REQUEST, MPI_Grequest_complete(request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, NO_STATUS));
}

static void partitioned(void) {
    int *buf = many;
    MPI_Request send, receive;
    ROW2("4.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Psend_init(buf, -1, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_COUNT, MPI_Psend_init(buf, 1, -1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_TYPE, MPI_Psend_init(buf, 1, 1, MPI_DATATYPE_NULL, 0, 0, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_RANK, MPI_Psend_init(buf, 1, 1, MPI_INT, 1, 0, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_RANK, MPI_Precv_init(buf, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_TAG, MPI_Precv_init(buf, 1, 1, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &send));
    ROW("4.2", MPI_ERR_INFO, MPI_Psend_init(buf, 1, 1, MPI_INT, 0, 0, self, stale_info, &send));
    OK(MPI_Psend_init(buf, 4, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(buf + 8, 4, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &receive));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Pready(0, send));
    OK(MPI_Start(&send));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Start(&send));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Request_free(&send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready(4, send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready(-1, send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready_range(4, 5, send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready_list(2, (int[]){7, 1}, send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready_list(2, (int[]){1, 1}, send));
    /* Partitions before the wrong one are ready. */
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready(1, send));
    ROW("4.2.1", MPI_ERR_ARG, MPI_Pready_range(0, 3, send));
    ROW("4.2.2", MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
    OK(MPI_Start(&receive));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Pready(0, receive));
    ROW("4.2.2", MPI_ERR_ARG, MPI_Parrived(receive, 4, &flag));
    ROW("4.2.2", MPI_ERR_ARG, MPI_Parrived(receive, -1, &flag));
    OK(MPI_Pready_list(2, (int[]){2, 3}, send));
    OK(MPI_Wait(&receive, NO_STATUS));
    OK(MPI_Wait(&send, NO_STATUS));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Pready_range(0, 0, GARBAGE(MPI_Request)));
    OK(MPI_Isend(buf, 1, MPI_INT, MPI_PROC_NULL, 0, self, &request));
    ROW("4.2.1", MPI_ERR_REQUEST, MPI_Pready(0, request));
    OK(MPI_Wait(&request, NO_STATUS));
}

static void datatypes(void) {
    int ones[4] = {1, 1, 1, 1}, minus[4] = {1, -1, 1, 1}, zeros[4] = {0};
    MPI_Aint offsets[4] = {0, 8, 16, 24}, bound, extent;
    MPI_Datatype ints[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT}, nulls[4] = {MPI_INT, MPI_DATATYPE_NULL, MPI_INT, MPI_INT};
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    ROW("5.1.2", MPI_ERR_TYPE, MPI_Type_contiguous(1, stale_type, &type));
    ROW("5.1.2", MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_vector(-1, 1, 1, MPI_INT, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_vector(1, -1, 1, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_create_hvector(1, -1, 1, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_indexed(-1, ones, zeros, MPI_INT, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_indexed(4, minus, zeros, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_ARG, MPI_Type_indexed(4, NULL, zeros, MPI_INT, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_create_hindexed(4, minus, offsets, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_create_indexed_block(-1, 1, zeros, MPI_INT, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_create_indexed_block(4, -1, zeros, MPI_INT, &type));
    ROW("5.1.2", MPI_ERR_TYPE, MPI_Type_create_hindexed_block(4, 1, offsets, MPI_DATATYPE_NULL, &type));
    ROW("5.1.2", MPI_ERR_COUNT, MPI_Type_create_struct(-1, ones, offsets, ints, &type));
    ROW2("5.1.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_create_struct(4, minus, offsets, ints, &type));
    ROW("5.1.2", MPI_ERR_TYPE, MPI_Type_create_struct(4, ones, offsets, nulls, &type));
    int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {0, 0};
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(0, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, (int[]){2, 5}, starts, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, (int[]){2, 0}, starts, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, parts, (int[]){0, 3}, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, parts, (int[]){0, -1}, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, (int[]){4, 0}, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, parts, starts, 9999, MPI_INT, &type));
    int block[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, usual[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int grid[2] = {2, 1};
    ROW2("5.1.4", MPI_ERR_RANK, MPI_ERR_ARG, MPI_Type_create_darray(2, 2, 2, sizes, block, usual, grid, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.4", MPI_ERR_ARG, MPI_Type_create_darray(3, 0, 2, sizes, block, usual, grid, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.4", MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 2, sizes, (int[]){99, 99}, usual, grid, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.4", MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 2, sizes, block, (int[]){-5, -5}, grid, MPI_ORDER_C, MPI_INT, &type));
    /* A block too short for the grid to cover the array. */
    ROW("5.1.4", MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 2, sizes, block, (int[]){1, 4}, grid, MPI_ORDER_C, MPI_INT, &type));
    ROW("5.1.7", MPI_ERR_TYPE, MPI_Type_create_resized(MPI_DATATYPE_NULL, 0, 4, &type));
    ROW("5.1.7", MPI_ERR_TYPE, MPI_Type_get_extent(stale_type, &bound, &extent));
    ROW("5.1.5", MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &one));
    type = MPI_DATATYPE_NULL;
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Type_commit(&type));
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Type_free(&type));
    type = MPI_INT;
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Type_free(&type));
    type = stale_type;
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Type_free(&type));
    ROW("5.1.9", MPI_ERR_TYPE, MPI_Type_commit(&type));
    ROW("5.1.10", MPI_ERR_TYPE, MPI_Type_dup(stale_type, &type));
    ROW("5.1.13", MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL));
    ROW("5.1.13", MPI_ERR_ARG, MPI_Type_get_contents(uncommitted, 0, 0, 0, NULL, NULL, NULL));
    ROW("5.1.13", MPI_ERR_TYPE, MPI_Type_get_envelope(stale_type, &one, &one, &one, &one));
    /* 5.2: packing. */
    int position = 0;
    ROW("5.2", MPI_ERR_COUNT, MPI_Pack(many, -1, MPI_INT, text, 64, &position, self));
    ROW2("5.2", MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_Pack(many, 4, MPI_INT, text, 15, &position, self));
    ROW2("5.2", MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Pack(many, 4, MPI_INT, text, -1, &position, self));
    ROW("5.2", MPI_ERR_TYPE, MPI_Pack(many, 4, MPI_DATATYPE_NULL, text, 64, &position, self));
    ROW("5.2", MPI_ERR_TYPE, MPI_Pack(many, 1, uncommitted, text, 64, &position, self));
    ROW("5.2", MPI_ERR_COMM, MPI_Pack(many, 4, MPI_INT, text, 64, &position, MPI_COMM_NULL));
    ROW2("5.2", MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_Unpack(text, 15, &position, many, 4, MPI_INT, self));
    ROW("5.2", MPI_ERR_COUNT, MPI_Unpack(text, 64, &position, many, -1, MPI_INT, self));
    ROW2("5.2", MPI_ERR_TYPE, MPI_ERR_BUFFER, MPI_Unpack(text, 64, &position, many, 2, overlapping, self));
    position = -1;
    ROW("5.2", MPI_ERR_ARG, MPI_Unpack(text, 64, &position, many, 1, MPI_INT, self));
    position = 65;
    ROW2("5.2", MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_Unpack(text, 64, &position, many, 1, MPI_INT, self));
    ROW("5.2", MPI_ERR_COUNT, MPI_Pack_size(-1, MPI_INT, self, &one));
    MPI_Aint place = 0;
    ROW2("5.3", MPI_ERR_ARG, MPI_ERR_UNSUPPORTED_DATAREP, MPI_Pack_external("other", many, 1, MPI_INT, text, 64, &place));
    ROW2("5.3", MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_Pack_external("external32", many, 4, MPI_INT, text, 15, &place));
    ROW2("5.3", MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_Unpack_external("external32", text, 3, &place, many, 1, MPI_INT));
    ROW("5.3", MPI_ERR_COUNT, MPI_Pack_external_size("external32", -1, MPI_INT, &place));
    /* 19.1.9: sizes and kinds. */
    ROW("19.1.9", MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type));
    ROW("19.1.9", MPI_ERR_ARG, MPI_Type_match_size(99, 4, &type));
    ROW("19.1.9", MPI_ERR_ARG, MPI_Type_create_f90_integer(1000, &type));
    ROW("19.1.9", MPI_ERR_ARG, MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type));
    ROW("19.1.9", MPI_ERR_ARG, MPI_Type_create_f90_complex(1000, 100000, &type));
}

static void collectives(void) {
    int *buf = many, *to = many + 32;
    int counts[2] = {1, 1}, minus[2] = {-1, -1}, offsets[2] = {0, 1};
    MPI_Datatype ints[2] = {MPI_INT, MPI_INT}, nulls[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    ROW("6.3", MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    ROW("6.3", MPI_ERR_COMM, MPI_Ibarrier(stale_comm, &request));
    ROW("6.4", MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, size, world));
    ROW("6.4", MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, -1, world));
    ROW("6.4", MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, MPI_PROC_NULL, world));
    ROW("6.4", MPI_ERR_ROOT, MPI_Ibcast(buf, 1, MPI_INT, MPI_ROOT, world, &request));
    ROW("6.4", MPI_ERR_COUNT, MPI_Bcast(buf, -1, MPI_INT, 0, world));
    ROW("6.4", MPI_ERR_TYPE, MPI_Bcast(buf, 1, MPI_DATATYPE_NULL, 0, world));
    ROW("6.4", MPI_ERR_TYPE, MPI_Bcast(buf, 1, uncommitted, 0, world));
    ROW("6.2.3", MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world));
    ROW("6.5", MPI_ERR_ROOT, MPI_Gather(buf, 1, MPI_INT, to, 1, MPI_INT, size, world));
    ROW("6.5", MPI_ERR_COUNT, MPI_Gather(buf, -1, MPI_INT, to, 1, MPI_INT, 0, world));
    ROW("6.2.3", MPI_ERR_BUFFER, MPI_Gather(buf, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, self));
    ROW("6.5", MPI_ERR_BUFFER, MPI_Gather(buf, 1, MPI_INT, buf, 1, MPI_INT, 0, self));
    ROW("6.5", MPI_ERR_COUNT, MPI_Gatherv(buf, 1, MPI_INT, to, minus, offsets, MPI_INT, 0, self));
    ROW("6.5", MPI_ERR_TYPE, MPI_Gatherv(buf, 1, MPI_INT, to, counts, offsets, MPI_DATATYPE_NULL, 0, self));
    ROW("6.6", MPI_ERR_ROOT, MPI_Scatter(buf, 1, MPI_INT, to, 1, MPI_INT, -1, world));
    ROW("6.6", MPI_ERR_COUNT, MPI_Scatter(buf, 1, MPI_INT, to, -1, MPI_INT, 0, world));
    ROW("6.6", MPI_ERR_BUFFER, MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, to, 1, MPI_INT, 0, self));
    ROW("6.6", MPI_ERR_BUFFER, MPI_Scatter(buf, 1, MPI_INT, buf, 1, MPI_INT, 0, self));
    ROW("6.6", MPI_ERR_COUNT, MPI_Scatterv(buf, minus, offsets, MPI_INT, to, 1, MPI_INT, 0, self));
    ROW("6.7", MPI_ERR_COUNT, MPI_Allgather(buf, -1, MPI_INT, to, 1, MPI_INT, world));
    ROW("6.7", MPI_ERR_BUFFER, MPI_Allgather(buf, 1, MPI_INT, buf, 1, MPI_INT, world));
    ROW("6.2.3", MPI_ERR_BUFFER, MPI_Allgather(buf, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, world));
    ROW("6.7", MPI_ERR_COUNT, MPI_Allgatherv(buf, 1, MPI_INT, to, minus, offsets, MPI_INT, world));
    ROW("6.7", MPI_ERR_ARG, MPI_Allgatherv(buf, 1, MPI_INT, to, NULL, offsets, MPI_INT, world));
    ROW("6.8", MPI_ERR_TYPE, MPI_Alltoall(buf, 1, MPI_INT, to, 1, MPI_DATATYPE_NULL, world));
    ROW("6.8", MPI_ERR_BUFFER, MPI_Alltoall(buf, 1, MPI_INT, buf, 1, MPI_INT, world));
    ROW("6.8", MPI_ERR_COUNT, MPI_Alltoallv(buf, minus, offsets, MPI_INT, to, counts, offsets, MPI_INT, world));
    ROW("6.8", MPI_ERR_TYPE, MPI_Alltoallw(buf, counts, offsets, nulls, to, counts, offsets, ints, world));
    ROW("6.8", MPI_ERR_COUNT, MPI_Alltoallw(buf, counts, offsets, ints, to, minus, offsets, ints, world));
    ROW("6.9.1", MPI_ERR_ROOT, MPI_Reduce(buf, to, 1, MPI_INT, MPI_SUM, size, world));
    ROW("6.9.1", MPI_ERR_COUNT, MPI_Reduce(buf, to, -1, MPI_INT, MPI_SUM, 0, world));
    ROW("6.9.1", MPI_ERR_OP, MPI_Reduce(buf, to, 1, MPI_INT, MPI_OP_NULL, 0, world));
    ROW("6.9.1", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_INT, stale_op, world));
    ROW("6.9.2", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_DOUBLE, MPI_BAND, world));
    ROW("6.9.2", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, world));
    ROW("6.9.2", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_BYTE, MPI_SUM, world));
    ROW("6.9.2", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, pair_of_ints, MPI_SUM, world));
    ROW("6.9.4", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_INT, MPI_MINLOC, world));
    ROW("6.9.4", MPI_ERR_OP, MPI_Iallreduce(buf, to, 1, MPI_2INT, MPI_SUM, world, &request));
    ROW("12.3", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_INT, MPI_REPLACE, world));
    ROW("12.3", MPI_ERR_OP, MPI_Allreduce(buf, to, 1, MPI_INT, MPI_NO_OP, world));
    ROW("6.9.1", MPI_ERR_BUFFER, MPI_Reduce(buf, buf, 1, MPI_INT, MPI_SUM, 0, self));
    ROW("6.9.6", MPI_ERR_BUFFER, MPI_Allreduce(buf, buf, 1, MPI_INT, MPI_SUM, world));
    ROW("6.2.3", MPI_ERR_BUFFER, MPI_Allreduce(buf, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world));
    ROW("6.9.6", MPI_ERR_BUFFER, MPI_Allreduce(NULL, to, 1, MPI_INT, MPI_SUM, world));
    ROW("6.9.7", MPI_ERR_OP, MPI_Reduce_local(buf, to, 1, MPI_DOUBLE, MPI_BXOR));
    ROW("6.9.7", MPI_ERR_COUNT, MPI_Reduce_local(buf, to, -1, MPI_INT, MPI_SUM));
    ROW("6.9.7", MPI_ERR_BUFFER, MPI_Reduce_local(buf, buf, 1, MPI_INT, MPI_SUM));
    ROW("6.9.7", MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, to, 1, MPI_INT, MPI_SUM));
    ROW("6.10.1", MPI_ERR_COUNT, MPI_Reduce_scatter_block(buf, to, -1, MPI_INT, MPI_SUM, world));
    ROW("6.10.2", MPI_ERR_COUNT, MPI_Reduce_scatter(buf, to, minus, MPI_INT, MPI_SUM, world));
    ROW("6.11", MPI_ERR_BUFFER, MPI_Scan(buf, buf, 1, MPI_INT, MPI_SUM, world));
    ROW("6.11", MPI_ERR_OP, MPI_Exscan(buf, to, 1, MPI_FLOAT, MPI_LAND, world));
    ROW("6.13", MPI_ERR_INFO, MPI_Bcast_init(buf, 1, MPI_INT, 0, world, stale_info, &request));
    ROW("6.13", MPI_ERR_ROOT, MPI_Reduce_init(buf, to, 1, MPI_INT, MPI_SUM, size, world, MPI_INFO_NULL, &request));
    ROW("6.9.5", MPI_ERR_ARG, MPI_Op_create(NULL, 1, &op));
    op = MPI_SUM;
    ROW("6.9.5", MPI_ERR_OP, MPI_Op_free(&op));
    op = stale_op;
    ROW("6.9.5", MPI_ERR_OP, MPI_Op_free(&op));
    ROW("6.9.5", MPI_ERR_OP, MPI_Op_commutative(MPI_OP_NULL, &flag));
    if (inter != MPI_COMM_NULL) {
        ROW("6.11", MPI_ERR_COMM, MPI_Scan(buf, to, 1, MPI_INT, MPI_SUM, inter));
        ROW("6.2.3", MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, to, 1, MPI_INT, MPI_SUM, inter));
        ROW("6.4", MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, 77, inter));
    }
}

static void groups(void) {
    int ranks[2] = {0, 0}, far[1] = {size}, none[1] = {-1};
    int range[1][3] = {{0, 0, 0}}, beyond[1][3] = {{0, size, 1}};
    MPI_Group own;
    OK(MPI_Comm_group(world, &own));
    ROW("7.3.1", MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &one));
    ROW("7.3.1", MPI_ERR_GROUP, MPI_Group_rank(stale_group, &one));
    ROW("7.3.1", MPI_ERR_GROUP, MPI_Group_rank(GARBAGE(MPI_Group), &one));
    ROW("7.3.1", MPI_ERR_RANK, MPI_Group_translate_ranks(own, 1, far, own, many));
    ROW2("7.3.1", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Group_translate_ranks(own, -1, far, own, many));
    ROW("7.3.1", MPI_ERR_GROUP, MPI_Group_compare(own, MPI_GROUP_NULL, &one));
    ROW("7.3.2", MPI_ERR_GROUP, MPI_Group_union(own, stale_group, &group));
    ROW("7.3.2", MPI_ERR_GROUP, MPI_Group_intersection(MPI_GROUP_NULL, own, &group));
    ROW("7.3.2", MPI_ERR_RANK, MPI_Group_incl(own, 1, far, &group));
    ROW("7.3.2", MPI_ERR_RANK, MPI_Group_incl(own, 1, none, &group));
    ROW("7.3.2", MPI_ERR_RANK, MPI_Group_incl(own, 2, ranks, &group));
    ROW2("7.3.2", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Group_incl(own, -1, ranks, &group));
    ROW("7.3.2", MPI_ERR_RANK, MPI_Group_excl(own, 1, far, &group));
    ROW("7.3.2", MPI_ERR_RANK, MPI_Group_excl(own, 2, ranks, &group));
    ROW2("7.3.2", MPI_ERR_ARG, MPI_ERR_RANK, MPI_Group_range_incl(own, 1, range, &group));
    ROW2("7.3.2", MPI_ERR_RANK, MPI_ERR_ARG, MPI_Group_range_incl(own, 1, beyond, &group));
    ROW2("7.3.2", MPI_ERR_ARG, MPI_ERR_RANK, MPI_Group_range_excl(own, 1, range, &group));
    group = MPI_GROUP_NULL;
    ROW("7.3.3", MPI_ERR_GROUP, MPI_Group_free(&group));
    group = stale_group;
    ROW("7.3.3", MPI_ERR_GROUP, MPI_Group_free(&group));
    OK(MPI_Group_free(&own));
}

static void communicators(void) {
    MPI_Group own;
    OK(MPI_Comm_group(world, &own));
    ROW("7.4.1", MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &one));
    ROW("7.4.1", MPI_ERR_COMM, MPI_Comm_rank(stale_comm, &one));
    ROW("7.4.1", MPI_ERR_COMM, MPI_Comm_rank((MPI_Comm)MPI_INT, &one));
    ROW("7.4.1", MPI_ERR_ARG, MPI_Comm_size(world, NULL));
    ROW("7.4.1", MPI_ERR_COMM, MPI_Comm_compare(world, MPI_COMM_NULL, &one));
    ROW("7.4.2", MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &made));
    ROW("7.4.2", MPI_ERR_COMM, MPI_Comm_idup(stale_comm, &made, &request));
    ROW("7.4.2", MPI_ERR_INFO, MPI_Comm_dup_with_info(self, stale_info, &made));
    ROW("7.4.2", MPI_ERR_GROUP, MPI_Comm_create(world, MPI_GROUP_NULL, &made));
    ROW("7.4.2", MPI_ERR_GROUP, MPI_Comm_create(world, stale_group, &made));
    if (size > 1) ROW("7.4.2", MPI_ERR_GROUP, MPI_Comm_create(self, own, &made));
    ROW("7.4.2", MPI_ERR_GROUP, MPI_Comm_create_group(self, MPI_GROUP_NULL, 0, &made));
    ROW("7.4.2", MPI_ERR_TAG, MPI_Comm_create_group(world, own, -5, &made));
    ROW("7.4.2", MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    ROW("7.4.2", MPI_ERR_ARG, MPI_Comm_create_from_group(own, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    ROW2("7.4.2", MPI_ERR_ARG, MPI_ERR_ERRHANDLER, MPI_Comm_create_from_group(own, "tag", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &made));
    ROW("7.4.2", MPI_ERR_ARG, MPI_Comm_split(world, -5, 0, &made));
    ROW("7.4.2", MPI_ERR_COMM, MPI_Comm_split(MPI_COMM_NULL, 0, 0, &made));
    ROW("7.4.2", MPI_ERR_ARG, MPI_Comm_split_type(world, 9999, 0, MPI_INFO_NULL, &made));
    made = MPI_COMM_NULL;
    ROW("7.4.3", MPI_ERR_COMM, MPI_Comm_free(&made));
    made = MPI_COMM_WORLD;
    ROW("7.4.3", MPI_ERR_COMM, MPI_Comm_free(&made));
    made = MPI_COMM_SELF;
    ROW("7.4.3", MPI_ERR_COMM, MPI_Comm_free(&made));
    made = stale_comm;
    ROW("7.4.3", MPI_ERR_COMM, MPI_Comm_free(&made));
    made = MPI_COMM_WORLD;
    ROW("11.10.4", MPI_ERR_COMM, MPI_Comm_disconnect(&made));
    ROW("7.4.4", MPI_ERR_INFO, MPI_Comm_set_info(self, stale_info));
    ROW("7.6.1", MPI_ERR_COMM, MPI_Comm_remote_size(world, &one));
    ROW("7.6.1", MPI_ERR_COMM, MPI_Comm_remote_group(world, &group));
    ROW("7.6.2", MPI_ERR_COMM, MPI_Intercomm_merge(world, 0, &made));
    ROW("7.6.2", MPI_ERR_RANK, MPI_Intercomm_create(self, 1, world, 0, 0, &made));
    ROW("7.6.2", MPI_ERR_TAG, MPI_Intercomm_create(self, 0, world, 0, -5, &made));
    ROW("7.6.2", MPI_ERR_COMM, MPI_Intercomm_create(MPI_COMM_NULL, 0, world, 0, 0, &made));
    ROW("7.6.2", MPI_ERR_RANK, MPI_Intercomm_create(self, 0, world, size, 0, &made));
    ROW("7.8", MPI_ERR_COMM, MPI_Comm_set_name(MPI_COMM_NULL, "name"));
    ROW("7.8", MPI_ERR_ARG, MPI_Comm_set_name(self, NULL));
    ROW("7.8", MPI_ERR_TYPE, MPI_Type_set_name(stale_type, "name"));
    ROW("7.8", MPI_ERR_COMM, MPI_Comm_get_name(stale_comm, text, &one));
    OK(MPI_Group_free(&own));
}

static void caching(void) {
    int key, stale_key, type_key;
    void *value;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    stale_key = key;
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_set_attr(self, MPI_KEYVAL_INVALID, NULL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_set_attr(self, stale_key, NULL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_set_attr(self, type_key, NULL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_set_attr(self, 123456789, NULL));
    ROW("9.1.2", MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_TAG_UB, &one));
    ROW("9.1.2", MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, MPI_WTIME_IS_GLOBAL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_get_attr(self, MPI_KEYVAL_INVALID, &value, &flag));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_get_attr(self, stale_key, &value, &flag));
    ROW("7.7.2", MPI_ERR_COMM, MPI_Comm_get_attr(MPI_COMM_NULL, key, &value, &flag));
    ROW("7.7.2", MPI_ERR_COMM, MPI_Comm_set_attr(stale_comm, key, NULL));
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_delete_attr(self, stale_key));
    ROW("7.7.4", MPI_ERR_KEYVAL, MPI_Type_set_attr(MPI_INT, key, NULL));
    ROW("7.7.4", MPI_ERR_TYPE, MPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, NULL));
    ROW("7.7.4", MPI_ERR_KEYVAL, MPI_Type_get_attr(MPI_INT, MPI_KEYVAL_INVALID, &value, &flag));
    one = stale_key;
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&one));
    one = MPI_KEYVAL_INVALID;
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&one));
    one = MPI_TAG_UB;
    ROW("7.7.2", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&one));
    one = key;
    ROW("7.7.4", MPI_ERR_KEYVAL, MPI_Type_free_keyval(&one));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Type_free_keyval(&type_key));
}

static void topologies(void) {
    int dims[2] = {size, 1}, too_many[2] = {size, 2}, negative[2] = {-1, 1}, periods[2] = {0, 0}, place[2] = {0, 0};
    int zero[1] = {0}, far[1] = {size}, index[1] = {1}, weights[1] = {-1};
    MPI_Comm grid, graph;
    ROW("8.5.1", MPI_ERR_COMM, MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &grid));
    ROW2("8.5.1", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Cart_create(world, -1, dims, periods, 0, &grid));
    ROW2("8.5.1", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Cart_create(world, 2, negative, periods, 0, &grid));
    ROW2("8.5.1", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Cart_create(world, 2, too_many, periods, 0, &grid));
    ROW("8.5.1", MPI_ERR_ARG, MPI_Cart_create(world, 2, NULL, periods, 0, &grid));
    int some[2] = {3, 0}, below[2] = {-1, 0};
    ROW("8.5.2", MPI_ERR_DIMS, MPI_Dims_create(4, 2, some));
    ROW("8.5.2", MPI_ERR_DIMS, MPI_Dims_create(4, 2, below));
    ROW2("8.5.2", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Dims_create(4, -1, place));
    ROW2("8.5.2", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Dims_create(0, 2, place));
    ROW2("8.5.2", MPI_ERR_DIMS, MPI_ERR_ARG, MPI_Dims_create(-4, 2, place));
    ROW("8.5.3", MPI_ERR_ARG, MPI_Graph_create(world, size + 1, many, many, 0, &graph));
    ROW2("8.5.3", MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Graph_create(world, -1, index, zero, 0, &graph));
    ROW2("8.5.3", MPI_ERR_RANK, MPI_ERR_ARG, MPI_Graph_create(self, 1, index, far, 0, &graph));
    ROW2("8.5.3", MPI_ERR_ARG, MPI_ERR_TOPOLOGY, MPI_Graph_create(self, 1, (int[]){-1}, zero, 0, &graph));
    int degree[1] = {1};
    ROW2("8.5.4", MPI_ERR_RANK, MPI_ERR_ARG,
         MPI_Dist_graph_create_adjacent(self, 1, (int[]){1}, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ROW2("8.5.4", MPI_ERR_ARG, MPI_ERR_COUNT,
         MPI_Dist_graph_create_adjacent(self, -1, zero, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ROW("8.5.4", MPI_ERR_ARG,
        MPI_Dist_graph_create_adjacent(self, 1, zero, weights, 1, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ROW2("8.5.4", MPI_ERR_RANK, MPI_ERR_ARG,
         MPI_Dist_graph_create(self, 1, (int[]){1}, degree, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ROW2("8.5.4", MPI_ERR_RANK, MPI_ERR_ARG,
         MPI_Dist_graph_create(self, 1, zero, degree, (int[]){7}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    ROW("8.5.4", MPI_ERR_INFO,
        MPI_Dist_graph_create(self, 1, zero, degree, zero, MPI_UNWEIGHTED, stale_info, 0, &graph));
    /* 8.5.5: questions to a topology that is not there. */
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Cartdim_get(world, &one));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Cart_get(world, 2, dims, periods, place));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Cart_rank(world, place, &one));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Cart_coords(world, 0, 2, place));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Graphdims_get(world, &one, &two));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Graph_get(world, 1, 1, many, many));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Graph_neighbors_count(world, 0, &one));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(world, &one, &two, &flag));
    ROW("8.5.6", MPI_ERR_TOPOLOGY, MPI_Cart_shift(world, 0, 1, &one, &two));
    ROW("8.5.7", MPI_ERR_TOPOLOGY, MPI_Cart_sub(world, periods, &made));
    ROW("8.6", MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(many, 1, MPI_INT, many + 8, 1, MPI_INT, world));
    ROW("8.6", MPI_ERR_TOPOLOGY, MPI_Neighbor_alltoall(many, 1, MPI_INT, many + 8, 1, MPI_INT, world));
    OK(MPI_Cart_create(world, 2, (int[]){size, 1}, (int[]){0, 1}, 0, &grid));
    OK(MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN));
    ROW2("8.5.5", MPI_ERR_RANK, MPI_ERR_ARG, MPI_Cart_rank(grid, (int[]){-1, 0}, &one));
    ROW2("8.5.5", MPI_ERR_RANK, MPI_ERR_ARG, MPI_Cart_rank(grid, (int[]){size, 0}, &one));
    ROW("8.5.5", MPI_ERR_RANK, MPI_Cart_coords(grid, size, 2, place));
    ROW("8.5.5", MPI_ERR_RANK, MPI_Cart_coords(grid, -1, 2, place));
    ROW2("8.5.5", MPI_ERR_COUNT, MPI_ERR_DIMS, MPI_Cart_coords(grid, 0, -1, place));
    ROW2("8.5.6", MPI_ERR_ARG, MPI_ERR_DIMS, MPI_Cart_shift(grid, 2, 1, &one, &two));
    ROW2("8.5.6", MPI_ERR_ARG, MPI_ERR_DIMS, MPI_Cart_shift(grid, -1, 1, &one, &two));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Graphdims_get(grid, &one, &two));
    ROW("8.6", MPI_ERR_COUNT, MPI_Neighbor_allgather(many, -1, MPI_INT, many + 8, 1, MPI_INT, grid));
    ROW("8.6", MPI_ERR_TYPE, MPI_Neighbor_allgather(many, 1, MPI_INT, many + 8, 1, MPI_DATATYPE_NULL, grid));
    ROW("8.6", MPI_ERR_BUFFER, MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, many + 8, 1, MPI_INT, grid));
    OK(MPI_Comm_free(&grid));
    OK(MPI_Graph_create(self, 1, index, zero, 0, &graph));
    OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
    ROW("8.5.5", MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, 1, &one));
    ROW("8.5.5", MPI_ERR_RANK, MPI_Graph_neighbors(graph, -1, 1, many));
    ROW("8.5.5", MPI_ERR_TOPOLOGY, MPI_Cartdim_get(graph, &one));
    OK(MPI_Comm_free(&graph));
}

static void environment(void) {
    int class, code;
    MPI_Errhandler errhandler;
    void *base;
    ROW("9.2", MPI_ERR_ARG, MPI_Alloc_mem(-1, MPI_INFO_NULL, &base));
    ROW("9.2", MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &base));
    ROW("9.2", MPI_ERR_INFO, MPI_Alloc_mem(64, stale_info, &base));
    ROW("9.2", MPI_ERR_BASE, MPI_Free_mem(many));
    OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &base));
    OK(MPI_Free_mem(base));
    ROW("9.2", MPI_ERR_BASE, MPI_Free_mem(base));
    ROW2("9.3", MPI_ERR_ARG, MPI_ERR_ERRHANDLER, MPI_Comm_create_errhandler(NULL, &errhandler));
    ROW2("9.3", MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Comm_set_errhandler(self, MPI_ERRHANDLER_NULL));
    ROW2("9.3", MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Comm_set_errhandler(self, GARBAGE(MPI_Errhandler)));
    ROW("9.3", MPI_ERR_COMM, MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN));
    ROW("9.3", MPI_ERR_COMM, MPI_Comm_get_errhandler(stale_comm, &errhandler));
    ROW("9.3", MPI_ERR_COMM, MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER));
    ROW("9.3", MPI_ERR_SESSION, MPI_Session_set_errhandler(MPI_SESSION_NULL, MPI_ERRORS_RETURN));
    errhandler = MPI_ERRHANDLER_NULL;
    ROW2("9.3", MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Errhandler_free(&errhandler));
    errhandler = stale_errhandler;
    ROW2("9.3", MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Errhandler_free(&errhandler));
    ROW("9.4", MPI_ERR_ARG, MPI_Error_class(-1, &class));
    ROW("9.4", MPI_ERR_ARG, MPI_Error_string(123456789, text, &one));
    ROW("9.4", MPI_ERR_ARG, MPI_Error_string(MPI_ERR_ARG, NULL, &one));
    ROW("9.5", MPI_ERR_ARG, MPI_Add_error_code(123456789, &code));
    ROW("9.5", MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "mine"));
    ROW("9.5", MPI_ERR_ARG, MPI_Add_error_string(123456789, "mine"));
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    ROW("9.5", MPI_ERR_ARG, MPI_Add_error_string(code, NULL));
    ROW2("9.5", MPI_ERR_ARG, MPI_ERR_OTHER, MPI_Remove_error_class(class));
    ROW2("9.5", MPI_ERR_ARG, MPI_ERR_OTHER, MPI_Remove_error_class(MPI_ERR_ARG));
    OK(MPI_Remove_error_code(code));
    ROW2("9.5", MPI_ERR_ARG, MPI_ERR_OTHER, MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
    ROW2("9.5", MPI_ERR_ARG, MPI_ERR_OTHER, MPI_Remove_error_string(MPI_ERR_ARG));
    ROW("11.2", MPI_ERR_OTHER, MPI_Init(NULL, NULL));
    ROW("11.2", MPI_ERR_OTHER, MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &one));
    ROW("5.1.5", MPI_ERR_ARG, MPI_Get_address(many, NULL));
}

static void infos(void) {
    char long_key[MPI_MAX_INFO_KEY + 2], *long_value = text;
    int length;
    memset(long_key, 'k', sizeof long_key);
    long_key[sizeof long_key - 1] = 0;
    memset(long_value, 'v', MPI_MAX_INFO_VAL + 1);
    long_value[MPI_MAX_INFO_VAL + 1] = 0;
    OK(MPI_Info_create(&info));
    ROW("10", MPI_ERR_INFO_KEY, MPI_Info_set(info, long_key, "value"));
    ROW("10", MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "value"));
    ROW2("10", MPI_ERR_INFO_KEY, MPI_ERR_ARG, MPI_Info_set(info, NULL, "value"));
    ROW("10", MPI_ERR_INFO_VALUE, MPI_Info_set(info, "key", long_value));
    ROW2("10", MPI_ERR_INFO_VALUE, MPI_ERR_ARG, MPI_Info_set(info, "key", NULL));
    ROW("10", MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "key", "value"));
    ROW("10", MPI_ERR_INFO, MPI_Info_set(stale_info, "key", "value"));
    ROW("10", MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "absent"));
    ROW("10", MPI_ERR_INFO_KEY, MPI_Info_delete(info, long_key));
    ROW("10", MPI_ERR_INFO, MPI_Info_delete(GARBAGE(MPI_Info), "key"));
    length = 8;
    ROW("10", MPI_ERR_INFO_KEY, MPI_Info_get_string(info, long_key, &length, (char *)many, &flag));
    ROW("10", MPI_ERR_INFO, MPI_Info_get_string(MPI_INFO_NULL, "key", &length, (char *)many, &flag));
    ROW("10", MPI_ERR_INFO, MPI_Info_get_nkeys(stale_info, &one));
    ROW("10", MPI_ERR_ARG, MPI_Info_get_nthkey(info, 0, text));
    ROW("10", MPI_ERR_ARG, MPI_Info_get_nthkey(info, -1, text));
    MPI_Info copy;
    ROW("10", MPI_ERR_INFO, MPI_Info_dup(MPI_INFO_NULL, &copy));
    ROW("10", MPI_ERR_INFO, MPI_Info_dup(stale_info, &copy));
    copy = MPI_INFO_NULL;
    ROW("10", MPI_ERR_INFO, MPI_Info_free(&copy));
    copy = stale_info;
    ROW("10", MPI_ERR_INFO, MPI_Info_free(&copy));
    OK(MPI_Info_free(&info));
}

static void sessions(void) {
    MPI_Session session, another, gone;
    MPI_Group own, other, both;
    MPI_Comm ours;
    int length = 0;
    ROW("11.3", MPI_ERR_INFO, MPI_Session_init(stale_info, MPI_ERRORS_RETURN, &session));
    ROW2("11.3", MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session));
    gone = MPI_SESSION_NULL;
    ROW("11.3", MPI_ERR_SESSION, MPI_Session_finalize(&gone));
    gone = stale_session;
    ROW("11.3", MPI_ERR_SESSION, MPI_Session_finalize(&gone));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &another));
    ROW("11.3.2", MPI_ERR_SESSION, MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &one));
    ROW("11.3.2", MPI_ERR_SESSION, MPI_Session_get_num_psets(stale_session, MPI_INFO_NULL, &one));
    ROW("11.3.2", MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 9999, &length, text));
    ROW("11.3.2", MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, text));
    ROW("11.3.2", MPI_ERR_ARG, MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info));
    ROW("11.3.2", MPI_ERR_SESSION, MPI_Session_get_info(MPI_SESSION_NULL, &info));
    ROW("7.3.2", MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group));
    ROW("7.3.2", MPI_ERR_SESSION, MPI_Group_from_session_pset(stale_session, "mpi://SELF", &group));
    ROW("7.3.2", MPI_ERR_ARG, MPI_Group_from_session_pset(session, NULL, &group));
    /* 11.3: objects of two sessions cannot be combined. */
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &own));
    OK(MPI_Group_from_session_pset(another, "mpi://SELF", &other));
    ROW2("11.3", MPI_ERR_SESSION, MPI_ERR_GROUP, MPI_Group_union(own, other, &both));
    ROW2("11.3", MPI_ERR_SESSION, MPI_ERR_GROUP, MPI_Group_compare(own, other, &one));
    OK(MPI_Comm_create_from_group(own, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &ours));
    ROW2("11.3", MPI_ERR_SESSION, MPI_ERR_GROUP, MPI_Comm_create_group(ours, other, 0, &made));
    OK(MPI_Group_free(&own));
    OK(MPI_Group_free(&other));
    OK(MPI_Comm_free(&ours));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Session_finalize(&another));
}

/* 15: the tool interface has classes of its own and no error handlers. */
static void tools(void) {
    int provided, number;
    MPI_T_cvar_handle handle;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle variable;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_cvar_get_num(&number));
    ROW("15.3.6", MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(number, NULL, &handle, &one));
    ROW("15.3.6", MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(-1, NULL, &handle, &one));
    ROW("15.3.6", MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such variable", &one));
    handle = MPI_T_CVAR_HANDLE_NULL;
    ROW("15.3.6", MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&handle));
    ROW("15.3.6", MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, many));
    session = MPI_T_PVAR_SESSION_NULL;
    ROW("15.3.7", MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&session));
    ROW("15.3.7", MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &variable, &one));
    OK(MPI_T_pvar_session_create(&session));
    ROW("15.3.7", MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, 99999, NULL, &variable, &one));
    ROW("15.3.7", MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, many));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_category_get_num(&number));
    ROW2("15.3.9", MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_ITEM, MPI_T_category_get_cvars(number, 4, many));
    ROW("15.3.9", MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such category", &one));
    OK(MPI_T_finalize());
    ROW("15.3.4", MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
    ROW("15.3.4", MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&number));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
    /* Errors without an object go to the handler of MPI_COMM_SELF. */
    OK(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN));
    stale_errhandler = GARBAGE(MPI_Errhandler);
    make_objects();
    point_to_point();
    buffers();
    requests();
    partitioned();
    datatypes();
    collectives();
    groups();
    communicators();
    caching();
    topologies();
    environment();
    infos();
    sessions();
    tools();
    CHECK(rows >= 300, "%d rows", rows);
    CHECK(wrong == 0, "%d of %d rows", wrong, rows);
    /* After all that, messages still arrive. */
    int other = (rank + 1) % size, got = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, NO_STATUS));
    CHECK(got == (rank + size - 1) % size, "got %d", got);
    if (inter != MPI_COMM_NULL) OK(MPI_Comm_free(&inter));
    OK(MPI_Type_free(&uncommitted));
    OK(MPI_Type_free(&overlapping));
    OK(MPI_Type_free(&pair_of_ints));
    end();
    return 0;
}
