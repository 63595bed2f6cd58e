// ranks: 1 2 4
/* Accumulates on elements that lie in many blocks of ordinary memory: near and far from one another, forwards and backwards, where both sides
   are scattered or one; with results and without. All ranks do each to rank 0 at the same time, and no element is lost. */
#include "check.h"

enum { COUNT = 1000, ROUNDS = 3, ROOM = 1 << 21 };

static int source[3 * COUNT], back[2 * COUNT];

static MPI_Datatype blocks_of(int count, int length, long stride) {
    MPI_Datatype type;
    OK(MPI_Type_create_hvector(count, length, stride * (long)sizeof(int), MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

/* Element `at` of so many in blocks of `length`. */
static long place(int at, int length, long stride) { return at / length * stride + at % length; }

static void try(MPI_Win win, int *memory, int length, long stride, int is_scattered_here) {
    long base = stride < 0 ? -stride * (COUNT / length) : 0;
    for (int i = 0; i < ROOM; i++) memory[i] = i;
    for (int i = 0; i < 3 * COUNT; i++) source[i] = -1;
    int step = is_scattered_here ? 3 : 1;
    for (int i = 0; i < COUNT; i++) source[step * i] = i + 1;
    MPI_Datatype there = blocks_of(COUNT / length, length, stride);
    MPI_Datatype here = blocks_of(COUNT, 1, step), twos = blocks_of(COUNT, 1, 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) OK(MPI_Accumulate(source, 1, here, 0, base, 1, there, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int sums = ROUNDS * size;
    OK(MPI_Get_accumulate(source, 1, here, back, 1, twos, 0, base, 1, there, MPI_NO_OP, win));
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < COUNT; i++) {
        int was = (int)(base + place(i, length, stride)) + sums * (i + 1);
        CHECK(back[2 * i] == was, "element %d of blocks of %d by %ld: %d, not %d", i, length, stride, back[2 * i], was);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Somebody is the last to replace an element, and each sees what was before it. */
    OK(MPI_Get_accumulate(source, 1, here, back, 1, twos, 0, base, 1, there, MPI_REPLACE, win));
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < COUNT; i++) {
        int was = (int)(base + place(i, length, stride)) + sums * (i + 1);
        CHECK(back[2 * i] == was || back[2 * i] == i + 1, "element %d: %d before, not %d", i, back[2 * i], was);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        for (int i = 0; i < COUNT; i++) {
            int *element = memory + base + place(i, length, stride);
            CHECK(*element == i + 1, "element %d was replaced by %d", i, *element);
            *element = (int)(element - memory);
        }
        for (int i = 0; i < ROOM; i++) CHECK(memory[i] == i, "%d between the blocks was changed to %d", i, memory[i]);
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&there));
    OK(MPI_Type_free(&here));
    OK(MPI_Type_free(&twos));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *memory = malloc(sizeof(int) * ROOM);
    CHECK(memory != NULL, "no memory");
    MPI_Win win;
    OK(MPI_Win_create(memory, sizeof(int) * ROOM, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int is_scattered_here = 0; is_scattered_here < 2; is_scattered_here++) {
        try(win, memory, 1, 3, is_scattered_here);
        try(win, memory, 1, 2047, is_scattered_here);
        try(win, memory, 1, -3, is_scattered_here);
        try(win, memory, 2, 5, is_scattered_here);
        try(win, memory, COUNT / 2, 9000, is_scattered_here);
        try(win, memory, COUNT, COUNT, is_scattered_here);
    }
    OK(MPI_Win_free(&win));
    free(memory);
    end();
    return 0;
}
