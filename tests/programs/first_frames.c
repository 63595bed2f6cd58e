/* first_frames FOLDER: 2 ranks on 2 nodes that have never talked. Rank 0 sends, then computes until rank 1 has got the message, which a file shows;
   then the other way round. The test lets the first frames be lost (ISTHMUS_FAULT): nobody but their sender has them, and it calls nothing. */
#include "check.h"

static char name[4096];

/* So long it computes, at most. */
enum { LIMIT = 10000 };

static void tell(void) {
    FILE *file = fopen(name, "w");
    CHECK(file, "%s", name);
    fclose(file);
}

static void compute(void) {
    int passed = 0;
    while (access(name, F_OK) != 0 && passed < LIMIT) usleep(1000), passed++;
    CHECK(passed < LIMIT, "rank %d has not got it", 1 - rank);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 1 && size == 2, "%d arguments", argc);
    for (int sender = 0; sender < 2; sender++) {
        int value = 7 + sender;
        snprintf(name, sizeof name, "%s/got-%d", argv[1], sender);
        if (rank == sender) {
            OK(MPI_Send(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD));
            compute();
        } else {
            int got = 0;
            OK(MPI_Recv(&got, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(got == value, "%d", got);
            tell();
        }
    }
    end();
    return 0;
}
