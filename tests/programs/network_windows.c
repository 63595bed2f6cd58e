/* network_windows [die]: ranks on two nodes put to and get from each other's windows. Long contiguous operations go by the provider's RMA:
   where it cannot do that this fails. `die`: the last rank ends by SIGKILL while the others get from it and put to it. */
#include "counter.h"

#include <signal.h>

enum { LENGTH = 1 << 20, ROUNDS = 6, ODD = 4099 };

static unsigned char *memory, *out, *in;

static unsigned long long used(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    unsigned long long bytes;
    OK(MPI_T_pvar_read(session, handle, &bytes));
    return bytes;
}

static void use(MPI_Win win, int other, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    for (int i = 0; i < ROUNDS; i++) {
        unsigned seed = (unsigned)(i * size + rank);
        unsigned long long before = used(session, handle);
        fill(out, LENGTH, seed);
        memset(in, 0, LENGTH);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
        OK(MPI_Put(out, LENGTH - ODD, MPI_BYTE, other, ODD, LENGTH - ODD, MPI_BYTE, win));
        OK(MPI_Win_flush(other, win));
        OK(MPI_Get(in, LENGTH - ODD, MPI_BYTE, other, ODD, LENGTH - ODD, MPI_BYTE, win));
        OK(MPI_Win_unlock(other, win));
        CHECK(memcmp(in, out, LENGTH - ODD) == 0, "round %d", i);
        /* Elsewhere in the window it is not the same. */
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
        OK(MPI_Get(in, ODD, MPI_BYTE, other, 2 * ODD, ODD, MPI_BYTE, win));
        OK(MPI_Win_unlock(other, win));
        CHECK(memcmp(in, out + ODD, ODD) == 0, "a part, round %d", i);
        CHECK(used(session, handle) - before == 2 * (LENGTH - ODD), "round %d: %llu bytes", i, used(session, handle) - before);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(out, LENGTH, MPI_BYTE, other, 0, LENGTH, MPI_BYTE, win));
    OK(MPI_Win_fence(0, win));
    /* The rank that put here: its partner is the same distance away. */
    int from = (rank + size / 2) % size;
    fill(out, LENGTH, (unsigned)((ROUNDS - 1) * size + from));
    CHECK(memcmp(memory, out, LENGTH) == 0, "what was put");
    OK(MPI_Win_fence(0, win));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(size % 2 == 0 && !on_one_node(), "it takes two nodes");
    int provided, other = (rank + size / 2) % size;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle handle = counter(session, "network_rma_bytes");
    OK(MPI_T_pvar_start(session, handle));
    out = malloc(LENGTH), in = malloc(LENGTH);
    MPI_Win win;
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0) {
            OK(MPI_Win_allocate(LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        } else {
            memory = malloc(LENGTH);
            OK(MPI_Win_create(memory, LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
        use(win, other, session, handle);
        if (argc > 1) {
            OK(MPI_Win_lock_all(0, win));
            for (int i = 0;; i++) {
                if (rank == size - 1 && i == 20) raise(SIGKILL);
                OK(MPI_Get(in, LENGTH, MPI_BYTE, size - 1, 0, LENGTH, MPI_BYTE, win));
                OK(MPI_Put(in, LENGTH, MPI_BYTE, size - 1, 0, LENGTH, MPI_BYTE, win));
                OK(MPI_Win_flush_all(win));
            }
        }
        OK(MPI_Win_free(&win));
        if (kind == 1) free(memory);
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
