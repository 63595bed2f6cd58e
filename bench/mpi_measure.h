/* The MPI half of measure.h: what a program prints about the library it runs on, and how it gives up. */
#ifndef ISTHMUS_BENCH_MPI_MEASURE_H
#define ISTHMUS_BENCH_MPI_MEASURE_H

#include "measure.h"
#include <mpi.h>

/* Says which library is loaded, so that a wrong library path cannot pass as a measurement. */
static inline void print_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    printf("library %s\n", version);
}

static inline void give_up(const char *why)
{
    fprintf(stderr, "isthmus bench: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#endif
