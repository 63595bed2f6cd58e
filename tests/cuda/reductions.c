// ranks: 1 2 4
/* Every predefined operation on every type, and operations of the program, on memory of every kind. */
#include "device.h"

#include "../programs/reference_operations.h"

/* From 256 KiB on elements of devices' memory are combined there, in blocking calls on one node. */
enum { MOST_RANKS = 8, MOST_COUNT = 40000, ON_DEVICES = 256 << 10 };

static MPI_Datatype map_type;
static MPI_Op own_operations[2];
static const struct element *combined;

/* An operation of the program gets memory that it can read. */
static void add(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) combine(combined, ADD, (unsigned char *)inout + 8 * i, (unsigned char *)in + 8 * i);
}

/* Of lower ranks first. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) {
        unsigned char value[8];
        memcpy(value, (unsigned char *)in + 8 * i, 8);
        combine(combined, COMPOSE, value, (unsigned char *)inout + 8 * i);
        memcpy((unsigned char *)inout + 8 * i, value, 8);
    }
}

enum way { ALLREDUCE, IN_PLACE, IMMEDIATE, REDUCE, SCAN, SCATTERED, LOCAL, SHORT_WAYS, REDUCE_IN_PLACE = SHORT_WAYS, SCAN_IN_PLACE, EXSCAN, EXSCAN_IN_PLACE,
           SCATTERED_IN_PLACE, UNEQUAL, UNEQUAL_IN_PLACE, WAYS };
static const char *const way_names[] = {"Allreduce", "Allreduce in place", "Iallreduce", "Reduce", "Scan", "Reduce_scatter_block", "Reduce_local",
    "Reduce in place", "Scan in place", "Exscan", "Exscan in place", "Reduce_scatter_block in place", "Reduce_scatter", "Reduce_scatter in place"};

/* Are all ranks on one node? */
static int near;

static const enum kind KINDS[][2] = {{DEVICE, DEVICE}, {MIXED, MIXED}, {MAPPED, MAPPED}, {HOST, DEVICE}, {DEVICE, HOST}, {MANAGED, OTHER}};

/* What each rank has, one after the other, and what is to come of it. */
static unsigned char values[MOST_RANKS][MOST_COUNT * 32], total[MOST_COUNT * 32], so_far[MOST_COUNT * 32], before_me[MOST_COUNT * 32], of_two[MOST_COUNT * 32];
static unsigned char found[MOST_COUNT * 32];

static void expect(const struct element *element, enum operation operation, int extent, int count) {
    size_t bytes = (size_t)(count * extent);
    memcpy(total, values[0], bytes);
    memcpy(so_far, values[0], bytes);
    memcpy(before_me, values[0], bytes);
    memcpy(of_two, values[rank], bytes);
    for (int i = 0; i < count; i++) {
        for (int other = 1; other < size; other++) combine(element, operation, total + i * extent, values[other] + i * extent);
        for (int other = 1; other <= rank; other++) combine(element, operation, so_far + i * extent, values[other] + i * extent);
        for (int other = 1; other < rank; other++) combine(element, operation, before_me + i * extent, values[other] + i * extent);
        combine(element, operation, of_two + i * extent, values[(rank + 1) % size] + i * extent);
    }
}

/* Kernels that this process has launched; 0: the driver does not count. */
static long kernels(void) {
    long (*calls)(const char *);
    *(void **)&calls = dlsym(driver, "cuda_calls");
    return calls ? calls("cuLaunchKernel") : 0;
}

static void compare(const struct element *element, enum operation operation, int extent, const unsigned char *expected, int from, int count) {
    for (int i = 0; i < count; i++)
        CHECK(same(element, operation, found + i * extent, expected + (from + i) * extent), "element %d, %s", i, doing);
}

static void try_one(const struct element *element, MPI_Datatype type, enum operation operation, int extent, int count, int kinds, int ways) {
    MPI_Op op = operation < ADD ? predefined(operation) : own_operations[operation - ADD];
    size_t bytes = (size_t)(count * extent);
    int block = count / size, counts[MOST_RANKS], first = 0;
    MPI_Request request;
    /* The first rank gets nothing, the last one what is left. */
    for (int other = 0, left = count; other < size; other++) {
        counts[other] = other == size - 1 ? left : other * (count / (size * size));
        if (other < rank) first += counts[other];
        left -= counts[other];
    }
    for (int other = 0; other < size; other++) memset(values[other], 0, bytes);
    for (int other = 0; other < size; other++)
        for (int i = 0; i < count; i++)
            put_value(element, operation, (unsigned)(count * 13 + (int)operation), i, other, size, values[other] + i * extent);
    expect(element, operation, extent, count);
    for (int k = 0; k < kinds; k++) {
        enum kind from = KINDS[k][0], to = KINDS[k][1];
        char *in = memory_of(0, from, MOST_COUNT * 32), *out = memory_of(1, to, MOST_COUNT * 32);
        for (int way = 0; way < ways; way++) {
            snprintf(doing, sizeof doing, "%s of %d %s by %s, %s to %s", way_names[way], count, element->name, operation_name(operation),
                     kind_names[from], kind_names[to]);
            store(from, in, values[rank], bytes);
            int in_place = way == IN_PLACE || way == REDUCE_IN_PLACE || way == SCAN_IN_PLACE || way == EXSCAN_IN_PLACE || way == SCATTERED_IN_PLACE || way == UNEQUAL_IN_PLACE;
            void *given = in_place && (way != REDUCE_IN_PLACE || rank == size - 1) ? MPI_IN_PLACE : in;
            store(to, out, in_place ? values[rank] : values[(rank + 1) % size], bytes);
            long before = kernels();
            switch (way) {
            case ALLREDUCE:
            case IN_PLACE: OK(MPI_Allreduce(given, out, count, type, op, MPI_COMM_WORLD)); break;
            case IMMEDIATE:
                OK(MPI_Iallreduce(in, out, count, type, op, MPI_COMM_WORLD, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                break;
            case REDUCE:
            case REDUCE_IN_PLACE: OK(MPI_Reduce(given, out, count, type, op, size - 1, MPI_COMM_WORLD)); break;
            case SCAN:
            case SCAN_IN_PLACE: OK(MPI_Scan(given, out, count, type, op, MPI_COMM_WORLD)); break;
            case EXSCAN:
            case EXSCAN_IN_PLACE: OK(MPI_Exscan(given, out, count, type, op, MPI_COMM_WORLD)); break;
            case SCATTERED:
            case SCATTERED_IN_PLACE: OK(MPI_Reduce_scatter_block(given, out, block, type, op, MPI_COMM_WORLD)); break;
            case UNEQUAL:
            case UNEQUAL_IN_PLACE: OK(MPI_Reduce_scatter(given, out, counts, type, op, MPI_COMM_WORLD)); break;
            default: OK(MPI_Reduce_local(in, out, count, type, op));
            }
            int has_part = way != UNEQUAL && way != UNEQUAL_IN_PLACE ? 1 : counts[rank] > 0;
            if (near && has_part && way != IMMEDIATE && operation < ADD && (from == DEVICE || from == MAPPED) && from == to && bytes >= ON_DEVICES + 8 * MOST_RANKS && size > 1)
                CHECK(kernels() > before, "not by kernels, %s", doing);
            load(to, found, out, bytes);
            switch (way) {
            case LOCAL: compare(element, operation, extent, of_two, 0, count); break;
            case SCAN:
            case SCAN_IN_PLACE: compare(element, operation, extent, so_far, 0, count); break;
            case EXSCAN:
            case EXSCAN_IN_PLACE: if (rank > 0) compare(element, operation, extent, before_me, 0, count); break;
            case REDUCE:
            case REDUCE_IN_PLACE: if (rank == size - 1) compare(element, operation, extent, total, 0, count); break;
            case SCATTERED:
            case SCATTERED_IN_PLACE: compare(element, operation, extent, total, rank * block, block); break;
            case UNEQUAL:
            case UNEQUAL_IN_PLACE: compare(element, operation, extent, total, first, counts[rank]); break;
            default: compare(element, operation, extent, total, 0, count);
            }
        }
    }
}

static void run(void) {
    MPI_Comm node;
    CHECK(size <= MOST_RANKS, "%d ranks", size);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &near));
    OK(MPI_Comm_free(&node));
    near = near == size;
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type));
    OK(MPI_Type_commit(&map_type));
    combined = &ELEMENTS[MAP];
    OK(MPI_Op_create(add, 1, &own_operations[0]));
    OK(MPI_Op_create(compose, 0, &own_operations[1]));
    for (int e = 0; e < ELEMENTS_COUNT; e++) {
        const struct element *element = &ELEMENTS[e];
        MPI_Datatype type = e == MAP ? map_type : element->type;
        MPI_Aint lower, extent;
        if (type == MPI_DATATYPE_NULL) continue;
        OK(MPI_Type_get_extent(type, &lower, &extent));
        for (int operation = 0; operation < OPERATIONS; operation++) {
            if (!is_defined((enum operation)operation, element)) continue;
            try_one(element, type, (enum operation)operation, (int)extent, 19, HOW_MANY(KINDS), SHORT_WAYS);
        }
        /* Long ones of the types that programs use. */
        if (type == MPI_DOUBLE || type == MPI_INT || type == MPI_FLOAT || e == MAP)
            for (int operation = 0; operation < OPERATIONS; operation++)
                if (is_defined((enum operation)operation, element)) try_one(element, type, (enum operation)operation, (int)extent, 5999, 2, SHORT_WAYS);
    }
    for (int e = 0; e < ELEMENTS_COUNT; e++)
        if (e != MAP && ELEMENTS[e].type == MPI_DOUBLE)
            for (int operation = 0; operation < ADD; operation++)
                if (is_defined((enum operation)operation, &ELEMENTS[e])) try_one(&ELEMENTS[e], MPI_DOUBLE, (enum operation)operation, 8, MOST_COUNT - 1, 3, WAYS);
    OK(MPI_Op_free(&own_operations[0]));
    OK(MPI_Op_free(&own_operations[1]));
    OK(MPI_Type_free(&map_type));
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
