! An error of the kind that the first argument names (tests/fortran.rs), in the form of tests/fortran/every/form.h. In mpi_f08 the call has no ierror. With
! a second argument, `return`, errors are returned.
#include "every/form.h"
#if defined(F08)
#define NO_IERR
#else
#define NO_IERR , ierr
#endif
program bad_input
  use form
  implicit none
  COMM :: comm
  REQUEST :: request, copy
  STATUS(s)
  character(len=16) :: kind_of_error, handler
  integer :: n(4)
  call get_command_argument(1, kind_of_error)
  call get_command_argument(2, handler)
  n = 1
  call MPI_Init(ierr); OK
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  if (handler == 'return') then
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr); OK
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr); OK
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr); OK
  end if
  select case (kind_of_error)
  case ('handle')
#if defined(F08)
    comm%MPI_VAL = 123456789
#else
    comm = 123456789
#endif
    call MPI_Send(n, 1, MPI_INTEGER, 0, 0, comm NO_IERR)
  case ('request')
    call MPI_Irecv(n, 1, MPI_INTEGER, 0, 0, comm, request, ierr); OK
    copy = request
    call MPI_Send(n, 1, MPI_INTEGER, 0, 0, comm, ierr); OK
    call MPI_Wait(request, s, ierr); OK
    call MPI_Wait(copy, s NO_IERR)
  case ('count')
    call MPI_Bcast(n, -1, MPI_INTEGER, 0, comm NO_IERR)
  case ('truncated')
    call MPI_Isend(n, 4, MPI_INTEGER, 0, 0, comm, request, ierr); OK
    call MPI_Recv(n, 2, MPI_INTEGER, 0, 0, comm, s NO_IERR)
  end select
  print '(a)', 'it went on'
  call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
end program
