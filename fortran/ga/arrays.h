/* What all of the Fortran interface of Global Arrays is written with, on the C interface (ga.h). It is compiled twice: INTEGER and LOGICAL have 4 bytes,
 * or 8 (INTEGER_BYTES). Fortran counts from 1, and its first dimension is C's last one. */
#ifndef ISTHMUS_FORTRAN_ARRAYS_H
#define ISTHMUS_FORTRAN_ARRAYS_H

#include <ga-mpi.h>
#include <ga.h>
#include <macdecls.h>
#include <string.h>

#if INTEGER_BYTES == 8
typedef int64_t INTEGER;
#else
typedef int32_t INTEGER;
#endif
typedef INTEGER LOGICAL;
/* Where an element lies, counted from the array of its type in a common block. */
typedef int64_t INDEX;

#define ALIAS(name, of) extern __attribute__((alias(of))) void name(void)
/* A procedure that has two names: ga_X and nga_X. */
#define BOTH(type, name) ALIAS(nga_##name##_, "ga_" #name "_"); type ga_##name##_
/* More names of a procedure. */
#define ALSO(name, of) ALIAS(name##_, #of "_")

#define shared __attribute__((visibility("hidden")))

/* Corners in C's order and count, of as many dimensions as the array has. */
typedef struct { int64_t lo[GA_MAX_DIM], hi[GA_MAX_DIM]; } PATCH;

/* Values in the other order, less something. */
static inline void reversed(int64_t *to, const INTEGER *from, int number, int less) {
    int i;
    for (i = 0; i < number; i++) to[i] = (int64_t)from[number - 1 - i] - less;
}
static inline void reversed_out(INTEGER *to, const int64_t *from, int number, int more) {
    int i;
    for (i = 0; i < number; i++) to[i] = (INTEGER)(from[number - 1 - i] + more);
}
/* How many dimensions an array has, at most as many as there are. */
static inline int dimensions(INTEGER g_a) {
    int number = GA_Ndim((int)g_a);
    return number < 0 ? 0 : number > GA_MAX_DIM ? GA_MAX_DIM : number;
}
static inline PATCH patch(INTEGER g_a, const INTEGER *lo, const INTEGER *hi) {
    PATCH made = {{0}, {0}};
    int number = dimensions(g_a);
    reversed(made.lo, lo, number, 1);
    reversed(made.hi, hi, number, 1);
    return made;
}
static inline PATCH patch2(INTEGER ilo, INTEGER ihi, INTEGER jlo, INTEGER jhi) {
    PATCH made = {{(int64_t)jlo - 1, (int64_t)ilo - 1}, {(int64_t)jhi - 1, (int64_t)ihi - 1}};
    return made;
}

/* Types: INTEGER and LOGICAL are C's of as many bytes; what C answers becomes Fortran's. */
static inline int type_in(INTEGER type) {
    if (INTEGER_BYTES == 8 && (type == MT_F_INT || type == MT_F_LOG)) return MT_C_LONGINT;
    return (int)type;
}
static inline INTEGER type_out(int type) {
    switch (type) {
    case MT_C_CHAR: return MT_F_BYTE;
    case MT_C_INT: return INTEGER_BYTES == 4 ? MT_F_INT : type;
    case MT_C_LONGINT: return INTEGER_BYTES == 8 ? MT_F_INT : type;
    case MT_C_LONGLONG: return INTEGER_BYTES == 8 ? MT_F_INT : type;
    case MT_C_FLOAT: return MT_F_REAL;
    case MT_C_DBL: return MT_F_DBL;
    case MT_C_SCPL: return MT_F_SCPL;
    case MT_C_DCPL: return MT_F_DCPL;
    default: return type;
    }
}

/* A string of Fortran's as C has it, up to its trailing blanks. */
#define TEXT(name) \
    char c_##name[name##_length + 1]; \
    text_in(c_##name, name, name##_length)
static inline void text_in(char *to, const char *text, size_t length) {
    while (length > 0 && text[length - 1] == ' ') length--;
    memcpy(to, text, length);
    to[length] = 0;
}
static inline void text_out(const char *string, char *text, size_t length) {
    size_t given = string ? strlen(string) : 0;
    if (given > length) given = length;
    if (given > 0) memcpy(text, string, given);
    memset(text + given, ' ', length - given);
}

/* The index of an address in the common block of its type; and the type of an array. */
shared INDEX index_of(const void *address, int type);
shared int type_of(INTEGER g_a);

#endif
