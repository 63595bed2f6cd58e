! Windows of each kind, accesses to them, and what synchronises them.
#include "form.h"
subroutine windows
  use form
  use, intrinsic :: iso_c_binding
  implicit none
  BUFFERS, target :: memory(20), a(20), b(20)
  BUFFERS :: one(1), other(1), found(1)
  integer, pointer :: mine(:)
  integer(nk) :: unit
  integer(ak) :: size, value, zero, place
  integer :: n, i
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  type(C_PTR) :: address
  WIN :: w
  INFO :: info
  GROUP :: world, to, from
  REQUEST :: q
  family = 'windows'
  size = 80
  zero = 0
  unit = 4
  memory = [(100 * rank + i, i = 1, 20)]
  call MPI_Win_create(memory, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr); OK
  call MPI_Win_set_name(w, 'ours', ierr); OK
  call MPI_Win_get_name(w, name, n, ierr); OK
  CHECK(name == 'ours' .and. n == 4)
  call MPI_Win_get_attr(w, MPI_WIN_SIZE, value, flag, ierr); OK
  CHECK(flag .and. value == 80)
  call MPI_Win_get_info(w, info, ierr); OK
  call MPI_Win_set_info(w, info, ierr); OK
  call MPI_Info_free(info, ierr); OK
  call MPI_Win_get_group(w, to, ierr); OK
  call MPI_Group_size(to, n, ierr); OK
  CHECK(n == ranks)
  call MPI_Group_free(to, ierr); OK
  ! Fences.
  b = -1
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_Get(b, 3_nk, MPI_INTEGER, next, 2_ak, 3_nk, MPI_INTEGER, w, ierr); OK
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(all(b(:3) == [(100 * next + i, i = 3, 5)]) .and. all(b(4:) == -1))
  a = [(1000 * rank + i, i = 1, 20)]
  call MPI_Put(a, 2_nk, MPI_INTEGER, next, 10_ak, 2_nk, MPI_INTEGER, w, ierr); OK
  call MPI_Accumulate(a, 1_nk, MPI_INTEGER, next, 19_ak, 1_nk, MPI_INTEGER, MPI_SUM, w, ierr); OK
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, w, ierr); OK
  call MPI_F_sync_reg(memory)
  CHECK(all(memory(11:12) == 1000 * last + [1, 2]) .and. memory(20) == 100 * rank + 20 + 1000 * last + 1)
  CHECK(memory(10) == 100 * rank + 10 .and. memory(13) == 100 * rank + 13)
  ! Locks.
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w, ierr); OK
  call MPI_Get_accumulate(a, 1_nk, MPI_INTEGER, b, 1_nk, MPI_INTEGER, next, zero, 1_nk, MPI_INTEGER, MPI_REPLACE, w, ierr); OK
  call MPI_Win_flush(next, w, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(b(1) == 100 * next + 1)
  one = 5
  call MPI_Fetch_and_op(one, found, MPI_INTEGER, next, 1_ak, MPI_SUM, w, ierr); OK
  call MPI_Win_flush_local(next, w, ierr); OK
  call MPI_F_sync_reg(found)
  CHECK(found(1) == 100 * next + 2)
  one = 77
  other = 100 * next + 7
  call MPI_Compare_and_swap(one, other, found, MPI_INTEGER, next, 2_ak, w, ierr); OK
  call MPI_Win_flush(next, w, ierr); OK
  call MPI_F_sync_reg(found)
  CHECK(found(1) == 100 * next + 3)
  other = found
  call MPI_Compare_and_swap(one, other, found, MPI_INTEGER, next, 2_ak, w, ierr); OK
  call MPI_Win_unlock(next, w, ierr); OK
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_Win_lock_all(0, w, ierr); OK
  call MPI_Win_sync(w, ierr); OK
  call MPI_F_sync_reg(memory)
  CHECK(memory(1) == 1000 * last + 1 .and. memory(2) == 100 * rank + 7 .and. memory(3) == 77)
  b = -1
  call MPI_Rget(b, 2_nk, MPI_INTEGER, next, 3_ak, 2_nk, MPI_INTEGER, w, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(all(b(:2) == 100 * next + [4, 5]))
  call MPI_Rput(a, 1_nk, MPI_INTEGER, next, 5_ak, 1_nk, MPI_INTEGER, w, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Raccumulate(a, 1_nk, MPI_INTEGER, next, 6_ak, 1_nk, MPI_INTEGER, MPI_SUM, w, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Rget_accumulate(a, 1_nk, MPI_INTEGER, b, 1_nk, MPI_INTEGER, next, 7_ak, 1_nk, MPI_INTEGER, MPI_MAX, w, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(b(1) == 100 * next + 8)
  call MPI_Win_flush_all(w, ierr); OK
  call MPI_Win_flush_local_all(w, ierr); OK
  call MPI_Win_unlock_all(w, ierr); OK
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_F_sync_reg(memory)
  CHECK(memory(6) == 1000 * last + 1 .and. memory(7) == 100 * rank + 7 + 1000 * last + 1)
  CHECK(memory(8) == max(100 * rank + 8, 1000 * last + 1))
  ! Post, start, complete, wait.
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierr); OK
  call MPI_Group_incl(world, 1, [next], to, ierr); OK
  call MPI_Group_incl(world, 1, [last], from, ierr); OK
  do i = 1, 2
    call MPI_Win_post(from, 0, w, ierr); OK
    call MPI_Win_start(to, 0, w, ierr); OK
    call MPI_Put(a(10 + i), 1_nk, MPI_INTEGER, next, 15_ak, 1_nk, MPI_INTEGER, w, ierr); OK
    call MPI_Win_complete(w, ierr); OK
    if (i == 1) then
      call MPI_Win_wait(w, ierr); OK
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Win_test(w, flag, ierr); OK
      end do
    end if
    call MPI_F_sync_reg(memory)
    CHECK(memory(16) == 1000 * last + 10 + i)
  end do
  call MPI_Group_free(to, ierr); OK
  call MPI_Group_free(from, ierr); OK
  call MPI_Group_free(world, ierr); OK
  call MPI_Win_free(w, ierr); OK
  CHECK(w == MPI_WIN_NULL)
  ! Memory that the window brings.
  call MPI_Win_allocate(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, address, w, ierr); OK
  call c_f_pointer(address, mine, [20])
  mine = rank
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_Get(b, 20_nk, MPI_INTEGER, last, zero, 20_nk, MPI_INTEGER, w, ierr); OK
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(all(b == last))
  call MPI_Win_free(w, ierr); OK
  call MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, address, w, ierr); OK
  call c_f_pointer(address, mine, [20])
  call MPI_Win_fence(0, w, ierr); OK
  mine = 10 * rank
  call MPI_Win_fence(0, w, ierr); OK
  unit = -1
  size = -1
  call MPI_Win_shared_query(w, next, size, unit, address, ierr); OK
  CHECK(size == 80 .and. unit == 4)
  call c_f_pointer(address, mine, [20])
  CHECK(all(mine == 10 * next))
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_Win_free(w, ierr); OK
  ! Memory that comes and goes.
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr); OK
  memory = rank
  call MPI_Win_attach(w, memory, size, ierr); OK
  call MPI_Get_address(memory, place, ierr); OK
  call MPI_Sendrecv_replace(place, 1_nk, MPI_AINT, last, 1, next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_Get(b, 20_nk, MPI_INTEGER, next, place, 20_nk, MPI_INTEGER, w, ierr); OK
  call MPI_Win_fence(0, w, ierr); OK
  call MPI_F_sync_reg(b)
  CHECK(all(b == next))
  call MPI_Win_detach(w, memory, ierr); OK
  call MPI_Win_free(w, ierr); OK
end subroutine
