/* Random datatypes, and memory with elements of them, every byte of which is watched. Sender and receiver may lay out the
   same elements in different ways. */
#ifndef RANDOM_LAYOUTS_H
#define RANDOM_LAYOUTS_H

#include "choices.h"

enum { GUARD = 64, UNITS = 6 };

/* How so many units lie in an element of a datatype. */
struct layout {
    MPI_Datatype type;
    int units, unit;
    long extent, places[UNITS];
};

/* Elements that go to a process, or come from one. */
struct block {
    const struct layout *layout;
    /* Bytes from the start of the buffer. */
    long at;
    int count, from, to;
};

/* Memory with elements somewhere in it, and how it must look in the end. */
struct area {
    unsigned char *memory, *expected;
    size_t length;
    unsigned char *base;
    /* Memory that all ranks map. */
    int is_mapped;
};

static MPI_Datatype unit_types[5];
static const int unit_sizes[] = {1, 2, 4, 8, 12};

static void make_units(void) {
    MPI_Datatype both;
    OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &both));
    OK(MPI_Type_create_resized(both, 0, 12, &unit_types[4]));
    OK(MPI_Type_free(&both));
    unit_types[0] = MPI_CHAR, unit_types[1] = MPI_SHORT, unit_types[2] = MPI_INT, unit_types[3] = MPI_DOUBLE;
}

/* Some units, in a row or scattered, in any order, perhaps below the element's address. */
static struct layout any_layout(int unit) {
    static const int many[] = {1, 2, 3, 6};
    struct layout layout = {.units = many[any(&own, 4)], .unit = unit_sizes[unit]};
    int dense = any(&own, 2), slots = dense ? layout.units : 2 * layout.units + 1, low = dense ? 0 : any(&own, 5) - 3;
    MPI_Aint places[UNITS];
    char taken[2 * UNITS + 1] = {0};
    for (int i = 0; i < layout.units; i++) {
        int slot = i;
        if (!dense) do slot = any(&own, slots); while (taken[slot]);
        taken[slot] = 1;
        layout.places[i] = places[i] = (slot + low) * layout.unit;
    }
    layout.extent = (slots + (dense ? 0 : any(&own, 2))) * layout.unit;
    if (dense && layout.units == 1) {
        OK(MPI_Type_dup(unit_types[unit], &layout.type));
    } else {
        MPI_Datatype bare;
        OK(MPI_Type_create_hindexed_block(layout.units, 1, places, unit_types[unit], &bare));
        OK(MPI_Type_create_resized(bare, low * layout.unit, layout.extent, &layout.type));
        OK(MPI_Type_free(&bare));
    }
    OK(MPI_Type_commit(&layout.type));
    return layout;
}

static struct area make_area(long low, long high) {
    struct area area = {.length = (size_t)(high - low) + 2 * GUARD, .is_mapped = any(&own, 3) == 0};
    if (area.is_mapped) OK(MPI_Alloc_mem((MPI_Aint)area.length, MPI_INFO_NULL, &area.memory));
    else area.memory = malloc(area.length);
    area.expected = malloc(area.length);
    area.base = area.memory + GUARD - low;
    return area;
}

static void free_area(struct area *area) {
    if (area->is_mapped) OK(MPI_Free_mem(area->memory));
    else free(area->memory);
    free(area->expected);
}

/* Of all blocks. */
static struct area area_of(const struct block *blocks, int count) {
    long low = 0, high = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < blocks[i].layout->units && blocks[i].count > 0; k++) {
            long first = blocks[i].at + blocks[i].layout->places[k];
            long last = first + (blocks[i].count - 1) * blocks[i].layout->extent + blocks[i].layout->unit;
            low = first < low ? first : low;
            high = last > high ? last : high;
        }
    return make_area(low, high);
}

static void scribble(struct area *area) {
    memset(area->memory, 0xa5, area->length);
    memset(area->expected, 0xa5, area->length);
}

static unsigned char *twin(const struct area *area, unsigned char *at) { return area->expected + (at - area->memory); }

/* What process `from` has for process `to`. */
static void put_block(unsigned salt, const struct block *block, unsigned char *base) {
    const struct layout *layout = block->layout;
    unsigned key = scramble(salt + (unsigned)block->from * 7919u + (unsigned)block->to * 104729u);
    unsigned i = 0;
    for (int n = 0; n < block->count; n++)
        for (int k = 0; k < layout->units; k++)
            for (int b = 0; b < layout->unit; b++, i++)
                base[block->at + n * layout->extent + layout->places[k] + b] =
                    (unsigned char)(key * 37u + i * 7u + (i >> 8) * 3u + (key >> 16));
}

#endif
