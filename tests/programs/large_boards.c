/* large_boards SHORTER LONGER: every collective, blocking and not, of all ranks, from the first on; long messages; and reductions of elements of
   SHORTER bytes, which a board takes, and of LONGER, which it does not. Rank 0 prints how many calls of each part went by an algorithm
   that ISTHMUS_COLLECTIVES said, all ranks' together: "blocking 1, non-blocking 2, long 3, shorter 4, longer 5". */
#include "any_collective.h"
#include "counter.h"

enum { COUNTS = 3, LONG = 70000 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle wanted;

/* Calls of all ranks since the last time. */
static unsigned long long taken(void) {
    static unsigned long long before;
    unsigned long long now, own, all;
    OK(MPI_T_pvar_read(session, wanted, &now));
    own = now - before;
    OK(MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_T_pvar_read(session, wanted, &before));
    return all;
}

static void every_kind(enum form form) {
    /* One that lies in the post itself, one that is staged, and one with an element for each rank. */
    const int counts[COUNTS] = {1, 40, size + 10};
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < COUNTS; i++) {
            struct collective one = make((enum kind)kind, MPI_COMM_WORLD, 29 * kind + i, counts[i], i == 1, kind % 2);
            refill(&one, (unsigned)(COUNTS * kind + i));
            call(&one, form);
            if (form == IMMEDIATE) OK(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
            verify(&one);
            discard(&one);
        }
}

static int value(int from, int i) { return from * 1009 + i % 777; }

/* Several steps of one call. */
static void long_messages(void) {
    int *own = malloc(sizeof *own * LONG), *all = malloc(sizeof *all * LONG), root = size - 1;
    for (int i = 0; i < LONG; i++) own[i] = value(rank, i);
    OK(MPI_Reduce(own, all, LONG, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    OK(MPI_Bcast(all, LONG, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < LONG; i++) CHECK(all[i] == size * (i % 777) + 1009 * (size * (size - 1) / 2), "%d at %d", all[i], i);
    OK(MPI_Allreduce(MPI_IN_PLACE, own, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(memcmp(own, all, sizeof *own * LONG) == 0, "all-reduce");
    free(own), free(all);
}

static void add(void *first, void *second, int *count, MPI_Datatype *type) {
    int *one = first, *two = second, bytes;
    OK(MPI_Type_size(*type, &bytes));
    for (int i = 0; i < *count * (bytes / (int)sizeof(int)); i++) two[i] += one[i];
}

/* Reductions of elements of so many bytes: one, and some for each rank. */
static void elements_of(int bytes) {
    int ints = bytes / (int)sizeof(int), most = size + 3, room = most * ints;
    int *own = malloc(sizeof *own * (size_t)room), *all = malloc(sizeof *all * (size_t)room);
    MPI_Datatype type;
    MPI_Op op;
    OK(MPI_Type_contiguous(ints, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(add, 1, &op));
    for (int i = 0; i < room; i++) own[i] = value(rank, i);
    for (int count = 1; count <= most; count += most - 1) {
        int sums = 1009 * (size * (size - 1) / 2), before = 1009 * (rank * (rank + 1) / 2);
        OK(MPI_Allreduce(own, all, count, type, op, MPI_COMM_WORLD));
        for (int i = 0; i < count * ints; i++) CHECK(all[i] == size * (i % 777) + sums, "all-reduce: %d at %d", all[i], i);
        OK(MPI_Reduce(own, all, count, type, op, size - 1, MPI_COMM_WORLD));
        for (int i = 0; i < count * ints; i++) CHECK(all[i] == size * (i % 777) + sums, "reduce: %d at %d", all[i], i);
        OK(MPI_Scan(own, all, count, type, op, MPI_COMM_WORLD));
        for (int i = 0; i < count * ints; i++) CHECK(all[i] == (rank + 1) * (i % 777) + before, "scan: %d at %d", all[i], i);
    }
    OK(MPI_Reduce_scatter_block(own, all, 1, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < ints; i++) CHECK(all[i] == size * ((rank * ints + i) % 777) + 1009 * (size * (size - 1) / 2), "%d", i);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    free(own), free(all);
}

int main(int argc, char **argv) {
    int provided;
    unsigned long long counts[5];
    begin(&argc, &argv);
    CHECK(argc == 3, "%d arguments", argc - 1);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    wanted = counter(session, "algorithms_wanted");
    OK(MPI_T_pvar_start(session, wanted));
    every_kind(BLOCKING);
    counts[0] = taken();
    every_kind(IMMEDIATE);
    counts[1] = taken();
    long_messages();
    counts[2] = taken();
    elements_of(atoi(argv[1]));
    counts[3] = taken();
    elements_of(atoi(argv[2]));
    counts[4] = taken();
    if (rank == 0)
        printf("blocking %llu, non-blocking %llu, long %llu, shorter %llu, longer %llu\n", counts[0], counts[1], counts[2],
               counts[3], counts[4]);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
