/* The callbacks that MPI has, as Fortran procedures. */
#include "fortran.h"

#define NAMES(name, NAME) \
    ALIAS_(mpi_##name, "mpi_" #name "_"); \
    ALIAS_(mpi_##name##__, "mpi_" #name "_"); \
    ALIAS_(MPI_##NAME, "mpi_" #name "_"); \
    ALIAS_(pmpi_##name##_, "mpi_" #name "_")

#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_NULL_DELETE_FN
#undef MPI_DUP_FN
#undef MPI_NULL_COPY_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_CONVERSION_FN_NULL
#undef MPI_CONVERSION_FN_NULL_C

#define PREDEFINED(prefix, PREFIX, VALUE) \
    void mpi_##prefix##dup_fn_(FINT *object, FINT *keyval, VALUE *extra, VALUE *in, VALUE *out, FINT *flag, FINT *ierror) { \
        (void)object, (void)keyval, (void)extra; \
        *out = *in; \
        *flag = 1; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##null_copy_fn_(FINT *object, FINT *keyval, VALUE *extra, VALUE *in, VALUE *out, FINT *flag, FINT *ierror) { \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out; \
        *flag = 0; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##null_delete_fn_(FINT *object, FINT *keyval, VALUE *value, VALUE *extra, FINT *ierror) { \
        (void)object, (void)keyval, (void)value, (void)extra; \
        *ierror = MPI_SUCCESS; \
    } \
    NAMES(prefix##dup_fn, PREFIX##DUP_FN); \
    NAMES(prefix##null_copy_fn, PREFIX##NULL_COPY_FN); \
    NAMES(prefix##null_delete_fn, PREFIX##NULL_DELETE_FN);
PREDEFINED(comm_, COMM_, ADDRESS)
PREDEFINED(type_, TYPE_, ADDRESS)
PREDEFINED(win_, WIN_, ADDRESS)
PREDEFINED(, , FINT)

/* Only their addresses mean something. */
void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}
NAMES(conversion_fn_null, CONVERSION_FN_NULL);
NAMES(conversion_fn_null_c, CONVERSION_FN_NULL_C);
