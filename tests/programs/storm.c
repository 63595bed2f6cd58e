// ranks: 2 4 8 16
/* Many non-blocking messages of random sizes between all pairs, completed by every member of the wait and test families. */
#include "check.h"

enum { ROUNDS = 6, PER_PAIR = 12, LONGEST = 70000 };

static int length_of(int from, int to, int number, int round) {
    unsigned state = (unsigned)(from * 1009 + to * 9176 + number * 31 + round * 7919 + 1);
    next_random(&state);
    unsigned kind = next_random(&state) % 10;
    return (int)(kind < 5 ? next_random(&state) % 200 : kind < 8 ? next_random(&state) % 9000 : next_random(&state) % LONGEST);
}

static void complete(int count, MPI_Request *requests, int way) {
    int left = count, index, flag, outcount;
    int *indices = malloc(count * sizeof *indices);
    switch (way) {
    case 0: OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
        for (; left; left--) {
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
            CHECK(index >= 0 && index < count && requests[index] == MPI_REQUEST_NULL, "index %d", index);
        }
        break;
    case 2:
        while (left) {
            OK(MPI_Waitsome(count, requests, &outcount, indices, MPI_STATUSES_IGNORE));
            CHECK(outcount > 0 && outcount <= left, "%d of %d", outcount, left);
            left -= outcount;
        }
        break;
    case 3:
        for (flag = 0; !flag;) OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    case 4:
        while (left) {
            OK(MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE));
            if (flag) left--;
        }
        break;
    default:
        while (left) {
            OK(MPI_Testsome(count, requests, &outcount, indices, MPI_STATUSES_IGNORE));
            left -= outcount;
        }
    }
    for (int i = 0; i < count; i++) CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is left", i);
    OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED, "index %d among null requests", index);
    free(indices);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int pairs = size * PER_PAIR, count = 2 * pairs;
    char **buffers = malloc(count * sizeof *buffers);
    MPI_Request *requests = malloc(count * sizeof *requests);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned state = round * 77 + rank;
        int early = next_random(&state) % 2;
        for (int step = 0; step < 2; step++) {
            for (int other = 0; other < size; other++)
                for (int number = 0; number < PER_PAIR; number++) {
                    int sending = step ^ early, slot = other * PER_PAIR + number + (sending ? pairs : 0);
                    int length = sending ? length_of(rank, other, number, round) : length_of(other, rank, number, round);
                    buffers[slot] = malloc(length + 1);
                    if (sending) {
                        fill(buffers[slot], length, rank + number);
                        OK((number % 5 == 4 ? MPI_Issend : MPI_Isend)(buffers[slot], length, MPI_BYTE, other, number, MPI_COMM_WORLD,
                                                                      &requests[slot]));
                    } else {
                        OK(MPI_Irecv(buffers[slot], length, MPI_BYTE, other, number, MPI_COMM_WORLD, &requests[slot]));
                    }
                }
        }
        complete(count, requests, round);
        for (int other = 0; other < size; other++)
            for (int number = 0; number < PER_PAIR; number++)
                CHECK_BYTES(buffers[other * PER_PAIR + number], length_of(other, rank, number, round), other + number);
        for (int slot = 0; slot < count; slot++) free(buffers[slot]);
    }
    free(buffers);
    free(requests);
    end();
    return 0;
}
