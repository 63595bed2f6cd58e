! A communicator that was freed, and no ierror (tests/fortran.rs).
program bad_handle
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm, copy
  integer :: n = 1
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  copy = comm
  call MPI_Comm_free(comm)
  call MPI_Send(n, 1, MPI_INTEGER, 0, 0, copy)
  call MPI_Finalize()
end program
