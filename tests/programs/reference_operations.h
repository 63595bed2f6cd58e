/* Every predefined operation on every type it is defined for, the slow and obvious way: values that are worth combining,
   extreme ones among them, and what they make one after the other.

   Numbers are wide here: integers are 128 bits, floating-point ones quad precision, rounded to their own type at each step.
   Values are such that the order does not matter: sums and products of floating-point numbers are exact, or infinite, or
   not numbers, whatever comes first. */
#ifndef REFERENCE_OPERATIONS_H
#define REFERENCE_OPERATIONS_H

#include "choices.h"

typedef __int128 integer;
typedef _Float128 real;

/* What the bytes of an element are. */
enum family { C_INTEGER, OTHER_INTEGER, BYTES, REALS, COMPLEXES, TRUTHS, PAIRS, MAPS };
/* How a number is stored. */
enum form_of_number { SIGNED, UNSIGNED, HALF, SINGLE, DOUBLE, EXTENDED, QUAD };

struct element {
    const char *name;
    MPI_Datatype type;
    enum family family;
    enum form_of_number number;
    /* Of a number, in bytes; an element has one, or two for complex numbers and maps. */
    int width;
    /* Of the index in a pair. */
    int index_at;
    enum form_of_number index_number;
};

#define ONE(type, family, number, width) {#type, type, family, number, width, 0, 0}
#define PAIR_OF(type, number, width, index_at, index_number) {#type, type, PAIRS, number, width, index_at, index_number}

static const struct element ELEMENTS[] = {
    /* For the standard a printable character, for everybody else a number. */
    ONE(MPI_CHAR, C_INTEGER, SIGNED, 1),
    ONE(MPI_SIGNED_CHAR, C_INTEGER, SIGNED, 1), ONE(MPI_UNSIGNED_CHAR, C_INTEGER, UNSIGNED, 1),
    ONE(MPI_SHORT, C_INTEGER, SIGNED, 2), ONE(MPI_UNSIGNED_SHORT, C_INTEGER, UNSIGNED, 2),
    ONE(MPI_INT, C_INTEGER, SIGNED, 4), ONE(MPI_UNSIGNED, C_INTEGER, UNSIGNED, 4),
    ONE(MPI_LONG, C_INTEGER, SIGNED, 8), ONE(MPI_UNSIGNED_LONG, C_INTEGER, UNSIGNED, 8),
    ONE(MPI_LONG_LONG, C_INTEGER, SIGNED, 8), ONE(MPI_UNSIGNED_LONG_LONG, C_INTEGER, UNSIGNED, 8),
    ONE(MPI_INT8_T, C_INTEGER, SIGNED, 1), ONE(MPI_UINT8_T, C_INTEGER, UNSIGNED, 1),
    ONE(MPI_INT16_T, C_INTEGER, SIGNED, 2), ONE(MPI_UINT16_T, C_INTEGER, UNSIGNED, 2),
    ONE(MPI_INT32_T, C_INTEGER, SIGNED, 4), ONE(MPI_UINT32_T, C_INTEGER, UNSIGNED, 4),
    ONE(MPI_INT64_T, C_INTEGER, SIGNED, 8), ONE(MPI_UINT64_T, C_INTEGER, UNSIGNED, 8),
    ONE(MPI_INTEGER, OTHER_INTEGER, SIGNED, 4), ONE(MPI_INTEGER1, OTHER_INTEGER, SIGNED, 1),
    ONE(MPI_INTEGER2, OTHER_INTEGER, SIGNED, 2), ONE(MPI_INTEGER4, OTHER_INTEGER, SIGNED, 4),
    ONE(MPI_INTEGER8, OTHER_INTEGER, SIGNED, 8), ONE(MPI_INTEGER16, OTHER_INTEGER, SIGNED, 16),
    /* For the standard not for logical operations, but everybody takes them. */
    ONE(MPI_AINT, C_INTEGER, SIGNED, 8), ONE(MPI_COUNT, C_INTEGER, SIGNED, 8), ONE(MPI_OFFSET, C_INTEGER, SIGNED, 8),
    ONE(MPI_BYTE, BYTES, UNSIGNED, 1),
    ONE(MPI_FLOAT, REALS, SINGLE, 4), ONE(MPI_DOUBLE, REALS, DOUBLE, 8), ONE(MPI_LONG_DOUBLE, REALS, EXTENDED, 16),
    ONE(MPI_REAL, REALS, SINGLE, 4), ONE(MPI_DOUBLE_PRECISION, REALS, DOUBLE, 8), ONE(MPI_REAL2, REALS, HALF, 2),
    ONE(MPI_REAL4, REALS, SINGLE, 4), ONE(MPI_REAL8, REALS, DOUBLE, 8), ONE(MPI_REAL16, REALS, QUAD, 16),
    ONE(MPI_C_FLOAT_COMPLEX, COMPLEXES, SINGLE, 4), ONE(MPI_C_DOUBLE_COMPLEX, COMPLEXES, DOUBLE, 8),
    ONE(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEXES, EXTENDED, 16), ONE(MPI_CXX_FLOAT_COMPLEX, COMPLEXES, SINGLE, 4),
    ONE(MPI_CXX_DOUBLE_COMPLEX, COMPLEXES, DOUBLE, 8), ONE(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEXES, EXTENDED, 16),
    ONE(MPI_COMPLEX, COMPLEXES, SINGLE, 4), ONE(MPI_DOUBLE_COMPLEX, COMPLEXES, DOUBLE, 8),
    ONE(MPI_COMPLEX4, COMPLEXES, HALF, 2), ONE(MPI_COMPLEX8, COMPLEXES, SINGLE, 4),
    ONE(MPI_COMPLEX16, COMPLEXES, DOUBLE, 8), ONE(MPI_COMPLEX32, COMPLEXES, QUAD, 16),
    ONE(MPI_C_BOOL, TRUTHS, UNSIGNED, 1), ONE(MPI_CXX_BOOL, TRUTHS, UNSIGNED, 1), ONE(MPI_LOGICAL, TRUTHS, SIGNED, 4),
    ONE(MPI_LOGICAL1, TRUTHS, SIGNED, 1), ONE(MPI_LOGICAL2, TRUTHS, SIGNED, 2), ONE(MPI_LOGICAL4, TRUTHS, SIGNED, 4),
    ONE(MPI_LOGICAL8, TRUTHS, SIGNED, 8), ONE(MPI_LOGICAL16, TRUTHS, SIGNED, 16),
    PAIR_OF(MPI_FLOAT_INT, SINGLE, 4, 4, SIGNED), PAIR_OF(MPI_DOUBLE_INT, DOUBLE, 8, 8, SIGNED),
    PAIR_OF(MPI_LONG_INT, SIGNED, 8, 8, SIGNED), PAIR_OF(MPI_2INT, SIGNED, 4, 4, SIGNED),
    PAIR_OF(MPI_SHORT_INT, SIGNED, 2, 4, SIGNED), PAIR_OF(MPI_LONG_DOUBLE_INT, EXTENDED, 16, 16, SIGNED),
    PAIR_OF(MPI_2INTEGER, SIGNED, 4, 4, SIGNED), PAIR_OF(MPI_2REAL, SINGLE, 4, 4, SINGLE),
    PAIR_OF(MPI_2DOUBLE_PRECISION, DOUBLE, 8, 8, DOUBLE),
    /* Functions x -> a x + b, for operations of our own; see the types of the same size that the program makes. */
    {"pair of unsigned", MPI_DATATYPE_NULL, MAPS, UNSIGNED, 4, 0, 0},
};
enum { ELEMENTS_COUNT = sizeof ELEMENTS / sizeof *ELEMENTS, MAP = ELEMENTS_COUNT - 1 };

enum operation { SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, ADD, COMPOSE, OPERATIONS };

static MPI_Op predefined(enum operation operation) {
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR,
                          MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    return operation < ADD ? ops[operation] : MPI_OP_NULL;
}

__attribute__((unused)) static const char *operation_name(enum operation operation) {
    static const char *const names[] = {"SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR",
                                        "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC", "add", "compose"};
    return names[operation];
}

/* The table of MPI-5.0 6.9.2 and 6.9.4. */
static int is_defined(enum operation operation, const struct element *element) {
    enum family family = element->family;
    switch (operation) {
    case SUM: case PROD: return family == C_INTEGER || family == OTHER_INTEGER || family == REALS || family == COMPLEXES;
    case MIN: case MAX: return family == C_INTEGER || family == OTHER_INTEGER || family == REALS;
    case LAND: case LOR: case LXOR: return family == C_INTEGER || family == TRUTHS;
    case BAND: case BOR: case BXOR: return family == C_INTEGER || family == OTHER_INTEGER || family == BYTES;
    case MINLOC: case MAXLOC: return family == PAIRS;
    default: return family == MAPS;
    }
}

static integer integer_at(const void *at, enum form_of_number number, int width) {
    unsigned __int128 bits = 0;
    memcpy(&bits, at, (size_t)width);
    int unused = 128 - 8 * width;
    return number == SIGNED ? (integer)(bits << unused) >> unused : (integer)bits;
}

static real real_at(const void *at, enum form_of_number number) {
    union { _Float16 half; float single; double twice; long double extended; real quad; } value;
    static const int widths[] = {[HALF] = 2, [SINGLE] = 4, [DOUBLE] = 8, [EXTENDED] = 16, [QUAD] = 16};
    memcpy(&value, at, (size_t)widths[number]);
    switch (number) {
    case HALF: return (real)value.half;
    case SINGLE: return (real)value.single;
    case DOUBLE: return (real)value.twice;
    case EXTENDED: return (real)value.extended;
    default: return value.quad;
    }
}

static void put_real(void *at, enum form_of_number number, real value) {
    switch (number) {
    case HALF: memcpy(at, &(_Float16){(_Float16)value}, 2); break;
    case SINGLE: memcpy(at, &(float){(float)value}, 4); break;
    case DOUBLE: memcpy(at, &(double){(double)value}, 8); break;
    /* The padding stays. */
    case EXTENDED: memcpy(at, &(long double){(long double)value}, 10); break;
    default: memcpy(at, &value, 16); break;
    }
}

/* The largest finite number, and the smallest that is not zero. */
static real largest(enum form_of_number number) {
    switch (number) {
    case HALF: return __FLT16_MAX__;
    case SINGLE: return __FLT_MAX__;
    case DOUBLE: return __DBL_MAX__;
    case EXTENDED: return __LDBL_MAX__;
    default: return __FLT128_MAX__;
    }
}

static real smallest(enum form_of_number number) {
    switch (number) {
    case HALF: return __FLT16_DENORM_MIN__;
    case SINGLE: return __FLT_DENORM_MIN__;
    case DOUBLE: return __DBL_DENORM_MIN__;
    case EXTENDED: return __LDBL_DENORM_MIN__;
    default: return __FLT128_DENORM_MIN__;
    }
}

/* Process `from` of `all`, `kind` alike on all of them, `r` not. */
static real real_value(enum form_of_number number, enum operation operation, unsigned kind, unsigned r, int from, int all) {
    const real infinity = __builtin_inff(), small[] = {1, -1, 1, -1};
    int chosen = (int)(kind >> 8) % all == from;
    switch (operation) {
    case SUM:
        switch (kind % 6) {
        case 0: return r % 3 ? (kind & 64 ? infinity : -infinity) : 1;
        case 1: return r % 3 ? (real)__builtin_nanf("") : 2;
        case 2: return (real)(int)(r % 17 - 8) * smallest(number);
        case 3: return r % 2 ? largest(number) : 0;
        case 4: return r % 2 ? (real)-0.0 : 0;
        default: return (real)(int)(r % 17) - 8;
        }
    case PROD:
        switch (kind % 6) {
        case 0: return r % 3 ? small[r >> 8 & 3] : infinity;
        case 1: return r % 3 ? (real)__builtin_nanf("") : 1;
        case 2: return chosen ? smallest(number) : small[r & 3];
        case 3: return r % 2 ? largest(number) : small[r >> 8 & 3];
        case 4: return r % 2 ? (real)0 : small[r >> 8 & 3];
        default: return from % 4 == 0 ? 2 : from % 4 == 1 ? (real)0.5 : small[r & 3];
        }
    default: {
        /* Equal ones are the rule, so that indexes matter. */
        const real values[] = {0, infinity, -infinity, largest(number), -largest(number), smallest(number), 3, -3};
        return kind % 2 ? values[r % 8] : (real)(r % 3);
    } }
}

static integer integer_value(enum operation operation, enum form_of_number number, int width, unsigned kind, unsigned r) {
    unsigned __int128 bits = scramble(r);
    for (int i = 1; i < 4; i++) bits = bits << 32 | scramble(r + (unsigned)i);
    integer most = number == SIGNED ? (integer)(((unsigned __int128)1 << (8 * width - 1)) - 1)
                                    : (integer)(width == 16 ? ~(unsigned __int128)0 : ((unsigned __int128)1 << 8 * width) - 1);
    integer least = number == SIGNED ? -most - 1 : 0;
    if (operation >= LAND && operation <= LXOR) return r % 3 ? kind % 2 ? (integer)bits | 1 : 1 : 0;
    switch (r % (kind % 3 ? 4 : 8)) {
    case 0: return least;
    case 1: return most;
    case 2: return kind % 2 ? 0 : -1;
    case 3: return operation == MINLOC || operation == MAXLOC ? 1 : (integer)bits;
    default: return (integer)bits;
    }
}

/* Element i of process `from` of `all`. */
__attribute__((unused)) static void put_value(const struct element *element, enum operation operation, unsigned salt, int i,
                                              int from, int all, unsigned char *at) {
    unsigned kind = scramble(salt + (unsigned)i * 77u), r = scramble(kind + 1000003u * (unsigned)(from + 1));
    switch (element->family) {
    case C_INTEGER: case OTHER_INTEGER: case BYTES:
        memcpy(at, &(integer){integer_value(operation, element->number, element->width, kind, r)}, (size_t)element->width);
        break;
    case TRUTHS: memcpy(at, &(integer){r % 3 != 0}, (size_t)element->width); break;
    case REALS: put_real(at, element->number, real_value(element->number, operation, kind, r, from, all)); break;
    case COMPLEXES: {
        real re, im = 0;
        if (operation == SUM) {
            re = real_value(element->number, SUM, kind, r, from, all);
            im = real_value(element->number, SUM, scramble(kind), scramble(r), from, all);
        } else {
            const real units[] = {1, 0, -1, 0, 1};
            re = units[r % 4];
            im = units[r % 4 + 1];
            if (from % 4 == 0 && kind % 2) re += im, im -= re;
            if ((int)(kind >> 8) % all == from && kind % 2 == 0) re *= largest(element->number), im *= largest(element->number);
        }
        put_real(at, element->number, re);
        put_real(at + element->width, element->number, im);
        break;
    }
    case PAIRS:
        if (element->number <= UNSIGNED)
            memcpy(at, &(integer){integer_value(operation, element->number, element->width, kind, r)}, (size_t)element->width);
        else
            put_real(at, element->number, real_value(element->number, operation, kind, r, from, all));
        if (element->index_number == SIGNED) memcpy(at + element->index_at, &(int){(int)(scramble(r) >> 3) - 5}, 4);
        else put_real(at + element->index_at, element->index_number, (real)(scramble(r) % 100));
        break;
    case MAPS:
        memcpy(at, &(unsigned){r | 1}, 4);
        memcpy(at + 4, &(unsigned){scramble(r)}, 4);
    }
}

/* `value = value op next`. */
static void combine(const struct element *element, enum operation operation, unsigned char *value, const unsigned char *next) {
    enum form_of_number number = element->number;
    int width = element->width;
    if (element->family == PAIRS) {
        int less, more, first;
        if (number <= UNSIGNED) {
            integer a = integer_at(value, number, width), b = integer_at(next, number, width);
            less = a < b, more = a > b;
        } else {
            real a = real_at(value, number), b = real_at(next, number);
            less = a < b, more = a > b;
        }
        if (element->index_number == SIGNED)
            first = integer_at(value + element->index_at, SIGNED, 4) <= integer_at(next + element->index_at, SIGNED, 4);
        else
            first = real_at(value + element->index_at, number) <= real_at(next + element->index_at, number);
        int keep = operation == MINLOC ? less : more, give = operation == MINLOC ? more : less;
        if (give || (!keep && !first)) {
            memcpy(value, next, (size_t)(number == EXTENDED ? 10 : width));
            memcpy(value + element->index_at, next + element->index_at, element->index_number == DOUBLE ? 8 : 4);
        }
    } else if (element->family == REALS) {
        real a = real_at(value, number), b = real_at(next, number);
        real result = operation == SUM ? a + b : operation == PROD ? a * b : operation == MIN ? (b < a ? b : a) : b > a ? b : a;
        put_real(value, number, result);
    } else if (element->family == COMPLEXES) {
        real a = real_at(value, number), b = real_at(value + width, number);
        real c = real_at(next, number), d = real_at(next + width, number);
        put_real(value, number, operation == SUM ? a + c : a * c - b * d);
        put_real(value + width, number, operation == SUM ? b + d : a * d + b * c);
    } else if (element->family == MAPS) {
        unsigned a[2], b[2];
        memcpy(a, value, 8);
        memcpy(b, next, 8);
        unsigned result[2] = {a[0] * b[0], a[1] * b[0] + b[1]};
        if (operation == ADD) result[0] = a[0] + b[0], result[1] = a[1] + b[1];
        memcpy(value, result, 8);
    } else {
        integer a = integer_at(value, number, width), b = integer_at(next, number, width), result = 0;
        int unsigned_less = (unsigned __int128)a < (unsigned __int128)b;
        int less = number == SIGNED ? a < b : unsigned_less;
        switch (operation) {
        case SUM: result = (integer)((unsigned __int128)a + (unsigned __int128)b); break;
        case PROD: result = (integer)((unsigned __int128)a * (unsigned __int128)b); break;
        case MIN: result = less ? a : b; break;
        case MAX: result = less ? b : a; break;
        case LAND: result = a && b; break;
        case LOR: result = a || b; break;
        case LXOR: result = !a != !b; break;
        case BAND: result = a & b; break;
        case BOR: result = a | b; break;
        default: result = a ^ b; break;
        }
        memcpy(value, &result, (size_t)width);
    }
}

static int same_real(real a, real b) { return a == b || (a != a && b != b); }

/* Are two elements the same, apart from padding? */
static int same(const struct element *element, enum operation operation, const unsigned char *a, const unsigned char *b) {
    enum form_of_number number = element->number;
    int width = element->width;
    if (operation >= LAND && operation <= LXOR) return !integer_at(a, number, width) == !integer_at(b, number, width);
    if (number <= UNSIGNED) {
        if (memcmp(a, b, (size_t)(element->family == MAPS ? 8 : width)) != 0) return 0;
    } else if (!same_real(real_at(a, number), real_at(b, number))) {
        return 0;
    }
    if (element->family == COMPLEXES) return same_real(real_at(a + width, number), real_at(b + width, number));
    if (element->family != PAIRS) return 1;
    if (element->index_number == SIGNED) return memcmp(a + element->index_at, b + element->index_at, 4) == 0;
    return real_at(a + element->index_at, element->index_number) == real_at(b + element->index_at, element->index_number);
}

#endif
