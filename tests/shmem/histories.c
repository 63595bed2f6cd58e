// ranks: 1 2 4 8
// Random histories against a sequential model. Every origin (a thread of a PE) has memory of its own on each PE, to which it alone writes:
// puts of all forms, atomics, signals, on several contexts, with no more fences and quiets than the specification asks for. What it reads
// back must be what its model says, and so must what the targets find at the end. Counters to which all add must hold the sum.
// Without an argument one thread each; "threads": three at SHMEM_THREAD_MULTIPLE, each with contexts of its own.
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, MOST_PES = 8, WORDS = 24, CONTEXTS = 3, OPERATIONS = 50000 };

/* [PE of the origin][its thread] */
static long memory[MOST_PES][THREADS][WORDS];
static uint64_t signals[MOST_PES][THREADS];
static long counters[4];
static long added[4];
static int n, me, threads = 1;

struct origin {
    int thread;
    uint64_t random;
    shmem_ctx_t contexts[CONTEXTS];
    long model[MOST_PES][WORDS];
    /* The context of the last write that no quiet has completed, counted from 1. */
    int dirty[MOST_PES][WORDS];
    uint64_t signalled[MOST_PES];
    long added[4];
};

static unsigned below(struct origin *o, unsigned limit)
{
    o->random = o->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (o->random >> 33) % limit;
}

static void quiet(struct origin *o, int context)
{
    shmem_ctx_quiet(o->contexts[context]);
    for (int pe = 0; pe < n; pe++)
        for (int word = 0; word < WORDS; word++)
            if (o->dirty[pe][word] == context + 1)
                o->dirty[pe][word] = 0;
}

/* Words from `first` on may be written on this context: what others wrote is over, what it wrote comes before. */
static void may_write(struct origin *o, int pe, int first, int count, int context)
{
    int fence = 0;
    for (int word = first; word < first + count; word++) {
        if (o->dirty[pe][word] && o->dirty[pe][word] != context + 1)
            quiet(o, o->dirty[pe][word] - 1);
        fence |= o->dirty[pe][word];
    }
    if (fence)
        shmem_ctx_fence(o->contexts[context]);
}

static void may_read(struct origin *o, int pe, int first, int count)
{
    for (int word = first; word < first + count; word++)
        if (o->dirty[pe][word])
            quiet(o, o->dirty[pe][word] - 1);
}

static void written(struct origin *o, int pe, int word, int context, long value)
{
    o->model[pe][word] = value;
    o->dirty[pe][word] = context + 1;
}

static void step(struct origin *o)
{
    int context = (int) below(o, CONTEXTS), pe = (int) below(o, (unsigned) n);
    int first = (int) below(o, WORDS), count = 1 + (int) below(o, (unsigned) (WORDS - first));
    shmem_ctx_t ctx = o->contexts[context];
    long *there = memory[me][o->thread], *model = o->model[pe], values[WORDS], value = (long) below(o, 1u << 30);
    switch (below(o, 12)) {
    case 0:
        may_write(o, pe, first, 1, context);
        shmem_ctx_long_p(ctx, &there[first], value, pe);
        written(o, pe, first, context, value);
        break;
    case 1:
    case 2:
        may_write(o, pe, first, count, context);
        for (int i = 0; i < count; i++)
            written(o, pe, first + i, context, values[i] = value + i);
        if (value % 2)
            shmem_ctx_long_put(ctx, &there[first], values, (size_t) count, pe);
        else {
            /* The source must last. */
            shmem_ctx_long_put_nbi(ctx, &there[first], values, (size_t) count, pe);
            quiet(o, context);
        }
        break;
    case 3:
        count = (count + 1) / 2;
        may_write(o, pe, first, 2 * count - 1, context);
        for (int i = 0; i < count; i++)
            written(o, pe, first + 2 * i, context, values[i] = value + i);
        shmem_ctx_long_iput(ctx, &there[first], values, 2, 1, (size_t) count, pe);
        break;
    case 4:
        may_read(o, pe, first, 1);
        CHECK(shmem_ctx_long_g(ctx, &there[first], pe) == model[first]);
        break;
    case 5:
        may_read(o, pe, first, count);
        shmem_ctx_long_get(ctx, values, &there[first], (size_t) count, pe);
        for (int i = 0; i < count; i++)
            CHECK(values[i] == model[first + i]);
        break;
    case 6:
        may_read(o, pe, first, 1);
        CHECK(shmem_ctx_long_atomic_fetch_add(ctx, &there[first], value, pe) == model[first]);
        written(o, pe, first, context, model[first] + value);
        break;
    case 7:
        may_read(o, pe, first, 1);
        values[0] = value % 2 ? model[first] : model[first] + 1;
        CHECK(shmem_ctx_long_atomic_compare_swap(ctx, &there[first], values[0], value, pe) == model[first]);
        if (value % 2)
            written(o, pe, first, context, value);
        break;
    case 8:
        may_write(o, pe, first, 1, context);
        shmem_ctx_long_atomic_add(ctx, &there[first], value, pe);
        written(o, pe, first, context, model[first] + value);
        break;
    case 9:
        /* Data and a signal: the data is there when the target sees the count. */
        may_write(o, pe, first, 1, context);
        shmem_ctx_long_put_signal(ctx, &there[first], &value, 1, &signals[me][o->thread], 1, SHMEM_SIGNAL_ADD, pe);
        written(o, pe, first, context, value);
        o->signalled[pe]++;
        break;
    case 10:
        shmem_ctx_long_atomic_add(ctx, &counters[first % 4], value % 100, pe);
        o->added[first % 4] += value % 100;
        break;
    default:
        quiet(o, context);
    }
}

static void *history(void *argument)
{
    struct origin *o = argument;
    for (int i = 0; i < OPERATIONS; i++)
        step(o);
    for (int context = 0; context < CONTEXTS; context++)
        quiet(o, context);
    for (int pe = 0; pe < n; pe++)
        for (int word = 0; word < WORDS; word++)
            CHECK(shmem_long_g(&memory[me][o->thread][word], pe) == o->model[pe][word]);
    return NULL;
}

/* A put on one context that has completed comes before a signal on another. */
static void across_contexts(struct origin *o)
{
    static long data[8];
    static uint64_t flag;
    int right = (me + 1) % n;
    for (uint64_t round = 1; round <= 200; round++) {
        for (int i = 0; i < 8; i++)
            shmem_ctx_long_p(o->contexts[0], &data[i], (long) round, right);
        shmem_ctx_quiet(o->contexts[0]);
        shmem_ctx_signal_set(o->contexts[1], &flag, round, right);
        shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < 8; i++)
            CHECK(((volatile long *) data)[i] == (long) round);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    (void) argv;
    int provided;
    threads = argc > 1 ? THREADS : 1;
    int wanted = argc > 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
    shmem_init_thread(wanted, &provided);
    me = shmem_my_pe();
    n = shmem_n_pes();
    CHECK(provided >= wanted && n <= MOST_PES);
    static struct origin origins[THREADS];
    pthread_t running[THREADS];
    for (int t = 0; t < threads; t++) {
        origins[t].thread = t;
        origins[t].random = (uint64_t) (me * THREADS + t + 1) * 7919;
        for (int context = 0; context < CONTEXTS; context++)
            CHECK(shmem_ctx_create(context ? SHMEM_CTX_PRIVATE : 0, &origins[t].contexts[context]) == 0);
    }
    shmem_barrier_all();
    for (int t = 1; t < threads; t++)
        CHECK(pthread_create(&running[t], NULL, history, &origins[t]) == 0);
    history(&origins[0]);
    for (int t = 1; t < threads; t++)
        CHECK(pthread_join(running[t], NULL) == 0);
    shmem_barrier_all();
    /* Everybody hears from all origins how often they signalled. */
    static uint64_t told[MOST_PES][THREADS];
    for (int t = 0; t < threads; t++)
        for (int pe = 0; pe < n; pe++)
            shmem_uint64_p(&told[me][t], origins[t].signalled[pe], pe);
    for (int t = 0; t < threads; t++)
        for (int k = 0; k < 4; k++)
            added[k] += origins[t].added[k];
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        for (int t = 0; t < threads; t++)
            CHECK(shmem_signal_fetch(&signals[pe][t]) == told[pe][t]);
    static long here[4];
    memcpy(here, counters, sizeof here);
    static long both[8], all[8];
    for (int k = 0; k < 4; k++) {
        both[k] = here[k];
        both[4 + k] = added[k];
    }
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, all, both, 8) == 0);
    for (int k = 0; k < 4; k++)
        CHECK(all[k] == all[4 + k]);
    across_contexts(&origins[0]);
    shmem_finalize();
    return 0;
}
