! Collectives among neighbours, on a ring whose members send one way.
#include "form.h"
subroutine neighbours
  use form
  implicit none
  integer :: way, i
  BUFFERS :: a(3), b(4)
  integer(nk) :: counts(1), places(1)
  integer(ak) :: bytes(1)
  DATATYPE :: types(1), kinds(1)
  COMM :: ring
  REQUEST :: q
  family = 'neighbours'
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [last], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, MPI_INFO_NULL, &
    .false., ring, ierr); OK
  a = [(10 * rank + i, i = 1, 3)]
  b = -1
  counts = 2
  places = 1
  bytes = 4
  do way = 1, 3
    q = MPI_REQUEST_NULL
#define GIVEN a, 3_nk, MPI_INTEGER, b, 3_nk, MPI_INTEGER, ring
    select case (way)
    case (1)
      call MPI_Neighbor_allgather(GIVEN, ierr); OK
    case (2)
      call MPI_Ineighbor_allgather(GIVEN, q, ierr); OK
    case (3)
      call MPI_Neighbor_allgather_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete(1, 3, 1)
    select case (way)
    case (1)
      call MPI_Neighbor_alltoall(GIVEN, ierr); OK
    case (2)
      call MPI_Ineighbor_alltoall(GIVEN, q, ierr); OK
    case (3)
      call MPI_Neighbor_alltoall_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete(1, 3, 1)
#undef GIVEN
#define GIVEN a, 2_nk, MPI_INTEGER, b, counts, places, MPI_INTEGER, ring
    select case (way)
    case (1)
      call MPI_Neighbor_allgatherv(GIVEN, ierr); OK
    case (2)
      call MPI_Ineighbor_allgatherv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Neighbor_allgatherv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete(2, 3, 1)
#undef GIVEN
#define GIVEN a, counts, places, MPI_INTEGER, b, counts, places, MPI_INTEGER, ring
    select case (way)
    case (1)
      call MPI_Neighbor_alltoallv(GIVEN, ierr); OK
    case (2)
      call MPI_Ineighbor_alltoallv(GIVEN, q, ierr); OK
    case (3)
      call MPI_Neighbor_alltoallv_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
    end select
    call complete(2, 3, 2)
#undef GIVEN
    types = MPI_INTEGER
    kinds = MPI_INTEGER
#define GIVEN a, counts, bytes, types, b, counts, bytes, kinds, ring
    select case (way)
    case (1)
      call MPI_Neighbor_alltoallw(GIVEN, ierr); OK
    case (2)
      call MPI_Ineighbor_alltoallw(GIVEN, q, ierr); OK
      types = MPI_DATATYPE_NULL
    case (3)
      call MPI_Neighbor_alltoallw_init(GIVEN, MPI_INFO_NULL, q, ierr); OK
      kinds = MPI_DATATYPE_NULL
    end select
    call complete(2, 3, 2)
#undef GIVEN
  end do
  call MPI_Comm_free(ring, ierr); OK
contains
  ! Elements from `from` to `to` have come, of which the first is the sender's `element`.
  subroutine complete(from, to, element)
    integer, intent(in) :: from, to, element
    if (way == 3) then
      call MPI_Start(q, ierr); OK
    end if
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
    if (way == 3) then
      call MPI_Request_free(q, ierr); OK
    end if
    CHECK(q == MPI_REQUEST_NULL)
    call MPI_F_sync_reg(b)
    CHECK(all(b(from:to) == [(10 * last + element + i, i = 0, to - from)]))
    CHECK(all(b(:from - 1) == -1) .and. all(b(to + 1:) == -1))
    b = -1
  end subroutine
end subroutine
