// ranks: 2 3 4
// more ranks: 8
/* Puts of an epoch by MPI_Win_start are there when MPI_Win_wait or MPI_Win_test says that it is over, and are seen by the next origin,
   however many and long they are and whatever their target did meanwhile; on ordinary memory they may be left to it. */
#include "check.h"

#include <pthread.h>

#ifndef THREADS
#define THREADS 0
#endif

enum { AREA = 26000, LONG = 9000, ROUNDS = 60, KINDS = 3 };

static unsigned char *memory[KINDS], *mine;
static MPI_Win wins[KINDS];
static volatile int over;

/* What rank `origin` puts in this round: so many pieces of so many bytes, one behind the other, in its own area of every other rank. */
static int pieces_of(int round, int origin) { return 1 + (round * 7 + origin * 3) % (round % 5 == 0 ? 60 : 9); }

static int bytes_of(int round, int i) {
    static const int lengths[] = {1, 8, 24, 25, 3, 100, 40, LONG, 8, 17};
    int length = lengths[(round + i) % 10];
    return i >= 10 && length == LONG ? 64 : length;
}

static unsigned seed_of(int round, int kind, int origin, int i) { return (unsigned)(round * 100 + kind * 31 + origin * 7 + i); }

/* Areas are by origin. */
static MPI_Aint place_of(int kind, int target, int origin, const MPI_Aint *addresses) {
    return (kind == 2 ? addresses[target] : 0) + (MPI_Aint)origin * AREA;
}

static void put_all(int round, int kind, MPI_Aint first, int target) {
    for (int i = 0, at = 0; i < pieces_of(round, rank); i++) {
        int length = bytes_of(round, i);
        OK(MPI_Put(mine + kind * AREA + at, length, MPI_BYTE, target, first + at, length, MPI_BYTE, wins[kind]));
        at += length;
    }
}

static void check_area(int round, int kind, int origin, const unsigned char *area) {
    for (int i = 0; i < pieces_of(round, origin); i++) {
        int length = bytes_of(round, i);
        CHECK_BYTES(area, (size_t)length, seed_of(round, kind, origin, i));
        area += length;
    }
}

/* Another thread makes progress all the time, and does what is left as well. */
static void *make_progress(void *unused) {
    int flag;
    while (!over) OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    return unused;
}

static void round_of(int round, MPI_Group others, const MPI_Aint *addresses, unsigned char *got) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0, at = 0; i < pieces_of(round, rank); i++) {
            fill(mine + kind * AREA + at, (size_t)bytes_of(round, i), seed_of(round, kind, rank, i));
            at += bytes_of(round, i);
        }
    for (int kind = 0; kind < KINDS; kind++) OK(MPI_Win_post(others, 0, wins[kind]));
    for (int kind = 0; kind < KINDS; kind++) OK(MPI_Win_start(others, 0, wins[kind]));
    for (int kind = 0; kind < KINDS; kind++)
        for (int step = 1; step < size; step++) {
            int target = (rank + step) % size;
            put_all(round, kind, place_of(kind, target, rank, addresses), target);
        }
    for (int kind = KINDS; kind-- > 0;) OK(MPI_Win_complete(wins[kind]));
    /* One is away, and calls nothing, after the others have completed. */
    if (round % 10 == 3 && rank == round % size) usleep(2000);
    for (int kind = 0; kind < KINDS; kind++) {
        int is_over = 0;
        if (round % 2) OK(MPI_Win_wait(wins[kind]));
        while (round % 2 == 0 && !is_over) OK(MPI_Win_test(wins[kind], &is_over));
        for (int origin = 0; origin < size; origin++)
            if (origin != rank) check_area(round, kind, origin, memory[kind] + origin * AREA);
    }
    /* A rank that learns of it by a message sees it, too. */
    int next = (rank + 1) % size;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int kind = 0; kind < KINDS; kind++)
        for (int origin = 0; origin < size; origin++) {
            if (origin == next) continue;
            OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, wins[kind]));
            OK(MPI_Get(got, AREA, MPI_BYTE, next, place_of(kind, next, origin, addresses), AREA, MPI_BYTE, wins[kind]));
            OK(MPI_Win_unlock(next, wins[kind]));
            check_area(round, kind, origin, got);
        }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    int given;
    OK(MPI_Init_thread(&argc, &argv, THREADS ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    MPI_Aint bytes = (MPI_Aint)size * AREA, own, addresses[size];
    unsigned char *got = malloc(AREA);
    mine = malloc((size_t)KINDS * AREA);
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != 1) memory[kind] = calloc((size_t)bytes, 1);
    OK(MPI_Win_create(memory[0], bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]));
    OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[1], &wins[1]));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &wins[2]));
    OK(MPI_Win_attach(wins[2], memory[2], bytes));
    OK(MPI_Get_address(memory[2], &own));
    OK(MPI_Allgather(&own, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    MPI_Group all, others;
    OK(MPI_Win_get_group(wins[0], &all));
    OK(MPI_Group_excl(all, 1, &rank, &others));
    pthread_t thread;
    if (THREADS) CHECK(pthread_create(&thread, NULL, make_progress, NULL) == 0, "no thread");
    for (int round = 0; round < ROUNDS; round++) round_of(round, others, addresses, got);
    over = 1;
    if (THREADS) CHECK(pthread_join(thread, NULL) == 0, "the thread does not end");
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&others));
    for (int kind = 0; kind < KINDS; kind++) OK(MPI_Win_free(&wins[kind]));
    free(memory[0]);
    free(memory[2]);
    free(mine);
    free(got);
    OK(MPI_Finalize());
    return 0;
}
