// ranks: 1 2
/* Attributes with their callbacks, and the predefined ones. */
#include "check.h"

static int copies, deletes, extra = 5;
static int refuse;

static int copy(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag) {
    (void)comm, (void)keyval;
    CHECK(extra_state == &extra, "the extra state is handed on");
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra_state) {
    (void)comm, (void)keyval, (void)value;
    CHECK(extra_state == &extra, "the extra state is handed on");
    deletes++;
    return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static char value[8];
    int key, dup_key, null_key, flag;
    void *got;
    MPI_Comm base, dup;
    OK(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key, NULL));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Comm_get_attr(base, key, &got, &flag));
    CHECK(!flag, "nothing is set");
    OK(MPI_Comm_set_attr(base, key, value));
    OK(MPI_Comm_set_attr(base, dup_key, value + 4));
    OK(MPI_Comm_set_attr(base, null_key, value + 5));
    OK(MPI_Comm_get_attr(base, key, &got, &flag));
    CHECK(flag && got == value, "what was set");
    OK(MPI_Comm_dup(base, &dup));
    CHECK(copies == 1, "%d copies", copies);
    OK(MPI_Comm_get_attr(dup, key, &got, &flag));
    CHECK(flag && got == value + 1, "what the callback made of it");
    OK(MPI_Comm_get_attr(dup, dup_key, &got, &flag));
    CHECK(flag && got == value + 4, "MPI_COMM_DUP_FN copies");
    OK(MPI_Comm_get_attr(dup, null_key, &got, &flag));
    CHECK(!flag, "MPI_COMM_NULL_COPY_FN does not");
    OK(MPI_Comm_set_attr(dup, key, value + 2));
    CHECK(deletes == 1, "setting again deletes the old value: %d", deletes);
    OK(MPI_Comm_delete_attr(dup, key));
    CHECK(deletes == 2, "%d deletes", deletes);
    OK(MPI_Comm_free(&dup));
    CHECK(deletes == 2, "it was not there any more: %d", deletes);
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID, "a freed keyval is invalid");
    OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&base));
    CHECK(deletes == 3, "freeing the communicator deletes: %d", deletes);
    OK(MPI_Comm_free_keyval(&dup_key));
    OK(MPI_Comm_free_keyval(&null_key));

    int *number;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag));
    CHECK(flag && *number >= 32767, "MPI_TAG_UB");
    int got_int = 0, tag = *number;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, tag, &got_int, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &number, &flag));
    CHECK(flag && (*number == 0 || *number == 1), "MPI_WTIME_IS_GLOBAL");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &number, &flag));
    CHECK(!flag || *number >= size, "MPI_UNIVERSE_SIZE");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag));
    CHECK(!flag || *number == 0, "MPI_APPNUM");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &number, &flag));
    CHECK(flag && *number >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE");

    /* MPI_Finalize deletes what hangs on MPI_COMM_SELF. */
    OK(MPI_Comm_create_keyval(copy, delete, &key, &extra));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, value));
    end();
    if (deletes != 4) {
        fprintf(stderr, "MPI_Finalize did not delete the attribute of MPI_COMM_SELF\n");
        return 1;
    }
    return 0;
}
