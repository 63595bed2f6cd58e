// ranks: 2 4
/* Operations with results that are completed together: gets of all lengths into memory in one piece and in pieces, fetches, swaps and
   compare-and-swaps of which each depends on the one before, mixed with puts and accumulates. What completes them is in turn a local flush of
   one target or of all, a flush, an unlock, the wait for their requests, a fence, and the end of an access epoch. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 40000, GETS = 40, STEPS = 300, WORDS = 4 };

static const char *const ways[] = {"flush_local", "flush_local_all", "flush", "flush_all", "unlock", "fence", "complete"};
/* Those to memory that is locked come first. */
enum { LOCKED = 5, WAYS = sizeof ways / sizeof *ways };

static unsigned char value(int owner, int at) { return (unsigned char)(owner * 37 + at * 11 + at / 251); }

/* Everybody accesses everybody. */
static void begin_general(MPI_Win win) {
    MPI_Group all;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
    OK(MPI_Group_free(&all));
}

/* Complete what was started to `target`, which is locked and stays so. */
static void complete(int way, int target, MPI_Win win) {
    switch (way) {
    case 0: OK(MPI_Win_flush_local(target, win)); break;
    case 1: OK(MPI_Win_flush_local_all(win)); break;
    case 2: OK(MPI_Win_flush(target, win)); break;
    case 3: OK(MPI_Win_flush_all(win)); break;
    case 4:
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_lock_all(0, win));
        break;
    case 5: OK(MPI_Win_fence(0, win)); break;
    default:
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        begin_general(win);
    }
}

static void gets(int way, int target, MPI_Win win) {
    static unsigned char in[GETS][LENGTH];
    int first[GETS], length[GETS];
    MPI_Datatype pairs;
    OK(MPI_Type_vector(LENGTH / 4, 2, 4, MPI_UNSIGNED_CHAR, &pairs));
    OK(MPI_Type_commit(&pairs));
    memset(in, 0xee, sizeof in);
    for (int i = 0; i < GETS; i++) {
        length[i] = i % 4 == 3 ? LENGTH / 2 : 1 + i * i * i % (i % 2 ? 40 : 9000);
        first[i] = (i * 977 + way) % (LENGTH - length[i]);
        if (i % 4 == 3) OK(MPI_Get(in[i], 1, pairs, target, first[i], length[i], MPI_UNSIGNED_CHAR, win));
        else OK(MPI_Get(in[i], length[i], MPI_UNSIGNED_CHAR, target, first[i], length[i], MPI_UNSIGNED_CHAR, win));
    }
    /* The datatype is needed no longer than the calls. */
    OK(MPI_Type_free(&pairs));
    complete(way, target, win);
    for (int i = 0; i < GETS; i++) {
        for (int at = 0; at < LENGTH; at++) {
            int is_scattered = i % 4 == 3, from = is_scattered ? at / 4 * 2 + at % 4 : at;
            int is_got = from < length[i] && (!is_scattered || at % 4 < 2);
            unsigned char expected = is_got ? value(target, first[i] + from) : 0xee;
            CHECK(in[i][at] == expected, "%s: get %d of %d, byte %d: %d, not %d", ways[way], i, length[i], at, in[i][at], expected);
        }
    }
}

/* Each rank has words of its own at every target. */
static void fetches(int way, int target, MPI_Win win, long *model) {
    static long back[STEPS], swapped[STEPS], compared[STEPS];
    long one = 1, two = 2, base = *model;
    MPI_Aint word = rank * WORDS;
    for (int i = 0; i < STEPS; i++) {
        long old = base + i, now = base + i + 1;
        OK(MPI_Accumulate(&two, 1, MPI_LONG, target, word, 1, MPI_LONG, MPI_SUM, win));
        if (i % 2) OK(MPI_Fetch_and_op(&one, &back[i], MPI_LONG, target, word, MPI_SUM, win));
        else OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &back[i], 1, MPI_LONG, target, word, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&now, &swapped[i], MPI_LONG, target, word + 1, MPI_REPLACE, win));
        OK(MPI_Compare_and_swap(&now, &old, &compared[i], MPI_LONG, target, word + 2, win));
    }
    complete(way, target, win);
    for (int i = 0; i < STEPS; i++) {
        CHECK(back[i] == 3 * (base + i) + 2, "%s: step %d fetched %ld", ways[way], i, back[i]);
        CHECK(swapped[i] == base + i, "%s: step %d found %ld", ways[way], i, swapped[i]);
        CHECK(compared[i] == base + i, "%s: step %d compared with %ld", ways[way], i, compared[i]);
    }
    *model += STEPS;
}

static void requests(int target, MPI_Win bytes, MPI_Win words, long base) {
    static unsigned char in[LENGTH];
    long back = -1, nothing = 0;
    MPI_Request request;
    memset(in, 0xee, sizeof in);
    OK(MPI_Rget(in, 100, MPI_UNSIGNED_CHAR, target, 7, 100, MPI_UNSIGNED_CHAR, bytes, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int at = 0; at < 100; at++) CHECK(in[at] == value(target, 7 + at), "a get with a request, byte %d: %d", at, in[at]);
    OK(MPI_Rget_accumulate(&nothing, 1, MPI_LONG, &back, 1, MPI_LONG, target, rank * WORDS, 1, MPI_LONG, MPI_NO_OP, words, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(back == 3 * base, "a fetch with a request: %ld", back);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    unsigned char *memory;
    long *counts, models[64] = {0};
    MPI_Win bytes, words;
    OK(MPI_Win_allocate(LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &bytes));
    counts = calloc((size_t)(size * WORDS), sizeof(long));
    OK(MPI_Win_create(counts, (MPI_Aint)sizeof(long) * size * WORDS, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &words));
    for (int at = 0; at < LENGTH; at++) memory[at] = value(rank, at);
    OK(MPI_Win_fence(0, bytes));
    OK(MPI_Win_lock_all(0, bytes));
    OK(MPI_Win_lock_all(0, words));
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < 2; i++) {
            MPI_Win win = i ? words : bytes;
            if (way == LOCKED) OK(MPI_Win_unlock_all(win));
            if (way == LOCKED) OK(MPI_Win_fence(0, win));
            if (way == LOCKED + 1) OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            if (way == LOCKED + 1) begin_general(win);
        }
        for (int step = 0; step < size; step++) {
            int target = (rank + step) % size;
            gets(way, target, bytes);
            fetches(way, target, words, &models[target]);
            if (way < LOCKED) requests(target, bytes, words, models[target]);
        }
    }
    for (int i = 0; i < 2; i++) {
        OK(MPI_Win_complete(i ? words : bytes));
        OK(MPI_Win_wait(i ? words : bytes));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        CHECK(counts[from * WORDS] == 3L * STEPS * WAYS, "rank %d has counted to %ld here", from, counts[from * WORDS]);
    OK(MPI_Win_free(&bytes));
    OK(MPI_Win_free(&words));
    free(counts);
    end();
    return 0;
}
