! ranks: 1 2
! The arrays of datatypes of non-blocking and persistent calls are freed with their requests, completed one by one and together.
program kept_datatypes
  use mpi_f08
  implicit none
  integer, parameter :: rounds = 20000
  integer :: ranks, i, k, before
  integer, allocatable, asynchronous :: from(:), to(:)
  integer, allocatable :: counts(:), places(:)
  type(MPI_Datatype), allocatable :: types(:, :)
  type(MPI_Datatype) :: element
  type(MPI_Request) :: requests(2)
  logical :: flag
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  ! Long arrays, of which many would be seen.
  allocate (from(ranks), to(ranks), counts(ranks), places(ranks), types(ranks, 2))
  from = 7
  counts = 1
  places = [(4 * i, i = 0, ranks - 1)]
  before = 0
  do i = 1, rounds
    if (i == rounds / 4) before = pages()
    call MPI_Type_dup(MPI_INTEGER, element)
    types = element
    to = -1
    select case (mod(i, 3))
    case (0)
      call MPI_Ialltoallw(from, counts, places, types(:, 1), to, counts, places, types(:, 2), MPI_COMM_WORLD, requests(1))
      types = MPI_DATATYPE_NULL
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (1)
      requests(2) = MPI_REQUEST_NULL
      call MPI_Ialltoallw(from, counts, places, types(:, 1), to, counts, places, types(:, 2), MPI_COMM_WORLD, requests(1))
      types = MPI_DATATYPE_NULL
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (2)
      call MPI_Alltoallw_init(from, counts, places, types(:, 1), to, counts, places, types(:, 2), MPI_COMM_WORLD, MPI_INFO_NULL, &
                              requests(1))
      types = MPI_DATATYPE_NULL
      do k = 1, 2
        to = -1
        call MPI_Start(requests(1))
        flag = .false.
        do while (.not. flag)
          call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE)
        end do
      end do
      call MPI_Request_free(requests(1))
    end select
    call MPI_F_sync_reg(to)
    if (any(to /= 7)) then
      print *, 'wrong: round', i, to
      stop 1
    end if
    call MPI_Type_free(element)
  end do
  if (pages() - before > 120) then
    print *, 'wrong: memory grows by pages:', pages() - before
    stop 1
  end if
  call MPI_Finalize()
contains
  ! How many pages the process has.
  integer function pages()
    integer :: unit, all
    open (newunit=unit, file='/proc/self/statm', action='read')
    read (unit, *) all, pages
    close (unit)
  end function
end program
