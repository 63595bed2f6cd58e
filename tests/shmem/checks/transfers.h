/* Checks of puts and gets: everybody with its right neighbour, few elements and many. */
#include "every.h"

#define EACH_COUNT for (int count = 7; count <= 300; count += 293)
#define OF_PE(pe) ((pe) * 13 + i % 7)

#define CHECK_put(function, type, c)                                                                \
    EACH_COUNT {                                                                                    \
        FILL(type, dest, count + 2, GUARD);                                                         \
        FILL(type, local, count, OF_PE(me));                                                        \
        shmem_barrier_all();                                                                        \
        c(function, (type *) dest + 1, (type *) local, (size_t) count, right);                       \
        OVER();                                                                                     \
        EXPECT(type, dest, 1, GUARD);                                                               \
        EXPECT(type, (type *) dest + 1, count, OF_PE(left));                                        \
        EXPECT(type, (type *) dest + 1 + count, 1, GUARD);                                          \
        c(function, (type *) NULL, (const type *) NULL, 0, right);                                  \
    }
#define CHECK_put_nbi CHECK_put
#define CHECK_putmem CHECK_put
#define CHECK_putmem_nbi CHECK_put

#define CHECK_get(function, type, c)                                                                \
    EACH_COUNT {                                                                                    \
        FILL(type, source, count, OF_PE(me));                                                       \
        FILL(type, local, count + 2, GUARD);                                                        \
        shmem_barrier_all();                                                                        \
        c(function, (type *) local + 1, (type *) source, (size_t) count, right);                     \
        OVER();                                                                                     \
        EXPECT(type, local, 1, GUARD);                                                              \
        EXPECT(type, (type *) local + 1, count, OF_PE(right));                                      \
        EXPECT(type, (type *) local + 1 + count, 1, GUARD);                                         \
        c(function, (type *) NULL, (const type *) NULL, 0, right);                                  \
    }
#define CHECK_get_nbi CHECK_get
#define CHECK_getmem CHECK_get
#define CHECK_getmem_nbi CHECK_get

#define CHECK_p(function, type, c)                                                                  \
    FILL(type, dest, 3, GUARD);                                                                     \
    shmem_barrier_all();                                                                            \
    c(function, (type *) dest + 1, (type) (me + 1), right);                                          \
    OVER();                                                                                         \
    EXPECT(type, dest, 3, i == 1 ? left + 1 : GUARD)

#define CHECK_g(function, type, c)                                                                  \
    FILL(type, source, 3, me * 3 + i);                                                              \
    shmem_barrier_all();                                                                            \
    for (int k = 0; k < 3; k++)                                                                     \
        MUST(c(function, (type *) source + k, right) == (type) (right * 3 + k));                     \
    OVER()

/* Strides of 3 there and 2 here. */
#define CHECK_iput(function, type, c)                                                               \
    EACH_COUNT {                                                                                    \
        FILL(type, dest, 3 * count, GUARD);                                                         \
        FILL(type, local, 2 * count, OF_PE(me));                                                    \
        shmem_barrier_all();                                                                        \
        c(function, (type *) dest, (type *) local, 3, 2, (size_t) count, right);                     \
        OVER();                                                                                     \
        EXPECT(type, dest, 3 * count, i % 3 ? GUARD : left * 13 + i / 3 * 2 % 7);                   \
    }

#define CHECK_iget(function, type, c)                                                               \
    EACH_COUNT {                                                                                    \
        FILL(type, source, 3 * count, OF_PE(me));                                                   \
        FILL(type, local, 2 * count, GUARD);                                                        \
        shmem_barrier_all();                                                                        \
        c(function, (type *) local, (type *) source, 2, 3, (size_t) count, right);                   \
        OVER();                                                                                     \
        EXPECT(type, local, 2 * count, i % 2 ? GUARD : right * 13 + i / 2 * 3 % 7);                 \
    }

/* Blocks of 2, 5 apart there and 3 here; and as many of 64, side by side. */
#define CHECK_ibput(function, type, c)                                                              \
    FILL(type, dest, 5 * 9, GUARD);                                                                 \
    FILL(type, local, 3 * 64, OF_PE(me));                                                           \
    shmem_barrier_all();                                                                            \
    c(function, (type *) dest, (type *) local, 5, 3, 2, 9, right);                                   \
    OVER();                                                                                         \
    EXPECT(type, dest, 5 * 9, i % 5 > 1 ? GUARD : left * 13 + (i / 5 * 3 + i % 5) % 7);             \
    shmem_barrier_all();                                                                            \
    c(function, (type *) dest, (type *) local, 64, 64, 64, 3, right);                                \
    OVER();                                                                                         \
    EXPECT(type, dest, 3 * 64, OF_PE(left))

#define CHECK_ibget(function, type, c)                                                              \
    FILL(type, source, 5 * 64, OF_PE(me));                                                          \
    FILL(type, local, 3 * 9, GUARD);                                                                \
    shmem_barrier_all();                                                                            \
    c(function, (type *) local, (type *) source, 3, 5, 2, 9, right);                                 \
    EXPECT(type, local, 3 * 9, i % 3 > 1 ? GUARD : right * 13 + (i / 3 * 5 + i % 3) % 7);           \
    c(function, (type *) local, (type *) source, 64, 64, 64, 5, right);                              \
    OVER();                                                                                         \
    EXPECT(type, local, 5 * 64, OF_PE(right))

/* The signal is set, and then added to; a PE that sees it sees the data. */
#define CHECK_put_signal(function, type, c)                                                         \
    EACH_COUNT {                                                                                    \
        uint64_t *signal = (uint64_t *) (dest + BEHIND);                                            \
        *signal = 100;                                                                              \
        FILL(type, dest, count + 1, GUARD);                                                         \
        FILL(type, local, count, OF_PE(me));                                                        \
        shmem_barrier_all();                                                                        \
        c(function, (type *) dest, (type *) local, (size_t) count, signal, 5, SHMEM_SIGNAL_SET, right); \
        shmem_ctx_quiet(ctx);                                                                       \
        MUST(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 5) == 5);                                \
        EXPECT(type, dest, count, OF_PE(left));                                                     \
        OVER();                                                                                     \
        FILL(type, local, count, OF_PE(me) + 1);                                                    \
        c(function, (type *) dest, (type *) local, (size_t) count, signal, 7, SHMEM_SIGNAL_ADD, right); \
        shmem_ctx_quiet(ctx);                                                                       \
        MUST(shmem_signal_wait_until(signal, SHMEM_CMP_GT, 5) == 12);                               \
        EXPECT(type, dest, count, OF_PE(left) + 1);                                                 \
        EXPECT(type, (type *) dest + count, 1, GUARD);                                              \
        OVER();                                                                                     \
    }
#define CHECK_put_signal_nbi CHECK_put_signal
#define CHECK_putmem_signal CHECK_put_signal
#define CHECK_putmem_signal_nbi CHECK_put_signal

#define CHECK_signal_set(function, type, c)                                                         \
    uint64_t *signal = (uint64_t *) dest;                                                           \
    *signal = 0;                                                                                    \
    shmem_barrier_all();                                                                            \
    c(function, signal, (uint64_t) left + 1, right);                                                 \
    OVER();                                                                                         \
    MUST(*signal == (uint64_t) ((left + n - 1) % n) + 1)

#define CHECK_signal_add(function, type, c)                                                         \
    uint64_t *signal = (uint64_t *) dest;                                                           \
    *signal = 1;                                                                                    \
    shmem_barrier_all();                                                                            \
    for (int pe = 0; pe < n; pe++)                                                                  \
        c(function, signal, (uint64_t) me + 1, pe);                                                  \
    OVER();                                                                                         \
    MUST(*signal == 1 + (uint64_t) n * (n + 1) / 2)

#define CHECK_signal_fetch(function, type, c)                                                       \
    uint64_t *signal = (uint64_t *) dest;                                                           \
    *signal = 77;                                                                                   \
    MUST(function(signal) == 77)

#define CHECK_signal_wait_until(function, type, c)                                                  \
    uint64_t *signal = (uint64_t *) dest;                                                           \
    *signal = 0;                                                                                    \
    shmem_barrier_all();                                                                            \
    shmem_signal_set(signal, 44, right);                                                            \
    MUST(function(signal, SHMEM_CMP_GE, 44) == 44);                                                 \
    shmem_barrier_all()
