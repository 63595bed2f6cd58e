// ranks: 1 2 3
/* The null datatype is a type where nothing is moved: of no elements, and to and from MPI_PROC_NULL, in every call. Where something is
 * moved it is none. */
#include "check.h"

#define NONE MPI_DATATYPE_NULL
#define DONE(call)                                  \
    do {                                            \
        OK(call);                                   \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));  \
    } while (0)
#define STARTED(call)                               \
    do {                                            \
        OK(call);                                   \
        OK(MPI_Start(&request));                    \
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));  \
        OK(MPI_Request_free(&request));             \
    } while (0)

static MPI_Request request;
static int zeros[8], buf[64], to[64];
static MPI_Aint aints[8];
static MPI_Datatype nones[8];

static void messages(void) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, nowhere = MPI_PROC_NULL, position = 0, bytes;
    OK(MPI_Sendrecv(buf, 0, NONE, next, 0, to, 0, NONE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(buf, 4, NONE, nowhere, 0, to, 4, NONE, nowhere, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv_replace(buf, 0, NONE, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv_replace(buf, 4, NONE, nowhere, 0, nowhere, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DONE(MPI_Isendrecv_replace(buf, 4, NONE, nowhere, 0, nowhere, 0, MPI_COMM_WORLD, &request));
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    OK(MPI_Mrecv(buf, 4, NONE, &message, MPI_STATUS_IGNORE));
    message = MPI_MESSAGE_NO_PROC;
    DONE(MPI_Imrecv(buf, 4, NONE, &message, &request));
    FAILS(MPI_ERR_TYPE, MPI_Sendrecv_replace(buf, 1, NONE, rank, 0, nowhere, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TYPE, MPI_Sendrecv_replace(buf, 1, NONE, nowhere, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Send(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD));
    OK(MPI_Ssend(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DONE(MPI_Isend(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD, &request));
    DONE(MPI_Irecv(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD, &request));
    STARTED(MPI_Send_init(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD, &request));
    STARTED(MPI_Recv_init(buf, 4, NONE, nowhere, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Pack(buf, 0, NONE, to, sizeof to, &position, MPI_COMM_WORLD));
    OK(MPI_Unpack(to, sizeof to, &position, buf, 0, NONE, MPI_COMM_WORLD));
    OK(MPI_Pack_size(0, NONE, MPI_COMM_WORLD, &bytes));
    CHECK(position == 0 && bytes == 0, "%d %d", position, bytes);
    FAILS(MPI_ERR_TYPE, MPI_Send(buf, 1, NONE, rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Pack(buf, 1, NONE, to, sizeof to, &position, MPI_COMM_WORLD));
}

static void collectives(MPI_Comm comm) {
    OK(MPI_Bcast(buf, 0, NONE, 0, comm));
    OK(MPI_Gather(buf, 0, NONE, to, 0, NONE, 0, comm));
    OK(MPI_Gatherv(buf, 0, NONE, to, zeros, zeros, NONE, 0, comm));
    OK(MPI_Scatter(buf, 0, NONE, to, 0, NONE, 0, comm));
    OK(MPI_Scatterv(buf, zeros, zeros, NONE, to, 0, NONE, 0, comm));
    OK(MPI_Allgather(buf, 0, NONE, to, 0, NONE, comm));
    OK(MPI_Allgatherv(buf, 0, NONE, to, zeros, zeros, NONE, comm));
    OK(MPI_Alltoall(buf, 0, NONE, to, 0, NONE, comm));
    OK(MPI_Alltoallv(buf, zeros, zeros, NONE, to, zeros, zeros, NONE, comm));
    OK(MPI_Alltoallw(buf, zeros, zeros, nones, to, zeros, zeros, nones, comm));
    DONE(MPI_Ialltoallv(buf, zeros, zeros, NONE, to, zeros, zeros, NONE, comm, &request));
    DONE(MPI_Ialltoallw(buf, zeros, zeros, nones, to, zeros, zeros, nones, comm, &request));
    STARTED(MPI_Alltoallw_init(buf, zeros, zeros, nones, to, zeros, zeros, nones, comm, MPI_INFO_NULL, &request));
    STARTED(MPI_Gatherv_init(buf, 0, NONE, to, zeros, zeros, NONE, 0, comm, MPI_INFO_NULL, &request));
    MPI_Op ops[] = {MPI_SUM, MPI_LAND, MPI_BXOR, MPI_MAXLOC};
    for (int i = 0; i < 4; i++) {
        OK(MPI_Reduce(buf, to, 0, NONE, ops[i], 0, comm));
        OK(MPI_Allreduce(buf, to, 0, NONE, ops[i], comm));
        DONE(MPI_Iallreduce(buf, to, 0, NONE, ops[i], comm, &request));
        OK(MPI_Reduce_scatter(buf, to, zeros, NONE, ops[i], comm));
        OK(MPI_Reduce_scatter_block(buf, to, 0, NONE, ops[i], comm));
        OK(MPI_Scan(buf, to, 0, NONE, ops[i], comm));
        OK(MPI_Exscan(buf, to, 0, NONE, ops[i], comm));
        OK(MPI_Reduce_local(buf, to, 0, NONE, ops[i]));
    }
    FAILS(MPI_ERR_TYPE, MPI_Allreduce(buf, to, 1, NONE, MPI_SUM, comm));
    /* Only some blocks are empty. */
    int counts[8], places[8];
    MPI_Datatype types[8];
    for (int i = 0; i < size; i++) {
        counts[i] = i == rank;
        places[i] = i * (int)sizeof(int);
        types[i] = i == rank ? MPI_INT : NONE;
    }
    buf[rank] = 100 + rank;
    to[rank] = -1;
    OK(MPI_Alltoallw(buf, counts, places, types, to, counts, places, types, comm));
    CHECK(to[rank] == 100 + rank, "%d", to[rank]);
    types[rank] = NONE;
    FAILS(MPI_ERR_TYPE, MPI_Alltoallw(buf, counts, places, types, to, counts, places, types, comm));
}

static void neighbors(void) {
    MPI_Comm ring;
    int periods = 1;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &ring));
    OK(MPI_Neighbor_allgather(buf, 0, NONE, to, 0, NONE, ring));
    OK(MPI_Neighbor_allgatherv(buf, 0, NONE, to, zeros, zeros, NONE, ring));
    OK(MPI_Neighbor_alltoall(buf, 0, NONE, to, 0, NONE, ring));
    OK(MPI_Neighbor_alltoallv(buf, zeros, zeros, NONE, to, zeros, zeros, NONE, ring));
    OK(MPI_Neighbor_alltoallw(buf, zeros, aints, nones, to, zeros, aints, nones, ring));
    DONE(MPI_Ineighbor_alltoallw(buf, zeros, aints, nones, to, zeros, aints, nones, ring, &request));
    OK(MPI_Comm_free(&ring));
    /* Beyond the ends of a line of ranks there is no process. */
    MPI_Comm line;
    int periodic = 0, counts[2] = {1, 1}, sent[2] = {rank, rank}, got[2] = {-1, -1};
    MPI_Aint places[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {rank > 0 ? MPI_INT : NONE, rank < size - 1 ? MPI_INT : NONE};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line));
    OK(MPI_Neighbor_alltoallw(sent, counts, places, types, got, counts, places, types, line));
    CHECK(got[0] == rank - 1 && got[1] == (rank < size - 1 ? rank + 1 : -1), "%d %d", got[0], got[1]);
    if (size == 1) {
        OK(MPI_Neighbor_alltoall(buf, 1, NONE, to, 1, NONE, line));
        OK(MPI_Neighbor_allgatherv(buf, 1, NONE, to, counts, zeros, NONE, line));
        DONE(MPI_Ineighbor_alltoallv(buf, counts, zeros, NONE, to, counts, zeros, NONE, line, &request));
    }
    OK(MPI_Comm_free(&line));
}

static void windows(void) {
    MPI_Win win;
    int nowhere = MPI_PROC_NULL;
    OK(MPI_Win_create(to, sizeof to, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(buf, 0, NONE, 0, 0, 0, NONE, win));
    OK(MPI_Get(buf, 0, NONE, 0, 0, 0, NONE, win));
    OK(MPI_Accumulate(buf, 0, NONE, 0, 0, 0, NONE, MPI_SUM, win));
    OK(MPI_Get_accumulate(buf, 0, NONE, buf + 8, 0, NONE, 0, 0, 0, NONE, MPI_SUM, win));
    OK(MPI_Put(buf, 4, NONE, nowhere, 0, 4, NONE, win));
    OK(MPI_Put(buf, 4, MPI_INT, nowhere, 0, 4, NONE, win));
    OK(MPI_Get(buf, 4, NONE, nowhere, 0, 4, NONE, win));
    OK(MPI_Accumulate(buf, 4, NONE, nowhere, 0, 4, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(buf, 4, NONE, buf + 8, 4, MPI_INT, nowhere, 0, 4, NONE, MPI_SUM, win));
    OK(MPI_Fetch_and_op(buf, buf + 8, NONE, nowhere, 0, MPI_SUM, win));
    OK(MPI_Compare_and_swap(buf, buf + 8, buf + 16, NONE, nowhere, 0, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(buf, 1, NONE, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(buf, 1, MPI_INT, 0, 0, 1, NONE, win));
    FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(buf, buf + 8, NONE, 0, 0, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock_all(0, win));
    DONE(MPI_Rput(buf, 0, NONE, 0, 0, 0, NONE, win, &request));
    DONE(MPI_Rget_accumulate(buf, 4, NONE, buf + 8, 4, NONE, nowhere, 0, 4, NONE, MPI_SUM, win, &request));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

static void partitions(void) {
    STARTED(MPI_Precv_init(buf, 2, 4, NONE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Psend_init(buf, 2, 4, NONE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    OK(MPI_Pready_range(0, 1, request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 8; i++) nones[i] = NONE;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    messages();
    collectives(MPI_COMM_WORLD);
    neighbors();
    windows();
    partitions();
    end();
    return 0;
}
