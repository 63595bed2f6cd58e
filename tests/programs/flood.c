// ranks: 8
// more ranks: 2
// mpiexec: --set eager_limit=131072
/* Everybody floods rank 0 with messages that it does not receive: 100,000 short ones, then 10,000 announced ones. Rank 0's
 * memory stays within the budget for unmatched messages and what rings hold; its own traffic, whose answers come through the flooded rings,
 * passes; then it receives everything, in order. */
#include "check.h"

#include <unistd.h>

#define SHORT_MESSAGES 100000
#define LONG_MESSAGES 10000
#define SHORT 1024
#define LONG (516 << 10) /* announced */
#define OWN (1 << 20)
#define MIB (1 << 20)

/* What rank 0 may keep of unmatched messages, in MiB; given as an argument where it is not the default. */
static long budget = 64;

/* A line of /proc/self/status, in bytes. */
static long memory(const char *name) {
    char line[256];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name)) * 1024;
    if (status) fclose(status);
    return value;
}

static void stamp(char *message, int number) { memcpy(message, &number, sizeof number); }

static int number_of(const char *message) {
    int number;
    memcpy(&number, message, sizeof number);
    return number;
}

static void sender(int shorts, int longs) {
    char *message = malloc(SHORT), *announced = malloc(LONG), *theirs = malloc(OWN);
    MPI_Request *requests = malloc(sizeof *requests * (size_t)longs), own;
    fill(message, SHORT, (unsigned)rank);
    fill(announced, LONG, (unsigned)rank);
    OK(MPI_Irecv(theirs, OWN, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &own));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < shorts; i++) {
        stamp(message, i);
        OK(MPI_Send(message, SHORT, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    }
    for (int i = 0; i < longs; i++) OK(MPI_Isend(announced, LONG, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Wait(&own, MPI_STATUS_IGNORE));
    CHECK_BYTES(theirs, OWN, 99);
    OK(MPI_Waitall(longs, requests, MPI_STATUSES_IGNORE));
    free(message), free(announced), free(theirs), free(requests);
}

static void receiver(int shorts, int longs) {
    char *message = malloc(LONG), *own = malloc(OWN);
    int flag, senders = size - 1;
    /* The allocator and the list take their share; announcements are kept beyond it too, and what was in the rings, of up to 4 MiB each, when
     * senders were told. */
    long allowed = (budget + budget / 4 + 16 + 5 * senders) * MIB;
    MPI_Status status;
    fill(own, OWN, 99);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = memory("RssAnon:"), shared = memory("RssShmem:"), most = 0;
    /* Busy elsewhere, then looking, without receiving. */
    usleep(200000);
    for (int i = 0; i < 300; i++) {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        usleep(1000);
        long now = memory("RssAnon:") - before;
        if (now > most) most = now;
    }
    CHECK(most < allowed, "%ld bytes more", most);
    CHECK(memory("RssShmem:") - shared < 64L * MIB, "%ld bytes of shared memory more", memory("RssShmem:") - shared);
    for (int source = 1; source < size; source++) OK(MPI_Send(own, OWN, MPI_BYTE, source, 3, MPI_COMM_WORLD));
    int *next = calloc((size_t)size, sizeof *next);
    for (int i = 0; i < shorts * senders; i++) {
        OK(MPI_Recv(message, LONG, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
        int number = number_of(message);
        CHECK(number == next[status.MPI_SOURCE]++, "message %d of rank %d", number, status.MPI_SOURCE);
        if (i % 1000 == 0) {
            fill(message, sizeof number, (unsigned)status.MPI_SOURCE);
            CHECK_BYTES(message, SHORT, (unsigned)status.MPI_SOURCE);
        }
        if (i % 1000 == 0 && memory("RssAnon:") - before > most) most = memory("RssAnon:") - before;
    }
    for (int i = 0; i < longs * senders; i++) {
        int source = 1 + i % senders;
        OK(MPI_Recv(message, LONG, MPI_BYTE, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (i % 100 == 0) CHECK_BYTES(message, LONG, (unsigned)source);
    }
    if (memory("RssAnon:") - before > most) most = memory("RssAnon:") - before;
    CHECK(most < allowed, "%ld bytes more", most);
    free(message), free(own), free(next);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (argc > 1) budget = atol(argv[1]);
    int senders = size - 1;
    if (rank == 0)
        receiver(SHORT_MESSAGES / senders, LONG_MESSAGES / senders);
    else
        sender(SHORT_MESSAGES / senders, LONG_MESSAGES / senders);
    end();
    return 0;
}
