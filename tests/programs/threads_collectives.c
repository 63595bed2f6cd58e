// ranks: 1 2 4
/* Eight threads call collectives at the same time, each on a communicator of its own: blocking, non-blocking and
 * persistent, with operations of the user's which call MPI again. */
#include "threads.h"

enum { ROUNDS = 8, COUNT = 300 };

static MPI_Comm own[THREADS];
static MPI_Op add;

static void add_up(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    int bytes, me;
    OK(MPI_Type_size(*datatype, &bytes));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    CHECK(bytes == sizeof(int) && me == rank, "%d bytes", bytes);
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void *work(void *argument) {
    int thread = (int)(size_t)argument, sum_of_ranks = size * (size - 1) / 2;
    MPI_Comm comm = own[thread];
    static int places[THREADS][4][COUNT];
    int *a = places[thread][0], *b = places[thread][1], *c = places[thread][2], *all = calloc((size_t)(COUNT * size), sizeof(int));
    MPI_Request requests[4], steady;
    OK(MPI_Allreduce_init(a, b, COUNT, MPI_INT, add, comm, MPI_INFO_NULL, &steady));
    for (int round = 0; round < ROUNDS; round++) {
        int root = (thread + round) % size, base = thread * 1000 + round;
        for (int i = 0; i < COUNT; i++) {
            a[i] = base + rank + i;
            c[i] = rank == root ? base * i : -1;
        }
        OK(MPI_Barrier(comm));
        OK(MPI_Iallreduce(a, b, COUNT, MPI_INT, round % 2 ? add : MPI_SUM, comm, &requests[0]));
        OK(MPI_Ibcast(c, COUNT, MPI_INT, root, comm, &requests[1]));
        OK(MPI_Iallgather(a, COUNT, MPI_INT, all, COUNT, MPI_INT, comm, &requests[2]));
        OK(MPI_Ibarrier(comm, &requests[3]));
        if (round % 3 == 0) {
            OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        } else {
            for (int i = 0; i < 4; i++) {
                int index;
                OK(MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE));
            }
        }
        for (int i = 0; i < COUNT; i++) {
            CHECK(b[i] == size * (base + i) + sum_of_ranks, "thread %d round %d: b[%d]=%d", thread, round, i, b[i]);
            CHECK(c[i] == base * i, "thread %d round %d: c[%d]=%d", thread, round, i, c[i]);
            for (int from = 0; from < size; from++)
                CHECK(all[from * COUNT + i] == base + from + i, "thread %d round %d from %d", thread, round, from);
        }
        memset(b, 0, sizeof places[0][0]);
        OK(MPI_Start(&steady));
        OK(MPI_Wait(&steady, MPI_STATUS_IGNORE));
        CHECK(b[7] == size * (base + 7) + sum_of_ranks, "thread %d round %d: %d", thread, round, b[7]);
        OK(MPI_Reduce(a, b, COUNT, MPI_INT, add, root, comm));
        if (rank == root) CHECK(b[9] == size * (base + 9) + sum_of_ranks, "thread %d round %d: %d", thread, round, b[9]);
        OK(MPI_Scan(a, b, 1, MPI_INT, MPI_MAX, comm));
        CHECK(b[0] == base + rank, "%d", b[0]);
        OK(MPI_Bcast(c, COUNT, MPI_INT, root, comm));
    }
    OK(MPI_Request_free(&steady));
    free(all);
    return NULL;
}

int main(int argc, char **argv) {
    begin_threads(&argc, &argv);
    OK(MPI_Op_create(add_up, 1, &add));
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
    run_threads(THREADS, work);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&own[i]));
    OK(MPI_Op_free(&add));
    end();
    return 0;
}
