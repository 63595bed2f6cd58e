// ranks: 1 2 4
/* Threads that operate on the same windows at once, with MPI_THREAD_MULTIPLE: random puts, gets, accumulates, fetches and swaps of each
   thread on elements of its own at every rank, against a model in the thread, and counts that all threads of all ranks raise; then locks
   of one target each, while the others lock and unlock theirs.

   win_threads [SEED [ROUNDS]] */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, OWN = 600, MOST = 8, WINDOWS = 3 };

static MPI_Win windows[WINDOWS];
static long *memories[WINDOWS];
static int rounds = 150;
static unsigned seed;

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void *work(void *argument) {
    int thread = (int)(size_t)argument, w = 0;
    unsigned state = seed * 977u + (unsigned)(rank * THREADS + thread);
    /* What this thread's elements hold: by window and target. */
    static long models[THREADS][WINDOWS][MOST][OWN];
    long (*model)[MOST][OWN] = models[thread], mine[OWN], back[OWN];
    MPI_Aint first = 1 + (MPI_Aint)(rank * THREADS + thread) * OWN;
    for (int round = 0; round < rounds; round++) {
        int target = (int)(next(&state) % (unsigned)size), kind = (int)(next(&state) % 7);
        int count = 1 + (int)(next(&state) % (next(&state) % 3 ? 8 : OWN)), at = (int)(next(&state) % (unsigned)(OWN - count + 1));
        w = (int)(next(&state) % WINDOWS);
        long *there = &model[w][target][at], one = 1, found = -1;
        MPI_Aint disp = first + at;
        MPI_Win win = windows[w];
        for (int i = 0; i < count; i++) mine[i] = (long)next(&state) << 20 ^ next(&state);
        switch (kind) {
        case 0:
            OK(MPI_Put(mine, count, MPI_LONG, target, disp, count, MPI_LONG, win));
            memcpy(there, mine, sizeof(long) * (size_t)count);
            break;
        case 1:
            OK(MPI_Accumulate(mine, count, MPI_LONG, target, disp, count, MPI_LONG, MPI_SUM, win));
            for (int i = 0; i < count; i++) there[i] = (long)((unsigned long)there[i] + (unsigned long)mine[i]);
            break;
        case 2:
            OK(MPI_Get_accumulate(mine, count, MPI_LONG, back, count, MPI_LONG, target, disp, count, MPI_LONG, MPI_BXOR, win));
            OK(MPI_Win_flush(target, win));
            CHECK(memcmp(back, there, sizeof(long) * (size_t)count) == 0, "seed %u, round %d: fetched something else", seed, round);
            for (int i = 0; i < count; i++) there[i] ^= mine[i];
            break;
        case 3:
            if (next(&state) % 2) one = there[0];
            OK(MPI_Compare_and_swap(mine, &one, &found, MPI_LONG, target, disp, win));
            OK(MPI_Win_flush(target, win));
            CHECK(found == there[0], "seed %u, round %d: %ld, not %ld", seed, round, found, there[0]);
            if (found == one) there[0] = mine[0];
            break;
        case 4: {
            MPI_Request request;
            OK(MPI_Rput(mine, count, MPI_LONG, target, disp, count, MPI_LONG, win, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            memcpy(there, mine, sizeof(long) * (size_t)count);
            break;
        }
        case 5:
            OK(MPI_Fetch_and_op(mine, &found, MPI_LONG, target, disp, MPI_REPLACE, win));
            OK(MPI_Win_flush(target, win));
            CHECK(found == there[0], "seed %u, round %d: %ld, not %ld", seed, round, found, there[0]);
            there[0] = mine[0];
            break;
        default:
            break;
        }
        OK(MPI_Win_flush(target, win));
        OK(MPI_Get(back, count, MPI_LONG, target, disp, count, MPI_LONG, win));
        OK(MPI_Win_flush_local(target, win));
        CHECK(memcmp(back, there, sizeof(long) * (size_t)count) == 0, "seed %u, round %d: operation %d left something else", seed, round, kind);
        /* All count here. */
        OK(MPI_Fetch_and_op(&(long){1}, &found, MPI_LONG, round % size, 0, MPI_SUM, windows[round % WINDOWS]));
        OK(MPI_Win_flush_all(windows[round % WINDOWS]));
    }
    return NULL;
}

/* Locks a target that no other thread of this rank does, and counts there. */
static void *lock(void *argument) {
    int thread = (int)(size_t)argument, target = (rank + thread) % size;
    for (int round = 0; thread < size && round < 20 * rounds; round++) {
        MPI_Win win = windows[round / 7 % WINDOWS];
        long count = -1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Get(&count, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(target, win));
        count++;
        OK(MPI_Put(&count, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(target, win));
    }
    return NULL;
}

static void together(void *(*what)(void *)) {
    pthread_t threads[THREADS];
    for (int i = 1; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, what, (void *)(size_t)i) == 0, "no thread");
    what(0);
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* What all have counted at all ranks since the last time. */
static long counted(void) {
    long all = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int w = 0; w < WINDOWS; w++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, windows[w]));
        all += memories[w][0];
        memories[w][0] = 0;
        OK(MPI_Win_unlock(rank, windows[w]));
    }
    OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

int main(int argc, char **argv) {
    int given;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given));
    CHECK(given == MPI_THREAD_MULTIPLE, "%d", given);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(size <= MOST, "%d ranks", size);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL);
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (getenv("ISTHMUS_TEST_FULL") != NULL) rounds *= 40;
    if (argc > 2) rounds = atoi(argv[2]);
    MPI_Aint longs = 1 + (MPI_Aint)size * THREADS * OWN, bytes = longs * (MPI_Aint)sizeof(long);
    memories[0] = calloc((size_t)longs, sizeof(long));
    OK(MPI_Win_create(memories[0], bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]));
    for (int w = 1; w < WINDOWS; w++) {
        OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memories[w], &windows[w]));
        memset(memories[w], 0, (size_t)bytes);
    }
    for (int w = 0; w < WINDOWS; w++) OK(MPI_Win_lock_all(0, windows[w]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    together(work);
    for (int w = 0; w < WINDOWS; w++) OK(MPI_Win_unlock_all(windows[w]));
    long all = counted();
    CHECK(all == (long)size * THREADS * rounds, "%ld of %ld counts", all, (long)size * THREADS * rounds);

    together(lock);
    all = counted();
    CHECK(all == (long)size * (size < THREADS ? size : THREADS) * 20 * rounds, "%ld counts under locks", all);
    for (int w = 0; w < WINDOWS; w++) OK(MPI_Win_free(&windows[w]));
    OK(MPI_Finalize());
    return 0;
}
