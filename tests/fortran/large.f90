! ranks: 1 2 4
! An operation on large counts, and MPI_Sizeof of anything.
program large
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(MPI_Op) :: op
  integer :: rank, ranks, total, n
  complex(kind(1d0)) :: z(2, 3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Op_create_c(add, .true., op)
  call MPI_Allreduce(rank, total, 1_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (total /= ranks * (ranks - 1) / 2) stop 1
  call MPI_Op_free(op)
  call MPI_Sizeof(z, n)
  if (n /= 16) stop 2
  call MPI_Sizeof(z(1, 1), n)
  if (n /= 16) stop 3
  call MPI_Finalize()
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
    if (datatype /= MPI_INTEGER) stop 4
  end subroutine
end program
