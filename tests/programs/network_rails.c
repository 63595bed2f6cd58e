/* network_rails SECONDS: two ranks move long data both ways, by messages, puts and gets, for so long. Every word is compared, and a later put to
 * the same place is never overtaken by an earlier one. */
#include "check.h"

#include <stdint.h>
#include <time.h>

enum { WORDS = 3 << 17 };

static uint64_t word(int from, int round, int at) {
    return ((uint64_t)at + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)round << 8 ^ (uint64_t)from;
}

static void put_words(uint64_t *words, int from, int round) {
    for (int at = 0; at < WORDS; at++)
        words[at] = word(from, round, at);
}

static void compare(const uint64_t *words, int from, int round, const char *what) {
    for (int at = 0; at < WORDS; at++)
        CHECK(words[at] == word(from, round, at), "round %d: word %d of a %s", round, at, what);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(size == 2, "there are %d ranks", size);
    int other = 1 - rank, seconds = atoi(argv[1]), round = 0, goes_on = 1;
    uint64_t *exposed, *mine = malloc(WORDS * sizeof *mine), *came = malloc(WORDS * sizeof *came);
    MPI_Win window;
    OK(MPI_Win_allocate(WORDS * sizeof *exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window));
    OK(MPI_Win_lock_all(0, window));
    time_t began = time(NULL);
    while (goes_on) {
        MPI_Request requests[2];
        put_words(mine, rank, round);
        OK(MPI_Irecv(came, WORDS, MPI_UINT64_T, other, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(mine, WORDS, MPI_UINT64_T, other, 1, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        compare(came, other, round, "message");
        for (int put = 1; put <= 3; put++) {
            put_words(mine, rank, round + put);
            OK(MPI_Put(mine, WORDS, MPI_UINT64_T, other, 0, WORDS, MPI_UINT64_T, window));
            OK(MPI_Win_flush(other, window));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_sync(window));
        compare(exposed, other, round + 3, "put");
        OK(MPI_Get(came, WORDS, MPI_UINT64_T, other, 0, WORDS, MPI_UINT64_T, window));
        OK(MPI_Win_flush(other, window));
        compare(came, rank, round + 3, "get");
        round += 4;
        goes_on = time(NULL) - began < seconds;
        OK(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
    free(mine);
    free(came);
    end();
    return 0;
}
