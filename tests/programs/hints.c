// ranks: 1 3
// mpiexec: -memory-alloc-kinds system,mpi:alloc_mem,cuda:device
/* Hints of communicators: told with their defaults, kept, not inherited, kept to; kinds of memory asked for and answered. */
#include "check.h"

static void told(MPI_Info info, const char *key, const char *expected) {
    char value[MPI_MAX_INFO_VAL] = "";
    int length = sizeof value, found;
    OK(MPI_Info_get_string(info, key, &length, value, &found));
    if (!expected) {
        CHECK(!found, "%s is \"%s\"", key, value);
        return;
    }
    CHECK(found && !strcmp(value, expected), "%s is \"%s\" (%d)", key, value, found);
}

static void has(MPI_Comm comm, const char *key, const char *expected) {
    MPI_Info info;
    OK(MPI_Comm_get_info(comm, &info));
    told(info, key, expected);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *promises[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                              "mpi_assert_allow_overtaking", "mpi_assert_strict_persistent_collective_ordering"};
    MPI_Info info;
    MPI_Comm comm, dup;
    MPI_Request request;
    OK(MPI_Info_create(&info));
    for (int i = 0; i < 5; i++) {
        has(MPI_COMM_WORLD, promises[i], "false");
        OK(MPI_Info_set(info, promises[i], "true"));
    }
    OK(MPI_Info_set(info, "isthmus_no_such_hint", "true"));
    OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system"));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    for (int i = 0; i < 5; i++) {
        has(comm, promises[i], "true");
        has(MPI_COMM_WORLD, promises[i], "false");
    }
    has(comm, "isthmus_no_such_hint", NULL);
    has(comm, "mpi_assert_memory_alloc_kinds", "system");
    has(MPI_COMM_WORLD, "mpi_assert_memory_alloc_kinds", NULL);
    OK(MPI_Comm_dup(comm, &dup));
    has(dup, promises[0], "false");
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_idup_with_info(comm, info, &dup, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    has(dup, promises[1], "true");
    OK(MPI_Comm_free(&dup));

    /* A promise is kept to. */
    int byte = 0, flag;
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RANK, MPI_Irecv(&byte, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request));
    FAILS(MPI_ERR_TAG, MPI_Irecv(&byte, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &request));
    FAILS(MPI_ERR_RANK, MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Info_set(info, promises[0], "false"));
    OK(MPI_Info_set(info, promises[1], "maybe"));
    OK(MPI_Comm_set_info(comm, info));
    has(comm, promises[0], "false");
    has(comm, promises[1], "true");
    OK(MPI_Irecv(&byte, 1, MPI_INT, rank, MPI_ANY_TAG, comm, &request));
    OK(MPI_Send(&rank, 1, MPI_INT, rank, 77, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(byte == rank, "%d", byte);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Info_free(&info));

    /* What the job was started with, and what a session asks for. */
    has(MPI_COMM_WORLD, "mpi_memory_alloc_kinds", "mpi,system,mpi:alloc_mem");
    told(MPI_INFO_ENV, "mpi_memory_alloc_kinds", "mpi,system,mpi:alloc_mem");
    MPI_Session session;
    MPI_Group group;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "rocm,mpi:win_allocate"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_get_info(session, &info));
    told(info, "mpi_memory_alloc_kinds", "mpi,system,mpi:win_allocate");
    OK(MPI_Info_free(&info));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "hints", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    has(comm, "mpi_memory_alloc_kinds", "mpi,system,mpi:win_allocate");
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    end();
    return 0;
}
