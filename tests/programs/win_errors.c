// ranks: 1 2 3
/* An error of a call on a window is reported by class, to the window's error handler, and touches nothing. */
#include "check.h"

static int heard;
static MPI_Win told;

static void handler(MPI_Win *win, int *code, ...) {
    (void)code;
    told = *win;
    heard++;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long *memory, value = 7, other = 8, result = 9;
    MPI_Win win, bad;
    OK(MPI_Win_allocate(64 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < 64; i++) memory[i] = i;
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* Without an epoch. */
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(12345, 0, 0, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 20, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    if (size > 1) FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(rank, win));

    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, 0, 64, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, 0, (MPI_Aint)1 << 59, 1, MPI_LONG, win));
    FAILS(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_LONG, 0, (MPI_Aint)1 << 62, 1, MPI_LONG, win));
    FAILS(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_LONG, 0, -1, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_LONG, size, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RANK, MPI_Get(&value, 1, MPI_LONG, -77, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&value, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_MINLOC, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(&value, 2, MPI_INT, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate(&value, 1, MPI_LONG, 0, 64, 1, MPI_LONG, MPI_SUM, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&value, &result, MPI_LONG, 0, 100, MPI_SUM, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(&value, &other, &result, MPI_LONG, 0, 64, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&value, &other, &result, MPI_DOUBLE, 0, 0, win));
    MPI_Datatype vector;
    OK(MPI_Type_vector(3, 1, 31, MPI_LONG, &vector));
    FAILS(MPI_ERR_TYPE, MPI_Put(memory, 3, MPI_LONG, 0, 0, 1, vector, win));
    OK(MPI_Type_commit(&vector));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(memory, 3, MPI_LONG, 0, 2, 1, vector, win));
    OK(MPI_Type_free(&vector));
    /* Nobody is an honest target. */
    OK(MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(MPI_PROC_NULL, win));
    OK(MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory, 8));

    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 64; i++) CHECK(memory[i] == i, "element %d: %ld", i, memory[i]);
    CHECK(result == 9, "%ld", result);

    /* A handler of the user's hears of it, with the window. */
    MPI_Errhandler errhandler, found;
    OK(MPI_Win_create_errhandler(handler, &errhandler));
    OK(MPI_Win_set_errhandler(win, errhandler));
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == errhandler, "the same");
    OK(MPI_Errhandler_free(&found));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    CHECK(heard == 1 && told == win, "%d", heard);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    CHECK(heard == 2, "%d", heard);
    OK(MPI_Errhandler_free(&errhandler));
    bad = win;
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, bad));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));

    /* A mistake on one rank is an error on all. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int wrong = rank == size - 1;
    FAILS(MPI_ERR_SIZE, MPI_Win_create(memory, wrong ? -1 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 0, wrong ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_SIZE, MPI_Win_allocate(wrong ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    FAILS(MPI_ERR_NO_MEM, MPI_Win_allocate(wrong ? (MPI_Aint)1 << 60 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    FAILS(on_one_node() ? MPI_ERR_NO_MEM : MPI_ERR_RMA_SHARED,
          MPI_Win_allocate_shared(wrong ? (MPI_Aint)1 << 60 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    static long attached[8];
    OK(MPI_Win_attach(win, attached, sizeof attached));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, attached + 4, 8));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, attached + 4));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    MPI_Aint address;
    OK(MPI_Get_address(attached, &address));
    OK(MPI_Put(&value, 1, MPI_LONG, rank, address, 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, rank, address + 8 * 8, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_detach(win, attached));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, rank, address, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_free(&win));
    end();
    return 0;
}
