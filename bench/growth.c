/* How what all ranks do together grows with their number: time, memory, and what this library counts.
 *
 *   growth [--seconds S] [--own-cpus] [NAME:SIZE ...]
 *
 * NAME is start (MPI_Init, at the slowest rank; it comes first), barrier, allreduce, alltoall (SIZE: block of a pair) or
 * everyone: a message of SIZE bytes from each rank to each other one, by MPI_Irecv, MPI_Isend and MPI_Waitall. Beside the
 * time stand the proportional set size of a rank afterwards, without the buffers, and, where the library has such counters
 * (MPI_T), what a rank did in one operation in the mean, and until MPI_Init was over.
 *
 * --own-cpus is for counting: the library takes each rank to have a CPU, and to spin on it for as long as it waits. Times
 * mean nothing then. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include <sys/mman.h>

static const char *const counters[] = {
    "eager_sent", "in_cells", "rendezvous_sent", "ring_lines", "rings_leased", "backlogged", "backlog_looks", "doorbell_rings",
    "staged_bytes", "single_copies", "fences", "yields", "sleeps", "wakes",
};
enum { COUNTERS = sizeof counters / sizeof counters[0] };

/* Operations that are counted, if there is time. */
enum { COUNTED = 16, COUNTED_ON_OWN_CPUS = 3 };
/* All ranks are there after so long, in milliseconds for each. */
enum { ARRIVAL_MS = 4 };

static int rank, ranks, size, own_cpus;
static const char *what;
static char *outgoing, *incoming;
static MPI_Request *requests;
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

static void print(long kib, double counts[COUNTERS], struct samples *samples)
{
    double sums[COUNTERS];
    long all;
    MPI_Reduce(counts, sums, COUNTERS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&kib, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("result growth what=%.*s ranks=%d size=%d kib=%ld ", (int)strcspn(what, ":"), what, ranks, size, all / ranks);
    for (int c = 0; c < COUNTERS; c++)
        if (has[c])
            printf("%s=%.4f ", counters[c], sums[c] / ranks);
    print_samples(samples);
}

static char *block(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        give_up("growth: no memory for the buffers");
    return memset(at, 1, bytes);
}

static struct samples *time_it(double budget_us)
{
    static struct samples one;
    if (!own_cpus)
        return time_operations(work, 1, budget_us);
    work(WARM_UP);
    double start = now_us();
    work(1);
    one.us[0] = now_us() - start;
    one.count = 1;
    return &one;
}

static void measure(double budget_us)
{
    double before[COUNTERS], after[COUNTERS];
    size_t bytes = (size_t)ranks * (size_t)(size > 0 ? size : 1);
    outgoing = block(bytes);
    incoming = block(bytes);
    check_data();
    struct samples *samples = time_it(budget_us);
    double fit = budget_us / 4 / samples->us[0];
    int count = agree(own_cpus ? COUNTED_ON_OWN_CPUS : fit > COUNTED ? COUNTED : fit < 1 ? 1 : (int)fit);
    read_counters(before);
    work(count);
    read_counters(after);
    for (int c = 0; c < COUNTERS; c++)
        after[c] = (after[c] - before[c]) / count;
    check_data();
    munmap(outgoing, bytes);
    munmap(incoming, bytes);
    print(pss_kib(), after, samples);
}

/* What there is before anybody has talked to anybody. */
struct start {
    double us, counts[COUNTERS];
    long kib;
};

static void print_start(struct start *start)
{
    static struct samples one = {.count = 1};
    MPI_Reduce(&start->us, &one.us[0], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    print(start->kib, start->counts, &one);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    struct start start;
    own_cpus = has_option(argc, argv, "--own-cpus");
    if (own_cpus) {
        setenv("ISTHMUS_CPUS", "4096", 1);
        setenv("ISTHMUS_SPIN_US", "60000000", 1);
    }
    find_counters();
    double began = now_us();
    MPI_Init(&argc, &argv);
    start.us = now_us() - began;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank);
    if (rank == 0)
        print_library();
    read_counters(start.counts);
    sleep_us(ranks * ARRIVAL_MS * 1e3);
    start.kib = pss_kib();
    if (largest_size(&a) > (1 << 30) / ranks)
        give_up("growth: too large for so many ranks");
    requests = malloc(2 * (size_t)ranks * sizeof *requests);
    for (int i = 0; i < a.count; i++) {
        what = a.cells[i];
        size = cell_size(what);
        if (cell_is(what, "start"))
            print_start(&start);
        else
            measure(a.seconds * 1e6 / a.count);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
