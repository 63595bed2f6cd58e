/* Linked into each NAS kernel of `isthmus bench --npb`: binds the rank to its CPU before main, as our own programs do. */
#define _GNU_SOURCE
#include "measure.h"

__attribute__((constructor)) static void bind_rank(void)
{
    const char *rank = getenv("ISTHMUS_RANK");
    if (rank)
        pin(atoi(rank));
}
