! ranks: 1 2 4
! Module mpi_f08: typed handles, errors left out, large counts, callbacks, statuses.
program f08
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Op) :: op
  type(MPI_Info) :: info
  type(MPI_Datatype) :: newtype
  type(MPI_Errhandler) :: handler
  type(MPI_Win) :: win
  type(MPI_Message) :: message
  integer :: rank, ranks, next, last, ierr, n, key, i, errors = 0, old(MPI_STATUS_SIZE)
  integer(MPI_COUNT_KIND) :: many
  integer(MPI_ADDRESS_KIND) :: value
  integer, asynchronous :: sent(10), received(10)
  integer :: total
  logical :: flag
  type(C_PTR) :: memory
  character(len=MPI_MAX_OBJECT_NAME) :: name
  integer, pointer :: buffer(:), detached(:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call check(ierr == MPI_SUCCESS, 'MPI_Comm_size')
  call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what is supported')
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  sent = [(100 * rank + i, i = 1, 10)]
  received = -1
  call MPI_Irecv(received, 10, MPI_INTEGER, last, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(sent, 10, MPI_INTEGER, next, 7, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call check(received(10) == 100 * last + 10 .and. statuses(1)%MPI_SOURCE == last .and. statuses(1)%MPI_TAG == 7, 'a ring')
  call check(requests(1) == MPI_REQUEST_NULL .and. .not. requests(2) /= MPI_REQUEST_NULL, 'requests')
  ! Large counts.
  many = 10
  call MPI_Sendrecv(sent, many, MPI_INTEGER, next, 1, received, many, MPI_INTEGER, last, 1, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, many)
  call check(many == 10, 'a large count')
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check(n == 10, 'a count')
  call MPI_Status_f082f(status, old)
  call check(old(MPI_SOURCE) == last, 'a converted status')
  old(MPI_TAG) = 8
  call MPI_Status_f2f08(old, status)
  call check(status%MPI_TAG == 8, 'a status that is converted back')
  call MPI_Sendrecv(sent, 1, MPI_INTEGER, next, 1, received, 1, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Isend(sent, 1, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Mprobe(last, 3, MPI_COMM_WORLD, message, status)
  call MPI_Mrecv(received, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call check(message == MPI_MESSAGE_NULL, 'a message')
  call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(total == ranks, 'in place')
  call MPI_Op_create(add, .true., op)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check(total == ranks * (ranks - 1) / 2, 'an operation')
  call MPI_Op_free(op)
  call check(MPI_Aint_diff(MPI_Aint_add(8_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND), 8_MPI_ADDRESS_KIND) == 8, 'addresses')
  call check(op == MPI_OP_NULL, 'a freed operation')
  ! Attributes, names, info.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, deleted, key, 3_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call check(comm /= MPI_COMM_WORLD, 'a duplicate')
  call MPI_Comm_get_attr(comm, key, value, flag)
  call check(flag .and. value == 5, 'an attribute')
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_set_name(comm, 'ours')
  call MPI_Comm_get_name(comm, name, n)
  call check(name == 'ours' .and. n == 4, 'a name')
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'a', 'b')
  n = len(name)
  call MPI_Info_get_string(info, 'a', n, name, flag)
  call check(flag .and. name == 'b' .and. n == 1, 'info')
  call MPI_Info_free(info)
  ! Errors: returned, and to a handler.
  call MPI_Comm_create_errhandler(failed, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Send(sent, 1, MPI_INTEGER, ranks, 0, comm)
  call check(errors == 1, 'an error handler')
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Send(sent, -1, MPI_INTEGER, 0, 0, comm, ierr)
  call check(class(ierr) == MPI_ERR_COUNT, 'a returned error')
  call MPI_Errhandler_free(handler)
  call MPI_Comm_free(comm)
  call check(comm == MPI_COMM_NULL, 'a freed communicator')
  ! Memory, windows, buffered sends.
  call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win)
  call c_f_pointer(memory, buffer, [10])
  buffer = rank
  call MPI_Win_fence(0, win)
  call MPI_Get(received, 10, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check(all(received == next), 'MPI_Get')
  call MPI_Win_free(win)
  allocate (buffer(100 + MPI_BSEND_OVERHEAD))
  call MPI_Buffer_attach(buffer, 4 * size(buffer))
  call MPI_Bsend(sent, 10, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call MPI_Recv(received, 10, MPI_INTEGER, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Buffer_detach(memory, n)
  call check(n == 4 * size(buffer) .and. c_associated(memory, c_loc(buffer)), 'a detached buffer')
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, newtype)
  call MPI_Type_commit(newtype)
  call MPI_Type_size(newtype, n)
  call MPI_Type_size(newtype, many)
  call check(n == 8 .and. many == 8, 'a datatype')
  call MPI_Type_free(newtype)
  call MPI_Sizeof(sent, n)
  call check(n == 4, 'MPI_Sizeof')
  call PMPI_Barrier(MPI_COMM_WORLD)
  call MPI_F_sync_reg(sent)
  call MPI_Finalize()
contains
  ! The class of an error: other libraries have codes of more than that.
  integer function class(code)
    integer, intent(in) :: code
    integer :: ignored
    call MPI_Error_class(code, class, ignored)
  end function
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what
    stop 1
  end subroutine
  subroutine add(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    call check(datatype == MPI_INTEGER, 'the datatype of an operation')
    b = a + b
  end subroutine
  subroutine deleted(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call check(extra_state == 3, 'extra state')
    ierror = MPI_SUCCESS
  end subroutine
  subroutine failed(of, error_code)
    type(MPI_Comm) :: of
    integer :: error_code
    call check(of == comm .and. class(error_code) == MPI_ERR_RANK, 'arguments of an error handler')
    errors = errors + 1
  end subroutine
end program
