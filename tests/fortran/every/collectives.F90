! Collectives that move data, each blocking, non-blocking and persistent.
#include "form.h"
subroutine collectives
  use form
  implicit none
  integer :: way, i, root
  BUFFERS :: a(3 * 16), b(3 * 16), c(3)
  integer(nk) :: counts(16), places(16), bytes(16), counts_in(16), places_in(16)
  DATATYPE :: types(16), kinds(16)
  REQUEST :: q
  family = 'collectives'
  root = ranks - 1
  ! Rank i gives or takes i + 1 elements, which lie 3 apart.
  counts = [(int(i, nk), i = 1, 16)]
  counts = min(counts, 3_nk)
  places = [(int(3 * i, nk), i = 0, 15)]
  counts_in = min(rank + 1, 3)
  do way = 1, 3
    q = MPI_REQUEST_NULL
    select case (way)
    case (1)
      call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
    case (2)
      call MPI_Ibarrier(MPI_COMM_WORLD, q, ierr); OK
    case (3)
      call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()

    c = merge([1, 2, 3], [0, 0, 0], rank == root)
#define GIVEN c, 3_nk, MPI_INTEGER, root, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Bcast(GIVEN, ierr); OK
    case (2)
      call MPI_Ibcast(GIVEN, q, ierr); OK
    case (3)
      call MPI_Bcast_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(all(c == [1, 2, 3]))
#undef GIVEN

    c = [(10 * rank + i, i = 1, 3)]
    b = -1
#define GIVEN c, 3_nk, MPI_INTEGER, b, 3_nk, MPI_INTEGER, root, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Gather(GIVEN, ierr); OK
    case (2)
      call MPI_Igather(GIVEN, q, ierr); OK
    case (3)
      call MPI_Gather_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    if (rank == root) call whole()
    CHECK(rank == root .or. all(b == -1))
#undef GIVEN

    b = -1
#define GIVEN c, counts(rank + 1), MPI_INTEGER, b, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Gatherv(GIVEN, ierr); OK
    case (2)
      call MPI_Igatherv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Gatherv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    if (rank == root) call stairs()
#undef GIVEN

    a = -2
    a(:3 * ranks) = [(10 * ((i - 1) / 3) + mod(i - 1, 3) + 1, i = 1, 3 * ranks)]
    c = -1
#define GIVEN a, 3_nk, MPI_INTEGER, c, 3_nk, MPI_INTEGER, root, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Scatter(GIVEN, ierr); OK
    case (2)
      call MPI_Iscatter(GIVEN, q, ierr); OK
    case (3)
      call MPI_Scatter_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(all(c == [(10 * rank + i, i = 1, 3)]))
#undef GIVEN

    c = -1
#define GIVEN a, counts, places, MPI_INTEGER, c, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Scatterv(GIVEN, ierr); OK
    case (2)
      call MPI_Iscatterv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Scatterv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    i = int(counts(rank + 1))
    CHECK(c(i) == 10 * rank + i .and. all(c(i + 1:) == -1))
#undef GIVEN

    c = [(10 * rank + i, i = 1, 3)]
    b = -1
#define GIVEN c, 3_nk, MPI_INTEGER, b, 3_nk, MPI_INTEGER, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Allgather(GIVEN, ierr); OK
    case (2)
      call MPI_Iallgather(GIVEN, q, ierr); OK
    case (3)
      call MPI_Allgather_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    call whole()
#undef GIVEN

    b = -1
#define GIVEN c, counts(rank + 1), MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Allgatherv(GIVEN, ierr); OK
    case (2)
      call MPI_Iallgatherv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Allgatherv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    call stairs()
#undef GIVEN

    ! To rank k go 100 * rank + 10 * k + 1, 2, 3.
    a(:3 * ranks) = [(100 * rank + 10 * ((i - 1) / 3) + mod(i - 1, 3) + 1, i = 1, 3 * ranks)]
    b = -1
#define GIVEN a, 3_nk, MPI_INTEGER, b, 3_nk, MPI_INTEGER, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Alltoall(GIVEN, ierr); OK
    case (2)
      call MPI_Ialltoall(GIVEN, q, ierr); OK
    case (3)
      call MPI_Alltoall_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    call turned(.true.)
#undef GIVEN

    ! Who takes them knows by its own rank how many.
    b = -1
    places_in = places
#define GIVEN a, counts, places, MPI_INTEGER, b, counts_in, places_in, MPI_INTEGER, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Alltoallv(GIVEN, ierr); OK
    case (2)
      call MPI_Ialltoallv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Alltoallv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    call turned(.false.)
#undef GIVEN

    b = -1
    bytes = 4 * places
    types = MPI_INTEGER
    kinds = MPI_INTEGER
#define GIVEN a, counts, bytes, types, b, counts_in, bytes, kinds, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Alltoallw(GIVEN, ierr); OK
    case (2)
      call MPI_Ialltoallw(GIVEN, q, ierr); OK
      ! The arrays of datatypes are looked at in the call.
      types = MPI_DATATYPE_NULL
    case (3)
      call MPI_Alltoallw_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
      kinds = MPI_DATATYPE_NULL
    end select
    call complete()
    call turned(.false.)
#undef GIVEN
  end do
contains
  ! The operation is over; a persistent one is started, and freed.
  subroutine complete()
    if (way == 3) then
      call MPI_Start(q, ierr); OK
    end if
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
    if (way == 3) then
      CHECK(q /= MPI_REQUEST_NULL)
      call MPI_Request_free(q, ierr); OK
    end if
    CHECK(q == MPI_REQUEST_NULL)
    call MPI_F_sync_reg(a)
    call MPI_F_sync_reg(b)
    call MPI_F_sync_reg(c)
  end subroutine
  ! All have given three elements.
  subroutine whole()
    CHECK(all(b(:3 * ranks) == [(10 * ((i - 1) / 3) + mod(i - 1, 3) + 1, i = 1, 3 * ranks)]))
    CHECK(all(b(3 * ranks + 1:) == -1))
  end subroutine
  ! Rank k has given k + 1 elements, three at most.
  subroutine stairs()
    integer :: k, n
    do k = 0, ranks - 1
      n = min(k + 1, 3)
      CHECK(all(b(3 * k + 1:3 * k + n) == [(10 * k + i, i = 1, n)]) .and. all(b(3 * k + n + 1:3 * k + 3) == -1))
    end do
    CHECK(all(b(3 * ranks + 1:) == -1))
  end subroutine
  subroutine turned(all_three)
    logical, intent(in) :: all_three
    integer :: k, n
    n = merge(3, min(rank + 1, 3), all_three)
    do k = 0, ranks - 1
      CHECK(all(b(3 * k + 1:3 * k + n) == [(100 * k + 10 * rank + i, i = 1, n)]) .and. all(b(3 * k + n + 1:3 * k + 3) == -1))
    end do
  end subroutine
end subroutine

! Collectives that compute.
subroutine later_collectives
  use form
  implicit none
  integer :: way, i
  BUFFERS :: a(32), b(32), sums(2)
  integer(nk) :: counts(16)
  REQUEST :: q
  family = 'reductions'
  counts = 1
  counts(1) = 2
  do way = 1, 3
    q = MPI_REQUEST_NULL
    a = [(rank + i, i = 1, 32)]
    sums = [ranks * (ranks - 1) / 2 + ranks, ranks * (ranks - 1) / 2 + 2 * ranks]
    b = -1
#define GIVEN a, b, 2_nk, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Reduce(GIVEN, ierr); OK
    case (2)
      call MPI_Ireduce(GIVEN, q, ierr); OK
    case (3)
      call MPI_Reduce_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(rank /= ranks - 1 .or. all(b(:2) == sums))
    CHECK(all(b(3:) == -1))
#undef GIVEN
    b = -1
#define GIVEN a, b, 2_nk, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Allreduce(GIVEN, ierr); OK
    case (2)
      call MPI_Iallreduce(GIVEN, q, ierr); OK
    case (3)
      call MPI_Allreduce_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(all(b(:2) == sums) .and. all(b(3:) == -1))
    b = -1
    select case (way)
    case (1)
      call MPI_Scan(GIVEN, ierr); OK
    case (2)
      call MPI_Iscan(GIVEN, q, ierr); OK
    case (3)
      call MPI_Scan_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(b(1) == (rank + 1) * (rank + 2) / 2 .and. all(b(3:) == -1))
    b = -1
    select case (way)
    case (1)
      call MPI_Exscan(GIVEN, ierr); OK
    case (2)
      call MPI_Iexscan(GIVEN, q, ierr); OK
    case (3)
      call MPI_Exscan_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(rank == 0 .or. b(1) == rank * (rank + 1) / 2)
#undef GIVEN
    b = -1
#define GIVEN a, b, counts, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Reduce_scatter(GIVEN, ierr); OK
    case (2)
      call MPI_Ireduce_scatter(GIVEN, q, ierr); OK
    case (3)
      call MPI_Reduce_scatter_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(b(1) == ranks - 1 + merge(1, rank + 2, rank == 0) .and. (b(2) == -1 .neqv. rank == 0))
#undef GIVEN
    b = -1
#define GIVEN a, b, 2_nk, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD
    select case (way)
    case (1)
      call MPI_Reduce_scatter_block(GIVEN, ierr); OK
    case (2)
      call MPI_Ireduce_scatter_block(GIVEN, q, ierr); OK
    case (3)
      call MPI_Reduce_scatter_block_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete()
    CHECK(b(1) == 2 * rank + 1 .and. b(2) == 2 * rank + 2 .and. b(3) == -1)
#undef GIVEN
  end do
  a = 3
  b = 4
  call MPI_Reduce_local(a, b, 2_nk, MPI_INTEGER, MPI_PROD, ierr); OK
  CHECK(all(b(:2) == 12) .and. all(b(3:) == 4))
  b(1) = rank
  call MPI_Allreduce(MPI_IN_PLACE, b, 1_nk, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr); OK
  CHECK(b(1) == ranks - 1)
contains
  subroutine complete()
    if (way == 3) then
      call MPI_Start(q, ierr); OK
    end if
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
    if (way == 3) then
      call MPI_Request_free(q, ierr); OK
    end if
    CHECK(q == MPI_REQUEST_NULL)
    call MPI_F_sync_reg(b)
  end subroutine
end subroutine
