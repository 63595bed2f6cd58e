// ranks: 2 4
// nonblocking [still]: non-blocking operations: with a process of another node they start, go on while the program calls nothing, and are over when
// their handle is waited for. On one node they are over when their calls return. `still`: nobody serves while it computes (progress_thread=0), so
// that calls must return before anything has come; for two nodes with two processes each.
#include <armci.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%d: line %d: %s\n", me, __LINE__, #condition);                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

enum { WHOLE = 1 << 20, LONG = 1 << 18, ROWS = 1000, ROW = 500, PITCH = 1001, SECTIONS = 3, FEW = 3, PIECES = 40 };

static int me, size;
static int **at;

/* An element of a process. */
static int value(int process, int i) { return process * 10000019 + i; }

/* Gets from a process, each on its own handle: a row, sections that do not all fit into the calls without an answer, a list and a few numbers. */
struct Gets {
    int row[LONG], section[SECTIONS][ROWS * ROW], list[PIECES], few[FEW];
    armci_hdl_t of_row, of_section[SECTIONS], of_list, of_few;
};

static void start(struct Gets *gets, int other)
{
    static void *from[PIECES], *to[PIECES];
    int count[2] = {ROW * sizeof(int), ROWS}, there[1] = {PITCH * sizeof(int)}, here[1] = {ROW * sizeof(int)};
    armci_giov_t list = {.src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = PIECES, .bytes = sizeof(int)};
    memset(gets, 0xff, sizeof *gets);
    ARMCI_INIT_HANDLE(&gets->of_row);
    ARMCI_INIT_HANDLE(&gets->of_list);
    ARMCI_INIT_HANDLE(&gets->of_few);
    for (int i = 0; i < PIECES; i++)
        from[i] = at[other] + 17 * i, to[i] = gets->list + i;
    CHECK(ARMCI_NbGet(at[other], gets->row, sizeof gets->row, other, &gets->of_row) == 0);
    for (int i = 0; i < SECTIONS; i++) {
        ARMCI_INIT_HANDLE(&gets->of_section[i]);
        CHECK(ARMCI_NbGetS(at[other] + i, there, gets->section[i], here, count, 1, other, &gets->of_section[i]) == 0);
    }
    CHECK(ARMCI_NbGetV(&list, 1, other, &gets->of_list) == 0);
    CHECK(ARMCI_NbGet(at[other] + 5, gets->few, sizeof gets->few, other, &gets->of_few) == 0);
}

/* In another order than they were started in. */
static void finish(struct Gets *gets, int other)
{
    CHECK(ARMCI_Wait(&gets->of_few) == 0);
    for (int i = 0; i < FEW; i++) CHECK(gets->few[i] == value(other, 5 + i));
    while (ARMCI_Test(&gets->of_section[1]) != 0) {}
    for (int i = 0; i < ROWS * ROW; i++) CHECK(gets->section[1][i] == value(other, 1 + i / ROW * PITCH + i % ROW));
    CHECK(ARMCI_Wait(&gets->of_list) == 0);
    for (int i = 0; i < PIECES; i++) CHECK(gets->list[i] == value(other, 17 * i));
    for (int s = 0; s < SECTIONS; s++) {
        CHECK(ARMCI_Wait(&gets->of_section[s]) == 0);
        for (int i = 0; i < ROWS * ROW; i++) CHECK(gets->section[s][i] == value(other, s + i / ROW * PITCH + i % ROW));
    }
    CHECK(ARMCI_Wait(&gets->of_row) == 0);
    for (int i = 0; i < LONG; i++) CHECK(gets->row[i] == value(other, i));
    CHECK(gets->of_few == 0 && gets->of_list == 0 && gets->of_row == 0);
}

/* All comes while the program calls nothing. */
static void compute(struct Gets *gets)
{
    for (volatile int *byte = gets->row; byte < gets->row + LONG; byte++)
        while (*byte == -1) sched_yield();
    for (int s = 0; s < SECTIONS; s++)
        for (volatile int *byte = gets->section[s]; byte < gets->section[s] + ROWS * ROW; byte++)
            while (*byte == -1) sched_yield();
    for (volatile int *byte = gets->list; byte < gets->list + PIECES; byte++)
        while (*byte == -1) sched_yield();
    for (volatile int *byte = gets->few; byte < gets->few + FEW; byte++)
        while (*byte == -1) sched_yield();
}

/* One handle for many, and none. */
static void together(int other)
{
    int got[20];
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_SET_AGGREGATE_HANDLE(&handle);
    for (int i = 0; i < 10; i++) CHECK(ARMCI_NbGet(at[other] + 9 * i, &got[i], sizeof(int), other, &handle) == 0);
    CHECK(ARMCI_Wait(&handle) == 0);
    ARMCI_UNSET_AGGREGATE_HANDLE(&handle);
    for (int i = 10; i < 15; i++) CHECK(ARMCI_NbGet(at[other] + 9 * i, &got[i], sizeof(int), other, NULL) == 0);
    CHECK(ARMCI_WaitProc(other) == 0);
    for (int i = 15; i < 20; i++) CHECK(ARMCI_NbGet(at[other] + 9 * i, &got[i], sizeof(int), other, NULL) == 0);
    CHECK(ARMCI_WaitAll() == 0);
    for (int i = 0; i < 20; i++) CHECK(got[i] == value(other, 9 * i));
    /* A fence completes them, too. */
    CHECK(ARMCI_NbGet(at[other] + 1, got, sizeof got, other, NULL) == 0);
    ARMCI_Fence(other);
    for (int i = 0; i < 20; i++) CHECK(got[i] == value(other, 1 + i));
}

/* What follows a long put that is under way comes after it. */
static void puts_in_order(int other, int from)
{
    int *mine = malloc(LONG * sizeof(int)), seen, flag, *words = at[me] + WHOLE;
    double sum = 1, one = 1;
    for (int round = 0; round < 4; round++) {
        armci_hdl_t handle, of_value;
        ARMCI_INIT_HANDLE(&handle);
        ARMCI_INIT_HANDLE(&of_value);
        for (int i = 0; i < LONG; i++) mine[i] = value(me, i) ^ round;
        CHECK(ARMCI_NbPut(mine, at[other], LONG * sizeof(int), other, &handle) == 0);
        switch (round) {
        case 0:
            CHECK(ARMCI_Get(at[other] + LONG - 1, &seen, sizeof seen, other) == 0);
            CHECK(seen == (value(me, LONG - 1) ^ round));
            break;
        case 1:
            CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &seen, at[other] + LONG - 1, 0, other) == 0);
            CHECK(seen == (value(me, LONG - 1) ^ round));
            break;
        case 2:
            CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, &sum, at[other] + WHOLE + 2, sizeof sum, other) == 0);
            break;
        }
        flag = round + 1;
        CHECK(ARMCI_NbPutValueInt(flag, at[other] + WHOLE, other, &of_value) == 0);
        while (*(volatile int *)words != round + 1) ARMCI_Test(&handle);
        for (int i = 0; i < LONG; i++) CHECK(at[me][i] == (value(from, i) ^ round));
        CHECK(ARMCI_Wait(&handle) == 0 && ARMCI_Wait(&of_value) == 0);
        memset(mine, 0, LONG * sizeof(int));
        ARMCI_Barrier();
    }
    CHECK(*(double *)(words + 2) == 1);
    free(mine);
}

/* The first process gets from the third one, which calls nothing until the last one, beside it, hears that the calls have returned. */
static void still(struct Gets *gets)
{
    int other = 2, flag = 1;
    CHECK(size == 4);
    if (me == 0) {
        /* The owner is asked for its key once. */
        CHECK(ARMCI_Get(at[other], gets->row, sizeof gets->row, other) == 0);
    }
    ARMCI_Barrier();
    switch (me) {
    case 0:
        start(gets, other);
        CHECK(ARMCI_Test(&gets->of_row) != 0 && ARMCI_Test(&gets->of_few) != 0 && ARMCI_Test(&gets->of_list) != 0);
        for (int i = 0; i < SECTIONS; i++) CHECK(ARMCI_Test(&gets->of_section[i]) != 0);
        MPI_Send(&flag, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
        finish(gets, other);
        break;
    case 2:
        while (*(volatile int *)(at[me] + WHOLE) != flag) sched_yield();
        break;
    case 3:
        MPI_Recv(&flag, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(ARMCI_Put(&flag, at[other] + WHOLE, sizeof flag, other) == 0);
        break;
    }
}

int main(int argc, char **argv)
{
    int is_still = argc > 1 && strcmp(argv[1], "still") == 0;
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Half of the processes away: on two nodes on the other one. */
    int other = (me + size / 2) % size;
    at = malloc(size * sizeof *at);
    struct Gets *gets = malloc(sizeof *gets);
    CHECK(ARMCI_Malloc((void **)at, (WHOLE + 8) * sizeof(int)) == 0);
    for (int i = 0; i < WHOLE; i++) at[me][i] = value(me, i);
    memset(at[me] + WHOLE, 0, 8 * sizeof(int));
    ARMCI_Barrier();
    if (is_still) {
        still(gets);
    } else {
        start(gets, other);
        compute(gets);
        finish(gets, other);
        together(other);
        ARMCI_Barrier();
        puts_in_order(other, other);
    }
    ARMCI_Barrier();
    ARMCI_Free(at[me]);
    free(gets);
    free(at);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
