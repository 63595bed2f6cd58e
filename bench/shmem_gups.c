/* Random updates of 8 bytes all over the memory of all PEs (GUPS), beside the same loop on as many threads of one process.
 *
 *   shmem_gups [--seconds S]
 *
 * Every PE does an equal part of 10^7 updates (fewer, if S is less than half a second): an exclusive or, atomic, on a
 * table of 32 MiB that is spread over the PEs. The time is that of one update of one PE. */
#define _GNU_SOURCE
#include "shmem_measure.h"
#include <pthread.h>
#include <stdatomic.h>

enum { MOST = 8 };
static const uint64_t words = 4 << 20;

static int pes;
static uint64_t share, updates, *table;
static _Atomic uint64_t *parts[MOST];

static inline uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void by_shmem(void)
{
    uint64_t state = 88172645463325252u + (uint64_t)shmem_my_pe();
    for (uint64_t i = 0; i < updates; i++) {
        uint64_t word = next(&state) % words;
        shmem_uint64_atomic_xor(&table[word % share], state, (int)(word / share));
    }
}

static pthread_barrier_t together;
static double took[MOST];

static void *by_thread(void *index)
{
    pin((int)(intptr_t)index);
    uint64_t state = 88172645463325252u + (uint64_t)(intptr_t)index;
    pthread_barrier_wait(&together);
    double start = now_us();
    for (uint64_t i = 0; i < updates; i++) {
        uint64_t word = next(&state) % words;
        atomic_fetch_xor_explicit(&parts[word / share][word % share], state, memory_order_acq_rel);
    }
    /* The last one to end counts, by its own clock: the thread that joins them may get its CPU late. */
    pthread_barrier_wait(&together);
    took[(intptr_t)index] = now_us() - start;
    return NULL;
}

/* On PE 0, while the others sleep. */
static double by_threads(void)
{
    pthread_t threads[MOST];
    pthread_barrier_init(&together, NULL, (unsigned)pes);
    for (int i = 0; i < pes; i++)
        pthread_create(&threads[i], NULL, by_thread, (void *)(intptr_t)i);
    double longest = 0;
    for (int i = 0; i < pes; i++) {
        pthread_join(threads[i], NULL);
        longest = took[i] > longest ? took[i] : longest;
    }
    pthread_barrier_destroy(&together);
    return longest;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    begin(&argc, &argv);
    pes = shmem_n_pes();
    share = (words + (uint64_t)pes - 1) / (uint64_t)pes;
    updates = (a.seconds < 0.5 ? 100000 : 10000000) / (uint64_t)pes;
    table = shmem_calloc(share, sizeof *table);
    if (!table || pes > MOST)
        give_up("shmem_gups: no memory, or too many PEs");
    for (int i = 0; i < pes; i++) {
        parts[i] = aligned_alloc(64, (share * sizeof *table + 63) / 64 * 64);
        if (!parts[i])
            give_up("shmem_gups: no memory");
        memset((void *)parts[i], 0, share * sizeof *table);
    }
    static struct samples ours, theirs;
    for (int turn = 0; turn < TURNS; turn++) {
        if (shmem_my_pe() == 0)
            theirs.us[theirs.count++] = by_threads() / (double)updates;
        shmem_barrier_all();
        double start = now_us();
        by_shmem();
        shmem_barrier_all();
        ours.us[ours.count++] = (now_us() - start) / (double)updates;
    }
    /* Both have done the same updates. */
    if (shmem_my_pe() == 0) {
        for (uint64_t word = 0; word < words; word++)
            if (shmem_uint64_g(&table[word % share], (int)(word / share)) != parts[word / share][word % share])
                give_up("shmem_gups: the tables differ");
        printf("result shmem_gups ranks=%d floor=%.5f ", pes, median(&theirs));
        print_samples(&ours);
    }
    shmem_barrier_all();
    end();
    return 0;
}
