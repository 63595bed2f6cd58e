! Module mpi_f08 as Open MPI 4 compiles it, on 2 ranks: addresses known by name, handles and their operators, callbacks, sizes.
module callbacks
  use mpi_f08
  implicit none
  integer :: copies = 0
contains
  subroutine larger(in, inout, length, datatype)
    use iso_c_binding, only: c_f_pointer, c_ptr
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    if (datatype /= MPI_INTEGER) stop 10
    b = max(a, b)
  end subroutine

  subroutine copied(comm, keyval, extra, in, out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copies = copies + 1
    out = in + extra
    flag = comm == MPI_COMM_WORLD
    ierror = MPI_SUCCESS
  end subroutine
end module

program openmpi
  use mpi_f08
  use callbacks
  implicit none
  integer :: rank, size, value, values(4), got(4), keyval, bytes, count
  integer(MPI_ADDRESS_KIND) :: attribute
  logical :: flag
  character(MPI_MAX_OBJECT_NAME) :: name
  character(MPI_MAX_ERROR_STRING) :: text
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: copy, nothing
  type(MPI_Op) :: op
  type(MPI_Datatype) :: pair
  double precision :: x(3)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  if (size /= 2) stop 1

  value = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (value /= 3) stop 2

  values = [1, 2, 3, 4] + 10 * rank
  call MPI_Irecv(got, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(values, 4, MPI_INTEGER, 1 - rank, 5 + rank, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  if (statuses(1)%MPI_SOURCE /= 1 - rank .or. statuses(1)%MPI_TAG /= 6 - rank) stop 3
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  if (count /= 4 .or. got(4) /= 4 + 10 * (1 - rank)) stop 4
  if (requests(1) /= MPI_REQUEST_NULL) stop 5
  call MPI_Sendrecv(values, 2, MPI_INTEGER, MPI_PROC_NULL, 0, got, 2, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)

  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  call MPI_Bcast(values, 2, pair, 1, MPI_COMM_WORLD)
  if (any(values /= [11, 12, 13, 14])) stop 6
  call MPI_Type_free(pair)
  if (pair /= MPI_DATATYPE_NULL) stop 7

  call MPI_Op_create(larger, .true., op)
  value = 5 + rank
  call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (value /= 6) stop 8
  call MPI_Op_free(op)

  call MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, keyval, 100_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 7_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Comm_get_attr(copy, keyval, attribute, flag)
  if (.not. flag .or. attribute /= 107 .or. copies /= 1) stop 9
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute, flag)
  if (.not. flag .or. attribute < 32767) stop 11
  call MPI_Comm_set_name(copy, "a copy")
  call MPI_Comm_get_name(copy, name, count)
  if (name /= "a copy" .or. count /= 6) stop 12
  call MPI_Comm_free(copy)
  if (copy /= MPI_COMM_NULL) stop 13

  call MPI_Sizeof(x, bytes)
  if (bytes /= 8) stop 14
  call MPI_Sizeof(rank, bytes)
  if (bytes /= 4) stop 15

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  nothing%MPI_VAL = 12345
  call MPI_Comm_size(nothing, value, count)
  call MPI_Error_class(count, value)
  if (value /= MPI_ERR_COMM) stop 16
  call MPI_Error_string(count, text, value)
  if (index(text, "comm") == 0) stop 17
  call MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  if (status%MPI_SOURCE /= MPI_PROC_NULL) stop 18
  call MPI_Finalize()
end program
