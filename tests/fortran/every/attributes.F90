! Attributes of communicators, datatypes and windows, with callbacks of the program's.
#include "form.h"
module attribute_callbacks
  use form
  implicit none
  integer :: copies = 0, deletions = 0
contains
  subroutine copy_of_comm(of, key, extra, before, after, flag, error)
    COMM :: of
    integer :: key, error
    integer(ak) :: extra, before, after
    logical :: flag
    CHECK(of == MPI_COMM_SELF .and. key /= MPI_KEYVAL_INVALID)
    call copied(extra, before, after, flag, error)
  end subroutine
  subroutine deletion_of_comm(of, key, value, extra, error)
    COMM :: of
    integer :: key, error
    integer(ak) :: value, extra
    CHECK(of /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID)
    call deleted(value, extra, error)
  end subroutine
  subroutine copy_of_type(of, key, extra, before, after, flag, error)
    DATATYPE :: of
    integer :: key, error
    integer(ak) :: extra, before, after
    logical :: flag
    CHECK(of /= MPI_DATATYPE_NULL .and. key /= MPI_KEYVAL_INVALID)
    call copied(extra, before, after, flag, error)
  end subroutine
  subroutine deletion_of_type(of, key, value, extra, error)
    DATATYPE :: of
    integer :: key, error
    integer(ak) :: value, extra
    CHECK(of /= MPI_DATATYPE_NULL .and. key /= MPI_KEYVAL_INVALID)
    call deleted(value, extra, error)
  end subroutine
  subroutine copy_of_win(of, key, extra, before, after, flag, error)
    WIN :: of
    integer :: key, error
    integer(ak) :: extra, before, after
    logical :: flag
    CHECK(of /= MPI_WIN_NULL .and. key /= MPI_KEYVAL_INVALID)
    call copied(extra, before, after, flag, error)
  end subroutine
  subroutine deletion_of_win(of, key, value, extra, error)
    WIN :: of
    integer :: key, error
    integer(ak) :: value, extra
    CHECK(of /= MPI_WIN_NULL .and. key /= MPI_KEYVAL_INVALID)
    call deleted(value, extra, error)
  end subroutine
  subroutine copied(extra, before, after, flag, error)
    integer(ak), intent(in) :: extra, before
    integer(ak), intent(out) :: after
    logical, intent(out) :: flag
    integer, intent(out) :: error
    CHECK(extra == -42)
    copies = copies + 1
    after = before + 1
    flag = .true.
    error = MPI_SUCCESS
  end subroutine
  subroutine deleted(value, extra, error)
    integer(ak), intent(in) :: value, extra
    integer, intent(out) :: error
    CHECK(extra == -42 .and. (value == 7 .or. value == 8))
    deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine
#if !defined(F08)
  ! What they were before MPI-2.
  subroutine old_copy(of, key, extra, before, after, flag, error)
    integer :: of, key, extra, before, after, error
    logical :: flag
    CHECK(of == MPI_COMM_SELF .and. extra == 5)
    after = before * 2
    flag = .true.
    error = MPI_SUCCESS
  end subroutine
  subroutine old_deletion(of, key, value, extra, error)
    integer :: of, key, value, extra, error
    CHECK(of /= MPI_COMM_NULL .and. extra == 5 .and. (value == 9 .or. value == 18))
    deletions = deletions + 1
    error = MPI_SUCCESS
  end subroutine
#endif
end module

subroutine attributes
  use form
  use attribute_callbacks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: key, other, n
  integer(ak) :: value, size
  integer(nk) :: unit
  integer, target :: memory(4)
  logical :: flag
  COMM :: comm
  DATATYPE :: t, u
  WIN :: w
  family = 'attributes'
  call MPI_Comm_create_keyval(copy_of_comm, deletion_of_comm, key, -42_ak, ierr); OK
  CHECK(key /= MPI_KEYVAL_INVALID)
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, 7_ak, ierr); OK
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, ierr); OK
  CHECK(flag .and. value == 7)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  call MPI_Comm_get_attr(comm, key, value, flag, ierr); OK
  CHECK(flag .and. value == 8 .and. copies == 1)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierr); OK
  CHECK(deletions == 1)
  call MPI_Comm_free(comm, ierr); OK
  CHECK(deletions == 2)
  call MPI_Comm_free_keyval(key, ierr); OK
  CHECK(key == MPI_KEYVAL_INVALID)
  ! Callbacks of MPI's own.
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_ak, ierr); OK
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, -1_ak, ierr); OK
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  call MPI_Comm_get_attr(comm, key, value, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, ierr); OK
  CHECK(flag .and. value == -1)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierr); OK
  call MPI_Comm_free_keyval(key, ierr); OK
  call MPI_Comm_free(comm, ierr); OK
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_ak, ierr); OK
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, -3_ak, ierr); OK
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  call MPI_Comm_get_attr(comm, key, value, flag, ierr); OK
  CHECK(flag .and. value == -3)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierr); OK
  call MPI_Comm_free_keyval(key, ierr); OK
  call MPI_Comm_free(comm, ierr); OK
  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_ak, ierr); OK
  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, other, 0_ak, ierr); OK
  call MPI_Type_dup(MPI_INTEGER, t, ierr); OK
  call MPI_Type_set_attr(t, key, 11_ak, ierr); OK
  call MPI_Type_set_attr(t, other, 12_ak, ierr); OK
  call MPI_Type_dup(t, u, ierr); OK
  call MPI_Type_get_attr(u, key, value, flag, ierr); OK
  CHECK(flag .and. value == 11)
  call MPI_Type_get_attr(u, other, value, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Type_free(t, ierr); OK
  call MPI_Type_free(u, ierr); OK
  call MPI_Type_free_keyval(key, ierr); OK
  call MPI_Type_free_keyval(other, ierr); OK
  call MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, key, 0_ak, ierr); OK
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, other, 0_ak, ierr); OK
  call MPI_Win_free_keyval(key, ierr); OK
  call MPI_Win_free_keyval(other, ierr); OK
  ! Those that MPI has.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr); OK
  CHECK(flag .and. value >= 32767)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, ierr); OK
  CHECK(flag .and. (value == 0 .or. value == 1))
  call MPI_Type_create_keyval(copy_of_type, deletion_of_type, key, -42_ak, ierr); OK
  call MPI_Type_contiguous(2_nk, MPI_INTEGER, t, ierr); OK
  call MPI_Type_set_attr(t, key, 7_ak, ierr); OK
  call MPI_Type_dup(t, u, ierr); OK
  call MPI_Type_get_attr(u, key, value, flag, ierr); OK
  CHECK(flag .and. value == 8 .and. copies == 2)
  call MPI_Type_delete_attr(u, key, ierr); OK
  CHECK(deletions == 3)
  call MPI_Type_free(t, ierr); OK
  CHECK(deletions == 4)
  call MPI_Type_free(u, ierr); OK
  call MPI_Type_free_keyval(key, ierr); OK
  CHECK(key == MPI_KEYVAL_INVALID)
  call MPI_Win_create_keyval(copy_of_win, deletion_of_win, key, -42_ak, ierr); OK
  size = 16
  unit = 4
  call MPI_Win_create(memory, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr); OK
  call MPI_Win_set_attr(w, key, 7_ak, ierr); OK
  call MPI_Win_get_attr(w, key, value, flag, ierr); OK
  CHECK(flag .and. value == 7)
  call MPI_Win_delete_attr(w, key, ierr); OK
  CHECK(deletions == 5)
  call MPI_Win_get_attr(w, key, value, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Win_get_attr(w, MPI_WIN_BASE, value, flag, ierr); OK
  CHECK(flag .and. value == transfer(c_loc(memory), value))
  call MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, value, flag, ierr); OK
  CHECK(flag .and. value == 4)
  call MPI_Win_free_keyval(key, ierr); OK
  call MPI_Win_free(w, ierr); OK
#if !defined(F08)
  call MPI_Keyval_create(old_copy, old_deletion, key, 5, ierr); OK
  call MPI_Attr_put(MPI_COMM_SELF, key, 9, ierr); OK
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  n = 0
  call MPI_Attr_get(comm, key, n, flag, ierr); OK
  CHECK(flag .and. n == 18)
  call MPI_Attr_delete(MPI_COMM_SELF, key, ierr); OK
  CHECK(deletions == 6)
  call MPI_Comm_free(comm, ierr); OK
  CHECK(deletions == 7)
  call MPI_Keyval_free(key, ierr); OK
  CHECK(key == MPI_KEYVAL_INVALID)
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0, ierr); OK
  call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, other, 0, ierr); OK
  call MPI_Attr_put(MPI_COMM_SELF, key, 13, ierr); OK
  call MPI_Attr_put(MPI_COMM_SELF, other, 14, ierr); OK
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr); OK
  call MPI_Attr_get(comm, key, n, flag, ierr); OK
  CHECK(flag .and. n == 13)
  call MPI_Attr_get(comm, other, n, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Attr_delete(MPI_COMM_SELF, key, ierr); OK
  call MPI_Attr_delete(MPI_COMM_SELF, other, ierr); OK
  call MPI_Comm_free(comm, ierr); OK
  call MPI_Keyval_free(key, ierr); OK
  call MPI_Keyval_free(other, ierr); OK
#endif
  n = 0
end subroutine
