/* The MPI half of measure.h: what a program prints about the library it runs on, how it gives up, and how something that
 * all ranks do together is timed. */
#ifndef ISTHMUS_BENCH_MPI_MEASURE_H
#define ISTHMUS_BENCH_MPI_MEASURE_H

#include "measure.h"
#include <mpi.h>

/* Says which library is loaded, so that a wrong library path cannot pass as a measurement. */
static inline void print_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    printf("library %s\n", version);
    fflush(stdout);
}

static inline void give_up(const char *why)
{
    fprintf(stderr, "isthmus bench: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Memory from MPI_Alloc_mem, in use. */
static inline char *allocated(int bytes)
{
    char *at;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &at);
    memset(at, 1, (size_t)bytes);
    return at;
}

/* What rank 0 says. All ranks must do the same number of operations, and rank 0 has the clock. */
static inline int agree(int value)
{
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

/* By which way bytes went: the library's counters of bytes (performance variables, MPI-5.0 §15.3), from begin_count to end_count, of all ranks
 * together, beside the bytes that were due. Only where ISTHMUS_BENCH_COUNT is set; a library without such counters prints none. The program adds
 * what each rank sends to `traffic.due`; where that is not known it leaves 0 there. */
static const char *const counter_names[] = {"eager_bytes",    "block_bytes",    "ring_bytes",   "cma_bytes",      "kmod_bytes",   "kmod_thread_bytes",
                                            "kmod_dma_bytes", "vmsplice_bytes", "writev_bytes", "loopback_bytes", "mapped_bytes", "staged_bytes"};
enum { TRAFFIC_COUNTERS = sizeof counter_names / sizeof counter_names[0] };

static struct {
    int known[TRAFFIC_COUNTERS], is_open, is_on;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[TRAFFIC_COUNTERS];
    /* When counting began; later what was counted, and last what is due. */
    unsigned long long before[TRAFFIC_COUNTERS];
    double due, counted[TRAFFIC_COUNTERS + 1];
} traffic;

static inline void read_traffic(unsigned long long values[TRAFFIC_COUNTERS])
{
    for (int i = 0; i < TRAFFIC_COUNTERS; i++) {
        values[i] = 0;
        if (traffic.known[i])
            MPI_T_pvar_read(traffic.session, traffic.handles[i], &values[i]);
    }
}

/* Called by all ranks, as end_count. A handle counts from its start on. */
static inline void begin_count(void)
{
    int provided, of_handle, index;
    if (!getenv("ISTHMUS_BENCH_COUNT"))
        return;
    if (!traffic.is_open) {
        traffic.is_open = 1;
        traffic.is_on = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && MPI_T_pvar_session_create(&traffic.session) == MPI_SUCCESS;
        for (int i = 0; traffic.is_on && i < TRAFFIC_COUNTERS; i++)
            traffic.known[i] = MPI_T_pvar_get_index(counter_names[i], MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS &&
                              MPI_T_pvar_handle_alloc(traffic.session, index, NULL, &traffic.handles[i], &of_handle) == MPI_SUCCESS &&
                              MPI_T_pvar_start(traffic.session, traffic.handles[i]) == MPI_SUCCESS;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_traffic(traffic.before);
    traffic.due = 0;
}

static inline void end_count(void)
{
    unsigned long long now[TRAFFIC_COUNTERS];
    double ours[TRAFFIC_COUNTERS + 1];
    if (!traffic.is_on)
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    read_traffic(now);
    for (int i = 0; i < TRAFFIC_COUNTERS; i++)
        ours[i] = (double)(now[i] - traffic.before[i]);
    ours[TRAFFIC_COUNTERS] = traffic.due;
    MPI_Reduce(ours, traffic.counted, TRAFFIC_COUNTERS + 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* In the middle of a result line; on rank 0. */
static inline void print_counts(void)
{
    if (!traffic.is_on)
        return;
    printf("due=%.0f ", traffic.counted[TRAFFIC_COUNTERS]);
    for (int i = 0; i < TRAFFIC_COUNTERS; i++)
        if (traffic.known[i])
            printf("%s=%.0f ", counter_names[i], traffic.counted[i]);
}

/* Does something `count` times, together with the other ranks. */
typedef void operations(int count);

/* Before an operation is timed it is done so often (unless that takes longer than the timing): libraries connect, lease
 * and learn at first. */
enum { WARM_UP = 8 };

/* With more ranks than CPUs one rank can do a thousand operations in its time slice, with what others sent it before,
 * and then nothing for as long: short batches would show the one or the other. So batches are as long as the budget
 * allows for this many. */
enum { LONG_BATCHES = 9 };

static inline int more_ranks_than_cpus(void)
{
    int cpus[MAX_CPUS], available = read_cpus(cpus), ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return available > 0 && ranks > available;
}

static inline struct plan plan_together(double operation_us, double budget_us, int long_batches)
{
    struct plan plan = plan_for(operation_us, budget_us);
    if (long_batches && plan.batches > LONG_BATCHES) {
        plan.batch = (int)((double)plan.batch * plan.batches / LONG_BATCHES);
        plan.batches = LONG_BATCHES;
    }
    plan.batch = agree(plan.batch);
    plan.batches = agree(plan.batches);
    return plan;
}

/* Times operations on rank 0, in about `budget_us` whatever they cost: one library can need ten thousand times as long
 * as another. Each consists of `parts` equal ones, which is what the samples are about. Called by all ranks. */
static inline struct samples *time_in_batches(operations *work, int parts, double budget_us, int long_batches)
{
    static struct samples samples;
    enum { MORE, ENOUGH, TOO_SLOW } next = MORE;
    double begin = now_us(), one = 0;
    for (int count = 1, done = 0; next == MORE; count *= 2) {
        double start = now_us();
        work(count);
        double end = now_us();
        one = (end - start) / count;
        done += count;
        if (one > 3 * budget_us)
            next = TOO_SLOW;
        else if (end - start > budget_us / 20 && (done >= WARM_UP || end - begin > budget_us))
            next = ENOUGH;
        next = agree(next);
    }
    if (next == TOO_SLOW) {
        samples.count = 1;
        samples.us[0] = one / parts;
        return &samples;
    }
    struct plan plan = plan_together(one, budget_us, long_batches);
    samples.count = plan.batches;
    for (int i = 0; i < samples.count; i++) {
        double start = now_us();
        work(plan.batch);
        samples.us[i] = (now_us() - start) / plan.batch / parts;
    }
    return &samples;
}

static inline struct samples *time_operations(operations *work, int parts, double budget_us)
{
    return time_in_batches(work, parts, budget_us, more_ranks_than_cpus());
}

#endif
