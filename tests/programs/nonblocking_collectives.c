// ranks: 1 2 3 4
// more ranks: 8
/* Non-blocking collectives: all of them, many at a time on several communicators, mixed with blocking ones. */
#include "any_collective.h"

enum { COMMS = 4, MOST = 24 };

static MPI_Comm comms[COMMS];

static void mix(unsigned seed) {
    struct collective all[MOST];
    MPI_Request requests[MOST];
    unsigned same = seed, own = seed * 31 + (unsigned)rank;
    int many = 1 + (int)(next_random(&same) % MOST), pending = 0;
    for (int i = 0; i < many; i++) {
        all[i] = any(&same, comms[next_random(&same) % COMMS]);
        refill(&all[i], seed * 64 + (unsigned)i);
        if (next_random(&same) % 5 == 0) {
            call(&all[i], BLOCKING);
        } else {
            call(&all[i], IMMEDIATE);
            requests[pending++] = all[i].request;
        }
    }
    complete(requests, pending, &own);
    for (int i = 0; i < pending; i++) CHECK(requests[i] == MPI_REQUEST_NULL, "%d", i);
    for (int i = 0; i < many; i++) {
        verify(&all[i]);
        discard(&all[i]);
    }
}

/* The first rank waits for a message that is sent after the collective, which needs the first rank. */
static void other_calls_make_progress(enum kind kind) {
    struct collective one = make(kind, MPI_COMM_WORLD, 0, 1500, 0, 0);
    int token = 0;
    refill(&one, 5);
    call(&one, IMMEDIATE);
    if (rank == 0) {
        for (int other = 1; other < size; other++) OK(MPI_Recv(&token, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
        OK(MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
    }
    verify(&one);
    discard(&one);
}

/* A communicator that is freed lives as long as its collectives. */
static void freed_communicators(void) {
    struct collective all[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        all[kind] = make((enum kind)kind, comm, 1, 200, 0, 1);
        refill(&all[kind], (unsigned)kind);
        call(&all[kind], IMMEDIATE);
        OK(MPI_Comm_free(&comm));
    }
    for (int kind = KINDS - 1; kind >= 0; kind--) {
        OK(MPI_Wait(&all[kind].request, MPI_STATUS_IGNORE));
        verify(&all[kind]);
        discard(&all[kind]);
    }
}

static void errors(void) {
    int value = 0, token = 0, flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, size, comm, &request));
    FAILS(MPI_ERR_COUNT, MPI_Ibcast(&value, -1, MPI_INT, 0, comm, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Iallreduce(&value, &value, 1, MPI_INT, MPI_SUM, comm, &request));
    FAILS(MPI_ERR_OP, MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_FLOAT, MPI_BAND, comm, &request));
    FAILS(MPI_ERR_TYPE, MPI_Igather(&value, 1, MPI_DATATYPE_NULL, &value, 1, MPI_INT, 0, comm, &request));
    /* While the others are not there, it is active. */
    if (rank == 0) {
        OK(MPI_Ibarrier(comm, &request));
        if (size > 1) {
            FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
            MPI_Request copy = request;
            FAILS(MPI_ERR_REQUEST, MPI_Request_free(&copy));
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a barrier without the others");
        }
        for (int other = 1; other < size; other++) OK(MPI_Send(&token, 1, MPI_INT, other, 4, comm));
    } else {
        OK(MPI_Recv(&token, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(comm, &request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

static int copies;

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

/* Message spaces of communicators made at the same time are apart. */
static void duplicates(MPI_Comm comm) {
    enum { MANY = 6 };
    MPI_Comm new[MANY], between;
    MPI_Request requests[MANY];
    int key, flag, result, mine, size_here, values[MANY], right, left;
    void *value;
    OK(MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &copies));
    copies = 0;
    for (int i = 0; i < MANY; i++) {
        if (i % 2) OK(MPI_Comm_idup(comm, &new[i], &requests[i]));
        else OK(MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &new[i], &requests[i]));
        /* Needs no communication, so it may be done now. */
        OK(MPI_Comm_set_errhandler(new[i], MPI_ERRORS_RETURN));
        if (i == 2) OK(MPI_Comm_dup(comms[1], &between));
    }
    CHECK(copies == MANY, "%d", copies);
    OK(MPI_Comm_delete_attr(comm, key));
    unsigned own = (unsigned)rank;
    complete(requests, MANY, &own);
    OK(MPI_Comm_rank(comm, &mine));
    OK(MPI_Comm_size(comm, &size_here));
    OK(MPI_Comm_test_inter(comm, &flag));
    right = (mine + 1) % size_here, left = (mine + size_here - 1) % size_here;
    if (flag) right = left = 0;
    if (!flag || mine == 0) {
        for (int i = 0; i < MANY; i++) {
            values[i] = i;
            OK(MPI_Isend(&values[i], 1, MPI_INT, right, 0, new[i], &requests[i]));
        }
        for (int i = MANY - 1; i >= 0; i--) {
            int got = -1;
            OK(MPI_Recv(&got, 1, MPI_INT, left, 0, new[i], MPI_STATUS_IGNORE));
            CHECK(got == i, "%d instead of %d", got, i);
        }
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Comm_compare(comm, new[i], &result));
        CHECK(result == MPI_CONGRUENT, "%d", result);
        OK(MPI_Comm_get_attr(new[i], key, &value, &flag));
        CHECK(flag && value == &copies, "the attribute");
        OK(MPI_Comm_free(&new[i]));
    }
    OK(MPI_Barrier(between));
    OK(MPI_Comm_free(&between));
    OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]));
    for (int kind = 0; kind < KINDS; kind++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            for (int strided = 0; strided < 2; strided++) {
                struct collective one = make((enum kind)kind, comms[0], 2, 700, in_place, strided);
                refill(&one, 1);
                call(&one, IMMEDIATE);
                OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
                verify(&one);
                discard(&one);
            }
        }
    }
    for (unsigned seed = 1; seed <= 60; seed++) mix(seed);
    other_calls_make_progress(ALLREDUCE);
    other_calls_make_progress(ALLREDUCE_USER);
    other_calls_make_progress(BARRIER);
    freed_communicators();
    errors();
    duplicates(MPI_COMM_WORLD);
    duplicates(comms[3]);
    if (size > 1) {
        MPI_Comm inter;
        OK(MPI_Intercomm_create(comms[3], 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter));
        duplicates(inter);
        OK(MPI_Comm_free(&inter));
    }
    for (int i = 1; i < COMMS; i++) OK(MPI_Comm_free(&comms[i]));
    end();
    return 0;
}
