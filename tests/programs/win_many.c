// ranks: 2 4
/* Thousands of windows, some at a time: none takes memory for good. */
#include "check.h"

enum { AT_ONCE = 500, ROUNDS = 4 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static MPI_Win wins[AT_ONCE];
    static long memory[AT_ONCE];
    int next = (rank + 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            memory[i] = -1;
            OK(MPI_Win_create(&memory[i], sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]));
        }
        for (int i = 0; i < AT_ONCE; i += 7) {
            long value = 1000 * round + i;
            OK(MPI_Win_fence(0, wins[i]));
            OK(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, wins[i]));
            OK(MPI_Win_fence(0, wins[i]));
            CHECK(memory[i] == value, "%ld", memory[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) OK(MPI_Win_free(&wins[i]));
    }
    end();
    return 0;
}
