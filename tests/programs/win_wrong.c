/* win_wrong CASE: run by `checking` with ISTHMUS_CHECK=1 on two ranks. A mistake with a window is found, and nothing else. */
#include "check.h"

#include <sched.h>

static int *memory;
static MPI_Win win;

/* The call fails with this class. */
static void wrong(int class, int code) {
    int found = MPI_SUCCESS;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &found));
    CHECK(found == class, "class %d, not %d", found, class);
}

static void right(int code) { CHECK(code == MPI_SUCCESS, "code %d", code); }

/* One after the other, in the order of ranks. */
static void in_turn(int turn) {
    for (int i = 0; i < turn; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
}

static int put(int first, int count, int target) {
    static int data[64];
    return MPI_Put(data, count, MPI_INT, target, first, count, MPI_INT, win);
}

/* Each into a place of its own. */
static int get(int first, int count, int target) {
    static int data[32][64], calls;
    return MPI_Get(data[calls++ % 32], count, MPI_INT, target, first, count, MPI_INT, win);
}

static int add(int first, int count, int target) {
    static int data[64];
    return MPI_Accumulate(data, count, MPI_INT, target, first, count, MPI_INT, MPI_SUM, win);
}

static void between_fences(void) {
    OK(MPI_Win_fence(0, win));
    if (rank == 0) right(put(0, 8, 0));
    in_turn(1);
    if (rank == 1) {
        wrong(MPI_ERR_RMA_CONFLICT, put(4, 8, 0));
        wrong(MPI_ERR_RMA_CONFLICT, get(7, 1, 0));
        wrong(MPI_ERR_RMA_CONFLICT, add(0, 64, 0));
        right(put(8, 8, 0));
        right(add(16, 8, 0));
        right(add(16, 8, 0));
        right(put(32, 4, 0));
        right(put(32, 4, 0));
        wrong(MPI_ERR_RMA_CONFLICT, get(32, 1, 0));
    }
    in_turn(1);
    if (rank == 0) right(add(16, 8, 0)), right(get(24, 8, 0));
    OK(MPI_Win_fence(0, win));
    if (rank == 1) right(put(4, 8, 0));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Every second one of each rank. */
static void columns(void) {
    MPI_Datatype type;
    int data[8] = {0};
    OK(MPI_Type_vector(8, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Win_fence(0, win));
    right(MPI_Put(data, 8, MPI_INT, 0, rank, 1, type, win));
    in_turn(1);
    if (rank == 1) wrong(MPI_ERR_RMA_CONFLICT, MPI_Put(data, 8, MPI_INT, 0, 2, 1, type, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Type_free(&type));
}

static void under_locks(void) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    if (rank == 0) right(put(0, 4, 1));
    in_turn(1);
    if (rank == 1) wrong(MPI_ERR_RMA_CONFLICT, put(0, 4, 1));
    in_turn(1);
    if (rank == 0) OK(MPI_Win_flush(1, win));
    in_turn(1);
    if (rank == 1) right(put(0, 4, 1));
    OK(MPI_Win_unlock(1, win));
    in_turn(1);
    OK(MPI_Win_lock_all(0, win));
    if (rank == 0) right(get(0, 4, 1));
    OK(MPI_Win_unlock_all(win));
}

/* What a request has read may be written when the request is complete; what it has put may not (MPI-5.0, examples of section 12.3.5). */
static void by_request(void) {
    int data[4] = {0};
    MPI_Request request;
    OK(MPI_Win_lock_all(0, win));
    if (rank == 0) {
        right(MPI_Rget(data, 4, MPI_INT, 1, 0, 4, MPI_INT, win, &request));
        wrong(MPI_ERR_RMA_CONFLICT, put(0, 4, 1));
        wrong(MPI_ERR_BUFFER, MPI_Put(data, 1, MPI_INT, 1, 8, 1, MPI_INT, win));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        right(MPI_Rput(data, 4, MPI_INT, 1, 0, 4, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        wrong(MPI_ERR_RMA_CONFLICT, MPI_Rget(data, 4, MPI_INT, 1, 0, 4, MPI_INT, win, &request));
        data[0]++;
        right(MPI_Rput(data, 4, MPI_INT, 1, 16, 4, MPI_INT, win, &request));
        data[3]++;
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        wrong(MPI_ERR_BUFFER, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL, "it is complete");
    }
    OK(MPI_Win_unlock_all(win));
    in_turn(1);
}

/* Buffers at the origin are left alone until the operation is complete, and hold elements as the target does. */
static void at_the_origin(void) {
    static int data[8], more[8];
    static float real[8];
    int other = 1 - rank;
    MPI_Request request;
    MPI_Group all, peers;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    right(MPI_Put(data, 4, MPI_INT, other, 0, 4, MPI_INT, win));
    right(MPI_Put(data, 4, MPI_INT, other, 4, 4, MPI_INT, win));
    wrong(MPI_ERR_BUFFER, MPI_Get(data + 3, 2, MPI_INT, other, 8, 2, MPI_INT, win));
    wrong(MPI_ERR_BUFFER, MPI_Irecv(data, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request));
    right(MPI_Get(more, 4, MPI_INT, other, 10, 4, MPI_INT, win));
    wrong(MPI_ERR_BUFFER, MPI_Get(more, 1, MPI_INT, other, 20, 1, MPI_INT, win));
    wrong(MPI_ERR_TYPE, MPI_Put(real, 4, MPI_FLOAT, other, 30, 4, MPI_INT, win));
    wrong(MPI_ERR_TYPE, MPI_Get(real, 1, MPI_FLOAT, other, 40, 4, MPI_CHAR, win));
    data[2]++;
    wrong(MPI_ERR_BUFFER, MPI_Win_fence(0, win));
    right(MPI_Get(more, 4, MPI_INT, other, 10, 4, MPI_INT, win));
    more[0]++;
    wrong(MPI_ERR_BUFFER, MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    /* A flush of the target ends it, of another one does not. */
    OK(MPI_Win_lock_all(0, win));
    right(MPI_Put(data, 1, MPI_INT, other, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_local(other, win));
    data[0]++;
    right(MPI_Put(data, 1, MPI_INT, other, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_local(rank, win));
    data[0]++;
    wrong(MPI_ERR_BUFFER, MPI_Win_flush(other, win));
    /* A flush ends an operation with a request, too. */
    right(MPI_Rput(data, 1, MPI_INT, other, 60, 1, MPI_INT, win, &request));
    OK(MPI_Win_flush(other, win));
    data[0]++;
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* The compare buffer may be the result buffer. */
    int next = 1;
    right(MPI_Compare_and_swap(&next, more + 7, more + 7, MPI_INT, other, 62, win));
    OK(MPI_Win_flush(other, win));
    int sum = 0, one = 1;
    right(MPI_Fetch_and_op(&one, &sum, MPI_INT, other, 50, MPI_SUM, win));
    wrong(MPI_ERR_BUFFER, MPI_Fetch_and_op(&one, &sum, MPI_INT, other, 51, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &other, &peers));
    OK(MPI_Win_post(peers, 0, win));
    OK(MPI_Win_start(peers, 0, win));
    right(MPI_Accumulate(data, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_SUM, win));
    data[0]++;
    wrong(MPI_ERR_BUFFER, MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&peers));
}

/* Two reads are no conflict, accumulates of different types are one. */
static void what_is_done(void) {
    int data = 0, more = 0;
    unsigned other = 0, another = 0;
    OK(MPI_Win_fence(0, win));
    if (rank == 0) right(get(0, 2, 0)), right(MPI_Fetch_and_op(NULL, &data, MPI_INT, 0, 1, MPI_NO_OP, win)), right(add(8, 4, 0));
    in_turn(1);
    if (rank == 1) {
        right(MPI_Fetch_and_op(NULL, &data, MPI_INT, 0, 0, MPI_NO_OP, win));
        right(get(1, 1, 0));
        wrong(MPI_ERR_RMA_CONFLICT, add(1, 1, 0));
        right(MPI_Fetch_and_op(NULL, &more, MPI_INT, 0, 8, MPI_NO_OP, win));
        wrong(MPI_ERR_RMA_CONFLICT, MPI_Accumulate(&other, 1, MPI_UNSIGNED, 0, 9, 1, MPI_UNSIGNED, MPI_SUM, win));
        wrong(MPI_ERR_RMA_CONFLICT, MPI_Fetch_and_op(NULL, &another, MPI_UNSIGNED, 0, 9, MPI_NO_OP, win));
    }
    in_turn(1);
    OK(MPI_Win_fence(0, win));
}

static void between_posts(void) {
    MPI_Group all, other;
    int peer = 1 - rank;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &peer, &other));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Win_post(other, 0, win));
        OK(MPI_Win_start(other, 0, win));
        right(put(i, 4, peer));
        wrong(MPI_ERR_RMA_CONFLICT, add(i, 1, peer));
        wrong(MPI_ERR_RMA_SYNC, put(0, 1, rank));
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&other));
}

static void outside(void) {
    wrong(MPI_ERR_RMA_SYNC, put(0, 1, 0));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win));
    wrong(MPI_ERR_RMA_SYNC, put(0, 1, rank));
    wrong(MPI_ERR_RMA_RANGE, put(60, 5, 1 - rank));
    wrong(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_unlock(1 - rank, win));
}

static void fences(void) {
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    wrong(MPI_ERR_RMA_SYNC, MPI_Win_fence(rank == 0 ? MPI_MODE_NOSUCCEED : 0, win));
    OK(MPI_Win_fence(0, win));
    MPI_Win old = win;
    wrong(MPI_ERR_RMA_SYNC, rank == 0 ? MPI_Win_fence(0, win) : MPI_Win_free(&old));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "fatal") == 0) {
        OK(MPI_Win_fence(0, win));
        if (rank == 0) right(put(0, 4, 1));
        in_turn(1);
        if (rank == 1) put(2, 8, 1);
        for (;;) sched_yield();
    }
    if (strncmp(what, "far", 3) == 0) {
        OK(MPI_Win_lock_all(0, win));
        if (rank == 1) what[3] ? add(60, 5, 0) : put(60, 5, 0);
        for (;;) sched_yield();
    }
    if (strcmp(what, "kept") == 0) {
        OK(MPI_Win_lock_all(0, win));
        return MPI_Finalize();
    }
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    between_fences();
    columns();
    under_locks();
    by_request();
    at_the_origin();
    what_is_done();
    between_posts();
    outside();
    fences();
    OK(MPI_Win_free(&win));
    end();
    return 0;
}
