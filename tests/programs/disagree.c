/* Ranks that call different collectives, or the same with arguments that do not match: disagree CASE, with
   ISTHMUS_CHECK=1. Every call must fail on every rank, and the communicator must be of use afterwards; `fatal` as a second
   argument leaves the error handler as it is. */
#include "check.h"

static MPI_Comm comm = MPI_COMM_WORLD;
static int data[64], more[64], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, places[8] = {0, 1, 2, 3, 4, 5, 6, 7};

#define DIFFER(call) FAILS(MPI_ERR_NOT_SAME, call)
/* A non-blocking call says so when it is waited for. */
#define DIFFER_LATER(call)                                              \
    do {                                                                \
        MPI_Request request;                                            \
        OK(call);                                                       \
        FAILS(MPI_ERR_NOT_SAME, MPI_Wait(&request, MPI_STATUS_IGNORE)); \
    } while (0)

static MPI_Comm between(void) {
    MPI_Comm half, inter;
    OK(MPI_Comm_split(comm, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    return inter;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 1 && size == 4, "%d", argc);
    const char *what = argv[1];
    int last = rank == 3, other = rank % 2;
    MPI_Request request;
    MPI_Comm made;
    if (argc == 2) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#define CASE(name) else if (strcmp(what, name) == 0)
    if (0) {}
    CASE("names") {
        if (last) DIFFER(MPI_Barrier(comm));
        else DIFFER(MPI_Bcast(data, 1, MPI_INT, 0, comm));
    }
    CASE("order") {
        if (other) DIFFER(MPI_Reduce(data, more, 1, MPI_INT, MPI_SUM, 0, comm));
        else DIFFER(MPI_Gather(data, 1, MPI_INT, more, 1, MPI_INT, 0, comm));
    }
    CASE("forms") {
        if (last) DIFFER_LATER(MPI_Ibarrier(comm, &request));
        else DIFFER(MPI_Barrier(comm));
    }
    CASE("root") DIFFER(MPI_Bcast(data, 1, MPI_INT, last, comm));
    CASE("later root") DIFFER_LATER(MPI_Ireduce(data, more, 1, MPI_INT, MPI_SUM, last, comm, &request));
    CASE("persistent root") DIFFER(MPI_Bcast_init(data, 1, MPI_INT, last, comm, MPI_INFO_NULL, &request));
    CASE("op") DIFFER(MPI_Allreduce(data, more, 2, MPI_INT, other ? MPI_MAX : MPI_MIN, comm));
    CASE("count") DIFFER(MPI_Bcast(data, last ? 5 : 4, MPI_INT, 0, comm));
    CASE("type") DIFFER(MPI_Scan(data, more, 4, last ? MPI_FLOAT : MPI_INT, MPI_SUM, comm));
    CASE("gather") DIFFER(MPI_Gather(data, rank == 2 ? 3 : 1, MPI_INT, more, 1, MPI_INT, 1, comm));
    CASE("scatter") DIFFER(MPI_Scatter(data, 8, MPI_BYTE, more, 2, MPI_INT, 0, comm));
    CASE("allgather") DIFFER(MPI_Allgather(data, 1 + last, MPI_INT, more, 1 + last, MPI_INT, comm));
    CASE("alltoall") {
        if (rank == 1) ones[2] = 2;
        DIFFER(MPI_Alltoallv(data, ones, places, MPI_INT, more, (int[]){1, 1, 1, 1}, places, MPI_INT, comm));
    }
    CASE("later alltoall") {
        if (rank == 1) ones[2] = 2;
        DIFFER_LATER(MPI_Ialltoallv(data, ones, places, MPI_INT, more, (int[]){1, 1, 1, 1}, places, MPI_INT, comm, &request));
    }
    CASE("shares") {
        /* As many in all. */
        int counts[4] = {last, 1, 1, 1 - last};
        DIFFER(MPI_Reduce_scatter(data, more, counts, MPI_INT, MPI_SUM, comm));
    }
    CASE("arguments") {
        if (last) FAILS(MPI_ERR_COUNT, MPI_Bcast(data, -1, MPI_INT, 0, comm));
        else DIFFER(MPI_Bcast(data, 1, MPI_INT, 0, comm));
    }
    CASE("later arguments") {
        if (last) FAILS(MPI_ERR_ROOT, MPI_Ibcast(data, 1, MPI_INT, 4, comm, &request));
        else DIFFER_LATER(MPI_Ibcast(data, 1, MPI_INT, 0, comm, &request));
    }
    CASE("refused") {
        /* A count that none of the procedures gets to see; the next call finds everyone in step. */
        if (last) FAILS(MPI_ERR_COUNT, MPI_Allreduce(data, more, -1, MPI_INT, MPI_SUM, comm));
        else DIFFER(MPI_Allreduce(data, more, 1, MPI_INT, MPI_SUM, comm));
        if (last) FAILS(MPI_ERR_OP, MPI_Iscan(data, more, 1, MPI_INT, MPI_OP_NULL, comm, &request));
        else DIFFER_LATER(MPI_Iscan(data, more, 1, MPI_INT, MPI_SUM, comm, &request));
        if (last) FAILS(MPI_ERR_ARG, MPI_Bcast_init(data, 1, MPI_INT, 0, comm, MPI_INFO_NULL, NULL));
        else DIFFER(MPI_Bcast_init(data, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
        if (last) FAILS(MPI_ERR_INFO, MPI_Barrier_init(comm, (MPI_Info)MPI_COMM_WORLD, &request));
        else DIFFER(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
        if (last) FAILS(MPI_ERR_ARG, MPI_Comm_split(comm, 0, 0, NULL));
        else DIFFER(MPI_Comm_split(comm, 0, 0, &made));
        if (last) FAILS(MPI_ERR_ARG, MPI_Comm_idup(comm, &made, NULL));
        else {
            OK(MPI_Comm_idup(comm, &made, &request));
            DIFFER(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    }
    CASE("neighbors") {
        OK(MPI_Cart_create(comm, 1, &size, (int[]){1}, 0, &made));
        OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        OK(MPI_Comm_set_name(made, "ring"));
        DIFFER(MPI_Neighbor_allgather(data, 1 + last, MPI_INT, more, 1, MPI_INT, made));
        OK(MPI_Comm_free(&made));
    }
    CASE("communicators") {
        if (last) DIFFER(MPI_Comm_dup(comm, &made));
        else DIFFER(MPI_Comm_split(comm, 0, 0, &made));
    }
    CASE("later communicators") {
        if (last) {
            OK(MPI_Comm_idup(comm, &made, &request));
            DIFFER(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            DIFFER(MPI_Barrier(comm));
        }
    }
    CASE("roots") {
        made = between();
        /* Both groups believe to have it. */
        DIFFER(MPI_Bcast(data, 1, MPI_INT, rank < 2 ? MPI_ROOT : MPI_PROC_NULL, made));
        DIFFER(MPI_Gather(data, 1, MPI_INT, more, 1, MPI_INT, MPI_PROC_NULL, made));
        DIFFER(MPI_Reduce(data, more, 1 + last, MPI_INT, MPI_SUM, other ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, made));
        OK(MPI_Barrier(made));
        OK(MPI_Comm_free(&made));
    }
    CASE("freed") {
        OK(MPI_Comm_dup(comm, &made));
        OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        if (last) OK(MPI_Comm_free(&made));
        else {
            DIFFER(MPI_Allgather(data, 1, MPI_INT, more, 1, MPI_INT, made));
            OK(MPI_Comm_free(&made));
        }
    }
    CASE("finalized") {
        OK(MPI_Comm_dup(comm, &made));
        OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        if (!last) DIFFER(MPI_Barrier(made));
        end();
        return 0;
    }
    CASE("packed") {
        /* Right: packed data goes with anything. */
        int length = 0;
        OK(MPI_Pack((int[]){rank, rank}, 2, MPI_INT, data, sizeof data, &length, comm));
        OK(MPI_Allgather(data, length, MPI_PACKED, more, 2, MPI_INT, comm));
        CHECK(more[7] == 3, "%d", more[7]);
    }
    else CHECK(0, "no case %s", what);
    /* All are in step again. */
    OK(MPI_Allreduce(MPI_IN_PLACE, data, 3, MPI_INT, MPI_SUM, comm));
    OK(MPI_Barrier(comm));
    end();
    return 0;
}
