! A number that is no communicator (tests/fortran.rs).
program bad_handle
  use mpi
  implicit none
  integer :: ierr, n = 1
  call MPI_Init(ierr)
  call MPI_Send(n, 1, MPI_INTEGER, 0, 0, 123456789, ierr)
  call MPI_Finalize(ierr)
end program
