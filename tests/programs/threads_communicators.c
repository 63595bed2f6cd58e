// ranks: 1 2 4
/* Eight threads make, use and free communicators at the same time, each from one of its own, with attributes and error
 * handlers whose callbacks call MPI again. */
#include "threads.h"

enum { ROUNDS = 6 };

static MPI_Comm own[THREADS];
static int keyval;
static int copies, deletes, failures;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag) {
    int members, index = key;
    (void)extra;
    OK(MPI_Comm_size(comm, &members));
    CHECK(members >= 1 && index == keyval, "%d members", members);
    *(void **)out = (char *)value + 1;
    *flag = 1;
    __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra) {
    int me, other = -1;
    (void)key, (void)value, (void)extra;
    /* A message to oneself, within a callback. */
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, me, 77, &other, 1, MPI_INT, me, 77, comm, MPI_STATUS_IGNORE));
    CHECK(other == me, "%d", other);
    __atomic_fetch_add(&deletes, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...) {
    int class, members;
    OK(MPI_Error_class(*code, &class));
    OK(MPI_Comm_size(*comm, &members));
    CHECK(class == MPI_ERR_RANK, "class %d", class);
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

/* Nobody else's messages come through. */
static void use(MPI_Comm comm, int mark) {
    int me, members, value = -1, sum = 0;
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &members));
    int sent = mark * 100 + me;
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, (me + 1) % members, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                    MPI_STATUS_IGNORE));
    CHECK(value == mark * 100 + (me + members - 1) % members, "%d instead of a message of %d", value, mark);
    OK(MPI_Allreduce(&mark, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == mark * members, "%d", sum);
}

static void *work(void *argument) {
    int thread = (int)(size_t)argument;
    MPI_Comm comm = own[thread];
    for (int round = 0; round < ROUNDS; round++) {
        int mark = thread * 10 + round + 1, flag;
        MPI_Comm one, two, three, four, five;
        MPI_Request request;
        MPI_Group group;
        MPI_Errhandler handler;
        void *value;
        OK(MPI_Comm_set_attr(comm, keyval, (void *)(size_t)mark));
        OK(MPI_Comm_idup(comm, &three, &request));
        OK(MPI_Comm_dup(comm, &one));
        OK(MPI_Comm_get_attr(one, keyval, &value, &flag));
        CHECK(flag && value == (void *)(size_t)(mark + 1), "%p", value);
        OK(MPI_Comm_split(comm, rank % 2, -rank, &two));
        OK(MPI_Comm_group(comm, &group));
        /* On one communicator, told apart by tags. */
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, thread, &four));
        OK(MPI_Comm_create(comm, group, &five));
        OK(MPI_Group_free(&group));
        use(one, mark);
        use(two, mark);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        use(three, mark);
        use(four, mark);
        use(five, mark);
        OK(MPI_Comm_create_errhandler(on_error, &handler));
        OK(MPI_Comm_set_errhandler(two, handler));
        OK(MPI_Errhandler_free(&handler));
        FAILS(MPI_ERR_RANK, MPI_Send(&mark, 1, MPI_INT, size, 0, two));
        OK(MPI_Comm_free(&one));
        OK(MPI_Comm_free(&two));
        OK(MPI_Comm_free(&three));
        OK(MPI_Comm_free(&four));
        OK(MPI_Comm_free(&five));
        OK(MPI_Comm_delete_attr(comm, keyval));
    }
    return NULL;
}

/* Sides of an intercommunicator, made by several threads at a time. */
static void *connect(void *argument) {
    int thread = (int)(size_t)argument, value = -1, side = rank % 2;
    MPI_Comm half, inter, merged;
    OK(MPI_Comm_split(own[thread], side, rank, &half));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Intercomm_create(half, 0, own[thread], 1 - side, 50 + thread, &inter));
        int me, theirs;
        OK(MPI_Comm_rank(inter, &me));
        OK(MPI_Comm_remote_size(inter, &theirs));
        int peer = me % theirs, sent = rank * 100 + thread;
        OK(MPI_Sendrecv(&sent, 1, MPI_INT, peer, 3, &value, 1, MPI_INT, peer, 3, inter, MPI_STATUS_IGNORE));
        CHECK(value % 100 == thread && value / 100 % 2 != side, "%d", value);
        OK(MPI_Intercomm_merge(inter, side, &merged));
        use(merged, thread);
        OK(MPI_Comm_free(&merged));
        OK(MPI_Comm_free(&inter));
    }
    OK(MPI_Comm_free(&half));
    return NULL;
}

int main(int argc, char **argv) {
    begin_threads(&argc, &argv);
    OK(MPI_Comm_create_keyval(copy, drop, &keyval, NULL));
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
    run_threads(THREADS, work);
    if (size % 2 == 0) run_threads(THREADS / 2, connect);
    CHECK(copies == 2 * THREADS * ROUNDS, "%d copies", copies);
    CHECK(deletes == 3 * THREADS * ROUNDS, "%d deletes", deletes);
    CHECK(failures == THREADS * ROUNDS, "%d failures", failures);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&own[i]));
    OK(MPI_Comm_free_keyval(&keyval));
    end();
    return 0;
}
