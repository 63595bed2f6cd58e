/* The callbacks that MPI has, as Fortran procedures. */
#include "fortran.h"

#define NAMES(name, NAME) \
    ALIAS_(mpi_##name, "mpi_" #name "_"); \
    ALIAS_(mpi_##name##__, "mpi_" #name "_"); \
    ALIAS_(MPI_##NAME, "mpi_" #name "_"); \
    ALIAS_(pmpi_##name, "mpi_" #name "_"); \
    ALIAS_(pmpi_##name##_, "mpi_" #name "_"); \
    ALIAS_(pmpi_##name##__, "mpi_" #name "_"); \
    ALIAS_(PMPI_##NAME, "mpi_" #name "_")

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

/* In a program that is not position-independent each name that it uses has an address of its own. */
#define IS_(function, name, NAME) \
    ((function) == (void *)mpi_##name || (function) == (void *)mpi_##name##_ || (function) == (void *)mpi_##name##__ || \
     (function) == (void *)MPI_##NAME || (function) == (void *)pmpi_##name || (function) == (void *)pmpi_##name##_ || \
     (function) == (void *)pmpi_##name##__ || (function) == (void *)PMPI_##NAME)

#if defined(MPICH_ABI) || defined(OPENMPI_ABI)
/* The same of their modules mpi_f08_callbacks, under gfortran's names. */
#define F08_CALLBACK(name) ALIAS_(__mpi_f08_callbacks_MOD_mpi_##name, "mpi_" #name "_");
F08_CALLBACK(comm_dup_fn)
F08_CALLBACK(comm_null_copy_fn)
F08_CALLBACK(comm_null_delete_fn)
F08_CALLBACK(type_dup_fn)
F08_CALLBACK(type_null_copy_fn)
F08_CALLBACK(type_null_delete_fn)
F08_CALLBACK(win_dup_fn)
F08_CALLBACK(win_null_copy_fn)
F08_CALLBACK(win_null_delete_fn)
F08_CALLBACK(conversion_fn_null)
F08_CALLBACK(conversion_fn_null_c)
#define IS_OF_MODULE_(function) \
    ((function) == (void *)__mpi_f08_callbacks_MOD_mpi_conversion_fn_null || (function) == (void *)__mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c)

#define SIZEOF(name, bytes) \
    void name(const void *x, FINT *size, FINT *ierror) { \
        (void)x; \
        *size = bytes; \
        if (ierror) *ierror = MPI_SUCCESS; \
    }
#endif

#if defined(MPICH_ABI)
/* Procedures of other modules of MPICH that have code. */
#define SIZEOF_BOTH(letter, bytes) \
    SIZEOF(__mpi_sizeofs_MOD_mpi_sizeof_##letter, bytes) \
    SIZEOF(__mpi_sizeofs_MOD_mpi_sizeof_##letter##v, bytes)
SIZEOF_BOTH(ch, 1)
SIZEOF_BOTH(cx, 8)
SIZEOF_BOTH(d, 8)
SIZEOF_BOTH(i, 4)
SIZEOF_BOTH(i1, 1)
SIZEOF_BOTH(i2, 2)
SIZEOF_BOTH(i8, 8)
SIZEOF_BOTH(l, 4)
SIZEOF_BOTH(r, 4)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_character, 1)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_logical, 4)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xint8, 1)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xint16, 2)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xint32, 4)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xint64, 8)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xreal32, 4)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xreal64, 8)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xreal128, 16)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xcomplex32, 8)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xcomplex64, 16)
SIZEOF(__mpi_f08_types_MOD_mpi_sizeof_xcomplex128, 32)

#define STATUS_COPY(name) \
    void name(const MPI_Status *from, MPI_Status *to, FINT *ierror) { \
        *to = *from; \
        if (ierror) *ierror = MPI_SUCCESS; \
    }
STATUS_COPY(__mpi_f08_types_MOD_mpi_status_f082f)
STATUS_COPY(__mpi_f08_types_MOD_mpi_status_f2f08)
#endif

#if defined(OPENMPI_ABI)
/* MPI_Sizeof for each type and rank, as Open MPI's modules name them. */
#define SIZEOF_RANK(name, rank) ALIAS_(mpi_sizeof_##name##_##rank##_, "mpi_sizeof_" #name "_scalar_"); \
    ALIAS_(pmpi_sizeof_##name##_##rank##_, "mpi_sizeof_" #name "_scalar_");
#define SIZEOF_TYPE(name, bytes) \
    SIZEOF(mpi_sizeof_##name##_scalar_, bytes) \
    ALIAS_(pmpi_sizeof_##name##_scalar_, "mpi_sizeof_" #name "_scalar_"); \
    SIZEOF_RANK(name, r1) SIZEOF_RANK(name, r2) SIZEOF_RANK(name, r3) SIZEOF_RANK(name, r4) SIZEOF_RANK(name, r5) \
    SIZEOF_RANK(name, r6) SIZEOF_RANK(name, r7) SIZEOF_RANK(name, r8) SIZEOF_RANK(name, r9) SIZEOF_RANK(name, r10) \
    SIZEOF_RANK(name, r11) SIZEOF_RANK(name, r12) SIZEOF_RANK(name, r13) SIZEOF_RANK(name, r14) SIZEOF_RANK(name, r15)
SIZEOF_TYPE(character, 1)
SIZEOF_TYPE(complex32, 8)
SIZEOF_TYPE(complex64, 16)
SIZEOF_TYPE(complex128, 32)
SIZEOF_TYPE(int8, 1)
SIZEOF_TYPE(int16, 2)
SIZEOF_TYPE(int32, 4)
SIZEOF_TYPE(int64, 8)
SIZEOF_TYPE(logical, 4)
SIZEOF_TYPE(real32, 4)
SIZEOF_TYPE(real64, 8)
SIZEOF_TYPE(real128, 16)
#endif

#if !defined(IS_OF_MODULE_)
#define IS_OF_MODULE_(function) 0
#endif

int is_null_conversion(const void *function) {
    return IS_(function, conversion_fn_null, CONVERSION_FN_NULL) || IS_(function, conversion_fn_null_c, CONVERSION_FN_NULL_C) || IS_OF_MODULE_(function);
}
