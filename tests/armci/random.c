// ranks: 1 2 4 8
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

enum { LANE = 8192, SHARED = 1024, STEPS = 3000 };

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

int main(int argc, char **argv)
{
    (void)argc;
    ARMCI_Init();
    me = armci_msg_me();
    size = armci_msg_nproc();
    state = 12345 + 977 * me + (argv[1] ? atoi(argv[1]) : 0);
    void *at[size];
    CHECK(ARMCI_Malloc(at, size * LANE + SHARED * sizeof(long)) == 0);
    char *model = calloc(size, LANE), *near = malloc(LANE), *want = malloc(LANE);
    long *added = calloc(SHARED, sizeof(long)), *sums = calloc(size * SHARED, sizeof(long));
    int count[4], near_stride[3], far_stride[3], near_bytes, far_bytes;
    for (step = 0; step < STEPS; step++) {
        int proc = below(size), levels = section(count, near_stride, far_stride, &near_bytes, &far_bytes);
        int offset = below(LANE - far_bytes + 1), skew = below(LANE - near_bytes + 1);
        char *far = (char *)at[proc] + me * LANE + offset, *expected = model + proc * LANE + offset;
        switch (below(7)) {
        case 0:
        case 1:
            for (int i = 0; i < near_bytes; i++) near[skew + i] = (char)below(256);
            if (below(2))
                ARMCI_PutS(near + skew, near_stride, far, far_stride, count, levels, proc);
            else
                ARMCI_NbPutS(near + skew, near_stride, far, far_stride, count, levels, proc, NULL);
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
    ARMCI_Barrier();
    ARMCI_Free(at[me]);
    ARMCI_Finalize();
    return 0;
}
