/* One-sided operations of rank 0, and how windows synchronise.
 *
 *   rma [--seconds S] [KIND:NUMBER ...]
 *   rma --put | --get [--seconds S] [SIZE ...]
 *
 * With --put or --get the time of one of 64 that are completed by one flush, on memory of MPI_Win_allocate. Otherwise:
 *
 * By bytes, from rank 0 to rank 1, with the flush that completes each operation, under MPI_Win_lock_all:
 *   put-allocate get-allocate acc-allocate   on memory of MPI_Win_allocate (acc: MPI_SUM of doubles)
 *   put-create get-create acc-create         on ordinary memory
 *   put-vector get-vector put-2d ... get-3d  every second double, half of the columns of a matrix, half of a cube, on both sides
 *   put-computing put-idle                   rank 1 computes for a second, or waits in MPI (-create-: on ordinary memory)
 *   send send-2d                             half a round trip of MPI_Send and MPI_Recv of as many bytes
 *   armci-put armci-get armci-acc armci-put-2d armci-get-2d armci-acc-2d
 *                                            the same by ARMCI, with a fence (compiled with -DWITH_ARMCI)
 *   short-gacc short-fop short-cas           MPI_Get_accumulate (a sum of doubles), MPI_Fetch_and_op and MPI_Compare_and_swap with their flush,
 *                                            on memory of MPI_Win_allocate that has seen a long sum, as windows of applications have
 *   short-lock short-puts                    lock, put, unlock there; 32 puts and one flush on ordinary memory
 * By ranks that do it at once:
 *   accumulate fetch compare                 8 bytes at rank 0 (1: of rank 0 alone, at rank 1), with their flush
 *   fence general lock create                MPI_Win_fence; post, start, complete, wait among neighbours in a ring; lock and unlock of
 *                                            the right neighbour alone; MPI_Win_create and MPI_Win_free
 * Data is checked before and after the timing of each cell. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "sections.h"
#ifdef WITH_ARMCI
#include <armci.h>
#endif

enum { TAG = 7, OUTSIDE = -1, BURST = 64 };
enum move { PUT, GET, ACC };

static int rank, ranks, size, is_armci, origins, burst, of_puts, of_gets;
static enum move move;
static struct section section;
/* `memory` is what a rank exposes, `mine` what rank 0 has. */
static char *memory, *mine;
#ifdef WITH_ARMCI
static void *memories[2];
#endif
static MPI_Win window;

static int has(const char *cell, const char *word)
{
    const char *at = strstr(cell, word);
    return at && at < strchr(cell, ':');
}

/* ---- from rank 0 to rank 1 ---- */

#ifdef WITH_ARMCI
static void armci_move(void)
{
    char *there = memories[1];
    double one = 1;
    if (section.span > 0) {
        int strides[] = {section.stride[1] * 8}, counts[] = {section.extent[2] * 8, section.extent[1]};
        if (move == PUT)
            ARMCI_PutS(mine, strides, there, strides, counts, 1, 1);
        else if (move == ACC)
            ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, strides, there, strides, counts, 1, 1);
        else
            ARMCI_GetS(there, strides, mine, strides, counts, 1, 1);
    } else if (move == PUT)
        ARMCI_Put(mine, there, size, 1);
    else if (move == GET)
        ARMCI_Get(there, mine, size, 1);
    else
        ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, size, 1);
    ARMCI_Fence(1);
}
#endif

static void move_once(void)
{
#ifdef WITH_ARMCI
    if (is_armci) {
        armci_move();
        return;
    }
#endif
    int count = section.span > 0 ? 1 : move == ACC ? size / 8 : size;
    MPI_Datatype type = section.span > 0 ? section.type : move == ACC ? MPI_DOUBLE : MPI_BYTE;
    for (int i = 0; i < burst; i++)
        if (move == PUT)
            MPI_Put(mine, count, type, 1, 0, count, type, window);
        else if (move == GET)
            MPI_Get(mine, count, type, 1, 0, count, type, window);
        else
            MPI_Accumulate(mine, count, type, 1, 0, count, type, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

/* Rank 1 waits in MPI, as some libraries need it. */
static void moves(int count)
{
    if (rank == 0) {
        for (int i = 0; i < count; i++)
            move_once();
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void check_moves(int seed)
{
    int writer = move == GET ? 1 : 0;
    char *at = rank == 0 ? mine : memory;
    int is_right = 1;
    if (section.span > 0) {
        fill((double *)at, &section, OUTSIDE);
        if (rank == writer)
            rewrite_section((double *)at, &section, seed);
    } else if (move == ACC) {
        for (int i = 0; i < size / 8; i++)
            ((double *)at)[i] = rank == 0 ? seed + i : 1;
    } else {
        memset(at, 0x55, (size_t)size);
        if (rank == writer)
            rewrite(at, size, (uint64_t)seed);
    }
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    moves(1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    if (section.span > 0)
        /* A sum finds the section filled like all else. */
        is_right = is_written_section((double *)at, &section, move == ACC && rank == 1 ? seed + OUTSIDE : seed, OUTSIDE);
    else if (move != ACC)
        is_right = is_written(at, size, (uint64_t)seed);
    else if (rank == 1)
        for (int i = 0; i < size / 8; i++)
            is_right &= ((double *)at)[i] == seed + i + 1;
    if (!is_right)
        give_up("rma: the data is wrong");
    /* Sums stay small. */
    if (move == ACC)
        memset(at, 0, section.span > 0 ? section.span * sizeof(double) : (size_t)size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* As in strided.c. */
static struct section shape_of(const char *cell, int doubles)
{
    if (has(cell, "vector"))
        return every_second(doubles);
    if (has(cell, "2d")) {
        int columns = 1;
        while (columns * columns < doubles)
            columns *= 2;
        return section_2d(doubles / columns, columns, 2 * columns);
    }
    if (has(cell, "3d")) {
        int edge = 1;
        while (edge * edge * edge * 8 <= doubles)
            edge *= 2;
        return section_3d(doubles / edge / edge, edge, edge, 2 * edge, 2 * edge);
    }
    return (struct section){.span = 0};
}

static void open_memory(int is_ordinary, MPI_Aint bytes)
{
    window = MPI_WIN_NULL;
#ifdef WITH_ARMCI
    if (is_armci && ARMCI_Malloc(memories, (armci_size_t)bytes) != 0)
        give_up("rma: no memory from ARMCI_Malloc");
    memory = memories[rank % 2];
#else
    if (is_armci)
        give_up("rma: this was compiled without ARMCI");
#endif
    /* ARMCI's has one too, for nothing but MPI_Win_sync. */
    if (is_armci || is_ordinary) {
        if (!is_armci)
            memory = buffer((int)bytes);
        MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    } else
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, (size_t)bytes);
    MPI_Win_lock_all(0, window);
}

static void close_memory(int is_ordinary)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
#ifdef WITH_ARMCI
    if (is_armci)
        ARMCI_Free(memory);
#endif
    if (is_ordinary && !is_armci)
        free(memory);
}

/* ---- messages of as many bytes ---- */

/* Where rank 0 receives what comes back, and rank 1 what comes. */
static char *incoming;

static void exchanges(int count)
{
    int elements = section.span > 0 ? 1 : size;
    MPI_Datatype type = section.span > 0 ? section.type : MPI_BYTE;
    for (int i = 0; i < count; i++)
        if (rank == 0) {
            MPI_Send(mine, elements, type, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(incoming, elements, type, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(incoming, elements, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(incoming, elements, type, 0, TAG, MPI_COMM_WORLD);
        }
}

static void check_exchanges(int seed)
{
    int is_right;
    if (section.span > 0) {
        fill((double *)incoming, &section, OUTSIDE);
        fill((double *)mine, &section, OUTSIDE);
        rewrite_section((double *)mine, &section, seed);
        exchanges(1);
        is_right = is_written_section((double *)incoming, &section, seed, OUTSIDE);
    } else {
        rewrite(mine, size, (uint64_t)seed);
        exchanges(1);
        is_right = is_written(incoming, size, (uint64_t)seed);
    }
    if (!is_right)
        give_up("rma: the data of a message is wrong");
}

static void measure_messages(const char *cell, double budget_us)
{
    size = cell_size(cell);
    section = shape_of(cell, size / 8);
    int bytes = section.span > 0 ? (int)(section.span * sizeof(double)) : size;
    mine = buffer(bytes);
    incoming = buffer(bytes);
    check_exchanges(1);
    struct samples *samples = time_operations(exchanges, 2, budget_us);
    check_exchanges(1000);
    if (rank == 0) {
        printf("result rma kind=%.*s size=%d ", (int)strcspn(cell, ":"), cell, size);
        print_samples(samples);
    }
    free(mine);
    free(incoming);
    if (section.span > 0)
        MPI_Type_free(&section.type);
}

/* Rank 1 is away for a second. */
static struct samples *measure_away(int computes)
{
    static struct samples samples;
    samples.count = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_us(), length = 1e6;
    if (rank == 1) {
        volatile double x = 1;
        while (computes && now_us() - begin < length)
            for (int i = 0; i < 1000; i++)
                x = x * 1.0000001;
    } else {
        sleep_us(1e5);
        for (double start = now_us(); samples.count < 100 && start - begin < 0.8 * length; start = now_us()) {
            move_once();
            samples.us[samples.count++] = now_us() - start;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (samples.count == 0)
        samples.count = 1;
    return &samples;
}

static void measure_move(const char *cell, double budget_us)
{
    int is_ordinary = has(cell, "create");
    size = cell_size(cell);
    move = of_puts || has(cell, "put") ? PUT : of_gets || has(cell, "get") ? GET : ACC;
    is_armci = has(cell, "armci");
    burst = of_puts || of_gets ? BURST : 1;
    section = shape_of(cell, size / 8);
    MPI_Aint bytes = section.span > 0 ? (MPI_Aint)(section.span * sizeof(double)) : size;
    open_memory(is_ordinary, bytes);
    mine = buffer((int)bytes);
    check_moves(1);
    int is_away = has(cell, "computing") || has(cell, "idle");
    struct samples *samples = is_away ? measure_away(has(cell, "computing")) : time_operations(moves, burst, budget_us);
    check_moves(1000);
    if (rank == 0) {
        printf("result rma kind=%.*s size=%d ", (int)strcspn(cell, ":"), cell, size);
        print_samples(samples);
    }
    free(mine);
    close_memory(is_ordinary);
    if (section.span > 0)
        MPI_Type_free(&section.type);
}

/* ---- short operations in their epochs ---- */

enum { PUTS = 32 };
static enum { GACC, FOP, CAS, LOCK, PUTS_OF_ONE_FLUSH } brief;
static char *result;
static long long calls;

static void brief_calls(int count)
{
    static const double one = 1;
    for (int i = 0; i < count && rank == 0; i++, calls++) {
        long long next = calls + 1;
        switch (brief) {
        case GACC:
            MPI_Get_accumulate(mine, size / 8, MPI_DOUBLE, result, size / 8, MPI_DOUBLE, 1, 0, size / 8, MPI_DOUBLE, MPI_SUM, window);
            break;
        case FOP:
            MPI_Fetch_and_op(&one, result, MPI_DOUBLE, 1, 0, MPI_SUM, window);
            break;
        case CAS:
            MPI_Compare_and_swap(&next, &calls, result, MPI_LONG_LONG, 1, 0, window);
            break;
        case LOCK:
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
            MPI_Put(mine, size, MPI_BYTE, 1, 0, size, MPI_BYTE, window);
            MPI_Win_unlock(1, window);
            continue;
        case PUTS_OF_ONE_FLUSH:
            for (int n = 0; n < PUTS; n++)
                MPI_Put(mine + n * size, size, MPI_BYTE, 1, n * size, size, MPI_BYTE, window);
            break;
        }
        MPI_Win_flush(1, window);
    }
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What rank 1 has afterwards. */
static int is_brief_right(int bytes)
{
    if (brief == CAS)
        return *(long long *)memory == calls;
    if (brief == LOCK || brief == PUTS_OF_ONE_FLUSH)
        return is_written(memory, bytes, 7);
    for (int i = 0; i < (brief == GACC ? size / 8 : 1); i++)
        if (((double *)memory)[i] != (double)calls)
            return 0;
    return 1;
}

static void measure_brief(const char *cell, double budget_us)
{
    enum { LONG = 4096 };
    size = cell_size(cell);
    brief = has(cell, "gacc") ? GACC : has(cell, "fop") ? FOP : has(cell, "cas") ? CAS : has(cell, "lock") ? LOCK : PUTS_OF_ONE_FLUSH;
    is_armci = 0;
    calls = 0;
    int bytes = brief == PUTS_OF_ONE_FLUSH ? PUTS * size : size, room = bytes < LONG ? LONG : bytes;
    open_memory(brief == PUTS_OF_ONE_FLUSH, room);
    mine = buffer(room);
    result = buffer(room);
    memset(mine, 0, (size_t)room);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && brief <= CAS) {
        MPI_Accumulate(mine, LONG / 8, MPI_DOUBLE, 1, 0, LONG / 8, MPI_DOUBLE, MPI_SUM, window);
        MPI_Win_flush(1, window);
    }
    if (brief == LOCK)
        MPI_Win_unlock_all(window);
    if (brief > CAS)
        rewrite(mine, bytes, 7);
    for (int i = 0; i < size / 8 && brief == GACC; i++)
        ((double *)mine)[i] = 1;
    struct samples *samples = time_operations(brief_calls, 1, budget_us);
    MPI_Bcast(&calls, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (brief == LOCK)
        MPI_Win_lock_all(0, window);
    MPI_Win_sync(window);
    if (rank == 1 && !is_brief_right(bytes))
        give_up("rma: what a short operation has left is wrong");
    if (rank == 0) {
        printf("result rma kind=%.*s size=%d ", (int)strcspn(cell, ":"), cell, size);
        print_samples(samples);
    }
    free(mine);
    free(result);
    close_memory(brief == PUTS_OF_ONE_FLUSH);
}

/* ---- elements that several ranks change ---- */

static enum { ACCUMULATE, FETCH, COMPARE } change;
static long long changed, found;

static void changes(int count)
{
    static long long one = 1;
    int is_origin = origins == 1 ? rank == 0 : 1, target = origins == 1 ? 1 : 0;
    for (int i = 0; i < count && is_origin; i++) {
        if (change == ACCUMULATE)
            MPI_Accumulate(&one, 1, MPI_LONG_LONG, target, 0, 1, MPI_LONG_LONG, MPI_SUM, window);
        else if (change == FETCH)
            MPI_Fetch_and_op(&one, &found, MPI_LONG_LONG, target, 0, MPI_SUM, window);
        else {
            long long next = found + 1, expected = found;
            MPI_Compare_and_swap(&next, &expected, &found, MPI_LONG_LONG, target, 0, window);
            MPI_Win_flush(target, window);
            changed += found == expected;
            found = found == expected ? next : found;
            continue;
        }
        MPI_Win_flush(target, window);
        changed++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void measure_changes(const char *cell, double budget_us)
{
    change = has(cell, "accumulate") ? ACCUMULATE : has(cell, "fetch") ? FETCH : COMPARE;
    origins = cell_size(cell);
    changed = found = 0;
    is_armci = 0;
    open_memory(0, 8);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    struct samples *samples = time_operations(changes, 1, budget_us);
    MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_sync(window);
    if (rank == (origins == 1 ? 1 : 0) && *(long long *)memory != changed)
        give_up("rma: changes of an element were lost");
    if (rank == 0) {
        printf("result rma kind=%.*s origins=%d ", (int)strcspn(cell, ":"), cell, origins);
        print_samples(samples);
    }
    close_memory(0);
}

/* ---- synchronisation ---- */

static MPI_Group left_group, right_group;
static int value;

static void fences(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Win_fence(0, window);
}

/* Each step puts a number to the right, and what comes from the left is looked at. */
static void generals(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Win_post(left_group, 0, window);
        MPI_Win_start(right_group, 0, window);
        value++;
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        if (*(int *)memory != value)
            give_up("rma: what was put before MPI_Win_complete is not there after MPI_Win_wait");
    }
}

static void locks(int count)
{
    int right = (rank + 1) % ranks;
    for (int i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
        MPI_Win_unlock(right, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void creations(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Win other;
        MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
        MPI_Win_free(&other);
    }
}

static void measure_synchronisation(const char *cell, double budget_us)
{
    int neighbours[] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
    MPI_Group all;
    if (cell_size(cell) != ranks)
        give_up("rma: a cell of synchronisation names the number of ranks");
    memory = buffer(8);
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &neighbours[0], &left_group);
    MPI_Group_incl(all, 1, &neighbours[1], &right_group);
    value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    operations *work = has(cell, "fence") ? fences : has(cell, "general") ? generals : has(cell, "lock") ? locks : creations;
    struct samples *samples = time_operations(work, 1, budget_us);
    if (rank == 0) {
        printf("result rma kind=%.*s ranks=%d ", (int)strcspn(cell, ":"), cell, ranks);
        print_samples(samples);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&left_group);
    MPI_Group_free(&right_group);
    MPI_Win_free(&window);
    free(memory);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
#ifdef WITH_ARMCI
    ARMCI_Init();
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    of_puts = has_option(argc, argv, "--put");
    of_gets = has_option(argc, argv, "--get");
    if (rank == 0)
        print_library();
    for (int i = 0; i < a.count; i++) {
        const char *cell = a.cells[i];
        double budget_us = a.seconds * 1e6 / a.count;
        if (has(cell, "short-"))
            measure_brief(cell, budget_us);
        else if (has(cell, "accumulate") || has(cell, "fetch") || has(cell, "compare"))
            measure_changes(cell, budget_us);
        else if (has(cell, "fence") || has(cell, "general") || has(cell, "lock") || strncmp(cell, "create", 6) == 0)
            measure_synchronisation(cell, budget_us);
        else if (has(cell, "send"))
            measure_messages(cell, budget_us);
        else
            measure_move(cell, budget_us);
    }
#ifdef WITH_ARMCI
    ARMCI_Finalize();
#endif
    MPI_Finalize();
    return 0;
}
