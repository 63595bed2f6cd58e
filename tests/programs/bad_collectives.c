/* bad_collectives SCENARIO SEED [ROUNDS]: bad days in the middle of collectives of every kind, in every form. A survivor prints
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
        enum form form = (enum form)(next_random(&state) % 3);
        struct collective one = some(&state, comm, kind);
        int victim = (int)(next_random(&state) % (unsigned)alive), is_warm = next_random(&state) % 4 > 0, class = 0;
        long moment = 1 + (long)(next_random(&state) % 3000) * 1000;
        /* A rank that has finished it before others may die before they have. */
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

/* The last ranks die in turn while all stage what they have for the others, and those who live stage more than there is room for:
   what the dead have not read, and never will, is written over. */
static void killed_last(unsigned seed) {
    enum { DEATHS = 3, COUNT = 100, CALLS = 40 };
    unsigned state = seed;
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int alive = size;; alive--) {
        struct collective one = make(ALLGATHER, comm, 0, COUNT, 0, 0);
        int class = try_warm_up(&one, BLOCKING, CALLS);
        if (alive == size - DEATHS) {
            CHECK(class == MPI_SUCCESS, "class %d", class);
            discard(&one);
            break;
        }
        long moment = 1 + (long)(next_random(&state) % 3000) * 1000;
        if (one.rank == alive - 1) die_after(moment);
        while (!class) class = attempt(&one, BLOCKING);
        CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
        MPI_Comm smaller;
        OK(MPIX_Comm_shrink(comm, &smaller));
        if (comm != MPI_COMM_WORLD) OK(MPI_Comm_free(&comm));
        comm = smaller;
        discard(&one);
    }
    OK(MPI_Comm_free(&comm));
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

/* From now on this process gets no more memory in long pieces; or it does again. There is a reserve of short ones: a process that gets none of those is
   ended by the allocator of its language, not by an error of the call, and whether the heap has some left is chance. */
static void starve(int starving) {
    enum { SHORT_PIECES = 100 << 10, LONG_PIECE = 128 << 10 };
    static struct rlimit plenty;
    struct rlimit none;
    if (starving) {
        CHECK(mallopt(M_MMAP_THRESHOLD, LONG_PIECE) && mallopt(M_TRIM_THRESHOLD, 1 << 30), "mallopt");
        void *reserve = malloc(SHORT_PIECES);
        CHECK(reserve, "no memory");
        free(reserve);
        CHECK(getrlimit(RLIMIT_AS, &plenty) == 0, "no limit");
        none = plenty;
        none.rlim_cur = 1 << 20;
    }
    CHECK(setrlimit(RLIMIT_AS, starving ? &none : &plenty) == 0, "no limit");
}

static void check_starved(int class, int is_victim, const char *what, int kind, enum form form) {
    CHECK(!class || class == (is_victim ? MPI_ERR_NO_MEM : MPI_ERR_OTHER), "%s: kind %d form %d: class %d", what, kind, form, class);
}

/* How often it was refused on any rank. */
static void count_refusals(const char *what, int refused, int least) {
    int anywhere = 0;
    OK(MPI_Allreduce(&refused, &anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(anywhere >= least, "%s: memory was refused %d times", what, anywhere);
}

/* Elements of what is too long for the memory that a thread keeps for its next calls. */
enum { LONG_COUNT = 300000 };

/* Of one communicator, in every form, with a board and without. */
static void starved_in_a_group(unsigned seed) {
    unsigned state = seed;
    int refused[3] = {0}, refused_users = 0, refused_cold = 0;
    for (int round = 0; round < 6 * KINDS; round++) {
        enum kind kind = (enum kind)(round / 6);
        enum form form = (enum form)(round / 2 % 3);
        int is_cold = round % 2;
        MPI_Comm comm = MPI_COMM_WORLD;
        if (is_cold) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        struct collective one = make(kind, comm, (int)(next_random(&state) % 64), LONG_COUNT, 1, 0);
        int victim = (int)(next_random(&state) % (unsigned)size), class;
        if (!is_cold) warm_up(&one, form, round < 6 ? 5 : 1);
        refill(&one, seed);
        if (rank == victim) starve(1);
        class = attempt(&one, form);
        if (rank == victim) starve(0);
        refused[form] += class == MPI_ERR_NO_MEM;
        refused_users += class == MPI_ERR_NO_MEM && is_pairs(kind) && form == IMMEDIATE;
        refused_cold += class == MPI_ERR_NO_MEM && is_cold;
        check_starved(class, rank == victim, is_cold ? "cold" : "warm", kind, form);
        warm_up(&one, form, is_cold ? 4 : 1);
        discard(&one);
        if (is_cold) OK(MPI_Comm_free(&comm));
    }
    for (int form = BLOCKING; form <= PERSISTENT; form++) count_refusals("group", refused[form], 4);
    count_refusals("operations of users", refused_users, 1);
    count_refusals("cold communicators", refused_cold, 6);
}

/* What needs more than a group: collectives between two, and those between neighbors. */
enum wide { ACROSS_BCAST, ACROSS_ALLREDUCE, ACROSS_ALLGATHER, ACROSS_ALLTOALL, ACROSS_REDUCE_SCATTER, NEIGHBOR_ALLGATHER,
            NEIGHBOR_ALLTOALL, WIDE };

struct wide_call {
    MPI_Comm across, ring;
    MPI_Datatype gaps;
    int *send, *recv;
    int count, root, code;
};

#define WIDE_FORMS(name, immediate, ...) FORMS(form, &request, MPI_##name, MPI_I##immediate, MPI_##name##_init, __VA_ARGS__)

/* The class of the first error. */
static int attempt_wide(struct wide_call *one, enum wide kind, enum form form) {
    int *send = one->send, *recv = one->recv, count = one->count, own;
    MPI_Comm across = one->across, ring = one->ring;
    MPI_Datatype gaps = one->gaps;
    MPI_Request request = MPI_REQUEST_NULL;
    OK(MPI_Comm_size(across, &own));
    switch (kind) {
    case ACROSS_BCAST: WIDE_FORMS(Bcast, bcast, rank % 2 ? recv : send, count, gaps, one->root, across); break;
    case ACROSS_ALLREDUCE: WIDE_FORMS(Allreduce, allreduce, send, recv, count, MPI_INT, MPI_SUM, across); break;
    case ACROSS_ALLGATHER: WIDE_FORMS(Allgather, allgather, send, count, gaps, recv, count, gaps, across); break;
    case ACROSS_ALLTOALL: WIDE_FORMS(Alltoall, alltoall, send, count, gaps, recv, count, gaps, across); break;
    case ACROSS_REDUCE_SCATTER:
        WIDE_FORMS(Reduce_scatter_block, reduce_scatter_block, send, recv, count / own, MPI_INT, MPI_SUM, across);
        break;
    case NEIGHBOR_ALLGATHER: WIDE_FORMS(Neighbor_allgather, neighbor_allgather, send, count, gaps, recv, count, gaps, ring); break;
    case NEIGHBOR_ALLTOALL: WIDE_FORMS(Neighbor_alltoall, neighbor_alltoall, send, count, gaps, recv, count, gaps, ring); break;
    case WIDE: break;
    }
    if (one->code != MPI_SUCCESS || form == BLOCKING) return class_of(one->code);
    int class = form == PERSISTENT ? class_of(MPI_Start(&request)) : MPI_SUCCESS;
    if (!class) class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (form == PERSISTENT) OK(MPI_Request_free(&request));
    return class;
}

/* Element i that a rank has for another. What all get alike has no `to`. */
static int wide_element(int from, int to, int i) { return from * 1000 + to * 100 + i % 97; }

static void refill_wide(struct wide_call *one, enum wide kind) {
    size_t bytes = sizeof(int) * 2 * (size_t)size * (size_t)one->count;
    int is_sum = kind == ACROSS_ALLREDUCE || kind == ACROSS_REDUCE_SCATTER;
    int is_one_for_all = kind == ACROSS_BCAST || kind == ACROSS_ALLGATHER || kind == NEIGHBOR_ALLGATHER;
    /* Every element is -1. */
    memset(one->send, 0xff, bytes);
    memset(one->recv, 0xff, bytes);
    for (int i = 0; is_sum && i < size * one->count; i++) one->send[i] = wide_element(rank, 0, i);
    for (int to = 0; !is_sum && to < size; to++)
        for (int i = 0; i < one->count; i++)
            one->send[2 * (to * one->count + i)] = wide_element(rank, is_one_for_all ? 0 : to, i);
}

/* It went well: what has come. */
static void verify_wide(const struct wide_call *one, enum wide kind) {
    int others = rank % 2 ? (size + 1) / 2 : size / 2, own = size - others;
    int count = kind == ACROSS_REDUCE_SCATTER ? one->count / own : one->count;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < count; i++) {
        const int *recv = one->recv;
        int sum = 0, start = kind == ACROSS_REDUCE_SCATTER ? rank / 2 * count : 0;
        for (int other = 0; other < others; other++) {
            int from = 2 * other + !(rank % 2);
            sum += wide_element(from, 0, start + i);
            int got = recv[2 * (other * count + i)];
            if (kind == ACROSS_ALLGATHER) CHECK(got == wide_element(from, 0, i), "kind %d: %d", kind, got);
            if (kind == ACROSS_ALLTOALL) CHECK(got == wide_element(from, rank / 2, i), "kind %d: %d", kind, got);
        }
        if (kind == ACROSS_ALLREDUCE || kind == ACROSS_REDUCE_SCATTER) CHECK(recv[i] == sum, "kind %d: %d", kind, recv[i]);
        if (kind == ACROSS_BCAST && rank % 2) CHECK(recv[2 * i] == wide_element(0, 0, i), "kind %d: %d", kind, recv[2 * i]);
        if (kind == NEIGHBOR_ALLGATHER || kind == NEIGHBOR_ALLTOALL) {
            int is_alltoall = kind == NEIGHBOR_ALLTOALL, got[] = {recv[2 * i], recv[2 * (count + i)]};
            CHECK(got[0] == wide_element(left, is_alltoall, i) && got[1] == wide_element(right, 0, i), "kind %d", kind);
        }
    }
}

static struct wide_call make_wide(int count) {
    struct wide_call one = {.count = count};
    MPI_Comm half;
    int periodic = 1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(rank % 2), 5, &one.across));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &one.ring));
    OK(MPI_Comm_set_errhandler(one.across, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(one.ring, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&half));
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &one.gaps));
    OK(MPI_Type_commit(&one.gaps));
    one.send = malloc(sizeof(int) * 2 * (size_t)size * (size_t)count);
    one.recv = malloc(sizeof(int) * 2 * (size_t)size * (size_t)count);
    one.root = rank == 0 ? MPI_ROOT : rank % 2 ? 0 : MPI_PROC_NULL;
    return one;
}

static void discard_wide(struct wide_call *one) {
    free(one->send);
    free(one->recv);
    OK(MPI_Type_free(&one->gaps));
    OK(MPI_Comm_free(&one->across));
    OK(MPI_Comm_free(&one->ring));
}

/* The same where it takes more than a group. */
static void starved_between_groups_and_neighbors(unsigned seed) {
    unsigned state = seed;
    int refused[WIDE] = {0};
    struct wide_call one = make_wide(302400);
    for (int round = 0; round < 6 * WIDE; round++) {
        enum wide kind = (enum wide)(round / 6);
        enum form form = (enum form)(round % 3);
        int victim = (int)(next_random(&state) % (unsigned)size);
        /* Others than the root's group may need nothing. */
        if (kind == ACROSS_BCAST) victim = 0;
        refill_wide(&one, kind);
        if (rank == victim) starve(1);
        int class = attempt_wide(&one, kind, form);
        if (rank == victim) starve(0);
        refused[kind] += class == MPI_ERR_NO_MEM;
        check_starved(class, rank == victim, "wide", kind, form);
        refill_wide(&one, kind);
        CHECK(attempt_wide(&one, kind, form) == MPI_SUCCESS, "wide: kind %d form %d", kind, form);
        verify_wide(&one, kind);
    }
    for (int kind = 0; kind < WIDE; kind++) count_refusals("wide", refused[kind], 1);
    discard_wide(&one);
}

/* A rank that is refused memory says so, the others end too, and the next call is right. */
static void starved(unsigned seed) {
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 10);
    starved_in_a_group(seed);
    starved_between_groups_and_neighbors(seed);
}

/* As `killed`, where it takes more than a group; one dies. */
static void killed_between_groups_and_neighbors(unsigned seed) {
    unsigned state = seed;
    enum wide kind = (enum wide)(seed % WIDE);
    enum form form = (enum form)(next_random(&state) % 3);
    struct wide_call one = make_wide(seed % 2 ? 840 : 42000);
    long moment = 1 + (long)(next_random(&state) % 4000) * 1000;
    int victim = (int)(next_random(&state) % (unsigned)size), class = 0;
    refill_wide(&one, kind);
    /* All have their data before one dies; a rank that is still in here then may get the error. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) die_after(moment);
    for (int round = 1; !class; round++) {
        class = attempt_wide(&one, kind, form);
        if (!class && round % 20 == 0) class = class_of(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK(class == MPIX_ERR_PROC_FAILED, "kind %d form %d: class %d", kind, form, class);
    discard_wide(&one);
}

/* Rank 0 revokes a communicator while the others are in a collective on its board, to which it does not come. */
static void revoked(unsigned seed) {
    unsigned state = seed;
    for (int round = 0; round < 12; round++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        struct collective one = make(round % 2 ? BCAST : BARRIER, comm, 0, COUNTS[next_random(&state) % 4], 0, 0);
        enum form form = (enum form)(round / 2 % 3);
        warm_up(&one, form, 5);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 0) {
            usleep(next_random(&state) % 20000);
            OK(MPIX_Comm_revoke(comm));
        } else {
            int class = attempt(&one, form);
            CHECK(class == MPIX_ERR_REVOKED, "kind %d form %d: class %d", one.kind, form, class);
        }
        discard(&one);
        OK(MPI_Comm_free(&comm));
        /* The rank whose random numbers rank 0 has drawn. */
        OK(MPI_Bcast(&state, sizeof state, MPI_BYTE, 0, MPI_COMM_WORLD));
    }
}

/* In so many calls memory of the job is refused now and then (the fault plan says when): right, or an error, and no hang. */
static void denied(unsigned seed, int rounds) {
    unsigned state = seed;
    int failed = 0;
    for (int round = 0; round < rounds; round++) {
        enum form form = (enum form)(next_random(&state) % 3);
        struct collective one = some(&state, MPI_COMM_WORLD, (enum kind)(next_random(&state) % KINDS));
        for (unsigned salt = 0; salt < 2; salt++) {
            refill(&one, salt);
            int class = attempt(&one, form);
            CHECK(!class || class == MPI_ERR_NO_MEM || class == MPI_ERR_OTHER, "kind %d form %d: class %d", one.kind, form, class);
            if (!class) verify(&one);
            failed += class != MPI_SUCCESS;
        }
        discard(&one);
    }
    printf("%d failed\n", failed);
}

int main(int argc, char **argv) {
    const char *scenario = argc > 1 ? argv[1] : "";
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    /* A rank that is through may die before others are. */
    if (strcmp(scenario, "denied") != 0) (void)MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(scenario, "killed") == 0) killed(seed);
    if (strcmp(scenario, "killed_last") == 0) killed_last(seed);
    if (strcmp(scenario, "killed_wide") == 0) killed_between_groups_and_neighbors(seed);
    if (strcmp(scenario, "revoked") == 0) revoked(seed);
    if (strcmp(scenario, "stopped") == 0) stopped(seed);
    if (strcmp(scenario, "starved") == 0) starved(seed);
    if (strcmp(scenario, "denied") == 0) denied(seed, argc > 3 ? atoi(argv[3]) : 3 * KINDS);
    end();
    printf("survived\n");
    return 0;
}
