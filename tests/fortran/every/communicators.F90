! Groups and communicators.
#include "form.h"
subroutine communicators
  use form
  implicit none
  integer :: n, i, result, members(16), others(16)
  logical :: flag
  GROUP :: world, g, h, k
  COMM :: comm, other, between, merged
  INFO :: info
  REQUEST :: q
  character(len=MPI_MAX_OBJECT_NAME) :: name
  family = 'groups'
  call MPI_Comm_group(MPI_COMM_WORLD, world, ierr); OK
  call MPI_Group_size(world, n, ierr); OK
  CHECK(n == ranks)
  call MPI_Group_rank(world, n, ierr); OK
  CHECK(n == rank)
  call MPI_Group_incl(world, 1, [ranks - 1], g, ierr); OK
  call MPI_Group_rank(g, n, ierr); OK
  CHECK(n == merge(0, MPI_UNDEFINED, rank == ranks - 1))
  call MPI_Group_excl(world, 1, [ranks - 1], h, ierr); OK
  call MPI_Group_size(h, n, ierr); OK
  CHECK(n == ranks - 1)
  call MPI_Group_union(h, g, k, ierr); OK
  call MPI_Group_compare(k, world, result, ierr); OK
  CHECK(result == MPI_IDENT)
  call MPI_Group_free(k, ierr); OK
  CHECK(k == MPI_GROUP_NULL)
  call MPI_Group_intersection(g, h, k, ierr); OK
  call MPI_Group_compare(k, MPI_GROUP_EMPTY, result, ierr); OK
  CHECK(result == MPI_IDENT)
  call MPI_Group_difference(world, h, k, ierr); OK
  call MPI_Group_compare(k, g, result, ierr); OK
  CHECK(result == MPI_IDENT)
  call MPI_Group_free(k, ierr); OK
  call MPI_Group_range_incl(world, 1, reshape([ranks - 1, 0, -1], [3, 1]), k, ierr); OK
  call MPI_Group_compare(k, world, result, ierr); OK
  CHECK(result == merge(MPI_IDENT, MPI_SIMILAR, ranks == 1))
  members(:ranks) = [(i, i = 0, ranks - 1)]
  call MPI_Group_translate_ranks(k, ranks, members, world, others, ierr); OK
  CHECK(all(others(:ranks) == [(i, i = ranks - 1, 0, -1)]))
  call MPI_Group_free(k, ierr); OK
  call MPI_Group_range_excl(world, 1, reshape([0, ranks - 1, 1], [3, 1]), k, ierr); OK
  call MPI_Group_size(k, n, ierr); OK
  CHECK(n == 0)
  family = 'communicators'
  call MPI_Comm_create(MPI_COMM_WORLD, g, comm, ierr); OK
  CHECK((comm == MPI_COMM_NULL) .neqv. rank == ranks - 1)
  if (rank == ranks - 1) then
    call MPI_Comm_size(comm, n, ierr); OK
    CHECK(n == 1)
    call MPI_Comm_free(comm, ierr); OK
    CHECK(comm == MPI_COMM_NULL)
    call MPI_Comm_create_group(MPI_COMM_WORLD, g, 5, comm, ierr); OK
    call MPI_Comm_rank(comm, n, ierr); OK
    CHECK(n == 0)
    call MPI_Comm_disconnect(comm, ierr); OK
    CHECK(comm == MPI_COMM_NULL)
  end if
  call MPI_Group_free(g, ierr); OK
  call MPI_Group_free(h, ierr); OK
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr); OK
  call MPI_Comm_compare(comm, MPI_COMM_WORLD, result, ierr); OK
  CHECK(result == MPI_CONGRUENT)
  call MPI_Comm_set_name(comm, 'a name with  blanks   ', ierr); OK
  name = 'x'
  call MPI_Comm_get_name(comm, name, n, ierr); OK
  CHECK(name == 'a name with  blanks' .and. n == 19)
  call MPI_Info_create(info, ierr); OK
  call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true', ierr); OK
  call MPI_Comm_set_info(comm, info, ierr); OK
  call MPI_Comm_dup_with_info(comm, info, other, ierr); OK
  call MPI_Info_free(info, ierr); OK
  call MPI_Comm_get_info(comm, info, ierr); OK
  CHECK(info /= MPI_INFO_NULL)
  call MPI_Comm_compare(other, comm, result, ierr); OK
  CHECK(result == MPI_CONGRUENT)
  call MPI_Comm_free(other, ierr); OK
  call MPI_Comm_idup(comm, other, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Comm_size(other, n, ierr); OK
  CHECK(n == ranks)
  call MPI_Comm_free(other, ierr); OK
  call MPI_Comm_idup_with_info(comm, info, other, q, ierr); OK
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr); OK
  call MPI_Comm_rank(other, n, ierr); OK
  CHECK(n == rank)
  call MPI_Comm_free(other, ierr); OK
  call MPI_Info_free(info, ierr); OK
  call MPI_Comm_split(comm, mod(rank, 2), -rank, other, ierr); OK
  call MPI_Comm_rank(other, n, ierr); OK
  CHECK(n == (ranks - 1 - rank) / 2)
  call MPI_Comm_free(other, ierr); OK
  call MPI_Comm_split(comm, merge(MPI_UNDEFINED, 0, rank == 0), 0, other, ierr); OK
  CHECK((other == MPI_COMM_NULL) .eqv. rank == 0)
  if (rank /= 0) then
    call MPI_Comm_free(other, ierr); OK
  end if
  call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, other, ierr); OK
  call MPI_Comm_size(other, n, ierr); OK
  CHECK(n >= 1 .and. n <= ranks)
  call MPI_Comm_free(other, ierr); OK
  call MPI_Comm_get_parent(other, ierr); OK
  CHECK(other == MPI_COMM_NULL)
  call MPI_Comm_test_inter(comm, flag, ierr); OK
  CHECK(.not. flag)
  if (ranks > 1) then
    ! Ranks that are even and those that are odd.
    call MPI_Comm_split(comm, mod(rank, 2), rank, other, ierr); OK
    call MPI_Intercomm_create(other, 0, comm, 1 - mod(rank, 2), 3, between, ierr); OK
    call MPI_Comm_test_inter(between, flag, ierr); OK
    CHECK(flag)
    call MPI_Comm_remote_size(between, n, ierr); OK
    CHECK(n == ranks / 2)
    call MPI_Comm_remote_group(between, g, ierr); OK
    call MPI_Group_translate_ranks(g, 1, [0], world, others, ierr); OK
    CHECK(others(1) == 1 - mod(rank, 2))
    call MPI_Group_free(g, ierr); OK
    i = -1
    if (rank == 0) then
      call MPI_Bcast(rank, 1_nk, MPI_INTEGER, MPI_ROOT, between, ierr); OK
    else if (mod(rank, 2) == 1) then
      call MPI_Bcast(i, 1_nk, MPI_INTEGER, 0, between, ierr); OK
      CHECK(i == 0)
    end if
    call MPI_Intercomm_merge(between, mod(rank, 2) == 0, merged, ierr); OK
    call MPI_Comm_rank(merged, n, ierr); OK
    CHECK(n == rank / 2 + merge(ranks / 2, 0, mod(rank, 2) == 0))
    call MPI_Comm_free(merged, ierr); OK
    call MPI_Comm_free(between, ierr); OK
    call MPI_Comm_free(other, ierr); OK
  end if
  call MPI_Comm_free(comm, ierr); OK
  call MPI_Group_free(world, ierr); OK
end subroutine
