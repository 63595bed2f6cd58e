/* Choices that a seed gives again: the same on all ranks, and of each rank's own. */
#ifndef CHOICES_H
#define CHOICES_H

#include "check.h"

/* The seed; the state of choices that are the same on all ranks, and of the others. */
__attribute__((unused)) static unsigned seed, shared, own;

__attribute__((unused)) static int any(unsigned *state, int below) { return (int)(next_random(state) % (unsigned)below); }

static unsigned scramble(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

#endif
