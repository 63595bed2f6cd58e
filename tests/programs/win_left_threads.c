// ranks: 2 3
/* Deferred puts to a target whose other thread makes progress all the time, and does some of it. */
#define THREADS 1
#include "win_left.c"
