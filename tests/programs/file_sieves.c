// ranks: 2 3 4
/* Files with romio_ds_write=enable: a rank writes back what lies between its pieces, and that is what other ranks write in the same call. Some make their
 * part before they talk (long pieces, a row), others go through aggregators (short pieces): no byte of a rank is lost. */
#include "check.h"

enum { SLOT = 6000, SHORT = 30, PERIODS = 24, BYTES = SLOT * PERIODS, ROUNDS = 60 };
enum { LONG_PIECES, SHORT_PIECES, A_ROW, KINDS };

static MPI_File fh;
/* What the slots of this rank hold. */
static char own[BYTES], back[BYTES], data[BYTES];

/* So many bytes at the start of each slot of this rank. */
static void see(int bytes, MPI_Offset start) {
    MPI_Datatype piece, type;
    OK(MPI_Type_contiguous(bytes, MPI_BYTE, &piece));
    OK(MPI_Type_create_resized(piece, 0, (MPI_Aint)size * SLOT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(fh, start + (MPI_Offset)rank * SLOT, MPI_BYTE, type, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&piece));
    OK(MPI_Type_free(&type));
}

static void write_some(int kind, int round) {
    int each = kind == SHORT_PIECES ? SHORT : SLOT, first = kind == A_ROW ? round % PERIODS : 0;
    int pieces = kind == A_ROW ? 1 : PERIODS;
    for (int piece = 0; piece < pieces; piece++) {
        char *place = own + (size_t)(first + piece) * SLOT;
        for (int at = 0; at < each; at++) place[at] = (char)(round * 13 + rank * 5 + piece + at % 97);
        memcpy(data + (size_t)piece * (size_t)each, place, (size_t)each);
    }
    see(each, (MPI_Offset)first * size * SLOT);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_write_at_all(fh, 0, data, each * pieces, MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    char path[256];
    unsigned state = 11;
    MPI_Info info;
    begin(&argc, &argv);
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-sieves-%ld", number);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_ds_write", "enable"));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    OK(MPI_Info_free(&info));
    for (int round = 0; round < ROUNDS; round++) {
        int kind = LONG_PIECES;
        /* All have long pieces at first, and each its own kind later. */
        for (int other = 0; other < size && round >= ROUNDS / 2; other++) {
            int theirs = (int)(next_random(&state) % KINDS);
            if (other == rank) kind = theirs;
        }
        write_some(kind, round);
        see(SLOT, 0);
        OK(MPI_File_read_at_all(fh, 0, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        for (int at = 0; at < BYTES; at++)
            CHECK(back[at] == own[at], "round %d, kind %d, byte %d: %d for %d", round, kind, at, back[at], own[at]);
    }
    OK(MPI_File_close(&fh));
    end();
    return 0;
}
