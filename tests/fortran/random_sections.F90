! ranks: 1 2 4
! Sections at random, of arrays of each rank from 1 to 7, with strides of either sign and without elements, as they are, through dummies of assumed
! shape, assumed rank and explicit shape, by several procedures: what arrives in one is what was sent from the other, and nothing beside it is touched.
! The seed is printed; ISTHMUS_TEST_SEED sets it.
#define S1 low(1):high(1):step(1)
#define S2 S1, low(2):high(2):step(2)
#define S3 S2, low(3):high(3):step(3)
#define S4 S3, low(4):high(4):step(4)
#define S5 S4, low(5):high(5):step(5)
#define S6 S5, low(6):high(6):step(6)
#define S7 S6, low(7):high(7):step(7)
#define EXCHANGE(a, b, e, s) call numbered(a, size(a)); b = -1; e = -1; n = size(a(s)); \
  flat = reshape(a(s), [n]) + 10000 * (partner - rank); e(s) = reshape(flat, shape(e(s))); \
  if (way == 6) then; call explicit_shape(a(s), b(s), n); else; call transfer_between(a(s), b(s)); end if; right = all(b == e)
program random_sections
  use mpi_f08
  implicit none
  integer, asynchronous :: a1(40), b1(40), a2(9, 8), b2(9, 8), a3(6, 5, 6), b3(6, 5, 6), a4(4, 4, 4, 4), b4(4, 4, 4, 4)
  integer, asynchronous :: a5(4, 3, 4, 3, 3), b5(4, 3, 4, 3, 3), a6(3, 3, 3, 3, 2, 3), b6(3, 3, 3, 3, 2, 3)
  integer, asynchronous :: a7(3, 2, 3, 2, 3, 2, 3), b7(3, 2, 3, 2, 3, 2, 3)
  integer :: e1(40), e2(9, 8), e3(6, 5, 6), e4(4, 4, 4, 4), e5(4, 3, 4, 3, 3), e6(3, 3, 3, 3, 2, 3), e7(3, 2, 3, 2, 3, 2, 3)
  integer :: rank, ranks, next, last, partner, round, dimensions, i, n, error, seed, way
  integer :: low(7), high(7), step(7)
  integer(MPI_ADDRESS_KIND) :: bytes
  integer, allocatable :: flat(:)
  logical :: right
  character(len=20) :: text
  character(len=300) :: name
  integer, asynchronous :: exposed(400)
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(MPI_Datatype) :: pair
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call get_environment_variable('ISTHMUS_TEST_SEED', text)
  if (text /= ' ') then
    read (text, *) seed
  else
    call system_clock(seed)
    seed = mod(seed, 1000000)
  end if
  call MPI_Bcast(seed, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) print '(a,i0)', 'the seed is ', seed
  seed = ieor(seed, 305419896)
  call get_command_argument(1, name)
  bytes = 4 * size(exposed)
  call MPI_Win_create(exposed, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  do round = 1, 700
    dimensions = 1 + mod(round, 7)
    way = draw(9)
    partner = last
    if (way == 4) partner = ranks - 1
    select case (dimensions)
    case (1)
      call choose(shape(a1))
      EXCHANGE(a1, b1, e1, S1)
    case (2)
      call choose(shape(a2))
      EXCHANGE(a2, b2, e2, S2)
    case (3)
      call choose(shape(a3))
      EXCHANGE(a3, b3, e3, S3)
    case (4)
      call choose(shape(a4))
      EXCHANGE(a4, b4, e4, S4)
    case (5)
      call choose(shape(a5))
      EXCHANGE(a5, b5, e5, S5)
    case (6)
      call choose(shape(a6))
      EXCHANGE(a6, b6, e6, S6)
    case (7)
      call choose(shape(a7))
      EXCHANGE(a7, b7, e7, S7)
    end select
    if (right) cycle
    print *, 'wrong: round', round, ', way', way, ', low', low(:dimensions), ', high', high(:dimensions), ', step', step(:dimensions)
    stop 1
  end do
  call MPI_Type_free(pair)
  call MPI_Win_free(win)
  call MPI_Finalize()
contains
  ! A section for each dimension; one of ten is empty.
  subroutine choose(extents)
    integer, intent(in) :: extents(:)
    integer :: k, m
    do k = 1, size(extents)
      step(k) = draw(3)
      low(k) = draw(extents(k))
      high(k) = low(k) - 1 + draw(extents(k) - low(k) + 1)
      if (draw(10 * size(extents)) == 1) high(k) = low(k) - 1
      if (draw(2) == 1) cycle
      step(k) = -step(k)
      m = low(k)
      low(k) = high(k)
      high(k) = m
    end do
  end subroutine
  subroutine numbered(a, m)
    integer, intent(in) :: m
    integer, intent(out) :: a(m)
    integer :: k
    a = [(10000 * rank + k, k = 1, m)]
  end subroutine
  ! Sections of the same shape, by one of the ways.
  subroutine transfer_between(from, to)
    integer, asynchronous, intent(in) :: from(..)
    integer, asynchronous :: to(..)
    type(MPI_Request) :: requests(2)
    integer :: m
    m = size(from)
    select case (way)
    case (1)
      select rank (from)
      rank (2)
        select rank (to)
        rank (2)
          call assumed_shape(from, to)
          return
        end select
      end select
      call MPI_Sendrecv(from, m, MPI_INTEGER, next, 1, to, m, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (2)
      call MPI_Irecv(to, m, MPI_INTEGER, last, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(from, m, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (3)
      ! Persistent, and as bytes at one end.
      call MPI_Recv_init(to, 4 * m, MPI_BYTE, last, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Send_init(from, m, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2))
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call MPI_Request_free(requests(1))
      call MPI_Request_free(requests(2))
    case (4)
      call copied(from, to)
      call MPI_Bcast(to, m, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    case (5)
      call MPI_Win_fence(0, win)
      call MPI_Put(from, m, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, m, MPI_INTEGER, win)
      call MPI_Win_fence(0, win)
      call MPI_Get(to, m, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, m, MPI_INTEGER, win)
      call MPI_Win_fence(0, win)
    case (7)
      call MPI_Isend(from, m, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Recv(to, int(m, MPI_COUNT_KIND), MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    case (8)
      ! Elements in pairs, as far as they go, and the last one.
      if (mod(m, 2) == 1) then
        call MPI_Sendrecv(from, m, MPI_INTEGER, next, 1, to, m, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      else
        call MPI_Sendrecv(from, m / 2, pair, next, 1, to, m, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      end if
    case (9)
      call MPI_File_open(MPI_COMM_SELF, trim(name) // achar(iachar('a') + rank), &
                         MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
      call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, from, m, MPI_INTEGER, MPI_STATUS_IGNORE)
      call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, to, m, MPI_INTEGER, MPI_STATUS_IGNORE)
      call MPI_File_close(file)
      call MPI_Sendrecv_replace(to, m, MPI_INTEGER, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end select
  end subroutine
  subroutine copied(from, to)
    integer, intent(in) :: from(..)
    integer :: to(..)
    call MPI_Sendrecv(from, size(from), MPI_INTEGER, 0, 1, to, size(from), MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  end subroutine
  ! The compiler copies.
  subroutine explicit_shape(from, to, m)
    integer, intent(in) :: m, from(m)
    integer, intent(inout) :: to(m)
    call MPI_Sendrecv(from, m, MPI_INTEGER, next, 1, to, m, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine assumed_shape(from, to)
    integer, intent(in) :: from(:, :)
    integer, intent(inout) :: to(:, :)
    call MPI_Sendrecv(from, size(from), MPI_INTEGER, next, 1, to, size(to), MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  ! From 1 to n, the same on all ranks.
  integer function draw(m)
    integer, intent(in) :: m
    seed = ieor(seed, ishft(seed, 13))
    seed = ieor(seed, ishft(seed, -17))
    seed = ieor(seed, ishft(seed, 5))
    draw = 1 + modulo(seed, max(m, 1))
  end function
end program
