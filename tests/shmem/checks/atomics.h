/* Checks of atomics: everybody on its right neighbour's cell, with the old and the new value known; what counts, all on PE 0's too. */
#include "every.h"

#define CELL(type, value)                                                                           \
    type *cell = (type *) dest;                                                                     \
    FILL(type, cell, 3, GUARD);                                                                     \
    cell[1] = (type) (value);                                                                       \
    shmem_barrier_all()

#define CELL_IS(type, value)                                                                        \
    OVER();                                                                                         \
    EXPECT(type, dest, 3, i == 1 ? (value) : GUARD)

/* Returns what was there. */
#define FETCHES(type, was, call, becomes)                                                           \
    CELL(type, was);                                                                                \
    MUST(call == (type) (was));                                                                     \
    CELL_IS(type, becomes)

/* Stores what was there. */
#define STORES(function, type, c, was, becomes, ...)                                                \
    CELL(type, was);                                                                                \
    type fetched = (type) GUARD;                                                                    \
    c(function, &fetched, cell + 1, __VA_ARGS__);                                                    \
    CELL_IS(type, becomes);                                                                         \
    MUST(fetched == (type) (was))

#define SILENT(type, was, call, becomes)                                                            \
    CELL(type, was);                                                                                \
    call;                                                                                           \
    CELL_IS(type, becomes)

/* All PEs together, 20 times each, on one cell. */
#define TOGETHER(type, call, each)                                                                  \
    ((type *) dest)[0] = (type) 0;                                                                  \
    shmem_barrier_all();                                                                            \
    for (int round = 0; round < 20; round++)                                                        \
        call;                                                                                       \
    OVER();                                                                                         \
    if (me == 0)                                                                                    \
        EXPECT(type, dest, 1, 20 * n * each)

#define CHECK_atomic_fetch(function, type, c) FETCHES(type, 21, c(function, cell + 1, right), 21)
#define CHECK_fetch CHECK_atomic_fetch
#define CHECK_atomic_fetch_nbi(function, type, c) STORES(function, type, c, 21, 21, right)
#define CHECK_atomic_set(function, type, c) SILENT(type, 5, c(function, cell + 1, (type) 9, right), 9)
#define CHECK_set CHECK_atomic_set
#define CHECK_atomic_swap(function, type, c) FETCHES(type, 5, c(function, cell + 1, (type) 9, right), 9)
#define CHECK_swap CHECK_atomic_swap
#define CHECK_atomic_swap_nbi(function, type, c) STORES(function, type, c, 5, 9, (type) 9, right)

#define CHECK_atomic_compare_swap(function, type, c)                                                \
    CELL(type, 5);                                                                                  \
    MUST(c(function, cell + 1, (type) 4, (type) 9, right) == (type) 5);                              \
    CELL_IS(type, 5);                                                                               \
    shmem_barrier_all();                                                                            \
    MUST(c(function, cell + 1, (type) 5, (type) 9, right) == (type) 5);                              \
    CELL_IS(type, 9)
#define CHECK_cswap CHECK_atomic_compare_swap
#define CHECK_atomic_compare_swap_nbi(function, type, c)                                            \
    CELL(type, 5);                                                                                  \
    type fetched = (type) 0;                                                                        \
    c(function, &fetched, cell + 1, (type) 4, (type) 9, right);                                      \
    CELL_IS(type, 5);                                                                               \
    MUST(fetched == (type) 5);                                                                      \
    fetched = (type) 0;                                                                             \
    shmem_barrier_all();                                                                            \
    c(function, &fetched, cell + 1, (type) 5, (type) 9, right);                                      \
    CELL_IS(type, 9);                                                                               \
    MUST(fetched == (type) 5)

#define CHECK_atomic_fetch_inc(function, type, c)                                                   \
    FETCHES(type, 5, c(function, cell + 1, right), 6);                                               \
    shmem_barrier_all();                                                                            \
    TOGETHER(type, c(function, cell, 0), 1)
#define CHECK_finc CHECK_atomic_fetch_inc
#define CHECK_atomic_inc(function, type, c)                                                         \
    SILENT(type, 5, c(function, cell + 1, right), 6);                                                \
    shmem_barrier_all();                                                                            \
    TOGETHER(type, c(function, cell, 0), 1)
#define CHECK_inc CHECK_atomic_inc
#define CHECK_atomic_fetch_inc_nbi(function, type, c) STORES(function, type, c, 5, 6, right)

#define CHECK_atomic_fetch_add(function, type, c)                                                   \
    FETCHES(type, 5, c(function, cell + 1, (type) -2, right), 3);                                    \
    shmem_barrier_all();                                                                            \
    TOGETHER(type, c(function, cell, (type) 3, 0), 3)
#define CHECK_fadd CHECK_atomic_fetch_add
#define CHECK_atomic_add(function, type, c)                                                         \
    SILENT(type, 5, c(function, cell + 1, (type) -2, right), 3);                                     \
    shmem_barrier_all();                                                                            \
    TOGETHER(type, c(function, cell, (type) 3, 0), 3)
#define CHECK_add CHECK_atomic_add
#define CHECK_atomic_fetch_add_nbi(function, type, c) STORES(function, type, c, 5, 12, (type) 7, right)

#define CHECK_atomic_fetch_and(function, type, c) FETCHES(type, 12, c(function, cell + 1, (type) 10, right), 8)
#define CHECK_atomic_fetch_or(function, type, c) FETCHES(type, 12, c(function, cell + 1, (type) 10, right), 14)
#define CHECK_atomic_fetch_xor(function, type, c) FETCHES(type, 12, c(function, cell + 1, (type) 10, right), 6)
#define CHECK_atomic_and(function, type, c) SILENT(type, 12, c(function, cell + 1, (type) 10, right), 8)
#define CHECK_atomic_or(function, type, c) SILENT(type, 12, c(function, cell + 1, (type) 10, right), 14)
#define CHECK_atomic_xor(function, type, c) SILENT(type, 12, c(function, cell + 1, (type) 10, right), 6)
#define CHECK_atomic_fetch_and_nbi(function, type, c) STORES(function, type, c, 12, 8, (type) 10, right)
#define CHECK_atomic_fetch_or_nbi(function, type, c) STORES(function, type, c, 12, 14, (type) 10, right)
#define CHECK_atomic_fetch_xor_nbi(function, type, c) STORES(function, type, c, 12, 6, (type) 10, right)
