/* ga-mpi.h: communicators of the processes of Global Arrays' groups, as in Global Arrays 5.9.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The first call for a group makes its communicator, and is collective over the group; MPI must be initialized. It belongs to the
 * library: do not free it. libga.so has these functions in terms of the standard ABI; with another header of MPI's everything is done by calls of
 * MPI here. */
#ifndef GA_MPI_H_
#define GA_MPI_H_

#include <ga.h>
#include <mpi.h>
#include <stdlib.h>

#ifdef MPI_ABI_VERSION

#ifdef __cplusplus
extern "C" {
#endif

/* Of all processes, of a group, of the default group. */
MPI_Comm GA_MPI_Comm(void);
MPI_Comm GA_MPI_Comm_pgroup(int number);
MPI_Comm GA_MPI_Comm_pgroup_default(void);

#ifdef __cplusplus
}
#endif

#else

/* One list in a program, whichever of its files asks. */
struct isthmus_ga_known {
    struct isthmus_ga_known *next;
    int number;
    MPI_Comm comm;
};
__attribute__((weak)) struct isthmus_ga_known *isthmus_ga_first_known = NULL;

/* The communicator made for a group before, if the group has the same processes still. */
static inline MPI_Comm isthmus_ga_communicator(int number)
{
    struct isthmus_ga_known *known;
    MPI_Group all, members, others;
    int size = GA_Pgroup_nnodes(number), at, same = MPI_UNEQUAL, *ranks = (int *)malloc((size_t)size * sizeof *ranks);
    if (!ranks) GA_Error((char *)"GA_MPI_Comm: no memory for the ranks of a group of", size);
    for (at = 0; at < size; at++) ranks[at] = GA_Pgroup_absolute_id(number, at);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, size, ranks, &members);
    free(ranks);
    for (known = isthmus_ga_first_known; known; known = known->next) {
        if (known->number != number) continue;
        MPI_Comm_group(known->comm, &others);
        MPI_Group_compare(members, others, &same);
        MPI_Group_free(&others);
        if (same == MPI_IDENT) break;
    }
    if (!known) {
        known = (struct isthmus_ga_known *)malloc(sizeof *known);
        if (!known) GA_Error((char *)"GA_MPI_Comm: no memory for group", number);
        known->number = number;
        MPI_Comm_create_group(MPI_COMM_WORLD, members, 24071, &known->comm);
        known->next = isthmus_ga_first_known;
        isthmus_ga_first_known = known;
    }
    MPI_Group_free(&members);
    MPI_Group_free(&all);
    return known->comm;
}

/* Of all processes. */
static inline MPI_Comm GA_MPI_Comm(void) { return isthmus_ga_communicator(GA_Pgroup_get_world()); }

/* Of a group. */
static inline MPI_Comm GA_MPI_Comm_pgroup(int number) { return isthmus_ga_communicator(number); }

/* Of the default group. */
static inline MPI_Comm GA_MPI_Comm_pgroup_default(void) { return isthmus_ga_communicator(GA_Pgroup_get_default()); }

#endif

#endif
