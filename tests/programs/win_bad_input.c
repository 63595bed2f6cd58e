// ranks: 1 2 3
// more ranks: 8
/* An error of a call on a window reaches the window's handler, once, by the standard's class, and no byte of anybody's is changed:
   not of the window, not beside it, not of the origin's buffers. What has no window reaches the handler of the communicator. */
#include "check.h"

enum { ELEMENTS = 64, GUARD = 512, UNCHANGED = 0x5a };

static MPI_Win win, told;
static int heard, class_heard;

static void of_window(MPI_Win *which, int *code, ...) {
    told = *which;
    heard++;
    if (MPI_Error_class(*code, &class_heard) != MPI_SUCCESS) class_heard = -1;
}

static void of_communicator(MPI_Comm *which, int *code, ...) {
    (void)which;
    heard++;
    if (MPI_Error_class(*code, &class_heard) != MPI_SUCCESS) class_heard = -1;
}

/* The call returns this class, and the handler has heard of it. */
#define HEARD(class, call)                                                                                       \
    do {                                                                                                         \
        heard = 0, class_heard = -1;                                                                             \
        FAILS(class, call);                                                                                      \
        CHECK(heard == 1 && class_heard == (class), "heard %d times, last of class %d", heard, class_heard);     \
    } while (0)
#define WRONG(class, call)                                                                                       \
    do {                                                                                                         \
        told = MPI_WIN_NULL;                                                                                     \
        HEARD(class, call);                                                                                      \
        CHECK(told == win, "the handler was given another window");                                              \
    } while (0)

static long value, other, result;
static MPI_Errhandler on_window;

static void watch(void) { OK(MPI_Win_set_errhandler(win, on_window)); }

static void reset(void) { value = 7, other = 8, result = 9; }

static void unchanged(void) { CHECK(value == 7 && other == 8 && result == 9, "%ld %ld %ld", value, other, result); }

/* Accesses of `target` that are outside its window, of which 64 elements begin at `first` in displacements of `unit` bytes, or whose
   arguments mean nothing. An epoch lets us access it. */
static void accesses(int target, MPI_Aint first, MPI_Aint unit, int is_dynamic) {
    MPI_Aint per = (MPI_Aint)sizeof(long) / unit, end = first + ELEMENTS * per;
    static long many[2 * ELEMENTS];
    MPI_Datatype apart, back, raw;
    MPI_Request request = MPI_REQUEST_NULL;
    reset();
    /* One element behind, one byte too many, one before, far away. */
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, end, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get(&result, 1, MPI_LONG, target, end, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(many, 2 * ELEMENTS, MPI_LONG, target, first, 2 * ELEMENTS, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(many, ELEMENTS + 1, MPI_LONG, target, first, ELEMENTS + 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(many, 2, MPI_LONG, target, end - per, 2, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put_c(&value, 1, MPI_LONG, target, end, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get_c(&result, 1, MPI_LONG, target, end, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Accumulate(&value, 1, MPI_LONG, target, end, 1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Accumulate(many, 2, MPI_LONG, target, end - per, 2, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Accumulate(many, 2 * ELEMENTS, MPI_LONG, target, first, 2 * ELEMENTS, MPI_LONG, MPI_REPLACE, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, target, end, 1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get_accumulate(NULL, 0, MPI_LONG, &result, 1, MPI_LONG, target, end, 1, MPI_LONG, MPI_NO_OP, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&value, &result, MPI_LONG, target, end, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(NULL, &result, MPI_LONG, target, end, MPI_NO_OP, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, target, end, win));
    if (!is_dynamic) {
        WRONG(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_LONG, target, -1, 1, MPI_LONG, win));
        WRONG(MPI_ERR_DISP, MPI_Get(&result, 1, MPI_LONG, target, -1, 1, MPI_LONG, win));
        WRONG(MPI_ERR_DISP, MPI_Accumulate(&value, 1, MPI_LONG, target, -1, 1, MPI_LONG, MPI_SUM, win));
        WRONG(MPI_ERR_DISP, MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, target, -1, 1, MPI_LONG, MPI_SUM, win));
        WRONG(MPI_ERR_DISP, MPI_Fetch_and_op(&value, &result, MPI_LONG, target, -1, MPI_SUM, win));
        WRONG(MPI_ERR_DISP, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, target, -1, win));
    } else {
        WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, first - 1, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RMA_RANGE, MPI_Get(&result, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&value, &result, MPI_LONG, target, 16, MPI_SUM, win));
    }

    /* Layouts that begin inside and end outside, in both directions. */
    OK(MPI_Type_vector(3, 1, 31, MPI_LONG, &apart));
    WRONG(MPI_ERR_TYPE, MPI_Put(many, 3, MPI_LONG, target, first, 1, apart, win));
    WRONG(MPI_ERR_TYPE, MPI_Get(many, 1, apart, target, first, 3, MPI_LONG, win));
    OK(MPI_Type_commit(&apart));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(many, 3, MPI_LONG, target, first + 2 * per, 1, apart, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get(many, 3, MPI_LONG, target, first + 2 * per, 1, apart, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Accumulate(many, 3, MPI_LONG, target, first + 2 * per, 1, apart, MPI_SUM, win));
    OK(MPI_Type_vector(3, 1, -1, MPI_LONG, &back));
    OK(MPI_Type_commit(&back));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(many, 3, MPI_LONG, target, first + per, 1, back, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get(many, 3, MPI_LONG, target, first + per, 1, back, win));
    /* More than there are addresses. */
    MPI_Count most = (MPI_Count)1 << 60;
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put_c(many, most - 1, MPI_LONG, target, first, most - 1, MPI_LONG, win));
    if (!is_dynamic) {
        WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, (MPI_Aint)1 << 59, 1, MPI_LONG, win));
        if (unit > 1) WRONG(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_LONG, target, (MPI_Aint)1 << 62, 1, MPI_LONG, win));
        else WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, PTRDIFF_MAX, 1, MPI_LONG, win));
    }

    /* Ranks, counts, types, operations. */
    const int nobody[] = {size, -77, 1 << 30, MPI_ANY_SOURCE};
    for (int i = 0; i < 4; i++) {
        WRONG(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_LONG, nobody[i], first, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RANK, MPI_Get(&result, 1, MPI_LONG, nobody[i], first, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RANK, MPI_Accumulate(&value, 1, MPI_LONG, nobody[i], first, 1, MPI_LONG, MPI_SUM, win));
        WRONG(MPI_ERR_RANK, MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, nobody[i], first, 1, MPI_LONG, MPI_SUM, win));
        WRONG(MPI_ERR_RANK, MPI_Fetch_and_op(&value, &result, MPI_LONG, nobody[i], first, MPI_SUM, win));
        WRONG(MPI_ERR_RANK, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, nobody[i], first, win));
        WRONG(MPI_ERR_RANK, MPI_Win_flush(nobody[i], win));
        WRONG(MPI_ERR_RANK, MPI_Win_flush_local(nobody[i], win));
    }
    WRONG(MPI_ERR_COUNT, MPI_Put(&value, -1, MPI_LONG, target, first, 1, MPI_LONG, win));
    WRONG(MPI_ERR_COUNT, MPI_Put(&value, 1, MPI_LONG, target, first, -1, MPI_LONG, win));
    WRONG(MPI_ERR_COUNT, MPI_Get(&result, -1, MPI_LONG, target, first, -1, MPI_LONG, win));
    WRONG(MPI_ERR_COUNT, MPI_Accumulate(&value, -1, MPI_LONG, target, first, -1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_DATATYPE_NULL, target, first, 1, MPI_LONG, win));
    WRONG(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_LONG, target, first, 1, MPI_DATATYPE_NULL, win));
    WRONG(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_LONG, target, first, 1, MPI_INT, win));
    WRONG(MPI_ERR_TYPE, MPI_Accumulate(&value, 2, MPI_INT, target, first, 1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_TYPE, MPI_Compare_and_swap(&value, &other, &result, MPI_DOUBLE, target, first, win));
    WRONG(MPI_ERR_TYPE, MPI_Fetch_and_op(&value, &result, apart, target, first, MPI_SUM, win));
    WRONG(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_LONG, target, first, 1, MPI_LONG, win));
    WRONG(MPI_ERR_BUFFER, MPI_Get(NULL, 1, MPI_LONG, target, first, 1, MPI_LONG, win));
    WRONG(MPI_ERR_BUFFER, MPI_Fetch_and_op(&value, NULL, MPI_LONG, target, first, MPI_SUM, win));
    WRONG(MPI_ERR_BUFFER, MPI_Compare_and_swap(NULL, &other, &result, MPI_LONG, target, first, win));
    OK(MPI_Type_contiguous(1, MPI_DOUBLE, &raw));
    OK(MPI_Type_commit(&raw));
    WRONG(MPI_ERR_OP, MPI_Accumulate(&value, 1, raw, target, first, 1, raw, MPI_BAND, win));
    /* What a predefined type takes no part in, its elements do not either within a derived one. */
    struct { MPI_Datatype of; int count; MPI_Op op; } apart_from[] = {
        {MPI_BYTE, 8, MPI_SUM}, {MPI_BYTE, 8, MPI_MAX}, {MPI_PACKED, 8, MPI_BOR}, {MPI_CHARACTER, 8, MPI_PROD},
        {MPI_LOGICAL, 2, MPI_SUM}, {MPI_2INT, 1, MPI_SUM}, {MPI_INT, 2, MPI_MINLOC},
    };
    for (size_t i = 0; i < sizeof apart_from / sizeof *apart_from; i++) {
        MPI_Datatype derived;
        OK(MPI_Type_contiguous(apart_from[i].count, apart_from[i].of, &derived));
        OK(MPI_Type_commit(&derived));
        WRONG(MPI_ERR_OP, MPI_Accumulate(&value, 1, derived, target, first, 1, derived, apart_from[i].op, win));
        WRONG(MPI_ERR_OP, MPI_Get_accumulate(&value, 1, derived, &result, 1, derived, target, first, 1, derived, apart_from[i].op, win));
        OK(MPI_Type_free(&derived));
    }
    WRONG(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_LONG, target, first, 1, MPI_LONG, MPI_OP_NULL, win));
    WRONG(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_LONG, target, first, 1, MPI_LONG, MPI_MINLOC, win));
    WRONG(MPI_ERR_OP, MPI_Fetch_and_op(&value, &result, MPI_DOUBLE, target, first, MPI_BAND, win));
    WRONG(MPI_ERR_OP, MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, target, first, 1, MPI_LONG, MPI_OP_NULL, win));

    /* With a request, of which there is none then. */
    WRONG(MPI_ERR_RMA_RANGE, MPI_Rput(&value, 1, MPI_LONG, target, end, 1, MPI_LONG, win, &request));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Rget(&result, 1, MPI_LONG, target, end, 1, MPI_LONG, win, &request));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Raccumulate(&value, 1, MPI_LONG, target, end, 1, MPI_LONG, MPI_SUM, win, &request));
    WRONG(MPI_ERR_RMA_RANGE,
          MPI_Rget_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, target, end, 1, MPI_LONG, MPI_SUM, win, &request));
    WRONG(MPI_ERR_RANK, MPI_Rput(&value, 1, MPI_LONG, size, first, 1, MPI_LONG, win, &request));
    CHECK(request == MPI_REQUEST_NULL, "a request of what failed");
    OK(MPI_Type_free(&apart));
    OK(MPI_Type_free(&back));
    OK(MPI_Type_free(&raw));
    unchanged();
}

/* No epoch lets us access anything. */
static void without_epoch(int target, MPI_Aint at) {
    MPI_Request request = MPI_REQUEST_NULL;
    reset();
    WRONG(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Get(&result, 1, MPI_LONG, target, at, 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Accumulate(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Fetch_and_op(&value, &result, MPI_LONG, target, at, MPI_SUM, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, target, at, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Rput(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win, &request));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Rget(&result, 1, MPI_LONG, target, at, 1, MPI_LONG, win, &request));
    CHECK(request == MPI_REQUEST_NULL, "a request of what failed");
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush(target, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(target, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock(target, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    int flag;
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
    unchanged();
}

/* Epochs of one kind inside those of another, and arguments of synchronisation that mean nothing. */
static void epochs(int target, MPI_Aint at) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group all, self, strangers;
    reset();
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &rank, &self));
    WRONG(MPI_ERR_LOCKTYPE, MPI_Win_lock(12345, target, 0, win));
    WRONG(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, target, 0, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOPUT, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_lock_all(MPI_MODE_NOSTORE, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_fence(1 << 20, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_post(self, MPI_MODE_NOSUCCEED, win));
    WRONG(MPI_ERR_ASSERT, MPI_Win_start(self, MPI_MODE_NOPUT, win));
    WRONG(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
    WRONG(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, -77, 0, win));
    WRONG(MPI_ERR_RANK, MPI_Win_unlock(size, win));
    WRONG(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, win));
    WRONG(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    if (size > 1) {
        int next = (target + 1) % size;
        WRONG(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, next, at, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush(next, win));
        WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock(next, win));
    }
    OK(MPI_Win_unlock(target, win));

    OK(MPI_Win_lock_all(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock(target, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_unlock_all(win));

    OK(MPI_Win_post(self, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_start(self, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush(rank, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Rput(&value, 1, MPI_LONG, rank, at, 1, MPI_LONG, win, &request));
    if (size > 1) WRONG(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, at, 1, MPI_LONG, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));

    /* Between fences there is no lock, and no request. */
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&result, 0, MPI_LONG, target, at, 0, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Rput(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, win, &request));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(request == MPI_REQUEST_NULL, "a request of what failed");

    /* A process that is no member of the window has no part in it. */
    if (size > 1) {
        MPI_Win whole = win;
        OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
        watch();
        int another = (rank + 1) % size;
        OK(MPI_Group_incl(all, 1, &another, &strangers));
        WRONG(MPI_ERR_GROUP, MPI_Win_post(strangers, 0, win));
        WRONG(MPI_ERR_GROUP, MPI_Win_start(strangers, 0, win));
        OK(MPI_Group_free(&strangers));
        OK(MPI_Win_free(&win));
        win = whole;
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&self));
    unchanged();
}

static void guarded(long *memory) {
    memset(memory, UNCHANGED, GUARD);
    memset((char *)memory + GUARD, UNCHANGED, ELEMENTS * sizeof(long));
    memset((char *)memory + GUARD + ELEMENTS * sizeof(long), UNCHANGED, GUARD);
}

/* Every byte from `memory` on is what it was. */
static void whole(const void *memory, size_t bytes) {
    const unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i++) CHECK(byte[i] == UNCHANGED, "byte %zu of %zu is %d", i, bytes, byte[i]);
}

/* Memory of the window's own: its neighbours in the job's memory are other windows, of which nothing may change either. */
static void of_ours(int is_shared, const char *apart) {
    enum { BESIDE = 3 };
    MPI_Win wins[BESIDE];
    char *memory[BESIDE];
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", apart));
    for (int i = 0; i < BESIDE; i++) {
        MPI_Aint bytes = ELEMENTS * sizeof(long);
        if (is_shared) OK(MPI_Win_allocate_shared(bytes, sizeof(long), info, MPI_COMM_WORLD, &memory[i], &wins[i]));
        else OK(MPI_Win_allocate(bytes, sizeof(long), info, MPI_COMM_WORLD, &memory[i], &wins[i]));
        memset(memory[i], UNCHANGED, (size_t)bytes);
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    win = wins[1];
    watch();
    for (int target = 0; target < size; target++) {
        without_epoch(target, 0);
        epochs(target, 0);
        OK(MPI_Win_lock_all(0, win));
        accesses(target, 0, sizeof(long), 0);
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_fence(0, win));
        WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, ELEMENTS, 1, MPI_LONG, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    }
    WRONG(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory[1], 8));
    WRONG(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(win, memory[1]));
    MPI_Aint bytes;
    int unit;
    void *base;
    WRONG(MPI_ERR_RANK, MPI_Win_shared_query(win, size, &bytes, &unit, &base));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < BESIDE; i++) {
        whole(memory[i], ELEMENTS * sizeof(long));
        OK(MPI_Win_free(&wins[i]));
    }
}

/* Memory of the user's, between other memory of the user's. */
static void of_users(int unit) {
    long *memory = malloc(2 * GUARD + ELEMENTS * sizeof(long));
    guarded(memory);
    OK(MPI_Win_create((char *)memory + GUARD, ELEMENTS * sizeof(long), unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    watch();
    for (int target = 0; target < size; target++) {
        without_epoch(target, 0);
        epochs(target, 0);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        accesses(target, 0, unit, 0);
        OK(MPI_Win_unlock(target, win));
    }
    OK(MPI_Win_free(&win));
    whole(memory, 2 * GUARD + ELEMENTS * sizeof(long));
    free(memory);
}

/* A window of no bytes has no place for one. */
static void of_nothing(void) {
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    watch();
    reset();
    OK(MPI_Win_lock_all(0, win));
    for (int target = 0; target < size; target++) {
        WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        WRONG(MPI_ERR_RMA_RANGE, MPI_Get(&result, 1, MPI_CHAR, target, 0, 1, MPI_CHAR, win));
        WRONG(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&value, &result, MPI_LONG, target, 0, MPI_SUM, win));
        OK(MPI_Put(&value, 0, MPI_LONG, target, 0, 0, MPI_LONG, win));
    }
    OK(MPI_Win_unlock_all(win));
    unchanged();
    OK(MPI_Win_free(&win));
}

/* Memory that comes and goes. */
static void of_dynamic(void) {
    long *memory = malloc(2 * GUARD + ELEMENTS * sizeof(long)), *inside = memory + GUARD / sizeof(long);
    guarded(memory);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    watch();
    MPI_Aint own, there[size];
    OK(MPI_Get_address(inside, &own));
    OK(MPI_Allgather(&own, 1, MPI_AINT, there, 1, MPI_AINT, MPI_COMM_WORLD));
    int next = (rank + 1) % size;
    reset();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, next, there[next], 1, MPI_LONG, win));
    OK(MPI_Win_unlock(next, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_attach(win, inside, ELEMENTS * sizeof(long)));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, inside + 4, 8));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, inside - 1, 16));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, NULL, 16));
    WRONG(MPI_ERR_SIZE, MPI_Win_attach(win, memory, -1));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, inside + 4));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory));
    MPI_Aint bytes;
    int unit;
    void *base;
    WRONG(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int target = 0; target < size; target++) {
        without_epoch(target, there[target]);
        epochs(target, there[target]);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        accesses(target, there[target], 1, 1);
        OK(MPI_Win_unlock(target, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_detach(win, inside));
    WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, inside));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    reset();
    WRONG(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, next, there[next], 1, MPI_LONG, win));
    WRONG(MPI_ERR_RMA_RANGE, MPI_Get(&result, 1, MPI_LONG, next, there[next], 1, MPI_LONG, win));
    unchanged();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    whole(memory, 2 * GUARD + ELEMENTS * sizeof(long));
    free(memory);
}

/* Handlers, attributes, names, hints, and what is no window. */
static void objects(void) {
    char text[MPI_MAX_INFO_VAL];
    void *word;
    int flag;
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    watch();
    WRONG(MPI_ERR_ERRHANDLER, MPI_Win_set_errhandler(win, MPI_ERRHANDLER_NULL));
    WRONG(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, NULL));
    WRONG(MPI_ERR_KEYVAL, MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, &word, &flag));
    WRONG(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_WIN_SIZE, NULL));
    WRONG(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, MPI_WIN_BASE));
    WRONG(MPI_ERR_INFO, MPI_Win_set_info(win, (MPI_Info)(uintptr_t)0x7001));
    MPI_Win gone = win;
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL, "the handle stays");
    MPI_Win none[] = {gone, MPI_WIN_NULL};
    for (int i = 0; i < 2; i++) {
        MPI_Win bad = none[i];
        HEARD(MPI_ERR_WIN, MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, bad));
        HEARD(MPI_ERR_WIN, MPI_Get(&result, 1, MPI_LONG, 0, 0, 1, MPI_LONG, bad));
        HEARD(MPI_ERR_WIN, MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, bad));
        HEARD(MPI_ERR_WIN, MPI_Fetch_and_op(&value, &result, MPI_LONG, 0, 0, MPI_SUM, bad));
        HEARD(MPI_ERR_WIN, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, 0, 0, bad));
        HEARD(MPI_ERR_WIN, MPI_Win_fence(0, bad));
        HEARD(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, bad));
        HEARD(MPI_ERR_WIN, MPI_Win_unlock_all(bad));
        HEARD(MPI_ERR_WIN, MPI_Win_flush_all(bad));
        HEARD(MPI_ERR_WIN, MPI_Win_sync(bad));
        HEARD(MPI_ERR_WIN, MPI_Win_complete(bad));
        HEARD(MPI_ERR_WIN, MPI_Win_attach(bad, &value, 8));
        HEARD(MPI_ERR_WIN, MPI_Win_set_name(bad, "name"));
        HEARD(MPI_ERR_WIN, MPI_Win_call_errhandler(bad, MPI_ERR_OTHER));
        HEARD(MPI_ERR_WIN, MPI_Win_free(&bad));
    }
    HEARD(MPI_ERR_WIN, MPI_Win_get_name(gone, text, &flag));
}

/* What one rank brings is wrong or cannot be had: the call fails at all, and what can be had afterwards is not less. */
static void collective(void) {
    static long memory[8];
    int wrong = rank == size - 1;
    long *base;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    for (int round = 0; round < 3; round++) {
        MPI_Aint much = (MPI_Aint)1 << (round == 0 ? 60 : 46 + round);
        HEARD(MPI_ERR_SIZE, MPI_Win_create(memory, wrong ? -1 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        HEARD(MPI_ERR_DISP, MPI_Win_create(memory, 0, wrong ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        HEARD(MPI_ERR_DISP, MPI_Win_create(memory, 0, wrong ? -8 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        HEARD(MPI_ERR_BASE, MPI_Win_create(wrong ? NULL : memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        HEARD(MPI_ERR_SIZE, MPI_Win_allocate(wrong ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        HEARD(MPI_ERR_DISP, MPI_Win_allocate(8, wrong ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        HEARD(MPI_ERR_NO_MEM, MPI_Win_allocate(wrong ? much : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wrong ? "24" : "64"));
        HEARD(MPI_ERR_INFO_VALUE, MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win));
        OK(MPI_Info_delete(info, "mpi_minimum_memory_alignment"));
        int together = on_one_node();
        for (int apart = 0; apart < 2; apart++) {
            OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
            HEARD(together ? MPI_ERR_NO_MEM : MPI_ERR_RMA_SHARED,
                  MPI_Win_allocate_shared(wrong ? much : 8, 1, info, MPI_COMM_WORLD, &base, &win));
            HEARD(together ? MPI_ERR_SIZE : MPI_ERR_RMA_SHARED,
                  MPI_Win_allocate_shared(wrong ? -1 : 8, 1, info, MPI_COMM_WORLD, &base, &win));
        }
        OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Info_free(&info));
    HEARD(MPI_ERR_COMM, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    HEARD(MPI_ERR_INFO, MPI_Win_create(memory, 8, 1, (MPI_Info)(uintptr_t)0x7001, MPI_COMM_WORLD, &win));
    HEARD(MPI_ERR_INFO, MPI_Win_create_dynamic((MPI_Info)(uintptr_t)0x7001, MPI_COMM_WORLD, &win));
    if (size > 1) {
        MPI_Comm half, both;
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both));
        MPI_Errhandler own;
        OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &own));
        OK(MPI_Comm_set_errhandler(both, own));
        OK(MPI_Errhandler_free(&own));
        HEARD(MPI_ERR_COMM, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, both, &win));
        HEARD(MPI_ERR_COMM, MPI_Win_allocate(8, 1, MPI_INFO_NULL, both, &base, &win));
        HEARD(MPI_ERR_COMM, MPI_Win_create_dynamic(MPI_INFO_NULL, both, &win));
        OK(MPI_Comm_free(&both));
        OK(MPI_Comm_free(&half));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Errhandler on_communicator;
    OK(MPI_Win_create_errhandler(of_window, &on_window));
    OK(MPI_Comm_create_errhandler(of_communicator, &on_communicator));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, on_communicator));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, on_communicator));
    of_users(sizeof(long));
    of_users(1);
    of_ours(0, "false");
    if (on_one_node()) {
        of_ours(1, "false");
        of_ours(1, "true");
    }
    of_nothing();
    of_dynamic();
    objects();
    collective();
    OK(MPI_Errhandler_free(&on_window));
    OK(MPI_Errhandler_free(&on_communicator));
    end();
    return 0;
}
