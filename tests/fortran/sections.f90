! ranks: 1 2 4
! Sections of arrays with gaps, at random: what arrives in one is what was sent from the other, and nothing beside it is touched.
program sections
  use mpi_f08
  implicit none
  integer :: rank, ranks, next, last, round, ierr, i
  integer, target, asynchronous :: from(8, 7, 6), to(8, 7, 6)
  integer :: expected(8, 7, 6), low(3), high(3), step(3), n, part
  integer, allocatable :: flat(:), gathered(:, :)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type pair
    integer :: a, b
  end type
  type(pair) :: pairs(10), others(10)
  complex :: z(6, 2), w(6, 2)
  real :: x(10), y(10)
  real, allocatable :: at_root(:, :)
  double precision :: longer(10)
  type(MPI_Datatype) :: triple
  integer :: deep(2, 3, 2, 3, 2, 3, 4), other(2, 3, 2, 3, 2, 3, 4), wanted(2, 3, 2, 3, 2, 3, 4)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  do round = 1, 300
    do i = 1, 3
      low(i) = draw(3)
      high(i) = low(i) + draw(9 - i - low(i)) - 1
      step(i) = draw(3)
      if (draw(2) == 1) then
        step(i) = -step(i)
        n = low(i)
        low(i) = high(i)
        high(i) = n
      end if
    end do
    from = reshape([(1000 * rank + i, i = 1, 336)], shape(from))
    to = -1
    expected = -1
    n = size(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)))
    part = n
    if (draw(2) == 1) part = draw(n)
    flat = reshape(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)) - 1000 * rank + 1000 * last, [n])
    flat(part + 1:) = -1
    expected(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)) = &
      reshape(flat, shape(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3))))
    select case (draw(3))
    case (1)
      call MPI_Sendrecv(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), part, MPI_INTEGER, next, 1, &
                        to(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), part, MPI_INTEGER, last, 1, &
                        MPI_COMM_WORLD, status)
    case (2)
      call MPI_Irecv(to(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), part, MPI_INTEGER, last, 1, &
                     MPI_COMM_WORLD, requests(1))
      call MPI_Isend(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), part, MPI_INTEGER, next, 1, &
                     MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    case (3)
      ! Bytes of which several make an element.
      call MPI_Irecv(to(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), 4 * part, MPI_BYTE, last, 1, &
                     MPI_COMM_WORLD, requests(1))
      call MPI_Send(from(low(1):high(1):step(1), low(2):high(2):step(2), low(3):high(3):step(3)), 4 * part, MPI_BYTE, next, 1, &
                    MPI_COMM_WORLD)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    end select
    call check(.not. any(to /= expected), 'a section')
  end do
  ! Components of derived types.
  pairs%a = rank
  pairs%b = -1
  others%a = -2
  others%b = -3
  call MPI_Sendrecv(pairs(::2)%a, 5, MPI_INTEGER, next, 1, others(10:2:-2)%b, 5, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status)
  call check(all(others%a == -2), 'what is beside components')
  call check(all(others(1::2)%b == -3), 'components between those received')
  call check(all(others(2::2)%b == last), 'components')
  ! As many dimensions as Fortran 2003 has.
  deep = rank + reshape([(1000 * i, i = 1, size(deep))], shape(deep))
  other = -1
  wanted = -1
  wanted(:, ::2, 2:1:-1, 1, :, 3:1:-2, ::3) = deep(:, ::2, 2:1:-1, 1, :, 3:1:-2, ::3) - rank + last
  n = size(deep(:, ::2, 2:1:-1, 1, :, 3:1:-2, ::3))
  call MPI_Sendrecv(deep(:, ::2, 2:1:-1, 1, :, 3:1:-2, ::3), n, MPI_INTEGER, next, 1, &
                    other(:, ::2, 2:1:-1, 1, :, 3:1:-2, ::3), n, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status)
  call check(all(other == wanted), 'six dimensions')
  wanted = -1
  wanted(::2, ::2, ::2, ::2, ::2, ::2, ::2) = deep(::2, ::2, ::2, ::2, ::2, ::2, ::2) - rank + last
  other = -1
  n = size(deep(::2, ::2, ::2, ::2, ::2, ::2, ::2))
  call MPI_Sendrecv(deep(::2, ::2, ::2, ::2, ::2, ::2, ::2), n, MPI_INTEGER, next, 1, &
                    other(::2, ::2, ::2, ::2, ::2, ::2, ::2), n, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status)
  call check(all(other == wanted), 'seven dimensions')
  ! Parts of elements.
  z = cmplx(rank, rank + 1)
  w = -1
  call MPI_Sendrecv(z(::2, :), 12, MPI_REAL, next, 1, w(::2, :), 6, MPI_COMPLEX, last, 1, MPI_COMM_WORLD, status)
  call check(all(w(::2, :) == cmplx(last, last + 1)) .and. all(w(2::2, :) == -1), 'parts of elements')
  ! Collectives whose buffers hold several runs, and those that compute.
  x = -1
  y = rank
  allocate (gathered(3, 2 * ranks))
  gathered = -1
  call MPI_Allgather([rank, rank + 1], 2, MPI_INTEGER, gathered(2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call check(gathered(2, 2 * ranks) == ranks .and. all(gathered(1, :) == -1) .and. all(gathered(3, :) == -1), 'MPI_Allgather')
  gathered = -1
  call MPI_Allgather([rank, rank + 1], 2, MPI_INTEGER, gathered(1:3:2, ::2), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call check(gathered(3, 2 * ranks - 1) == ranks .and. all(gathered(2, :) == -1), 'MPI_Allgather with a copy')
  call MPI_Allreduce(y(::3), x(::3), 4, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
  call check(all(x(::3) == ranks - 1) .and. all(x(2::3) == -1), 'MPI_Allreduce')
  call assumed_size(x, 10)
  ! No gaps are no matter.
  call MPI_Bcast(from(:, :, 2:3), 112, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Bcast(from(1:0:2, 1, 1), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
  ! What cannot be done while the program goes on is refused.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Iallreduce(y(::3), x(::3), 4, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, requests(1), ierr)
  call check(class(ierr) == MPI_ERR_BUFFER, 'a refused section')
  ! So is a datatype that does not fill elements: nothing is sent.
  longer = 1
  call MPI_Type_contiguous(3, MPI_INTEGER, triple)
  call MPI_Type_commit(triple)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Send(longer(::2), 2, triple, 0, 1, MPI_COMM_SELF, ierr)
  call check(class(ierr) == MPI_ERR_TYPE, 'a datatype that does not fill elements')
  call MPI_Type_free(triple)
  ! What is allocated at the root only, and an empty section of several dimensions.
  if (rank == 0) allocate (at_root(1, ranks))
  y = rank
  call MPI_Gather(y, 1, MPI_REAL, at_root, 1, MPI_REAL, 0, MPI_COMM_WORLD)
  if (rank == 0) call check(at_root(1, ranks) == ranks - 1, 'an array that is allocated at the root')
  call MPI_Allreduce(MPI_IN_PLACE, from(1:7:2, 5:1, 1), 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
contains
  ! The class of an error: other libraries have codes of more than that.
  integer function class(code)
    integer, intent(in) :: code
    integer :: ignored
    call MPI_Error_class(code, class, ignored)
  end function
  subroutine assumed_size(a, n)
    integer, intent(in) :: n
    real :: a(*)
    a(1:n) = rank
    call MPI_Bcast(a, n, MPI_REAL, 0, MPI_COMM_WORLD)
    call check(all(a(1:n) == 0), 'an array of assumed size')
  end subroutine
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what, round
    stop 1
  end subroutine
  ! From 1 to n, the same on all ranks.
  integer function draw(n)
    integer, intent(in) :: n
    integer, save :: state = 12345
    state = ieor(state, ishft(state, 13))
    state = ieor(state, ishft(state, -17))
    state = ieor(state, ishft(state, 5))
    draw = 1 + modulo(state, max(n, 1))
  end function
end program
