/* For each ABI: constants in initialized data, callbacks, statuses, attributes, handles for Fortran. Run by tests/wrappers.rs, and by
 * cargo xtask test --only openmpi on other libraries. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm world = MPI_COMM_WORLD;
static MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_BYTE};
static int failed;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            failed = 1; \
        } \
    } while (0)

static void largest(void *in, void *inout, int *count, MPI_Datatype *datatype) {
    int i;
    (void)datatype;
    for (i = 0; i < *count; i++)
        if (((int *)in)[i] > ((int *)inout)[i]) ((int *)inout)[i] = ((int *)in)[i];
}

static int deleted;
static int delete_value(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, length, number = 0, most = 0, count = -1, flag = 0, keyval = MPI_KEYVAL_INVALID, code, class_ = -1;
    int *upper = NULL;
    void *found = NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Aint lower, extent = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Get_library_version(version, &length);
    if (rank == 0) printf("%s\n", version);

    /* A ring of messages with status and wildcard. */
    MPI_Irecv(&number, 1, types[0], MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, world);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(request == MPI_REQUEST_NULL && number == (rank + size - 1) % size);
    CHECK(status.MPI_SOURCE == number && status.MPI_TAG == 7 && count == 1);
    MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, &number, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);

    MPI_Op_create(largest, 1, &op);
    most = rank;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, op, world);
    CHECK(most == size - 1);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);

    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_value, &keyval, NULL);
    MPI_Comm_set_attr(world, keyval, &most);
    MPI_Comm_dup(world, &copy);
    MPI_Comm_get_attr(copy, keyval, &found, &flag);
    CHECK(flag && found == &most);
    MPI_Comm_free(&copy);
    CHECK(deleted == 1 && copy == MPI_COMM_NULL);
    MPI_Comm_delete_attr(world, keyval);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_get_attr(world, MPI_TAG_UB, &upper, &flag);
    CHECK(flag && *upper >= 32767);

    MPI_Type_get_extent(types[1], &lower, &extent);
    CHECK(lower == 0 && extent == sizeof(double));
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(world)) == MPI_COMM_WORLD);

    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    code = MPI_Send(&rank, 1, MPI_INT, size, 0, world);
    MPI_Error_class(code, &class_);
    CHECK(class_ == MPI_ERR_RANK);

    MPI_Finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
