// ranks: 2 4
/* Files in atomic mode: accesses of several ranks to the same places, each in many pieces, happen one after the other. */
#include "check.h"

enum { PIECES = 300, ROUNDS = 40 };

static MPI_File fh;

/* All pieces come from one write. */
static void is_of_one(const int *seen, int round, const char *when) {
    for (int k = 1; k < PIECES; k++) CHECK(seen[k] == seen[0], "round %d, %s: %d and %d", round, when, seen[0], seen[k]);
}

int main(int argc, char **argv) {
    static int out[PIECES], in[PIECES];
    char path[256];
    MPI_Datatype every_other;
    begin(&argc, &argv);
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-atomic-%ld", number);
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &every_other));
    OK(MPI_Type_commit(&every_other));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_view(fh, 0, MPI_INT, every_other, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(fh, 8 * PIECES));
    OK(MPI_File_set_atomicity(fh, 1));
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < PIECES; k++) out[k] = 1 + round * size + rank;
        OK(MPI_File_write_at(fh, 0, out, PIECES, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_read_at(fh, 0, in, PIECES, MPI_INT, MPI_STATUS_IGNORE));
        is_of_one(in, round, "while others write");
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_write_at_all(fh, 0, out, PIECES, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_read_at_all(fh, 0, in, PIECES, MPI_INT, MPI_STATUS_IGNORE));
        is_of_one(in, round, "after all have written");
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Type_free(&every_other));
    OK(MPI_File_close(&fh));
    end();
}
