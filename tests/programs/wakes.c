// ranks: 2 4 9
// more ranks: 16
// mpiexec: --set yield_us=0 --set spin_us=1
/* Messages whose receivers have just gone to sleep, or are about to: thousands of sleeps, and none of them ends by its bound
 * with a message waiting. `wakes thread`: of processes that have a thread before they join. */
#include "counter.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 3000 };

/* Up to some 30 us, of which the last part is about what a peer takes to fall asleep. */
static void dawdle(unsigned *state) {
    struct timespec start, now;
    *state = *state * 1103515245u + 12345u;
    long wanted = (long)(*state >> 16) % 30000;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < wanted);
}

static void *linger(void *nothing) {
    for (;;) pause();
    return nothing;
}

int main(int argc, char **argv) {
    int provided, next, before;
    MPI_T_pvar_session session;
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "thread") == 0)
        CHECK(pthread_create(&thread, NULL, linger, NULL) == 0, "no thread");
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle lost_wakes = counter(session, "lost_wakes"), all_sleeps = counter(session, "sleeps");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    unsigned state = (unsigned)rank * 77u + 1u;
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    /* A token goes around: everybody else sleeps. */
    for (int round = 0; round < ROUNDS / size; round++) {
        int token = round;
        if (rank > 0) OK(MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        dawdle(&state);
        OK(MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
        if (rank == 0) OK(MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(token == round, "%d in round %d", token, round);
    }
    /* Pairs answer each other: both may fall asleep at any moment. */
    for (int round = 0; round < ROUNDS; round++) {
        int got = -1, partner = rank ^ 1;
        if (partner == size) break;
        dawdle(&state);
        OK(MPI_Sendrecv(&round, 1, MPI_INT, partner, 1, &got, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == round, "%d in round %d", got, round);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    unsigned long long lost = 0, sleeps = 0, all = 0;
    OK(MPI_T_pvar_read(session, lost_wakes, &lost));
    OK(MPI_T_pvar_read(session, all_sleeps, &sleeps));
    CHECK(lost == 0, "%llu of %llu sleeps ran into their bound", lost, sleeps);
    OK(MPI_Reduce(&sleeps, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK(rank > 0 || all > ROUNDS / 4, "%llu sleeps", all);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
