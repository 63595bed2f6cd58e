/* How many handles the program holds more than at the beginning, by the library's own count. */
#ifndef HANDLES_H
#define HANDLES_H

#include "counter.h"

static MPI_T_pvar_session handle_counts;
static MPI_T_pvar_handle handles_made, handles_freed;

static void watch_handles(void) {
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&handle_counts));
    handles_made = counter(handle_counts, "handles_made");
    handles_freed = counter(handle_counts, "handles_freed");
    OK(MPI_T_pvar_start(handle_counts, MPI_T_PVAR_ALL_HANDLES));
}

static long live_handles(void) {
    unsigned long long made, freed;
    OK(MPI_T_pvar_read(handle_counts, handles_made, &made));
    OK(MPI_T_pvar_read(handle_counts, handles_freed, &freed));
    return (long)(made - freed);
}

static void unwatch_handles(void) {
    OK(MPI_T_pvar_session_free(&handle_counts));
    OK(MPI_T_finalize());
}

#endif
