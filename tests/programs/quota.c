/* How ranks wait, by their own counters: `quota own` where each has a CPU, `quota shared` where a cgroup gives them fewer, in
 * which spinning would eat what the other needs. */
#include "counter.h"

#include <time.h>

enum { ROUNDS = 50 };

int main(int argc, char **argv) {
    int provided;
    MPI_T_pvar_session session;
    begin(&argc, &argv);
    int shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle all_spins = counter(session, "spins"), all_yields = counter(session, "yields");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    for (int round = 0; round < ROUNDS; round++) {
        int got = -1, waits = rank == round % size;
        for (int other = 0; other < size; other++) {
            if (other == rank) continue;
            /* One waits, and the others let it. */
            struct timespec nap = {.tv_nsec = 3000000};
            if (waits) {
                OK(MPI_Recv(&got, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                CHECK(got == round, "%d in round %d", got, round);
            } else if (other == round % size) {
                nanosleep(&nap, NULL);
                OK(MPI_Send(&round, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
            }
        }
    }
    unsigned long long spins = 0, yields = 0;
    OK(MPI_T_pvar_read(session, all_spins, &spins));
    OK(MPI_T_pvar_read(session, all_yields, &yields));
    if (shared) {
        CHECK(spins == 0, "%llu spins, %llu yields", spins, yields);
        CHECK(yields > 0, "it never had to wait");
    } else {
        CHECK(spins > 0, "%llu yields", yields);
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
