! Requests: waiting for and testing one, some and all of several; cancelling; statuses.
#include "form.h"
subroutine requests
  use form
  implicit none
  BUFFERS :: a(4), b(4)
  integer :: i, n, index, indices(4), seen, way
  integer(nk) :: count
  logical :: flag
  REQUEST :: r(4), q
  STATUS(s)
  STATUSES(ss, 4)
  integer :: old(MPI_STATUS_SIZE)
#if !defined(INCLUDE)
  type(MPI_Status) :: new
#endif
  family = 'requests'
  a = [(10 * rank + i, i = 1, 4)]
  do way = 1, 6
    b = -1
    do i = 1, 4
      call MPI_Irecv(b(i), 1_nk, MPI_INTEGER, last, i, MPI_COMM_WORLD, r(i), ierr); OK
    end do
    call MPI_Testall(4, r, flag, ss, ierr); OK
    CHECK(.not. flag)
    call MPI_Test(r(1), flag, s, ierr); OK
    CHECK(.not. flag .and. r(1) /= MPI_REQUEST_NULL)
    call MPI_Request_get_status(r(1), flag, s, ierr); OK
    CHECK(.not. flag)
    call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
    do i = 4, 1, -1
      call MPI_Send(a(i), 1_nk, MPI_INTEGER, next, i, MPI_COMM_WORLD, ierr); OK
    end do
    seen = 0
    flag = .false.
    select case (way)
    case (1)
      do i = 1, 4
        call MPI_Waitany(4, r, index, s, ierr); OK
        CHECK(TAG(s) == index .and. index >= 1 .and. index <= 4)
        seen = seen + 10**index
      end do
      call MPI_Waitany(4, r, index, s, ierr); OK
      CHECK(index == MPI_UNDEFINED)
    case (2)
      do while (seen < 11110)
        call MPI_Testany(4, r, index, flag, s, ierr); OK
        if (.not. flag) cycle
        CHECK(TAG(s) == index)
        seen = seen + 10**index
      end do
      call MPI_Testany(4, r, index, flag, s, ierr); OK
      CHECK(flag .and. index == MPI_UNDEFINED)
    case (3)
      do while (seen < 11110)
        call MPI_Waitsome(4, r, n, indices, ss, ierr); OK
        CHECK(n >= 1 .and. n <= 4)
        do i = 1, n
          CHECK(SOURCE_OF(ss, i) == last)
          seen = seen + 10**indices(i)
        end do
      end do
      call MPI_Waitsome(4, r, n, indices, ss, ierr); OK
      CHECK(n == MPI_UNDEFINED)
    case (4)
      do while (seen < 11110)
        call MPI_Testsome(4, r, n, indices, MPI_STATUSES_IGNORE, ierr); OK
        do i = 1, n
          seen = seen + 10**indices(i)
        end do
      end do
      call MPI_Testsome(4, r, n, indices, MPI_STATUSES_IGNORE, ierr); OK
      CHECK(n == MPI_UNDEFINED)
    case (5)
      do while (.not. flag)
        call MPI_Testall(4, r, flag, ss, ierr); OK
      end do
      CHECK(SOURCE_OF(ss, 4) == last)
    case (6)
      do while (.not. flag)
        call MPI_Request_get_status(r(2), flag, s, ierr); OK
      end do
      CHECK(TAG(s) == 2 .and. r(2) /= MPI_REQUEST_NULL)
#if !defined(OLD)
      flag = .false.
      do while (.not. flag)
        call MPI_Request_get_status_all(4, r, flag, ss, ierr); OK
      end do
      CHECK(SOURCE_OF(ss, 3) == last)
      call MPI_Request_get_status_any(4, r, index, flag, s, ierr); OK
      CHECK(flag .and. TAG(s) == index)
      call MPI_Request_get_status_some(4, r, n, indices, ss, ierr); OK
      CHECK(n == 4 .and. sum(indices) == 10)
#endif
      call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ierr); OK
    end select
    call MPI_F_sync_reg(b)
    CHECK(all(b == [(10 * last + i, i = 1, 4)]))
    CHECK(all_are_null())
  end do
  ! What is cancelled.
  call MPI_Irecv(b, 1_nk, MPI_INTEGER, last, 77, MPI_COMM_WORLD, q, ierr); OK
  call MPI_Cancel(q, ierr); OK
  call MPI_Wait(q, s, ierr); OK
  call MPI_Test_cancelled(s, flag, ierr); OK
  CHECK(flag)
  ! Statuses that the program writes.
  call MPI_Status_set_elements(s, MPI_INTEGER, 3_nf, ierr); OK
  call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
  CHECK(count == 3)
  call MPI_Status_set_elements_x(s, MPI_INTEGER, 4_xk, ierr); OK
  call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
  CHECK(count == 4)
  call MPI_Status_set_cancelled(s, .false., ierr); OK
  call MPI_Test_cancelled(s, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Status_set_cancelled(s, .true., ierr); OK
  call MPI_Test_cancelled(s, flag, ierr); OK
  CHECK(flag)
#if !defined(OLD)
  call MPI_Status_set_source(s, 11, ierr); OK
  call MPI_Status_set_tag(s, 12, ierr); OK
  call MPI_Status_set_error(s, 13, ierr); OK
  CHECK(SOURCE(s) == 11 .and. TAG(s) == 12 .and. ERROR(s) == 13)
  call MPI_Status_get_source(s, n, ierr); OK
  CHECK(n == 11)
  call MPI_Status_get_tag(s, n, ierr); OK
  CHECK(n == 12)
  call MPI_Status_get_error(s, n, ierr); OK
  CHECK(n == 13)
#endif
#if defined(F08)
  call MPI_Status_f082f(s, old, ierr); OK
  old(MPI_TAG) = 14
  call MPI_Status_f2f08(old, new, ierr); OK
  CHECK(new%MPI_TAG == 14 .and. new%MPI_SOURCE == s%MPI_SOURCE)
#else
  old = s
  CHECK(old(MPI_SOURCE) == SOURCE(s))
#if defined(MODULE) && !defined(OLD)
  call MPI_Status_f2f08(s, new, ierr); OK
  CHECK(new%MPI_SOURCE == SOURCE(s))
  new%MPI_TAG = 15
  call MPI_Status_f082f(new, old, ierr); OK
  CHECK(old(MPI_TAG) == 15)
#endif
#endif
contains
  logical function all_are_null()
    integer :: k
    all_are_null = .true.
    do k = 1, 4
      all_are_null = all_are_null .and. r(k) == MPI_REQUEST_NULL
    end do
  end function
end subroutine
