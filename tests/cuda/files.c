// ranks: 1 2
// more ranks: 4
/* Files written from and read into memory of every kind. The second word is the file. */
#include "device.h"

static const char *path;
static MPI_File file;
/* Elements of other ranks lie between a rank's own. */
static MPI_Datatype gaps;

/* All ranks have written before one reads. */
static void turn(void) {
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static MPI_Offset place(int n) { return (MPI_Offset)rank * n * (MPI_Offset)sizeof(int); }

static void complete(MPI_Request *request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void counted(const MPI_Status *status, int n) {
    int count;
    OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK(count == n, "%d of %d, %s", count, n, doing);
}

static void at(char *const *b, int n) {
    MPI_Status status;
    OK(MPI_File_write_at(file, place(n), b[0], n, MPI_INT, &status));
    counted(&status, n);
    turn();
    OK(MPI_File_read_at(file, place(n), b[1], n, MPI_INT, &status));
    counted(&status, n);
}

static void at_immediate(char *const *b, int n) {
    MPI_Request request;
    OK(MPI_File_iwrite_at(file, place(n), b[0], n, MPI_INT, &request));
    complete(&request);
    turn();
    OK(MPI_File_iread_at(file, place(n), b[1], n, MPI_INT, &request));
    complete(&request);
}

static void at_all(char *const *b, int n) {
    OK(MPI_File_write_at_all(file, place(n), b[0], n, MPI_INT, MPI_STATUS_IGNORE));
    turn();
    OK(MPI_File_read_at_all(file, place(n), b[1], n, MPI_INT, MPI_STATUS_IGNORE));
}

static void at_all_immediate(char *const *b, int n) {
    MPI_Request request;
    OK(MPI_File_iwrite_at_all(file, place(n), b[0], n, MPI_INT, &request));
    complete(&request);
    turn();
    OK(MPI_File_iread_at_all(file, place(n), b[1], n, MPI_INT, &request));
    complete(&request);
}

static void at_all_split(char *const *b, int n) {
    OK(MPI_File_write_at_all_begin(file, place(n), b[0], n, MPI_INT));
    OK(MPI_File_write_at_all_end(file, b[0], MPI_STATUS_IGNORE));
    turn();
    OK(MPI_File_read_at_all_begin(file, place(n), b[1], n, MPI_INT));
    OK(MPI_File_read_at_all_end(file, b[1], MPI_STATUS_IGNORE));
}

#define OWN_POINTER(name, write, read)                                              \
    static void name(char *const *b, int n) {                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                     \
        OK(MPI_File_seek(file, place(n), MPI_SEEK_SET));                            \
        OK(write);                                                                  \
        complete(&request);                                                         \
        turn();                                                                     \
        OK(MPI_File_seek(file, place(n), MPI_SEEK_SET));                            \
        OK(read);                                                                   \
        complete(&request);                                                         \
    }
OWN_POINTER(own, MPI_File_write(file, b[0], n, MPI_INT, MPI_STATUS_IGNORE), MPI_File_read(file, b[1], n, MPI_INT, MPI_STATUS_IGNORE))
OWN_POINTER(own_all, MPI_File_write_all(file, b[0], n, MPI_INT, MPI_STATUS_IGNORE), MPI_File_read_all(file, b[1], n, MPI_INT, MPI_STATUS_IGNORE))
OWN_POINTER(own_immediate, MPI_File_iwrite(file, b[0], n, MPI_INT, &request), MPI_File_iread(file, b[1], n, MPI_INT, &request))
OWN_POINTER(own_all_immediate, MPI_File_iwrite_all(file, b[0], n, MPI_INT, &request), MPI_File_iread_all(file, b[1], n, MPI_INT, &request))

static void own_split(char *const *b, int n) {
    OK(MPI_File_seek(file, place(n), MPI_SEEK_SET));
    OK(MPI_File_write_all_begin(file, b[0], n, MPI_INT));
    OK(MPI_File_write_all_end(file, b[0], MPI_STATUS_IGNORE));
    turn();
    OK(MPI_File_seek(file, place(n), MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, b[1], n, MPI_INT));
    OK(MPI_File_read_all_end(file, b[1], MPI_STATUS_IGNORE));
}

/* In the order of ranks, so that each reads its own. */
static void ordered(char *const *b, int n) {
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_ordered(file, b[0], n, MPI_INT, MPI_STATUS_IGNORE));
    turn();
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, b[1], n, MPI_INT, MPI_STATUS_IGNORE));
}

static void ordered_split(char *const *b, int n) {
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_ordered_begin(file, b[0], n, MPI_INT));
    OK(MPI_File_write_ordered_end(file, b[0], MPI_STATUS_IGNORE));
    turn();
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered_begin(file, b[1], n, MPI_INT));
    OK(MPI_File_read_ordered_end(file, b[1], MPI_STATUS_IGNORE));
}

/* One rank after the other: the pointer is common. */
static void shared(char *const *b, int n) {
    for (int immediate = 0; immediate < 2; immediate++) {
        OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        for (int write = 1; write >= 0; write--) {
            for (int turn_of = 0; turn_of < size; turn_of++) {
                MPI_Request request = MPI_REQUEST_NULL;
                if (turn_of == rank) {
                    if (write && immediate) OK(MPI_File_iwrite_shared(file, b[0], n, MPI_INT, &request));
                    if (write && !immediate) OK(MPI_File_write_shared(file, b[0], n, MPI_INT, MPI_STATUS_IGNORE));
                    if (!write && immediate) OK(MPI_File_iread_shared(file, b[1], n, MPI_INT, &request));
                    if (!write && !immediate) OK(MPI_File_read_shared(file, b[1], n, MPI_INT, MPI_STATUS_IGNORE));
                    complete(&request);
                }
                OK(MPI_Barrier(MPI_COMM_WORLD));
            }
            turn();
            OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        }
    }
}

static void with_view(char *const *b, int n, const char *representation, MPI_Datatype memory, int count, int is_collective) {
    MPI_Datatype view;
    OK(MPI_Type_create_resized(MPI_INT, 0, 4 * size, &view));
    OK(MPI_Type_commit(&view));
    OK(MPI_File_set_view(file, 4 * rank, MPI_INT, view, representation, MPI_INFO_NULL));
    if (is_collective) {
        OK(MPI_File_write_at_all(file, 0, b[0], count, memory, MPI_STATUS_IGNORE));
        turn();
        OK(MPI_File_read_at_all(file, 0, b[1], count, memory, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_File_write_at(file, 0, b[0], count, memory, MPI_STATUS_IGNORE));
        turn();
        OK(MPI_File_read_at(file, 0, b[1], count, memory, MPI_STATUS_IGNORE));
    }
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&view));
    (void)n;
}

static void gaps_in_the_file(char *const *b, int n) { with_view(b, n, "native", MPI_INT, n, 0); }
static void gaps_in_the_file_together(char *const *b, int n) { with_view(b, n, "native", MPI_INT, n, 1); }
static void gaps_in_memory(char *const *b, int n) { with_view(b, n, "native", gaps, n / 2, 0); }
static void gaps_everywhere(char *const *b, int n) { with_view(b, n, "native", gaps, n / 2, 1); }
static void external(char *const *b, int n) { with_view(b, n, "external32", MPI_INT, n, 1); }
static void external_with_gaps(char *const *b, int n) { with_view(b, n, "external32", gaps, n / 2, 0); }

#define CALL(name) {#name, name, 0}
static const struct call CALLS[] = {
    CALL(at), CALL(at_immediate), CALL(at_all), CALL(at_all_immediate), CALL(at_all_split), CALL(own), CALL(own_all), CALL(own_immediate),
    CALL(own_all_immediate), CALL(own_split), CALL(ordered), CALL(ordered_split), CALL(shared), CALL(gaps_in_the_file), CALL(gaps_in_the_file_together),
    CALL(gaps_in_memory), CALL(gaps_everywhere), CALL(external), CALL(external_with_gaps),
};

static const enum kind KINDS[][BUFFERS] = {{DEVICE, DEVICE}, {MIXED, MIXED}, {HOST, DEVICE}, {DEVICE, HOST}, {MANAGED, OTHER}};

static const int COUNTS[] = {0, 3, 7500, 262145};

static void run(void) {
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    struct table table = {.calls = CALLS, .how_many = HOW_MANY(CALLS), .buffers = 2};
    for (int i = 0; i < HOW_MANY(COUNTS); i++) {
        /* Of what is long, some. */
        table.stride = COUNTS[i] > 10000 ? 3 : 1;
        try_table(&table, KINDS, COUNTS[i] > 10000 ? 1 : HOW_MANY(KINDS), (size_t)COUNTS[i] * sizeof(int), COUNTS[i]);
    }
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&gaps));
}

int main(int argc, char **argv) {
    path = argc > 2 ? argv[2] : "device_file";
    return device_main(argc, argv, run);
}
