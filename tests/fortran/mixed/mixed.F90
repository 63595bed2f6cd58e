! Fortran's part of a program in two languages (tests/fortran.rs): what C gives it is what its own modules know. With FORTRAN_MAIN it has the program, too.
subroutine of_module(comm, datatype, status)
  use mpi
  implicit none
  integer :: comm, datatype, status(MPI_STATUS_SIZE), count, n(4), ierr
  call MPI_Get_count(status, datatype, count, ierr)
  if (status(MPI_TAG) /= 5 .or. count /= 2) stop 'wrong: a status of C by module mpi'
  n = 0
  call MPI_Sendrecv([5, 6, 7, 8], 2, datatype, 0, 6, n, 2, datatype, 0, 6, comm, status, ierr)
  if (any(n /= [5, 6, 7, 8]) .or. ierr /= MPI_SUCCESS) stop 'wrong: handles of C by module mpi'
end subroutine

subroutine of_f08(comm, status)
  use mpi_f08
  implicit none
  integer :: comm, count
  type(MPI_Status) :: status
  type(MPI_Comm) :: typed
  typed%MPI_VAL = comm
  call MPI_Get_count(status, MPI_INTEGER, count)
  if (status%MPI_TAG /= 5 .or. count /= 4) stop 'wrong: a status of C by module mpi_f08'
  call MPI_Comm_size(typed, count)
  if (count /= 1) stop 'wrong: a handle of C by module mpi_f08'
end subroutine

#ifdef FORTRAN_MAIN
program mixed
  use mpi_f08
  implicit none
  external :: in_c
  type(MPI_Comm) :: comm
  type(MPI_Status) :: status
  integer :: old(MPI_STATUS_SIZE), n(3)
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Sendrecv([1, 2, 3], 3, MPI_INTEGER, 0, 11, n, 3, MPI_INTEGER, 0, 11, comm, status)
  call MPI_Status_f082f(status, old)
  call in_c(comm%MPI_VAL, old, status)
  call MPI_Finalize()
  print '(a)', 'right'
end program
#endif
