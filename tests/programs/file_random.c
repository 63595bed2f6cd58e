// ranks: 1 2 3 5 8
// more ranks: 4 7
/* Files: random views, modes of access, pointers and hints, against a model of the file that every rank keeps. */
#include "check.h"

enum { INTS = 6000, MOST = 400, MEMORY = 4 * MOST + 16 };

/* A rank's view: two runs of integers in each tile, the second perhaps empty. */
struct view {
    int start, first, hole, second, tile;
};

struct part {
    struct view view;
    int offset, count, scattered;
};

static char path[256];
static MPI_File fh;
static int model[INTS], length; /* In integers. */
static unsigned state;

static int pick(int below) { return (int)(next_random(&state) % (unsigned)below); }

/* Where integer k of a view is in the file. */
static int place(const struct view *view, int k) {
    int each = view->first + view->second, in = k % each;
    return view->start + k / each * view->tile + (in < view->first ? in : in + view->hole);
}

static MPI_Datatype type_of(const struct view *view) {
    MPI_Datatype runs, resized;
    int lengths[2] = {view->first, view->second}, at[2] = {0, view->first + view->hole};
    OK(MPI_Type_indexed(view->second ? 2 : 1, lengths, at, MPI_INT, &runs));
    OK(MPI_Type_create_resized(runs, 0, 4 * (MPI_Aint)view->tile, &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Type_free(&runs));
    return resized;
}

static int value_of(int round, int who, int k) { return round * 1000003 + who * 1009 + k; }

/* Everyone's views are apart: each has its slot of a tile. */
static void pick_parts(struct part *parts) {
    int slot = 1 + pick(12), gap = pick(3) * pick(9), start = pick(20);
    int shape = pick(3), turn = pick(size);
    for (int r = 0; r < size; r++) {
        struct part *part = &parts[r];
        struct view *view = &part->view;
        int at = (r + turn) % size;
        view->first = shape == 2 && slot >= 3 ? 1 + pick(slot - 2) : slot;
        view->hole = shape == 2 && slot >= 3 ? 1 : 0;
        view->second = shape == 2 && slot >= 3 ? slot - 1 - view->first : 0;
        view->tile = slot * size + gap;
        view->start = start + at * slot;
        if (shape == 1) {
            /* Each has a range of its own. */
            view->first = view->tile = 1;
            view->hole = view->second = 0;
            view->start = start + at * (INTS / 2 / size);
        }
        part->offset = pick(5);
        part->count = pick(4) ? pick(shape == 1 ? INTS / 2 / size - 8 : MOST) : 0;
        if (part->count > MOST) part->count = MOST;
        while (part->count && place(view, part->offset + part->count - 1) >= INTS) part->count /= 2;
        part->scattered = pick(2);
    }
}

static void set_hints(void) {
    static const char *const choices[] = {"automatic", "enable", "disable"};
    static const char *const sizes[] = {"64", "200", "4096", "16777216"};
    char nodes[16];
    MPI_Info info;
    snprintf(nodes, sizeof nodes, "%d", 1 + pick(size));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", choices[pick(3)]));
    OK(MPI_Info_set(info, "romio_cb_read", choices[pick(3)]));
    OK(MPI_Info_set(info, "romio_ds_write", choices[pick(3)]));
    OK(MPI_Info_set(info, "romio_ds_read", choices[pick(3)]));
    OK(MPI_Info_set(info, "cb_buffer_size", sizes[pick(4)]));
    OK(MPI_Info_set(info, "ind_rd_buffer_size", sizes[pick(4)]));
    OK(MPI_Info_set(info, "ind_wr_buffer_size", sizes[pick(4)]));
    OK(MPI_Info_set(info, "striping_unit", pick(2) ? "4096" : "32"));
    OK(MPI_Info_set(info, "cb_nodes", nodes));
    OK(MPI_File_set_info(fh, info));
    OK(MPI_Info_free(&info));
}

static int memory_of(const struct part *part, int k) { return part->scattered ? 3 * k : k; }

/* Let the data travel, by one of many ways. Returns how many integers came. */
static int transfer(const struct part *part, int way, int writes, int *memory) {
    MPI_Datatype filetype = type_of(&part->view), type = MPI_INT;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int count = part->count, ints;
    MPI_Offset at = part->offset;
    if (part->scattered) {
        OK(MPI_Type_create_resized(MPI_INT, 0, 12, &type));
        OK(MPI_Type_commit(&type));
    }
    OK(MPI_File_set_view(fh, 4 * (MPI_Offset)part->view.start, MPI_INT, filetype, pick(2) ? "native" : "internal", MPI_INFO_NULL));
    OK(MPI_Type_free(&filetype));
#define EITHER(read, write, ...) OK(writes ? MPI_File_##write(__VA_ARGS__) : MPI_File_##read(__VA_ARGS__))
    if (way >= 6) OK(MPI_File_seek(fh, at, MPI_SEEK_SET));
    switch (way) {
    case 0: EITHER(read_at, write_at, fh, at, memory, count, type, &status); break;
    case 1: EITHER(read_at_all, write_at_all, fh, at, memory, count, type, &status); break;
    case 2: EITHER(iread_at, iwrite_at, fh, at, memory, count, type, &request); break;
    case 3: EITHER(iread_at_all, iwrite_at_all, fh, at, memory, count, type, &request); break;
    case 4:
    case 5:
        EITHER(read_at_all_begin, write_at_all_begin, fh, at, memory, count, type);
        EITHER(read_at_all_end, write_at_all_end, fh, memory, &status);
        break;
    case 6: EITHER(read, write, fh, memory, count, type, &status); break;
    case 7: EITHER(read_all, write_all, fh, memory, count, type, &status); break;
    case 8: EITHER(iread, iwrite, fh, memory, count, type, &request); break;
    case 9: EITHER(iread_all, iwrite_all, fh, memory, count, type, &request); break;
    case 10:
        EITHER(read_all_begin, write_all_begin, fh, memory, count, type);
        EITHER(read_all_end, write_all_end, fh, memory, &status);
        break;
    }
    if (request != MPI_REQUEST_NULL) OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &ints));
    if (type != MPI_INT) OK(MPI_Type_free(&type));
    return ints;
}

static void write_round(int round) {
    struct part parts[64];
    int memory[MEMORY];
    pick_parts(parts);
    int way = pick(11), atomic = pick(4) == 0;
    OK(MPI_File_set_atomicity(fh, atomic));
    for (int r = 0; r < size; r++)
        for (int k = 0; k < parts[r].count; k++) {
            int at = place(&parts[r].view, parts[r].offset + k);
            model[at] = value_of(round, r, k);
            if (at + 1 > length) length = at + 1;
        }
    memset(memory, -1, sizeof memory);
    for (int k = 0; k < parts[rank].count; k++) memory[memory_of(&parts[rank], k)] = value_of(round, rank, k);
    int came = transfer(&parts[rank], way, 1, memory);
    CHECK(came == parts[rank].count, "round %d, way %d: %d of %d written", round, way, came, parts[rank].count);
    OK(MPI_File_sync(fh));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(fh));
}

static void read_round(int round) {
    struct part parts[64];
    int memory[MEMORY];
    pick_parts(parts);
    int way = pick(11);
    struct part *part = &parts[rank];
    memset(memory, -1, sizeof memory);
    int came = transfer(part, way, 0, memory), expected = 0;
    while (expected < part->count && place(&part->view, part->offset + expected) < length) expected++;
    CHECK(came == expected, "round %d, way %d: %d read, not %d", round, way, came, expected);
    for (int k = 0; k < part->count; k++) {
        int got = memory[memory_of(part, k)], wanted = k < came ? model[place(&part->view, part->offset + k)] : -1;
        CHECK(got == wanted, "round %d, way %d: integer %d of %d is %d, not %d", round, way, k, part->count, got, wanted);
        if (part->scattered) CHECK(memory[3 * k + 1] == -1 && memory[3 * k + 2] == -1, "round %d: what lies between", round);
    }
}

/* Everyone's, in the order of ranks, from where the shared pointer is. */
static void ordered_round(int round) {
    int memory[MOST], counts[64], before = 0, total = 0, start = pick(INTS / 2);
    for (int r = 0; r < size; r++) {
        counts[r] = pick(MOST / 8);
        if (r < rank) before += counts[r];
        total += counts[r];
    }
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_seek_shared(fh, start, MPI_SEEK_SET));
    for (int k = 0; k < counts[rank]; k++) memory[k] = value_of(round, rank, k);
    if (pick(2)) {
        OK(MPI_File_write_ordered(fh, memory, counts[rank], MPI_INT, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_File_write_ordered_begin(fh, memory, counts[rank], MPI_INT));
        OK(MPI_File_write_ordered_end(fh, memory, MPI_STATUS_IGNORE));
    }
    for (int r = 0, at = start; r < size; r++)
        for (int k = 0; k < counts[r]; k++) model[at++] = value_of(round, r, k);
    if (total && start + total > length) length = start + total;
    MPI_Offset where;
    OK(MPI_File_get_position_shared(fh, &where));
    CHECK(where == start + total, "%lld", (long long)where);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(fh, start, MPI_SEEK_SET));
    memset(memory, 0, sizeof memory);
    OK(MPI_File_read_ordered(fh, memory, counts[rank], MPI_INT, MPI_STATUS_IGNORE));
    for (int k = 0; k < counts[rank]; k++) CHECK(memory[k] == value_of(round, rank, k), "round %d: %d", round, memory[k]);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    unsigned long numbers[2] = {(unsigned long)getpid(), 0};
    const char *seed = getenv("SEED");
    numbers[1] = seed ? strtoul(seed, NULL, 10) : 7;
    OK(MPI_Bcast(numbers, 2, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD));
    state = (unsigned)numbers[1] * 977u + (unsigned)size;
    snprintf(path, sizeof path, "/tmp/isthmus-file-random-%lu", numbers[0]);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    for (int round = 1; round <= 60; round++) {
        set_hints();
        write_round(round);
        read_round(round);
        if (round % 5 == 0) ordered_round(round);
        if (round % 13 == 0) {
            length = pick(length + 1);
            OK(MPI_File_set_size(fh, 4 * (MPI_Offset)length));
            memset(model + length, 0, (INTS - length) * sizeof *model);
        }
    }
    OK(MPI_File_close(&fh));
    end();
}
