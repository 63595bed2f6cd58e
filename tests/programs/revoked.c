// ranks: 1 2
/* Calls on a revoked communicator fail with MPIX_ERR_REVOKED, also where they move nothing: to and from MPI_PROC_NULL, of no
 * elements, among no members but oneself. */
#include "check.h"

static int wrong;

#define REVOKED(call) refused((call), #call, __LINE__)
static void refused(int code, const char *call, int line) {
    int class = 0;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
    if (class == MPIX_ERR_REVOKED) return;
    printf("line %d: class %d of %s\n", line, class, call);
    wrong++;
}

/* A request may also fail in the call that completes it. */
#define REVOKED_LATER(call)                                                                                                    \
    do {                                                                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                                                                \
        int code = (call);                                                                                                     \
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        refused(code, #call, __LINE__);                                                                                        \
    } while (0)

#define REVOKED_STARTED(call)                                                                                                  \
    do {                                                                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                                                                \
        int code = (call);                                                                                                     \
        if (code == MPI_SUCCESS) code = MPI_Start(&request);                                                                   \
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        refused(code, #call, __LINE__);                                                                                        \
        if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));                                                       \
    } while (0)

static int a[8], b[8], none[8];

static void nobody(MPI_Comm comm) {
    int flag;
    MPI_Message message;
    MPI_Datatype pairs;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    MPI_Datatype types[] = {MPI_INT, pairs};
    for (int which = 0; which < 2; which++) {
        MPI_Datatype type = types[which];
        REVOKED(MPI_Send(a, 1, type, MPI_PROC_NULL, 0, comm));
        REVOKED(MPI_Ssend(a, 1, type, MPI_PROC_NULL, 0, comm));
        REVOKED(MPI_Rsend(a, 1, type, MPI_PROC_NULL, 0, comm));
        REVOKED(MPI_Bsend(a, 1, type, MPI_PROC_NULL, 0, comm));
        REVOKED(MPI_Recv(a, 1, type, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
        REVOKED(MPI_Sendrecv(a, 1, type, MPI_PROC_NULL, 0, b, 1, type, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
        REVOKED(MPI_Sendrecv_replace(a, 1, type, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
        REVOKED_LATER(MPI_Isend(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Issend(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Irsend(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Ibsend(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Irecv(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Isendrecv(a, 1, type, MPI_PROC_NULL, 0, b, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_LATER(MPI_Isendrecv_replace(a, 1, type, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Send_init(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Ssend_init(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Rsend_init(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Bsend_init(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Recv_init(a, 1, type, MPI_PROC_NULL, 0, comm, &request));
        REVOKED_STARTED(MPI_Psend_init(a, 1, 1, type, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &request));
        REVOKED_STARTED(MPI_Precv_init(a, 1, 1, type, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &request));
    }
    OK(MPI_Type_free(&pairs));
    REVOKED(MPI_Probe(MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
    REVOKED(MPI_Iprobe(MPI_PROC_NULL, 0, comm, &flag, MPI_STATUS_IGNORE));
    REVOKED(MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, MPI_STATUS_IGNORE));
    REVOKED(MPI_Improbe(MPI_PROC_NULL, 0, comm, &flag, &message, MPI_STATUS_IGNORE));
    message = MPI_MESSAGE_NO_PROC;
    OK(MPI_Mrecv(a, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

/* The last member has not announced its partitions. */
static void partitions(MPI_Comm comm, int peer) {
    REVOKED_STARTED(MPI_Precv_init(a, 1, 1, MPI_INT, peer, 0, comm, MPI_INFO_NULL, &request));
}

static void collectives(MPI_Comm comm) {
    MPI_Comm new;
    MPI_Win window;
    MPI_File file;
    void *memory;
    int one = 1;
    MPI_Group group;
    OK(MPI_Comm_group(comm, &group));
    REVOKED(MPI_Barrier(comm));
    REVOKED(MPI_Bcast(a, 0, MPI_INT, 0, comm));
    REVOKED(MPI_Bcast(a, 1, MPI_INT, 0, comm));
    REVOKED(MPI_Gather(a, 0, MPI_INT, b, 0, MPI_INT, 0, comm));
    REVOKED(MPI_Gatherv(a, 0, MPI_INT, b, none, none, MPI_INT, 0, comm));
    REVOKED(MPI_Scatter(a, 0, MPI_INT, b, 0, MPI_INT, 0, comm));
    REVOKED(MPI_Scatterv(a, none, none, MPI_INT, b, 0, MPI_INT, 0, comm));
    REVOKED(MPI_Allgather(a, 0, MPI_INT, b, 0, MPI_INT, comm));
    REVOKED(MPI_Allgatherv(a, 0, MPI_INT, b, none, none, MPI_INT, comm));
    REVOKED(MPI_Alltoall(a, 0, MPI_INT, b, 0, MPI_INT, comm));
    REVOKED(MPI_Alltoallv(a, none, none, MPI_INT, b, none, none, MPI_INT, comm));
    REVOKED(MPI_Reduce(a, b, 0, MPI_INT, MPI_SUM, 0, comm));
    REVOKED(MPI_Allreduce(a, b, 0, MPI_INT, MPI_SUM, comm));
    REVOKED(MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, comm));
    REVOKED(MPI_Reduce_scatter_block(a, b, 0, MPI_INT, MPI_SUM, comm));
    REVOKED(MPI_Reduce_scatter(a, b, none, MPI_INT, MPI_SUM, comm));
    REVOKED(MPI_Scan(a, b, 0, MPI_INT, MPI_SUM, comm));
    REVOKED(MPI_Exscan(a, b, 0, MPI_INT, MPI_SUM, comm));
    REVOKED_LATER(MPI_Ibarrier(comm, &request));
    REVOKED_LATER(MPI_Ibcast(a, 0, MPI_INT, 0, comm, &request));
    REVOKED_LATER(MPI_Iallreduce(a, b, 0, MPI_INT, MPI_SUM, comm, &request));
    REVOKED_LATER(MPI_Ialltoall(a, 0, MPI_INT, b, 0, MPI_INT, comm, &request));
    REVOKED_STARTED(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    REVOKED_STARTED(MPI_Bcast_init(a, 0, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
    REVOKED(MPI_Comm_dup(comm, &new));
    REVOKED(MPI_Comm_split(comm, 0, 0, &new));
    REVOKED(MPI_Comm_split(comm, MPI_UNDEFINED, 0, &new));
    REVOKED(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &new));
    REVOKED(MPI_Comm_create(comm, group, &new));
    REVOKED(MPI_Comm_create_group(comm, group, 0, &new));
    REVOKED(MPI_Cart_create(comm, 1, &one, none, 0, &new));
    REVOKED(MPI_Dist_graph_create_adjacent(comm, 0, none, MPI_UNWEIGHTED, 0, none, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &new));
    REVOKED_LATER(MPI_Comm_idup(comm, &new, &request));
    REVOKED(MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, comm, &window));
    REVOKED(MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm, &memory, &window));
    REVOKED(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window));
    int code = MPI_File_open(comm, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    REVOKED(code);
    OK(MPI_Group_free(&group));
}

/* A topology without neighbours. */
static void neighbors(MPI_Comm comm) {
    REVOKED(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, comm));
    REVOKED(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, comm));
    REVOKED_LATER(MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, comm, &request));
}

int main(int argc, char **argv) {
    MPI_Comm alone, all, lonely;
    begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &alone));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, MPI_UNWEIGHTED, 0, none, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &lonely));
    OK(MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(lonely, MPI_ERRORS_RETURN));
    OK(MPIX_Comm_revoke(alone));
    OK(MPIX_Comm_revoke(lonely));
    nobody(alone);
    collectives(alone);
    partitions(alone, 0);
    neighbors(lonely);
    /* Of a communicator that another rank has revoked, known by a call that waited for it. */
    if (rank == 0) OK(MPIX_Comm_revoke(all));
    REVOKED(MPI_Recv(a, 1, MPI_INT, size - 1, 0, all, MPI_STATUS_IGNORE));
    nobody(all);
    collectives(all);
    partitions(all, size - 1);
    OK(MPI_Comm_free(&alone));
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_free(&lonely));
    CHECK(wrong == 0, "%d calls", wrong);
    end();
    return 0;
}
