/* checked: buffers that are received into, never written before, are looked at by value, as a checker of memory looks at them. */
#include "check.h"

static long seen;

/* Each byte decides something. */
static void look(const char *buffer, int length) {
    for (int i = 0; i < length; i++)
        if (buffer[i] == 3) seen++;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const int lengths[] = {8, 3000, 70000, 1000000};
    for (int at = 0; at < 4; at++) {
        int length = lengths[at];
        char *sent = malloc((size_t)length), *got = malloc((size_t)length), *sum = malloc((size_t)length), *window = malloc((size_t)length);
        fill(sent, (size_t)length, rank);
        OK(MPI_Sendrecv(sent, length, MPI_BYTE, right, 1, got, length, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        look(got, length);
        OK(MPI_Allreduce(sent, sum, length, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD));
        look(sum, length);
        MPI_Win win;
        OK(MPI_Win_create(window, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        OK(MPI_Win_fence(0, win));
        OK(MPI_Put(sent, length, MPI_BYTE, right, 0, length, MPI_BYTE, win));
        OK(MPI_Win_fence(0, win));
        look(window, length);
        OK(MPI_Win_free(&win));
        free(sent), free(got), free(sum), free(window);
    }
    char *lent;
    OK(MPI_Alloc_mem(1000000, MPI_INFO_NULL, &lent));
    lent[99999] = 1;
    OK(MPI_Free_mem(lent));
    CHECK(seen >= 0, "%ld", seen);
    end();
    return 0;
}
