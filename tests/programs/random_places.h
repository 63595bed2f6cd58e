/* Communicators of every kind for random collectives, and who has entered which barrier of them. */
#ifndef RANDOM_PLACES_H
#define RANDOM_PLACES_H

#include "random_layouts.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 72, PENDING = 10 };

/* A communicator. Processes are told apart by `uid`: the rank, and MOST more in the second group. */
struct place {
    const char *name;
    MPI_Comm comm;
    int me, ours, side, theirs, is_inter;
    /* In a topology; blocks of which process, and which of its blocks. */
    int in, out, sources[MOST], destinations[MOST], twins[MOST];
    int has_topology;
    /* In the world: those that a barrier waits for. */
    int awaited_count, awaited[MOST];
};

enum { WORLD, SELF, HALVES, UNEVEN, BETWEEN, GRID, RING, WEB, PLACES };
static struct place places[PLACES];

static void name_place(int which, const char *name, MPI_Comm comm) {
    struct place *place = &places[which];
    place->name = name;
    place->comm = comm;
    OK(MPI_Comm_rank(comm, &place->me));
    OK(MPI_Comm_size(comm, &place->ours));
    OK(MPI_Comm_test_inter(comm, &place->is_inter));
    if (place->is_inter) OK(MPI_Comm_remote_size(comm, &place->theirs));
    MPI_Group group, world;
    int all[MOST];
    OK(place->is_inter ? MPI_Comm_remote_group(comm, &group) : MPI_Comm_group(comm, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(group, &place->awaited_count));
    for (int i = 0; i < place->awaited_count; i++) all[i] = i;
    OK(MPI_Group_translate_ranks(group, place->awaited_count, all, world, place->awaited));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
}

/* Which block of which process is its nth block to us; `destination` names the receivers of a process. */
static void find_twins(struct place *place, const int (*destinations)[MOST], const int *degrees) {
    for (int k = 0; k < place->in; k++) {
        int nth = 0, source = place->sources[k];
        for (int before = 0; before < k; before++) nth += place->sources[before] == source;
        for (int block = 0; block < degrees[source]; block++)
            if (destinations[source][block] == place->me && nth-- == 0) place->twins[k] = block;
    }
}

static void make_places(void) {
    static int destinations[MOST][MOST], degrees[MOST];
    int dims[3] = {0, 0, 0}, periods[3], edges[MOST * 4], index[MOST], many = 1 + any(&shared, 3);
    MPI_Comm comm, part;
    memset(places, 0, sizeof places);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    name_place(WORLD, "world", comm);
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    name_place(SELF, "self", comm);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm));
    name_place(HALVES, "halves", comm);
    int border = size > 1 ? 1 + any(&shared, size - 1) : 1, side = rank >= border;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &part));
    name_place(UNEVEN, "part", part);
    if (size > 1) {
        OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side ? 0 : border, 3, &comm));
        name_place(BETWEEN, "inter", comm);
        places[BETWEEN].side = side;
    }
    for (int d = 0; d < 3; d++) periods[d] = any(&shared, 3) > 0;
    OK(MPI_Dims_create(size, many, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, many, dims, periods, 0, &comm));
    name_place(GRID, "grid", comm);
    struct place *grid = &places[GRID];
    grid->has_topology = 1;
    grid->in = grid->out = 2 * many;
    for (int d = 0; d < many; d++) OK(MPI_Cart_shift(comm, d, 1, &grid->sources[2 * d], &grid->sources[2 * d + 1]));
    for (int k = 0; k < grid->in; k++) grid->destinations[k] = grid->sources[k], grid->twins[k] = k ^ 1;

    /* The next, oneself, the one before, which may all be the same. */
    for (int node = 0; node < size; node++) {
        degrees[node] = 3;
        for (int k = 0; k < 3; k++) edges[3 * node + k] = destinations[node][k] = (node + size + 1 - k) % size;
        index[node] = 3 * node + 3;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    name_place(RING, "graph", comm);
    struct place *ring = &places[RING];
    ring->has_topology = 1;
    ring->in = ring->out = 3;
    for (int k = 0; k < 3; k++) ring->sources[k] = ring->destinations[k] = destinations[rank][k];
    find_twins(ring, (const int(*)[MOST])destinations, degrees);

    /* Anything: several edges between two, none at all. */
    struct place *web = &places[WEB];
    web->has_topology = 1;
    for (int node = 0; node < size; node++) {
        degrees[node] = any(&shared, 5);
        for (int k = 0; k < degrees[node]; k++) {
            destinations[node][k] = any(&shared, size);
            if (destinations[node][k] == rank && web->in < MOST) web->sources[web->in++] = node;
        }
    }
    web->out = degrees[rank];
    memcpy(web->destinations, destinations[rank], sizeof web->destinations);
    for (int k = web->in - 1; k > 0; k--) {
        int other = any(&own, k + 1), source = web->sources[k];
        web->sources[k] = web->sources[other];
        web->sources[other] = source;
    }
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, web->in, web->sources, MPI_UNWEIGHTED, web->out, web->destinations,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    name_place(WEB, "web", comm);
    find_twins(web, (const int(*)[MOST])destinations, degrees);
}

/* Pending operations on them continue. */
static void free_places(void) {
    for (int i = 0; i < PLACES; i++)
        if (places[i].name && places[i].comm != MPI_COMM_NULL) OK(MPI_Comm_free(&places[i].comm));
}

/* ---- Barriers ---- */

/* When each process last entered each of the barriers that may be under way, in memory that all see without MPI; on several nodes nobody
   sees that of others. */
static _Atomic unsigned (*entered)[PENDING];

static void watch_barriers(void) {
    if (!on_one_node()) return;
    int whose[2] = {(int)getpid(), rank == 0 ? memfd_create("entered", MFD_CLOEXEC) : -1};
    char path[64];
    size_t length = (size_t)size * sizeof *entered;
    if (rank == 0) CHECK(whose[1] >= 0 && ftruncate(whose[1], (off_t)length) == 0, "no memory");
    OK(MPI_Bcast(whose, 2, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", whose[0], whose[1]);
    int file = open(path, O_RDWR | O_CLOEXEC);
    CHECK(file >= 0, "%s", path);
    entered = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(entered != MAP_FAILED, "no memory");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) close(whose[1]);
    close(file);
}

static void enter_barrier(int slot, unsigned now) {
    if (entered) atomic_store(&entered[rank][slot], now);
}

static void leave_barrier(const struct place *place, int slot, unsigned since) {
    for (int i = 0; entered && i < place->awaited_count; i++) {
        int other = place->awaited[i];
        unsigned then = atomic_load(&entered[other][slot]);
        CHECK(then >= since, "seed %u: a barrier on %s did not wait for %d of the world", seed, place->name, other);
    }
}

#endif
