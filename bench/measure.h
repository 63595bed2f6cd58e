/* What every experiment shares: the clock, the pinning, and how samples become one line of output.
 *
 * Only MPI-3 calls are used anywhere in this folder, so any mpicc compiles it.
 *
 * Output that is meant for `isthmus bench` is one line per result, `result NAME key=value ...`; times are in
 * microseconds. Whatever else a library or launcher prints does not start with `result ` and is ignored.
 *
 * Arguments are options, `--seconds S` (for the whole program) among them, and cells: what to measure, one result line
 * each, in this order. A cell is a size, or KIND:SIZE. So `isthmus bench` knows which cell a library failed in. */
#ifndef ISTHMUS_BENCH_MEASURE_H
#define ISTHMUS_BENCH_MEASURE_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first include: sched_setaffinity needs it"
#endif

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline void sleep_us(double us)
{
    struct timespec length = {(time_t)(us / 1e6), (long)(us - (double)(time_t)(us / 1e6) * 1e6) * 1000};
    nanosleep(&length, NULL);
}

/* The CPUs in ISTHMUS_BENCH_CPUS ("0,2,3"); how many. */
enum { MAX_CPUS = 1024 };

static inline int read_cpus(int cpus[MAX_CPUS])
{
    const char *list = getenv("ISTHMUS_BENCH_CPUS");
    int length = 0;
    while (list && *list && length < MAX_CPUS) {
        cpus[length++] = (int)strtol(list, (char **)&list, 10);
        if (*list == ',')
            list++;
        else
            break;
    }
    return length;
}

/* Pins the caller to the (index modulo length)-th CPU of the list, so that every library runs on the same CPUs
 * whatever its launcher thinks of binding. Without the variable nothing is pinned. */
static inline void pin(int index)
{
    int cpus[MAX_CPUS], length = read_cpus(cpus);
    if (length == 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpus[index % length], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        perror("isthmus bench: sched_setaffinity");
}

/* Times of single operations, each the mean over one batch: short operations are timed in batches that are long
 * against the clock's own cost, and short against a scheduler's time slice. */
#define BATCH_US 50.0
#define MAX_SAMPLES 20000
/* Fewer say too little: what takes long goes beyond its budget rather. */
#define MIN_SAMPLES 20

struct samples {
    double us[MAX_SAMPLES];
    int count;
};

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double at_percent(const struct samples *sorted, double percent)
{
    return sorted->us[(int)((double)(sorted->count - 1) * percent / 100.0 + 0.5)];
}

/* Sorts. */
static inline double median(struct samples *s)
{
    qsort(s->us, (size_t)s->count, sizeof s->us[0], ascending);
    return at_percent(s, 50);
}

/* Sorts, and prints the line's common end. */
static inline void print_samples(struct samples *s)
{
    qsort(s->us, (size_t)s->count, sizeof s->us[0], ascending);
    printf("us=%.4f best=%.4f p99=%.4f samples=%d\n", at_percent(s, 50), s->us[0], at_percent(s, 99), s->count);
    fflush(stdout);
}

/* How many operations make a batch, and how many batches fill the budget, for an operation of this length. */
struct plan {
    int batch, batches;
};

static inline struct plan plan_for(double operation_us, double budget_us)
{
    struct plan p;
    p.batch = operation_us >= BATCH_US ? 1 : (int)(BATCH_US / operation_us) + 1;
    double batches = budget_us / (operation_us * p.batch);
    p.batches = batches > MAX_SAMPLES ? MAX_SAMPLES : batches < MIN_SAMPLES ? MIN_SAMPLES : (int)batches;
    return p;
}

/* How often something that was asleep for so many milliseconds can be woken within the budget. */
static inline int wakes_within(int ms, double budget_us)
{
    double fit = budget_us / (ms * 1e3 + 50);
    return fit < 5 ? 5 : fit > MAX_SAMPLES ? MAX_SAMPLES : (int)fit;
}

/* The command line. */
enum { MAX_CELLS = 256 };

struct arguments {
    double seconds;
    int count;
    const char *cells[MAX_CELLS];
};

static inline struct arguments arguments(int argc, char **argv)
{
    struct arguments a = {.seconds = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            a.seconds = atof(argv[++i]);
        else if (strncmp(argv[i], "--", 2) != 0 && a.count < MAX_CELLS)
            a.cells[a.count++] = argv[i];
    }
    return a;
}

static inline int has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return 1;
    return 0;
}

static inline int cell_size(const char *cell)
{
    const char *colon = strrchr(cell, ':');
    return atoi(colon ? colon + 1 : cell);
}

/* Whether the cell is KIND:SIZE. */
static inline int cell_is(const char *cell, const char *kind)
{
    size_t length = strlen(kind);
    return strncmp(cell, kind, length) == 0 && cell[length] == ':';
}

static inline int largest_size(const struct arguments *a)
{
    int largest = 8;
    for (int i = 0; i < a->count; i++)
        if (cell_size(a->cells[i]) > largest)
            largest = cell_size(a->cells[i]);
    return largest;
}

#endif
