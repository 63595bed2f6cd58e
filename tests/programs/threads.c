// ranks: 2
/* Calls from other threads, one at a time, as MPI_THREAD_SERIALIZED promises. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    int number = (int)(size_t)argument, flag = 1;
    for (int i = 0; i < ROUNDS; i++) {
        int value = number * 1000 + i, got = -1;
        MPI_Request requests[2];
        int done = 0;
        pthread_mutex_lock(&turn);
        OK(MPI_Is_thread_main(&flag));
        CHECK(!flag, "this is not the main thread");
        OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, number, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(&value, 1, MPI_INT, 1 - rank, number, MPI_COMM_WORLD, &requests[1]));
        pthread_mutex_unlock(&turn);
        while (!done) {
            pthread_mutex_lock(&turn);
            OK(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
            pthread_mutex_unlock(&turn);
        }
        CHECK(got == value, "%d", got);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(provided >= MPI_THREAD_SERIALIZED, "level %d", provided);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    end();
    return 0;
}
