! Calls that a tool counts (tool.c), in the form of tests/fortran/every/form.h; those of the profiling interface it does not see.
#include "../every/form.h"
program watched
  use form
  implicit none
  STATUS(s)
  integer :: n(2), m(2)
  call MPI_Init(ierr); OK
  n = [1, 2]
  call MPI_Sendrecv(n, 2, MPI_INTEGER, 0, 1, m, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, s, ierr); OK
  call MPI_Sendrecv(n, 2, MPI_INTEGER, 0, 1, m, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, s, ierr); OK
  call MPI_Bcast(m, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr); OK
  call PMPI_Bcast(m, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr); OK
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call PMPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Finalize(ierr); OK
end program
