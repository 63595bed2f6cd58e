/* Choice buffers of module mpi_f08: descriptors of arrays, in the form of C (TS 29113) or, with GFORTRAN_DESCRIPTOR, in gfortran's own, which
 * programs compiled with MPICH's modules pass. */
#ifndef ISTHMUS_SECTION_H
#define ISTHMUS_SECTION_H

#include "fortran.h"

enum { MOST_DIMENSIONS = 15 };

/* Elements of one size at regular places. */
typedef struct {
    char *base;
    size_t element;
    int rank;
    struct { ptrdiff_t extent, stride; } dimension[MOST_DIMENSIONS];
} STRIDED;

/* A buffer as it is given to C. */
typedef struct {
    void *address;
    MPI_Count count;
    MPI_Datatype datatype;
    /* It cannot be given to C: see `refuse`. */
    int refused;
    int is_made, writes;
    char *copy;
    STRIDED *of;
} SECTION;

/* What is done for a section with gaps: see section.c. */
shared SECTION section_block(const STRIDED *section, MPI_Count count, MPI_Datatype datatype);
shared SECTION section_many(const STRIDED *section, MPI_Datatype datatype, int waits, int writes);
shared SECTION section_whole(const STRIDED *section, int waits, int writes);
shared void section_done(SECTION *section);
/* Raise MPI_ERR_BUFFER for a section that the procedure does not take. */
shared int refuse(const char *procedure, MPI_Comm comm);
shared int refuse_of_win(const char *procedure, MPI_Win win);
shared int refuse_of_session(const char *procedure, MPI_Session session);

#if defined(GFORTRAN_DESCRIPTOR)

/* As gfortran has it since version 9. Strides count spans. */
typedef struct {
    void *base;
    size_t offset, element;
    int version;
    signed char rank, type;
    short attribute;
    ptrdiff_t span;
    struct { ptrdiff_t stride, lower, upper; } dimension[];
} DESCRIPTOR;
#define BASE(descriptor) ((descriptor)->base)
#define RANK_(d) ((d)->rank)
#define ELEMENT_(d) ((d)->element)
#define EXTENT_(d, i) ((d)->dimension[i].upper - (d)->dimension[i].lower + 1)
#define STRIDE_(d, i) ((d)->dimension[i].stride * ((d)->span ? (d)->span : (ptrdiff_t)(d)->element))
#define STRING char
#define TEXT_OF(string) string
#define LENGTH_OF(string) string##_length
#define LENGTH(length) , length
#if defined(PROFILING)
#define CHOICE(name) ALIAS_(MPICH_(name##_f08ts_), TEXT_(name##_f08ts_)); void FORTRAN_(name##_f08ts_)
#define CHOICE_LARGE(name, small) ALIAS_(FORTRAN_(small##_f08ts_large_), TEXT_(name##_f08ts_)); \
    ALIAS_(MPICH_(small##_f08ts_large_), TEXT_(name##_f08ts_)); CHOICE(name)
#else
#define CHOICE(name) void FORTRAN_(name##_f08ts_)
#define CHOICE_LARGE(name, small) ALIAS_(FORTRAN_(small##_f08ts_large_), TEXT_(name##_f08ts_)); CHOICE(name)
#endif

#else

/* CFI_cdesc_t: gfortran and flang agree in what is read here. */
typedef struct {
    void *base;
    size_t element;
    int version;
    signed char rank, unread[3];
    struct { ptrdiff_t lower, extent, stride; } dimension[];
} DESCRIPTOR;
#define BASE(descriptor) ((descriptor)->base)
#define RANK_(d) ((d)->rank)
#define ELEMENT_(d) ((d)->element)
#define EXTENT_(d, i) ((d)->dimension[i].extent)
#define STRIDE_(d, i) ((d)->dimension[i].stride)
#define CHOICE(name) void FORTRAN_(name##_cdesc)
#define CHOICE_LARGE(name, small) CHOICE(name)
/* Strings have descriptors too. */
#define STRING DESCRIPTOR
#define TEXT_OF(string) BASE(string)
#define LENGTH_OF(string) ELEMENT_(string)
#define LENGTH(length)

#endif

/* Are there gaps between the elements? An array of unknown size (its last extent is -1) has none in that dimension; of what is not allocated only the
 * address is known. */
static inline int has_gaps(const DESCRIPTOR *descriptor) {
    ptrdiff_t next = (ptrdiff_t)ELEMENT_(descriptor);
    int i, gaps = 0;
    if (!BASE(descriptor)) return 0;
    for (i = 0; i < RANK_(descriptor); i++) {
        ptrdiff_t extent = EXTENT_(descriptor, i);
        if (extent <= 0) return gaps && extent == -1 && i == RANK_(descriptor) - 1;
        gaps |= extent > 1 && STRIDE_(descriptor, i) != next;
        next *= extent;
    }
    return gaps;
}

static inline STRIDED strided(const DESCRIPTOR *descriptor) {
    STRIDED section = {.base = BASE(descriptor), .element = ELEMENT_(descriptor), .rank = RANK_(descriptor)};
    int i;
    for (i = 0; i < section.rank; i++) {
        section.dimension[i].extent = EXTENT_(descriptor, i);
        section.dimension[i].stride = STRIDE_(descriptor, i);
    }
    return section;
}

static inline SECTION contiguous(const DESCRIPTOR *descriptor, MPI_Count count, MPI_Datatype datatype) {
    return (SECTION){.address = choice_in(BASE(descriptor)), .count = count, .datatype = datatype};
}

/* One run of elements. */
static inline SECTION block(const DESCRIPTOR *descriptor, MPI_Count count, MPI_Datatype datatype) {
    if (__builtin_expect(has_gaps(descriptor), 0)) {
        STRIDED section = strided(descriptor);
        return section_block(&section, count, datatype);
    }
    return contiguous(descriptor, count, datatype);
}

/* Runs of elements at places that MPI computes from the datatype's extent. */
static inline SECTION many(const DESCRIPTOR *descriptor, MPI_Datatype datatype, int waits, int writes) {
    if (__builtin_expect(has_gaps(descriptor), 0)) {
        STRIDED section = strided(descriptor);
        return section_many(&section, datatype, waits, writes);
    }
    return contiguous(descriptor, 0, datatype);
}

/* Elements that must be contiguous. */
static inline SECTION whole(const DESCRIPTOR *descriptor, int waits, int writes) {
    if (__builtin_expect(has_gaps(descriptor), 0)) {
        STRIDED section = strided(descriptor);
        return section_whole(&section, waits, writes);
    }
    return contiguous(descriptor, 0, MPI_BYTE);
}

static inline void done(SECTION *section) {
    if (__builtin_expect(section->is_made || section->copy != NULL, 0)) section_done(section);
}

#endif
