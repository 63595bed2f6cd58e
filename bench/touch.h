/* How a buffer is made, rewritten and read, the same in the experiments and in the floors beside them. */
#ifndef ISTHMUS_BENCH_TOUCH_H
#define ISTHMUS_BENCH_TOUCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Page-aligned and already backed by memory. */
static inline char *buffer(int size)
{
    void *at = NULL;
    size_t bytes = ((size_t)size + 4095) / 4096 * 4096;
    if (posix_memalign(&at, 4096, bytes) != 0) {
        fprintf(stderr, "isthmus bench: no memory for a buffer of %d bytes\n", size);
        exit(1);
    }
    memset(at, 1, bytes);
    return at;
}

static inline void rewrite(char *at, int size, uint64_t seed)
{
    uint64_t *words = (uint64_t *)at;
    int whole = size / 8;
    for (int i = 0; i < whole; i++)
        words[i] = seed + (uint64_t)i;
    for (int i = whole * 8; i < size; i++)
        at[i] = (char)(seed + (uint64_t)i);
}

static inline int is_written(const char *at, int size, uint64_t seed)
{
    const uint64_t *words = (const uint64_t *)at;
    int whole = size / 8;
    uint64_t differences = 0;
    for (int i = 0; i < whole; i++)
        differences |= words[i] ^ (seed + (uint64_t)i);
    for (int i = whole * 8; i < size; i++)
        differences |= (uint64_t)(at[i] != (char)(seed + (uint64_t)i));
    return differences == 0;
}

#endif
