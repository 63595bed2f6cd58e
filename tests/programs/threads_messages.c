// ranks: 1 2 4
/* Eight threads send, receive, probe and wait in every way at the same time, each with its counterparts in the next rank
 * and the one before. */
#include "threads.h"

enum { ROUNDS = 12, LONG = 200000 };

static MPI_Comm own[THREADS];

static int size_of(unsigned *state) {
    static const int sizes[] = {0, 1, 8, 500, 3000, 20000, LONG};
    return sizes[next_random(state) % 7];
}

static unsigned seed_of(int from, int thread, int round) { return (unsigned)(from * 1000 + thread * 100 + round); }

static void *work(void *argument) {
    int thread = (int)(size_t)argument, next = (rank + 1) % size, before = (rank + size - 1) % size, flag;
    /* The same in every rank. */
    unsigned state = (unsigned)thread + 1;
    unsigned char *out = malloc(LONG), *in = malloc(LONG), *more = malloc(LONG);
    OK(MPI_Is_thread_main(&flag));
    CHECK(!flag, "this is not the main thread");
    for (int round = 0; round < ROUNDS; round++) {
        int length = size_of(&state), count = -1, index, done, indices[3];
        /* Even threads share the world and differ by tags; odd ones have a communicator of their own, and use wildcards. */
        int alone = thread % 2, tag = alone ? round : thread * 100 + round;
        MPI_Comm comm = alone ? own[thread] : MPI_COMM_WORLD;
        int source = alone && size < 3 ? MPI_ANY_SOURCE : before, any_tag = alone ? MPI_ANY_TAG : tag;
        unsigned seed = seed_of(before, thread, round);
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status status, statuses[3];
        MPI_Message message;
        fill(out, (size_t)length, seed_of(rank, thread, round));
        memset(in, 0xee, LONG);
        switch (next_random(&state) % 9) {
        case 0:
            OK(MPI_Sendrecv(out, length, MPI_BYTE, next, tag, in, LONG, MPI_BYTE, source, any_tag, comm, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            break;
        case 1:
            OK(MPI_Irecv(in, LONG, MPI_BYTE, source, any_tag, comm, &requests[0]));
            OK(MPI_Isend(out, length, MPI_BYTE, next, tag, comm, &requests[1]));
            OK(MPI_Waitall(2, requests, statuses));
            OK(MPI_Get_count(&statuses[0], MPI_BYTE, &count));
            break;
        case 2:
            OK(MPI_Isend(out, length, MPI_BYTE, next, tag, comm, &requests[0]));
            OK(MPI_Probe(source, any_tag, comm, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            OK(MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            break;
        case 3:
            OK(MPI_Isend(out, length, MPI_BYTE, next, tag, comm, &requests[0]));
            OK(MPI_Mprobe(source, any_tag, comm, &message, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            OK(MPI_Mrecv(in, count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            break;
        case 4:
            OK(MPI_Irecv(in, LONG, MPI_BYTE, source, any_tag, comm, &requests[0]));
            OK(MPI_Issend(out, length, MPI_BYTE, next, tag, comm, &requests[1]));
            for (int i = 0; i < 2; i++) {
                OK(MPI_Waitany(2, requests, &index, &status));
                if (index == 0) OK(MPI_Get_count(&status, MPI_BYTE, &count));
            }
            break;
        case 5:
            OK(MPI_Irecv(in, LONG, MPI_BYTE, source, any_tag, comm, &requests[0]));
            OK(MPI_Isend(out, length, MPI_BYTE, next, tag, comm, &requests[1]));
            for (int open = 2; open > 0; open -= done) {
                OK(MPI_Waitsome(3, requests, &done, indices, statuses));
                CHECK(done >= 1 && done <= open, "%d of %d", done, open);
                for (int i = 0; i < done; i++)
                    if (indices[i] == 0) OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
            }
            break;
        case 6:
            OK(MPI_Irecv(in, LONG, MPI_BYTE, source, any_tag, comm, &requests[0]));
            OK(MPI_Send(out, length, MPI_BYTE, next, tag, comm));
            do {
                OK(MPI_Test(&requests[0], &flag, &status));
                if (!flag) sched_yield();
            } while (!flag);
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            break;
        case 7:
            OK(MPI_Isend(out, length, MPI_BYTE, next, tag, comm, &requests[0]));
            do {
                OK(MPI_Improbe(source, any_tag, comm, &flag, &message, &status));
                if (!flag) sched_yield();
            } while (!flag);
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            OK(MPI_Imrecv(in, count, MPI_BYTE, &message, &requests[1]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            break;
        case 8: /* Not contiguous. */
            memcpy(more, out, (size_t)length);
            MPI_Datatype type;
            OK(MPI_Type_vector(length / 4, 2, 4, MPI_BYTE, &type));
            OK(MPI_Type_commit(&type));
            memset(in, 0, LONG);
            OK(MPI_Irecv(in, 1, type, source, any_tag, comm, &requests[0]));
            OK(MPI_Isend(more, 1, type, next, tag, comm, &requests[1]));
            OK(MPI_Type_free(&type));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < length / 4 * 4; i++) {
                unsigned char expected = i % 4 < 2 ? byte_of(seed, (size_t)i) : 0;
                CHECK(in[i] == expected, "thread %d round %d byte %d of %d", thread, round, i, length);
            }
            continue;
        }
        CHECK(count == length, "thread %d round %d: %d bytes of %d", thread, round, count, length);
        CHECK_BYTES(in, (size_t)length, seed);
    }
    free(out);
    free(in);
    free(more);
    return NULL;
}

/* All threads receive from anybody, on one communicator and with one tag: each message is received once. */
static int received[4 * THREADS * ROUNDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *share(void *argument) {
    int thread = (int)(size_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int number = (rank * THREADS + thread) * ROUNDS + round, got = -1;
        MPI_Request request;
        MPI_Message message;
        OK(MPI_Isend(&number, 1, MPI_INT, (rank + round) % size, 5, MPI_COMM_WORLD, &request));
        if (round % 2) {
            OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
            OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        pthread_mutex_lock(&lock);
        CHECK(got >= 0 && got < size * THREADS * ROUNDS, "%d", got);
        received[got]++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
    run_threads(THREADS, work);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    run_threads(THREADS, share);
    OK(MPI_Allreduce(MPI_IN_PLACE, received, size * THREADS * ROUNDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < size * THREADS * ROUNDS; i++) CHECK(received[i] == 1, "message %d came %d times", i, received[i]);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&own[i]));
    end();
    return 0;
}
