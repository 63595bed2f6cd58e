/* A library with static data of each kind, which puts into it by itself. */
#include <shmem.h>

#include "with_library.h"

long library_data[LIBRARY_LENGTH] = {11}, library_zeros[LIBRARY_LENGTH];

static long hidden = 5, got;

long *library_hidden(void) { return &hidden; }

void library_put(int pe, long value) { shmem_long_p(&got, value, pe); }

long library_got(void) { return got; }
