// ranks: 2 5
// more ranks: 40
/* What collectives show others lies in memory that grows with use: calls of all lengths, again and again, blocking and not, have the right
   bytes while it does, and the first of them have not taken what the last ones need. */
#include "check.h"
#include "job_memory.h"

enum { LONGEST = 5000, ROUNDS = 60 };

static unsigned char *from, *to;

static unsigned char byte(int sender, int receiver, int at, int round) {
    return (unsigned char)(sender * 37 + receiver * 11 + at * 3 + round * 101 + at / 256);
}

/* Everybody sends everybody so many bytes. */
static void exchange(int bytes, int round) {
    for (int other = 0; other < size; other++)
        for (int at = 0; at < bytes; at++) from[other * bytes + at] = byte(rank, other, at, round);
    memset(to, 0, (size_t)size * (size_t)bytes);
    if (round % 4 == 3) {
        MPI_Request request;
        OK(MPI_Ialltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD));
    }
    for (int other = 0; other < size; other++)
        for (int at = 0; at < bytes; at++)
            CHECK(to[other * bytes + at] == byte(other, rank, at, round), "byte %d from %d in round %d of %d bytes", at, other, round,
                  bytes);
}

/* Bytes behind the job's memory, looked at while nobody takes more. */
static long taken(void) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long bytes = rank == 0 ? job_memory() : 0;
    OK(MPI_Bcast(&bytes, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    return bytes;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    from = malloc((size_t)size * LONGEST);
    to = malloc((size_t)size * LONGEST);
    /* By now the communicator has its board. */
    for (int call = 0; call < 4; call++) OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = taken();
    /* Not by a longer form, however many ranks there are. */
    int first = 4000 / size;
    exchange(first, 0);
    long after = taken();
    if (before >= 0 && comes_when_touched()) CHECK(after - before <= size * (256L << 10), "the first call took %ld KiB", (after - before) >> 10);
    for (int round = 1; round < ROUNDS; round++) exchange(1 + round * 997 % LONGEST, round);
    for (int round = 0; round < ROUNDS; round++) exchange(1 + round % 4 * 9, round);
    free(from);
    free(to);
    end();
    return 0;
}
