/* starved: in a group of processes that may use little memory, each way of taking some is used until it is refused, with an error and
 * on every rank, and what was taken is written to, piece by piece or only in the end: memory that was promised is there. No process is
 * killed for it, and once all is given back everything works. */
#include "check.h"

#define PIECE (8 << 20)
#define MOST 4096

static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
    return class;
}

/* Data goes around, by message and by collective. */
static void check_all(void) {
    static char sent[1 << 20], got[1 << 20];
    int left = (rank + size - 1) % size, sum = 0;
    fill(sent, sizeof sent, (unsigned)rank);
    OK(MPI_Sendrecv(sent, sizeof sent, MPI_BYTE, (rank + 1) % size, 1, got, sizeof got, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(wrong_byte(got, sizeof got, (unsigned)left) < 0, "byte %ld", wrong_byte(got, sizeof got, (unsigned)left));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2, "%d", sum);
}

static void lent(int late) {
    static char *pieces[MOST];
    int count = 0, class = MPI_SUCCESS;
    while (count < MOST) {
        class = class_of(MPI_Alloc_mem(PIECE, MPI_INFO_NULL, &pieces[count]));
        if (class != MPI_SUCCESS) break;
        if (!late) memset(pieces[count], rank + 1, PIECE);
        count++;
    }
    CHECK(class == MPI_ERR_NO_MEM, "class %d after %d", class, count);
    for (int at = 0; late && at < count; at++) memset(pieces[at], rank + 1, PIECE);
    /* Without this who comes last may have none. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int at = 0; at < count; at++) {
        CHECK(pieces[at][0] == rank + 1 && pieces[at][PIECE - 1] == rank + 1, "piece %d", at);
        OK(MPI_Free_mem(pieces[at]));
    }
}

static void windows(int shared, int late) {
    static MPI_Win wins[MOST];
    static char *bases[MOST];
    int count = 0, class = MPI_SUCCESS, all = 0, least, most;
    while (count < MOST) {
        int code = shared ? MPI_Win_allocate_shared(PIECE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[count], &wins[count])
                          : MPI_Win_allocate(PIECE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[count], &wins[count]);
        class = class_of(code);
        if (class != MPI_SUCCESS) break;
        if (!late) memset(bases[count], rank, PIECE);
        count++;
    }
    CHECK(class != MPI_SUCCESS, "%d windows", count);
    for (int at = 0; late && at < count; at++) memset(bases[at], rank, PIECE);
    OK(MPI_Allreduce(&count, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&count, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(least == most, "%d windows here, %d elsewhere", least, most);
    all = class == MPI_ERR_NO_MEM;
    OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(all, "class %d", class);
    for (int at = 0; at < count; at++) OK(MPI_Win_free(&wins[at]));
}

/* More than there is room for comes before it is received. */
static void unexpected(void) {
    enum { COUNT = 256 };
    static MPI_Request requests[COUNT];
    static char sent[1 << 20], got[1 << 20];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(sent, sizeof sent, (unsigned)rank);
    for (int at = 0; at < COUNT; at++) OK(MPI_Isend(sent, sizeof sent, MPI_BYTE, right, at, MPI_COMM_WORLD, &requests[at]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int at = COUNT - 1; at >= 0; at--) {
        OK(MPI_Recv(got, sizeof got, MPI_BYTE, left, at, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(wrong_byte(got, sizeof got, (unsigned)left) < 0, "message %d", at);
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    check_all();
    for (int late = 0; late < 2; late++) {
        /* One rank alone is given private memory, which the kernel has promised. */
        if (!late || size > 1) lent(late);
        check_all();
        windows(0, late);
        check_all();
        windows(1, late);
        check_all();
    }
    unexpected();
    check_all();
    end();
    return 0;
}
