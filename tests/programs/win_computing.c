// ranks: 2 3
/* A target that does not call anything delays nobody: what rank 1 does while rank 0 is away is over before rank 0 is back. */
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 1 << 20 };

static void with(int ordinary) {
    char *memory;
    MPI_Win win;
    static char mine[BYTES], back[BYTES];
    if (ordinary) {
        memory = malloc(BYTES);
        OK(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
        OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    }
    memset(memory, 0, BYTES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Ranks synchronise outside the library, by a file: rank 1 makes it when it is done. */
    char name[64];
    int pid = getpid();
    OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(name, sizeof name, "/tmp/win_computing.%d.%d", pid, ordinary);
    if (rank == 0) {
        time_t limit = time(NULL) + 60;
        while (access(name, F_OK) != 0) CHECK(time(NULL) < limit, "rank 1 waits for us");
        unlink(name);
        CHECK_BYTES(memory, BYTES - 8, 5);
        long sum;
        memcpy(&sum, memory + BYTES - 8, 8);
        CHECK(sum == 42, "%ld", sum);
    } else if (rank == 1) {
        long value = 42, before = -1;
        fill(mine, BYTES, 5);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Put(mine, BYTES - 8, MPI_CHAR, 0, 0, BYTES - 8, MPI_CHAR, win));
        OK(MPI_Get(back, BYTES - 8, MPI_CHAR, 0, 0, BYTES - 8, MPI_CHAR, win));
        OK(MPI_Fetch_and_op(&value, &before, MPI_LONG, 0, BYTES - 8, MPI_SUM, win));
        OK(MPI_Win_unlock(0, win));
        CHECK(before == 0, "%ld", before);
        CHECK_BYTES(back, BYTES - 8, 5);
        FILE *file = fopen(name, "w");
        CHECK(file, "%s", name);
        fclose(file);
    }
    OK(MPI_Win_free(&win));
    if (ordinary) free(memory);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    with(0);
    with(1);
    end();
    return 0;
}
