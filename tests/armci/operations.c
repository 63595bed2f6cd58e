// ranks: 1 2 4 8
// Every operation once, between neighbours: contiguous, strided, vectors, values, flags, non-blocking.
#include <message.h>
#include <mpi.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%d: line %d: %s\n", me, __LINE__, #condition);                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

enum { N = 100 };

static int me, size;

static void contiguous(double **at, int to, int from)
{
    double mine[N], got[N];
    for (int i = 0; i < N; i++) mine[i] = me * 1000 + i;
    CHECK(ARMCI_Put(mine, at[to], sizeof mine, to) == 0);
    ARMCI_Fence(to);
    ARMCI_Barrier();
    for (int i = 0; i < N; i++) CHECK(at[me][i] == from * 1000 + i);
    CHECK(ARMCI_Get(at[to], got, sizeof got, to) == 0);
    for (int i = 0; i < N; i++) CHECK(got[i] == me * 1000 + i);
    ARMCI_Barrier();
    double scale = 0.5;
    for (int p = 0; p < size; p++) CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &scale, mine, at[p], sizeof mine, p) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < N; i++) {
        double sum = from * 1000 + i;
        for (int p = 0; p < size; p++) sum += 0.5 * (p * 1000 + i);
        CHECK(at[me][i] == sum);
    }
    ARMCI_Barrier();
}

static void strided(double **at, int to, int from)
{
    double tile[4][3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) tile[i][j] = me * 100 + i * 10 + j;
    memset(at[me], 0, N * sizeof(double));
    ARMCI_Barrier();
    int count[2] = {3 * sizeof(double), 4}, mine[1] = {3 * sizeof(double)}, theirs[1] = {10 * sizeof(double)};
    CHECK(ARMCI_PutS(tile, mine, at[to] + 21, theirs, count, 1, to) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            int inside = i >= 2 && i < 6 && j >= 1 && j < 4;
            CHECK(at[me][i * 10 + j] == (inside ? from * 100 + (i - 2) * 10 + (j - 1) : 0));
        }
    double back[4][3];
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    CHECK(ARMCI_NbGetS(at[to] + 21, theirs, back, mine, count, 1, to, &handle) == 0);
    CHECK(ARMCI_Wait(&handle) == 0 && ARMCI_Test(&handle) == 0);
    CHECK(memcmp(back, tile, sizeof tile) == 0);
    ARMCI_Barrier();
    double scale = -1;
    CHECK(ARMCI_NbAccS(ARMCI_ACC_DBL, &scale, tile, mine, at[to] + 21, theirs, count, 1, to, NULL) == 0);
    CHECK(ARMCI_WaitProc(to) == 0 && ARMCI_WaitAll() == 0);
    ARMCI_Barrier();
    for (int i = 0; i < N; i++) CHECK(at[me][i] == 0);
    ARMCI_Barrier();
    int flagged[1] = {3 * sizeof(double)};
    int *flag = (int *)(at[to] + 99);
    CHECK(ARMCI_PutS_flag(tile, flagged, at[to], theirs, count, 1, flag, 17 + me, to) == 0);
    while (*(volatile int *)(at[me] + 99) != 17 + from) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &(int){0}, MPI_STATUS_IGNORE);
    CHECK(at[me][32] == from * 100 + 32);
    ARMCI_Barrier();
}

static void vectors(double **at, int to, int from)
{
    double values[3] = {me + 0.25, me + 0.5, me + 0.75}, got[3] = {0};
    void *sources[3], *targets[3], *results[3];
    int places[3] = {5, 50, 77};
    for (int i = 0; i < 3; i++) {
        sources[i] = &values[i];
        targets[i] = at[to] + places[i];
        results[i] = &got[i];
    }
    armci_giov_t put = {sources, targets, 3, sizeof(double)}, get = {targets, results, 3, sizeof(double)};
    CHECK(ARMCI_PutV(&put, 1, to) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < 3; i++) CHECK(at[me][places[i]] == from + 0.25 * (i + 1));
    CHECK(ARMCI_NbGetV(&get, 1, to, NULL) == 0 && ARMCI_WaitAll() == 0);
    CHECK(memcmp(got, values, sizeof got) == 0);
    ARMCI_Barrier();
    double scale = 2;
    CHECK(ARMCI_AccV(ARMCI_ACC_DBL, &scale, &put, 1, to) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < 3; i++) CHECK(at[me][places[i]] == 3 * (from + 0.25 * (i + 1)));
    ARMCI_Barrier();
}

static void values_and_flags(double **at, int to, int from)
{
    CHECK(ARMCI_PutValueDouble(2.5 + me, at[to], to) == 0 && ARMCI_PutValueInt(me, at[to] + 1, to) == 0);
    CHECK(ARMCI_PutValueLong(-me, at[to] + 2, to) == 0 && ARMCI_NbPutValueFloat(me / 2.0f, at[to] + 3, to, NULL) == 0);
    ARMCI_Barrier();
    CHECK(at[me][0] == 2.5 + from && *(int *)(at[me] + 1) == from && *(long *)(at[me] + 2) == -from);
    CHECK(ARMCI_GetValueDouble(at[to], to) == 2.5 + me && ARMCI_GetValueInt(at[to] + 1, to) == me);
    CHECK(ARMCI_GetValueLong(at[to] + 2, to) == -me && ARMCI_GetValueFloat(at[to] + 3, to) == me / 2.0f);
    ARMCI_Barrier();
    int zero = 0;
    memcpy(at[me] + 9, &zero, sizeof zero);
    ARMCI_Barrier();
    double payload[4] = {me, me + 1, me + 2, me + 3};
    CHECK(ARMCI_Put_flag(payload, at[to] + 4, sizeof payload, (int *)(at[to] + 9), me + 1, to) == 0);
    while (*(volatile int *)(at[me] + 9) != from + 1) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &(int){0}, MPI_STATUS_IGNORE);
    CHECK(at[me][4] == from && at[me][7] == from + 3);
    ARMCI_Barrier();
    for (int round = 1; round <= 5; round++) {
        double value = round * 10 + me;
        int count = 0;
        ARMCI_Put(&value, at[to] + 20, sizeof value, to);
        CHECK(armci_notify(to) == round);
        armci_notify_wait(from, &count);
        CHECK(count == round && at[me][20] == round * 10 + from);
        ARMCI_Barrier();
    }
}

static void kinds(void)
{
    void *at[size];
    CHECK(ARMCI_Malloc(at, 1 << 14) == 0);
#define KIND(kind, type, one, value)                                                                                   \
    do {                                                                                                               \
        enum { COUNT = (1 << 14) / sizeof(type) };                                                                     \
        static type data[COUNT];                                                                                       \
        memset(at[me], 0, 1 << 14);                                                                                    \
        for (int i = 0; i < COUNT; i++) data[i] = (value);                                                             \
        type scale = one;                                                                                              \
        ARMCI_Barrier();                                                                                               \
        for (int p = 0; p < size; p++) CHECK(ARMCI_Acc(kind, &scale, data, at[p], sizeof data, p) == 0);               \
        ARMCI_Barrier();                                                                                               \
        for (int i = 0; i < COUNT; i++) CHECK(((type *)at[me])[i] == scale * (value) * (type)size);                    \
        ARMCI_Barrier();                                                                                               \
    } while (0)
    KIND(ARMCI_ACC_INT, int, 3, i - 7);
    KIND(ARMCI_ACC_LNG, long, -2, i * 1000L);
    KIND(ARMCI_ACC_FLT, float, 0.5f, (float)(i % 64));
    KIND(ARMCI_ACC_DBL, double, 4, i * 0.5);
    KIND(ARMCI_ACC_CPL, _Complex float, __builtin_complex(0.0f, 1.0f), __builtin_complex((float)(i % 32), 2.0f));
    KIND(ARMCI_ACC_DCP, _Complex double, __builtin_complex(1.0, -1.0), __builtin_complex((double)i, 0.25));
    CHECK(ARMCI_Free(at[me]) == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    CHECK(!ARMCI_Initialized());
    CHECK(ARMCI_Init_args(&argc, &argv) == 0 && ARMCI_Initialized());
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(armci_msg_me() == me && armci_msg_nproc() == size);
    int to = (me + 1) % size, from = (me + size - 1) % size;
    void *at[size];
    CHECK(ARMCI_Malloc(at, N * sizeof(double)) == 0);
    for (int i = 0; i < N; i++) CHECK(((double *)at[me])[i] == 0);
    ARMCI_Barrier();
    contiguous((double **)at, to, from);
    strided((double **)at, to, from);
    vectors((double **)at, to, from);
    values_and_flags((double **)at, to, from);
    CHECK(ARMCI_Free(at[me]) == 0);
    kinds();
    // Some have memory, some have none; local memory is local.
    CHECK(ARMCI_Malloc(at, me % 2 ? 0 : 64) == 0);
    for (int p = 0; p < size; p++) CHECK((at[p] == NULL) == (p % 2));
    CHECK(ARMCI_Free(at[me]) == 0);
    void *local = ARMCI_Malloc_local(1000);
    CHECK(local && ARMCI_Free_local(local) == 0);
    ARMCI_Finalize();
    CHECK(!ARMCI_Initialized());
    MPI_Finalize();
}
