! Each family in turn.
#include "form.h"
program every
  use form
  implicit none
  integer :: provided
  logical :: flag
  INFO :: info
  family = 'start and end'
  call MPI_Initialized(flag, ierr); OK
  CHECK(.not. flag)
#if !defined(OLD)
  ! What the compiler has may be told before.
  call MPI_Abi_set_fortran_booleans(4, 1, 0, ierr); OK
  call MPI_Info_create(info, ierr); OK
  call MPI_Info_set(info, 'mpi_logical_size', '4', ierr); OK
  call MPI_Info_set(info, 'mpi_integer_size', '4', ierr); OK
  call MPI_Abi_set_fortran_info(info, ierr); OK
  call MPI_Info_free(info, ierr); OK
#endif
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, ierr); OK
  CHECK(provided >= MPI_THREAD_SINGLE)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr); OK
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr); OK
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call MPI_Initialized(flag, ierr); OK
  CHECK(flag)
  call MPI_Finalized(flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Is_thread_main(flag, ierr); OK
  CHECK(flag)
  call point_to_point()
  call requests()
  call buffers()
  call collectives()
  call later_collectives()
  call neighbours()
  call communicators()
  call topologies()
  call datatypes()
  call describing()
  call windows()
  call files()
  call attributes()
  call errors()
  call operations()
  call sessions()
  call environment()
  family = 'start and end'
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Pcontrol(1)
  call MPI_Finalize(ierr); OK
  call MPI_Finalized(flag, ierr); OK
  CHECK(flag)
  if (rank == 0) print '(a,i0,a,i0,a)', 'right: ', calls, ' calls, ', checks, ' checks'
end program
