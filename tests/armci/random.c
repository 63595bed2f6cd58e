// ranks: 1 2 4 8
// more ranks: 3 9
// Random operations against a model: each process owns a lane of every other's memory, and keeps a copy of what must be there; accumulates
// of integers go to a shared part, whose sum is known at the end.
#include <message.h>
#include <stdint.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%d: step %d: line %d: %s\n", me, step, __LINE__, #condition);                             \
            ARMCI_Error("random", 1);                                                                                  \
        }                                                                                                              \
    } while (0)

enum { LANE = 8192, SHARED = 1024, COUNTERS = 64, STEPS = 3000 };

static int me, size, step;
static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

// A section of up to three levels that fits into a lane, with the same at the other end.
static int section(int *count, int *near, int *far, int *near_bytes, int *far_bytes)
{
    int levels = below(4);
    count[0] = 1 + below(levels ? 40 : 2000);
    *near_bytes = *far_bytes = count[0];
    for (int i = 0; i < levels; i++) {
        count[i + 1] = 1 + below(4);
        near[i] = *near_bytes + below(2) * below(9);
        far[i] = *far_bytes + below(2) * below(9);
        *near_bytes += (count[i + 1] - 1) * near[i];
        *far_bytes += (count[i + 1] - 1) * far[i];
    }
    return levels;
}

static void copy(const char *from, const int *from_stride, char *to, const int *to_stride, const int *count, int level)
{
    if (level == 0) {
        memcpy(to, from, count[0]);
        return;
    }
    for (int i = 0; i < count[level]; i++)
        copy(from + i * from_stride[level - 1], from_stride, to + i * to_stride[level - 1], to_stride, count, level - 1);
}

// Adds to values of every type in the lane: what was put there, and a multiple of others. Small whole numbers are exact in all of them.
#define ACCUMULATE(type, name, is_complex)                                                                             \
    do {                                                                                                               \
        type scale[2] = {(type)(1 + below(3)), 0}, *first = (type *)near, *values = first + 64, *sums = values + 64;   \
        for (int i = 0; i < n * (1 + is_complex); i++) {                                                               \
            first[i] = (type)below(100), values[i] = (type)below(100);                                                 \
            sums[i] = first[i] + scale[0] * values[i];                                                                 \
        }                                                                                                              \
        int bytes = n * (1 + is_complex) * (int)sizeof(type);                                                          \
        ARMCI_Put(first, far, bytes, proc);                                                                            \
        ARMCI_Fence(proc);                                                                                             \
        ARMCI_Acc(name, scale, values, far, bytes, proc);                                                              \
        memcpy(expected, sums, bytes);                                                                                 \
    } while (0)

static void accumulate_typed(char *near, char *far, char *expected, int proc)
{
    int n = 1 + below(30);
    switch (below(6)) {
    case 0: ACCUMULATE(int, ARMCI_ACC_INT, 0); break;
    case 1: ACCUMULATE(long, ARMCI_ACC_LNG, 0); break;
    case 2: ACCUMULATE(float, ARMCI_ACC_FLT, 0); break;
    case 3: ACCUMULATE(double, ARMCI_ACC_DBL, 0); break;
    case 4: ACCUMULATE(float, ARMCI_ACC_CPL, 1); break;
    default: ACCUMULATE(double, ARMCI_ACC_DCP, 1);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    ARMCI_Init();
    me = armci_msg_me();
    size = armci_msg_nproc();
    state = 12345 + 977 * me + (argv[1] ? atoi(argv[1]) : 0);
    void *at[size];
    CHECK(ARMCI_Malloc(at, size * LANE + (SHARED + COUNTERS) * sizeof(long)) == 0);
    char *model = calloc(size, LANE), *near = malloc(LANE), *want = malloc(LANE);
    long *added = calloc(SHARED, sizeof(long)), *sums = calloc(size * SHARED, sizeof(long));
    long *counted = calloc(size * COUNTERS, sizeof(long));
    int count[4], near_stride[3], far_stride[3], near_bytes, far_bytes;
    for (step = 0; step < STEPS; step++) {
        int proc = below(size), levels = section(count, near_stride, far_stride, &near_bytes, &far_bytes);
        int offset = below(LANE - far_bytes + 1), skew = below(LANE - near_bytes + 1);
        char *far = (char *)at[proc] + me * LANE + offset, *expected = model + proc * LANE + offset;
        switch (below(12)) {
        case 0:
        case 1:
            for (int i = 0; i < near_bytes; i++) near[skew + i] = (char)below(256);
            if (below(2))
                ARMCI_PutS(near + skew, near_stride, far, far_stride, count, levels, proc);
            else
                ARMCI_NbPutS(near + skew, near_stride, far, far_stride, count, levels, proc, NULL), ARMCI_WaitProc(proc);
            copy(near + skew, near_stride, expected, far_stride, count, levels);
            break;
        case 2:
        case 3:
            memset(near, 1, LANE);
            memset(want, 1, LANE);
            ARMCI_GetS(far, far_stride, near + skew, near_stride, count, levels, proc);
            copy(expected, far_stride, want + skew, near_stride, count, levels);
            CHECK(memcmp(near, want, LANE) == 0);
            break;
        case 4: {
            void *from[8], *to[8];
            int n = 1 + below(8), bytes = 1 + below(100);
            for (int i = 0; i < n; i++) {
                int place = below(LANE - bytes + 1);
                from[i] = near + below(LANE - bytes + 1);
                to[i] = (char *)at[proc] + me * LANE + place;
                memcpy(model + proc * LANE + place, from[i], bytes);
            }
            armci_giov_t entry = {from, to, n, bytes};
            ARMCI_PutV(&entry, 1, proc);
            break;
        }
        case 5: {
            // Lists of pieces that do not overlap where they come to.
            void *from[8], *to[8];
            int n = 1 + below(8), bytes = 1 + below(100);
            memset(near, 1, LANE);
            memset(want, 1, LANE);
            for (int i = 0; i < n; i++) {
                int place = below(LANE - bytes + 1), here = i * 128;
                from[i] = (char *)at[proc] + me * LANE + place;
                to[i] = near + here;
                memcpy(want + here, model + proc * LANE + place, bytes);
            }
            armci_giov_t entry = {from, to, n, bytes};
            if (below(2))
                ARMCI_GetV(&entry, 1, proc);
            else {
                armci_hdl_t handle;
                ARMCI_INIT_HANDLE(&handle);
                ARMCI_NbGetV(&entry, 1, proc, &handle);
                ARMCI_Wait(&handle);
            }
            CHECK(memcmp(near, want, LANE) == 0);
            break;
        }
        case 6: {
            int place = below(LANE / 64) * 8;
            accumulate_typed(near, (char *)at[proc] + me * LANE + place, model + proc * LANE + place, proc);
            break;
        }
        case 7: {
            // Several small puts under one handle.
            armci_hdl_t handle;
            ARMCI_INIT_HANDLE(&handle);
            if (below(2)) ARMCI_SET_AGGREGATE_HANDLE(&handle);
            for (int i = 0; i < 64; i++) near[i] = (char)below(256);
            for (int i = 0; i < 8; i++) {
                int place = below(LANE - 8 + 1);
                ARMCI_NbPut(near + 8 * i, (char *)at[proc] + me * LANE + place, 8, proc, &handle);
                memcpy(model + proc * LANE + place, near + 8 * i, 8);
            }
            ARMCI_Wait(&handle);
            break;
        }
        case 8: {
            int place = below(LANE / 8) * 8;
            long value = below(1 << 20);
            char *there = (char *)at[proc] + me * LANE + place;
            ARMCI_PutValueLong(value, there, proc);
            memcpy(model + proc * LANE + place, &value, 8);
            CHECK(ARMCI_GetValueLong(there, proc) == value);
            break;
        }
        case 9: {
            // One of many that add to the same; accumulates are not atomic against it.
            long before = -1, by = below(100);
            int which = below(COUNTERS);
            char *counters = (char *)at[proc] + size * LANE + SHARED * sizeof(long);
            ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, counters + which * sizeof(long), (int)by, proc);
            CHECK(before >= counted[proc * COUNTERS + which]);
            counted[proc * COUNTERS + which] += by;
            break;
        }
        case 10: {
            // Rows of longs, apart from each other on both sides.
            int rows = 1 + below(8), row = 1 + below(16), near_row = row + below(3), far_row = row + below(5);
            int first = below(SHARED - rows * far_row + 1), strides[2][1] = {{near_row * 8}, {far_row * 8}}, counts[2] = {row * 8, rows};
            long scale = 1 + below(3);
            for (int i = 0; i < rows; i++)
                for (int k = 0; k < row; k++) {
                    added[i * near_row + k] = below(1000);
                    sums[proc * SHARED + first + i * far_row + k] += scale * added[i * near_row + k];
                }
            ARMCI_AccS(ARMCI_ACC_LNG, &scale, added, strides[0], (char *)at[proc] + size * LANE + first * sizeof(long), strides[1],
                       counts, 1, proc);
            break;
        }
        default: {
            int n = 1 + below(200), first = below(SHARED - n + 1);
            long scale = (long)below(9) - 4;
            for (int i = 0; i < n; i++) {
                added[i] = below(1000);
                sums[proc * SHARED + first + i] += scale * added[i];
            }
            ARMCI_Acc(ARMCI_ACC_LNG, &scale, added, (char *)at[proc] + size * LANE + first * sizeof(long),
                      n * sizeof(long), proc);
        }
        }
    }
    ARMCI_AllFence();
    armci_msg_barrier();
    for (int proc = 0; proc < size; proc++) {
        ARMCI_Get((char *)at[proc] + me * LANE, near, LANE, proc);
        CHECK(memcmp(near, model + proc * LANE, LANE) == 0);
    }
    armci_msg_lgop(sums, size * SHARED, "+");
    CHECK(memcmp((char *)at[me] + size * LANE, sums + me * SHARED, SHARED * sizeof(long)) == 0);
    armci_msg_lgop(counted, size * COUNTERS, "+");
    CHECK(memcmp((char *)at[me] + size * LANE + SHARED * sizeof(long), counted + me * COUNTERS, COUNTERS * sizeof(long)) == 0);
    ARMCI_Barrier();
    ARMCI_Free(at[me]);
    ARMCI_Finalize();
    return 0;
}
