! Operations of the program's, generalized requests, representations of data.
#include "form.h"
module operation_callbacks
  use form
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: queries = 0, frees = 0, cancels = 0
contains
  ! The first that is not even, so the order of ranks matters.
#if defined(F08)
  subroutine first_odd(invec, inoutvec, n, of)
    type(C_PTR), value :: invec, inoutvec
    integer(nf) :: n
    type(MPI_Datatype) :: of
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [n])
    call c_f_pointer(inoutvec, b, [n])
    where (mod(a, 2) == 1) b = a
    CHECK(of == MPI_INTEGER)
  end subroutine
#else
  subroutine first_odd(a, b, n, of)
    integer :: n, of, a(n), b(n)
    where (mod(a, 2) == 1) b = a
    CHECK(of == MPI_INTEGER)
  end subroutine
#endif
  subroutine query(extra, s, error)
    integer(ak) :: extra
    integer :: error
    STATUS(s)
    CHECK(extra == 99)
    call MPI_Status_set_elements(s, MPI_INTEGER, 3_nf, error)
    call MPI_Status_set_cancelled(s, cancels > 0, error)
    SOURCE(s) = MPI_UNDEFINED
    TAG(s) = 77
    queries = queries + 1
    error = MPI_SUCCESS
  end subroutine
  subroutine freed(extra, error)
    integer(ak) :: extra
    integer :: error
    CHECK(extra == 99)
    frees = frees + 1
    error = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, error)
    integer(ak) :: extra
    logical :: complete
    integer :: error
    CHECK(extra == 99 .and. .not. complete)
    cancels = cancels + 1
    error = MPI_SUCCESS
  end subroutine
  subroutine extent_in_file(of, extent, extra, error)
    DATATYPE :: of
    integer(ak) :: extent, extra
    integer :: error
    CHECK(extra == 3)
    extent = 4
    error = MPI_SUCCESS
  end subroutine
end module

subroutine operations
  use form
  use operation_callbacks
  implicit none
  integer :: i, a(4), b(4)
  integer(nk) :: count
  logical :: flag
  OP :: op_of_ours
  REQUEST :: q
  STATUS(s)
  DATATYPE :: t
  family = 'operations'
#if defined(LARGE) && !defined(OLD)
  call MPI_Op_create_c(first_odd, .false., op_of_ours, ierr); OK
#else
  call MPI_Op_create(first_odd, .false., op_of_ours, ierr); OK
#endif
  call MPI_Op_commutative(op_of_ours, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Op_commutative(MPI_SUM, flag, ierr); OK
  CHECK(flag)
  a = [(2 * rank + mod(i, 2), i = 1, 4)]
  call MPI_Allreduce(a, b, 4_nk, MPI_INTEGER, op_of_ours, MPI_COMM_WORLD, ierr); OK
  CHECK(b(1) == 1 .and. b(2) == 2 * (ranks - 1) .and. b(3) == 1)
  a = 5
  b = 6
  call MPI_Reduce_local(a, b, 2_nk, MPI_INTEGER, op_of_ours, ierr); OK
  CHECK(all(b == [5, 5, 6, 6]))
  call MPI_Op_free(op_of_ours, ierr); OK
  CHECK(op_of_ours == MPI_OP_NULL)
  family = 'generalized requests'
  call MPI_Grequest_start(query, freed, cancel, 99_ak, q, ierr); OK
  call MPI_Test(q, flag, s, ierr); OK
  CHECK(.not. flag)
  call MPI_Grequest_complete(q, ierr); OK
  call MPI_Wait(q, s, ierr); OK
  call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
  CHECK(count == 3 .and. TAG(s) == 77 .and. queries == 1 .and. frees == 1 .and. cancels == 0)
  call MPI_Grequest_start(query, freed, cancel, 99_ak, q, ierr); OK
  call MPI_Cancel(q, ierr); OK
  call MPI_Grequest_complete(q, ierr); OK
  call MPI_Wait(q, s, ierr); OK
  call MPI_Test_cancelled(s, flag, ierr); OK
  CHECK(flag .and. cancels == 1 .and. frees == 2)
  family = 'representations'
#if defined(LARGE) && !defined(OLD)
  call MPI_Register_datarep_c('large of ours', MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_in_file, 3_ak, ierr); OK
#elif !defined(OLD) || defined(INCLUDE)
  call MPI_Register_datarep('of ours', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_in_file, 3_ak, ierr); OK
#endif
  t = MPI_DATATYPE_NULL
end subroutine
