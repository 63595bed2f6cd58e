// ranks: 1 2 3 5 8
// more ranks: 4 16
/* Every blocking collective against what a loop says, over roots, counts, in place and not. */
#include "check.h"

static const int counts[] = {0, 1, 2, 5, 100, 3000, 50000};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 50000 };

/* Element i that rank `from` has for rank `to`. */
static int element(int from, int to, int i) { return from * 1000003 + to * 1009 + i * 7 + 1; }

static int *mine, *theirs;

static void clear(int *values, int count) {
    for (int i = 0; i < count; i++) values[i] = -1;
}

static void set(int *values, int count, int from, int to) {
    for (int i = 0; i < count; i++) values[i] = element(from, to, i);
}

static void compare(const int *values, int count, int from, int to) {
    for (int i = 0; i < count; i++)
        CHECK(values[i] == element(from, to, i), "element %d of %d from %d: %d instead of %d", i, count, from, values[i],
              element(from, to, i));
}

static int sum(int i) {
    int total = 0;
    for (int other = 0; other < size; other++) total += element(other, 0, i) % 1000;
    return total;
}

static void with(int count, int root, MPI_Comm comm) {
    int all = count * size;
    clear(mine, all);
    if (rank == root) set(mine, count, root, 0);
    OK(MPI_Bcast(mine, count, MPI_INT, root, comm));
    compare(mine, count, root, 0);

    set(mine, count, rank, root);
    clear(theirs, all);
    OK(MPI_Gather(mine, count, MPI_INT, theirs, count, MPI_INT, root, comm));
    for (int other = 0; rank == root && other < size; other++) compare(theirs + other * count, count, other, root);
    clear(theirs, all);
    set(theirs + rank * count, count, rank, root);
    OK(MPI_Gather(rank == root ? MPI_IN_PLACE : theirs + rank * count, count, MPI_INT, theirs, count, MPI_INT, root, comm));
    for (int other = 0; rank == root && other < size; other++) compare(theirs + other * count, count, other, root);

    for (int other = 0; other < size; other++) set(theirs + other * count, count, root, other);
    clear(mine, count);
    OK(MPI_Scatter(theirs, count, MPI_INT, mine, count, MPI_INT, root, comm));
    compare(mine, count, root, rank);
    clear(mine, count);
    OK(MPI_Scatter(theirs, count, MPI_INT, rank == root ? MPI_IN_PLACE : mine, count, MPI_INT, root, comm));
    if (rank != root) compare(mine, count, root, rank);

    set(mine, count, rank, 0);
    clear(theirs, all);
    OK(MPI_Allgather(mine, count, MPI_INT, theirs, count, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(theirs + other * count, count, other, 0);
    clear(theirs, all);
    set(theirs + rank * count, count, rank, 0);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, count, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(theirs + other * count, count, other, 0);

    for (int other = 0; other < size; other++) set(mine + other * count, count, rank, other);
    clear(theirs, all);
    OK(MPI_Alltoall(mine, count, MPI_INT, theirs, count, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(theirs + other * count, count, other, rank);
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, count, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(mine + other * count, count, other, rank);

    for (int i = 0; i < count; i++) mine[i] = element(rank, 0, i) % 1000;
    clear(theirs, count);
    OK(MPI_Reduce(mine, theirs, count, MPI_INT, MPI_SUM, root, comm));
    for (int i = 0; rank == root && i < count; i++) CHECK(theirs[i] == sum(i), "Reduce: %d: %d", i, theirs[i]);
    clear(theirs, count);
    OK(MPI_Allreduce(mine, theirs, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) CHECK(theirs[i] == sum(i), "Allreduce: %d: %d", i, theirs[i]);
    memcpy(theirs, mine, count * sizeof *mine);
    OK(MPI_Allreduce(MPI_IN_PLACE, theirs, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) CHECK(theirs[i] == sum(i), "Allreduce in place: %d: %d", i, theirs[i]);
    memcpy(theirs, mine, count * sizeof *mine);
    OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : theirs, theirs, count, MPI_INT, MPI_SUM, root, comm));
    for (int i = 0; rank == root && i < count; i++) CHECK(theirs[i] == sum(i), "Reduce in place: %d: %d", i, theirs[i]);

    for (int i = 0; i < all; i++) mine[i] = element(rank, 0, i) % 1000;
    clear(theirs, count);
    OK(MPI_Reduce_scatter_block(mine, theirs, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) CHECK(theirs[i] == sum(rank * count + i), "Reduce_scatter_block: %d: %d", i, theirs[i]);
}

/* Rank r gives r + 1 pieces of `unit`; they lie apart and in reverse order. */
static void vectors(int unit, int root, MPI_Comm comm) {
    int *lengths = malloc(size * sizeof *lengths), *places = malloc(size * sizeof *places), end = 0;
    for (int other = size - 1; other >= 0; other--) {
        lengths[other] = (other + 1) * unit;
        places[other] = end;
        end += lengths[other] + 3;
    }
    set(mine, lengths[rank], rank, root);
    clear(theirs, end);
    OK(MPI_Gatherv(mine, lengths[rank], MPI_INT, theirs, lengths, places, MPI_INT, root, comm));
    for (int other = 0; rank == root && other < size; other++) {
        compare(theirs + places[other], lengths[other], other, root);
        CHECK(theirs[places[other] + lengths[other]] == -1, "the gap behind rank %d was written", other);
    }
    clear(mine, lengths[rank]);
    for (int other = 0; other < size; other++) set(theirs + places[other], lengths[other], root, other);
    OK(MPI_Scatterv(theirs, lengths, places, MPI_INT, mine, lengths[rank], MPI_INT, root, comm));
    compare(mine, lengths[rank], root, rank);

    set(mine, lengths[rank], rank, 0);
    clear(theirs, end);
    OK(MPI_Allgatherv(mine, lengths[rank], MPI_INT, theirs, lengths, places, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(theirs + places[other], lengths[other], other, 0);

    int *to = malloc(size * sizeof *to), *at = malloc(size * sizeof *at), *from = malloc(size * sizeof *from);
    int *into = malloc(size * sizeof *into), out = 0, in = 0;
    for (int other = 0; other < size; other++) {
        to[other] = (rank + 2 * other) % 3 * unit;
        at[other] = out;
        out += to[other];
        from[other] = (other + 2 * rank) % 3 * unit;
        into[other] = in;
        in += from[other];
        set(mine + at[other], to[other], rank, other);
    }
    clear(theirs, in);
    OK(MPI_Alltoallv(mine, to, at, MPI_INT, theirs, from, into, MPI_INT, comm));
    for (int other = 0; other < size; other++) compare(theirs + into[other], from[other], other, rank);

    int begin_at = 0;
    for (int other = 0; other < rank; other++) begin_at += lengths[other];
    for (int i = 0; i < size * (size + 1) / 2 * unit; i++) mine[i] = element(rank, 0, i) % 1000;
    OK(MPI_Reduce_scatter(mine, theirs, lengths, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < lengths[rank]; i++) CHECK(theirs[i] == sum(begin_at + i), "Reduce_scatter: %d: %d", i, theirs[i]);
    free(lengths), free(places), free(to), free(at), free(from), free(into);
}

/* Nobody leaves a barrier before the last has come. */
static void barrier(MPI_Comm comm) {
    for (int late = 0; late < size; late++) {
        int came = 0;
        if (rank == late) {
            double until = MPI_Wtime() + 0.02;
            while (MPI_Wtime() < until) {}
            for (int other = 0; other < size; other++)
                if (other != rank) OK(MPI_Send(&late, 1, MPI_INT, other, 77, comm));
        }
        OK(MPI_Barrier(comm));
        if (rank != late) {
            OK(MPI_Iprobe(late, 77, comm, &came, MPI_STATUS_IGNORE));
            for (int turn = 0; !came && turn < 100; turn++) OK(MPI_Iprobe(late, 77, comm, &came, MPI_STATUS_IGNORE));
            CHECK(came, "left the barrier before rank %d came", late);
            OK(MPI_Recv(&came, 1, MPI_INT, late, 77, comm, MPI_STATUS_IGNORE));
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    mine = malloc(sizeof(int) * (MOST + 100) * (size + 1) * (size + 1));
    theirs = malloc(sizeof(int) * (MOST + 100) * (size + 1) * (size + 1));
    MPI_Comm dup;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    for (int i = 0; i < COUNTS; i++)
        for (int root = 0; root < size; root += 1 + (counts[i] > 1000)) with(counts[i], root, i % 2 ? dup : MPI_COMM_WORLD);
    for (int root = 0; root < size; root++) {
        vectors(1, root, MPI_COMM_WORLD);
        vectors(700, root, dup);
    }
    barrier(MPI_COMM_WORLD);
    OK(MPI_Comm_free(&dup));
    free(mine);
    free(theirs);
    end();
    return 0;
}
