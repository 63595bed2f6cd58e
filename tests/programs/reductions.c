// ranks: 1 2 3 4 7 16
/* Every predefined operation on the types it is defined for. */
#include "check.h"

#include <complex.h>
#include <stdint.h>

enum { N = 37 };

/* Small values, none of them zero, so that products stay exact. */
static int value_of(int of, int i) { return (of + i) % 2 + 1; }

#define FOLD(type, initial, step)                                  \
    type expected = (type)(initial);                               \
    for (int other = 0; other < size; other++) {                   \
        type x = (type)value_of(other, i);                         \
        expected = (type)(step);                                   \
    }

#define TEST(type, mpi_type, op, initial, step) COMPARE(type, mpi_type, op, initial, step, out[i] == expected)
/* One rank's own value stays as it is, so any truth is as good as another. */
#define TRUTH(type, mpi_type, op, initial, step) COMPARE(type, mpi_type, op, initial, step, !out[i] == !expected)

#define COMPARE(type, mpi_type, op, initial, step, same)                                                      \
    do {                                                                                             \
        type in[N], out[N];                                                                          \
        for (int i = 0; i < N; i++) in[i] = (type)value_of(rank, i);                                 \
        OK(MPI_Allreduce(in, out, N, mpi_type, op, MPI_COMM_WORLD));                                 \
        for (int i = 0; i < N; i++) {                                                                \
            FOLD(type, initial, step)                                                                \
            CHECK(same, "%s on %s, element %d", #op, #mpi_type, i);                    \
        }                                                                                            \
    } while (0)

#define ARITHMETIC(type, mpi_type)                                       \
    TEST(type, mpi_type, MPI_SUM, 0, expected + x);                      \
    TEST(type, mpi_type, MPI_PROD, 1, expected * x);                     \
    TEST(type, mpi_type, MPI_MIN, 2, x < expected ? x : expected);       \
    TEST(type, mpi_type, MPI_MAX, 1, x > expected ? x : expected)

#define LOGICAL(type, mpi_type)                                          \
    TRUTH(type, mpi_type, MPI_LAND, 1, expected && x);                    \
    TRUTH(type, mpi_type, MPI_LOR, 0, expected || x);                     \
    TRUTH(type, mpi_type, MPI_LXOR, 0, !expected != !x)

#define BITS(type, mpi_type)                                             \
    TEST(type, mpi_type, MPI_BAND, 3, expected & x);                     \
    TEST(type, mpi_type, MPI_BOR, 0, expected | x);                      \
    TEST(type, mpi_type, MPI_BXOR, 0, expected ^ x)

#define INTEGER(type, mpi_type) \
    ARITHMETIC(type, mpi_type); \
    LOGICAL(type, mpi_type);    \
    BITS(type, mpi_type)

#define PAIR(struct_name, mpi_type)                                                                                  \
    do {                                                                                                             \
        struct_name in[N], least[N], most[N];                                                                        \
        for (int i = 0; i < N; i++) {                                                                                \
            in[i].value = value_of(rank, i);                                                                         \
            in[i].index = rank + 100;                                                                                \
        }                                                                                                            \
        OK(MPI_Allreduce(in, least, N, mpi_type, MPI_MINLOC, MPI_COMM_WORLD));                                       \
        OK(MPI_Allreduce(in, most, N, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD));                                        \
        for (int i = 0; i < N; i++) {                                                                                \
            int low = 0, high = 0;                                                                                   \
            for (int other = 1; other < size; other++) {                                                             \
                if (value_of(other, i) < value_of(low, i)) low = other;                                              \
                if (value_of(other, i) > value_of(high, i)) high = other;                                            \
            }                                                                                                        \
            CHECK(least[i].value == value_of(low, i) && least[i].index == low + 100, "MINLOC on %s: %d", #mpi_type, i); \
            CHECK(most[i].value == value_of(high, i) && most[i].index == high + 100, "MAXLOC on %s: %d", #mpi_type, i); \
        }                                                                                                            \
    } while (0)

typedef struct { float value; int index; } float_int;
typedef struct { double value; int index; } double_int;
typedef struct { long value; int index; } long_int;
typedef struct { int value; int index; } two_int;
typedef struct { short value; int index; } short_int;
typedef struct { long double value; int index; } long_double_int;

static void scans(void) {
    int in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = value_of(rank, i), out[i] = -1;
    OK(MPI_Scan(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) {
        int expected = 0;
        for (int other = 0; other <= rank; other++) expected += value_of(other, i);
        CHECK(out[i] == expected, "Scan: %d", i);
    }
    OK(MPI_Exscan(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < N && rank > 0; i++) {
        int expected = 0;
        for (int other = 0; other < rank; other++) expected += value_of(other, i);
        CHECK(out[i] == expected, "Exscan: %d", i);
    }
}

/* The same values in the same order give the same bits, every time and on every rank. */
static void repeatable(void) {
    enum { TIMES = 5, LONG = 4000 };
    double *in = malloc(LONG * sizeof *in), *first = malloc(LONG * sizeof *first), *again = malloc(LONG * sizeof *again);
    unsigned state = 12345u + rank;
    for (int i = 0; i < LONG; i++) in[i] = next_random(&state) / 3.0 - 2e6;
    OK(MPI_Allreduce(in, first, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (int t = 0; t < TIMES; t++) {
        OK(MPI_Allreduce(in, again, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(memcmp(first, again, LONG * sizeof *first) == 0, "another result the next time");
    }
    memcpy(again, first, LONG * sizeof *first);
    OK(MPI_Bcast(again, LONG, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(memcmp(first, again, LONG * sizeof *first) == 0, "another result than rank 0's");
    free(in), free(first), free(again);
}

/* What the program keeps in the padding of a pair stays, in results as in operands: 1, and as many as are combined in several rounds. */
static void padded_pairs(void) {
    enum { MOST = 700 };
    static const int counts[] = {1, 3, MOST};
    typedef struct {
        double value;
        int rank, kept;
    } pair;
    CHECK(sizeof(pair) == 16, "%zu", sizeof(pair));
    static pair in[MOST], out[MOST];
    for (int round = 0; round < 12; round++) {
        int count = counts[round % 3], in_place = round % 2;
        pair *result = in_place ? in : out;
        for (int i = 0; i < count; i++) {
            in[i] = (pair){(rank * 7 + i) % size, rank, 100 + i};
            out[i] = (pair){-1, -1, 200 + i};
        }
        if (round < 6)
            OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, result, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
        else
            OK(MPI_Scan(in_place ? MPI_IN_PLACE : in, result, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
        for (int i = 0; i < count; i++) {
            double value = -1;
            int place = -1;
            for (int other = 0; other < (round < 6 ? size : rank + 1); other++)
                if ((other * 7 + i) % size > value) value = (other * 7 + i) % size, place = other;
            CHECK(result[i].value == value && result[i].rank == place, "round %d, %d: %g of rank %d", round, i, result[i].value, result[i].rank);
            CHECK(in[i].kept == 100 + i && (in_place || out[i].kept == 200 + i), "round %d, %d: padding %d, %d", round, i, in[i].kept, out[i].kept);
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    INTEGER(signed char, MPI_SIGNED_CHAR);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(short, MPI_SHORT);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(int, MPI_INT);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(long, MPI_LONG);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(long long, MPI_LONG_LONG);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    INTEGER(int8_t, MPI_INT8_T);
    INTEGER(int16_t, MPI_INT16_T);
    INTEGER(int32_t, MPI_INT32_T);
    INTEGER(int64_t, MPI_INT64_T);
    INTEGER(uint8_t, MPI_UINT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(uint32_t, MPI_UINT32_T);
    INTEGER(uint64_t, MPI_UINT64_T);
    ARITHMETIC(MPI_Aint, MPI_AINT);
    BITS(MPI_Aint, MPI_AINT);
    ARITHMETIC(MPI_Offset, MPI_OFFSET);
    BITS(MPI_Offset, MPI_OFFSET);
    ARITHMETIC(MPI_Count, MPI_COUNT);
    BITS(MPI_Count, MPI_COUNT);
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    ARITHMETIC(long double, MPI_LONG_DOUBLE);
    LOGICAL(_Bool, MPI_C_BOOL);
    BITS(unsigned char, MPI_BYTE);
    TEST(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, 0, expected + x);
    TEST(float complex, MPI_C_FLOAT_COMPLEX, MPI_PROD, 1, expected * x);
    TEST(double complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0, expected + x);
    TEST(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, 1, expected * x);
    PAIR(float_int, MPI_FLOAT_INT);
    PAIR(double_int, MPI_DOUBLE_INT);
    PAIR(long_int, MPI_LONG_INT);
    PAIR(two_int, MPI_2INT);
    PAIR(short_int, MPI_SHORT_INT);
    PAIR(long_double_int, MPI_LONG_DOUBLE_INT);
    padded_pairs();
    scans();
    repeatable();

    int local[4] = {0x0f, 0xf0, 3, 5}, more[4] = {0xff, 0x3c, 4, 5};
    OK(MPI_Reduce_local(local, more, 4, MPI_INT, MPI_BAND));
    CHECK(more[0] == 0x0f && more[1] == 0x30 && more[2] == 0 && more[3] == 5, "Reduce_local");
    end();
    return 0;
}
