/* The arguments that programs recognise by their address. Programs have common blocks of the same names, which take the place of these. */
#include "fortran.h"

#if !defined(OPENMPI_ABI)
struct mpipriv1 mpipriv1_;
struct mpipriv2 mpipriv2_;
struct mpiprivc mpiprivc_;
FINT mpifcmb5_, mpifcmb9_, mpi_abi_buffer_automatic_;
FINT MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BUFFER_AUTOMATIC, MPIR_F08_MPI_ERRCODES_IGNORE;
FINT MPIR_F08_MPI_UNWEIGHTED, MPIR_F08_MPI_WEIGHTS_EMPTY;
char MPIR_F08_MPI_ARGV_NULL, MPIR_F08_MPI_ARGVS_NULL;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
#endif

/* Operators of handles. */
#define OPERATORS(name) \
    int mpir_##name##_eq_(const FINT *a, const FINT *b) { return *a == *b; } \
    int mpir_##name##_neq_(const FINT *a, const FINT *b) { return *a != *b; }
OPERATORS(comm)
OPERATORS(datatype)
OPERATORS(errhandler)
OPERATORS(file)
OPERATORS(group)
OPERATORS(info)
OPERATORS(message)
OPERATORS(op)
OPERATORS(request)
OPERATORS(session)
OPERATORS(win)

#if defined(MPICH_ABI)
FINT __mpi_f08_link_constants_MOD_mpi_errcodes_ignore, __mpi_f08_link_constants_MOD_mpi_unweighted,
    __mpi_f08_link_constants_MOD_mpi_weights_empty;
char __mpi_f08_link_constants_MOD_mpi_argv_null, __mpi_f08_link_constants_MOD_mpi_argvs_null;

/* C programs of this ABI compare with these (MPI-5.0 §19.3.5). */
__attribute__((constructor)) static void tell_c(void) {
    MPI_F_STATUS_IGNORE = mpipriv1_.status_ignore;
    MPI_F_STATUSES_IGNORE = mpipriv2_.statuses_ignore;
}

/* The same of MPICH's modules: handles with handles, and with integers. */
#define MPICH_OPERATORS(name) \
    int __mpi_f08_types_MOD_mpi_##name##_eq(const FINT *a, const FINT *b) { return *a == *b; } \
    int __mpi_f08_types_MOD_mpi_##name##_neq(const FINT *a, const FINT *b) { return *a != *b; } \
    int __mpi_f08_types_MOD_mpi_##name##_f08_eq_f(const FINT *a, const FINT *b) { return *a == *b; } \
    int __mpi_f08_types_MOD_mpi_##name##_f08_neq_f(const FINT *a, const FINT *b) { return *a != *b; } \
    int __mpi_f08_types_MOD_mpi_##name##_f_eq_f08(const FINT *a, const FINT *b) { return *a == *b; } \
    int __mpi_f08_types_MOD_mpi_##name##_f_neq_f08(const FINT *a, const FINT *b) { return *a != *b; } \
    int __mpi_constants_MOD_##name##eq(const FINT *a, const FINT *b) { return *a == *b; } \
    int __mpi_constants_MOD_##name##neq(const FINT *a, const FINT *b) { return *a != *b; }
MPICH_OPERATORS(comm)
MPICH_OPERATORS(datatype)
MPICH_OPERATORS(errhandler)
MPICH_OPERATORS(file)
MPICH_OPERATORS(group)
MPICH_OPERATORS(info)
MPICH_OPERATORS(message)
MPICH_OPERATORS(op)
MPICH_OPERATORS(request)
MPICH_OPERATORS(session)
MPICH_OPERATORS(win)
#endif

#if defined(OPENMPI_ABI)
/* The operators of Open MPI's module. */
#define OPENMPI_OPERATORS(name) \
    int __mpi_f08_types_MOD_ompi_##name##_op_eq(const FINT *a, const FINT *b) { return *a == *b; } \
    int __mpi_f08_types_MOD_ompi_##name##_op_ne(const FINT *a, const FINT *b) { return *a != *b; }
OPENMPI_OPERATORS(comm)
OPENMPI_OPERATORS(datatype)
OPENMPI_OPERATORS(errhandler)
OPENMPI_OPERATORS(file)
OPENMPI_OPERATORS(group)
OPENMPI_OPERATORS(info)
OPENMPI_OPERATORS(message)
OPENMPI_OPERATORS(op)
OPENMPI_OPERATORS(request)
OPENMPI_OPERATORS(session)
OPENMPI_OPERATORS(win)
#endif
