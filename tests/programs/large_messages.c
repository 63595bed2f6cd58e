// ranks: 2 3
// Messages of every large size between neighbours, all at once or one after the other, from ordinary and from mapped memory, and back
// into either. Run by other tests too, with single copies forced, refused and interrupted.
#include "check.h"

enum { LONGEST = 30000 + 3000000, SHIFTS = 4096 };

/* What all messages are parts of; each begins at a place of its own. */
static unsigned char pattern[LONGEST + SHIFTS];

static const unsigned char *bytes_of(int round, int from)
{
    return pattern + (round * 5 + from * 7) % SHIFTS;
}

static unsigned char *take(size_t length, int mapped)
{
    unsigned char *memory = NULL;
    if (mapped)
        MPI_Alloc_mem((MPI_Aint)length, MPI_INFO_NULL, &memory);
    else
        memory = malloc(length);
    CHECK(memory != NULL, "%zu bytes", length);
    return memory;
}

static void give_back(unsigned char *memory, int mapped)
{
    if (mapped)
        MPI_Free_mem(memory);
    else
        free(memory);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t at = 0; at < sizeof pattern; at++)
        pattern[at] = (unsigned char)(at * 31 + at / 251);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int round = 0; round < 60; round++) {
        size_t length = 30000 + (size_t)round * 7919 * 131 % 3000000;
        int sends_mapped = round & 1, receives_mapped = round >> 1 & 1;
        unsigned char *out = take(length, sends_mapped), *in = take(length, receives_mapped);
        memcpy(out, bytes_of(round, rank), length);
        memset(in, 0xee, length);
        // A receive that is too short now and then: the rest must not be written.
        size_t room = round % 5 == 4 ? length - length / 3 : length;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Irecv(in, (int)room, MPI_BYTE, from, round, MPI_COMM_WORLD, &requests[0]);
        // A sender with nothing to fetch helps its receiver.
        int waits = (round >> 2 & 1) && rank > 0;
        if (waits) {
            int error = MPI_Wait(&requests[0], &statuses[0]);
            CHECK(error == (room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "round %d: code %d", round, error);
        }
        MPI_Isend(out, (int)length, MPI_BYTE, to, round, MPI_COMM_WORLD, &requests[1]);
        int error = MPI_Waitall(2, requests, statuses);
        CHECK(error == (room < length && !waits ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "round %d: code %d", round, error);
        CHECK(memcmp(in, bytes_of(round, from), room) == 0, "round %d: wrong bytes among %zu", round, room);
        for (size_t at = room; at < length; at++)
            CHECK(in[at] == 0xee, "round %d, byte %zu of %zu", round, at, length);
        give_back(out, sends_mapped);
        give_back(in, receives_mapped);
    }
    MPI_Finalize();
    return 0;
}
