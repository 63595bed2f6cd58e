/* beyond MIB: MPI_Alloc_mem of so much, more than there is, is refused, and the ranks go on with what there is. */
#include "check.h"

enum { LENGTH = 4 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char *memory = NULL;
    int partner = size > 1 ? rank ^ 1 : rank;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int round = 0; round < 3; round++) {
        FAILS(MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)atol(argv[1]) << 20, MPI_INFO_NULL, &memory));
        OK(MPI_Alloc_mem(2 * LENGTH, MPI_INFO_NULL, &memory));
        fill(memory, LENGTH, (unsigned)rank);
        OK(MPI_Sendrecv(memory, LENGTH, MPI_BYTE, partner, 0, memory + LENGTH, LENGTH, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        CHECK_BYTES(memory + LENGTH, LENGTH, (unsigned)partner);
        OK(MPI_Free_mem(memory));
    }
    end();
    return 0;
}
