// ranks: 2 4
// mpiexec: --set topology=2x2x2
/* Some ranks split by hardware, unguided, and others by nothing at all; only the former are told apart. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm new;
    int members, takes_part = rank > 0, value = rank, sum;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, takes_part ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &new));
    CHECK((new != MPI_COMM_NULL) <= takes_part, "a communicator for MPI_UNDEFINED");
    if (size == 2) CHECK(new == MPI_COMM_NULL, "one rank has nobody to be told from");
    if (size == 4) {
        /* The NUMA nodes are ranks 0 and 1, 2 and 3. */
        CHECK(!takes_part || new != MPI_COMM_NULL, "no communicator");
        if (takes_part) {
            OK(MPI_Comm_size(new, &members));
            CHECK(members == (rank == 1 ? 1 : 2), "%d members", members);
        }
    }
    if (new != MPI_COMM_NULL) OK(MPI_Comm_free(&new));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2, "%d", sum);
    end();
    return 0;
}
