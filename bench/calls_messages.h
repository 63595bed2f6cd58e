/* Messages between partners, in every way but MPI_Send and MPI_Recv alone. */
#ifndef ISTHMUS_BENCH_CALLS_MESSAGES_H
#define ISTHMUS_BENCH_CALLS_MESSAGES_H

#include "calls.h"

static MPI_Request pair[2];
static void *attached;

static void take(void)
{
    MPI_Recv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, MPI_STATUS_IGNORE);
}

static void synchronous(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Request request;
        MPI_Issend(outgoing, size, MPI_BYTE, partner, CALL_TAG, world, &request);
        take();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void buffered(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Bsend(outgoing, size, MPI_BYTE, partner, CALL_TAG, world);
        take();
    }
}

static void attach(void)
{
    int bytes = 4 * (size + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(attached = malloc((size_t)bytes), bytes);
}

static void detach(void)
{
    void *at;
    int bytes;
    MPI_Buffer_detach(&at, &bytes);
    free(attached);
}

/* The receive of each ready message is posted before the message that makes the partner send it. */
static void ready(int count)
{
    MPI_Request request;
    MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &request);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, CALL_TAG + 1, NULL, 0, MPI_BYTE, partner, CALL_TAG + 1, world,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) {
        int last = i == count - 1;
        if (rank % 2 == 0)
            MPI_Rsend(outgoing, size, MPI_BYTE, partner, CALL_TAG, world);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!last)
            MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &request);
        if (rank % 2 == 1)
            MPI_Rsend(outgoing, size, MPI_BYTE, partner, CALL_TAG, world);
    }
}

/* There and back, the receiver looking first: at whom it will receive from, how much, and then at that message. */
static void probe_and_take(void)
{
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, CALL_TAG, world, &status);
    MPI_Recv(incoming, size, MPI_BYTE, status.MPI_SOURCE, CALL_TAG, world, MPI_STATUS_IGNORE);
}

static void iprobe_and_take(void)
{
    int found = 0;
    while (!found)
        MPI_Iprobe(partner, CALL_TAG, world, &found, MPI_STATUS_IGNORE);
    take();
}

static void mprobe_and_take(void)
{
    MPI_Message message;
    MPI_Mprobe(partner, CALL_TAG, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(incoming, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

static void test_and_take(void)
{
    MPI_Request request;
    MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &request);
    for (int done = 0; !done;)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void testall_and_take(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &requests[1]);
    for (int done = 0; !done;)
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}

static void waitany_and_take(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index;
    MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void there_and_back(int count, void (*taking)(void))
{
    for (int i = 0; i < count; i++) {
        if (rank % 2 == 1)
            taking();
        MPI_Send(outgoing, size, MPI_BYTE, partner, CALL_TAG, world);
        if (rank % 2 == 0)
            taking();
    }
}

static void probed(int count)
{
    there_and_back(count, probe_and_take);
}

static void iprobed(int count)
{
    there_and_back(count, iprobe_and_take);
}

static void mprobed(int count)
{
    there_and_back(count, mprobe_and_take);
}

static void tested(int count)
{
    there_and_back(count, test_and_take);
}

static void testedall(int count)
{
    there_and_back(count, testall_and_take);
}

static void waitedany(int count)
{
    there_and_back(count, waitany_and_take);
}

/* Many short messages one way, then an empty one back. */
static void burst(int count)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < WINDOW; j++) {
            if (rank % 2 == 0)
                MPI_Isend(outgoing, size, MPI_BYTE, partner, CALL_TAG, world, &requests[j]);
            else
                MPI_Irecv(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank % 2 == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, partner, CALL_TAG + 1, world, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, partner, CALL_TAG + 1, world);
    }
}

static void make_persistent(void)
{
    MPI_Recv_init(incoming, size, MPI_BYTE, partner, CALL_TAG, world, &pair[0]);
    MPI_Send_init(outgoing, size, MPI_BYTE, partner, CALL_TAG, world, &pair[1]);
}

static void persistent(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
}

static int partitions(void)
{
    return size % 4 == 0 ? 4 : 1;
}

static void make_partitioned(void)
{
    int parts = partitions(), each = size / parts;
    MPI_Precv_init(incoming, parts, each, MPI_BYTE, partner, CALL_TAG, world, MPI_INFO_NULL, &pair[0]);
    MPI_Psend_init(outgoing, parts, each, MPI_BYTE, partner, CALL_TAG, world, MPI_INFO_NULL, &pair[1]);
}

static void partitioned(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Startall(2, pair);
        MPI_Pready_range(0, partitions() - 1, pair[1]);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
}

static void free_pair(void)
{
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}

#endif
