/* Proportional set size (each shared page counted once over its sharers) of every rank, after all pairs have
 * exchanged a small, a medium and a large message. */
#define _GNU_SOURCE
#include "mpi_measure.h"

enum { LARGE = 256 << 10 };

static long pss_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            break;
    if (rollup)
        fclose(rollup);
    return kib;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 4096, LARGE};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0)
        print_library();

    char *outgoing = malloc(LARGE), *incoming = malloc(LARGE);
    memset(outgoing, rank, LARGE);
    for (int distance = 1; distance < ranks; distance++) {
        int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            MPI_Sendrecv(outgoing, sizes[i], MPI_BYTE, to, 0, incoming, sizes[i], MPI_BYTE, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            if (incoming[0] != from || incoming[sizes[i] - 1] != from)
                give_up("memory: received data differs from what was sent");
        }
    }
    /* The buffers are the program's, not the library's; both are above malloc's threshold for giving back. */
    free(outgoing);
    free(incoming);

    MPI_Barrier(MPI_COMM_WORLD);
    long mine = pss_kib(), most, sum;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&mine, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result memory ranks=%d mean_kib=%ld most_kib=%ld\n", ranks, sum / ranks, most);
    MPI_Finalize();
    return 0;
}
