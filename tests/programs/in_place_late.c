// ranks: 2 4
// mpiexec: --set staging=1M --set collectives=allreduce:shared_direct?,reduce:shared_direct?,reduce_scatter:shared_direct?
/* Many long non-blocking reductions in place under way at once, more than shared memory has room for, some ranks
   late, before the first one or after it: each result is written where others read, so it waits somewhere until they have, and
   nothing else may come there. */
#include "check.h"

#include <unistd.h>

enum { CALLS = 16, COUNT = 25600, ROUNDS = 6 };

static double all[CALLS][COUNT];
static MPI_Request requests[CALLS];

static double element(int from, int call, int i) { return (from + 1) * (call + 3) + i % 601; }

static double sum(int call, int i) {
    double total = 0;
    for (int from = 0; from < size; from++) total += element(from, call, i);
    return total;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int share = COUNT / size;
    for (int i = 0; i < 4; i++) {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int call = 0; call < CALLS; call++)
            for (int i = 0; i < COUNT; i++) all[call][i] = element(rank, call, i);
        if (rank == round % size) usleep(5000);
        for (int call = 0; call < CALLS; call++) {
            /* The others do theirs, and are done with the first one. */
            if (call == 1 && rank == (round + 1) % size) usleep(15000);
            if (call % 3 == 1) {
                OK(MPI_Ireduce_scatter_block(MPI_IN_PLACE, all[call], share, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[call]));
            } else if (call % 3 == 2) {
                void *own = rank == call % size ? MPI_IN_PLACE : all[call], *into = rank == call % size ? all[call] : NULL;
                OK(MPI_Ireduce(own, into, COUNT, MPI_DOUBLE, MPI_SUM, call % size, MPI_COMM_WORLD, &requests[call]));
            } else {
                OK(MPI_Iallreduce(MPI_IN_PLACE, all[call], COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[call]));
            }
        }
        OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
        for (int call = 0; call < CALLS; call++) {
            int is_part = call % 3 == 1, is_mine = call % 3 != 2 || rank == call % size;
            for (int i = 0; i < (is_part ? share : COUNT); i++) {
                double expected = is_mine ? sum(call, is_part ? rank * share + i : i) : element(rank, call, i);
                CHECK(all[call][i] == expected, "round %d, call %d, element %d: %g, not %g", round, call, i, all[call][i], expected);
            }
        }
    }
    end();
    return 0;
}
