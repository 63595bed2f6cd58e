! Versions, names, times, info objects.
#include "form.h"
subroutine environment
  use form
  implicit none
  integer :: n, m, i
  logical :: flag
  double precision :: t
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
  character(len=20) :: value
  character(len=MPI_MAX_INFO_KEY) :: key
  INFO :: info, other
  family = 'environment'
  call MPI_Get_version(n, m, ierr); OK
#if defined(OLD)
  CHECK(n >= 4)
#else
  CHECK(n == MPI_VERSION .and. m == MPI_SUBVERSION)
#endif
  call MPI_Get_library_version(library, n, ierr); OK
  CHECK(n > 0 .and. len_trim(library) <= n .and. index(library, 'Isthmus') > 0)
  call MPI_Get_processor_name(name, n, ierr); OK
  CHECK(len_trim(name) == n .and. n > 0)
  t = MPI_Wtime()
  CHECK(MPI_Wtime() >= t .and. MPI_Wtick() > 0d0 .and. MPI_Wtick() < 1d-3)
  call MPI_Query_thread(n, ierr); OK
  CHECK(n >= MPI_THREAD_SINGLE .and. n <= MPI_THREAD_MULTIPLE)
  family = 'info'
  call MPI_Info_create(info, ierr); OK
  call MPI_Info_set(info, '  a key ', '  a value  ', ierr); OK
  call MPI_Info_set(info, 'second', '2', ierr); OK
  call MPI_Info_get_nkeys(info, n, ierr); OK
  CHECK(n == 2)
  do i = 0, 1
    call MPI_Info_get_nthkey(info, i, key, ierr); OK
    CHECK(key == merge('a key ', 'second', i == 0))
  end do
  call MPI_Info_get_valuelen(info, 'a key', n, flag, ierr); OK
  CHECK(flag .and. n == 7)
  call MPI_Info_get(info, 'a key', 20, value, flag, ierr); OK
  CHECK(flag .and. value == 'a value')
  n = 20
  call MPI_Info_get_string(info, 'second', n, value, flag, ierr); OK
  CHECK(flag .and. value == '2')
  n = 20
  call MPI_Info_get_string(info, 'third', n, value, flag, ierr); OK
  CHECK(.not. flag)
  call MPI_Info_dup(info, other, ierr); OK
  call MPI_Info_delete(info, 'second', ierr); OK
  call MPI_Info_get_nkeys(info, n, ierr); OK
  call MPI_Info_get_nkeys(other, m, ierr); OK
  CHECK(n == 1 .and. m == 2)
  call MPI_Info_free(info, ierr); OK
  call MPI_Info_free(other, ierr); OK
  CHECK(info == MPI_INFO_NULL)
  call MPI_Info_create_env(info, ierr); OK
  CHECK(info /= MPI_INFO_NULL)
  call MPI_Info_free(info, ierr); OK
#if !defined(OLD)
  call MPI_Get_hw_resource_info(info, ierr); OK
  call MPI_Info_get_nkeys(info, n, ierr); OK
  CHECK(n > 0)
  call MPI_Info_free(info, ierr); OK
  call MPI_Abi_get_version(n, m, ierr); OK
  CHECK(n == MPI_ABI_VERSION .and. m == MPI_ABI_SUBVERSION)
  call MPI_Abi_get_info(info, ierr); OK
  n = 20
  call MPI_Info_get_string(info, 'mpi_aint_size', n, value, flag, ierr); OK
  CHECK(flag .and. value == '8')
  call MPI_Info_free(info, ierr); OK
  call MPI_Abi_get_fortran_info(info, ierr); OK
  n = 20
  call MPI_Info_get_string(info, 'mpi_integer_size', n, value, flag, ierr); OK
  CHECK(flag .and. value == '4')
  call MPI_Info_free(info, ierr); OK
  call MPI_Abi_get_fortran_booleans(4, n, m, flag, ierr); OK
  CHECK(flag .and. n /= m)
#endif
#if !defined(INCLUDE)
  call MPI_Sizeof(t, n, ierr); OK
  CHECK(n == 8)
#endif
end subroutine
