! Messages: all ways to send and receive one, probes, matched receives, partitions.
#include "form.h"
subroutine point_to_point
  use form
  use, intrinsic :: iso_c_binding
  implicit none
  BUFFERS :: a(10), b(10)
  integer :: i, mode
  integer(nk) :: count, overhead
  integer(xk) :: large
  logical :: flag
  REQUEST :: r, q, both(2)
  MESSAGE :: message
  STATUS(s)
  STATUSES(ss, 2)
  integer, target :: buffer(1000)
  ADDRESS :: place
  family = 'point to point'
  a = [(1000 * rank + i, i = 1, 10)]
  b = -1
  overhead = 4 * 1000
  call MPI_Buffer_attach(buffer, overhead, ierr); OK
  do mode = 1, 8
    call MPI_Irecv(b, 10_nk, MPI_INTEGER, last, mode, MPI_COMM_WORLD, r, ierr); OK
    CHECK(r /= MPI_REQUEST_NULL)
    call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
    q = MPI_REQUEST_NULL
    select case (mode)
    case (1)
      call MPI_Send(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, ierr); OK
    case (2)
      call MPI_Ssend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, ierr); OK
    case (3)
      call MPI_Rsend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, ierr); OK
    case (4)
      call MPI_Bsend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, ierr); OK
    case (5)
      call MPI_Isend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, q, ierr); OK
    case (6)
      call MPI_Issend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, q, ierr); OK
    case (7)
      call MPI_Irsend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, q, ierr); OK
    case (8)
      call MPI_Ibsend(a, 5_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, q, ierr); OK
    end select
    CHECK((q /= MPI_REQUEST_NULL) .eqv. mode > 4)
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
    call MPI_Wait(r, s, ierr); OK
    CHECK(q == MPI_REQUEST_NULL .and. r == MPI_REQUEST_NULL)
    CHECK(SOURCE(s) == last .and. TAG(s) == mode)
    call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
    CHECK(count == 5)
    call MPI_Get_elements(s, MPI_INTEGER, count, ierr); OK
    CHECK(count == 5)
    call MPI_Get_elements_x(s, MPI_INTEGER, large, ierr); OK
    CHECK(large == 5)
    call got(5)
  end do
  ! Persistent ones, twice each.
  do mode = 1, 4
    call MPI_Recv_init(b, 10_nk, MPI_INTEGER, last, mode, MPI_COMM_WORLD, both(1), ierr); OK
    select case (mode)
    case (1)
      call MPI_Send_init(a, 7_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, both(2), ierr); OK
    case (2)
      call MPI_Ssend_init(a, 7_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, both(2), ierr); OK
    case (3)
      call MPI_Rsend_init(a, 7_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, both(2), ierr); OK
    case (4)
      call MPI_Bsend_init(a, 7_nk, MPI_INTEGER, next, mode, MPI_COMM_WORLD, both(2), ierr); OK
    end select
    call MPI_Start(both(1), ierr); OK
    call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
    call MPI_Start(both(2), ierr); OK
    call MPI_Waitall(2, both, ss, ierr); OK
    CHECK(SOURCE_OF(ss, 1) == last)
    call got(7)
    if (mode /= 3) then
      call MPI_Startall(2, both, ierr); OK
      call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr); OK
      call got(7)
    end if
    CHECK(both(1) /= MPI_REQUEST_NULL)
    call MPI_Request_free(both(1), ierr); OK
    call MPI_Request_free(both(2), ierr); OK
    CHECK(both(1) == MPI_REQUEST_NULL .and. both(2) == MPI_REQUEST_NULL)
  end do
  call MPI_Buffer_detach(ATTACHED(buffer, place), overhead, ierr); OK
  CHECK(overhead == 4 * 1000)
  ! Both at once.
  call MPI_Sendrecv(a, 3_nk, MPI_INTEGER, next, 1, b, 10_nk, MPI_INTEGER, last, 1, MPI_COMM_WORLD, s, ierr); OK
  CHECK(SOURCE(s) == last)
  call got(3)
  b(1:4) = a(1:4)
  call MPI_Sendrecv_replace(b, 4_nk, MPI_INTEGER, next, 2, last, 2, MPI_COMM_WORLD, s, ierr); OK
  CHECK(TAG(s) == 2)
  call got(4)
  call MPI_Isendrecv(a, 6_nk, MPI_INTEGER, next, 3, b, 10_nk, MPI_INTEGER, last, 3, MPI_COMM_WORLD, r, ierr); OK
  call MPI_Wait(r, s, ierr); OK
  call got(6)
  b(1:2) = a(1:2)
  call MPI_Isendrecv_replace(b, 2_nk, MPI_INTEGER, next, 4, last, 4, MPI_COMM_WORLD, r, ierr); OK
  call MPI_Wait(r, s, ierr); OK
  call got(2)
  ! What is looked at before it is received.
  call MPI_Isend(a, 8_nk, MPI_INTEGER, next, 5, MPI_COMM_WORLD, q, ierr); OK
  call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s, ierr); OK
  CHECK(SOURCE(s) == last .and. TAG(s) == 5)
  flag = .false.
  do while (.not. flag)
    call MPI_Iprobe(last, 5, MPI_COMM_WORLD, flag, s, ierr); OK
  end do
  call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
  CHECK(count == 8)
  call MPI_Recv(b, count, MPI_INTEGER, last, 5, MPI_COMM_WORLD, s, ierr); OK
  call got(8)
  call MPI_Wait(q, s, ierr); OK
  call MPI_Iprobe(last, 55, MPI_COMM_WORLD, flag, s, ierr); OK
  CHECK(.not. flag)
  call MPI_Isend(a, 9_nk, MPI_INTEGER, next, 6, MPI_COMM_WORLD, q, ierr); OK
  call MPI_Mprobe(last, 6, MPI_COMM_WORLD, message, s, ierr); OK
  CHECK(message /= MPI_MESSAGE_NULL)
  call MPI_Mrecv(b, 10_nk, MPI_INTEGER, message, s, ierr); OK
  CHECK(message == MPI_MESSAGE_NULL .and. TAG(s) == 6)
  call got(9)
  call MPI_Wait(q, s, ierr); OK
  call MPI_Isend(a, 10_nk, MPI_INTEGER, next, 7, MPI_COMM_WORLD, q, ierr); OK
  flag = .false.
  do while (.not. flag)
    call MPI_Improbe(last, 7, MPI_COMM_WORLD, flag, message, s, ierr); OK
  end do
  call MPI_Imrecv(b, 10_nk, MPI_INTEGER, message, r, ierr); OK
  call MPI_Wait(r, s, ierr); OK
  CHECK(message == MPI_MESSAGE_NULL .and. SOURCE(s) == last)
  call got(10)
  call MPI_Wait(q, s, ierr); OK
  call MPI_Improbe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, flag, message, s, ierr); OK
  CHECK(flag .and. message == MPI_MESSAGE_NO_PROC .and. SOURCE(s) == MPI_PROC_NULL)
  call MPI_Mrecv(b, 10_nk, MPI_INTEGER, message, s, ierr); OK
  ! Nobody.
  call MPI_Sendrecv(a, 3_nk, MPI_INTEGER, MPI_PROC_NULL, 1, b, 10_nk, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, s, ierr); OK
  call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
  CHECK(SOURCE(s) == MPI_PROC_NULL .and. count == 0)
  ! Partitions.
  call MPI_Psend_init(a, 5, 2_xk, MPI_INTEGER, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, both(1), ierr); OK
  call MPI_Precv_init(b, 2, 5_xk, MPI_INTEGER, last, 8, MPI_COMM_WORLD, MPI_INFO_NULL, both(2), ierr); OK
  do i = 1, 2
    call MPI_Startall(2, both, ierr); OK
    call MPI_Pready(0, both(1), ierr); OK
    call MPI_Pready_range(1, 2, both(1), ierr); OK
    call MPI_Pready_list(2, [4, 3], both(1), ierr); OK
#if !(defined(OLD) && defined(MODULE))
    flag = .false.
    do while (.not. flag)
      call MPI_Parrived(both(2), 1, flag, ierr); OK
    end do
#endif
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr); OK
    call got(10)
  end do
  call MPI_Request_free(both(1), ierr); OK
  call MPI_Request_free(both(2), ierr); OK
contains
  ! This many elements have come from the process before, and nothing beside them.
  subroutine got(n)
    integer, intent(in) :: n
    call MPI_F_sync_reg(b)
    CHECK(all(b(:n) == [(1000 * last + i, i = 1, n)]) .and. all(b(n + 1:) == -1))
    b = -1
  end subroutine
end subroutine
