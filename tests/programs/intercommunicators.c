// ranks: 2 3 5 8
/* Collectives between two groups, in all forms, with the root in either group; wrong arguments. The random checker
   (random_collectives.c) does the rest. */
#include "check.h"

enum { COUNT = 5, MOST = 8 };

static MPI_Comm inter;
/* The caller's group is 0 or 1. */
static int group, me, ours, theirs;

/* Element i that `from` of a group has for `to` of the other. */
static int element(int from_group, int from, int to, int i) { return 100000 * from_group + 1000 * from + 100 * to + i; }

/* The same call in all forms, the persistent one twice. `before` prepares, `after` checks. */
#define ALL_FORMS(before, after, name, ...)                                   \
    do {                                                                      \
        MPI_Request request;                                                  \
        before;                                                               \
        OK(MPI_##name(__VA_ARGS__));                                          \
        after;                                                                \
        before;                                                               \
        OK(MPI_I##name(__VA_ARGS__, &request));                               \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                            \
        after;                                                                \
        before;                                                               \
        OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request));          \
        for (int again = 0; again < 2; again++) {                             \
            before;                                                           \
            OK(MPI_Start(&request));                                          \
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                        \
            after;                                                            \
        }                                                                     \
        OK(MPI_Request_free(&request));                                       \
    } while (0)
/* The standard's names are not made for macros. */
#define MPI_IBcast MPI_Ibcast
#define MPI_IBarrier MPI_Ibarrier
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

static int send[MOST * MOST * COUNT], recv[MOST * MOST * COUNT];

static void clear(void) {
    for (int i = 0; i < MOST * MOST * COUNT; i++) recv[i] = -1;
}

static void blocks_are(int count, int same) {
    for (int from = 0; from < theirs; from++)
        for (int i = 0; i < count; i++) {
            int found = recv[from * count + i], expected = element(1 - group, from, same ? 0 : me, i);
            CHECK(found == expected, "element %d from %d: %d instead of %d", i, from, found, expected);
        }
    CHECK(recv[theirs * count] == -1, "written beyond the last block");
}

/* What the other group's elements from `first` on add up to. */
static void sums_are(int first, int count) {
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int from = 0; from < theirs; from++) sum += element(1 - group, from, 0, first + i);
        CHECK(recv[i] == sum, "element %d: %d instead of %d", first + i, recv[i], sum);
    }
    CHECK(recv[count] == -1, "written beyond the last element");
}

static void nothing_came(void) { CHECK(recv[0] == -1, "%d", recv[0]); }

/* The last of group `side` is the root. Arguments that do not matter to a process are garbage there. */
static void rooted(int side) {
    int root_rank = (side == group ? ours : theirs) - 1, here = side == group && me == root_rank, there = side != group;
    int root = here ? MPI_ROOT : there ? root_rank : MPI_PROC_NULL, counts[MOST], displs[MOST];
    int *void_counts = here ? counts : NULL, *void_displs = here ? displs : NULL;
    MPI_Datatype void_type = MPI_DATATYPE_NULL, in = there ? MPI_INT : void_type, at_root = here ? MPI_INT : void_type;
    MPI_Datatype both = there || here ? MPI_INT : void_type;
    MPI_Op op = there || here ? MPI_SUM : MPI_OP_NULL;
    for (int i = 0; i < MOST; i++) counts[i] = COUNT, displs[i] = i * COUNT;
    int count = there || here ? COUNT : -5;

    ALL_FORMS(
        clear(); for (int i = 0; here && i < COUNT; i++) recv[i] = element(side, root_rank, 0, i),
        if (there) for (int i = 0; i < COUNT; i++) CHECK(recv[i] == element(side, root_rank, 0, i), "%d", recv[i]);
        if (!there && !here) nothing_came(), Bcast, recv, count, both, root, inter);

    for (int i = 0; i < COUNT; i++) send[i] = element(group, me, 0, i);
    ALL_FORMS(clear(), if (here) blocks_are(COUNT, 1); else nothing_came(), Gather, there ? send : NULL, there ? COUNT : -1, in, recv,
              here ? COUNT : -1, at_root, root, inter);
    ALL_FORMS(clear(), if (here) blocks_are(COUNT, 1); else nothing_came(), Gatherv, there ? send : NULL, there ? COUNT : -1, in, recv,
              void_counts, void_displs, at_root, root, inter);
    ALL_FORMS(clear(), if (here) sums_are(0, COUNT); else nothing_came(), Reduce, there ? send : NULL, recv, count, both, op, root, inter);

    for (int to = 0; to < theirs; to++)
        for (int i = 0; i < COUNT; i++) send[to * COUNT + i] = element(group, me, to, i);
    ALL_FORMS(
        clear(), if (there) for (int i = 0; i < COUNT; i++) CHECK(recv[i] == element(side, root_rank, me, i), "%d", recv[i]);
        else nothing_came(), Scatter, here ? send : NULL, here ? COUNT : -1, at_root, recv, there ? COUNT : -1, in, root, inter);
    ALL_FORMS(
        clear(), if (there) for (int i = 0; i < COUNT; i++) CHECK(recv[i] == element(side, root_rank, me, i), "%d", recv[i]);
        else nothing_came(), Scatterv, here ? send : NULL, void_counts, void_displs, at_root, recv, there ? COUNT : -1, in, root, inter);
}

static void all_to_all(void) {
    int counts[MOST], displs[MOST], bytes[MOST], own_counts[MOST], total = 0, first = 0;
    MPI_Datatype types[MOST];
    for (int i = 0; i < MOST; i++) counts[i] = COUNT, displs[i] = i * COUNT, bytes[i] = 4 * displs[i], types[i] = MPI_INT;
    ALL_FORMS(, , Barrier, inter);

    for (int i = 0; i < COUNT; i++) send[i] = element(group, me, 0, i);
    ALL_FORMS(clear(), blocks_are(COUNT, 1), Allgather, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, inter);
    ALL_FORMS(clear(), blocks_are(COUNT, 1), Allgatherv, send, COUNT, MPI_INT, recv, counts, displs, MPI_INT, inter);
    /* One direction only. */
    int to_us = group == 0 ? COUNT : 0, from_us = COUNT - to_us;
    ALL_FORMS(clear(), if (to_us) blocks_are(COUNT, 1); else nothing_came(), Allgather, send, from_us, MPI_INT, recv, to_us,
              MPI_INT, inter);

    for (int to = 0; to < theirs; to++)
        for (int i = 0; i < COUNT; i++) send[to * COUNT + i] = element(group, me, to, i);
    ALL_FORMS(clear(), blocks_are(COUNT, 0), Alltoall, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, inter);
    ALL_FORMS(clear(), blocks_are(COUNT, 0), Alltoallv, send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, inter);
    ALL_FORMS(clear(), blocks_are(COUNT, 0), Alltoallw, send, counts, bytes, types, recv, counts, bytes, types, inter);

    for (int i = 0; i < ours * theirs * COUNT; i++) send[i] = element(group, me, 0, i);
    ALL_FORMS(clear(), sums_are(0, COUNT), Allreduce, send, recv, COUNT, MPI_INT, MPI_SUM, inter);
    /* Both groups share out as many elements. */
    ALL_FORMS(clear(), sums_are(me * theirs * COUNT, theirs * COUNT), Reduce_scatter_block, send, recv, theirs * COUNT, MPI_INT,
              MPI_SUM, inter);
    for (int i = 1; i < ours; i++) total += own_counts[i] = i % 2 * COUNT;
    own_counts[0] = ours * theirs * COUNT - total;
    for (int i = 0; i < me; i++) first += own_counts[i];
    ALL_FORMS(clear(), sums_are(first, own_counts[me]), Reduce_scatter, send, recv, own_counts, MPI_INT, MPI_SUM, inter);
}

/* None of these communicates. */
static void wrong(void) {
    MPI_Request request;
    int counts[MOST] = {0}, value = 0;
    MPI_Datatype types[MOST] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COMM, MPI_Scan(send, recv, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Exscan(send, recv, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Iscan(send, recv, 1, MPI_INT, MPI_SUM, inter, &request));
    FAILS(MPI_ERR_COMM, MPI_Exscan_init(send, recv, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, theirs, inter));
    FAILS(MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, -1, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Reduce(&value, recv, 1, MPI_INT, MPI_SUM, theirs, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, recv, 1, MPI_INT, 0, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Scatter(send, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce(MPI_IN_PLACE, recv, 1, MPI_INT, MPI_SUM, 0, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce(send, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_ROOT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, recv, 1, MPI_INT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Allgatherv(MPI_IN_PLACE, 1, MPI_INT, recv, counts, counts, MPI_INT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, recv, 1, MPI_INT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoallv(MPI_IN_PLACE, counts, counts, MPI_INT, recv, counts, counts, MPI_INT, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Ialltoallw(MPI_IN_PLACE, counts, counts, types, recv, counts, counts, types, inter, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, recv, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_scatter(MPI_IN_PLACE, recv, counts, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_BUFFER, MPI_Ireduce_scatter_block(MPI_IN_PLACE, recv, 1, MPI_INT, MPI_SUM, inter, &request));
    /* A rank that takes no part in the call needs no arguments. */
    OK(MPI_Bcast(NULL, -1, MPI_DATATYPE_NULL, MPI_PROC_NULL, inter));
    OK(MPI_Reduce(NULL, NULL, -1, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_PROC_NULL, inter));
    OK(MPI_Barrier(inter));
    /* A message of the wrong length fails where it comes; the call goes on. */
    if (group == 0) {
        OK(MPI_Bcast(send, 2, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    } else if (me == 0) {
        FAILS(MPI_ERR_TRUNCATE, MPI_Bcast(recv, 1, MPI_INT, 0, inter));
    } else {
        OK(MPI_Bcast(recv, 1, MPI_INT, 0, inter));
    }
    OK(MPI_Barrier(inter));
}

int main(int argc, char **argv) {
    MPI_Comm half;
    begin(&argc, &argv);
    /* The first third, and the others. */
    group = 3 * rank >= size;
    OK(MPI_Comm_split(MPI_COMM_WORLD, group, -rank, &half));
    /* Ranks go backwards, so that they are not those of the world. */
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, group == 0 ? size - 1 : (size - 1) / 3, 9, &inter));
    OK(MPI_Comm_rank(inter, &me));
    OK(MPI_Comm_size(inter, &ours));
    OK(MPI_Comm_remote_size(inter, &theirs));
    rooted(0);
    rooted(1);
    all_to_all();
    wrong();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
    end();
    return 0;
}
