/* win_killed SCENARIO SEED [create]: run by bad_days. One rank dies by SIGKILL in the middle of what all do with a window; the others go on,
   since their error handlers return. Those who wait for the dead get an error, nobody else does, what the dead had locked is free again,
   and nothing that the living did is lost. Every survivor prints "survived". */
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

enum { TURNS = 300, LONGS = 2048, ODD = 8 * LONGS + 4 };

/* The memory of each rank. `total` is raised before the rank's own count, so that it is never smaller than all of those together. */
struct counts { long total, own[64], done, sums[LONGS]; char odd[ODD]; };

static struct counts *memory;
static MPI_Win win;
static int victim;
static unsigned state;

static void die(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

/* 0: it has worked; 1: its peer is dead. */
static int dead(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int class = MPI_SUCCESS, length;
    if (code == MPI_SUCCESS) return 0;
    OK(MPI_Error_class(code, &class));
    OK(MPI_Error_string(code, text, &length));
    CHECK(class == MPIX_ERR_PROC_FAILED, "class %d, %s", class, text);
    return 1;
}

#define AT(field) ((MPI_Aint)offsetof(struct counts, field))

static int raise_by_lock(int target) {
    long total, own;
    if (dead(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win))) return 1;
    int gone = dead(MPI_Get(&total, 1, MPI_LONG, target, AT(total), 1, MPI_LONG, win)) |
               dead(MPI_Get(&own, 1, MPI_LONG, target, AT(own) + 8 * rank, 1, MPI_LONG, win)) | dead(MPI_Win_flush(target, win));
    total++, own++;
    if (!gone) gone = dead(MPI_Put(&total, 1, MPI_LONG, target, AT(total), 1, MPI_LONG, win)) || dead(MPI_Win_flush(target, win));
    if (!gone) gone = dead(MPI_Put(&own, 1, MPI_LONG, target, AT(own) + 8 * rank, 1, MPI_LONG, win));
    return dead(MPI_Win_unlock(target, win)) | gone;
}

static int raise_by_operation(int target) {
    long one = 1, before;
    static long many[LONGS];
    for (int i = 0; i < LONGS; i++) many[i] = 1;
    if (dead(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win))) return 1;
    int gone = dead(MPI_Fetch_and_op(&one, &before, MPI_LONG, target, AT(total), MPI_SUM, win)) ||
               dead(MPI_Fetch_and_op(&one, &before, MPI_LONG, target, AT(own) + 8 * rank, MPI_SUM, win)) ||
               dead(MPI_Accumulate(many, LONGS, MPI_LONG, target, AT(sums), LONGS, MPI_LONG, MPI_SUM, win)) ||
               dead(MPI_Accumulate(many, LONGS, MPI_LONG, target, AT(odd) + 4, LONGS, MPI_LONG, MPI_SUM, win));
    return dead(MPI_Win_unlock(target, win)) | gone;
}

/* Under a lock of all that lasts: what is counted by compare-and-swap, and fetched from every other element. */
static int swap(int target) {
    static long many[LONGS], back[LONGS], raised[64];
    static MPI_Datatype others = MPI_DATATYPE_NULL;
    long one = 1, before, seen, next, found = 0;
    int gone = 0;
    if (others == MPI_DATATYPE_NULL) {
        OK(MPI_Type_vector(LONGS / 2, 1, 2, MPI_LONG, &others));
        OK(MPI_Type_commit(&others));
        for (int i = 0; i < LONGS; i++) many[i] = 1;
    }
    do {
        seen = found, next = seen + 1;
        gone = dead(MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, target, AT(total), win)) || dead(MPI_Win_flush(target, win));
    } while (!gone && found != seen);
    gone = gone || dead(MPI_Fetch_and_op(&one, &before, MPI_LONG, target, AT(own) + 8 * rank, MPI_SUM, win)) ||
           dead(MPI_Get_accumulate(many, LONGS / 2, MPI_LONG, back, 1, others, target, AT(sums), 1, others, MPI_SUM, win)) ||
           dead(MPI_Win_flush(target, win));
    if (gone) return 1;
    for (int i = 0; i < LONGS; i += 2) CHECK(back[i] >= raised[target], "%ld, and %ld by this rank", back[i], raised[target]);
    raised[target]++;
    return 0;
}

static int raise_between_posts(int unused) {
    (void)unused;
    long one = 1;
    int ring[] = {(rank + 1) % size, (rank + size - 1) % size};
    MPI_Group all, next, last;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &ring[0], &next));
    OK(MPI_Group_incl(all, 1, &ring[1], &last));
    int gone = dead(MPI_Win_post(last, 0, win)) || dead(MPI_Win_start(next, 0, win)) ||
               dead(MPI_Accumulate(&one, 1, MPI_LONG, ring[0], AT(total), 1, MPI_LONG, MPI_SUM, win)) ||
               dead(MPI_Win_complete(win)) || dead(MPI_Win_wait(win));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&next));
    OK(MPI_Group_free(&last));
    return gone;
}

/* Puts, of which short ones may be left to the target: a rank that has waited without an error has all of them, of one turn. */
static int put_between_posts(int unused) {
    (void)unused;
    static long many[LONGS], turns;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Group all, to, from;
    for (int i = 0; i < LONGS; i++) many[i] = turns;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &next, &to));
    OK(MPI_Group_incl(all, 1, &last, &from));
    int gone = dead(MPI_Win_post(from, 0, win)) || dead(MPI_Win_start(to, 0, win)) ||
               dead(MPI_Put(&turns, 1, MPI_LONG, next, AT(total), 1, MPI_LONG, win)) ||
               dead(MPI_Put(&turns, 4, MPI_CHAR, next, AT(odd) + 4, 4, MPI_CHAR, win)) ||
               dead(MPI_Put(many, LONGS, MPI_LONG, next, AT(sums), LONGS, MPI_LONG, win)) || dead(MPI_Win_complete(win)) ||
               dead(MPI_Win_wait(win));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    if (!gone) {
        CHECK(memory->total == turns && memcmp(memory->odd + 4, &turns, 4) == 0, "%ld in turn %ld", memory->total, turns);
        for (int i = 0; i < LONGS; i++) CHECK(memory->sums[i] == turns, "%ld in turn %ld", memory->sums[i], turns);
    }
    turns++;
    return gone;
}

static int raise_between_fences(int target) {
    long one = 1;
    return dead(MPI_Accumulate(&one, 1, MPI_LONG, target, AT(total), 1, MPI_LONG, MPI_SUM, win)) | dead(MPI_Win_fence(0, win));
}

/* Until all who live have come here. */
static void meet(void) {
    long one = 1, seen = 0;
    for (int i = 0; i < size; i++) {
        if (i == victim) continue;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, i, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, i, AT(done), 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_unlock(i, win));
    }
    while (seen < size - 1) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        OK(MPI_Fetch_and_op(NULL, &seen, MPI_LONG, rank, AT(done), MPI_NO_OP, win));
        OK(MPI_Win_unlock(rank, win));
        sched_yield();
    }
    /* The rank that counts here may not know yet that it has unlocked. */
    for (int i = 0; i < size; i++)
        if (i != victim) OK(MPI_Send(NULL, 0, MPI_BYTE, i, 1, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        if (i != victim) OK(MPI_Recv(NULL, 0, MPI_BYTE, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Turns until all who live have done theirs; the victim has no end. `lasting`: with all locked. */
static void each_alone(int (*turn)(int), int lasting) {
    if (lasting) OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < TURNS || rank == victim; i++) {
        int target = (int)(next_random(&state) % (unsigned)size);
        int gone = turn(target);
        CHECK(!gone || target == victim, "rank %d lives", target);
    }
    if (lasting) dead(MPI_Win_unlock_all(win));
    meet();
    /* The victim may still be at it, so what it counts on its own is left out on both sides, but for one that it has not told. */
    long living = 0, total;
    for (int i = 0; i < size; i++) living += i == victim ? 0 : memory->own[i];
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    total = memory->total;
    OK(MPI_Win_unlock(rank, win));
    CHECK(total >= living, "%ld, and %ld by the living", total, living);
}

/* The victim has a lock alone when it dies; one waits for it meanwhile, who is with the victim on its node if there are several. */
static void hold(void) {
    int target = (victim + 1) % size, here;
    if (rank == victim) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (double begin = MPI_Wtime(); MPI_Wtime() < begin + 0.02;)
            OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &here, MPI_STATUS_IGNORE));
        die(0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int who = (victim + size - 1) % size;
    for (int i = 0; i < 3 && rank == who; i++) CHECK(!raise_by_lock(target), "rank %d lives", target);
    /* Before that nobody else locks anything. */
    for (int i = 0; i < size && rank == who; i++)
        if (i != victim) OK(MPI_Send(NULL, 0, MPI_BYTE, i, 2, MPI_COMM_WORLD));
    OK(MPI_Recv(NULL, 0, MPI_BYTE, who, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    meet();
}

/* Turns until somebody is missed. */
static void together(int (*turn)(int)) {
    while (!turn((int)(next_random(&state) % (unsigned)size))) {}
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 2 && size <= 64, "%d", argc);
    const char *scenario = argv[1];
    unsigned seed = (unsigned)atoi(argv[2]);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (argc > 3) {
        memory = malloc(sizeof *memory);
        OK(MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
        OK(MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    }
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    memset(memory, 0, sizeof *memory);
    victim = (int)seed % size, state = seed * 77u + (unsigned)rank;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (strcmp(scenario, "fences") == 0) OK(MPI_Win_fence(0, win));
    /* The victim may die when all others have come so far. */
    for (int i = 0; i < size; i++) {
        if (i == victim) continue;
        if (rank == victim) OK(MPI_Recv(NULL, 0, MPI_BYTE, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank == i) OK(MPI_Send(NULL, 0, MPI_BYTE, victim, 3, MPI_COMM_WORLD));
    }
    if (rank == victim && strcmp(scenario, "holder") != 0) {
        signal(SIGALRM, die);
        struct itimerval after = {.it_value.tv_usec = 500 + (long)(seed * 7919u % 12000u)};
        CHECK(setitimer(ITIMER_REAL, &after, NULL) == 0, "setitimer");
    }
    if (strcmp(scenario, "locks") == 0) each_alone(raise_by_lock, 0);
    else if (strcmp(scenario, "operations") == 0) each_alone(raise_by_operation, 0);
    else if (strcmp(scenario, "swaps") == 0) each_alone(swap, 1);
    else if (strcmp(scenario, "holder") == 0) hold();
    else if (strcmp(scenario, "posts") == 0) together(raise_between_posts);
    else if (strcmp(scenario, "puts") == 0) together(put_between_posts);
    else together(raise_between_fences);
    CHECK(rank != victim, "it lives");
    if (write(STDOUT_FILENO, "survived\n", 9) < 0) perror("write");
    end();
    return 0;
}
