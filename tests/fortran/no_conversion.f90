! A null conversion function under another of its names. A program that is not position-independent has an address of its own for each.
program no_conversion
  implicit none
  include 'mpif.h'
  external :: PMPI_CONVERSION_FN_NULL, extent_of
  integer :: ierr, file, written(4), read(4)
  integer(MPI_ADDRESS_KIND) :: nothing
  character(len=1024) :: path
  call get_command_argument(1, path)
  nothing = 0
  written = [1, 2, 3, 4]
  read = -1
  call MPI_Init(ierr)
  call MPI_Register_datarep('own', PMPI_CONVERSION_FN_NULL, PMPI_CONVERSION_FN_NULL, extent_of, nothing, ierr)
  call MPI_File_open(MPI_COMM_SELF, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, ierr)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'own', MPI_INFO_NULL, ierr)
  call MPI_File_write(file, written, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  call MPI_File_read(file, read, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_File_close(file, ierr)
  call MPI_Finalize(ierr)
  if (any(read /= written)) then
    print *, 'wrong: ', read
    stop 1
  end if
end program

subroutine extent_of(datatype, extent, extra, ierr)
  implicit none
  include 'mpif.h'
  integer :: datatype, ierr
  integer(MPI_ADDRESS_KIND) :: extent, extra
  extent = 4 + extra
  ierr = MPI_SUCCESS
  if (datatype == MPI_DATATYPE_NULL) ierr = MPI_ERR_TYPE
end subroutine
