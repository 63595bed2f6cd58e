/* Sections of arrays of doubles, up to three levels deep, as a program has them: what is in them, walked by loops, and
 * the same as an MPI datatype. */
#ifndef ISTHMUS_BENCH_SECTIONS_H
#define ISTHMUS_BENCH_SECTIONS_H

#include "touch.h"
#include <mpi.h>

/* extent[0] is the outermost; strides are in doubles. All of it lies in `span` doubles. */
struct section {
    int extent[3], stride[3];
    size_t span;
    MPI_Datatype type;
};

static inline size_t section_count(const struct section *s)
{
    return (size_t)s->extent[0] * (size_t)s->extent[1] * (size_t)s->extent[2];
}

/* Every second of `count` doubles. */
static inline struct section every_second(int count)
{
    struct section s = {{1, 1, count}, {0, 0, 2}, 2 * (size_t)count, MPI_DATATYPE_NULL};
    MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

/* `rows` x `columns` of an array with `width` columns. */
static inline struct section section_2d(int rows, int columns, int width)
{
    struct section s = {{1, rows, columns}, {0, width, 1}, (size_t)rows * (size_t)width, MPI_DATATYPE_NULL};
    int sizes[] = {rows, width}, parts[] = {rows, columns}, starts[] = {0, 0};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

/* `planes` x `rows` x `columns` of an array with `height` rows and `width` columns in each plane. */
static inline struct section section_3d(int planes, int rows, int columns, int height, int width)
{
    struct section s = {{planes, rows, columns},
                        {height * width, width, 1},
                        (size_t)planes * (size_t)height * (size_t)width,
                        MPI_DATATYPE_NULL};
    int sizes[] = {planes, height, width}, parts[] = {planes, rows, columns}, starts[] = {0, 0, 0};
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &s.type);
    MPI_Type_commit(&s.type);
    return s;
}

static inline size_t place_in(const struct section *s, int i, int j, int k)
{
    return (size_t)i * (size_t)s->stride[0] + (size_t)j * (size_t)s->stride[1] + (size_t)k * (size_t)s->stride[2];
}

/* Writes what is in the section, and only that. */
static inline void rewrite_section(double *at, const struct section *s, double seed)
{
    for (int i = 0; i < s->extent[0]; i++)
        for (int j = 0; j < s->extent[1]; j++)
            for (int k = 0; k < s->extent[2]; k++)
                at[place_in(s, i, j, k)] = seed++;
}

/* Whether the section holds what was written, and all that is outside of it holds `outside`. */
static inline int is_written_section(const double *at, const struct section *s, double seed, double outside)
{
    size_t different = 0, untouched = 0;
    for (int i = 0; i < s->extent[0]; i++)
        for (int j = 0; j < s->extent[1]; j++)
            for (int k = 0; k < s->extent[2]; k++)
                different += at[place_in(s, i, j, k)] != seed++;
    for (size_t i = 0; i < s->span; i++)
        untouched += at[i] == outside;
    return different == 0 && untouched == s->span - section_count(s);
}

static inline void fill(double *at, const struct section *s, double value)
{
    for (size_t i = 0; i < s->span; i++)
        at[i] = value;
}

#endif
