! Files: all ways to read and write.
#include "form.h"
subroutine files
  use form
  implicit none
  BUFFERS :: a(4), b(4)
  integer :: i, n, mode, way
  integer(fk) :: here, size
#if defined(LARGE)
  integer(xk) :: extent
#else
  integer(ak) :: extent
#endif
  integer(nk) :: count
  logical :: flag
  character(len=MPI_MAX_DATAREP_STRING) :: representation
  character(len=300) :: name
  FILE_ :: f
  INFO :: info
  GROUP :: g
  DATATYPE :: etype, filetype
  REQUEST :: q
  STATUS(s)
  family = 'files'
  call get_command_argument(1, name)
  if (name == ' ') name = 'every.data'
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f, ierr); OK
  CHECK(f /= MPI_FILE_NULL)
  call MPI_File_get_amode(f, mode, ierr); OK
  CHECK(mode == MPI_MODE_CREATE + MPI_MODE_RDWR)
  call MPI_File_get_group(f, g, ierr); OK
  call MPI_Group_size(g, n, ierr); OK
  CHECK(n == ranks)
  call MPI_Group_free(g, ierr); OK
  call MPI_File_get_info(f, info, ierr); OK
  call MPI_File_set_info(f, info, ierr); OK
  call MPI_Info_free(info, ierr); OK
  call MPI_File_set_size(f, 1000_fk, ierr); OK
  call MPI_File_preallocate(f, 2000_fk, ierr); OK
  call MPI_File_get_size(f, size, ierr); OK
  CHECK(size == 2000)
  call MPI_File_set_size(f, 0_fk, ierr); OK
  call MPI_File_set_atomicity(f, .true., ierr); OK
  call MPI_File_get_atomicity(f, flag, ierr); OK
  CHECK(flag)
  call MPI_File_set_atomicity(f, .false., ierr); OK
  call MPI_File_set_view(f, 16_fk, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr); OK
  representation = 'x'
  call MPI_File_get_view(f, here, etype, filetype, representation, ierr); OK
  CHECK(here == 16 .and. etype == MPI_INTEGER .and. filetype == MPI_INTEGER .and. representation == 'native')
  call MPI_File_get_type_extent(f, MPI_INTEGER, extent, ierr); OK
  CHECK(extent == 4)
  call MPI_File_get_byte_offset(f, 3_fk, here, ierr); OK
  CHECK(here == 28)
  ! Each way writes 4 elements of each rank, which are read the same way.
  do way = 1, 10
    a = [(1000 * way + 100 * rank + i, i = 1, 4)]
    b = -1
    here = 4 * rank
    q = MPI_REQUEST_NULL
    call MPI_File_seek(f, here, MPI_SEEK_SET, ierr); OK
    call MPI_File_seek_shared(f, 0_fk, MPI_SEEK_SET, ierr); OK
    select case (way)
    case (1)
      call MPI_File_write_at(f, here, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (2)
      call MPI_File_write_at_all(f, here, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (3)
      call MPI_File_iwrite_at(f, here, a, 4_nf, MPI_INTEGER, q, ierr); OK
    case (4)
      call MPI_File_iwrite_at_all(f, here, a, 4_nf, MPI_INTEGER, q, ierr); OK
    case (5)
      call MPI_File_write(f, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (6)
      call MPI_File_write_all(f, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (7)
      call MPI_File_iwrite(f, a, 4_nf, MPI_INTEGER, q, ierr); OK
    case (8)
      call MPI_File_iwrite_all(f, a, 4_nf, MPI_INTEGER, q, ierr); OK
    case (9)
      call MPI_File_write_at_all_begin(f, here, a, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_write_at_all_end(f, a, s, ierr); OK
    case (10)
      call MPI_File_write_all_begin(f, a, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_write_all_end(f, a, s, ierr); OK
    end select
    if (q /= MPI_REQUEST_NULL) then
      call MPI_Wait(q, s, ierr); OK
    end if
    call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
    CHECK(count == 4)
    call meet()
    here = 4 * next
    call MPI_File_seek(f, here, MPI_SEEK_SET, ierr); OK
    select case (way)
    case (1)
      call MPI_File_read_at(f, here, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (2)
      call MPI_File_read_at_all(f, here, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (3)
      call MPI_File_iread_at(f, here, b, 4_nf, MPI_INTEGER, q, ierr); OK
    case (4)
      call MPI_File_iread_at_all(f, here, b, 4_nf, MPI_INTEGER, q, ierr); OK
    case (5)
      call MPI_File_read(f, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (6)
      call MPI_File_read_all(f, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (7)
      call MPI_File_iread(f, b, 4_nf, MPI_INTEGER, q, ierr); OK
    case (8)
      call MPI_File_iread_all(f, b, 4_nf, MPI_INTEGER, q, ierr); OK
    case (9)
      call MPI_File_read_at_all_begin(f, here, b, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_read_at_all_end(f, b, s, ierr); OK
    case (10)
      call MPI_File_read_all_begin(f, b, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_read_all_end(f, b, s, ierr); OK
    end select
    if (q /= MPI_REQUEST_NULL) then
      call MPI_Wait(q, s, ierr); OK
    end if
    call MPI_Get_count(s, MPI_INTEGER, count, ierr); OK
    call MPI_F_sync_reg(b)
    CHECK(count == 4 .and. all(b == [(1000 * way + 100 * next + i, i = 1, 4)]))
    if (way >= 5 .and. way /= 9) then
      call MPI_File_get_position(f, here, ierr); OK
      CHECK(here == 4 * next + 4)
    end if
    call meet()
  end do
  ! The shared pointer: in order of ranks, or in any.
  do way = 1, 4
    a = [(100 * rank + i, i = 1, 4)]
    b = -1
    call MPI_File_seek_shared(f, 0_fk, MPI_SEEK_SET, ierr); OK
    select case (way)
    case (1)
      call MPI_File_write_ordered(f, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (2)
      call MPI_File_write_ordered_begin(f, a, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_write_ordered_end(f, a, s, ierr); OK
    case (3)
      call MPI_File_write_shared(f, a, 4_nf, MPI_INTEGER, s, ierr); OK
    case (4)
      call MPI_File_iwrite_shared(f, a, 4_nf, MPI_INTEGER, q, ierr); OK
      call MPI_Wait(q, s, ierr); OK
    end select
    call meet()
    call MPI_File_get_position_shared(f, here, ierr); OK
    CHECK(here == 4 * ranks)
    call meet()
    call MPI_File_seek_shared(f, 0_fk, MPI_SEEK_SET, ierr); OK
    select case (way)
    case (1)
      call MPI_File_read_ordered(f, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (2)
      call MPI_File_read_ordered_begin(f, b, 4_nf, MPI_INTEGER, ierr); OK
      call MPI_File_read_ordered_end(f, b, s, ierr); OK
    case (3)
      call MPI_File_read_shared(f, b, 4_nf, MPI_INTEGER, s, ierr); OK
    case (4)
      call MPI_File_iread_shared(f, b, 4_nf, MPI_INTEGER, q, ierr); OK
      call MPI_Wait(q, s, ierr); OK
    end select
    call MPI_F_sync_reg(b)
    if (way <= 2) then
      CHECK(all(b == a))
    end if
    CHECK(mod(b(1), 100) == 1 .and. b(4) == b(1) + 3)
    n = b(1) / 100
    call MPI_Allreduce(MPI_IN_PLACE, n, 1_nk, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr); OK
    CHECK(n == ranks * (ranks - 1) / 2)
    call meet()
  end do
  call MPI_File_close(f, ierr); OK
  CHECK(f == MPI_FILE_NULL)
  if (rank == 0) then
    call MPI_File_delete(trim(name), MPI_INFO_NULL, ierr); OK
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_RDONLY, MPI_INFO_NULL, f, ierr)
  call fails(MPI_ERR_NO_SUCH_FILE, __LINE__)
contains
  ! What has been written is there for all.
  subroutine meet()
    call MPI_File_sync(f, ierr); OK
    call MPI_Barrier(MPI_COMM_WORLD, ierr); OK
    call MPI_File_sync(f, ierr); OK
  end subroutine
end subroutine
