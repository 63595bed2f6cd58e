// ranks: 1 2 3 4
/* Files: each procedure does what it says, with every kind of pointer. */
#include "check.h"

static char path[256];
static MPI_File fh;

static void open_new(int amode) { OK(MPI_File_open(MPI_COMM_WORLD, path, amode | MPI_MODE_CREATE, MPI_INFO_NULL, &fh)); }

static int count_of(MPI_Status *status, MPI_Datatype type) {
    int count;
    OK(MPI_Get_count(status, type, &count));
    return count;
}

static void explicit_offsets(void) {
    int out[10], in[10];
    MPI_Status status;
    MPI_Offset at = 10 * (MPI_Offset)rank, bytes;
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 10; i++) out[i] = 100 * rank + i;
    OK(MPI_File_write_at(fh, at, out, 10, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 10, "written");
    OK(MPI_File_sync(fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_size(fh, &bytes));
    CHECK(bytes == 40 * size, "%lld bytes", (long long)bytes);
    int other = (rank + 1) % size;
    OK(MPI_File_read_at(fh, 10 * other, in, 10, MPI_INT, &status));
    for (int i = 0; i < 10; i++) CHECK(in[i] == 100 * other + i, "%d", in[i]);
    /* The file ends within what is asked for. */
    OK(MPI_File_read_at(fh, 10 * size - 3, in, 10, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 3, "read %d", count_of(&status, MPI_INT));
    OK(MPI_File_read_at_all(fh, 10 * size, in, 10, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0, "read beyond the end");

    MPI_Request request;
    for (int i = 0; i < 10; i++) out[i] = 7000 + 100 * rank + i;
    OK(MPI_File_iwrite_at(fh, at, out, 10, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(count_of(&status, MPI_INT) == 10 && request == MPI_REQUEST_NULL, "written");
    OK(MPI_File_iread_at(fh, at, in, 10, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(in[9] == out[9] && count_of(&status, MPI_INT) == 10, "%d", in[9]);
    OK(MPI_File_write_at_all(fh, at, in, 10, MPI_INT, &status));
    OK(MPI_File_iwrite_at_all(fh, at, out, 10, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_File_iread_at_all(fh, 10 * other, in, 10, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(in[0] == 7000 + 100 * other && count_of(&status, MPI_INT) == 10, "%d", in[0]);
    OK(MPI_File_write_at_all_begin(fh, at, out, 10, MPI_INT));
    OK(MPI_File_write_at_all_end(fh, out, &status));
    OK(MPI_File_read_at_all_begin(fh, at, in, 10, MPI_INT));
    OK(MPI_File_read_at_all_end(fh, in, &status));
    CHECK(in[3] == out[3] && count_of(&status, MPI_INT) == 10, "%d", in[3]);
    OK(MPI_File_read_at_c(fh, at, in, 10, MPI_INT, &status));
    OK(MPI_File_write_at_c(fh, at, in, 10, MPI_INT, &status));
}

static void own_pointers(void) {
    int out[4] = {rank, rank + 1, rank + 2, rank + 3}, in[4];
    MPI_Status status;
    MPI_Request request;
    MPI_Offset where;
    /* Every rank sees every size-th group of four. */
    MPI_Datatype tile, wide;
    OK(MPI_Type_contiguous(4, MPI_INT, &tile));
    OK(MPI_Type_create_resized(tile, 0, 16 * size, &wide));
    OK(MPI_Type_commit(&wide));
    OK(MPI_File_set_view(fh, 16 * rank, MPI_INT, wide, "native", MPI_INFO_NULL));
    OK(MPI_File_write(fh, out, 4, MPI_INT, &status));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where == 4, "%lld", (long long)where);
    OK(MPI_File_write_all(fh, out, 4, MPI_INT, &status));
    OK(MPI_File_iwrite(fh, out, 4, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_File_iwrite_all(fh, out, 4, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_File_write_all_begin(fh, out, 4, MPI_INT));
    OK(MPI_File_write_all_end(fh, out, &status));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where == 20, "%lld", (long long)where);
    OK(MPI_File_get_byte_offset(fh, where, &where));
    CHECK(where == 16 * rank + 5 * 16 * size, "%lld", (long long)where);
    OK(MPI_File_sync(fh));
    OK(MPI_File_seek(fh, -4, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &where));
    /* The file ends with what the last rank has written: five groups of each. */
    CHECK(where == 16, "%lld", (long long)where);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    for (int i = 0; i < 5; i++) {
        memset(in, 0, sizeof in);
        if (i == 0) OK(MPI_File_read(fh, in, 4, MPI_INT, &status));
        if (i == 1) OK(MPI_File_read_all(fh, in, 4, MPI_INT, &status));
        if (i == 2) OK(MPI_File_iread(fh, in, 4, MPI_INT, &request));
        if (i == 3) OK(MPI_File_iread_all(fh, in, 4, MPI_INT, &request));
        if (i == 2 || i == 3) OK(MPI_Wait(&request, &status));
        if (i == 4) {
            OK(MPI_File_read_all_begin(fh, in, 4, MPI_INT));
            OK(MPI_File_read_all_end(fh, in, &status));
        }
        CHECK(!memcmp(in, out, sizeof in) && count_of(&status, MPI_INT) == 4, "%d: %d", i, in[0]);
    }
    OK(MPI_File_seek(fh, -1, MPI_SEEK_CUR));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where == 19, "%lld", (long long)where);
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(filetype, &lb, &extent));
    CHECK(disp == 16 * rank && etype == MPI_INT && extent == 16 * size && !strcmp(datarep, "native"), "view");
    OK(MPI_Type_free(&filetype));
    OK(MPI_Type_free(&wide));
    OK(MPI_Type_free(&tile));
    OK(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
    CHECK(extent == 8, "extent");
}

static void shared_pointer(void) {
    int one, in, seen[64] = {0}, all[64];
    MPI_Status status;
    MPI_Request request;
    MPI_Offset where;
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(fh, 0));
    one = rank;
    OK(MPI_File_write_shared(fh, &one, 1, MPI_INT, &status));
    OK(MPI_File_iwrite_shared(fh, &one, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where == 2 * size, "%lld", (long long)where);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_read_shared(fh, &in, 1, MPI_INT, &status));
    seen[in]++;
    OK(MPI_File_iread_shared(fh, &in, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    seen[in]++;
    OK(MPI_Allreduce(seen, all, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[i] == 2, "rank %d's were read %d times", i, all[i]);

    int mine[8], back[8];
    for (int i = 0; i <= rank && i < 8; i++) mine[i] = 10 * rank + i;
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_write_ordered(fh, mine, rank + 1, MPI_INT, &status));
    OK(MPI_File_write_ordered_begin(fh, mine, rank + 1, MPI_INT));
    OK(MPI_File_write_ordered_end(fh, mine, &status));
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where == size * (size + 1), "%lld", (long long)where);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(fh, back, rank + 1, MPI_INT, &status));
    CHECK(!memcmp(mine, back, 4 * (rank + 1)), "%d", back[0]);
    OK(MPI_File_read_ordered_begin(fh, back, rank + 1, MPI_INT));
    OK(MPI_File_read_ordered_end(fh, back, &status));
    CHECK(!memcmp(mine, back, 4 * (rank + 1)) && count_of(&status, MPI_INT) == rank + 1, "%d", back[0]);
}

static void whole(void) {
    MPI_Offset bytes;
    int amode, flag, same;
    MPI_Group group, world;
    MPI_Info info;
    OK(MPI_File_preallocate(fh, 1000));
    OK(MPI_File_get_size(fh, &bytes));
    CHECK(bytes == 1000, "%lld", (long long)bytes);
    OK(MPI_File_set_size(fh, 10));
    OK(MPI_File_get_size(fh, &bytes));
    CHECK(bytes == 10, "%lld", (long long)bytes);
    OK(MPI_File_get_amode(fh, &amode));
    CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_CREATE), "%d", amode);
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(!flag, "atomic");
    OK(MPI_File_set_atomicity(fh, 1));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag, "atomic");
    char byte = 1;
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(fh, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_atomicity(fh, 0));
    OK(MPI_File_get_group(fh, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &same));
    CHECK(same == MPI_IDENT, "group");
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    char value[MPI_MAX_INFO_VAL + 1];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_nodes", "1"));
    OK(MPI_Info_set(info, "cb_buffer_size", "nonsense"));
    OK(MPI_File_set_info(fh, info));
    OK(MPI_Info_free(&info));
    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && !strcmp(value, "1"), "%s", value);
    OK(MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && atoi(value) > 0, "%s", value);
    OK(MPI_Info_free(&info));
}

/* So long that another thread makes them. */
static void long_requests(void) {
    enum { LONG = 1 << 20 };
    unsigned char *out = malloc(2 * LONG), *in = malloc(2 * LONG);
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Offset at = 2 * (MPI_Offset)LONG * rank;
    int done = 0;
    fill(out, 2 * LONG, (unsigned)rank);
    memset(in, 0, 2 * LONG);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_iwrite_at(fh, at, out, LONG, MPI_BYTE, &requests[0]));
    OK(MPI_File_iwrite_at(fh, at + LONG, out + LONG, LONG, MPI_BYTE, &requests[1]));
    OK(MPI_Isend(&done, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Irecv(in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
    CHECK(count_of(&statuses[0], MPI_BYTE) == LONG && count_of(&statuses[1], MPI_BYTE) == LONG, "written");
    OK(MPI_File_iread_at(fh, at, in, 2 * LONG, MPI_BYTE, &requests[0]));
    while (!done) OK(MPI_Test(&requests[0], &done, &statuses[0]));
    CHECK(count_of(&statuses[0], MPI_BYTE) == 2 * LONG, "read");
    CHECK_BYTES(in, 2 * LONG, (unsigned)rank);
    memset(in, 0, 2 * LONG);
    OK(MPI_File_iread_at(fh, at + LONG, in, LONG, MPI_BYTE, &requests[0]));
    OK(MPI_File_iwrite_at(fh, at, out, LONG, MPI_BYTE, &requests[1]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(!memcmp(in, out + LONG, LONG), "read");
    OK(MPI_File_set_size(fh, 0));
    free(in);
    free(out);
}

static void external(void) {
    MPI_Status status;
    short values[3] = {0x0102, rank, -1}, in[3];
    unsigned char bytes[6];
    OK(MPI_File_set_view(fh, 0, MPI_SHORT, MPI_SHORT, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, 3 * rank, values, 3, MPI_SHORT, &status));
    CHECK(count_of(&status, MPI_SHORT) == 3, "written");
    OK(MPI_File_read_at_all(fh, 3 * rank, in, 3, MPI_SHORT, &status));
    CHECK(!memcmp(in, values, 6) && count_of(&status, MPI_SHORT) == 3, "%d", in[0]);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 6 * rank, bytes, 6, MPI_BYTE, &status));
    CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[3] == rank && bytes[5] == 255, "%d %d", bytes[0], bytes[1]);
}

static int doubled(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
    (void)type;
    (void)extra;
    for (int i = 0; i < count; i++) ((int *)file)[position + i] = 2 * ((int *)user)[i];
    return MPI_SUCCESS;
}

static int halved(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
    (void)type;
    (void)extra;
    for (int i = 0; i < count; i++) ((int *)user)[i] = ((int *)file)[position + i] / 2;
    return MPI_SUCCESS;
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra) {
    int bytes;
    (void)extra;
    OK(MPI_Type_size(type, &bytes));
    *extent = bytes;
    return MPI_SUCCESS;
}

static void registered(void) {
    int out[2] = {rank, 21}, in[2];
    OK(MPI_Register_datarep("twice", halved, doubled, extent_of, NULL));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("twice", halved, doubled, extent_of, NULL));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", halved, doubled, extent_of, NULL));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, 2 * rank, out, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(fh, 2 * rank, in, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == rank && in[1] == 21, "%d %d", in[0], in[1]);
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 2 * rank, in, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == 2 * rank && in[1] == 42, "%d %d", in[0], in[1]);
}

/* A header, and the first rank's columns of an array behind it: by the rules of bounds the extent is the array's alone, so that the next filetype would
 * begin within this one. Nothing is accessed there. */
static void header_and_array(void) {
    enum { HEADER = 64, ROWS = 5, OWN = 3 };
    int full[2] = {ROWS, OWN * size}, own[2] = {ROWS, OWN}, at[2] = {0, OWN * rank};
    int data[HEADER + ROWS * OWN], all[HEADER + ROWS * OWN * 4], before = rank ? 0 : HEADER, bytes = HEADER + ROWS * OWN * size;
    MPI_Datatype array, both;
    MPI_Aint low, extent, places[2] = {0, HEADER * (MPI_Aint)sizeof(int)};
    OK(MPI_Type_create_subarray(2, full, own, at, MPI_ORDER_C, MPI_INT, &array));
    int lengths[2] = {before, 1};
    MPI_Datatype parts[2] = {MPI_INT, array};
    OK(MPI_Type_create_struct(2, lengths, places, parts, &both));
    OK(MPI_Type_commit(&both));
    OK(MPI_Type_get_extent(both, &low, &extent));
    CHECK(low == places[1] && extent == (MPI_Aint)sizeof(int) * ROWS * OWN * size, "from %ld, %ld", (long)low, (long)extent);
    static const char *const ways[] = {"automatic", "enable", "disable"};
    for (int way = 0; way < 4; way++) {
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "romio_cb_write", ways[way % 3]));
        OK(MPI_Info_set(info, "romio_cb_read", ways[way % 3]));
        OK(MPI_File_set_size(fh, 0));
        OK(MPI_File_set_view(fh, 0, MPI_INT, both, "native", info));
        OK(MPI_Info_free(&info));
        int count = before + ROWS * OWN;
        for (int i = 0; i < count; i++) data[i] = way * 10000 + rank * 1000 + i;
        if (way < 3) OK(MPI_File_write_at_all(fh, 0, data, count, MPI_INT, MPI_STATUS_IGNORE));
        else OK(MPI_File_write_at(fh, 0, data, count, MPI_INT, MPI_STATUS_IGNORE));
        memset(data, 0, sizeof data);
        if (way < 3) OK(MPI_File_read_at_all(fh, 0, data, count, MPI_INT, MPI_STATUS_IGNORE));
        else OK(MPI_File_read_at(fh, 0, data, count, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++) CHECK(data[i] == way * 10000 + rank * 1000 + i, "way %d: %d at %d", way, data[i], i);
        OK(MPI_File_sync(fh));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_sync(fh));
        OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        OK(MPI_File_read_at(fh, 0, all, bytes, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < HEADER; i++) CHECK(all[i] == way * 10000 + i, "way %d: %d at %d", way, all[i], i);
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < OWN * size; column++) {
                int owner = column / OWN, i = (owner ? 0 : HEADER) + row * OWN + column % OWN;
                int found = all[HEADER + row * OWN * size + column];
                CHECK(found == way * 10000 + owner * 1000 + i, "way %d: %d in row %d, column %d", way, found, row, column);
            }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Type_free(&array));
    OK(MPI_Type_free(&both));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long number = getpid();
    OK(MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/tmp/isthmus-file-%ld", number);
    open_new(MPI_MODE_RDWR);
    explicit_offsets();
    own_pointers();
    shared_pointer();
    whole();
    long_requests();
    external();
    registered();
    header_and_array();
    MPI_File same = MPI_File_f2c(MPI_File_c2f(fh));
    CHECK(same == fh, "integers");
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL, "closed");
    /* Pointers begin at the end. */
    MPI_Offset where;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &fh));
    OK(MPI_File_get_position(fh, &where));
    CHECK(where > 0, "%lld", (long long)where);
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where > 0, "%lld", (long long)where);
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPI_File_close(&fh));
    CHECK(access(path, F_OK) != 0, "deleted");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    open_new(MPI_MODE_WRONLY | MPI_MODE_EXCL);
    OK(MPI_File_close(&fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
    end();
}
