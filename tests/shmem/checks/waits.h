/* Checks of waits and tests: the left neighbour changes what is waited for, by all six comparisons. */
#include "every.h"

/* Change a cell of the right neighbour: a type's name is not known here, its size is. */
static void change(void *cell, const void *value, size_t size)
{
    switch (size) {
    case 2: shmem_short_p((short *) cell, *(const short *) value, right); break;
    case 4: shmem_int32_p((int32_t *) cell, *(const int32_t *) value, right); break;
    default: shmem_int64_p((int64_t *) cell, *(const int64_t *) value, right); break;
    }
}

/* For EQ, NE, GT, LE, LT and GE to 3: what there is at first, and then. */
static const int at_first[] = { 1, 3, 3, 4, 3, 2 };
static const int changed[] = { 3, 4, 4, 3, 2, 3 };

#define CHANGE(type, index, value)                                  \
    do {                                                            \
        type now = (type) (value);                                  \
        change((type *) dest + (index), &now, sizeof now);          \
    } while (0)

#define CHECK_wait_until(function, type, c)                         \
    FILL(type, dest, 6, at_first[i]);                               \
    shmem_barrier_all();                                            \
    for (int cmp = 0; cmp < 6; cmp++)                               \
        CHANGE(type, cmp, changed[cmp]);                            \
    for (int cmp = 0; cmp < 6; cmp++) {                             \
        function((type *) dest + cmp, cmp, (type) 3);               \
        EXPECT(type, (type *) dest + cmp, 1, changed[cmp]);         \
    }                                                               \
    shmem_barrier_all()

#define CHECK_test(function, type, c)                               \
    FILL(type, dest, 6, at_first[i]);                               \
    for (int cmp = 0; cmp < 6; cmp++)                               \
        MUST(function((type *) dest + cmp, cmp, (type) 3) == 0);    \
    shmem_barrier_all();                                            \
    for (int cmp = 0; cmp < 6; cmp++)                               \
        CHANGE(type, cmp, changed[cmp]);                            \
    for (int cmp = 0; cmp < 6; cmp++) {                             \
        while (!function((type *) dest + cmp, cmp, (type) 3))       \
            ;                                                       \
        EXPECT(type, (type *) dest + cmp, 1, changed[cmp]);         \
    }                                                               \
    shmem_barrier_all()

/* Deprecated: until it is another value. */
#define CHECK_wait(function, type, c)                               \
    FILL(type, dest, 1, 3);                                         \
    shmem_barrier_all();                                            \
    CHANGE(type, 0, 8);                                             \
    function((type *) dest, (type) 3);                              \
    EXPECT(type, dest, 1, 8);                                       \
    shmem_barrier_all()

/* Six cells, of which the status leaves out the third one; it never changes. Compared with `to`, one value or one for each. */
#define CELLS(type)                                                 \
    int status[6] = { 0, 0, 1, 0, 0, 0 };                           \
    const int none[6] = { 1, 1, 1, 1, 1, 1 };                       \
    type values[6];                                                 \
    FILL(type, values, 6, 3 + i);                                   \
    FILL(type, dest, 6, 1);                                         \
    shmem_barrier_all()
#define CHANGE_ALL(type, step)                                      \
    for (int k = 0; k < 6; k++)                                     \
        if (k != 2)                                                 \
            CHANGE(type, k, 3 + k * step)

#define WAIT_ALL(function, type, step, to)                          \
    CELLS(type);                                                    \
    CHANGE_ALL(type, step);                                         \
    function((type *) dest, 6, status, SHMEM_CMP_EQ, to);           \
    EXPECT(type, dest, 6, i == 2 ? 1 : 3 + i * step);               \
    function((type *) dest, 6, none, SHMEM_CMP_EQ, to);             \
    shmem_barrier_all()
#define CHECK_wait_until_all(function, type, c) WAIT_ALL(function, type, 0, (type) 3)
#define CHECK_wait_until_all_vector(function, type, c) WAIT_ALL(function, type, 1, values)

#define TEST_ALL(function, type, step, to)                          \
    CELLS(type);                                                    \
    MUST(function((type *) dest, 6, status, SHMEM_CMP_EQ, to) == 0); \
    MUST(function((type *) dest, 6, none, SHMEM_CMP_EQ, to) == 1);  \
    shmem_barrier_all();                                            \
    CHANGE_ALL(type, step);                                         \
    while (!function((type *) dest, 6, status, SHMEM_CMP_EQ, to))   \
        ;                                                           \
    EXPECT(type, dest, 6, i == 2 ? 1 : 3 + i * step);               \
    shmem_barrier_all()
#define CHECK_test_all(function, type, c) TEST_ALL(function, type, 0, (type) 3)
#define CHECK_test_all_vector(function, type, c) TEST_ALL(function, type, 1, values)

/* Each is found once. */
#define FIND_ANY(function, type, step, to, waits)                                               \
    CELLS(type);                                                                                \
    MUST(function((type *) dest, 6, none, SHMEM_CMP_EQ, to) == SIZE_MAX);                       \
    CHANGE_ALL(type, step);                                                                     \
    for (int found = 0; found < 5;) {                                                           \
        size_t which = function((type *) dest, 6, status, SHMEM_CMP_EQ, to);                    \
        if (!waits && which == SIZE_MAX)                                                        \
            continue;                                                                           \
        MUST(which < 6 && status[which] == 0);                                                  \
        EXPECT(type, (type *) dest + which, 1, 3 + (int) which * step);                         \
        status[which] = 1;                                                                      \
        found++;                                                                                \
    }                                                                                           \
    shmem_barrier_all()
#define CHECK_wait_until_any(function, type, c) FIND_ANY(function, type, 0, (type) 3, 1)
#define CHECK_wait_until_any_vector(function, type, c) FIND_ANY(function, type, 1, values, 1)
#define CHECK_test_any(function, type, c) FIND_ANY(function, type, 0, (type) 3, 0)
#define CHECK_test_any_vector(function, type, c) FIND_ANY(function, type, 1, values, 0)

#define FIND_SOME(function, type, step, to, waits)                                              \
    CELLS(type);                                                                                \
    size_t indices[6];                                                                          \
    MUST(function((type *) dest, 6, indices, none, SHMEM_CMP_EQ, to) == 0);                     \
    CHANGE_ALL(type, step);                                                                     \
    for (size_t found = 0; found < 5;) {                                                        \
        size_t some = function((type *) dest, 6, indices, status, SHMEM_CMP_EQ, to);            \
        MUST(some <= 5 - found && (some > 0 || !waits));                                        \
        for (size_t k = 0; k < some; k++) {                                                     \
            size_t which = indices[k];                                                          \
            MUST(which < 6 && status[which] == 0);                                              \
            EXPECT(type, (type *) dest + which, 1, 3 + (int) which * step);                     \
            status[which] = 1;                                                                  \
        }                                                                                       \
        found += some;                                                                          \
    }                                                                                           \
    shmem_barrier_all()
#define CHECK_wait_until_some(function, type, c) FIND_SOME(function, type, 0, (type) 3, 1)
#define CHECK_wait_until_some_vector(function, type, c) FIND_SOME(function, type, 1, values, 1)
#define CHECK_test_some(function, type, c) FIND_SOME(function, type, 0, (type) 3, 0)
#define CHECK_test_some_vector(function, type, c) FIND_SOME(function, type, 1, values, 0)
