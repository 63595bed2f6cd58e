! What MPI_REAL, MPI_DOUBLE_PRECISION and their kin mean where an option has made REALs longer (tests/fortran.rs), in the form of tests/fortran/every/form.h.
#include "every/form.h"
program long_reals
  use form
  implicit none
  real :: x(3), sum_of_x(3)
  double precision :: y(3), sum_of_y(3)
  complex :: z(2), sum_of_z(2)
  real :: pair(2), largest(2)
  integer :: bytes
  family = 'long reals'
  call MPI_Init(ierr); OK
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr); OK
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr); OK
  call MPI_Type_size(MPI_REAL, bytes, ierr); OK
  CHECK(bytes == storage_size(x) / 8)
  call MPI_Type_size(MPI_DOUBLE_PRECISION, bytes, ierr); OK
  CHECK(bytes == storage_size(y) / 8)
  call MPI_Type_size(MPI_COMPLEX, bytes, ierr); OK
  CHECK(bytes == storage_size(z) / 8)
  ! Values that have more digits than REALs of 4 bytes have.
  x = [1, 2, 3] + 2.0**(-30) * rank
  y = [4, 5, 6] + 2d0**(-60) * rank
  z = [cmplx(rank, 1 + 2.0**(-30), kind(x)), cmplx(7, -rank, kind(x))]
  pair = [real(mod(rank + 1, ranks)), real(rank)]
  call MPI_Allreduce(x, sum_of_x, 3, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr); OK
  CHECK(all(sum_of_x == ranks * [1, 2, 3] + 2.0**(-30) * ranks * (ranks - 1) / 2))
  call MPI_Allreduce(y, sum_of_y, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr); OK
  CHECK(all(sum_of_y == ranks * [4, 5, 6] + 2d0**(-60) * ranks * (ranks - 1) / 2))
  call MPI_Allreduce(z, sum_of_z, 2, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr); OK
  CHECK(sum_of_z(2) == cmplx(7 * ranks, -ranks * (ranks - 1) / 2, kind(x)))
  CHECK(aimag(sum_of_z(1)) == ranks * (1 + 2.0**(-30)))
  call MPI_Allreduce(pair, largest, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, ierr); OK
  CHECK(largest(1) == ranks - 1 .and. nint(largest(2)) == ranks - 2 + merge(1, 0, ranks == 1))
  CHECK(MPI_Wtime() >= 0 .and. MPI_Wtime() < 1d12 .and. MPI_Wtick() > 0 .and. MPI_Wtick() < 1)
  call MPI_Finalize(ierr); OK
  if (rank == 0) print '(a)', 'right'
end program
