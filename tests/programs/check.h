/* What the programs of this folder share: saying what is wrong, and bytes that can be recognised. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* One write a report, so that those of several ranks do not mix. */
__attribute__((unused, format(printf, 1, 2))) static void report_and_abort(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text) {
        length = sizeof text - 1;
        text[length - 1] = '\n';
    }
    if (write(STDERR_FILENO, text, (size_t)length) < 0) perror("write");
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}

#define CHECK(condition, format, ...)                                                                          \
    do {                                                                                                       \
        if (!(condition))                                                                                      \
            report_and_abort("%s:%d: rank %d of %d: not so: %s (" format ")\n", __FILE__, __LINE__, rank, size, \
                             #condition __VA_OPT__(, ) __VA_ARGS__);                                           \
    } while (0)

/* The call succeeds. */
#define OK(call)                                          \
    do {                                                  \
        int ok_code = (call);                             \
        CHECK(ok_code == MPI_SUCCESS, "code %d", ok_code); \
    } while (0)

/* The call fails with this class. */
#define FAILS(class, call)                                                                  \
    do {                                                                                    \
        int fails_code = (call), fails_class = -1;                                          \
        if (fails_code != MPI_SUCCESS) MPI_Error_class(fails_code, &fails_class);           \
        CHECK(fails_code != MPI_SUCCESS && fails_class == (class), "class %d", fails_class); \
    } while (0)

__attribute__((unused)) static void begin(int *argc, char ***argv) {
    OK(MPI_Init(argc, argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

__attribute__((unused)) static void end(void) { OK(MPI_Finalize()); }

/* Are all ranks of the job on one node? */
__attribute__((unused)) static int on_one_node(void) {
    MPI_Comm node;
    int here;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &here));
    OK(MPI_Comm_free(&node));
    return here == size;
}

/* Byte i of the message with this seed. */
__attribute__((unused)) static unsigned char byte_of(unsigned seed, size_t i) {
    return (unsigned char)(seed * 37u + (unsigned)i * 7u + (unsigned)(i >> 8) * 3u + 1u);
}

__attribute__((unused)) static void fill(void *buffer, size_t length, unsigned seed) {
    unsigned char *bytes = buffer;
    for (size_t i = 0; i < length; i++) bytes[i] = byte_of(seed, i);
}

/* Index of the first wrong byte, or -1. */
__attribute__((unused)) static long wrong_byte(const void *buffer, size_t length, unsigned seed) {
    const unsigned char *bytes = buffer;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != byte_of(seed, i)) return (long)i;
    return -1;
}

#define CHECK_BYTES(buffer, length, seed)                                                           \
    do {                                                                                            \
        long check_at = wrong_byte(buffer, length, seed);                                           \
        CHECK(check_at == -1, "byte %ld of %zu is wrong", check_at, (size_t)(length));              \
    } while (0)

/* The same sequence everywhere, not the same everywhere as rand's. */
__attribute__((unused)) static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
