/* Our counters, as a tool sees them. */
#ifndef ISTHMUS_TESTS_COUNTER_H
#define ISTHMUS_TESTS_COUNTER_H

#include "check.h"

static MPI_T_pvar_handle counter(MPI_T_pvar_session session, const char *name) {
    MPI_T_pvar_handle handle;
    int index, count;
    OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    return handle;
}

#endif
