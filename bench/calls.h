/* What the kinds of calls of calls.c are, and what they share. */
#ifndef ISTHMUS_BENCH_CALLS_H
#define ISTHMUS_BENCH_CALLS_H

#include "mpi_measure.h"
#include "touch.h"

/* A kind of call. `prepare` and `finish` surround everything of a cell and may be NULL; `parts` is how many of what is
 * timed one operation consists of. `moves`: `outgoing` of the partner is in `incoming` after an operation. */
struct kind {
    const char *name;
    operations *work;
    void (*prepare)(void), (*finish)(void);
    int parts, moves;
};

enum { CALL_TAG = 7, WINDOW = 100 };

static int rank, ranks, size, partner;
static char *outgoing, *incoming;
static MPI_Comm world;

#endif
