/* IS (RNR-94-007, section 2.3.5): ten times the ranks of integer keys, which are distributed by their place in a sequence; then they are sorted.
 * Each time keys are counted by bucket (MPI_Allreduce), sent to the rank that has their bucket (MPI_Alltoallv), and counted there. */
#ifndef ISTHMUS_BENCH_NAS_IS_H
#define ISTHMUS_BENCH_NAS_IS_H

#include "nas.h"

enum { IS_ITERATIONS = 10, IS_TESTS = 5, IS_BUCKETS = 1024 };

static const struct is_class {
    int keys_log, most_log;
    int index[IS_TESTS], rank[IS_TESTS];
    /* The term added to the published rank, per iteration: its sign, and the number subtracted from the iteration's. */
    int sign[IS_TESTS], less[IS_TESTS];
} is_classes[] = {
    {16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, {1, 1, 1, -1, -1}, {0, 0, 0, 0, 0}},
    {20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, {1, 1, -1, -1, -1}, {2, 2, 0, 0, 0}},
    {23, 19, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}, {1, 1, 1, -1, -1}, {1, 1, 1, 1, 1}},
    {25, 21, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99}, {-1, 1, 1, -1, 1}, {0, 0, 0, 0, 0}},
};

struct is {
    const struct is_class *class;
    int keys, shift;
    /* Ours by place in the sequence, the same by bucket, and those of our buckets. */
    int *own, *sorted, *received, received_count;
    size_t room;
    /* How often each key of our buckets is there, from `first` on. */
    int *counts, first, different;
    /* Keys of lower ranks. */
    int before;
};

/* Which buckets each rank has: so many keys for each, as far as buckets allow. */
static void is_shares(const int *sizes, int *first_bucket)
{
    long total = 0, so_far = 0;
    for (int b = 0; b < IS_BUCKETS; b++)
        total += sizes[b];
    first_bucket[0] = 0;
    for (int b = 0, p = 1; b < IS_BUCKETS; b++) {
        so_far += sizes[b];
        while (p < ranks && so_far >= total * p / ranks)
            first_bucket[p++] = b + 1;
    }
    first_bucket[ranks] = IS_BUCKETS;
}

/* One iteration; the ranks of the five tested keys. */
static void is_rank(struct is *s, int tested[IS_TESTS])
{
    int own[IS_BUCKETS + IS_TESTS] = {0}, all[IS_BUCKETS + IS_TESTS], place[IS_BUCKETS];
    int *first_bucket = memory(sizeof(int) * (size_t)(5 * ranks + 1));
    int *sent = first_bucket + ranks + 1, *sent_at = sent + ranks, *got = sent_at + ranks, *got_at = got + ranks;
    for (int i = 0; i < s->keys; i++)
        own[s->own[i] >> s->shift]++;
    for (int i = 0, at = 0; i < IS_BUCKETS; at += own[i++])
        place[i] = at;
    for (int i = 0; i < s->keys; i++)
        s->sorted[place[s->own[i] >> s->shift]++] = s->own[i];
    for (int i = 0; i < IS_TESTS; i++) {
        int at = s->class->index[i] - rank * s->keys;
        own[IS_BUCKETS + i] = at >= 0 && at < s->keys ? s->own[at] : 0;
    }
    MPI_Allreduce(own, all, IS_BUCKETS + IS_TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    is_shares(all, first_bucket);
    for (int p = 0; p < ranks; p++)
        for (int b = first_bucket[p]; b < first_bucket[p + 1]; b++)
            sent[p] += own[b];
    MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    for (int p = 1; p < ranks; p++) {
        sent_at[p] = sent_at[p - 1] + sent[p - 1];
        got_at[p] = got_at[p - 1] + got[p - 1];
    }
    s->received_count = got_at[ranks - 1] + got[ranks - 1];
    if ((size_t)s->received_count > s->room) {
        give_back(s->received);
        s->room = (size_t)s->received_count;
        s->received = memory(s->room * sizeof *s->received);
    }
    MPI_Alltoallv(s->sorted, sent, sent_at, MPI_INT, s->received, got, got_at, MPI_INT, MPI_COMM_WORLD);
    s->first = first_bucket[rank] << s->shift;
    s->different = (first_bucket[rank + 1] << s->shift) - s->first;
    memset(s->counts, 0, (size_t)s->different * sizeof *s->counts);
    for (int i = 0; i < s->received_count; i++)
        s->counts[s->received[i] - s->first]++;
    s->before = 0;
    for (int b = 0; b < first_bucket[rank]; b++)
        s->before += all[b];
    /* How many keys are smaller than the tested one. */
    for (int i = 0; i < IS_TESTS; i++) {
        int key = all[IS_BUCKETS + i] - s->first;
        tested[i] = -1;
        if (key < 0 || key >= s->different)
            continue;
        tested[i] = s->before;
        for (int smaller = 0; smaller < key; smaller++)
            tested[i] += s->counts[smaller];
    }
    give_back(first_bucket);
}

/* How many of this rank's tested keys have the published rank. */
static int is_as_published(const struct is_class *c, const int tested[IS_TESTS], int iteration)
{
    int good = 0;
    for (int i = 0; i < IS_TESTS; i++)
        good += tested[i] >= 0 && tested[i] == c->rank[i] + c->sign[i] * (iteration - c->less[i]);
    return good;
}

/* Each rank's keys in order, and no smaller than those of lower ranks; all are there. */
static int is_sorted(struct is *s)
{
    int at = 0, last = -1, most_before = -1;
    int *sorted = memory((size_t)(s->received_count + 1) * sizeof *sorted);
    for (int key = 0; key < s->different; key++)
        for (int i = 0; i < s->counts[key]; i++)
            sorted[at++] = key + s->first;
    int good = at == s->received_count;
    for (int i = 1; i < at; i++)
        good &= sorted[i - 1] <= sorted[i];
    last = at ? sorted[at - 1] : -1;
    MPI_Exscan(&last, &most_before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    good &= rank == 0 || !at || most_before <= sorted[0];
    MPI_Allreduce(MPI_IN_PLACE, &at, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    give_back(sorted);
    return good && at == 1 << s->class->keys_log;
}

static double is(int class)
{
    const struct is_class *c = &is_classes[class];
    struct is s = {.class = c, .keys = (1 << c->keys_log) / ranks, .shift = c->most_log - 10};
    if (ranks > IS_BUCKETS)
        give_up("nas: IS has fewer buckets than ranks");
    s.own = memory((size_t)s.keys * sizeof(int));
    s.sorted = memory((size_t)s.keys * sizeof(int));
    s.counts = memory(sizeof(int) << c->most_log);
    uint64_t state = nas_after(4 * (uint64_t)s.keys * (uint64_t)rank);
    for (int i = 0; i < s.keys; i++) {
        double four = nas_next(&state);
        for (int more = 0; more < 3; more++)
            four += nas_next(&state);
        s.own[i] = (int)((1 << c->most_log) / 4 * four);
    }
    int good = 1, published = 0, tested[IS_TESTS];
    double begin = 0;
    /* The first one is not timed. */
    for (int iteration = 0; iteration <= IS_ITERATIONS; iteration++) {
        int number = iteration ? iteration : 1;
        if (iteration == 1)
            begin = begin_together();
        if (rank == 0) {
            s.own[number] = number;
            s.own[number + IS_ITERATIONS] = (1 << c->most_log) - number;
        }
        is_rank(&s, tested);
        published += is_as_published(c, tested, number);
    }
    double us = taken_since(begin);
    good &= is_sorted(&s);
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &published, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    good &= published == IS_TESTS * (IS_ITERATIONS + 1);
    give_back(s.own), give_back(s.sorted), give_back(s.counts), give_back(s.received);
    return good ? us : -1;
}

#endif
