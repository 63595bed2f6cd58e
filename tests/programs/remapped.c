// ranks: 2
/* Long messages out of and into memory that is unmapped after each, and mapped again at the same address with other contents: nobody
 * ever gets what lay there before. */
#include "check.h"
#include <sys/mman.h>

enum { ROUNDS = 40 };

static int at_the_same;

static char *mapped(size_t length) {
    static void *at;
    char *memory = mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "no memory");
    at_the_same += memory == at;
    at = memory;
    return memory;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static const int lengths[] = {5000, 70000, 300000, 1 << 20, (1 << 20) + 4097};
    for (int i = 0; i < ROUNDS; i++) {
        int length = lengths[i % 5];
        /* The next one, of another length, may begin within the last. */
        char *buffer = mapped((size_t)length);
        /* As MPI_Ssend, a short message is announced, too. */
        if (rank == i % 2) {
            fill(buffer, length, i);
            if (i % 3 == 0)
                OK(MPI_Ssend(buffer, length, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD));
            else
                OK(MPI_Send(buffer, length, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD));
        } else {
            MPI_Status status;
            OK(MPI_Recv(buffer, length, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &status));
            CHECK_BYTES(buffer, length, i);
        }
        CHECK(munmap(buffer, (size_t)length) == 0, "munmap");
    }
    CHECK(at_the_same > 0, "each was mapped elsewhere");
    end();
    return 0;
}
