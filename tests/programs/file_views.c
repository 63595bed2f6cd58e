// ranks: 1 2 4
/* Views that are set one straight after the other, with the shared pointer used between them: rank 0 is in a call that sets a view already when others
 * still use the pointer of the view before, and others use that of the new view at once. */
#include "check.h"

enum { ROUNDS = 30, VIEWS = 3, RECORD = 2 };

static MPI_File fh;

/* Each rank's records of a view are there once, one behind the other. */
static void compare(MPI_Offset start, int round, int view) {
    static int found[64 * RECORD], seen[64];
    memset(seen, 0, sizeof seen);
    OK(MPI_File_read_at(fh, start, found, size * RECORD, MPI_INT, MPI_STATUS_IGNORE));
    for (int k = 0; k < size; k++) {
        int from = found[k * RECORD], what = found[k * RECORD + 1];
        CHECK(from >= 0 && from < size && !seen[from] && what == round * VIEWS + view, "record %d of view %d in round %d: %d of %d", k, view,
              round, what, from);
        seen[from] = 1;
    }
}

int main(int argc, char **argv) {
    char path[256];
    begin(&argc, &argv);
    long number = getpid();
    MPI_Offset region, at;
    CHECK(size <= 64, "too many ranks");
    region = size * RECORD * (MPI_Offset)sizeof(int);
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-views-%ld", number);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset start = (MPI_Offset)round * VIEWS * region;
        /* Two in a row, of which the first is used by nobody. */
        OK(MPI_File_set_view(fh, 1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        for (int view = 0; view < VIEWS; view++) {
            int record[RECORD] = {rank, round * VIEWS + view};
            OK(MPI_File_set_view(fh, start + view * region, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
            /* Rank 0 goes on to the next view, others write later; or rank 0 is late itself. */
            if (rank > 0 ? (round + rank) % 3 == 0 : round % 3 == 1) usleep(2000);
            OK(MPI_File_write_shared(fh, record, RECORD, MPI_INT, MPI_STATUS_IGNORE));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_get_position_shared(fh, &at));
        CHECK(at == size * RECORD, "%lld in round %d", (long long)at, round);
        OK(MPI_File_sync(fh));
        OK(MPI_File_set_view(fh, start, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        OK(MPI_File_get_position_shared(fh, &at));
        CHECK(at == 0, "%lld after the last view of round %d", (long long)at, round);
        for (int view = 0; view < VIEWS; view++) compare((MPI_Offset)view * size * RECORD, round, view);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_File_close(&fh));
    end();
    return 0;
}
