// ranks: 2
/* Messages of every length whose bytes lie here and there at one end or both: packed into pieces and unpacked from them,
   whether the receive is there first or not, announced or not, cut short, found by a probe, in flight together, to
   oneself. The right bytes move and no others. With an argument, all of it in memory that both ranks map. */
#include "check.h"

enum { SHAPES = 5, HOLE = 0xEE };

/* Bytes in rows of `block`, `stride` apart; the last shape has uneven distances. */
static const int blocks[SHAPES] = {1, 3, 8, 120, 160}, strides[SHAPES] = {1, 5, 24, 200, 200};

/* The type of one element of shape `shape`: 480 bytes of data. */
enum { ELEMENT = 480 };

static MPI_Datatype types[SHAPES];
static long places[SHAPES][ELEMENT], extents[SHAPES];

static int mapped;

static void release(unsigned char *at) {
    if (mapped)
        OK(MPI_Free_mem(at));
    else
        free(at);
}

static void make_types(void) {
    for (int shape = 0; shape < SHAPES; shape++) {
        int count = ELEMENT / blocks[shape];
        MPI_Aint starts[ELEMENT];
        MPI_Datatype rows;
        for (int i = 0; i < count; i++) {
            starts[i] = i * strides[shape] + (shape == SHAPES - 1 ? 7 * (i % 2) : 0);
            for (int j = 0; j < blocks[shape]; j++) places[shape][i * blocks[shape] + j] = starts[i] + j;
        }
        extents[shape] = count * strides[shape] + (shape == 0 || shape == 3 ? 0 : 11);
        OK(MPI_Type_create_hindexed_block(count, blocks[shape], starts, MPI_BYTE, &rows));
        OK(MPI_Type_create_resized(rows, 0, extents[shape], &types[shape]));
        OK(MPI_Type_commit(&types[shape]));
        OK(MPI_Type_free(&rows));
    }
}

/* The first `bytes` bytes of data, where they lie. */
static void put(unsigned char *at, int shape, long bytes, int seed) {
    for (long begin = 0; begin < bytes; begin += ELEMENT, at += extents[shape]) {
        long end = bytes - begin < ELEMENT ? bytes - begin : ELEMENT;
        for (long i = 0; i < end; i++) at[places[shape][i]] = byte_of((unsigned)seed, (size_t)(begin + i));
    }
}

static unsigned char *elements(int shape, int count, int seed) {
    size_t length = (size_t)extents[shape] * (size_t)count + 1;
    unsigned char *at;
    if (mapped)
        OK(MPI_Alloc_mem((MPI_Aint)length, MPI_INFO_NULL, &at));
    else
        at = malloc(length);
    memset(at, HOLE, length);
    if (seed >= 0) put(at, shape, (long)count * ELEMENT, seed);
    return at;
}

/* `got` bytes have arrived in `count` elements, and nothing else has changed. Frees them. */
static void check(unsigned char *at, int shape, int count, long got, int seed) {
    unsigned char *expected = elements(shape, count, -1);
    put(expected, shape, got, seed);
    size_t length = (size_t)extents[shape] * (size_t)count + 1;
    for (size_t i = 0; memcmp(at, expected, length) != 0 && i < length; i++)
        CHECK(at[i] == expected[i], "shape %d, %d elements: byte %zu is %d, not %d", shape, count, i, at[i], expected[i]);
    release(expected);
    release(at);
}

static void one(int from, int to, int count, int how) {
    int room = how == 3 ? count / 2 + 1 : count, seed = from * 16 + to + count;
    long got = (long)(room < count ? room : count) * ELEMENT;
    if (rank == 0) {
        unsigned char *data = elements(from, count, seed);
        MPI_Request request;
        if (how == 1) OK(MPI_Barrier(MPI_COMM_WORLD));
        if (how == 2)
            OK(MPI_Ssend(data, count, types[from], 1, 5, MPI_COMM_WORLD));
        else if (how == 4) {
            OK(MPI_Isend(data, count, types[from], 1, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else
            OK(MPI_Send(data, count, types[from], 1, 5, MPI_COMM_WORLD));
        if (how == 5) OK(MPI_Barrier(MPI_COMM_WORLD));
        release(data);
        return;
    }
    unsigned char *data = elements(to, room, -1);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int code = MPI_SUCCESS, bytes;
    if (how == 1) {
        OK(MPI_Irecv(data, room, types[to], 0, 5, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Wait(&request, &status));
    } else if (how == 4) {
        OK(MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, &status));
        OK(MPI_Mrecv(data, room, types[to], &message, &status));
    } else {
        if (how == 5 && count * ELEMENT < 2048) OK(MPI_Barrier(MPI_COMM_WORLD));
        code = MPI_Recv(data, room, types[to], how == 0 ? MPI_ANY_SOURCE : 0, 5, MPI_COMM_WORLD, &status);
        if (how == 5 && count * ELEMENT >= 2048) OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (room < count) {
        int class;
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
    } else {
        OK(code);
        OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
        CHECK(bytes == got, "%d bytes of %ld", bytes, got);
    }
    check(data, to, room, got, seed);
}

/* Several in flight in both directions, completed in another order. */
static void many(int count) {
    enum { FLIGHTS = 12 };
    MPI_Request requests[2 * FLIGHTS];
    unsigned char *in[FLIGHTS], *out[FLIGHTS];
    for (int i = 0; i < FLIGHTS; i++) {
        out[i] = elements(i % SHAPES, count, rank * FLIGHTS + i);
        in[i] = elements((i + i / SHAPES) % SHAPES, count, -1);
    }
    for (int i = 0; i < FLIGHTS; i++)
        OK(MPI_Isend(out[i], count, types[i % SHAPES], 1 - rank, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = FLIGHTS - 1; i >= 0; i--)
        OK(MPI_Irecv(in[i], count, types[(i + i / SHAPES) % SHAPES], 1 - rank, i, MPI_COMM_WORLD,
                     &requests[FLIGHTS + i]));
    OK(MPI_Waitall(2 * FLIGHTS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < FLIGHTS; i++) {
        check(in[i], (i + i / SHAPES) % SHAPES, count, (long)count * ELEMENT, (1 - rank) * FLIGHTS + i);
        release(out[i]);
    }
}

static void to_self(int from, int to, int count) {
    unsigned char *out = elements(from, count, from), *in = elements(to, count, -1);
    MPI_Request request;
    OK(MPI_Irecv(in, count, types[to], rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Send(out, count, types[from], rank, 6, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(in, to, count, (long)count * ELEMENT, from);
    in = elements(to, count, -1);
    OK(MPI_Isend(out, count, types[from], rank, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, count, types[to], rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(in, to, count, (long)count * ELEMENT, from);
    release(out);
}

int main(int argc, char **argv) {
    /* About 480 B, 2 KiB, 4 KiB, 30 KiB, 128 KiB (the last at once, the first announced), 1 MiB, 3 MiB. */
    static const int counts[] = {1, 4, 5, 9, 64, 273, 274, 2200, 6600};
    begin(&argc, &argv);
    mapped = argc > 1;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    make_types();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int from = 0; from < SHAPES; from++)
            for (int to = 0; to < SHAPES; to++) {
                if (from + to == 0) continue;
                for (int how = 0; how < 6; how++)
                    if (counts[c] < 2000 || how < 2) one(from, to, counts[c], how);
                if (counts[c] < 2000) to_self(from, to, counts[c]);
            }
        if (counts[c] < 300) many(counts[c]);
    }
    for (int shape = 0; shape < SHAPES; shape++) OK(MPI_Type_free(&types[shape]));
    end();
    return 0;
}
