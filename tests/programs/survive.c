/* survive SCENARIO: a rank dies by SIGKILL and the others go on, since their error handlers return. The job's exit code is
 * the dead rank's. Every survivor prints "survived". */
#include "check.h"

#include <signal.h>
#include <unistd.h>

#define LONG (4 << 20)
/* Stays in its ring for a while when it comes before its receive. */
#define LONGER (8 << 10)

static int last, error_class;

static int class_of(int code) {
    int class = 0;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
    return error_class = class;
}

static void die(void) {
    raise(SIGKILL);
    _Exit(1);
}

/* A message around the living of a communicator. */
static void check_ring(MPI_Comm comm) {
    int me, all, token = -1;
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &all));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % all, 5, &token, 1, MPI_INT, (me + all - 1) % all, 5, comm, MPI_STATUS_IGNORE));
    CHECK(token == (me + all - 1) % all, "%d", token);
}

/* All but the last rank wait for each other, by messages. */
static void meet(void) {
    int value = 0;
    for (int other = 1; other < last && rank == 0; other++) OK(MPI_Recv(&value, 1, MPI_INT, other, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int other = 1; other < last && rank == 0; other++) OK(MPI_Send(&value, 1, MPI_INT, other, 71, MPI_COMM_WORLD));
    if (rank > 0) OK(MPI_Send(&value, 1, MPI_INT, 0, 70, MPI_COMM_WORLD));
    if (rank > 0) OK(MPI_Recv(&value, 1, MPI_INT, 0, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Every collective of a kind, data checked. The class of the first error, or MPI_SUCCESS. */
static int try_collectives(MPI_Comm comm) {
    int me, all, value, sum, *many, *back;
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &all));
    many = malloc(sizeof *many * all), back = malloc(sizeof *back * all);
    for (int i = 0; i < all; i++) many[i] = me * 100 + i;
    int class = class_of(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    if (!class) CHECK(sum == all * (all - 1) / 2, "%d", sum);
    if (!class) value = me == all / 2 ? 77 : 0, class = class_of(MPI_Bcast(&value, 1, MPI_INT, all / 2, comm));
    if (!class) CHECK(value == 77, "%d", value);
    if (!class) class = class_of(MPI_Alltoall(many, 1, MPI_INT, back, 1, MPI_INT, comm));
    for (int i = 0; i < all && !class; i++) CHECK(back[i] == i * 100 + me, "%d", back[i]);
    if (!class) class = class_of(MPI_Barrier(comm));
    MPI_Request request;
    if (!class) class = class_of(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_MAX, comm, &request));
    if (!class) class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (!class) CHECK(sum == all - 1, "%d", sum);
    if (!class) class = class_of(MPI_Gather(&me, 1, MPI_INT, back, 1, MPI_INT, 0, comm));
    for (int i = 0; i < all && !class && me == 0; i++) CHECK(back[i] == i, "%d", back[i]);
    free(many), free(back);
    return class;
}

/* Waiting for the dead in every way of point-to-point. */
static void point_to_point(void) {
    int value = 0, flag;
    char *big = malloc(LONG);
    /* Between nodes there is a connection from now on: what is sent by it before a death arrives. */
    if (rank == last) OK(MPI_Ssend(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_Recv(&value, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == last) {
        fill(big, LONGER, 9);
        OK(MPI_Send(big, LONGER, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
        OK(MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        usleep(100000);
        die();
    }
    /* Rank 0 is not inside MPI when that comes. */
    if (rank == 0) usleep(250000);
    MPI_Request requests[3];
    MPI_Status statuses[3];
    OK(MPI_Irecv(&value, 1, MPI_INT, last, 90, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(big, LONG, MPI_BYTE, last, 91, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Irecv(&flag, 1, MPI_INT, rank, 92, MPI_COMM_WORLD, &requests[2]));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&value, 1, MPI_INT, last, 93, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* The third is not complete: nobody has sent it. */
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(3, requests, statuses));
    CHECK(class_of(statuses[0].MPI_ERROR) == MPIX_ERR_PROC_FAILED, "%d", error_class);
    CHECK(class_of(statuses[1].MPI_ERROR) == MPIX_ERR_PROC_FAILED, "%d", error_class);
    CHECK(class_of(statuses[2].MPI_ERROR) == MPI_ERR_PENDING, "%d", error_class);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "still there");
    OK(MPI_Send(&rank, 1, MPI_INT, rank, 92, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    /* New ones fail too. */
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Send(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Ssend(big, LONG, MPI_BYTE, last, 1, MPI_COMM_WORLD));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Probe(last, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Iprobe(last, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[0]));
    if (rank == 0) {
        /* What it sent before it died is there. */
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(value == last, "%d", value);
        OK(MPI_Recv(big, LONGER, MPI_BYTE, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(wrong_byte(big, LONGER, 9) < 0, "byte %ld", wrong_byte(big, LONGER, 9));
    } else {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    MPI_Group failed;
    OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed));
    int count, zero = 0, who = -1;
    MPI_Group world;
    OK(MPI_Group_size(failed, &count));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_translate_ranks(failed, 1, &zero, world, &who));
    CHECK(count == 1 && who == last, "%d failed, the first is %d", count, who);
    free(big);
}

/* A receive from anybody is disturbed, goes on once the failure is acknowledged, and gets its message. */
static void anybody(void) {
    int value = 0, flag = 0;
    if (rank == last) usleep(100000), die();
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Request request;
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request));
    FAILS(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request != MPI_REQUEST_NULL, "it is still active");
    FAILS(MPIX_ERR_PROC_FAILED_PENDING, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    meet();
    MPI_Group acked;
    int count = -1;
    OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &acked));
    OK(MPI_Group_size(acked, &count));
    CHECK(count == 0, "%d", count);
    OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &acked));
    OK(MPI_Group_size(acked, &count));
    CHECK(count == 1, "%d", count);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count));
    CHECK(count == 1, "%d", count);
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    int next = (rank + 1) % last;
    OK(MPI_Send(&rank, 1, MPI_INT, next, 4, MPI_COMM_WORLD));
    MPI_Status status;
    if (!flag) OK(MPI_Wait(&request, &status));
    CHECK(value == (rank + last - 1) % last, "%d", value);
}

/* Collectives end at everybody, wherever the dead was in them; the shrunk communicator works, and shrinks again. */
static void collectives(void) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int alive = size; alive > 1; alive--) {
        int me, all, class = 0;
        OK(MPI_Comm_rank(comm, &me));
        OK(MPI_Comm_size(comm, &all));
        CHECK(all == alive, "%d of %d", all, alive);
        check_ring(comm);
        for (int round = 0; !class; round++) {
            /* Each time somebody else, in the middle, at the end, at the beginning. */
            if (round == 3 + alive && me == (alive * 2 + 1) % all) {
                usleep((unsigned)(rank * 37 % 5) * 1000);
                die();
            }
            class = try_collectives(comm);
        }
        CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
        MPI_Comm smaller;
        OK(MPIX_Comm_shrink(comm, &smaller));
        OK(MPI_Comm_free(&comm));
        comm = smaller;
    }
    OK(MPI_Comm_free(&comm));
}

/* A rank that sees a failure revokes; ranks that wait for survivors get the error. */
static void revoked(void) {
    MPI_Comm comm;
    int value, flag = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank == last) usleep(50000), die();
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(!flag, "not yet");
    MPI_Request request;
    OK(MPI_Irecv(&value, 1, MPI_INT, rank, 8, comm, &request));
    if (rank == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&value, 1, MPI_INT, last, 3, comm, MPI_STATUS_IGNORE));
        OK(MPIX_Comm_revoke(comm));
    } else {
        FAILS(MPIX_ERR_REVOKED, MPI_Recv(&value, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE));
    }
    FAILS(MPIX_ERR_REVOKED, MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_REVOKED, MPI_Send(&value, 1, MPI_INT, rank, 3, comm));
    FAILS(MPIX_ERR_REVOKED, MPI_Barrier(comm));
    MPI_Comm other;
    FAILS(MPIX_ERR_REVOKED, MPI_Comm_dup(comm, &other));
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag, "everybody knows");
    /* Agreement works: not everybody has acknowledged, then all have. */
    flag = 0xff ^ 1 << rank;
    FAILS(MPIX_ERR_PROC_FAILED, MPIX_Comm_agree(comm, &flag));
    CHECK(flag == (0xff ^ ((1 << last) - 1)), "%x", (unsigned)flag);
    OK(MPIX_Comm_failure_ack(comm));
    flag = 1 | 2 << rank;
    OK(MPIX_Comm_agree(comm, &flag));
    CHECK(flag == (last == 1 ? 3 : 1), "%x", (unsigned)flag);
    OK(MPIX_Comm_shrink(comm, &other));
    CHECK(try_collectives(other) == MPI_SUCCESS, "class %d", error_class);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&comm));
    /* Another communicator is as good as before. */
    if (last > 1) OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % last, 6, &value, 1, MPI_INT, (rank + last - 1) % last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* More communicators than packets fit into the socket of a rank are revoked while the others compute: each is known. */
static void many_revoked(void) {
    enum { MANY = 400 };
    MPI_Comm comms[MANY];
    int value;
    for (int i = 0; i < MANY; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == last) usleep(50000), die();
    for (int i = 0; i < MANY && rank == 0; i++) OK(MPIX_Comm_revoke(comms[i]));
    if (rank > 0) sleep(1);
    for (int i = 0; i < MANY; i++) FAILS(MPIX_ERR_REVOKED, MPI_Recv(&value, 1, MPI_INT, rank == 0 ? 1 : 0, 3, comms[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < MANY; i++) OK(MPI_Comm_free(&comms[i]));
    /* Nobody leaves before. */
    meet();
}

/* A whole node is lost at any time; its ranks are reported dead one after the other. */
static void lost_node(void) {
    MPI_Comm comm = MPI_COMM_WORLD, smaller;
    int class = 0;
    while (!class) class = try_collectives(comm);
    while (class) {
        CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
        OK(MPIX_Comm_shrink(comm, &smaller));
        comm = smaller;
        class = try_collectives(comm);
    }
}

/* The same while long messages come from the node, without a word that it has gone: between nodes they may be read out of their sender's memory. */
static void lost_messages(void) {
    static char buffer[LONG];
    while (rank == last) OK(MPI_Send(buffer, LONG, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
    int class = 0;
    while (rank == 0 && !class) class = class_of(MPI_Recv(buffer, LONG, MPI_BYTE, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(rank != 0 || class == MPIX_ERR_PROC_FAILED, "class %d", class);
}

/* Ranks that give up leave by MPI_Finalize, which ends the waits of others for them. */
static void cascade(void) {
    int value;
    if (rank == last) usleep(50000), die();
    /* Each waits for the one after it, a chain from the dead to the first. */
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&value, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* One of the survivors has handlers that end the job. */
static void fatal(void) {
    int value;
    if (rank == last) usleep(50000), die();
    if (rank == 0) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    MPI_Recv(&value, 1, MPI_INT, rank == 0 ? last : 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 never says that it wants to go on, and does not wait for the dead either. */
static void unwilling(void) {
    int value;
    if (rank == last) usleep(100000), die();
    MPI_Recv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    const char *scenario = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    last = size - 1;
    if (strcmp(scenario, "unwilling") != 0 || rank != 0) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (strcmp(scenario, "point_to_point") == 0) point_to_point();
    if (strcmp(scenario, "anybody") == 0) anybody();
    if (strcmp(scenario, "collectives") == 0) collectives();
    if (strcmp(scenario, "revoked") == 0) revoked();
    if (strcmp(scenario, "many_revoked") == 0) many_revoked();
    if (strcmp(scenario, "cascade") == 0) cascade();
    if (strcmp(scenario, "lost_node") == 0) lost_node();
    if (strcmp(scenario, "lost_messages") == 0) lost_messages();
    if (strcmp(scenario, "fatal") == 0) fatal();
    if (strcmp(scenario, "unwilling") == 0) unwilling();
    end();
    printf("survived\n");
    return 0;
}
