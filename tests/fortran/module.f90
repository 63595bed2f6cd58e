! ranks: 1 2 4
! Module mpi: buffers of any type and rank, generic procedures, callbacks of attributes and errors, generalized requests.
program modules
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  integer :: ierr, rank, ranks, key, comm, code, handler, request, status(MPI_STATUS_SIZE), size, n, win, newtype
  integer :: copies = 0, deletes = 0, errors = 0, queries = 0, frees = 0
  integer(MPI_ADDRESS_KIND) :: value, address, bytes
  real :: matrix(3, 4)
  complex(kind(1d0)) :: z
  character(len=5) :: word
  logical :: flag
  type(C_PTR) :: memory
  integer, allocatable :: mine(:), all(:), counts(:), displs(:), types(:)
  integer, pointer :: shared(:)
  call MPI_Init_thread(MPI_THREAD_SINGLE, n, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  matrix = rank
  call MPI_Bcast(matrix, 12, MPI_REAL, ranks - 1, MPI_COMM_WORLD, ierr)
  call check(all_equal(matrix, real(ranks - 1)), 'a matrix')
  z = cmplx(rank, 1, kind(1d0))
  call MPI_Bcast(z, 1, MPI_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD, ierr)
  call check(z == (0d0, 1d0), 'a complex number')
  word = merge('hello', '     ', rank == 0)
  call MPI_Bcast(word, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
  call check(word == 'hello', 'a string')
  call MPI_Sizeof(MPI_Wtime(), size, ierr)
  call check(size == 8, 'MPI_Sizeof of a scalar')
  call MPI_Sizeof(matrix(:, 1), size, ierr)
  call check(size == 4, 'MPI_Sizeof of an array')

  allocate (all(ranks), counts(ranks), displs(ranks), types(ranks))
  mine = [(rank * 100 + n, n = 0, ranks - 1)]
  counts = 1
  displs = 4 * [(n, n = 0, ranks - 1)]
  types = MPI_INTEGER
  all = -1
  call MPI_Alltoallw(mine, counts, displs, types, all, counts, displs, types, MPI_COMM_WORLD, ierr)
  call check(all(ranks) == 100 * (ranks - 1) + rank, 'MPI_Alltoallw')
  all = -1
  call MPI_Ialltoallw(mine, counts, displs, types, all, counts, displs, types, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(all(1) == rank, 'MPI_Ialltoallw')

  ! Both forms of an address.
  bytes = 64
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, memory, ierr)
  call check(c_associated(memory), 'a C_PTR')
  call c_f_pointer(memory, shared, [16])
  shared = 1
  call MPI_Free_mem(shared, ierr)
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, address, ierr)
  call check(address /= 0, 'an address')
  call c_f_pointer(transfer(address, memory), shared, [16])
  call MPI_Free_mem(shared, ierr)
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win, ierr)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  call check(flag .and. value == 64, 'a window''s size')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
  call check(flag .and. value == 4, 'a window''s unit')
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierr)
  call check(flag .and. value == transfer(memory, value), 'a window''s base')
  call MPI_Win_free(win, ierr)

  ! Attributes.
  call MPI_Comm_create_keyval(copy, delete, key, 42_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, -7_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_get_attr(comm, key, value, flag, ierr)
  call check(flag .and. value == -6, 'a copied attribute')
  call MPI_Comm_delete_attr(comm, key, ierr)
  call check(copies == 1 .and. deletes == 1, 'callbacks of attributes')
  ! Some libraries would delete it in MPI_Finalize, when the key is freed.
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
  call check(deletes == 2, 'a deletion')
  call MPI_Comm_free_keyval(key, ierr)
  call check(key == MPI_KEYVAL_INVALID, 'a freed key')
  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Type_dup(MPI_INTEGER, newtype, ierr)
  call MPI_Type_set_attr(newtype, key, 12_MPI_ADDRESS_KIND, ierr)
  call MPI_Type_dup(newtype, n, ierr)
  call MPI_Type_get_attr(n, key, value, flag, ierr)
  call check(flag .and. value == 12, 'an attribute of a datatype')
  call MPI_Type_free(n, ierr)
  call MPI_Type_free(newtype, ierr)
  call MPI_Type_free_keyval(key, ierr)

  ! Errors.
  call MPI_Comm_create_errhandler(failed, handler, ierr)
  call MPI_Comm_set_errhandler(comm, handler, ierr)
  call MPI_Errhandler_free(handler, ierr)
  call MPI_Send(n, 1, MPI_INTEGER, ranks, 0, comm, code)
  call check(errors == 1, 'an error handler')
  call MPI_Comm_free(comm, ierr)

  ! Generalized requests.
  call MPI_Grequest_start(query, free, cancel, 99_MPI_ADDRESS_KIND, request, ierr)
  call MPI_Test(request, flag, status, ierr)
  call check(.not. flag, 'a request that is not complete')
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call check(queries == 1 .and. frees == 1 .and. status(MPI_TAG) == 77, 'callbacks of a request')

  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, newtype, ierr)
  call MPI_Type_size(newtype, size, ierr)
  call check(size == 8, 'a real of 15 digits')
  call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, newtype, ierr)
  call MPI_Type_size(newtype, size, ierr)
  call check(size == 8, 'an integer of 8 bytes')
  call MPI_F_sync_reg(matrix)
  call MPI_Finalize(ierr)
contains
  ! The class of an error: other libraries have codes of more than that.
  integer function class(code)
    integer, intent(in) :: code
    integer :: ignored
    call MPI_Error_class(code, class, ignored)
  end function
  logical function all_equal(a, b)
    real, intent(in) :: a(:, :), b
    all_equal = .not. any(a /= b)
  end function
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what
    stop 1
  end subroutine
  subroutine copy(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    integer :: oldcomm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call check(oldcomm == MPI_COMM_WORLD .and. keyval == key .and. extra_state == 42, 'arguments of a copy')
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    copies = copies + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, keyval, attribute_val, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call check(attribute_val == merge(-6, -7, deletes == 0) .and. extra_state == 42, 'arguments of a deletion')
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine failed(of, error_code)
    integer :: of, error_code
    call check(of == comm .and. class(error_code) == MPI_ERR_RANK, 'arguments of an error handler')
    errors = errors + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), ierror
    call check(extra_state == 99, 'the state of a request')
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = 77
    queries = queries + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine free(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end program
