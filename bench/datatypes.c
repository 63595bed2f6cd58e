/* MPI_Pack and MPI_Unpack beside loops that do the same, on one rank, by size.
 *
 *   datatypes [--seconds S] [WAY-LAYOUT:SIZE ...]
 *
 * WAY is pack or unpack. LAYOUT is
 *   vector    every second double
 *   face2d    a face of a matrix that is 4 doubles deep, of rows of 64 doubles
 *   face3d    a face of a cube that is 2 doubles deep: of planes of 16 x 16 doubles, 2 of 16 in 8 of 16 rows
 *   indexed   blocks of 4 doubles at irregular distances
 *   structs   an array of structures of 24 bytes: two doubles and an int, with a hole of 4 bytes
 * SIZE is what is packed; of structs, what they occupy.
 * The loops are what one writes by hand for just this layout. Their time is `floor`; both are timed in turn.
 * That both give the same bytes, and that unpacking touches nothing else, is checked before and after the timing. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "sections.h"
#include <stddef.h>

enum { FACE_WIDTH = 64, FACE_DEPTH = 4, PLANE = 16, ROWS = 8, COLUMNS = 2, BLOCK = 4 };

struct item {
    double x, y;
    int32_t i;
};

enum layout { VECTOR, FACE2D, FACE3D, INDEXED, STRUCTS, LAYOUTS };
static const char *const names[LAYOUTS] = {"vector", "face2d", "face3d", "indexed", "structs"};

static enum layout layout;
static int elements;         /* repetitions of the loops' outermost level */
static int *places;          /* of the blocks of INDEXED, in doubles */
static MPI_Datatype type;
static int type_count;       /* how often the type is packed */
static int packed_size;      /* bytes */
static size_t array_size;    /* bytes */
static char *array, *packed; /* what is timed */
static char *other_array, *other_packed;

/* ---- by hand ---- */

static void pack_loop(char *restrict to, const char *restrict from)
{
    double *out = (double *)to;
    const double *in = (const double *)from;
    switch (layout) {
    case VECTOR:
        for (int i = 0; i < elements; i++)
            out[i] = in[2 * i];
        break;
    case FACE2D:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < FACE_DEPTH; j++)
                out[i * FACE_DEPTH + j] = in[(size_t)i * FACE_WIDTH + (size_t)j];
        break;
    case FACE3D:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < ROWS; j++)
                for (int k = 0; k < COLUMNS; k++)
                    *out++ = in[((size_t)i * PLANE + (size_t)j) * PLANE + (size_t)k];
        break;
    case INDEXED:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < BLOCK; j++)
                out[i * BLOCK + j] = in[places[i] + j];
        break;
    case STRUCTS:
        for (int i = 0; i < elements; i++) {
            const struct item *item = (const struct item *)from + i;
            memcpy(to, &item->x, 8);
            memcpy(to + 8, &item->y, 8);
            memcpy(to + 16, &item->i, 4);
            to += 20;
        }
        break;
    case LAYOUTS:
        break;
    }
}

static void unpack_loop(char *restrict to, const char *restrict from)
{
    double *out = (double *)to;
    const double *in = (const double *)from;
    switch (layout) {
    case VECTOR:
        for (int i = 0; i < elements; i++)
            out[2 * i] = in[i];
        break;
    case FACE2D:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < FACE_DEPTH; j++)
                out[(size_t)i * FACE_WIDTH + (size_t)j] = in[i * FACE_DEPTH + j];
        break;
    case FACE3D:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < ROWS; j++)
                for (int k = 0; k < COLUMNS; k++)
                    out[((size_t)i * PLANE + (size_t)j) * PLANE + (size_t)k] = *in++;
        break;
    case INDEXED:
        for (int i = 0; i < elements; i++)
            for (int j = 0; j < BLOCK; j++)
                out[places[i] + j] = in[i * BLOCK + j];
        break;
    case STRUCTS:
        for (int i = 0; i < elements; i++) {
            struct item *item = (struct item *)to + i;
            memcpy(&item->x, from, 8);
            memcpy(&item->y, from + 8, 8);
            memcpy(&item->i, from + 16, 4);
            from += 20;
        }
        break;
    case LAYOUTS:
        break;
    }
}

/* ---- by MPI ---- */

static void pack_mpi(char *to, const char *from)
{
    int position = 0;
    MPI_Pack(from, type_count, type, to, packed_size, &position, MPI_COMM_SELF);
}

static void unpack_mpi(char *to, const char *from)
{
    int position = 0;
    MPI_Unpack(from, packed_size, &position, to, type_count, type, MPI_COMM_SELF);
}

/* ---- what is timed ---- */

static void packs_mpi(int count)
{
    for (int i = 0; i < count; i++)
        pack_mpi(packed, array);
}

static void unpacks_mpi(int count)
{
    for (int i = 0; i < count; i++)
        unpack_mpi(array, packed);
}

/* The empty statements keep the compiler from doing less than all of it each time. */
static void packs_loop(int count)
{
    for (int i = 0; i < count; i++) {
        pack_loop(packed, array);
        __asm__ volatile("" : : "r"(packed), "r"(array) : "memory");
    }
}

static void unpacks_loop(int count)
{
    for (int i = 0; i < count; i++) {
        unpack_loop(array, packed);
        __asm__ volatile("" : : "r"(packed), "r"(array) : "memory");
    }
}

static void fill_bytes(char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (char)((seed + i) * 2654435761u >> 24);
}

static void check_data(unsigned seed)
{
    fill_bytes(array, array_size, seed);
    memset(packed, 0x55, (size_t)packed_size);
    memset(other_packed, 0x66, (size_t)packed_size);
    pack_mpi(packed, array);
    pack_loop(other_packed, array);
    if (memcmp(packed, other_packed, (size_t)packed_size) != 0)
        give_up("datatypes: what was packed is not what a loop packs");
    memset(array, 0x77, array_size);
    memset(other_array, 0x77, array_size);
    unpack_mpi(array, packed);
    unpack_loop(other_array, packed);
    if (memcmp(array, other_array, array_size) != 0)
        give_up("datatypes: what was unpacked is not what a loop unpacks");
}

static void take(struct section section)
{
    type = section.type;
    type_count = 1;
    array_size = section.span * sizeof(double);
}

static void prepare(const char *cell)
{
    const char *name = strchr(cell, '-');
    int size = cell_size(cell);
    layout = VECTOR;
    while (name && layout < LAYOUTS && !cell_is(name + 1, names[layout]))
        layout++;
    packed_size = size;
    switch (layout) {
    case VECTOR:
        elements = size / 8;
        take(every_second(elements));
        break;
    case FACE2D:
        elements = size / 8 / FACE_DEPTH;
        take(section_2d(elements, FACE_DEPTH, FACE_WIDTH));
        break;
    case FACE3D:
        elements = size / 8 / ROWS / COLUMNS;
        take(section_3d(elements, ROWS, COLUMNS, PLANE, PLANE));
        break;
    case INDEXED: {
        elements = size / 8 / BLOCK;
        places = malloc((size_t)elements * sizeof *places);
        int next = 0;
        for (int i = 0; i < elements; i++) {
            places[i] = next;
            next += BLOCK + 1 + (int)((unsigned)i * 2654435761u >> 29);
        }
        MPI_Type_create_indexed_block(elements, BLOCK, places, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        type_count = 1;
        array_size = (size_t)next * sizeof(double);
        break;
    }
    case STRUCTS: {
        int lengths[] = {1, 1, 1};
        MPI_Aint offsets[] = {offsetof(struct item, x), offsetof(struct item, y), offsetof(struct item, i)};
        MPI_Datatype parts[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT32_T}, tight;
        MPI_Type_create_struct(3, lengths, offsets, parts, &tight);
        MPI_Type_create_resized(tight, 0, sizeof(struct item), &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&tight);
        elements = type_count = size / (int)sizeof(struct item);
        packed_size = elements * 20;
        array_size = (size_t)elements * sizeof(struct item);
        break;
    }
    case LAYOUTS:
        give_up("datatypes: a cell is pack-LAYOUT:SIZE or unpack-LAYOUT:SIZE");
    }
    array = buffer((int)array_size);
    other_array = buffer((int)array_size);
    packed = buffer(packed_size);
    other_packed = buffer(packed_size);
}

static void put_away(void)
{
    free(array);
    free(other_array);
    free(packed);
    free(other_packed);
    free(places);
    places = NULL;
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    pin(0);
    print_library();
    for (int i = 0; i < a.count; i++) {
        int packs = strncmp(a.cells[i], "pack-", 5) == 0;
        double budget_us = a.seconds * 1e6 / a.count;
        prepare(a.cells[i]);
        check_data(1);
        double loop_us = median(time_operations(packs ? packs_loop : unpacks_loop, 1, budget_us / 2));
        struct samples *samples = time_operations(packs ? packs_mpi : unpacks_mpi, 1, budget_us / 2);
        check_data(1000);
        printf("result datatypes layout=%.*s size=%d floor=%.4f ", (int)strcspn(a.cells[i], ":"), a.cells[i],
               cell_size(a.cells[i]), loop_us);
        print_samples(samples);
        put_away();
    }
    MPI_Finalize();
    return 0;
}
