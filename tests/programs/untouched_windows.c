// ranks: 2 3
/* Windows and allocated memory that are far larger than what is touched of them take what is touched, hold what is put into them, and give
 * it back when they are freed. */
#include "check.h"
#include "job_memory.h"

enum { LARGE = 192 << 20, PUT = 1 << 20, AT = 100 << 20, SLACK = 12 << 20 };

static const char *const KINDS[] = {"allocate", "allocate_shared", "allocate_shared, noncontiguous", "MPI_Alloc_mem"};
enum { ALLOCATE, SHARED, NONCONTIGUOUS, ALLOC_MEM, ALL };

static MPI_Win make(int kind, char **base) {
    MPI_Win win;
    MPI_Info info = MPI_INFO_NULL;
    switch (kind) {
        case ALLOCATE: OK(MPI_Win_allocate(LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win)); break;
        case ALLOC_MEM:
            OK(MPI_Alloc_mem(LARGE, MPI_INFO_NULL, base));
            OK(MPI_Win_create(*base, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
            break;
        default:
            OK(MPI_Info_create(&info));
            if (kind == NONCONTIGUOUS) OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
            OK(MPI_Win_allocate_shared(LARGE, 1, info, MPI_COMM_WORLD, base, &win));
            OK(MPI_Info_free(&info));
    }
    return win;
}

/* Bytes that the job has taken since, as all ranks see it at the same time. */
static long taken(long before) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long now = job_memory() - before;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return now;
}

static void check(int kind, int counts) {
    static char sent[PUT];
    char *base;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long before = job_memory(), limit = SLACK + (long)size * PUT;
    MPI_Win win = make(kind, &base);
    long made = taken(before);
    CHECK(!counts || made < limit, "%s: %ld MiB as it is made", KINDS[kind], made >> 20);
    fill(sent, sizeof sent, (unsigned)rank);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(sent, PUT, MPI_BYTE, right, AT, PUT, MPI_BYTE, win));
    OK(MPI_Win_fence(0, win));
    CHECK(wrong_byte(base + AT, PUT, (unsigned)left) < 0, "%s: byte %ld", KINDS[kind], wrong_byte(base + AT, PUT, (unsigned)left));
    long used = taken(before);
    CHECK(used >= (long)size * PUT && (!counts || used < limit), "%s: %ld MiB as %d are put", KINDS[kind], used >> 20, size);
    OK(MPI_Win_free(&win));
    if (kind == ALLOC_MEM) OK(MPI_Free_mem(base));
    long kept = taken(before);
    CHECK(kept < SLACK, "%s: %ld MiB when it is freed", KINDS[kind], kept >> 20);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(job_memory() > 0, "no descriptor of the job's memory");
    for (int turn = 0; turn < 2; turn++)
        for (int kind = 0; kind < ALL; kind++) check(kind, comes_when_touched());
    end();
    return 0;
}
