// ranks: 1 2 4
/* Puts and gets on rows of ordinary memory, near and far from one another, forwards and backwards, where both sides are scattered or one: by the
   last rank, while the others wait. */
#include "check.h"

enum { COUNT = 1000, ROOM = 1 << 21 };

static int source[3 * COUNT], back[2 * COUNT], before[COUNT];

static MPI_Datatype rows_of(int count, int length, long stride) {
    MPI_Datatype type;
    OK(MPI_Type_create_hvector(count, length, stride * (long)sizeof(int), MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static void try(MPI_Win win, int *memory, int length, long stride, int is_scattered_here) {
    long base = stride < 0 ? -stride * (COUNT / length) : 0;
    int step = is_scattered_here ? 3 : 1;
    for (int i = 0; i < ROOM; i++) memory[i] = i;
    for (int i = 0; i < 3 * COUNT; i++) source[i] = -1;
    for (int i = 0; i < COUNT; i++) source[step * i] = i + 1;
    MPI_Datatype there = rows_of(COUNT / length, length, stride);
    MPI_Datatype here = rows_of(COUNT, 1, step), twos = rows_of(COUNT, 1, 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    if (rank == size - 1) {
        OK(MPI_Put(source, 1, here, 0, base, 1, there, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Get(back, 1, twos, 0, base, 1, there, win));
        OK(MPI_Win_flush(0, win));
        for (int i = 0; i < COUNT; i++) {
            CHECK(back[2 * i] == i + 1, "element %d of rows of %d by %ld: %d was put", i, length, stride, back[2 * i]);
            before[i] = (int)(base + i / length * stride + i % length);
        }
        OK(MPI_Put(before, COUNT, MPI_INT, 0, base, 1, there, win));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        for (int i = 0; i < ROOM; i++) CHECK(memory[i] == i, "rows of %d by %ld: %d was changed to %d", length, stride, i, memory[i]);
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
        try(win, memory, 20, 32, is_scattered_here);
        try(win, memory, 250, 300, is_scattered_here);
        try(win, memory, COUNT / 2, 9000, is_scattered_here);
        try(win, memory, COUNT, COUNT, is_scattered_here);
    }
    OK(MPI_Win_free(&win));
    free(memory);
    end();
    return 0;
}
