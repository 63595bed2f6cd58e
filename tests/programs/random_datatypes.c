// ranks: 2
// more ranks: 1 3 4
/* Random datatypes between ranks: what one sends from one layout another receives into another, from one element to
   megabytes, whichever way the bytes go and wherever they are cut on it. What the layouts mean is shown elsewhere
   (crates/mpi/tests/datatypes); here packing is the reference.

   random_datatypes [SEED [ROUNDS]]: the seed that is printed gives the same messages again. */
#include "check.h"

#include <time.h>

enum { MOST_INTS = 600, LONGEST = 64 << 20, GUARD = 64 };

/* Elements of a datatype in memory that is watched. */
struct area {
    MPI_Datatype type;
    int ints, count;
    size_t length;
    char *memory, *base;
};

static unsigned seed, own, shared;
static int round_number;

static int any(unsigned *state, int below) { return (int)(next_random(state) % (unsigned)below); }

static int value_at(int from, int i) { return (int)(seed * 31u + (unsigned)round_number * 131071u + (unsigned)from * 8191u) + i; }

/* Elements in a row must not overlap: they take as much room as they need, and perhaps more. */
static MPI_Datatype apart(MPI_Datatype bare) {
    MPI_Datatype type;
    MPI_Aint low, extent;
    OK(MPI_Type_get_true_extent(bare, &low, &extent));
    OK(MPI_Type_create_resized(bare, low, extent + 4 * any(&own, 3), &type));
    OK(MPI_Type_free(&bare));
    return type;
}

static MPI_Datatype any_type(int depth) {
    MPI_Datatype inner, bare;
    MPI_Aint low, extent, places[6];
    int n = 1 + any(&own, 5), length = 1 + any(&own, 3), sign = any(&own, 2) ? 1 : -1, gap = any(&own, 3), slots[6], lengths[6];
    if (depth == 0) {
        OK(MPI_Type_contiguous(length, MPI_INT, &bare));
        return apart(bare);
    }
    inner = any_type(depth - 1);
    OK(MPI_Type_get_extent(inner, &low, &extent));
    for (int i = 0; i < n; i++) {
        int at = any(&own, i + 1);
        slots[i] = slots[at];
        slots[at] = (length + gap) * (i - 2);
    }
    for (int i = 0; i < n; i++) places[i] = slots[i] * extent, lengths[i] = 1 + any(&own, length);
    switch (any(&own, 8)) {
    case 0: OK(MPI_Type_contiguous(n, inner, &bare)); break;
    case 1: OK(MPI_Type_vector(n, length, sign * (length + gap), inner, &bare)); break;
    case 2: OK(MPI_Type_create_hvector(n, length, sign * (length * extent + 4 * gap), inner, &bare)); break;
    case 3: OK(MPI_Type_indexed(n, lengths, slots, inner, &bare)); break;
    case 4: OK(MPI_Type_create_hindexed(n, lengths, places, inner, &bare)); break;
    case 5: OK(MPI_Type_create_hindexed_block(n, length, places, inner, &bare)); break;
    case 6: {
        int sizes[2] = {n + gap, length + 1}, subsizes[2] = {n, length}, starts[2] = {gap, any(&own, 2)};
        OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, sign > 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, &bare));
        break;
    }
    default: {
        MPI_Datatype types[2] = {inner, MPI_INT};
        MPI_Aint behind[2] = {0, low + length * extent + 4 * gap};
        OK(MPI_Type_create_struct(2, (int[]){length, n}, behind, types, &bare));
    }
    }
    OK(MPI_Type_free(&inner));
    return apart(bare);
}

/* At least one element, and at most so many integers, if `at_least` is not set; otherwise that many or more. */
static struct area any_area(int ints, int at_least) {
    struct area area;
    MPI_Aint low, extent, true_low, true_extent;
    do {
        area.type = any_type(any(&own, 4));
        OK(MPI_Type_size(area.type, &area.ints));
        OK(MPI_Type_get_extent(area.type, &low, &extent));
        area.ints /= 4;
        area.count = ints / area.ints + at_least;
        if (area.count == 0) area.count = 1;
        if (area.ints <= MOST_INTS && area.count * extent < LONGEST) break;
        OK(MPI_Type_free(&area.type));
    } while (1);
    OK(MPI_Type_commit(&area.type));
    OK(MPI_Type_get_true_extent(area.type, &true_low, &true_extent));
    area.length = (size_t)(true_extent + (area.count - 1) * extent) + 2 * GUARD;
    area.memory = malloc(area.length);
    memset(area.memory, 0xa5, area.length);
    area.base = area.memory + GUARD - true_low;
    return area;
}

static void free_area(struct area *area) {
    free(area->memory);
    OK(MPI_Type_free(&area->type));
}

/* The first `ints` integers of what `from` sends; the rest is as it was. */
static void put(struct area *area, int from, int ints) {
    int all = area->ints * area->count, position = 0, *stream = malloc((size_t)all * sizeof *stream);
    memset(stream, 0xa5, (size_t)all * sizeof *stream);
    for (int i = 0; i < ints; i++) stream[i] = value_at(from, i);
    OK(MPI_Unpack(stream, 4 * all, &position, area->base, area->count, area->type, MPI_COMM_WORLD));
    free(stream);
}

/* With the next, in one direction or both: every order of sending and receiving. */
static void exchange(int ints, int way, int distance) {
    int next = (rank + distance) % size, previous = (rank + size - distance % size) % size, got, elements;
    struct area out = any_area(ints, 0), in = any_area(ints + MOST_INTS, 1);
    MPI_Request requests[2];
    MPI_Status statuses[2], *status = &statuses[0];
    int sent = out.ints * out.count, expected;
    put(&out, rank, sent);
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, next, 1, &expected, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    switch (way) {
    case 0:
        OK(MPI_Sendrecv(out.base, out.count, out.type, next, 2, in.base, in.count, in.type, previous, 2, MPI_COMM_WORLD, status));
        break;
    case 1:
        OK(MPI_Irecv(in.base, in.count, in.type, previous, 2, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out.base, out.count, out.type, next, 2, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, statuses));
        break;
    case 2:
        OK(MPI_Issend(out.base, out.count, out.type, next, 2, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Probe(previous, 2, MPI_COMM_WORLD, status));
        OK(MPI_Get_elements(status, in.type, &elements));
        CHECK(elements == expected, "seed %u, round %d: %d integers are announced, not %d", seed, round_number, elements, expected);
        OK(MPI_Recv(in.base, in.count, in.type, previous, 2, MPI_COMM_WORLD, status));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Irecv(in.base, in.count, in.type, previous, 2, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Rsend(out.base, out.count, out.type, next, 2, MPI_COMM_WORLD));
        OK(MPI_Wait(&requests[0], status));
    }
    OK(MPI_Get_elements(status, in.type, &elements));
    CHECK(elements == expected, "seed %u, round %d: %d integers came, not %d", seed, round_number, elements, expected);
    OK(MPI_Get_count(status, in.type, &got));
    int whole = expected % in.ints == 0 ? expected / in.ints : MPI_UNDEFINED;
    CHECK(got == whole, "seed %u, round %d: %d elements came, not %d", seed, round_number, got, whole);

    struct area wanted = in;
    wanted.memory = malloc(in.length);
    wanted.base = wanted.memory + (in.base - in.memory);
    memset(wanted.memory, 0xa5, in.length);
    put(&wanted, previous, expected);
    size_t at = 0;
    while (at < in.length && in.memory[at] == wanted.memory[at]) at++;
    CHECK(at == in.length, "seed %u, round %d, way %d: of %d integers from %d, byte %zu of %zu is wrong", seed, round_number, way,
          expected, previous, at, in.length);
    free(wanted.memory);
    free_area(&in);
    free_area(&out);
}

int main(int argc, char **argv) {
    static const int lengths[] = {1, 10, 100, 1000, 2000, 10000, 30000, 100000, 400000};
    begin(&argc, &argv);
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, rounds = argc > 2 ? atoi(argv[2]) : full ? 5000 : 200;
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : full ? (unsigned)time(NULL) : 1;
    OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("seed %u\n", seed), fflush(stdout);
    shared = seed * 2654435761u;
    own = shared + 97u * (unsigned)rank + 1;
    for (round_number = 0; round_number < rounds; round_number++) {
        int ints = lengths[any(&shared, sizeof lengths / sizeof *lengths)] + any(&shared, 20), way = any(&shared, 4);
        exchange(ints, way, 1 + any(&shared, size));
    }
    end();
    return 0;
}
