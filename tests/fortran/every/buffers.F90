! Memory that is attached for buffered sends: to the process, to a communicator, to a session; memory that MPI allocates.
#include "form.h"
subroutine buffers
  use form
  use, intrinsic :: iso_c_binding
  implicit none
  integer, target :: buffer(2000)
  BUFFERS :: a(10), b(10)
  integer(nk) :: bytes
  integer(ak) :: size
  integer, pointer :: memory(:)
  COMM :: comm
  REQUEST :: q
#if !defined(OLD)
  SESSION :: session
#endif
  INFO :: info
  type(C_PTR) :: address
  ADDRESS :: place
  family = 'buffers'
  a = rank
  size = 800
  call MPI_Alloc_mem(size, MPI_INFO_NULL, address, ierr); OK
  call c_f_pointer(address, memory, [200])
  memory = 7
  CHECK(sum(memory) == 1400)
  call MPI_Free_mem(memory, ierr); OK
#if !defined(OLD)
  bytes = 8000
  call MPI_Buffer_attach(buffer, bytes, ierr); OK
  call MPI_Bsend(a, 10_nk, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierr); OK
  call MPI_Recv(b, 10_nk, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr); OK
  CHECK(all(b == last))
  call MPI_Buffer_flush(ierr); OK
  call MPI_Buffer_iflush(q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  bytes = 0
  call MPI_Buffer_detach(ATTACHED(buffer, place), bytes, ierr); OK
  CHECK(bytes == 8000)
#if defined(F08)
  CHECK(c_associated(place, c_loc(buffer)))
#endif
  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0_nk, ierr); OK
  call MPI_Bsend(a, 10_nk, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierr); OK
  call MPI_Recv(b, 10_nk, MPI_INTEGER, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Buffer_detach(ATTACHED(buffer, place), bytes, ierr); OK
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr); OK
  bytes = 8000
  call MPI_Comm_attach_buffer(comm, buffer, bytes, ierr); OK
  b = -1
  call MPI_Bsend(a, 10_nk, MPI_INTEGER, next, 1, comm, ierr); OK
  call MPI_Recv(b, 10_nk, MPI_INTEGER, last, 1, comm, MPI_STATUS_IGNORE, ierr); OK
  CHECK(all(b == last))
  call MPI_Comm_flush_buffer(comm, ierr); OK
  call MPI_Comm_iflush_buffer(comm, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  bytes = 0
  call MPI_Comm_detach_buffer(comm, ATTACHED(buffer, place), bytes, ierr); OK
  CHECK(bytes == 8000)
  call MPI_Comm_free(comm, ierr); OK
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierr); OK
  call MPI_Session_attach_buffer(session, buffer, bytes, ierr); OK
  call MPI_Session_flush_buffer(session, ierr); OK
  call MPI_Session_iflush_buffer(session, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  bytes = 0
  call MPI_Session_detach_buffer(session, ATTACHED(buffer, place), bytes, ierr); OK
  CHECK(bytes == 8000)
  call MPI_Session_finalize(session, ierr); OK
#endif
end subroutine
