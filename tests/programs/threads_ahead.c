// ranks: 3
/* Two threads gather on a communicator each. On each rank that is not the root one of them runs ahead, another one on each, until nothing
 * more has room, and the other one begins only then: they must not wait for each other. */
#include "threads.h"

#include <stdatomic.h>

enum { AHEAD = 30, CALLS = 50, LENGTH = 512 };

static MPI_Comm own[2];
static atomic_int ahead;

static void *work(void *argument) {
    int thread = (int)(size_t)argument;
    char one[LENGTH], all[3 * LENGTH];
    int is_first = rank != 0 && (rank + thread) % 2 == 0;
    while (rank != 0 && !is_first && atomic_load(&ahead) < AHEAD) sched_yield();
    for (int call = 0; call < CALLS; call++) {
        memset(one, rank + call, sizeof one);
        if (rank == 0) memset(all, -1, sizeof all);
        OK(MPI_Gather(one, LENGTH, MPI_CHAR, all, LENGTH, MPI_CHAR, 0, own[thread]));
        for (int from = 0; rank == 0 && from < size; from++)
            CHECK(all[from * LENGTH] == from + call && all[(from + 1) * LENGTH - 1] == from + call, "call %d, from %d: %d", call, from,
                  all[from * LENGTH]);
        if (is_first) atomic_fetch_add(&ahead, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    begin_threads(&argc, &argv);
    for (int i = 0; i < 2; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
    /* Until each has what many calls in a row use. */
    for (int i = 0; i < 8; i++) OK(MPI_Barrier(own[i % 2]));
    run_threads(2, work);
    for (int i = 0; i < 2; i++) OK(MPI_Comm_free(&own[i]));
    end();
    return 0;
}
