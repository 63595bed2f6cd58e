// ranks: 1 2 4
/* Every predefined operation on every type, and operations of the program, on memory of every kind. */
#include "device.h"

#include "../programs/reference_operations.h"

/* From 256 KiB on an all-reduce of devices' memory is combined there. */
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

enum { ALLREDUCE, IN_PLACE, IMMEDIATE, REDUCE, SCAN, SCATTERED, LOCAL, WAYS };
static const char *const way_names[] = {"Allreduce", "Allreduce in place", "Iallreduce", "Reduce", "Scan", "Reduce_scatter_block", "Reduce_local"};

static const enum kind KINDS[][2] = {{DEVICE, DEVICE}, {MIXED, MIXED}, {HOST, DEVICE}, {DEVICE, HOST}, {MANAGED, OTHER}};

/* What each rank has, one after the other, and what is to come of it. */
static unsigned char values[MOST_RANKS][MOST_COUNT * 32], total[MOST_COUNT * 32], so_far[MOST_COUNT * 32], of_two[MOST_COUNT * 32];
static unsigned char found[MOST_COUNT * 32];

static void expect(const struct element *element, enum operation operation, int extent, int count) {
    size_t bytes = (size_t)(count * extent);
    memcpy(total, values[0], bytes);
    memcpy(so_far, values[0], bytes);
    memcpy(of_two, values[rank], bytes);
    for (int i = 0; i < count; i++) {
        for (int other = 1; other < size; other++) combine(element, operation, total + i * extent, values[other] + i * extent);
        for (int other = 1; other <= rank; other++) combine(element, operation, so_far + i * extent, values[other] + i * extent);
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

static void try_one(const struct element *element, MPI_Datatype type, enum operation operation, int extent, int count, int kinds) {
    MPI_Op op = operation < ADD ? predefined(operation) : own_operations[operation - ADD];
    size_t bytes = (size_t)(count * extent);
    int block = count / size;
    MPI_Request request;
    for (int other = 0; other < size; other++) memset(values[other], 0, bytes);
    for (int other = 0; other < size; other++)
        for (int i = 0; i < count; i++)
            put_value(element, operation, (unsigned)(count * 13 + (int)operation), i, other, size, values[other] + i * extent);
    expect(element, operation, extent, count);
    for (int k = 0; k < kinds; k++) {
        enum kind from = KINDS[k][0], to = KINDS[k][1];
        char *in = memory_of(0, from, MOST_COUNT * 32), *out = memory_of(1, to, MOST_COUNT * 32);
        for (int way = 0; way < WAYS; way++) {
            snprintf(doing, sizeof doing, "%s of %d %s by %s, %s to %s", way_names[way], count, element->name, operation_name(operation),
                     kind_names[from], kind_names[to]);
            store(from, in, values[rank], bytes);
            store(to, out, way == IN_PLACE ? values[rank] : values[(rank + 1) % size], bytes);
            long before = kernels();
            switch (way) {
            case ALLREDUCE: OK(MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD)); break;
            case IN_PLACE: OK(MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, MPI_COMM_WORLD)); break;
            case IMMEDIATE:
                OK(MPI_Iallreduce(in, out, count, type, op, MPI_COMM_WORLD, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                break;
            case REDUCE: OK(MPI_Reduce(in, out, count, type, op, size - 1, MPI_COMM_WORLD)); break;
            case SCAN: OK(MPI_Scan(in, out, count, type, op, MPI_COMM_WORLD)); break;
            case SCATTERED: OK(MPI_Reduce_scatter_block(in, out, block, type, op, MPI_COMM_WORLD)); break;
            default: OK(MPI_Reduce_local(in, out, count, type, op));
            }
            if ((way == ALLREDUCE || way == IN_PLACE) && operation < ADD && from == DEVICE && to == DEVICE && bytes >= ON_DEVICES && size > 1)
                CHECK(kernels() > before, "not by kernels, %s", doing);
            load(to, found, out, bytes);
            const unsigned char *expected = way == LOCAL ? of_two : way == SCAN ? so_far : total;
            if (way == SCATTERED)
                compare(element, operation, extent, expected, rank * block, block);
            else if (way != REDUCE || rank == size - 1)
                compare(element, operation, extent, expected, 0, count);
        }
    }
}

static void run(void) {
    CHECK(size <= MOST_RANKS, "%d ranks", size);
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
            try_one(element, type, (enum operation)operation, (int)extent, 19, HOW_MANY(KINDS));
        }
        /* Long ones of the types that programs use. */
        if (type == MPI_DOUBLE || type == MPI_INT || type == MPI_FLOAT || e == MAP)
            for (int operation = 0; operation < OPERATIONS; operation++)
                if (is_defined((enum operation)operation, element)) try_one(element, type, (enum operation)operation, (int)extent, 5999, 2);
    }
    for (int e = 0; e < ELEMENTS_COUNT; e++)
        if (e != MAP && ELEMENTS[e].type == MPI_DOUBLE)
            for (int operation = 0; operation < ADD; operation++)
                if (is_defined((enum operation)operation, &ELEMENTS[e])) try_one(&ELEMENTS[e], MPI_DOUBLE, (enum operation)operation, 8, MOST_COUNT - 1, 3);
    OK(MPI_Op_free(&own_operations[0]));
    OK(MPI_Op_free(&own_operations[1]));
    OK(MPI_Type_free(&map_type));
}

int main(int argc, char **argv) { return device_main(argc, argv, run); }
