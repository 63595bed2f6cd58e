// ranks: 2 4
/* Ordinary memory of ranks that wait inside the library: they do what others ask of it, and the others see no difference to what they
   do themselves when nobody answers. The others do it until somebody has answered. */
#include <time.h>

#include "check.h"

/* Some rounds are more than all the memory that long operations go through. */
enum { PART = 1 << 17, LONGS = 4 * PART + 1 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

static unsigned long served(void) {
    unsigned long value;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

/* Of all lengths, to the part of the last rank that is this rank's own. */
static void use(MPI_Win win, int target, long *model, int round) {
    static long mine[PART], back[PART];
    static const int lengths[] = {1, 3, 7, 64, 1000, 2048, 5000, PART};
    int count = lengths[round % 8], base = rank * PART;
    for (int i = 0; i < count; i++) mine[i] = round * 100000L + i;
    OK(MPI_Put(mine, count, MPI_LONG, target, base, count, MPI_LONG, win));
    memcpy(model, mine, sizeof(long) * (size_t)count);
    OK(MPI_Win_flush(target, win));
    OK(MPI_Accumulate(mine, count, MPI_LONG, target, base, count, MPI_LONG, MPI_SUM, win));
    for (int i = 0; i < count; i++) model[i] += mine[i];
    OK(MPI_Get_accumulate(mine, count, MPI_LONG, back, count, MPI_LONG, target, base, count, MPI_LONG, MPI_BXOR, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < count; i++) {
        CHECK(back[i] == model[i], "round %d: %ld, not %ld, at %d", round, back[i], model[i], i);
        model[i] ^= mine[i];
    }
    long compare = model[0], swap = -round, found = -1;
    OK(MPI_Compare_and_swap(&swap, &compare, &found, MPI_LONG, target, base, win));
    OK(MPI_Win_flush(target, win));
    CHECK(found == compare, "round %d: %ld, not %ld", round, found, compare);
    model[0] = swap;
    OK(MPI_Fetch_and_op(NULL, &found, MPI_LONG, target, base, MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    CHECK(found == swap, "round %d: %ld, not %ld", round, found, swap);
    OK(MPI_Get(back, PART, MPI_LONG, target, base, PART, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    CHECK(memcmp(back, model, sizeof back) == 0, "round %d: what was put is not there", round);
    /* Every second one here, in a row there. */
    MPI_Datatype every_second;
    OK(MPI_Type_vector(PART / 2, 1, 2, MPI_LONG, &every_second));
    OK(MPI_Type_commit(&every_second));
    memset(back, 0, sizeof back);
    OK(MPI_Get(back, 1, every_second, target, base, PART / 2, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < PART; i++) CHECK(back[i] == (i % 2 ? 0 : model[i / 2]), "round %d: %ld at %d", round, back[i], i);
    OK(MPI_Type_free(&every_second));
}

int main(int argc, char **argv) {
    int given, index, numbers;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &given));
    OK(MPI_T_pvar_get_index("rma_served", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &numbers));
    OK(MPI_T_pvar_start(session, handle));
    long *memory = calloc(LONGS, sizeof(long)), *model = calloc(PART, sizeof(long));
    int target = size - 1, rounds = 0, enough = 0;
    MPI_Win win;
    OK(MPI_Win_create(memory, LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    time_t limit = time(NULL) + 120;
    while (!enough) {
        for (int i = 0; i < 16 && rank != target; i++) use(win, target, model, rounds++);
        /* The target waits here. */
        unsigned long answered = rank == target ? served() : 0;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Bcast(&answered, 1, MPI_UNSIGNED_LONG, target, MPI_COMM_WORLD));
        enough = answered > 0;
        int is_late = time(NULL) > limit;
        OK(MPI_Allreduce(MPI_IN_PLACE, &is_late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK(enough || !is_late, "a target that waits answers nobody");
    }
    /* All at all at once, each at the next: an origin that waits for an answer answers. */
    for (int i = 0; i < 100; i++) {
        long one = 1, found;
        for (int to = 0; to < size; to++) OK(MPI_Fetch_and_op(&one, &found, MPI_LONG, to, LONGS - 1, MPI_SUM, win));
        OK(MPI_Win_flush_all(win));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(memory[LONGS - 1] == 100L * size, "%ld", memory[LONGS - 1]);
    OK(MPI_Win_free(&win));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
