/* bad_collectives SCENARIO SEED: bad days in the middle of collectives of every kind, in every form. Whoever lives prints
   "survived". */
#include "any_collective.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int COUNTS[] = {1, 20, 1500, 30000};

static int class_of(int code) {
    int class = 0;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
    return class;
}

/* Call it, and wait for it. The class of the first error, or MPI_SUCCESS. */
static int attempt(struct collective *one, enum form form) {
    one->may_fail = 1;
    call(one, form);
    if (one->code != MPI_SUCCESS || form == BLOCKING) return class_of(one->code);
    int class = form == PERSISTENT ? class_of(MPI_Start(&one->request)) : MPI_SUCCESS;
    if (!class) class = class_of(MPI_Wait(&one->request, MPI_STATUS_IGNORE));
    if (form == PERSISTENT) OK(MPI_Request_free(&one->request));
    return class;
}

static struct collective some(unsigned *state, MPI_Comm comm, enum kind kind) {
    int root = (int)(next_random(state) % 64), count = COUNTS[next_random(state) % 4];
    int in_place = next_random(state) % 2, strided = next_random(state) % 3 == 0;
    return make(kind, comm, root, count, in_place, strided);
}

/* So often that there is a board; right each time. The class of the first error, or MPI_SUCCESS. */
static int try_warm_up(struct collective *one, enum form form, unsigned times) {
    int class = MPI_SUCCESS;
    for (unsigned salt = 0; salt < times && !class; salt++) {
        refill(one, salt);
        class = attempt(one, form);
        if (!class) verify(one);
    }
    return class;
}

static void warm_up(struct collective *one, enum form form, unsigned times) {
    int class = try_warm_up(one, form, times);
    CHECK(class == MPI_SUCCESS, "kind %d form %d: class %d", one->kind, form, class);
}

static void die_after(long nanoseconds) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {0, nanoseconds}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &when, NULL) == 0, "no timer");
}

/* One after the other dies, while all go through the same collective again and again: it ends at everybody, and those who live
   go on. */
static void killed(unsigned seed) {
    unsigned state = seed;
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int alive = size; alive > 1; alive--) {
        enum kind kind = (enum kind)((seed + (unsigned)alive) % KINDS);
        enum form form = (enum form)(next_random(&state) % 2);
        struct collective one = some(&state, comm, kind);
        int victim = (int)(next_random(&state) % (unsigned)alive), is_warm = next_random(&state) % 4 > 0, class = 0;
        long moment = 1 + (long)(next_random(&state) % 3000) * 1000;
        /* Who is done with it before others may die before they are. */
        if (is_warm) class = try_warm_up(&one, form, 5);
        refill(&one, seed);
        if (one.rank == victim) die_after(moment);
        for (int round = 1; !class; round++) {
            class = attempt(&one, form);
            /* Some need nothing of anybody. */
            if (!class && round % 50 == 0) class = class_of(MPI_Barrier(comm));
        }
        CHECK(class == MPIX_ERR_PROC_FAILED, "kind %d form %d count %d: class %d", kind, form, one.count, class);
        MPI_Comm smaller;
        OK(MPIX_Comm_shrink(comm, &smaller));
        if (comm != MPI_COMM_WORLD) OK(MPI_Comm_free(&comm));
        comm = smaller;
        discard(&one);
    }
    if (comm != MPI_COMM_WORLD) OK(MPI_Comm_free(&comm));
}

/* Each rank is stopped now and then, and goes on. */
static void stopped(unsigned seed) {
    unsigned state = seed, own = seed * 31 + (unsigned)rank;
    pid_t me = getpid(), helper = fork();
    if (helper == 0) {
        for (int i = 0; i < 8 && getppid() == me; i++) {
            usleep(next_random(&own) % 20000);
            kill(me, SIGSTOP);
            usleep(next_random(&own) % 10000);
            kill(me, SIGCONT);
        }
        _exit(0);
    }
    CHECK(helper > 0, "no fork");
    for (int round = 0; round < 3 * KINDS; round++) {
        struct collective one = some(&state, MPI_COMM_WORLD, (enum kind)(round % KINDS));
        warm_up(&one, (enum form)(next_random(&state) % 3), 2);
        discard(&one);
    }
    CHECK(waitpid(helper, NULL, 0) == helper, "no helper");
}

/* Who is refused memory says so, the others end too, and the next call is right. */
static void starved(unsigned seed) {
    unsigned state = seed;
    int refused = 0, refused_anywhere = 0;
    struct rlimit plenty, none;
    CHECK(getrlimit(RLIMIT_AS, &plenty) == 0, "no limit");
    none = plenty;
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 10);
    for (int round = 0; round < 2 * KINDS; round++) {
        enum kind kind = (enum kind)(round / 2);
        enum form form = round % 2 ? IMMEDIATE : BLOCKING;
        int is_users = is_pairs(kind);
        /* A user's operation goes by messages in calls that do not block: who has not begun cannot tell the others. */
        if (is_users && form == IMMEDIATE) continue;
        struct collective one = make(kind, MPI_COMM_WORLD, (int)(next_random(&state) % 64), 200000 / size, 1, 0);
        int victim = (int)(next_random(&state) % (unsigned)size), class;
        warm_up(&one, form, round < 2 ? 5 : 1);
        refill(&one, seed);
        none.rlim_cur = 1 << 20;
        if (rank == victim) CHECK(setrlimit(RLIMIT_AS, &none) == 0, "no limit");
        class = attempt(&one, form);
        if (rank == victim) CHECK(setrlimit(RLIMIT_AS, &plenty) == 0, "no limit");
        refused += class == MPI_ERR_NO_MEM;
        CHECK(!class || class == (rank == victim ? MPI_ERR_NO_MEM : MPI_ERR_OTHER), "kind %d form %d: class %d", kind, form, class);
        warm_up(&one, form, 1);
        discard(&one);
    }
    OK(MPI_Allreduce(&refused, &refused_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(refused_anywhere >= 4, "memory was refused %d times", refused_anywhere);
}

int main(int argc, char **argv) {
    const char *scenario = argc > 1 ? argv[1] : "";
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* Whoever is through may die before others are. */
    (void)MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(scenario, "killed") == 0) killed(seed);
    if (strcmp(scenario, "stopped") == 0) stopped(seed);
    if (strcmp(scenario, "starved") == 0) starved(seed);
    end();
    printf("survived\n");
    return 0;
}
