// ranks: 1 2
/* Errors that belong to no object, and those of calls that are given an error handler for what they make. */
#include "check.h"

static int calls, last_class, last_is_null;

static void count(int code) {
    calls++;
    MPI_Error_class(code, &last_class);
}

static void comm_handler(MPI_Comm *comm, int *code, ...) {
    last_is_null = *comm == MPI_COMM_NULL;
    count(*code);
}

static void session_handler(MPI_Session *session, int *code, ...) {
    last_is_null = *session == MPI_SESSION_NULL;
    count(*code);
}

/* The caller that makes an object names the handler of its errors. */
static void given(void) {
    MPI_Session session, none;
    MPI_Info info;
    MPI_Group group, empty = MPI_GROUP_EMPTY;
    MPI_Comm comm;
    MPI_Errhandler of_comms, of_sessions;
    char longer[MPI_MAX_STRINGTAG_LEN + 9];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_WRONG"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Session_init(info, MPI_ERRORS_RETURN, &none));
    OK(MPI_Session_create_errhandler(session_handler, &of_sessions));
    calls = 0;
    FAILS(MPI_ERR_INFO_VALUE, MPI_Session_init(info, of_sessions, &none));
    CHECK(calls == 1 && last_class == MPI_ERR_INFO_VALUE && last_is_null, "%d calls, class %d", calls, last_class);
    OK(MPI_Info_free(&info));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "MPI://World", &group));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_from_session_pset(session, "mpi://world", &group));
    OK(MPI_Comm_create_errhandler(comm_handler, &of_comms));
    FAILS(MPI_ERR_ARG, MPI_Comm_create_from_group(group, longer, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    FAILS(MPI_ERR_ARG, MPI_Comm_create_from_group(group, longer, MPI_INFO_NULL, of_comms, &comm));
    CHECK(calls == 2 && last_class == MPI_ERR_ARG && last_is_null, "%d calls, class %d", calls, last_class);
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    FAILS(MPI_ERR_ARG, MPI_Intercomm_create_from_groups(group, 0, empty, 0, longer, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Errhandler_free(&of_comms));
    OK(MPI_Errhandler_free(&of_sessions));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv) {
    MPI_Info info;
    MPI_Comm dup;
    MPI_Errhandler mine;
    MPI_Datatype type;
    MPI_Request request;
    char value[64], launched[64];
    int flag, other, got;
    /* Before MPI is initialized. */
    OK(MPI_Info_create_env(argc, argv, &info));
    OK(MPI_Info_get(info, "maxprocs", sizeof value - 1, launched, &flag));
    CHECK(flag, "maxprocs is not told");
    OK(MPI_Info_free(&info));
    given();
    begin(&argc, &argv);
    given();
    sprintf(value, "%d", size);
    CHECK(strcmp(value, launched) == 0, "maxprocs is %s", launched);

    /* Nobody has set a handler but on a duplicate of the world, then on the world, then on MPI_COMM_SELF. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    OK(MPI_Comm_create_errhandler(comm_handler, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    calls = 0;
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    CHECK(calls == 1, "%d calls", calls);
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    CHECK(calls == 1, "the handler of the world was called");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&mine));

    /* A collective request that a query has reported complete may be freed. */
    OK(MPI_Iallreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && got == size * (size - 1) / 2, "sum %d", got);
    OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));

    OK(MPI_Type_get_name(MPI_C_COMPLEX, value, &other));
    CHECK(strcmp(value, "MPI_C_COMPLEX") == 0, "%s", value);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end();
    return 0;
}
