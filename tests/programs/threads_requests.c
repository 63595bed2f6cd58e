// ranks: 1 2 4
/* Requests that several threads have to do with: generalized ones completed by another thread than the one that waits,
 * partitioned ones made ready by all, cancelled ones, and persistent ones started here and awaited there. */
#include "threads.h"

#include <unistd.h>

enum { ROUNDS = 20, PARTITIONS = 4 * THREADS, PART = 1000 };

static pthread_barrier_t gate;
static MPI_Request shared[THREADS];
static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status) {
    int on;
    (void)extra;
    OK(MPI_Initialized(&on));
    CHECK(on, "initialized");
    OK(MPI_Status_set_elements(status, MPI_INT, 3));
    OK(MPI_Status_set_cancelled(status, 0));
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    __atomic_fetch_add(&queried, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static int release(void *extra) {
    (void)extra;
    __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* Completes it, as such functions do. */
static int withdraw(void *extra, int complete) {
    CHECK(!complete, "complete");
    __atomic_fetch_add(&cancelled, 1, __ATOMIC_RELAXED);
    return MPI_Grequest_complete(*(MPI_Request *)extra);
}

/* Threads of even numbers wait for what those of odd numbers complete. */
static void *generalized(void *argument) {
    int thread = (int)(size_t)argument, pair = thread / 2, count;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status;
        if (thread % 2 == 0) OK(MPI_Grequest_start(query, release, withdraw, &shared[pair], &shared[pair]));
        pthread_barrier_wait(&gate);
        MPI_Request request = shared[pair];
        if (thread % 2 == 0) {
            OK(MPI_Wait(&request, &status));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == 3 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6, "%d", count);
        } else {
            if (round % 4 == 0) usleep(2000);
            if (round % 2 == 0) {
                OK(MPI_Grequest_complete(request));
            } else {
                OK(MPI_Cancel(&request));
            }
        }
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

/* All threads make partitions ready, and look for those that arrive. */
static unsigned char leaving[PARTITIONS * PART], arriving[PARTITIONS * PART];
static MPI_Request sending, receiving;

static void *partitioned(void *argument) {
    int thread = (int)(size_t)argument, flag;
    for (int round = 0; round < ROUNDS / 4; round++) {
        if (thread == 0) {
            OK(MPI_Start(&receiving));
            OK(MPI_Start(&sending));
        }
        pthread_barrier_wait(&gate);
        for (int part = thread; part < PARTITIONS; part += THREADS) {
            fill(leaving + part * PART, PART, (unsigned)(rank * 1000 + round * 100 + part));
            OK(MPI_Pready(part, sending));
        }
        for (int part = thread; part < PARTITIONS; part += THREADS) {
            do {
                OK(MPI_Parrived(receiving, part, &flag));
                if (!flag) sched_yield();
            } while (!flag);
            CHECK_BYTES(arriving + part * PART, PART, (unsigned)((rank + size - 1) % size * 1000 + round * 100 + part));
        }
        pthread_barrier_wait(&gate);
        if (thread == 0) OK(MPI_Wait(&receiving, MPI_STATUS_IGNORE));
        if (thread == 1) OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

/* One thread waits for a receive that another cancels; then for one that another completes by a message to oneself. */
static int places[THREADS];

static void *crossed(void *argument) {
    int thread = (int)(size_t)argument, pair = thread / 2, flag;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status;
        int tag = 1000 + pair;
        if (thread % 2 == 0) OK(MPI_Irecv(&places[pair], 1, MPI_INT, rank, tag, MPI_COMM_WORLD, &shared[pair]));
        pthread_barrier_wait(&gate);
        MPI_Request request = shared[pair];
        if (thread % 2 == 0) {
            OK(MPI_Wait(&request, &status));
            OK(MPI_Test_cancelled(&status, &flag));
            CHECK(flag == (round % 2 == 0), "cancelled: %d", flag);
            CHECK(flag || places[pair] == round, "%d", places[pair]);
        } else {
            if (round % 5 == 0) usleep(2000);
            if (round % 2 == 0) {
                OK(MPI_Cancel(&request));
            } else {
                OK(MPI_Send(&round, 1, MPI_INT, rank, tag, MPI_COMM_WORLD));
            }
        }
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

/* Started by one thread, awaited by the next. */
static int out[THREADS], in[THREADS];
static MPI_Request steady[THREADS][2];

static void *persistent(void *argument) {
    int thread = (int)(size_t)argument, next = (thread + 1) % THREADS;
    for (int round = 0; round < ROUNDS; round++) {
        out[thread] = rank * 100 + thread + round;
        OK(MPI_Startall(2, steady[thread]));
        pthread_barrier_wait(&gate);
        OK(MPI_Waitall(2, steady[next], MPI_STATUSES_IGNORE));
        CHECK(in[next] == (rank + size - 1) % size * 100 + next + round, "%d", in[next]);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

int main(int argc, char **argv) {
    begin_threads(&argc, &argv);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    pthread_barrier_init(&gate, NULL, THREADS);
    run_threads(THREADS, generalized);
    CHECK(queried == THREADS / 2 * ROUNDS && freed == queried && cancelled == queried / 2, "%d queried, %d freed, %d cancelled",
          queried, freed, cancelled);

    OK(MPI_Psend_init(leaving, PARTITIONS, PART, MPI_BYTE, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sending));
    OK(MPI_Precv_init(arriving, PARTITIONS, PART, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving));
    run_threads(THREADS, partitioned);
    OK(MPI_Request_free(&sending));
    OK(MPI_Request_free(&receiving));

    run_threads(THREADS, crossed);

    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Send_init(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &steady[i][0]));
        OK(MPI_Recv_init(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &steady[i][1]));
    }
    run_threads(THREADS, persistent);
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Request_free(&steady[i][0]));
        OK(MPI_Request_free(&steady[i][1]));
    }
    end();
    return 0;
}
