! ranks: 1 3
! Sections of arrays with gaps: datatypes of several elements, what is refused, and what is not looked at.
program datatypes_of_sections
  use mpi_f08
  implicit none
  integer :: rank, ranks, ierr, position, disp_unit
  integer(MPI_ADDRESS_KIND) :: bytes
  integer :: from(12), in_window(4), dense(4), packed(64)
  integer, allocatable :: gathered(:)
  character :: room(4096)
  type(MPI_Datatype) :: two, four, swapped
  type(MPI_Request) :: request
  type(MPI_Win) :: win
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  from = [10, 0, 20, 0, 30, 0, 40, 0, 50, 0, 60, 0] + rank
  ! A datatype of several elements is told by its elements: an accumulate takes it.
  call MPI_Type_contiguous(2, MPI_INTEGER, two)
  call MPI_Type_vector(2, 1, 1, two, four)
  call MPI_Type_commit(two)
  call MPI_Type_commit(four)
  in_window = 1
  bytes = 16
  disp_unit = 4
  call MPI_Win_create(in_window, bytes, disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call MPI_Win_fence(0, win)
  call MPI_Accumulate(from(1:7:2), 1, four, rank, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win, ierr)
  call check(ierr == MPI_SUCCESS, 'an accumulate of a datatype of several elements')
  call MPI_Win_fence(0, win)
  call check(all(in_window == from(1:7:2) + 1), 'the sums of an accumulate')
  call MPI_Win_free(win)
  ! One that has them in another order is refused.
  call MPI_Type_indexed(2, [1, 1], [1, 0], MPI_INTEGER, swapped)
  call MPI_Type_commit(swapped)
  call MPI_Send(from(::2), 2, swapped, 0, 1, MPI_COMM_SELF, ierr)
  call check(ierr == MPI_ERR_TYPE, 'elements in another order')
  call MPI_Sendrecv(from(1:7:2), 2, two, 0, 1, dense, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call check(ierr == MPI_SUCCESS .and. all(dense == from(1:7:2)), 'a message of a datatype of several elements')
  ! So is memory that is used as bytes.
  position = 0
  call MPI_Pack(from, 2, MPI_INTEGER, packed(::2), 128, position, MPI_COMM_SELF, ierr)
  call check(ierr == MPI_ERR_BUFFER .and. position == 0, 'MPI_Pack')
  call MPI_Unpack(packed(::2), 128, position, from, 2, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(ierr == MPI_ERR_BUFFER .and. position == 0, 'MPI_Unpack')
  call MPI_Win_create(packed(::2), bytes, disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call check(ierr == MPI_ERR_BUFFER, 'MPI_Win_create')
  call MPI_Buffer_attach(room(::2), 2048, ierr)
  call check(ierr == MPI_ERR_BUFFER, 'MPI_Buffer_attach')
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call MPI_Win_attach(win, packed(::2), bytes, ierr)
  call check(ierr == MPI_ERR_BUFFER, 'MPI_Win_attach')
  call MPI_Win_free(win)
  ! What members other than the root give for its buffer is not looked at.
  allocate (gathered(ranks))
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  gathered = -1
  if (rank == 0) then
    call MPI_Gather(rank, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Gather(rank, 1, MPI_INTEGER, from(::2), 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
  end if
  if (rank == 0) call check(gathered(ranks) == ranks - 1, 'MPI_Gather')
  if (rank == 0) then
    call MPI_Ireduce(rank, gathered, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request, ierr)
  else
    call MPI_Ireduce(rank, from(::2), 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request, ierr)
  end if
  call check(ierr == MPI_SUCCESS, 'MPI_Ireduce with a section elsewhere')
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (rank == 0) call check(gathered(1) == ranks * (ranks - 1) / 2, 'MPI_Ireduce')
  call MPI_Type_free(two)
  call MPI_Type_free(four)
  call MPI_Type_free(swapped)
  call MPI_Finalize()
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what
    stop 1
  end subroutine
end program
