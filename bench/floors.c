/* What the machine itself can do: the hand-over of a cache line between two CPUs, and memcpy by size, by one CPU. (A
 * library in which both ends copy at once can be faster than the latter.) Or how long a sleeper takes to wake.
 *
 *   floors [--real] [--shared] [--seconds S] [SIZE ...]
 *   floors --wake [--seconds S] MS ...
 *
 * Needs no MPI; run in turn with the libraries, on the same CPUs.
 *   line      one way of a line bounced between two pinned threads; the cheaper of two layouts: both write one
 *             line, or each writes its own
 *   memcpy    clean: one thread copies between two buffers of its own. --real: as the ping-pong with --real, but
 *             through memory that both sides map: the sender rewrites, the receiver copies and reads. --shared: clean,
 *             in memory that is mapped shared, as what MPI_Alloc_mem gives may be.
 *   futex     from just before a process sets a word and wakes the one that has been asleep on it for so many
 *             milliseconds, on another CPU, until that one sees it */
#define _GNU_SOURCE
#include "measure.h"
#include "touch.h"
#include <pthread.h>
#include <stdatomic.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct line {
    _Alignas(128) _Atomic uint64_t value;
};

/* Two of each: thread 0 is the origin, thread 1 answers. */
static struct line lines[2];
static char *written[2], *copied[2];
static struct samples samples;

enum layout { ONE_LINE, TWO_LINES };

static void await(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        ;
}

/* One round trip of the line; the value counts up by two a round. */
static void bounce(int thread, enum layout layout, uint64_t round)
{
    _Atomic uint64_t *mine = layout == ONE_LINE ? &lines[0].value : &lines[thread].value;
    _Atomic uint64_t *theirs = layout == ONE_LINE ? &lines[0].value : &lines[!thread].value;
    if (thread == 0) {
        atomic_store_explicit(mine, 2 * round + 1, memory_order_release);
        await(theirs, 2 * round + 2);
    } else {
        await(theirs, 2 * round + 1);
        atomic_store_explicit(mine, 2 * round + 2, memory_order_release);
    }
}

/* One round trip of `size` bytes that are rewritten, copied from the other's memory and read. */
static void bounce_buffer(int thread, int size, uint64_t round)
{
    if (thread == 0) {
        rewrite(written[0], size, round);
        bounce(0, TWO_LINES, round);
        memcpy(copied[0], written[1], (size_t)size);
        if (!is_written(copied[0], size, ~round))
            abort();
    } else {
        await(&lines[0].value, 2 * round + 1);
        memcpy(copied[1], written[0], (size_t)size);
        if (!is_written(copied[1], size, round))
            abort();
        rewrite(written[1], size, ~round);
        atomic_store_explicit(&lines[1].value, 2 * round + 2, memory_order_release);
    }
}

/* What both threads run; size < 0 is the bare line. */
struct work {
    enum layout layout;
    int size, thread;
    uint64_t first, rounds;
};

static void *run(void *argument)
{
    const struct work *w = argument;
    pin(w->thread);
    for (uint64_t i = w->first; i < w->first + w->rounds; i++) {
        if (w->size < 0)
            bounce(w->thread, w->layout, i);
        else
            bounce_buffer(w->thread, w->size, i);
    }
    return NULL;
}

static void time_between_threads(enum layout layout, int size, double budget_us)
{
    lines[0].value = lines[1].value = 0;
    uint64_t first = 0;
    double one_round = 1;
    struct plan plan = {10, 10};
    for (int pass = 0; pass < 3; pass++) { /* warm up, estimate, measure */
        uint64_t rounds = (uint64_t)plan.batch * (uint64_t)plan.batches;
        struct work answer = {layout, size, 1, first, rounds};
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, &answer) != 0)
            abort();
        struct work batch = {layout, size, 0, first, (uint64_t)plan.batch};
        samples.count = plan.batches;
        double begin = now_us();
        for (int i = 0; i < plan.batches; i++) {
            double start = now_us();
            for (uint64_t n = 0; n < batch.rounds; n++, batch.first++) {
                if (size < 0)
                    bounce(0, layout, batch.first);
                else
                    bounce_buffer(0, size, batch.first);
            }
            samples.us[i] = (now_us() - start) / plan.batch / 2;
        }
        one_round = (now_us() - begin) / (double)rounds;
        pthread_join(thread, NULL);
        first += rounds;
        plan = plan_for(one_round, pass == 0 ? budget_us / 20 : budget_us);
    }
}

static void time_memcpy(int size, double budget_us)
{
    double one_copy = 1;
    struct plan plan = {10, 10};
    for (int pass = 0; pass < 3; pass++) {
        samples.count = plan.batches;
        double begin = now_us();
        for (int i = 0; i < plan.batches; i++) {
            double start = now_us();
            for (int n = 0; n < plan.batch; n++) {
                memcpy(copied[0], written[0], (size_t)size);
                __asm__ volatile("" : : "r"(copied[0]), "r"(written[0]) : "memory");
            }
            samples.us[i] = (now_us() - start) / plan.batch;
        }
        one_copy = (now_us() - begin) / plan.batch / plan.batches;
        plan = plan_for(one_copy, pass == 0 ? budget_us / 20 : budget_us);
    }
}

static char *shared_buffer(int size)
{
    char *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        abort();
    memset(at, 1, (size_t)size);
    return at;
}

/* ---- waking ---- */

/* In memory that both processes map, since ranks are processes: between threads of one, a wake changes no address space. */
struct wake {
    _Alignas(128) _Atomic uint32_t bell;  /* counts the wakes */
    _Alignas(128) _Atomic uint32_t ready; /* counts how often the sleeper went to sleep */
    double rung_us;                       /* when; published by the bell */
};

static void ring(struct wake *wake, int ms, uint32_t wakes)
{
    pin(1);
    for (uint32_t i = 1; i <= wakes; i++) {
        while (atomic_load_explicit(&wake->ready, memory_order_acquire) != i)
            sched_yield();
        sleep_us(ms * 1e3);
        wake->rung_us = now_us();
        atomic_store_explicit(&wake->bell, i, memory_order_release);
        syscall(SYS_futex, &wake->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void time_wakes(int ms, double budget_us)
{
    uint32_t wakes = (uint32_t)wakes_within(ms, budget_us);
    struct wake *wake = mmap(NULL, sizeof *wake, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    samples.count = (int)wakes;
    if (wake == MAP_FAILED)
        abort();
    fflush(stdout);
    pid_t ringer = fork();
    if (ringer < 0)
        abort();
    if (ringer == 0) {
        ring(wake, ms, wakes);
        _exit(0);
    }
    for (uint32_t i = 1; i <= wakes; i++) {
        atomic_store_explicit(&wake->ready, i, memory_order_release);
        while (atomic_load_explicit(&wake->bell, memory_order_acquire) != i)
            syscall(SYS_futex, &wake->bell, FUTEX_WAIT, i - 1, NULL, NULL, 0);
        samples.us[i - 1] = now_us() - wake->rung_us;
    }
    waitpid(ringer, NULL, 0);
    munmap(wake, sizeof *wake);
    printf("result futex ms=%d ", ms);
    print_samples(&samples);
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    int real = has_option(argc, argv, "--real"), shared = has_option(argc, argv, "--shared");
    pin(0);
    if (has_option(argc, argv, "--wake")) {
        for (int i = 0; i < a.count; i++)
            time_wakes(cell_size(a.cells[i]), a.seconds * 1e6 / a.count);
        return 0;
    }
    double budget_us = a.seconds * 1e6 / (a.count + 2);

    time_between_threads(ONE_LINE, -1, budget_us);
    double one_line = median(&samples);
    time_between_threads(TWO_LINES, -1, budget_us);
    double two_lines = median(&samples);
    if (one_line < two_lines)
        time_between_threads(ONE_LINE, -1, budget_us);
    printf("result line ");
    print_samples(&samples);

    for (int i = 0; i < 2 && a.count > 0; i++) {
        written[i] = shared ? shared_buffer(largest_size(&a)) : buffer(largest_size(&a));
        copied[i] = shared ? shared_buffer(largest_size(&a)) : buffer(largest_size(&a));
    }
    for (int i = 0; i < a.count; i++) {
        int size = cell_size(a.cells[i]);
        if (real)
            time_between_threads(TWO_LINES, size, budget_us);
        else
            time_memcpy(size, budget_us);
        printf("result memcpy size=%d ", size);
        print_samples(&samples);
    }
    return 0;
}
