// ranks: 1 2
// more ranks: 4
/* Datatypes with gaps in memory of every kind: sent, packed, gathered, and in memory that is named by its address. */
#include "device.h"

enum { MOST_PACKED = 1 << 20 };

static MPI_Datatype type;
static MPI_Aint packed_bytes;
static int to, from;

static void same(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n, type, to, 1, b[1], n, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void from_gaps(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n, type, to, 1, b[1], (int)packed_bytes * n, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void to_gaps(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], (int)packed_bytes * n, MPI_BYTE, to, 1, b[1], n, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void late(char *const *b, int n) {
    MPI_Request request;
    OK(MPI_Issend(b[0], n, type, to, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Probe(from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(b[1], n, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void replaced(char *const *b, int n) {
    OK(MPI_Sendrecv_replace(b[1], n, type, to, 1, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void part_of(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n / 2, type, to, 1, b[1], n, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void itself(char *const *b, int n) {
    OK(MPI_Sendrecv(b[0], n, type, 0, 1, b[1], n, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static void absolute(char *const *b, int n) {
    MPI_Aint at[2];
    MPI_Datatype places[2];
    for (int i = 0; i < 2; i++) {
        OK(MPI_Get_address(b[i], &at[i]));
        OK(MPI_Type_create_struct(1, &n, &at[i], &type, &places[i]));
        OK(MPI_Type_commit(&places[i]));
    }
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, places[0], to, 1, MPI_BOTTOM, 1, places[1], from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++) OK(MPI_Type_free(&places[i]));
}

static void packed(char *const *b, int n) {
    int place = 0, bytes;
    OK(MPI_Pack_size(n, type, MPI_COMM_WORLD, &bytes));
    OK(MPI_Pack(b[0], n, type, b[2], bytes, &place, MPI_COMM_WORLD));
    int filled = place;
    place = 0;
    OK(MPI_Unpack(b[2], filled, &place, b[1], n, type, MPI_COMM_WORLD));
    CHECK(place == filled, "%d of %d", place, filled);
}

static void packed_external(char *const *b, int n) {
    MPI_Aint place = 0, bytes;
    OK(MPI_Pack_external_size("external32", n, type, &bytes));
    OK(MPI_Pack_external("external32", b[0], n, type, b[2], bytes, &place));
    MPI_Aint filled = place;
    place = 0;
    OK(MPI_Unpack_external("external32", b[2], filled, &place, b[1], n, type));
    CHECK(place == filled, "%ld of %ld", (long)place, (long)filled);
}

static void gathered(char *const *b, int n) {
    OK(MPI_Gather(b[0], n, type, b[1], n, type, size - 1, MPI_COMM_WORLD));
}

static void everywhere(char *const *b, int n) {
    OK(MPI_Bcast(b[1], n, type, 0, MPI_COMM_WORLD));
}

static void all_to_all(char *const *b, int n) {
    OK(MPI_Alltoall(b[0], n, type, b[1], n, type, MPI_COMM_WORLD));
}

static void persistent(char *const *b, int n) {
    MPI_Request requests[2];
    OK(MPI_Recv_init(b[1], n, type, from, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send_init(b[0], n, type, to, 1, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < 2; i++) OK(MPI_Request_free(&requests[i]));
}

#define CALL(name) {#name, name, 0}
static const struct call CALLS[] = {
    CALL(same), CALL(from_gaps), CALL(to_gaps), CALL(late), CALL(replaced), CALL(part_of), CALL(itself), CALL(absolute), CALL(packed),
    CALL(packed_external), CALL(gathered), CALL(everywhere), CALL(all_to_all), CALL(persistent),
};

static const enum kind KINDS[][BUFFERS] = {
    {DEVICE, DEVICE, DEVICE}, {MIXED, MIXED, HOST}, {DEVICE, HOST, DEVICE}, {HOST, DEVICE, OTHER}, {OTHER, DEVICE, HOST}, {MANAGED, DEVICE, PINNED},
};

static void vector(void) { OK(MPI_Type_vector(5, 3, 7, MPI_INT, &type)); }
static void rows(void) { OK(MPI_Type_vector(200, 16, 32, MPI_DOUBLE, &type)); }
static void columns(void) { OK(MPI_Type_vector(3000, 1, 3, MPI_INT, &type)); }
static void backward(void) { OK(MPI_Type_create_hvector(6, 2, -12, MPI_INT, &type)); }
static void indexed(void) { OK(MPI_Type_indexed(4, (int[]){3, 1, 0, 2}, (int[]){9, 0, 5, 4}, MPI_SHORT, &type)); }
static void blocks(void) { OK(MPI_Type_create_indexed_block(3, 2, (int[]){6, 0, 3}, MPI_DOUBLE, &type)); }
static void subarray(void) {
    OK(MPI_Type_create_subarray(3, (int[]){8, 9, 10}, (int[]){3, 4, 5}, (int[]){2, 1, 3}, MPI_ORDER_C, MPI_FLOAT, &type));
}
static void structure(void) {
    OK(MPI_Type_create_struct(3, (int[]){1, 2, 5}, (MPI_Aint[]){0, 8, 40}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_CHAR}, &type));
}
static void nested(void) {
    MPI_Datatype inner, middle;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &inner));
    OK(MPI_Type_create_resized(inner, 0, 24, &middle));
    OK(MPI_Type_create_hvector(4, 2, -56, middle, &type));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_free(&middle));
}
static void resized(void) {
    MPI_Datatype inner;
    OK(MPI_Type_vector(4, 1, 8, MPI_INT, &inner));
    OK(MPI_Type_create_resized(inner, 0, 4, &type));
    OK(MPI_Type_free(&inner));
}
static void filled(void) { OK(MPI_Type_contiguous(1001, MPI_INT, &type)); }
static void with_bounds(void) { OK(MPI_Type_create_resized(MPI_INT, -8, 20, &type)); }

static const struct {
    const char *name;
    void (*make)(void);
    int counts[4];
} TYPES[] = {
    {"vector", vector, {0, 1, 5, 400}}, {"rows", rows, {1, 4, -1}}, {"columns", columns, {1, 3, -1}}, {"backward", backward, {1, 8, -1}},
    {"indexed", indexed, {1, 3, 300, -1}}, {"blocks", blocks, {1, 2, 300, -1}}, {"subarray", subarray, {1, 6, -1}}, {"structure", structure, {1, 2, 200, -1}},
    {"nested", nested, {1, 3, 100, -1}}, {"resized", resized, {1, 8, -1}}, {"filled", filled, {1, 20, -1}}, {"with bounds", with_bounds, {1, 500, -1}},
};

static void run(void) {
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int t = 0; t < HOW_MANY(TYPES); t++) {
        MPI_Aint lower, extent, true_lower, true_extent, external;
        char text[64];
        snprintf(text, sizeof text, " %s", TYPES[t].name);
        with = text;
        TYPES[t].make();
        OK(MPI_Type_commit(&type));
        int bytes;
        OK(MPI_Type_size(type, &bytes));
        packed_bytes = bytes;
        OK(MPI_Type_get_extent(type, &lower, &extent));
        OK(MPI_Type_get_true_extent(type, &true_lower, &true_extent));
        for (int i = 0; i < 4 && TYPES[t].counts[i] >= 0; i++) {
            int n = TYPES[t].counts[i];
            OK(MPI_Pack_external_size("external32", n, type, &external));
            size_t base = true_lower < 0 ? (size_t)-true_lower : 0;
            size_t span = base + (size_t)(n * size) * (size_t)(extent > bytes ? extent : bytes) + (size_t)true_extent + (size_t)external;
            /* Alignment of all that the types are made of. */
            base = (base + 15) / 16 * 16, span += 16;
            CHECK(span < MOST_PACKED * 8, "%zu bytes", span);
            struct table table = {.calls = CALLS, .how_many = HOW_MANY(CALLS), .buffers = 3, .base = base};
            try_table(&table, KINDS, span > 100000 ? 3 : HOW_MANY(KINDS), span, n);
        }
        OK(MPI_Type_free(&type));
    }
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
