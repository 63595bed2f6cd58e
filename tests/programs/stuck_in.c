/* Ranks that wait for the last one in a call which the argument names: for a lock that it has, for its post, its fence, a message to probe for,
   its part in the last of several collectives, or a message whose request is waited or tested for, an agreement, a receive. It computes. With "thread" two threads of rank 0 wait, for messages with tags 1 and 2; the first
   one comes. */
#include "check.h"

#include <pthread.h>

static void *receive(void *unused) {
    int value = 1;
    (void)unused;
    OK(MPI_Recv(&value, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return NULL;
}

int main(int argc, char **argv) {
    int level, last, memory[4] = {0};
    const char *how = argc > 1 ? argv[1] : "";
    OK(MPI_Init_thread(&argc, &argv, strcmp(how, "thread") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    last = size - 1;
    MPI_Win win;
    OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    /* A receive that is under way is not what the others wait for. */
    int value = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank < last && strcmp(how, "thread")) OK(MPI_Irecv(&value, 1, MPI_INT, last, 99, MPI_COMM_WORLD, &request));
    if (rank == last && !strcmp(how, "lock")) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    for (int i = 0; i < 8; i++) OK(MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == last) {
        if (!strcmp(how, "thread")) {
            usleep(500000);
            OK(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        }
        for (volatile int i = 0;; i++) {
        }
    }
    if (!strcmp(how, "lock")) OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    if (!strcmp(how, "fence")) OK(MPI_Win_fence(0, win));
    if (!strcmp(how, "probe")) OK(MPI_Probe(last, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!strcmp(how, "wait") || !strcmp(how, "test")) {
        int done = 0, other;
        MPI_Request later;
        OK(MPI_Irecv(&other, 1, MPI_INT, last, 23, MPI_COMM_WORLD, &later));
        if (!strcmp(how, "wait")) OK(MPI_Wait(&later, MPI_STATUS_IGNORE));
        while (!done) OK(MPI_Test(&later, &done, MPI_STATUS_IGNORE));
    }
    if (!strcmp(how, "agree")) OK(MPIX_Comm_agree(MPI_COMM_WORLD, &value));
    if (!strcmp(how, "ssend")) OK(MPI_Ssend(&value, 1, MPI_INT, last, 31, MPI_COMM_WORLD));
    if (!strcmp(how, "partitions")) {
        MPI_Request parts;
        OK(MPI_Precv_init(&value, 1, 1, MPI_INT, last, 41, MPI_COMM_WORLD, MPI_INFO_NULL, &parts));
        OK(MPI_Start(&parts));
        OK(MPI_Wait(&parts, MPI_STATUS_IGNORE));
    }
    if (!strcmp(how, "iprobe"))
        for (int found = 0; !found;) {
            OK(MPI_Iprobe(last, 17, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
            usleep(5000);
        }
    if (!strcmp(how, "exposed")) {
        MPI_Group all, origin;
        OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
        OK(MPI_Group_incl(all, 1, &last, &origin));
        OK(MPI_Win_post(origin, 0, win));
        for (int over = 0; !over;) OK(MPI_Win_test(win, &over));
    }
    if (!strcmp(how, "start")) {
        MPI_Group all, target;
        OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
        OK(MPI_Group_incl(all, 1, &last, &target));
        OK(MPI_Win_start(target, 0, win));
    }
    if (!strcmp(how, "later"))
        for (int i = 0; i < 100; i++) OK(MPI_Bcast(memory, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (!strcmp(how, "thread") && rank == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, receive, NULL);
        OK(MPI_Recv(&value, 1, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (;;) pause();
}
