// ranks: 1
/* What the Fortran and C++ libraries of MPICH take from libmpi.so.12: callbacks that are called through functions of theirs, and attributes as
   Fortran has them. Handles of the MPICH ABI are integers. */
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>

enum { WORLD = 0x44000000, INT = 0x4c000405, TAG_UB = 0x64400001, ERR_OTHER = 15, POINTER = 0, ADDRESS = 1 };

static void *library;

static void *find(const char *name) {
    void *function = dlsym(library, name);
    CHECK(function, "libmpi.so.12 has no %s", name);
    return function;
}

/* A function of the library, of this type. */
#define CALL(type, name) ((type)find(name))

static int calls;

/* The program's functions are never called directly. */
static int user_copy(void) { return 0; }
static int user_delete(void) { return 0; }
static void user_op(void) {}
static void user_error(void) {}

static int copy_through(void *function, int comm, int key, void *extra, int kind, void *value, void **copy, int *flag) {
    CHECK(function == (void *)user_copy && comm == WORLD && key != 0 && *(int *)extra == 5, "a copy callback's arguments");
    CHECK(kind == POINTER && (intptr_t)value == -7, "kind %d", kind);
    *copy = (void *)(intptr_t)-8;
    *flag = 1;
    calls++;
    return 0;
}

static int delete_through(void *function, int comm, int key, int kind, void *value, void *extra) {
    CHECK(function == (void *)user_delete && comm != 0 && key != 0 && kind == POINTER && *(int *)extra == 5, "a delete callback's arguments");
    CHECK((intptr_t)value == -7 || (intptr_t)value == -8, "the value");
    calls++;
    return 0;
}

static void op_through(const void *in, void *inout, int count, int datatype, void *function) {
    CHECK(function == (void *)user_op && datatype == INT, "an operation's arguments");
    for (int i = 0; i < count; i++) ((int *)inout)[i] += 100 * ((const int *)in)[i];
}

static void error_through(int kind, int *comm, int *code, void *function) {
    CHECK(kind == 0 && *comm == WORLD && *code != 0 && function == (void *)user_error, "an error handler's arguments");
    calls++;
}

static void fortran_query(void *extra, int *status, int *code) {
    CHECK(*(int *)extra == 5, "the extra state");
    status[2] = 4711;
    *code = 0;
}
static void fortran_free(void *extra, int *code) {
    CHECK(*(int *)extra == 5, "the extra state");
    *code = 0;
    calls++;
}
static void fortran_cancel(void *extra, int *complete, int *code) {
    CHECK(*(int *)extra == 5 && *complete == 0, "the extra state");
    *code = 0;
    calls++;
}

static void attributes(void) {
    int key, flag, extra = 5, copy;
    void *value = NULL;
    CHECK(!CALL(int (*)(void *, void *, int *, void *), "MPI_Comm_create_keyval")(user_copy, user_delete, &key, &extra), "a key");
    CALL(void (*)(int, void *, void *), "MPII_Keyval_set_proxy")(key, copy_through, delete_through);
    int (*get)(int, int, void *, int *, int) = CALL(int (*)(int, int, void *, int *, int), "MPII_Comm_get_attr");
    CHECK(!CALL(int (*)(int, int, void *, int), "MPII_Comm_set_attr")(WORLD, key, (void *)(intptr_t)-7, ADDRESS), "set");
    CHECK(!get(WORLD, key, &value, &flag, ADDRESS) && flag && (intptr_t)value == -7, "get");
    CHECK(!CALL(int (*)(int, int *), "MPI_Comm_dup")(WORLD, &copy), "dup");
    CHECK(!get(copy, key, &value, &flag, ADDRESS) && flag && (intptr_t)value == -8, "the copy");
    CHECK(!CALL(int (*)(int *), "MPI_Comm_free")(&copy), "free");
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_delete_attr")(WORLD, key), "delete");
    CHECK(!CALL(int (*)(int *), "MPI_Comm_free_keyval")(&key), "free the key");
    CHECK(calls == 3, "%d calls", calls);

    /* Fortran's key is one more than C's, and means the value itself. */
    int *bound = NULL;
    CHECK(!get(WORLD, TAG_UB, &bound, &flag, POINTER) && flag && *bound >= 32767, "C's MPI_TAG_UB");
    CHECK(!get(WORLD, TAG_UB + 1, &value, &flag, ADDRESS) && flag && (intptr_t)value == *bound, "Fortran's MPI_TAG_UB");
}

static void operations(void) {
    int op, in[3] = {1, 2, 3}, inout[3] = {7, 8, 9};
    CHECK(!CALL(int (*)(void *, int, int *), "MPI_Op_create")(user_op, 1, &op), "an operation");
    CALL(void (*)(int, void *), "MPII_Op_set_cxx")(op, op_through);
    CHECK(!CALL(int (*)(void *, void *, int, int, int), "MPI_Reduce_local")(in, inout, 3, INT, op), "reduce");
    CHECK(inout[0] == 107 && inout[2] == 309, "%d %d", inout[0], inout[2]);
    CHECK(!CALL(int (*)(int *), "MPI_Op_free")(&op), "free");
}

static void error_handlers(void) {
    int handler, before;
    CHECK(!CALL(int (*)(int, int *), "MPI_Comm_get_errhandler")(WORLD, &before), "the handler before");
    CHECK(!CALL(int (*)(void *, int *), "MPI_Comm_create_errhandler")(user_error, &handler), "a handler");
    CALL(void (*)(int, void *), "MPII_Errhandler_set_cxx")(handler, error_through);
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_set_errhandler")(WORLD, handler), "set");
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_call_errhandler")(WORLD, ERR_OTHER) && calls == 1, "call");
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_set_errhandler")(WORLD, before), "set back");
    CHECK(!CALL(int (*)(int *), "MPI_Errhandler_free")(&handler), "free");
}

static void requests(void) {
    int request, extra = 5, status[5];
    CHECK(!CALL(int (*)(void *, void *, void *, void *, int *), "MPI_Grequest_start")(fortran_query, fortran_free, fortran_cancel, &extra, &request),
          "a request");
    CALL(void (*)(int), "MPII_Grequest_set_lang_f77")(request);
    int (*is_complete)(int) = CALL(int (*)(int), "MPIX_Request_is_complete");
    CHECK(!is_complete(request), "not yet");
    CHECK(!CALL(int (*)(int *), "MPI_Cancel")(&request), "cancel");
    CHECK(!CALL(int (*)(int), "MPI_Grequest_complete")(request), "complete");
    CHECK(is_complete(request), "now");
    CHECK(!CALL(int (*)(int *, void *), "MPI_Wait")(&request, status) && status[2] == 4711 && calls == 2, "%d %d", status[2], calls);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    library = dlopen("libmpi.so.12", RTLD_NOW);
    CHECK(library, "%s", dlerror());
    static void (*const all[])(void) = {attributes, operations, error_handlers, requests};
    for (int i = 0; i < 4; i++) {
        calls = 0;
        all[i]();
    }
    /* CUDA is supported where its driver is, the others never. */
    int yes[3] = {7, 7, 7};
    for (int kind = 0; kind < 3; kind++) CHECK(!CALL(int (*)(int, int *), "MPIX_GPU_query_support")(kind, &yes[kind]), "kind %d", kind);
    CHECK(yes[0] == CALL(int (*)(void), "MPIX_Query_cuda_support")() && yes[0] <= 1 && !yes[1] && !yes[2], "%d %d %d", yes[0], yes[1], yes[2]);
    CHECK(!CALL(int (*)(void), "MPIX_Query_hip_support")() && !CALL(int (*)(void), "MPIX_Query_ze_support")(), "other GPUs");
    const char *others[] = {"MPII_Type_get_attr", "MPII_Type_set_attr", "MPII_Win_get_attr", "MPII_Win_set_attr", "PMPIX_Delete_error_class",
                            "PMPIX_Delete_error_code", "PMPIX_Delete_error_string", "PMPIX_GPU_query_support"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) find(others[i]);
    end();
    return 0;
}
