! Sessions, and what is made of their process sets.
#include "form.h"
subroutine sessions
  use form
  implicit none
#if !defined(OLD)
  integer :: n, length, i, total
  logical :: flag
  character(len=MPI_MAX_PSET_NAME_LEN) :: name
  character(len=20) :: text
  SESSION :: session
  GROUP :: g, mine, others
  COMM :: comm, between
  INFO :: info
  family = 'sessions'
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierr); OK
  CHECK(session /= MPI_SESSION_NULL)
  call MPI_Session_get_info(session, info, ierr); OK
  CHECK(info /= MPI_INFO_NULL)
  call MPI_Info_free(info, ierr); OK
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, ierr); OK
  CHECK(n >= 2)
  flag = .false.
  do i = 0, n - 1
    length = len(name)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierr); OK
    flag = flag .or. name == 'mpi://WORLD'
  end do
  CHECK(flag)
  call MPI_Session_get_pset_info(session, 'mpi://WORLD  ', info, ierr); OK
  length = 20
  call MPI_Info_get_string(info, 'mpi_size', length, text, flag, ierr); OK
  CHECK(flag)
  read (text, *) n
  CHECK(n == ranks)
  call MPI_Info_free(info, ierr); OK
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', g, ierr); OK
  call MPI_Group_size(g, n, ierr); OK
  CHECK(n == ranks)
  call MPI_Comm_create_from_group(g, 'a tag of ours', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, ierr); OK
  total = -1
  call MPI_Allreduce(1, total, 1_nk, MPI_INTEGER, MPI_SUM, comm, ierr); OK
  CHECK(total == ranks)
  call MPI_Comm_free(comm, ierr); OK
  if (ranks > 1) then
    call MPI_Group_range_incl(g, 1, reshape([mod(rank, 2), ranks - 1, 2], [3, 1]), mine, ierr); OK
    call MPI_Group_difference(g, mine, others, ierr); OK
    call MPI_Intercomm_create_from_groups(mine, 0, others, 0, 'between', MPI_INFO_NULL, MPI_ERRORS_RETURN, between, ierr); OK
    call MPI_Comm_remote_size(between, n, ierr); OK
    CHECK(n == ranks / 2)
    call MPI_Comm_disconnect(between, ierr); OK
    call MPI_Group_free(mine, ierr); OK
    call MPI_Group_free(others, ierr); OK
  end if
  call MPI_Group_free(g, ierr); OK
  call MPI_Session_finalize(session, ierr); OK
  CHECK(session == MPI_SESSION_NULL)
#endif
end subroutine
