! Error handlers of each kind of object, classes and codes of the program's own.
#include "form.h"
module error_callbacks
  use form
  implicit none
  integer :: class_of_error = -1, times = 0
contains
  subroutine of_comm(object, code)
    COMM :: object
    integer :: code
    CHECK(object /= MPI_COMM_NULL)
    call seen(code)
  end subroutine
  subroutine of_win(object, code)
    WIN :: object
    integer :: code
    CHECK(object /= MPI_WIN_NULL)
    call seen(code)
  end subroutine
  subroutine of_file(object, code)
    FILE_ :: object
    integer :: code
    call seen(code)
  end subroutine
#if !defined(OLD)
  subroutine of_session(object, code)
    SESSION :: object
    integer :: code
    CHECK(object /= MPI_SESSION_NULL)
    call seen(code)
  end subroutine
#endif
  subroutine seen(code)
    integer, intent(in) :: code
    integer :: error
    call MPI_Error_class(code, class_of_error, error)
    times = times + 1
  end subroutine
end module

subroutine errors
  use form
  use error_callbacks
  implicit none
  integer :: class, code, n, buffer(2)
  integer(ak) :: size
  integer(nk) :: unit
  character(len=MPI_MAX_ERROR_STRING) :: text
  COMM :: comm
  WIN :: w
  FILE_ :: f
#if !defined(OLD)
  SESSION :: session
#endif
  ERRHANDLER :: handler, found
  family = 'errors'
  call MPI_Error_class(MPI_SUCCESS, class, ierr); OK
  CHECK(class == MPI_SUCCESS)
  text = ' '
  call MPI_Error_string(MPI_ERR_RANK, text, n, ierr); OK
  CHECK(n > 0 .and. len_trim(text) == n)
  call MPI_Add_error_class(class, ierr); OK
  CHECK(class > MPI_ERR_LASTCODE)
  call MPI_Add_error_code(class, code, ierr); OK
  call MPI_Add_error_string(code, 'of our own  ', ierr); OK
  call MPI_Error_string(code, text, n, ierr); OK
  CHECK(text == 'of our own' .and. n == 10)
  call MPI_Error_class(code, n, ierr); OK
  CHECK(n == class)
  ! Communicators.
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr); OK
  call MPI_Comm_create_errhandler(of_comm, handler, ierr); OK
  call MPI_Comm_set_errhandler(comm, handler, ierr); OK
  call MPI_Comm_get_errhandler(comm, found, ierr); OK
  CHECK(found == handler)
  call MPI_Errhandler_free(found, ierr); OK
  CHECK(found == MPI_ERRHANDLER_NULL)
  call MPI_Errhandler_free(handler, ierr); OK
  call MPI_Comm_call_errhandler(comm, code, ierr); OK
  CHECK(times == 1 .and. class_of_error == class)
  call MPI_Send(buffer, 1_nk, MPI_INTEGER, ranks, 1, comm, ierr)
  call fails(MPI_ERR_RANK, __LINE__)
  CHECK(times == 2 .and. class_of_error == MPI_ERR_RANK)
  call MPI_Send(buffer, -1_nk, MPI_INTEGER, 0, 1, comm, ierr)
  call fails(MPI_ERR_COUNT, __LINE__)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr); OK
  call MPI_Send(buffer, 1_nk, MPI_DATATYPE_NULL, 0, 1, comm, ierr)
  call fails(MPI_ERR_TYPE, __LINE__)
  call MPI_Sendrecv(buffer, 2_nk, MPI_INTEGER, rank, 1, n, 1_nk, MPI_INTEGER, rank, 1, comm, MPI_STATUS_IGNORE, ierr)
  call fails(MPI_ERR_TRUNCATE, __LINE__)
  CHECK(times == 3)
  call MPI_Comm_free(comm, ierr); OK
  ! Windows.
  size = 8
  unit = 4
  call MPI_Win_create(buffer, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, w, ierr); OK
  call MPI_Win_create_errhandler(of_win, handler, ierr); OK
  call MPI_Win_set_errhandler(w, handler, ierr); OK
  call MPI_Win_get_errhandler(w, found, ierr); OK
  CHECK(found == handler)
  call MPI_Errhandler_free(found, ierr); OK
  call MPI_Errhandler_free(handler, ierr); OK
  call MPI_Win_call_errhandler(w, code, ierr); OK
  CHECK(times == 4 .and. class_of_error == class)
  call MPI_Win_free(w, ierr); OK
  ! Files: those that are opened later have the handler of none.
  call MPI_File_create_errhandler(of_file, handler, ierr); OK
  f = MPI_FILE_NULL
  call MPI_File_set_errhandler(f, handler, ierr); OK
  call MPI_File_get_errhandler(f, found, ierr); OK
  CHECK(found == handler)
  call MPI_Errhandler_free(found, ierr); OK
  call MPI_File_open(MPI_COMM_SELF, 'there/is/none', MPI_MODE_RDONLY, MPI_INFO_NULL, f, ierr)
  ierr = -1
  CHECK(times == 5 .and. f == MPI_FILE_NULL)
  call MPI_File_call_errhandler(f, code, ierr); OK
  CHECK(times == 6 .and. class_of_error == class)
  call MPI_File_set_errhandler(f, MPI_ERRORS_RETURN, ierr); OK
  call MPI_Errhandler_free(handler, ierr); OK
#if !defined(OLD)
  ! Sessions.
  call MPI_Session_create_errhandler(of_session, handler, ierr); OK
  call MPI_Session_init(MPI_INFO_NULL, handler, session, ierr); OK
  call MPI_Session_get_errhandler(session, found, ierr); OK
  CHECK(found == handler)
  call MPI_Errhandler_free(found, ierr); OK
  call MPI_Session_set_errhandler(session, handler, ierr); OK
  call MPI_Session_call_errhandler(session, code, ierr); OK
  CHECK(times == 7 .and. class_of_error == class)
  call MPI_Errhandler_free(handler, ierr); OK
  call MPI_Session_finalize(session, ierr); OK
  CHECK(session == MPI_SESSION_NULL)
  call MPI_Remove_error_string(code, ierr); OK
  call MPI_Remove_error_code(code, ierr); OK
  call MPI_Remove_error_class(class, ierr); OK
#endif
end subroutine
