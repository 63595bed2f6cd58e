// ranks: 3 20
// more ranks: 40
/* Everybody to everybody at once, in sizes that take each path: one line, one record, a leased ring, several pieces,
 * rendezvous. With more ranks than rings that are polled, and more than can be leased, channels come and go. */
#include "check.h"

static unsigned char mark(int from, int to, int round) { return (unsigned char)(from * 7 + to * 3 + round); }

static void exchange(int length, int round) {
    unsigned char *out = malloc((size_t)length * size), *in = calloc(size, length);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    for (int other = 0; other < size; other++) {
        memset(out + (size_t)other * length, mark(rank, other, round), length);
        OK(MPI_Irecv(in + (size_t)other * length, length, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[other]));
    }
    for (int step = 0; step < size; step++) {
        int other = (rank + step) % size;
        const unsigned char *from = out + (size_t)other * length;
        OK(MPI_Isend(from, length, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[size + step]));
    }
    OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
    for (int other = 0; other < size; other++) {
        for (int at = 0; at < length; at++) {
            int got = in[(size_t)other * length + at];
            CHECK(got == mark(other, rank, round), "byte %d of %d from %d is %d", at, length, other, got);
        }
    }
    free(requests);
    free(in);
    free(out);
}

int main(int argc, char **argv) {
    static const int lengths[] = {8, 600, 3000, 40000, 200000};
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int round = 0; round < 3; round++) exchange(lengths[i], round);
    }
    end();
}
