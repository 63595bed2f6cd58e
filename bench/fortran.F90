! What Fortran adds to C: half round trips of 8 bytes by C's functions, by mpif.h and by mpi_f08, and of sections with a stride by mpi_f08 beside a
! derived datatype by C's functions, in blocks that take turns in one process. Two ranks; medians of blocks.
!   mpifort -O2 bench/fortran.F90 -o fortran && mpiexec -n 2 ./fortran
module c_functions
  use, intrinsic :: iso_c_binding
  implicit none
  ! Handles of the standard ABI are pointers; those of the library's own have the same number in Fortran.
  interface
    integer(C_INT) function c_send(buf, count, datatype, dest, tag, comm) bind(C, name='MPI_Send')
      import
      type(C_PTR), value :: buf
      integer(C_INT), value :: count, dest, tag
      integer(C_INTPTR_T), value :: datatype, comm
    end function
    integer(C_INT) function c_recv(buf, count, datatype, source, tag, comm, status) bind(C, name='MPI_Recv')
      import
      type(C_PTR), value :: buf
      integer(C_INT), value :: count, source, tag
      integer(C_INTPTR_T), value :: datatype, comm
      type(C_PTR), value :: status
    end function
    integer(C_INTPTR_T) function datatype_of(number) bind(C, name='MPI_Type_fromint')
      import
      integer(C_INT), value :: number
    end function
  end interface
end module

program fortran
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer, parameter :: blocks = 101
  double precision, target :: short(1)
  double precision, allocatable, target, asynchronous :: long(:)
  double precision :: times(3, blocks)
  double precision :: began
  integer :: rank, i, k, n, turns
  type(MPI_Datatype) :: stripes
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  short = 0
  call by_c(short, 1, MPI_DOUBLE_PRECISION, 20000)
  do i = 1, blocks
    call start()
    call by_c(short, 1, MPI_DOUBLE_PRECISION, 5000)
    times(1, i) = stop_of(5000)
    call start()
    call by_mpif(short, 1, rank, 5000)
    times(2, i) = stop_of(5000)
    call start()
    call by_f08(short, 1, 5000)
    times(3, i) = stop_of(5000)
  end do
  if (rank == 0) print '(a,3(a,f8.4))', '8 B, half round trip in us:', '  C', median(times(1, :)), &
    '  mpif.h', median(times(2, :)), '  mpi_f08', median(times(3, :))
  do k = 7, 19, 3
    n = 2**k
    turns = max(4, 400000 / n)
    allocate (long(2 * n))
    long = 1
    call MPI_Type_vector(n, 1, 2, MPI_DOUBLE_PRECISION, stripes)
    call MPI_Type_commit(stripes)
    do i = 1, blocks / 4
      call start()
      call by_c(long, 1, stripes, turns)
      times(1, i) = stop_of(turns)
      call start()
      call by_section(long(::2), n, turns)
      times(2, i) = stop_of(turns)
    end do
    if (rank == 0) print '(i8,a,2(a,f10.3),a,f6.3)', 8 * n, ' B in every second double, in us:', &
      '  C, a vector', median(times(1, :blocks / 4)), '  mpi_f08, a section', median(times(2, :blocks / 4)), &
      '  ratio', median(times(1, :blocks / 4) / times(2, :blocks / 4))
    call MPI_Type_free(stripes)
    deallocate (long)
  end do
  call MPI_Finalize()
contains
  subroutine start()
    call MPI_Barrier(MPI_COMM_WORLD)
    began = MPI_Wtime()
  end subroutine
  double precision function stop_of(turns)
    integer, intent(in) :: turns
    stop_of = (MPI_Wtime() - began) / (2 * turns) * 1d6
  end function
  double precision function median(values)
    double precision, intent(in) :: values(:)
    double precision :: sorted(size(values)), one
    integer :: i, j
    sorted = values
    do i = 2, size(sorted)
      one = sorted(i)
      j = i
      do while (j > 1)
        if (sorted(j - 1) <= one) exit
        sorted(j) = sorted(j - 1)
        j = j - 1
      end do
      sorted(j) = one
    end do
    median = sorted((size(sorted) + 1) / 2)
  end function
  subroutine by_c(buffer, count, datatype, turns)
    use c_functions
    double precision, target :: buffer(*)
    integer, intent(in) :: count, turns
    type(MPI_Datatype), intent(in) :: datatype
    integer(C_INTPTR_T) :: comm, handle
    integer(C_INT) :: code
    integer :: i
    comm = MPI_COMM_WORLD%MPI_VAL
    handle = datatype_of(datatype%MPI_VAL)
    do i = 1, turns
      if (rank == 0) then
        code = c_send(c_loc(buffer), count, handle, 1, 1, comm)
        code = c_recv(c_loc(buffer), count, handle, 1, 1, comm, C_NULL_PTR)
      else
        code = c_recv(c_loc(buffer), count, handle, 0, 1, comm, C_NULL_PTR)
        code = c_send(c_loc(buffer), count, handle, 0, 1, comm)
      end if
    end do
  end subroutine
  subroutine by_f08(buffer, count, turns)
    double precision :: buffer(*)
    integer, intent(in) :: count, turns
    integer :: i
    do i = 1, turns
      if (rank == 0) then
        call MPI_Send(buffer, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD)
        call MPI_Recv(buffer, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      else
        call MPI_Recv(buffer, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Send(buffer, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD)
      end if
    end do
  end subroutine
  subroutine by_section(section, count, turns)
    double precision, asynchronous :: section(:)
    integer, intent(in) :: count, turns
    integer :: i
    do i = 1, turns
      if (rank == 0) then
        call MPI_Send(section, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD)
        call MPI_Recv(section, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      else
        call MPI_Recv(section, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Send(section, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD)
      end if
    end do
  end subroutine
end program

subroutine by_mpif(buffer, count, rank, turns)
  implicit none
  include 'mpif.h'
  double precision :: buffer(*)
  integer, intent(in) :: count, rank, turns
  integer :: i, ierr
  do i = 1, turns
    if (rank == 0) then
      call MPI_Send(buffer, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, ierr)
      call MPI_Recv(buffer, count, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else
      call MPI_Recv(buffer, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Send(buffer, count, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
    end if
  end do
end subroutine
