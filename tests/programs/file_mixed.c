// ranks: 1 2 3 5
/* Files: in one collective call some ranks have bytes in a row, long pieces, short pieces or nothing: some make their part before they talk, others go
 * through aggregators. Also from a file that is opened to be read only, in atomic mode, and with an error of one rank. No rank writes early that
 * has looked at the file by itself. Hints of ROMIO_HINTS. */
#include "check.h"

enum { ROW = 5000, SHORT = 30, LONG = 6000, PIECES = 40, REGION = PIECES * LONG * 2, NONE = 0, IN_A_ROW, SHORT_PIECES, LONG_PIECES };

static char path[256], hinted[300];
static MPI_File fh;
static unsigned state = 7;

/* Of the rank: how many bytes, and the view that has them in its slot of each region. */
static int see(MPI_File file, int kind, int slot) {
    static const int bytes[] = {0, ROW, SHORT * PIECES, LONG * PIECES};
    int each = kind == SHORT_PIECES ? SHORT : LONG;
    MPI_Datatype piece, type;
    MPI_Offset start = (MPI_Offset)slot * REGION;
    if (kind == SHORT_PIECES) start = (MPI_Offset)size * REGION + (MPI_Offset)slot * SHORT;
    OK(MPI_Type_contiguous(each, MPI_BYTE, &piece));
    OK(MPI_Type_create_resized(piece, 0, kind == SHORT_PIECES ? SHORT * size : 2 * LONG, &type));
    OK(MPI_Type_commit(&type));
    if (kind == IN_A_ROW) OK(MPI_File_set_view(file, start, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    else OK(MPI_File_set_view(file, start, MPI_BYTE, type, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&piece));
    OK(MPI_Type_free(&type));
    return bytes[kind];
}

static void compare(MPI_File file, int bytes, const char *data, char *back) {
    MPI_Status status;
    int count;
    memset(back, 0, LONG * PIECES);
    OK(MPI_File_read_at_all(file, 0, back, bytes, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && memcmp(back, data, (size_t)bytes) == 0, "%d of %d bytes", count, bytes);
}

static void rounds(char *data, char *back) {
    MPI_File reader;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &reader));
    for (int round = 0; round < 40; round++) {
        int kind = 0, slot = (rank + round) % size;
        for (int other = 0; other < size; other++) {
            int theirs = (int)(next_random(&state) % 4u);
            if (other == rank) kind = theirs;
        }
        OK(MPI_File_set_atomicity(fh, round % 5 == 4));
        int bytes = see(fh, kind, slot);
        for (int i = 0; i < bytes; i++) data[i] = (char)(rank * 31 + round * 7 + i % 251);
        OK(MPI_File_write_at_all(fh, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        compare(fh, bytes, data, back);
        OK(MPI_File_sync(fh));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        see(reader, kind, slot);
        compare(reader, bytes, data, back);
    }
    /* The others' parts are made, and they are told. */
    int bytes = see(fh, IN_A_ROW, rank), class;
    int code = MPI_File_write_at_all(fh, rank == size - 1 ? -1 : 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS, "an offset of -1");
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_ARG, "class %d", class);
    code = MPI_File_write_at_all(reader, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS, "written to a file to be read only");
    OK(MPI_File_close(&reader));
}

/* Programs append behind the size that each rank asks for, and replace what they have read by themselves: the ranks that come late look at the file as
 * it was before any rank has written. */
static void looks(void) {
    enum { BLOCK = 5000 };
    static char block[BLOCK], next[BLOCK];
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_size(fh, 0));
    for (int round = 0; round < 4; round++) {
        MPI_Offset before;
        if (rank % 2 == round % 2) usleep(20000);
        OK(MPI_File_get_size(fh, &before));
        CHECK(before == (MPI_Offset)round * size * BLOCK, "%lld bytes in round %d", (long long)before, round);
        memset(block, round + 1, BLOCK);
        OK(MPI_File_write_at_all(fh, before + (MPI_Offset)rank * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    for (int round = 1; round <= 4; round++) {
        /* What the neighbour replaces in this round. */
        if (rank % 2 == round % 2) usleep(20000);
        OK(MPI_File_read_at(fh, (MPI_Offset)((rank + 1) % size) * BLOCK, next, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(next[0] == round && next[BLOCK - 1] == round, "%d and %d in round %d", next[0], next[BLOCK - 1], round);
        memset(block, round + 1, BLOCK);
        OK(MPI_File_write_at_all(fh, (MPI_Offset)rank * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    OK(MPI_File_close(&fh));
}

static void hints(void) {
    char value[64];
    int flag;
    MPI_Info info;
    if (rank == 0) {
        FILE *file = fopen(hinted, "w");
        CHECK(file != NULL, "%s", hinted);
        fprintf(file, "# a comment\ncb_buffer_size 65536\nromio_cb_read enable\ncb_buffer_size 7\n");
        fclose(file);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    setenv("ROMIO_HINTS", hinted, 1);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_read", "disable"));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    OK(MPI_Info_free(&info));
    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, "cb_buffer_size", 63, value, &flag));
    CHECK(flag && strcmp(value, "65536") == 0, "%s", value);
    OK(MPI_Info_get(info, "romio_cb_read", 63, value, &flag));
    CHECK(flag && strcmp(value, "enable") == 0, "%s", value);
    OK(MPI_Info_free(&info));
    OK(MPI_File_close(&fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) CHECK(unlink(hinted) == 0, "%s", hinted);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long number = getpid();
    char *data = malloc(LONG * PIECES), *back = malloc(LONG * PIECES);
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-mixed-%ld", number);
    snprintf(hinted, sizeof hinted, "%s.hints", path);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    rounds(data, back);
    OK(MPI_File_close(&fh));
    looks();
    hints();
    free(data);
    free(back);
    end();
    return 0;
}
