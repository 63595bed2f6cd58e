/* How what all ranks do together grows with their number: time, memory, and what this library counts.
 *
 *   growth [--seconds S] [NAME:SIZE ...]
 *
 * NAME is barrier, allreduce, alltoall (SIZE: block of a pair) or everyone: a message of SIZE bytes from each rank to each
 * other one, by MPI_Irecv, MPI_Isend and MPI_Waitall. Beside the time stand the proportional set size of a rank afterwards
 * and, where the library has such counters (MPI_T), how often a rank sent a message by a ring, took a larger ring, gave way
 * and slept, in one operation. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

enum { COUNTERS = 6 };
static const char *const counters[COUNTERS] = {"eager_sent", "rendezvous_sent", "rings_leased", "yields", "sleeps", "wakes"};

static int rank, ranks, size;
static const char *what;
static char *outgoing, *incoming;
static MPI_Request *requests;
static long done;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];
static int has[COUNTERS];

static void everyone(void)
{
    int count = 0;
    for (int i = 1; i < ranks; i++) {
        int from = (rank + ranks - i) % ranks;
        MPI_Irecv(incoming + (size_t)from * (size_t)size, size, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    for (int i = 1; i < ranks; i++) {
        int to = (rank + i) % ranks;
        MPI_Isend(outgoing + (size_t)to * (size_t)size, size, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void work(int count)
{
    for (int i = 0; i < count; i++) {
        done++;
        if (cell_is(what, "barrier"))
            MPI_Barrier(MPI_COMM_WORLD);
        else if (cell_is(what, "allreduce"))
            MPI_Allreduce(outgoing, incoming, size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        else if (cell_is(what, "alltoall"))
            MPI_Alltoall(outgoing, size, MPI_BYTE, incoming, size, MPI_BYTE, MPI_COMM_WORLD);
        else if (cell_is(what, "everyone"))
            everyone();
        else
            give_up("growth: a cell is NAME:SIZE");
    }
}

static void check_data(void)
{
    static int seed;
    seed += 17;
    memset(incoming, 0x55, (size_t)ranks * (size_t)size);
    for (int to = 0; to < ranks; to++)
        memset(outgoing + (size_t)to * (size_t)size, rank + to + seed, (size_t)size);
    work(1);
    for (int from = 0; !cell_is(what, "barrier") && !cell_is(what, "allreduce") && from < ranks; from++)
        for (int i = 0; (from != rank || cell_is(what, "alltoall")) && i < size; i++)
            if (incoming[(size_t)from * (size_t)size + (size_t)i] != (char)(from + rank + seed))
                give_up("growth: received data differs from what was sent");
}

static void find_counters(void)
{
    int provided, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256];
        int length = sizeof name, verbosity, class, bind, readonly, continuous, atomic, elements;
        MPI_Datatype type;
        if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, NULL, NULL, NULL, &bind, &readonly, &continuous,
                                &atomic) != MPI_SUCCESS)
            continue;
        for (int c = 0; c < COUNTERS; c++)
            if (strcmp(name, counters[c]) == 0) {
                has[c] = MPI_T_pvar_handle_alloc(session, i, NULL, &handles[c], &elements) == MPI_SUCCESS;
                if (has[c] && !continuous)
                    MPI_T_pvar_start(session, handles[c]);
            }
    }
}

static void read_counters(double values[COUNTERS])
{
    for (int c = 0; c < COUNTERS; c++) {
        unsigned long long value = 0;
        if (has[c])
            MPI_T_pvar_read(session, handles[c], &value);
        values[c] = (double)value;
    }
}

static long pss_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            break;
    if (rollup)
        fclose(rollup);
    return kib;
}

static void measure(double budget_us)
{
    double before[COUNTERS], after[COUNTERS], sums[COUNTERS];
    check_data();
    read_counters(before);
    done = 0;
    struct samples *samples = time_operations(work, 1, budget_us);
    read_counters(after);
    for (int c = 0; c < COUNTERS; c++)
        after[c] = (after[c] - before[c]) / (double)done / ranks;
    long kib = pss_kib(), all;
    MPI_Reduce(after, sums, COUNTERS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&kib, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    check_data();
    if (rank != 0)
        return;
    printf("result growth what=%.*s ranks=%d size=%d kib=%ld ", (int)strcspn(what, ":"), what, ranks, size, all / ranks);
    for (int c = 0; c < COUNTERS; c++)
        if (has[c])
            printf("%s=%.4f ", counters[c], sums[c]);
    print_samples(samples);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    find_counters();
    int largest = largest_size(&a);
    if (largest > (1 << 30) / ranks)
        give_up("growth: too large for so many ranks");
    outgoing = buffer(largest * ranks);
    incoming = buffer(largest * ranks);
    requests = malloc(2 * (size_t)ranks * sizeof *requests);
    for (int i = 0; i < a.count; i++) {
        what = a.cells[i];
        size = cell_size(what);
        measure(a.seconds * 1e6 / a.count);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
