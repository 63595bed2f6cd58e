/* Checks of collectives: in the world and in teams of every second PE, with few elements and many, in place too. */
#include "every.h"
#include <time.h>

/* A team that `which` counts: its size, our place in it, and who a member is. */
#define EACH_TEAM                                                                                   \
    for (int which = 0; which < 2; which++)                                                         \
        for (int count = 3; count <= 403; count += 400)

#define TEAM (which ? half : SHMEM_TEAM_WORLD)
#define SIZE_OF_TEAM (which ? (n + 1 - me % 2) / 2 : n)
#define PLACE (which ? me / 2 : me)
#define MEMBER(index) (which ? 2 * (index) + me % 2 : (index))

/* The i-th element of what a PE gives. */
#define GIVES(pe, i) ((pe) * 13 + (i) % 7)

/* PE 0 comes later than the others: a PE that does not wait for it is detected. */
static void late(void)
{
    struct timespec pause = { 0, 3000000 };
    if (me == 0)
        nanosleep(&pause, NULL);
}

#define CHECK_barrier_all(function, type, c)                                                        \
    *(int *) dest = -1;                                                                             \
    shmem_barrier_all();                                                                            \
    late();                                                                                         \
    shmem_int_p((int *) dest, me, right);                                                           \
    function();                                                                                     \
    MUST(*(int *) dest == left)

#define CHECK_sync_all(function, type, c)                                                           \
    *(int *) dest = -1;                                                                             \
    function();                                                                                     \
    shmem_int_p((int *) dest, me, right);                                                           \
    shmem_quiet();                                                                                  \
    function();                                                                                     \
    MUST(*(int *) dest == left)

#define CHECK_team_sync(function, type, c)                                                          \
    for (int which = 0; which < 2; which++) {                                                       \
        int size = SIZE_OF_TEAM, next = MEMBER((PLACE + 1) % size);                                 \
        *(int *) dest = -1;                                                                         \
        MUST(function(TEAM) == 0);                                                                  \
        shmem_int_p((int *) dest, me, next);                                                        \
        shmem_quiet();                                                                              \
        MUST(function(TEAM) == 0);                                                                  \
        MUST(*(int *) dest == MEMBER((PLACE + size - 1) % size));                                   \
        shmem_barrier_all();                                                                        \
    }

#define CHECK_broadcast(function, type, c)                                                          \
    EACH_TEAM {                                                                                     \
        int root = SIZE_OF_TEAM - 1;                                                                \
        FILL(type, dest, count + 1, GUARD);                                                         \
        FILL(type, source, count, GIVES(me, i));                                                    \
        shmem_barrier_all();                                                                        \
        MUST(function(TEAM, (type *) dest, (type *) source, (size_t) count, root) == 0);            \
        EXPECT(type, dest, count, GIVES(MEMBER(root), i));                                          \
        EXPECT(type, (type *) dest + count, 1, GUARD);                                              \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_broadcastmem CHECK_broadcast

/* A member gives so many: what it gives begins behind what those before it give. */
#define GATHER(type, call, gives)                                                                   \
    EACH_TEAM {                                                                                     \
        FILL(type, dest, (count + 8) * n + 1, GUARD);                                               \
        FILL(type, source, count + 8, GIVES(me, i));                                                \
        shmem_barrier_all();                                                                        \
        MUST(call == 0);                                                                            \
        int at = 0;                                                                                 \
        for (int member = 0; member < SIZE_OF_TEAM; member++) {                                     \
            EXPECT(type, (type *) dest + at, gives(member), GIVES(MEMBER(member), i));              \
            at += gives(member);                                                                    \
        }                                                                                           \
        EXPECT(type, (type *) dest + at, 1, GUARD);                                                 \
        shmem_barrier_all();                                                                        \
    }
#define ALL_ALIKE(member) count
#define EACH_ANOTHER(member) (count + (member))
#define CHECK_collect(function, type, c) \
    GATHER(type, function(TEAM, (type *) dest, (type *) source, (size_t) (count + PLACE)), EACH_ANOTHER)
#define CHECK_collectmem CHECK_collect
#define CHECK_fcollect(function, type, c) \
    GATHER(type, function(TEAM, (type *) dest, (type *) source, (size_t) count), ALL_ALIKE)
#define CHECK_fcollectmem CHECK_fcollect

/* The blocks have their receiver's number in them. */
#define BLOCKS(from, to, k) ((from) * 5 + (to) * 7 + (k) % 5)
#define EXCHANGE(type, size, place, member, dst, sst, call)                                         \
    FILL(type, dest, (size) * count * (dst), GUARD);                                                \
    FILL(type, source, (size) * count * (sst), BLOCKS(me, i / (sst) / count, i / (sst) % count));   \
    shmem_barrier_all();                                                                            \
    call;                                                                                           \
    EXPECT(type, dest, (size) * count * (dst),                                                      \
        i % (dst) ? GUARD : BLOCKS(member(i / (dst) / count), place, i / (dst) % count));           \
    shmem_barrier_all()

#define CHECK_alltoall(function, type, c)                                                           \
    EACH_TEAM {                                                                                     \
        EXCHANGE(type, SIZE_OF_TEAM, PLACE, MEMBER, 1, 1,                                           \
            MUST(function(TEAM, (type *) dest, (type *) source, (size_t) count) == 0));             \
    }
#define CHECK_alltoallmem CHECK_alltoall
#define CHECK_alltoalls(function, type, c)                                                          \
    EACH_TEAM {                                                                                     \
        EXCHANGE(type, SIZE_OF_TEAM, PLACE, MEMBER, 2, 3,                                           \
            MUST(function(TEAM, (type *) dest, (type *) source, 2, 3, (size_t) count) == 0));       \
    }
#define CHECK_alltoallsmem CHECK_alltoalls

/* What a reduction gives, counted with ints. */
static int combine(char operation, int a, int b)
{
    switch (operation) {
    case '&': return a & b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '>': return a > b ? a : b;
    case '<': return a < b ? a : b;
    case '+': return a + b;
    default: return a * b;
    }
}

static int operand(char operation, int pe, int i)
{
    switch (operation) {
    case '&': return 64 + (pe * 5 + i) % 16;
    case '|': case '^': return (pe * 5 + i) % 64;
    case '*': return 1 + (pe + i) % 2;
    default: return (pe * 3 + i) % 11;
    }
}

/* Of the PEs first, first + stride, ... */
static int combined(char operation, int first, int stride, int size, int i)
{
    int value = operand(operation, first, i);
    for (int k = 1; k < size; k++)
        value = combine(operation, value, operand(operation, first + k * stride, i));
    return value;
}

#define REDUCES(function, type, operation)                                                          \
    EACH_TEAM {                                                                                     \
        for (int in_place = 0; in_place < 2; in_place++) {                                          \
            type *into = (type *) (in_place ? source : dest);                                       \
            FILL(type, dest, count + 1, GUARD);                                                     \
            FILL(type, source, count, operand(operation, me, i));                                   \
            FILL(type, (type *) source + count, 1, GUARD);                                          \
            shmem_barrier_all();                                                                    \
            MUST(function(TEAM, into, (type *) source, (size_t) count) == 0);                       \
            EXPECT(type, into, count, combined(operation, MEMBER(0), which + 1, SIZE_OF_TEAM, i));  \
            EXPECT(type, into + count, 1, GUARD);                                                   \
            MUST(function(TEAM, (type *) NULL, (type *) NULL, 0) == 0);                             \
            shmem_barrier_all();                                                                    \
        }                                                                                           \
    }
#define CHECK_and_reduce(function, type, c) REDUCES(function, type, '&')
#define CHECK_or_reduce(function, type, c) REDUCES(function, type, '|')
#define CHECK_xor_reduce(function, type, c) REDUCES(function, type, '^')
#define CHECK_max_reduce(function, type, c) REDUCES(function, type, '>')
#define CHECK_min_reduce(function, type, c) REDUCES(function, type, '<')
#define CHECK_sum_reduce(function, type, c) REDUCES(function, type, '+')
#define CHECK_prod_reduce(function, type, c) REDUCES(function, type, '*')

#define SCANS(function, type, inclusive)                                                            \
    EACH_TEAM {                                                                                     \
        int before = PLACE + inclusive;                                                             \
        FILL(type, dest, count + 1, GUARD);                                                         \
        FILL(type, source, count, operand('+', me, i));                                             \
        shmem_barrier_all();                                                                        \
        MUST(function(TEAM, (type *) dest, (type *) source, (size_t) count) == 0);                  \
        EXPECT(type, dest, count, before ? combined('+', MEMBER(0), which + 1, before, i) : 0);     \
        EXPECT(type, (type *) dest + count, 1, GUARD);                                              \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_sum_inscan(function, type, c) SCANS(function, type, 1)
#define CHECK_sum_exscan(function, type, c) SCANS(function, type, 0)

/* Active sets: all PEs, and those with even numbers. */
#define EACH_SET                                                                                    \
    for (int which = 0; which < 2; which++)                                                         \
        for (int count = 3; count <= 403; count += 400)
#define SET 0, which, (which ? (n + 1) / 2 : n)
#define SIZE_OF_SET (which ? (n + 1) / 2 : n)
#define IN_SET (!which || me % 2 == 0)
#define OF_SET(index) ((index) << which)

#define CHECK_barrier(function, type, c)                                                            \
    for (int which = 0; which < 2; which++) {                                                       \
        *(int *) dest = -1;                                                                         \
        shmem_barrier_all();                                                                        \
        if (IN_SET) {                                                                               \
            int size = SIZE_OF_SET, place = me >> which;                                            \
            late();                                                                                 \
            shmem_int_p((int *) dest, me, OF_SET((place + 1) % size));                              \
            function(SET, p_sync);                                                                  \
            MUST(*(int *) dest == OF_SET((place + size - 1) % size));                               \
        }                                                                                           \
    }
#define CHECK_sync(function, type, c)                                                               \
    for (int which = 0; which < 2; which++) {                                                       \
        *(int *) dest = -1;                                                                         \
        shmem_barrier_all();                                                                        \
        if (IN_SET) {                                                                               \
            int size = SIZE_OF_SET, place = me >> which;                                            \
            late();                                                                                 \
            shmem_int_p((int *) dest, me, OF_SET((place + 1) % size));                              \
            shmem_quiet();                                                                          \
            function(SET, p_sync);                                                                  \
            MUST(*(int *) dest == OF_SET((place + size - 1) % size));                               \
        }                                                                                           \
    }

/* What the root has in `dest` stays. */
#define CHECK_broadcast32(function, type, c)                                                        \
    EACH_SET {                                                                                      \
        int root = SIZE_OF_SET - 1;                                                                 \
        FILL(type, dest, count + 1, GUARD);                                                         \
        FILL(type, source, count, GIVES(me, i));                                                    \
        shmem_barrier_all();                                                                        \
        if (IN_SET) {                                                                               \
            function(dest, source, (size_t) count, root, SET, p_sync);                              \
            EXPECT(type, dest, count + 1,                                                           \
                i == count || me == OF_SET(root) ? GUARD : GIVES(OF_SET(root), i));                 \
        }                                                                                           \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_broadcast64 CHECK_broadcast32

#define GATHER_SET(type, call, gives)                                                               \
    EACH_SET {                                                                                      \
        FILL(type, dest, (count + 8) * n + 1, GUARD);                                               \
        FILL(type, source, count + 8, GIVES(me, i));                                                \
        shmem_barrier_all();                                                                        \
        if (IN_SET) {                                                                               \
            int at = 0;                                                                             \
            call;                                                                                   \
            for (int member = 0; member < SIZE_OF_SET; member++) {                                  \
                EXPECT(type, (type *) dest + at, gives(member), GIVES(OF_SET(member), i));          \
                at += gives(member);                                                                \
            }                                                                                       \
            EXPECT(type, (type *) dest + at, 1, GUARD);                                             \
        }                                                                                           \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_collect32(function, type, c) \
    GATHER_SET(type, function(dest, source, (size_t) (count + (me >> which)), SET, p_sync), EACH_ANOTHER)
#define CHECK_collect64 CHECK_collect32
#define CHECK_fcollect32(function, type, c) \
    GATHER_SET(type, function(dest, source, (size_t) count, SET, p_sync), ALL_ALIKE)
#define CHECK_fcollect64 CHECK_fcollect32

#define CHECK_alltoall32(function, type, c)                                                         \
    EACH_SET {                                                                                      \
        if (IN_SET) {                                                                               \
            FILL(type, dest, SIZE_OF_SET * count, GUARD);                                           \
            FILL(type, source, SIZE_OF_SET * count, BLOCKS(me, i / count, i % count));              \
            function(dest, source, (size_t) count, SET, p_sync);                                    \
            EXPECT(type, dest, SIZE_OF_SET * count, BLOCKS(OF_SET(i / count), me >> which, i % count)); \
        }                                                                                           \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_alltoall64 CHECK_alltoall32
#define CHECK_alltoalls32(function, type, c)                                                        \
    EACH_SET {                                                                                      \
        if (IN_SET) {                                                                               \
            FILL(type, dest, SIZE_OF_SET * count * 3, GUARD);                                       \
            FILL(type, source, SIZE_OF_SET * count * 2, BLOCKS(me, i / 2 / count, i / 2 % count));  \
            function(dest, source, 3, 2, (size_t) count, SET, p_sync);                              \
            EXPECT(type, dest, SIZE_OF_SET * count * 3,                                             \
                i % 3 ? GUARD : BLOCKS(OF_SET(i / 3 / count), me >> which, i / 3 % count));         \
        }                                                                                           \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_alltoalls64 CHECK_alltoalls32

#define REDUCES_SET(function, type, operation)                                                      \
    EACH_SET {                                                                                      \
        FILL(type, dest, count + 1, GUARD);                                                         \
        FILL(type, source, count, operand(operation, me, i));                                       \
        shmem_barrier_all();                                                                        \
        if (IN_SET) {                                                                               \
            function((type *) dest, (type *) source, count, SET, (type *) work, p_sync);            \
            EXPECT(type, dest, count, combined(operation, 0, which + 1, SIZE_OF_SET, i));           \
            EXPECT(type, (type *) dest + count, 1, GUARD);                                          \
        }                                                                                           \
        shmem_barrier_all();                                                                        \
    }
#define CHECK_and_to_all(function, type, c) REDUCES_SET(function, type, '&')
#define CHECK_or_to_all(function, type, c) REDUCES_SET(function, type, '|')
#define CHECK_xor_to_all(function, type, c) REDUCES_SET(function, type, '^')
#define CHECK_max_to_all(function, type, c) REDUCES_SET(function, type, '>')
#define CHECK_min_to_all(function, type, c) REDUCES_SET(function, type, '<')
#define CHECK_sum_to_all(function, type, c) REDUCES_SET(function, type, '+')
#define CHECK_prod_to_all(function, type, c) REDUCES_SET(function, type, '*')
