// ranks: 2
/* Every predefined type of C: its size, and messages of it. */
#include "check.h"

#include <complex.h>
#include <stdint.h>
#include <wchar.h>

#define TEST(type, mpi_type)                                                                             \
    do {                                                                                                 \
        enum { N = 300 };                                                                                \
        int type_size, count;                                                                            \
        MPI_Aint lower, extent;                                                                          \
        MPI_Status status;                                                                               \
        char *out = calloc(N, sizeof(type)), *in = calloc(N, sizeof(type));                              \
        fill(out, N * sizeof(type), 3 + rank);                                                           \
        OK(MPI_Type_size(mpi_type, &type_size));                                                         \
        OK(MPI_Type_get_extent(mpi_type, &lower, &extent));                                              \
        CHECK(type_size == (int)sizeof(type), "%s has size %d", #mpi_type, type_size);                   \
        CHECK(lower == 0 && extent == (MPI_Aint)sizeof(type), "%s has extent %ld", #mpi_type, (long)extent); \
        OK(MPI_Sendrecv(out, N - 1, mpi_type, 1 - rank, 0, in, N, mpi_type, 1 - rank, 0, MPI_COMM_WORLD, &status)); \
        OK(MPI_Get_count(&status, mpi_type, &count));                                                    \
        CHECK(count == N - 1, "%s: %d received", #mpi_type, count);                                      \
        CHECK_BYTES(in, (N - 1) * sizeof(type), 3 + 1 - rank);                                           \
        free(out), free(in);                                                                             \
    } while (0)

int main(int argc, char **argv) {
    begin(&argc, &argv);
    TEST(char, MPI_CHAR);
    TEST(signed char, MPI_SIGNED_CHAR);
    TEST(unsigned char, MPI_UNSIGNED_CHAR);
    TEST(char, MPI_BYTE);
    TEST(char, MPI_PACKED);
    TEST(wchar_t, MPI_WCHAR);
    TEST(short, MPI_SHORT);
    TEST(unsigned short, MPI_UNSIGNED_SHORT);
    TEST(int, MPI_INT);
    TEST(unsigned, MPI_UNSIGNED);
    TEST(long, MPI_LONG);
    TEST(unsigned long, MPI_UNSIGNED_LONG);
    TEST(long long, MPI_LONG_LONG);
    TEST(long long, MPI_LONG_LONG_INT);
    TEST(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    TEST(float, MPI_FLOAT);
    TEST(double, MPI_DOUBLE);
    TEST(long double, MPI_LONG_DOUBLE);
    TEST(_Bool, MPI_C_BOOL);
    TEST(float complex, MPI_C_COMPLEX);
    TEST(float complex, MPI_C_FLOAT_COMPLEX);
    TEST(double complex, MPI_C_DOUBLE_COMPLEX);
    TEST(long double complex, MPI_C_LONG_DOUBLE_COMPLEX);
    TEST(int8_t, MPI_INT8_T);
    TEST(int16_t, MPI_INT16_T);
    TEST(int32_t, MPI_INT32_T);
    TEST(int64_t, MPI_INT64_T);
    TEST(uint8_t, MPI_UINT8_T);
    TEST(uint16_t, MPI_UINT16_T);
    TEST(uint32_t, MPI_UINT32_T);
    TEST(uint64_t, MPI_UINT64_T);
    TEST(MPI_Aint, MPI_AINT);
    TEST(MPI_Offset, MPI_OFFSET);
    TEST(MPI_Count, MPI_COUNT);

    /* Types of different names but one representation do not surprise: bytes are bytes. */
    double sent = 1.0 / 3, got = 0;
    OK(MPI_Sendrecv(&sent, 8, MPI_BYTE, 1 - rank, 0, &got, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == sent, "%g", got);
    /* A message that is no whole number of elements. */
    MPI_Status status;
    int three[3] = {1, 2, 3}, count;
    char room[16];
    OK(MPI_Sendrecv(three, 10, MPI_BYTE, 1 - rank, 0, room, 16, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == MPI_UNDEFINED, "%d ints in 10 bytes", count);

    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Type_get_name(MPI_DOUBLE, name, &length));
    CHECK(strcmp(name, "MPI_DOUBLE") == 0, "%s", name);
    end();
    return 0;
}
