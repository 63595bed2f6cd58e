// ranks: 1 2
/* Wrong arguments: the standard's class, through the right handler, with the process alive afterwards. */
#include "check.h"

#include <stdint.h>

static int calls, last_class;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...) {
    calls++;
    last_comm = *comm;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD, garbage_comm = (MPI_Comm)(intptr_t)0x12345678;
    MPI_Datatype garbage_type = (MPI_Datatype)(intptr_t)0x7fffff1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Errhandler before, mine;
    MPI_Group group;
    int value = 0, values[64] = {0}, flag;

    OK(MPI_Comm_get_errhandler(world, &before));
    CHECK(before == MPI_ERRORS_ARE_FATAL, "the first handler of the world is fatal");
    OK(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
    /* Errors without an object go to the handler of MPI_COMM_SELF. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, -77, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Recv(&value, 1, MPI_INT, size, 0, world, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_RANK, MPI_Irecv(&value, 1, MPI_INT, size + 5, 0, world, &request));
    FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, -5, world));
    FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world));
    FAILS(MPI_ERR_TAG, MPI_Recv(&value, 1, MPI_INT, 0, -7, world, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COUNT, MPI_Send(&value, -1, MPI_INT, 0, 0, world));
    FAILS(MPI_ERR_COUNT, MPI_Recv(&value, -1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world));
    FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, garbage_type, 0, 0, world));
    FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, (MPI_Datatype)world, 0, 0, world));
    FAILS(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, garbage_comm));
    FAILS(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT));
    FAILS(MPI_ERR_COMM, MPI_Comm_rank(garbage_comm, &value));
    FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, size, world));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, -1, world));
    FAILS(MPI_ERR_ROOT, MPI_Reduce(&value, values, 1, MPI_INT, MPI_SUM, size + 1, world));
    FAILS(MPI_ERR_OP, MPI_Allreduce(&value, values, 1, MPI_INT, MPI_OP_NULL, world));
    FAILS(MPI_ERR_OP, MPI_Allreduce(values, values + 32, 1, MPI_DOUBLE, MPI_BXOR, world));
    FAILS(MPI_ERR_COUNT, MPI_Allreduce(&value, values, -1, MPI_INT, MPI_SUM, world));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &value));
    OK(MPI_Comm_group(world, &group));
    int wrong_rank = size;
    MPI_Group none;
    FAILS(MPI_ERR_RANK, MPI_Group_incl(group, 1, &wrong_rank, &none));
    OK(MPI_Group_free(&group));
    FAILS(MPI_ERR_INFO, MPI_Info_free(&(MPI_Info){MPI_INFO_NULL}));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_KEYVAL_INVALID, NULL));
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&(MPI_Request){(MPI_Request)(intptr_t)0x7654321}, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));

    /* A handle that was valid once. */
    MPI_Comm dup, stale;
    OK(MPI_Comm_dup(world, &dup));
    stale = dup;
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL, "a freed handle is null");
    FAILS(MPI_ERR_COMM, MPI_Comm_rank(stale, &value));
    FAILS(MPI_ERR_COMM, MPI_Comm_free(&stale));
    FAILS(MPI_ERR_COMM, MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}));
    MPI_Request done, copy;
    OK(MPI_Isend(&value, 0, MPI_INT, rank, 0, world, &done));
    copy = done;
    OK(MPI_Recv(&value, 0, MPI_INT, rank, 0, world, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&done, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Test(&copy, &flag, MPI_STATUS_IGNORE));

    /* A handler of our own, on the communicator it was set on. */
    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_dup(world, &dup));
    OK(MPI_Comm_set_errhandler(dup, mine));
    OK(MPI_Errhandler_free(&mine));
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, dup));
    CHECK(calls == 1 && last_class == MPI_ERR_RANK && last_comm == dup, "%d calls, class %d", calls, last_class);
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, world));
    CHECK(calls == 1, "the handler of another communicator was called");
    OK(MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER));
    CHECK(calls == 2 && last_class == MPI_ERR_OTHER, "%d calls, class %d", calls, last_class);

    /* A request outlives the handle of its communicator, and so does the handler. */
    int two[2] = {1, 2};
    OK(MPI_Irecv(&value, 1, MPI_INT, rank, 5, dup, &request));
    OK(MPI_Isend(two, 2, MPI_INT, rank, 5, dup, &done));
    OK(MPI_Comm_free(&dup));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(calls == 3 && last_class == MPI_ERR_TRUNCATE, "%d calls, class %d", calls, last_class);
    OK(MPI_Wait(&done, MPI_STATUS_IGNORE));

    /* Texts, and classes of our own. */
    char text[MPI_MAX_ERROR_STRING];
    int length, class, code;
    for (class = 0; class <= MPI_ERR_IN_STATUS; class ++) {
        length = -1;
        OK(MPI_Error_string(class, text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length, "class %d: %d", class, length);
    }
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE, "class %d", class);
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "of our own"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "of our own") == 0, "%s", text);
    OK(MPI_Error_class(code, &value));
    CHECK(value == class, "class %d of code %d", value, code);

    /* After all that, messages still arrive. */
    int other = (rank + 1) % size, got = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, other, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size, "got %d", got);
    end();
    return 0;
}
