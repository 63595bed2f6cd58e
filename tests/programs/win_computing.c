// ranks: 2 3
/* A target that does not call anything delays nobody: what rank 1 does while rank 0 is away is over before rank 0 is back. And operations with
   requests go on while their origin calls nothing. */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 1 << 20, LONGS = 1 << 17, FEW = 8 };

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
        OK(MPI_Win_flush(0, win));
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

static void wait_without_calls(const long *at, int count) {
    time_t limit = time(NULL) + 60;
    for (int i = 0; i < count; i++)
        while (((volatile const long *)at)[i] == -1) {
            CHECK(time(NULL) < limit, "element %d has not come", i);
            sched_yield();
        }
}

static void with_requests(void) {
    static long row[LONGS], column[LONGS / 2], few[FEW], mine[LONGS];
    long *memory;
    int other = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Win win;
    MPI_Datatype second;
    MPI_Request requests[3];
    OK(MPI_Type_vector(LONGS / 2, 1, 2, MPI_LONG, &second));
    OK(MPI_Type_commit(&second));
    OK(MPI_Win_allocate(sizeof row, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < LONGS; i++) memory[i] = rank * 1000003 + i;
    memset(row, 0xff, sizeof row);
    memset(column, 0xff, sizeof column);
    memset(few, 0xff, sizeof few);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rget(row, LONGS, MPI_LONG, other, 0, LONGS, MPI_LONG, win, &requests[0]));
    OK(MPI_Rget(column, LONGS / 2, MPI_LONG, other, 0, 1, second, win, &requests[1]));
    OK(MPI_Rget(few, FEW, MPI_LONG, other, 3, FEW, MPI_LONG, win, &requests[2]));
    wait_without_calls(row, LONGS);
    wait_without_calls(column, LONGS / 2);
    wait_without_calls(few, FEW);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < LONGS; i++) CHECK(row[i] == other * 1000003 + i, "%d", i);
    for (int i = 0; i < LONGS / 2; i++) CHECK(column[i] == other * 1000003 + 2 * i, "%d", i);
    for (int i = 0; i < FEW; i++) CHECK(few[i] == other * 1000003 + 3 + i, "%d", i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* The buffer of a put belongs to the program again once its request is complete. */
    for (int i = 0; i < LONGS; i++) mine[i] = rank * 7 + i;
    OK(MPI_Rput(mine, LONGS, MPI_LONG, other, 0, LONGS, MPI_LONG, win, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    memset(mine, 0, sizeof mine);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < LONGS; i++) CHECK(memory[i] == from * 7 + i, "%d", i);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&second));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    with(0);
    with(1);
    with_requests();
    end();
    return 0;
}
