// ranks: 1 2 4
/* Sessions before, beside and after the world, and communicators made from their process sets. */
#include "check.h"

/* Objects of two sessions in one call are an error. */
static void other_session(MPI_Comm comm) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm other, created;
    int answer;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "tests/sessions/other", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    FAILS(MPI_ERR_GROUP, MPI_Comm_compare(comm, other, &answer));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(comm, group, 1, &created));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&other));
    OK(MPI_Session_finalize(&session));
}

static void use(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sets, length = 0, members, own, sum = 0;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
    CHECK(sets >= 2, "%d process sets", sets);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
    CHECK(length > 0, "length %d", length);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_size(group, &members));
    OK(MPI_Group_rank(group, &own));
    OK(MPI_Comm_create_from_group(group, "tests/sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == members * (members - 1) / 2, "sum %d", sum);
    /* Without a buffer attached to the communicator or the session, that of the process is used. */
    char room[MPI_BSEND_OVERHEAD + 64];
    void *back;
    int bytes, me, got = -1;
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Buffer_attach(room, sizeof room));
    OK(MPI_Bsend(&me, 1, MPI_INT, (me + 1) % members, 0, comm));
    OK(MPI_Recv(&got, 1, MPI_INT, (me + members - 1) % members, 0, comm, MPI_STATUS_IGNORE));
    CHECK(got == (me + members - 1) % members, "%d", got);
    OK(MPI_Buffer_detach(&back, &bytes));
    other_session(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL, "a finalized session is null");
}

int main(int argc, char **argv) {
    use();
    use();
    begin(&argc, &argv);
    use();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
    use();
    return 0;
}
