/* Endless traffic of every kind between all ranks, each byte compared, until somebody ends it (or after argv[1] seconds). */
#include "check.h"

enum { LONGEST = 300000 };

int main(int argc, char **argv) {
    double limit = argc > 1 ? atof(argv[1]) : 1e9;
    begin(&argc, &argv);
    char *out = malloc(LONGEST), **in = malloc(size * sizeof *in);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    for (int other = 0; other < size; other++) in[other] = malloc(LONGEST);
    double begun = MPI_Wtime();
    for (unsigned round = 0, on = 1; on; round++) {
        static const int lengths[] = {0, 8, 60, 500, 4000, 20000, 70000, LONGEST};
        int length = lengths[round % 8];
        fill(out, length, round + rank);
        for (int other = 0; other < size; other++) {
            OK(MPI_Irecv(in[other], length, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[2 * other]));
            OK(MPI_Isend(out, length, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[2 * other + 1]));
        }
        OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
        for (int other = 0; other < size; other++) CHECK_BYTES(in[other], length, round + other);
        unsigned sum = 0, mine = MPI_Wtime() - begun < limit;
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD));
        on = sum == (unsigned)size;
        if (round == 10 && rank == 0) {
            printf("busy\n");
            fflush(stdout);
        }
    }
    end();
    return 0;
}
