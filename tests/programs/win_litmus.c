// ranks: 2 4
// more ranks: 3 8
/* What ordering and atomicity promise, in the small: what comes after a flush is seen after it; of two who store and then look, one sees
   the other; no ticket is given twice; swaps make locks; no element is ever seen half changed, wherever it lies and whoever changes it. */
#include "check.h"

#include <complex.h>
#include <sched.h>
#include <sys/syscall.h>

enum { ROUNDS = 200, BYTES = 3 * 4096 };

static char *memory;
static MPI_Win win;

static void open_window(int ordinary) {
    if (ordinary) {
        memory = aligned_alloc(4096, BYTES);
        OK(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
        OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    }
    memset(memory, 0, BYTES);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void close_window(int ordinary) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    if (ordinary) free(memory);
}

static long look(int target, MPI_Aint at) {
    long value;
    OK(MPI_Fetch_and_op(NULL, &value, MPI_LONG, target, at, MPI_NO_OP, win));
    OK(MPI_Win_flush(target, win));
    return value;
}

static void set(long value, int target, MPI_Aint at) {
    OK(MPI_Accumulate(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_REPLACE, win));
}

/* Data, flush, flag: a rank that sees the flag sees the data, at whichever rank each of them lies. */
static void message_passing(void) {
    int data_at = size - 1, flag_at = size / 2;
    long data[64];
    for (long i = 1; i <= ROUNDS; i++) {
        if (rank == 0) {
            for (int k = 0; k < 64; k++) data[k] = i * 100 + k;
            OK(MPI_Put(data, 64, MPI_LONG, data_at, 512, 64, MPI_LONG, win));
            OK(MPI_Win_flush(data_at, win));
            set(i, flag_at, 0);
            while (look(flag_at, 8) != i * (size - 1)) sched_yield();
        } else {
            long one = 1;
            while (look(flag_at, 0) < i) sched_yield();
            OK(MPI_Get(data, 64, MPI_LONG, data_at, 512, 64, MPI_LONG, win));
            OK(MPI_Win_flush(data_at, win));
            for (int k = 0; k < 64; k++) CHECK(data[k] == i * 100 + k, "round %ld: %ld at %d", i, data[k], k);
            OK(MPI_Accumulate(&one, 1, MPI_LONG, flag_at, 8, 1, MPI_LONG, MPI_SUM, win));
        }
        OK(MPI_Win_flush_all(win));
    }
}

/* By a get. */
static long get(int target, MPI_Aint at) {
    long value;
    OK(MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    return value;
}

/* By a get of a type with gaps. */
static long get_with_gaps(int target, MPI_Aint at) {
    long values[3];
    MPI_Datatype gaps;
    OK(MPI_Type_vector(2, 1, 2, MPI_LONG, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Get(values, 1, gaps, target, at, 1, gaps, win));
    OK(MPI_Win_flush(target, win));
    OK(MPI_Type_free(&gaps));
    return values[0];
}

/* By its own loads, after MPI_Win_sync. */
static long load(int target, MPI_Aint at) {
    (void)target;
    OK(MPI_Win_sync(win));
    return *(volatile long *)(memory + at);
}

/* Each says that it is there, at itself or at the other one, by a put or by a sum that takes a lock, and then looks whether the other is. */
static void store_buffering(int there, int by_sum, long (*looks)(int, MPI_Aint)) {
    long eight[8];
    for (int k = 0; k < 8; k++) eight[k] = 1;
    memset(memory + 64, 0, 64);
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (long i = 1; i <= ROUNDS; i++) {
        long seen = 0;
        if (rank < 2) {
            int at = there ? 1 - rank : rank;
            if (by_sum) OK(MPI_Accumulate(eight, 8, MPI_LONG, at, 64, 8, MPI_LONG, MPI_SUM, win));
            else OK(MPI_Put(&i, 1, MPI_LONG, at, 64, 1, MPI_LONG, win));
            OK(MPI_Win_flush(at, win));
            seen = looks(1 - at, 64) == i;
        }
        OK(MPI_Allreduce(MPI_IN_PLACE, &seen, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK(seen >= 1, "round %ld: neither sees the other", i);
    }
}

static void store_and_look(int by_sum) {
    long (*const looks[])(int, MPI_Aint) = {look, get, get_with_gaps};
    for (int there = 0; there < 2; there++)
        for (int k = 0; k < 3; k++) store_buffering(there, by_sum, looks[k]);
    store_buffering(1, by_sum, load);
}

/* Tickets, and a lock that is made of swaps. */
static void tickets_and_locks(void) {
    long *mine = malloc(sizeof(long) * ROUNDS), *all = malloc(sizeof(long) * ROUNDS * (size_t)size), one = 1;
    int home = size - 1;
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Fetch_and_op(&one, &mine[i], MPI_LONG, home, 128, MPI_SUM, win));
        OK(MPI_Win_flush(home, win));
        CHECK(i == 0 || mine[i] > mine[i - 1], "ticket %ld after %ld", mine[i], mine[i - 1]);
    }
    OK(MPI_Allgather(mine, ROUNDS, MPI_LONG, all, ROUNDS, MPI_LONG, MPI_COMM_WORLD));
    char *given = calloc((size_t)size, ROUNDS);
    for (int i = 0; i < ROUNDS * size; i++) {
        CHECK(all[i] >= 0 && all[i] < ROUNDS * size && !given[all[i]], "ticket %ld", all[i]);
        given[all[i]] = 1;
    }
    free(given), free(all), free(mine);
    for (int i = 0; i < ROUNDS / 4; i++) {
        int free_one = 0, taken = rank + 1, found = -1;
        while (found != 0) {
            OK(MPI_Compare_and_swap(&taken, &free_one, &found, MPI_INT, home, 192, win));
            OK(MPI_Win_flush(home, win));
        }
        long value;
        OK(MPI_Get(&value, 1, MPI_LONG, home, 200, 1, MPI_LONG, win));
        OK(MPI_Win_flush(home, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, home, 200, 1, MPI_LONG, win));
        OK(MPI_Win_flush(home, win));
        OK(MPI_Accumulate(&free_one, 1, MPI_INT, home, 192, 1, MPI_INT, MPI_REPLACE, win));
        OK(MPI_Win_flush(home, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(look(home, 200) == (long)size * (ROUNDS / 4), "%ld", look(home, 200));
}

/* Elements of 16 bytes whose halves are always the same: aligned, not aligned, across two pages of locks. */
static void whole_elements(MPI_Aint at) {
    int home = 0;
    double _Complex add = 1 + 1 * I, was;
    MPI_Datatype type = MPI_C_DOUBLE_COMPLEX;
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 3 == 0) OK(MPI_Fetch_and_op(NULL, &was, type, home, at, MPI_NO_OP, win));
        else OK(MPI_Get_accumulate(&add, 1, type, &was, 1, type, home, at, 1, type, MPI_SUM, win));
        OK(MPI_Win_flush(home, win));
        CHECK(creal(was) == cimag(was), "%g and %g", creal(was), cimag(was));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Fetch_and_op(NULL, &was, type, home, at, MPI_NO_OP, win));
    OK(MPI_Win_flush(home, win));
    int adds = ROUNDS - (ROUNDS + 2) / 3;
    CHECK(creal(was) == (double)adds * size && creal(was) == cimag(was), "%g", creal(was));
}

static MPI_T_pvar_session session;
static MPI_T_pvar_handle locked;

static void count_locked_regions(void) {
    int index, numbers;
    OK(MPI_T_pvar_get_index("rma_locked_regions", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &locked, &numbers));
    OK(MPI_T_pvar_start(session, locked));
}

/* Since they are counted, at all ranks. */
static long locked_regions(void) {
    unsigned long mine, all;
    OK(MPI_T_pvar_read(session, locked, &mine));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return (long)all;
}

/* One more, by whichever call. */
static void add_one(int how, MPI_Aint at) {
    long one = 1, was = 0, found, next;
    if (how == 0) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, win));
    } else if (how == 1) {
        OK(MPI_Fetch_and_op(&one, &found, MPI_LONG, 0, at, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
    } else {
        for (int is_done = 0; !is_done; was = found) {
            next = was + 1;
            OK(MPI_Compare_and_swap(&next, &was, &found, MPI_LONG, 0, at, win));
            OK(MPI_Win_flush(0, win));
            is_done = found == was;
        }
    }
}

/* Long accumulates and single elements among them: none is lost, whatever each goes by. */
static void long_and_short(MPI_Aint at) {
    enum { LONGS = 128 };
    long ones[LONGS], was[LONGS];
    for (int i = 0; i < LONGS; i++) ones[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        if ((i + rank) % 2) OK(MPI_Accumulate(ones, LONGS, MPI_LONG, 0, at, LONGS, MPI_LONG, MPI_SUM, win));
        else for (int k = 0; k < LONGS; k += 8) add_one(k / 8 % 3, at + 8 * k);
    }
    OK(MPI_Win_flush(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, was, LONGS, MPI_LONG, 0, at, LONGS, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Win_flush(0, win));
    for (int k = 0; k < LONGS; k++) CHECK(was[k] == (long)size * ROUNDS / (k % 8 ? 2 : 1), "%ld at %d", was[k], k);
}

int main(int argc, char **argv) {
    int given, is_fenced = syscall(SYS_membarrier, 2 /* MEMBARRIER_CMD_GLOBAL_EXPEDITED */, 0, 0) == 0;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &given));
    count_locked_regions();
    int is_one_node = on_one_node();
    for (int ordinary = 0; ordinary < 2; ordinary++) {
        open_window(ordinary);
        long before = locked_regions();
        message_passing();
        store_and_look(0);
        tickets_and_locks();
        whole_elements(256);
        whole_elements(276);
        whole_elements(4096 - 7);
        long_and_short(1024);
        if (!ordinary && is_fenced && is_one_node) CHECK(locked_regions() - before == 1, "%ld regions went over to locks", locked_regions() - before);
        long_and_short(7604);
        /* These make two regions go over to locks. */
        store_and_look(1);
        close_window(ordinary);
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
