/* Which receive gets which message (MPI-5.0 §3.5), as a sequential model.

   Receives are taken in the order in which they were posted, messages in the order in which they arrive: both sides prefer
   what comes first, so there is exactly one stable matching, whenever the two meet. The order in which messages of several
   senders arrive is not known. It must be possible, though: messages of one sender arrive in the order in which they were
   sent, and if a receive posted earlier would have taken a message, its own came before. No cycle of these: some order of
   arrivals explains all, and no other matching would. */
#ifndef MATCHING_MODEL_H
#define MATCHING_MODEL_H

#include "check.h"

/* A receive, or a matched probe, in the order of posting on a communicator. */
struct post {
    int place, source, tag, capacity, sparse;
    /* When it was seen to be complete, and when it was cancelled; 0: not. */
    long completed, cancelled;
    /* What it got; `number` counts the messages of a sender on a communicator, -1 if the data does not tell. */
    int from, of_tag, bytes, number, truncated;
    int is_persistent, is_bound, is_told;
    unsigned char *buffer;
    MPI_Request request;
};

static int would_take(const struct post *post, const struct post *message) {
    return (post->source == MPI_ANY_SOURCE || post->source == message->from) &&
           (post->tag == MPI_ANY_TAG || post->tag == message->of_tag);
}

/* Does something have to arrive before something else? */
static int comes_before(struct post *const *posts, int a, int b) {
    if (posts[a]->from == posts[b]->from && posts[a]->number < posts[b]->number) return 1;
    return a < b && would_take(posts[a], posts[b]);
}

/* Take away whatever nothing has to come before, until nothing is left. Returns how many are left. */
static int left_in_cycles(struct post *const *posts, int count, char *gone) {
    int left = count, progress = 1;
    memset(gone, 0, (size_t)count);
    while (progress) {
        progress = 0;
        for (int b = 0; b < count; b++) {
            int is_free = !gone[b];
            for (int a = 0; is_free && a < count; a++) is_free = a == b || gone[a] || !comes_before(posts, a, b);
            if (!is_free) continue;
            gone[b] = progress = 1;
            left--;
        }
    }
    return left;
}

/* A receive that was cancelled was pending until then: nothing that it would have taken went to a later one. */
static int was_passed_over(const struct post *cancelled, const struct post *later) {
    return later->completed && later->completed < cancelled->cancelled && would_take(cancelled, later);
}

#endif
