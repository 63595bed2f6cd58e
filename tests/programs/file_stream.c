// ranks: 1 2 4
/* MPI_MODE_SEQUENTIAL on a pipe: records of ranks that are longer than what a pipe takes at once come whole, ordered ones in the order of ranks; reads get
 * what follows, and fewer bytes at the end. Views have no gaps, and the shared pointer goes nowhere.
 * Accesses that are begun do not wait. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { RECORD = 30000, ROUNDS = 6, PER_ROUND = 5, INTS = RECORD / 4 };

static char path[256];
static int *all;
static long total;

/* Takes everything out of the pipe. */
static void *drain(void *unused) {
    FILE *pipe = fopen(path, "r");
    (void)unused;
    CHECK(pipe != NULL, "%s", path);
    for (size_t got; (got = fread((char *)all + total, 1, 65536, pipe)) > 0;) total += (long)got;
    fclose(pipe);
    return NULL;
}

/* Fills the pipe with numbers: so many. */
static void *give(void *count) {
    FILE *pipe = fopen(path, "w");
    CHECK(pipe != NULL, "%s", path);
    for (int k = 0; k < *(int *)count; k++) CHECK(fwrite(&k, 1, 4, pipe) == 4, "number %d", k);
    fclose(pipe);
    return NULL;
}

static void set(int *record, int what) {
    for (int k = 0; k < INTS; k++) record[k] = what;
}

/* What the record holds, if it is one of one rank. */
static int record_at(long at) {
    for (int k = 1; k < INTS; k++) CHECK(all[at * INTS + k] == all[at * INTS], "record %ld is mixed at %d", at, k);
    return all[at * INTS];
}

static void writes(void) {
    static int record[INTS], other[INTS];
    pthread_t thread;
    MPI_File fh;
    MPI_Offset at;
    MPI_Datatype gaps;
    MPI_Request request;
    MPI_Status status;
    all = malloc((size_t)size * ROUNDS * PER_ROUND * RECORD + 65536);
    if (rank == 0) CHECK(pthread_create(&thread, NULL, drain, NULL) == 0, "no thread");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &gaps));
    OK(MPI_Type_commit(&gaps));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, gaps, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&gaps));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write_at(fh, 0, record, 1, MPI_INT, MPI_STATUS_IGNORE));
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        set(record, round * 100 + rank);
        if (rank % 2 == round % 2) usleep(1000);
        OK(MPI_File_write_shared(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
        set(other, round * 100 + rank);
        OK(MPI_File_iwrite_shared(fh, other, INTS, MPI_INT, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_File_write_ordered(fh, record, INTS, MPI_INT, &status));
        int count;
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == INTS, "%d written", count);
        /* One rank has nothing to write. */
        OK(MPI_File_write_ordered(fh, record, rank == 0 ? 0 : INTS, MPI_INT, MPI_STATUS_IGNORE));
        if (rank == 0) OK(MPI_File_write_shared(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_write_ordered_begin(fh, record, INTS, MPI_INT));
        OK(MPI_File_write_ordered_end(fh, record, MPI_STATUS_IGNORE));
        OK(MPI_File_get_position_shared(fh, &at));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK(at == (MPI_Offset)size * PER_ROUND * INTS, "%lld in round %d", (long long)at, round);
    }
    OK(MPI_File_close(&fh));
    if (rank == 0) {
        CHECK(pthread_join(thread, NULL) == 0, "no thread");
        CHECK(total == (long)size * ROUNDS * PER_ROUND * RECORD, "%ld bytes", total);
        for (int round = 0; round < ROUNDS; round++) {
            long at_round = (long)round * size * PER_ROUND;
            int seen[64] = {0};
            for (long k = 0; k < size * PER_ROUND; k++) {
                int what = record_at(at_round + k) - round * 100;
                CHECK(what >= 0 && what < size, "record %ld of round %d is %d", k, round, what);
                seen[what]++;
                /* The first two of each rank come in any order, the ordered ones in that of ranks. */
                long ordered = k - 2L * size;
                if (ordered >= 0 && ordered < size) CHECK(what == ordered, "ordered: %d at %ld", what, ordered);
                if (k >= 4L * size) CHECK(what == k - 4L * size, "split: %d at %ld", what, k);
            }
            for (int other_rank = 0; other_rank < size; other_rank++) CHECK(seen[other_rank] == PER_ROUND, "%d", seen[other_rank]);
        }
    }
    free(all);
}

static void reads(void) {
    pthread_t thread;
    MPI_File fh;
    MPI_Status status;
    int each = 20000, left = 7, count, sum, numbers = 2 * size * each + left;
    int *got = malloc((size_t)each * sizeof(int));
    if (rank == 0) CHECK(pthread_create(&thread, NULL, give, &numbers) == 0, "no thread");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_ordered(fh, got, each, MPI_INT, &status));
    for (int k = 0; k < each; k++) CHECK(got[k] == rank * each + k, "%d at %d", got[k], k);
    OK(MPI_File_read_shared(fh, got, each, MPI_INT, &status));
    CHECK(got[0] % each == 0 && got[0] >= size * each, "%d", got[0]);
    for (int k = 0; k < each; k++) CHECK(got[k] == got[0] + k, "%d at %d", got[k], k);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_ordered(fh, got, each, MPI_INT, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    OK(MPI_Allreduce(&count, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == left, "%d at the end", sum);
    OK(MPI_File_close(&fh));
    if (rank == 0) CHECK(pthread_join(thread, NULL) == 0, "no thread");
    free(got);
}

/* A rank whose view is empty takes no turn, and the next view begins where all others have come to. */
static void empty_view(void) {
    static int record[INTS];
    pthread_t thread;
    MPI_File fh;
    MPI_Datatype nothing;
    total = 0;
    all = malloc((size_t)size * 2 * RECORD + 65536);
    if (rank == 0) CHECK(pthread_create(&thread, NULL, drain, NULL) == 0, "no thread");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&nothing));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, rank == 0 ? nothing : MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&nothing));
    set(record, rank);
    if (rank == 0) {
        FAILS(MPI_ERR_ARG, MPI_File_write_shared(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_File_write_shared(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
    }
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_ordered(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    if (rank == 0) {
        CHECK(pthread_join(thread, NULL) == 0, "no thread");
        CHECK(total == (2L * size - 1) * RECORD, "%ld bytes", total);
        for (long k = 0; k < size; k++) CHECK(record_at(size - 1 + k) == k, "%d at %ld", record_at(size - 1 + k), k);
    }
    free(all);
}

/* A begun access does not wait: not for the pipe's other side, nor for a rank whose turn is before. Requests of one rank are each in turn. */
static void begun(void) {
    static int record[3][INTS];
    pthread_t thread;
    MPI_File fh;
    MPI_Request requests[3];
    MPI_Offset at = 0;
    int reader = rank == 0 ? open(path, O_RDONLY | O_NONBLOCK) : -1, flag;
    total = 0;
    all = malloc((size_t)size * 4 * RECORD + 65536);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    /* Turns are told on another node: there a begun access may wait. */
    int waits = !on_one_node();
    if (waits && rank == 0) CHECK(pthread_create(&thread, NULL, drain, NULL) == 0, "no thread");
    /* The last rank is first; the pipe does not take all of its records. */
    while (rank != size - 1 && at == 0) OK(MPI_File_get_position_shared(fh, &at));
    for (int k = 0; k < 3; k++) {
        set(record[k], rank);
        OK(MPI_File_iwrite_shared(fh, record[k], INTS, MPI_INT, &requests[k]));
    }
    OK(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(!flag || waits, "a pipe takes %d bytes", 3 * RECORD);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!waits && rank == 0) CHECK(pthread_create(&thread, NULL, drain, NULL) == 0, "no thread");
    /* A call that waits drives what was begun before. */
    OK(MPI_File_write_shared(fh, record[2], INTS, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_close(&fh));
    if (rank == 0) {
        CHECK(close(reader) == 0, "not closed");
        CHECK(pthread_join(thread, NULL) == 0, "no thread");
        CHECK(total == 4L * size * RECORD, "%ld bytes", total);
        int seen[64] = {0};
        for (long k = 0; k < 4L * size; k++) seen[record_at(k)]++;
        for (int other = 0; other < size; other++) CHECK(seen[other] == 4, "%d of rank %d", seen[other], other);
        CHECK(record_at(0) == size - 1, "rank %d is first", record_at(0));
    }
    free(all);
}

/* A pipe that nobody reads any more is an error of each write, and kills nobody. */
static void closed(void) {
    static int record[INTS];
    MPI_File fh;
    int reader = rank == 0 ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    if (rank == 0) CHECK(close(reader) == 0, "not closed");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int k = 0; k < 2; k++) FAILS(MPI_ERR_IO, MPI_File_write_shared(fh, record, INTS, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long number = getpid();
    CHECK(size <= 64, "too many ranks");
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-stream-%ld", number);
    if (rank == 0) CHECK(mkfifo(path, 0600) == 0, "%s", path);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    writes();
    reads();
    empty_view();
    begun();
    closed();
    if (rank == 0) CHECK(unlink(path) == 0, "%s", path);
    end();
    return 0;
}
