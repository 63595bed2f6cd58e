/* What the checks of all routines share. A check fills symmetric memory, lets every PE call the routine, and compares all that it may have
 * changed, and the memory next to it. Compiles as C99, C11 and C++. */
#ifndef EVERY_H
#define EVERY_H

#include "../check.h"

#ifdef __cplusplus
#define COMPLEXD std::complex<double>
#define COMPLEXF std::complex<float>
#else
#define COMPLEXD double _Complex
#define COMPLEXF float _Complex
#endif

/* Bytes of each array. */
#define ROOM (1 << 18)
/* Where signals and flags are, behind the elements. */
#define BEHIND (ROOM - 4096)

static long double static_dest[ROOM / 16], static_source[ROOM / 16], static_work[ROOM / 16];
static long p_sync[SHMEM_SYNC_SIZE];
/* Symmetric, in the heap and in static data by turns; what is local lies in neither. */
static char *dest, *source, *work, *local;
static int me, n, right, left;
static shmem_ctx_t ctx;
static shmem_team_t half;
/* The routine that is checked. */
static const char *checking;

/* How a routine is called: as it is, or on a context. */
#define PLAIN(function, ...) function(__VA_ARGS__)
#define ON_CONTEXT(function, ...) function(ctx, __VA_ARGS__)

#define MUST(what)                                                                                              \
    do {                                                                                                        \
        if (!(what)) {                                                                                          \
            fprintf(stderr, "%s:%d: PE %d of %d: %s: not so: %s\n", __FILE__, __LINE__, me, n, checking, #what); \
            shmem_global_exit(3);                                                                               \
        }                                                                                                       \
    } while (0)

/* `expression` may use the index i; values are small enough for every type. */
#define FILL(type, array, count, expression)                \
    for (int i = 0; i < (int) (count); i++)                 \
        ((type *) (array))[i] = (type) (expression)

#define EXPECT(type, array, count, expression)                                                                  \
    for (int i = 0; i < (int) (count); i++)                                                                     \
        if (!(((type *) (array))[i] == (type) (expression))) {                                                  \
            fprintf(stderr, "%s:%d: PE %d of %d: %s: element %d of %d is wrong\n", __FILE__, __LINE__, me, n,   \
                checking, i, (int) (count));                                                                    \
            shmem_global_exit(3);                                                                               \
        }

/* Everybody has called, and all of it is over. */
#define OVER()                  \
    do {                        \
        shmem_ctx_quiet(ctx);   \
        shmem_barrier_all();    \
    } while (0)

#define GUARD 99

#endif
