// ranks: 2 4
/* Many short puts on ordinary memory before each completion, of all lengths, on two windows: they wait at their origin for others. Whatever completes
   them, and whether the target waits inside the library or computes, they are there then. */
#include <time.h>

#include "check.h"

/* Longer puts do not wait. */
enum { PLACES = 64, PLACE = 2100, PUTS = 200 };

static unsigned state;

static int random_below(int limit) { return (int)(next_random(&state) % (unsigned)limit); }

static void complete(MPI_Win *windows, int target, int how) {
    for (int window = 0; window < 2; window++) {
        switch (how) {
        case 0: OK(MPI_Win_flush(target, windows[window])); break;
        case 1: OK(MPI_Win_flush_all(windows[window])); break;
        default:
            OK(MPI_Win_unlock_all(windows[window]));
            OK(MPI_Win_lock_all(0, windows[window]));
        }
    }
}

int main(int argc, char **argv) {
    int given, index, numbers, enough = 0;
    begin(&argc, &argv);
    /* Between nodes they go by calls. */
    const int elsewhere = !on_one_node();
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &given));
    OK(MPI_T_pvar_get_index("rma_held", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &numbers));
    OK(MPI_T_pvar_start(session, handle));
    /* Each origin has some bytes of each place of each window of the last rank. */
    const int part = PLACES * PLACE, target = size - 1;
    char *memory[2], *model = calloc(2, (size_t)part), *mine = malloc(PLACE), *back = malloc((size_t)part);
    MPI_Win windows[2];
    for (int window = 0; window < 2; window++) {
        memory[window] = calloc((size_t)size, (size_t)part);
        OK(MPI_Win_create(memory[window], (MPI_Aint)size * part, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[window]));
        OK(MPI_Win_lock_all(0, windows[window]));
    }
    state = (unsigned)rank + 1;
    time_t limit = time(NULL) + 120;
    for (int round = 0; !enough || round < 12; round++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == target && round % 3 == 0) {
            /* It computes. */
            for (clock_t began = clock(); clock() - began < CLOCKS_PER_SEC / 50;) continue;
        }
        if (rank != target) {
            for (int put = 0; put < PUTS; put++) {
                /* A place once: puts are in no order. */
                int window = put & 1, place = put / 2 % PLACES, length = random_below(put % 8 ? 64 : PLACE) + 1;
                if (put / 2 >= PLACES && put / 2 % PLACES == 0) complete(windows, target, round % 3);
                memset(mine, 'a' + random_below(26), (size_t)length);
                OK(MPI_Put(mine, length, MPI_CHAR, target, (MPI_Aint)rank * part + place * PLACE, length, MPI_CHAR, windows[window]));
                memcpy(model + window * part + place * PLACE, mine, (size_t)length);
                memset(mine, '#', (size_t)length);
            }
            complete(windows, target, round % 3);
            for (int window = 0; window < 2; window++) {
                OK(MPI_Get(back, part, MPI_CHAR, target, (MPI_Aint)rank * part, part, MPI_CHAR, windows[window]));
                OK(MPI_Win_flush(target, windows[window]));
                CHECK(memcmp(back, model + window * part, (size_t)part) == 0, "round %d: what was put is not there", round);
            }
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        unsigned long held = 0;
        OK(MPI_T_pvar_read(session, handle, &held));
        OK(MPI_Bcast(&held, 1, MPI_UNSIGNED_LONG, target, MPI_COMM_WORLD));
        enough = held > 0 || elsewhere;
        int is_late = time(NULL) > limit;
        OK(MPI_Allreduce(MPI_IN_PLACE, &is_late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(enough || !is_late, "no puts came together");
    }
    /* Between fences. */
    for (int window = 0; window < 2; window++) OK(MPI_Win_unlock_all(windows[window]));
    for (int round = 0; round < 20; round++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        OK(MPI_Win_fence(0, windows[0]));
        for (int place = 0; place < PLACES; place++) {
            char one = (char)(round + place + rank);
            OK(MPI_Put(&one, 1, MPI_CHAR, right, (MPI_Aint)rank * part + place, 1, MPI_CHAR, windows[0]));
        }
        OK(MPI_Win_fence(0, windows[0]));
        for (int place = 0; place < PLACES; place++)
            CHECK(memory[0][left * part + place] == (char)(round + place + left), "round %d, place %d", round, place);
    }
    for (int window = 0; window < 2; window++) {
        OK(MPI_Win_free(&windows[window]));
        free(memory[window]);
    }
    free(model);
    free(mine);
    free(back);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
