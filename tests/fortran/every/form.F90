! The form of the interface that the families of calls use, and their checks.
#include "form.h"
module form
#if defined(F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
  intrinsic :: kind
  private :: kind
#if defined(INCLUDE)
  include 'mpif.h'
#endif
  ! Kinds: of counts in this form, of addresses, of counts that are always large, of places in files.
#if defined(LARGE)
  integer, parameter :: nk = MPI_COUNT_KIND
#else
  integer, parameter :: nk = kind(1)
#endif
  ! Counts of procedures that MPICH 4.0 has for small ones only.
#if defined(OLD)
  integer, parameter :: nf = kind(1)
#else
  integer, parameter :: nf = nk
#endif
  integer, parameter :: ak = MPI_ADDRESS_KIND, xk = MPI_COUNT_KIND, fk = MPI_OFFSET_KIND
  integer :: rank = -1, ranks, next, last, ierr = -1, checks = 0, calls = 0
  character(len=40) :: family = ' '
contains
  ! The call before has succeeded, and said so.
  subroutine ok(line)
    integer, intent(in) :: line
    calls = calls + 1
    if (ierr == MPI_SUCCESS) then
      ierr = -1
      return
    end if
    print '(3a,i0,a,i0,a,i0)', 'wrong: ', trim(family), ', line ', line, ': the error is ', ierr, ' on rank ', rank
    stop 1
  end subroutine
  subroutine check(holds, line)
    logical, intent(in) :: holds
    integer, intent(in) :: line
    checks = checks + 1
    if (holds) return
    print '(3a,i0,a,i0,a,i0)', 'wrong: ', trim(family), ', line ', line, ', on rank ', rank, ' of ', ranks
    stop 1
  end subroutine
  ! The call before has failed with this class.
  subroutine fails(class, line)
    integer, intent(in) :: class, line
    integer :: found, error
    call MPI_Error_class(ierr, found, error)
    call check(error == MPI_SUCCESS .and. found == class, line)
    ierr = -1
  end subroutine
end module
