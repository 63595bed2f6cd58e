/* broken_link FOLDER once|always|returns|puts|counts|collectives: 2 ranks on 2 nodes whose connection the test resets. They exchange a message, show
   in a folder that they have, and wait for the file `go` there. Then they exchange another (once), or messages, puts, increments of a counter, or
   collectives until there is the file `stop`, and each must have come right and once. By `returns` they exchange messages until one fails, with
   the class of a dead process, after which they print "parted". */
#include "check.h"

/* Some go in frames, some are read by their receivers. */
enum { LONG = 300000 };
static char out[LONG], in[LONG];

/* The messages of a round are alike: sender, round, whether the sender has seen `stop`, sender. */
static int exchange(int bytes, int round, int stops, int *other_stops) {
    out[0] = 'a' + rank;
    memcpy(out + 1, &round, sizeof round);
    out[5] = stops;
    memset(out + 6, 'a' + rank, bytes - 6);
    int code = MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - rank, 3, in, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    int theirs;
    memcpy(&theirs, in + 1, sizeof theirs);
    CHECK(in[0] == 'b' - rank && theirs == round, "%d, of round %d in round %d", in[0], theirs, round);
    for (int i = 6; i < bytes; i++) CHECK(in[i] == 'b' - rank, "byte %d of %d in round %d: %d", i, bytes, round, in[i]);
    *other_stops = in[5];
    return code;
}

static int exists(const char *folder, const char *file) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", folder, file);
    return access(name, F_OK) == 0;
}

/* Put to the other and get it back, until the test says so. */
static void put_until_stopped(const char *folder) {
    char *base;
    MPI_Win win;
    OK(MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; !exists(folder, "stop"); round++) {
        memset(out, round, LONG);
        OK(MPI_Put(out, LONG, MPI_BYTE, 1 - rank, 0, LONG, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - rank, win));
        OK(MPI_Get(in, LONG, MPI_BYTE, 1 - rank, 0, LONG, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - rank, win));
        CHECK(memcmp(in, out, LONG) == 0, "%d in round %d", in[0], round);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

/* Increments of the other's counters by one operation and another: each is to be done once. */
static void count_until_stopped(const char *folder) {
    long *base, one = 1;
    MPI_Win win;
    OK(MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = base[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    long done = 0;
    for (; !exists(folder, "stop"); done++) {
        long before = -1;
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1 - rank, 1, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&one, &before, MPI_LONG, 1 - rank, 0, MPI_SUM, win));
        OK(MPI_Win_flush(1 - rank, win));
        CHECK(before == done, "%ld instead of %ld", before, done);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Sendrecv_replace(&done, 1, MPI_LONG, 1 - rank, 4, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK(base[0] == done && base[1] == done, "%ld and %ld instead of %ld", base[0], base[1], done);
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_free(&win));
}

static void reduce_until_stopped(const char *folder) {
    static const int counts[] = {1, 100, 5000, LONG / 8};
    static long mine[LONG / 8], all[LONG / 8], both[2];
    long stops = 0;
    for (int round = 0; !stops; round++) {
        int count = counts[round % 4];
        for (int i = 0; i < count; i++) mine[i] = rank * 1000003L + round + i;
        mine[0] = rank == 0 && exists(folder, "stop");
        OK(MPI_Allreduce(mine, all, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 1; i < count; i++) CHECK(all[i] == 1000003L + 2 * (round + i), "element %d in round %d", i, round);
        stops = all[0];
        long step = rank + 2L * round;
        OK(MPI_Allgather(&step, 1, MPI_LONG, both, 1, MPI_LONG, MPI_COMM_WORLD));
        CHECK(both[0] == 2L * round && both[1] == 2L * round + 1, "%ld and %ld in round %d", both[0], both[1], round);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 2 && size == 2, "%d arguments", argc);
    const char *folder = argv[1], *how = argv[2];
    int returns = strcmp(how, "returns") == 0, stops = 0, theirs = 0;
    if (returns) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(exchange(8, 0, 0, &theirs));
    char name[4096];
    snprintf(name, sizeof name, "%s/ready-%d", folder, rank);
    FILE *ready = fopen(name, "w");
    CHECK(ready, "%s", name);
    fclose(ready);
    while (!exists(folder, "go")) usleep(10000);
    if (strcmp(how, "puts") == 0) {
        put_until_stopped(folder);
    } else if (strcmp(how, "counts") == 0) {
        count_until_stopped(folder);
    } else if (strcmp(how, "collectives") == 0) {
        reduce_until_stopped(folder);
    } else {
        static const int sizes[] = {LONG, 8, 3000, 50000};
        int code = MPI_SUCCESS, once = strcmp(how, "once") == 0;
        for (int i = 0; code == MPI_SUCCESS && !stops && !theirs; i++) {
            stops = once || exists(folder, "stop");
            code = exchange(sizes[i % 4], i + 1, stops, &theirs);
        }
        if (returns) {
            int class = 0;
            OK(MPI_Error_class(code, &class));
            CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
            printf("parted\n");
        } else {
            OK(code);
        }
    }
    end();
    return 0;
}
