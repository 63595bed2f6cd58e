// ranks: 1 4
// more ranks: 2
/* Threads that wait for long: they use almost no processor time, do not keep others from their work, are woken by the
 * thread that completes their condition, and never by the bound of a sleep. */
#include "counter.h"
#include "threads.h"

#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static double used(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec * 1e-6;
}

static MPI_Request open_request;

static int query(void *extra, MPI_Status *status) {
    (void)extra;
    OK(MPI_Status_set_elements(status, MPI_BYTE, 0));
    return MPI_Status_set_cancelled(status, 0);
}
static int release(void *extra) { return extra ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int withdraw(void *extra, int complete) { return extra || complete ? MPI_ERR_OTHER : MPI_SUCCESS; }

/* Thread 0 has work; the others wait for what comes at the end: a message each, and thread 1 for its request. */
static void *work(void *argument) {
    int thread = (int)(size_t)argument, next = (rank + 1) % size, before = (rank + size - 1) % size, value = -1;
    if (thread == 1) {
        OK(MPI_Wait(&open_request, MPI_STATUS_IGNORE));
    } else if (thread > 1) {
        OK(MPI_Recv(&value, 1, MPI_INT, before, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == thread, "%d", value);
    } else {
        usleep(300000);
        double idle = used();
        usleep(1000000);
        idle = used() - idle;
        CHECK(idle < 30, "%.1f ms in 1 s", idle);
        for (int round = 0; round < ROUNDS; round++) {
            int got = -1;
            if (round % 2) {
                OK(MPI_Sendrecv(&round, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            } else {
                MPI_Request request;
                int flag = 0;
                OK(MPI_Irecv(&got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &request));
                OK(MPI_Send(&round, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
                while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            }
            CHECK(got == round, "%d", got);
        }
        OK(MPI_Grequest_complete(open_request));
        for (int other = 2; other < THREADS; other++) OK(MPI_Send(&other, 1, MPI_INT, next, other, MPI_COMM_WORLD));
    }
    return NULL;
}

/* Every thread waits for the one before it, in turn, around all threads of all ranks. */
static void *relay(void *argument) {
    int thread = (int)(size_t)argument, here = rank * THREADS + thread, all = size * THREADS;
    int next = (here + 1) % all, before = (here + all - 1) % all;
    for (int round = 0; round < 5; round++) {
        int token = round;
        if (here != 0) OK(MPI_Recv(&token, 1, MPI_INT, before / THREADS, 100 + thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(token == round, "%d", token);
        OK(MPI_Send(&token, 1, MPI_INT, next / THREADS, 100 + next % THREADS, MPI_COMM_WORLD));
        if (here == 0) OK(MPI_Recv(&token, 1, MPI_INT, before / THREADS, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(token == round, "%d", token);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    unsigned long long lost = 0, sleeps = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle lost_wakes, all_sleeps;
    begin_threads(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    lost_wakes = counter(session, "lost_wakes");
    all_sleeps = counter(session, "sleeps");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_Grequest_start(query, release, withdraw, NULL, &open_request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    run_threads(THREADS, work);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    run_threads(THREADS, relay);
    OK(MPI_T_pvar_read(session, lost_wakes, &lost));
    OK(MPI_T_pvar_read(session, all_sleeps, &sleeps));
    CHECK(lost == 0, "%llu of %llu sleeps ran into their bound", lost, sleeps);
    CHECK(sleeps >= THREADS - 1, "%llu sleeps", sleeps);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
