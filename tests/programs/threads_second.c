// ranks: 1 4
/* The first call of a second thread, which ends what the first thread had for itself, while that one waits for long,
 * has just begun to wait, calls again and again, or is not in MPI. Once in the life of a process, so in many processes. */
#include "threads.h"

#include <unistd.h>

enum { TAG = 5, MESSAGES = 1000 };

static void *second(void *argument) {
    if (rank % 4 == 0) usleep(50000);
    for (int i = 0; i < MESSAGES; i++) OK(MPI_Send(&i, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD));
    return argument;
}

int main(int argc, char **argv) {
    int value, flag = 0;
    pthread_t thread;
    begin_threads(&argc, &argv);
    CHECK(pthread_create(&thread, NULL, second, NULL) == 0, "no thread");
    if (rank % 4 == 2)
        while (!flag) OK(MPI_Iprobe(rank, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    if (rank % 4 == 3) pthread_join(thread, NULL);
    for (int i = 0; i < MESSAGES; i++) {
        OK(MPI_Recv(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == i, "%d, not %d", value, i);
    }
    if (rank % 4 != 3) pthread_join(thread, NULL);
    end();
    return 0;
}
