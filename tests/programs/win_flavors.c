// ranks: 1 2 3 5 8
/* Windows of every kind, under every kind of synchronisation: what is put, got and accumulated is there. */
#include "check.h"

enum { CREATE, ALLOCATE, SHARED, APART, DYNAMIC, ORDINARY, FLAVORS };
static const char *const names[] = {"create", "allocate", "shared", "shared apart", "dynamic", "create, ordinary memory"};
enum { COUNT = 4096 };

static long *memory, *own;
static MPI_Aint addresses[64];
static MPI_Win win;

static void make(int flavor) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Aint bytes = COUNT * (MPI_Aint)sizeof(long);
    own = NULL;
    if (flavor == CREATE) {
        OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &own));
        memory = own;
        OK(MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else if (flavor == ORDINARY) {
        memory = malloc(bytes);
        OK(MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else if (flavor == ALLOCATE) {
        OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    } else if (flavor == DYNAMIC) {
        memory = malloc(bytes);
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        OK(MPI_Win_attach(win, memory, bytes));
        MPI_Aint address;
        OK(MPI_Get_address(memory, &address));
        OK(MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    } else {
        if (flavor == APART) {
            OK(MPI_Info_create(&info));
            OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
        }
        OK(MPI_Win_allocate_shared(bytes, sizeof(long), info, MPI_COMM_WORLD, &memory, &win));
        if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
    }
}

static void unmake(int flavor) {
    if (flavor == DYNAMIC) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_detach(win, memory));
    }
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL, "freed");
    if (own) OK(MPI_Free_mem(own));
    if (flavor == DYNAMIC || flavor == ORDINARY) free(memory);
}

static MPI_Aint at(int flavor, int target, MPI_Aint element) {
    return flavor == DYNAMIC ? MPI_Aint_add(addresses[target], element * (MPI_Aint)sizeof(long)) : element;
}

static void clear(void) {
    for (int i = 0; i < COUNT; i++) memory[i] = -1;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void with_fence(int flavor) {
    long mine[8], got[8];
    clear();
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int target = 0; target < size; target++) {
        for (int i = 0; i < 8; i++) mine[i] = 1000 * rank + 10 * target + i;
        OK(MPI_Put(mine, 8, MPI_LONG, target, at(flavor, target, 8 * rank), 8, MPI_LONG, win));
    }
    OK(MPI_Win_fence(0, win));
    for (int origin = 0; origin < size; origin++)
        for (int i = 0; i < 8; i++)
            CHECK(memory[8 * origin + i] == 1000 * origin + 10 * rank + i, "%s: %ld", names[flavor], memory[8 * origin + i]);
    for (int target = 0; target < size; target++) {
        OK(MPI_Get(got, 8, MPI_LONG, target, at(flavor, target, 8 * rank), 8, MPI_LONG, win));
        OK(MPI_Win_fence(0, win));
        for (int i = 0; i < 8; i++) CHECK(got[i] == 1000 * rank + 10 * target + i, "%s: %ld", names[flavor], got[i]);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void with_posts(int flavor) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Group all, origins, targets;
    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &left, &origins));
    OK(MPI_Group_incl(all, 1, &right, &targets));
    clear();
    for (int round = 0; round < 50; round++) {
        long value = 100 * rank + round;
        OK(MPI_Win_post(origins, 0, win));
        OK(MPI_Win_start(targets, 0, win));
        OK(MPI_Put(&value, 1, MPI_LONG, right, at(flavor, right, round), 1, MPI_LONG, win));
        OK(MPI_Win_complete(win));
        if (round % 2) {
            OK(MPI_Win_wait(win));
        } else {
            int over = 0;
            while (!over) OK(MPI_Win_test(win, &over));
        }
        CHECK(memory[round] == 100 * left + round, "%s, round %d: %ld", names[flavor], round, memory[round]);
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&origins));
    OK(MPI_Group_free(&targets));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void with_locks(int flavor) {
    clear();
    memory[0] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 20; round++) {
        long value;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(&value, 1, MPI_LONG, 0, at(flavor, 0, 0), 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, 0, at(flavor, 0, 0), 1, MPI_LONG, win));
        OK(MPI_Win_unlock(0, win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Get(&value, 1, MPI_LONG, 0, at(flavor, 0, 0), 1, MPI_LONG, win));
        OK(MPI_Win_unlock(0, win));
        CHECK(value > round && value <= 20 * size, "%s: %ld", names[flavor], value);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        CHECK(memory[0] == 20 * size, "%s: %ld", names[flavor], memory[0]);
        memory[0] = 0;
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    long one = 1, before, expected, mine = rank;
    for (int round = 0; round < 100; round++) {
        OK(MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, at(flavor, 0, 0), MPI_SUM, win));
        OK(MPI_Win_flush_local(0, win));
        CHECK(before >= round && before < 100 * size, "%s: %ld", names[flavor], before);
        OK(MPI_Accumulate(&one, 1, MPI_LONG, (rank + 1) % size, at(flavor, (rank + 1) % size, 1), 1, MPI_LONG, MPI_SUM, win));
    }
    MPI_Request request;
    OK(MPI_Raccumulate(&one, 1, MPI_LONG, rank, at(flavor, rank, 2), 1, MPI_LONG, MPI_REPLACE, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Rget(&before, 1, MPI_LONG, rank, at(flavor, rank, 2), 1, MPI_LONG, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(before == 1, "%ld", before);
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &before, 1, MPI_LONG, 0, at(flavor, 0, 0), 1, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Win_flush_local_all(win));
    CHECK(before == 100 * size, "%s: %ld", names[flavor], before);
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &before, 1, MPI_LONG, rank, at(flavor, rank, 1), 1, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Win_flush_local(rank, win));
    CHECK(before == 99, "%s: %ld, from -1", names[flavor], before);
    /* One of all wins. */
    expected = -1;
    OK(MPI_Compare_and_swap(&mine, &expected, &before, MPI_LONG, 0, at(flavor, 0, 7), win));
    OK(MPI_Win_flush_all(win));
    int won = before == -1, winners = 0;
    OK(MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(winners == 1, "%s: %d", names[flavor], winners);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Every other column of a matrix, to rows. */
static void sections(int flavor) {
    int target = (rank + 1) % size;
    long matrix[16][16], back[8][16];
    MPI_Datatype columns, pieces;
    OK(MPI_Type_vector(16 * 8, 1, 2, MPI_LONG, &columns));
    OK(MPI_Type_commit(&columns));
    int lengths[3] = {1, 60, 67}, places[3] = {200, 0, 100};
    OK(MPI_Type_indexed(3, lengths, places, MPI_LONG, &pieces));
    OK(MPI_Type_commit(&pieces));
    for (int i = 0; i < 256; i++) matrix[i / 16][i % 16] = 1000 * rank + i;
    clear();
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(matrix, 1, columns, target, at(flavor, target, 1000), 1, pieces, win));
    OK(MPI_Win_flush(target, win));
    memset(back, 0, sizeof back);
    OK(MPI_Get(back, 128, MPI_LONG, target, at(flavor, target, 1000), 1, pieces, win));
    OK(MPI_Accumulate(matrix, 1, columns, target, at(flavor, target, 1000), 1, pieces, MPI_SUM, win));
    OK(MPI_Win_flush(target, win));
    for (int i = 0; i < 128; i++) CHECK(back[i / 16][i % 16] == 1000 * rank + 2 * i, "%s: element %d", names[flavor], i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int origin = (rank + size - 1) % size;
    for (int i = 0; i < 128; i++) {
        int place = i == 0 ? 200 : i < 61 ? i - 1 : 100 + i - 61;
        CHECK(memory[1000 + place] == 2 * (1000 * origin + 2 * i), "%s: element %d: %ld", names[flavor], i, memory[1000 + place]);
    }
    CHECK(memory[1060] == -1 && memory[1201] == -1 && memory[999] == -1, "%s: beside", names[flavor]);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&columns));
    OK(MPI_Type_free(&pieces));
}

static void query(int flavor) {
    void *base;
    MPI_Aint *bytes;
    int *unit, *flavored, *model, flag;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && (flavor == DYNAMIC || base == memory), "base");
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag));
    CHECK(flag && *bytes == (flavor == DYNAMIC ? 0 : (MPI_Aint)(COUNT * sizeof(long))), "size");
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == (flavor == DYNAMIC ? 1 : (int)sizeof(long)), "unit %d", *unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavored, &flag));
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                                  MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC,  MPI_WIN_FLAVOR_CREATE};
    CHECK(flag && *flavored == flavors[flavor], "flavor %d", *flavored);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && *model == MPI_WIN_UNIFIED, "model %d", *model);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Win_set_name(win, names[flavor]));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(!strcmp(name, names[flavor]) && length == (int)strlen(name), "%s", name);
    if (flavor == SHARED || flavor == APART) {
        long *theirs, *first;
        MPI_Aint length;
        int unit, next = (rank + 1) % size;
        OK(MPI_Win_shared_query(win, next, &length, &unit, &theirs));
        CHECK(length == (MPI_Aint)(COUNT * sizeof(long)) && unit == sizeof(long), "%d", unit);
        OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &length, &unit, &first));
        if (flavor == SHARED) CHECK(memory == first + (size_t)COUNT * rank, "in a row");
        OK(MPI_Win_fence(0, win));
        theirs[5] = 77 + rank;
        OK(MPI_Win_fence(0, win));
        CHECK(memory[5] == 77 + (rank + size - 1) % size, "%ld", memory[5]);
    }
}

/* Ranks on several nodes share no memory, and are told so. */
static int refused(int flavor) {
    static int one_node = -1;
    if (one_node < 0) one_node = on_one_node();
    if (one_node || (flavor != SHARED && flavor != APART)) return 0;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int class = 0, error = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_RMA_SHARED, "class %d", class);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return 1;
}

/* An access may reach across several pieces that are attached one behind the other, in whatever order, and not into one that is not. */
static void attached_in_pieces(int ordinary) {
    enum { PIECES = 6, PIECE = 100, WHOLE = PIECES * PIECE };
    static const int order[PIECES] = {3, 0, 5, 1, 4, 2};
    MPI_Aint bytes = PIECE * sizeof(long);
    int target = (rank + 1) % size, origin = (rank + size - 1) % size, class;
    long *mine, values[WHOLE], back[WHOLE];
    if (ordinary) {
        mine = malloc(PIECES * bytes);
    } else {
        OK(MPI_Alloc_mem(PIECES * bytes, MPI_INFO_NULL, &mine));
    }
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Get_address(mine, &addresses[rank]));
    OK(MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < WHOLE; i++) values[i] = 1000 * rank + i;
    for (int round = 0; round < 3; round++) {
        if (round == 0) {
            for (int i = 0; i < PIECES; i++) OK(MPI_Win_attach(win, mine + order[i] * PIECE, bytes));
        } else {
            OK(MPI_Win_attach(win, mine + 2 * PIECE, bytes));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Put(values, WHOLE, MPI_LONG, target, at(DYNAMIC, target, 0), WHOLE, MPI_LONG, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Accumulate(values, WHOLE - 2, MPI_LONG, target, at(DYNAMIC, target, 1), WHOLE - 2, MPI_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(values, 1, MPI_LONG, target, at(DYNAMIC, target, 2 * PIECE), 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Get(back, WHOLE, MPI_LONG, target, at(DYNAMIC, target, 0), WHOLE, MPI_LONG, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < WHOLE; i++) {
            int ends = i == 0 || i == WHOLE - 1, again = i == 2 * PIECE;
            long sum = ends ? i : 2 * i - 1;
            CHECK(mine[i] == 1000 * origin * (2 - ends + again) + sum, "round %d, element %d: %ld", round, i, mine[i]);
            CHECK(back[i] == 1000 * rank * (2 - ends + again) + sum, "round %d, element %d: %ld", round, i, back[i]);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_detach(win, mine + 2 * PIECE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int first = 0; first < 5; first++) {
            int error = MPI_Put(values, 2 * PIECE, MPI_LONG, target, at(DYNAMIC, target, first * PIECE), 2 * PIECE, MPI_LONG, win);
            OK(MPI_Error_class(error, &class));
            int expected = first == 1 || first == 2 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
            CHECK(class == expected, "round %d, pieces from %d on: class %d", round, first, class);
        }
        OK(MPI_Win_flush_all(win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    if (ordinary) {
        free(mine);
    } else {
        OK(MPI_Free_mem(mine));
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        if (refused(flavor)) continue;
        make(flavor);
        query(flavor);
        with_fence(flavor);
        with_posts(flavor);
        with_locks(flavor);
        sections(flavor);
        unmake(flavor);
    }
    attached_in_pieces(0);
    attached_in_pieces(1);
    end();
    return 0;
}
