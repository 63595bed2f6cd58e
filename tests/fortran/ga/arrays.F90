! Global Arrays and MA from Fortran: the order of dimensions, indexes from 1, both sizes of INTEGER. Every process compares with a copy of its own.
program arrays
  implicit none
#include "mafdecls.fh"
#include "global.fh"
#include "ga-mpi.fh"
  integer :: me, procs, g_a, g_b, g_c, g_d, i, j, k, n, type, ndim, dims(7), lo(3), hi(3), ld(2), handle, round, seed, owner, comm
  integer :: ilo, ihi, jlo, jhi, map(5, 64), rows(5), columns(5), whole(3), at(3), width(2)
  MA_ACCESS_INDEX_TYPE :: index
  integer :: model(7, 6, 5), patch(7, 6, 5), other(7, 6, 5), cube(4, 3, 2), bins(3)
  double precision :: a(8, 8), b(8, 8), c(8, 8), x(8, 3), y(8, 3), values(8), sums(2), picked(5)
  double complex :: z
  integer :: ints(3), status
  logical :: ok
  logical, external :: ga_create_bin_range
  character(len=20) :: name
  call mpi_init(status)
  call ga_initialize()
  ok = ma_init(MT_DBL, 100000, 100000)
  call check(ok .and. ma_initialized() .and. ga_initialized(), 'start')
  me = ga_nodeid()
  procs = ga_nnodes()
  call ga_mpi_comm(comm)
  seed = 4711
  ! Three dimensions of different extents, against a copy.
  whole = [7, 6, 5]
  ok = nga_create(MT_INT, 3, whole, 'a name', [-1, -1, -1], g_a)
  call check(ok, 'nga_create')
  call nga_inquire(g_a, type, ndim, dims)
  call check(type == MT_INT .and. ndim == 3 .and. all(dims(:3) == whole), 'nga_inquire')
  call ga_inquire_name(g_a, name)
  call check(name == 'a name', 'ga_inquire_name')
  call ga_zero(g_a)
  model = 0
  do round = 1, 100
    do i = 1, 3
      lo(i) = draw(whole(i))
      hi(i) = lo(i) + draw(whole(i) - lo(i) + 1) - 1
    end do
    ld = whole(:2)
    do k = 1, 5
      do j = 1, 6
        do i = 1, 7
          patch(i, j, k) = round * 1000 + i + 10 * j + 100 * k
        end do
      end do
    end do
    call ga_sync()
    if (mod(round, procs) == me) then
      if (mod(round, 2) == 0) then
        call nga_put(g_a, lo, hi, patch, ld)
      else
        call nga_acc(g_a, lo, hi, patch, ld, 2)
      end if
    end if
    call ga_sync()
    n = 1
    if (mod(round, 2) == 0) then
      model(lo(1):hi(1), lo(2):hi(2), lo(3):hi(3)) = patch(:hi(1) - lo(1) + 1, :hi(2) - lo(2) + 1, :hi(3) - lo(3) + 1)
    else
      model(lo(1):hi(1), lo(2):hi(2), lo(3):hi(3)) = model(lo(1):hi(1), lo(2):hi(2), lo(3):hi(3)) + &
        2 * patch(:hi(1) - lo(1) + 1, :hi(2) - lo(2) + 1, :hi(3) - lo(3) + 1)
    end if
    other = -1
    call nga_get(g_a, [1, 1, 1], whole, other, ld)
    call check(all(other == model), 'patches')
  end do
  ! Elements by their owners' indexes.
  do i = 0, procs - 1
    call nga_distribution(g_a, i, lo, hi)
    if (any(hi < lo)) cycle
    ok = nga_locate(g_a, hi, owner)
    call check(ok .and. owner == i, 'nga_locate')
    if (i /= me) cycle
    call nga_access(g_a, lo, hi, index, ld)
    call check(int_mb(index) == model(lo(1), lo(2), lo(3)), 'nga_access')
    call check(int_mb(index + (hi(1) - lo(1)) + ld(1) * ((hi(2) - lo(2)) + ld(2) * (hi(3) - lo(3)))) == model(hi(1), hi(2), hi(3)), &
      'the last element')
    call nga_release(g_a, lo, hi)
  end do
  call ga_sync()
  at = [3, 2, 1]
  n = nga_read_inc(g_a, at, 1)
  call ga_igop(1, n, 1, 'max')
  call check(n == model(3, 2, 1) + procs - 1, 'nga_read_inc')
  n = -1
  call nga_select_elem(g_a, 'max', n, at)
  call check(n >= maxval(model) .and. all(at >= 1) .and. all(at <= whole), 'nga_select_elem')
  ok = ga_destroy(g_a)
  ! Matrices.
  do j = 1, 8
    do i = 1, 8
      a(i, j) = sin(1d0 * i + 3 * j)
      b(i, j) = cos(2d0 * i - j)
    end do
  end do
  ok = ga_create(MT_DBL, 8, 8, 'a', 0, 0, g_a) .and. ga_create(MT_DBL, 8, 8, 'b', 0, 0, g_b) .and. ga_create(MT_DBL, 8, 8, 'c', 0, 0, g_c)
  call check(ok, 'ga_create')
  if (me == 0) then
    call ga_put(g_a, 1, 8, 1, 8, a, 8)
    call ga_put(g_b, 1, 8, 1, 8, b, 8)
  end if
  call ga_sync()
  call ga_inquire(g_a, type, i, j)
  call check(type == MT_DBL .and. i == 8 .and. j == 8, 'ga_inquire')
  x = -1
  call ga_get(g_a, 2, 6, 3, 5, x, 8)
  call check(all(x(:5, :) == a(2:6, 3:5)) .and. all(x(6:, :) == -1), 'ga_get')
  call ga_dgemm('n', 'n', 8, 8, 8, 2d0, g_a, g_b, 0d0, g_c)
  call is(2 * matmul(a, b), 'ga_dgemm')
  call ga_dgemm('t', 'n', 8, 8, 8, 1d0, g_a, g_b, 0d0, g_c)
  call is(matmul(transpose(a), b), 'ga_dgemm, of a transpose')
  ! A handle knows its dimensions before it has memory.
  g_d = ga_create_handle()
  call ga_set_data(g_d, 2, [8, 6], MT_DBL)
  call check(ga_ndim(g_d) == 2, 'ga_ndim of a handle without memory')
  call ga_set_chunk(g_d, [8, 1])
  ok = ga_allocate(g_d)
  call ga_set_ghost_corner_flag(g_d, .true.)
  call nga_distribution(g_d, 0, lo, hi)
  call check(ok .and. ga_ndim(g_d) == 2 .and. lo(1) == 1 .and. hi(1) == 8, 'ga_set_chunk')
  ok = ga_destroy(g_d)
  call ga_zero(g_c)
  call ga_matmul_patch('n', 't', 1d0, 0d0, g_a, 1, 3, 2, 5, g_b, 1, 4, 2, 4, g_c, 1, 3, 1, 3)
  c = 0
  c(:3, :3) = matmul(a(1:3, 2:5), transpose(b(2:4, 1:4)))
  call is(c, 'ga_matmul_patch')
  call ga_transpose(g_a, g_c)
  call is(transpose(a), 'ga_transpose')
  call ga_dadd(2d0, g_a, -1d0, g_b, g_c)
  call is(2 * a - b, 'ga_dadd')
  call ga_copy_patch('t', g_a, 1, 2, 1, 8, g_c, 1, 8, 1, 2)
  c = 2 * a - b
  c(:, 1:2) = transpose(a(1:2, :))
  call is(c, 'ga_copy_patch')
  call check(near(ga_ddot(g_a, g_b), sum(a * b)), 'ga_ddot')
  call check(near(ga_ddot_patch(g_a, 'n', 1, 3, 2, 4, g_b, 'n', 1, 3, 2, 4), sum(a(1:3, 2:4) * b(1:3, 2:4))), 'ga_ddot_patch')
  rows = [1, 8, 3, 5, 2]
  columns = [2, 1, 7, 5, 8]
  call ga_gather(g_a, picked, rows, columns, 5)
  call check(all([(picked(i) == a(rows(i), columns(i)), i = 1, 5)]), 'ga_gather')
  call ga_sync()
  ! Rows scaled by a vector.
  ok = nga_create(MT_DBL, 1, [8], 'v', [-1], g_d)
  values = [(1d0 * i, i = 1, 8)]
  if (me == 0) call nga_put(g_d, [1], [8], values, [8])
  call ga_copy(g_a, g_c)
  call ga_scale_rows(g_c, g_d)
  c = a * spread(values, 2, 8)
  call is(c, 'ga_scale_rows')
  ok = ga_destroy(g_d)
  ! A system that is not symmetric, and eigenvectors of a symmetric matrix.
  ok = ga_create(MT_DBL, 8, 3, 'right sides', 0, 0, g_d)
  y = b(:, :3)
  do i = 1, 8
    a(i, i) = a(i, i) + 10
  end do
  call ga_sync()
  if (me == 0) call ga_put(g_a, 1, 8, 1, 8, a, 8)
  if (me == 0) call ga_put(g_d, 1, 8, 1, 3, y, 8)
  call ga_sync()
  call ga_lu_solve('n', g_a, g_d)
  call ga_get(g_d, 1, 8, 1, 3, x, 8)
  call check(all(abs(matmul(a, x) - y) < 1d-9), 'ga_lu_solve')
  call ga_sync()
  a = a + transpose(a)
  if (me == 0) call ga_put(g_a, 1, 8, 1, 8, a, 8)
  call ga_sync()
  call ga_diag_std(g_a, g_c, values)
  call ga_get(g_c, 1, 8, 1, 8, c, 8)
  call check(all(abs(matmul(a, c) - c * spread(values, 1, 8)) < 1d-9), 'ga_diag_std')
  ok = ga_destroy(g_d)
  ! Reductions, broadcasts, groups.
  ints = [me, 1, -me]
  call ga_igop(1, ints, 3, '+')
  call check(all(ints == [procs * (procs - 1) / 2, procs, -procs * (procs - 1) / 2]), 'ga_igop')
  sums = [1d0 * me, 0.5d0]
  call ga_dgop(1, sums, 2, 'max')
  call check(sums(1) == procs - 1 .and. sums(2) == 0.5d0, 'ga_dgop')
  n = merge(99, 0, me == procs - 1)
  call ga_brdcst(1, n, ma_sizeof(MT_INT, 1, MT_BYTE), procs - 1)
  call check(n == 99, 'ga_brdcst')
  n = ga_pgroup_create([(i, i = 0, procs - 1)], procs)
  call check(ga_pgroup_nnodes(n) == procs .and. ga_pgroup_nodeid(n) == me, 'ga_pgroup_create')
  ok = ga_pgroup_destroy(n)
  ! In a default group processes are counted among its members, which alone copy from its arrays to those of all.
  call ga_zero(g_c)
  n = ga_pgroup_split_irreg(ga_pgroup_get_world(), mod(me, 2))
  call ga_pgroup_set_default(n)
  call check(ga_nodeid() == me / 2 .and. ga_nnodes() == (procs + 1 - mod(me, 2)) / 2, 'ga_nodeid in a group')
  c = b
  c(:, 1:2) = transpose(b(1:2, :))
  if (mod(me, 2) == 0) then
    ok = ga_create(MT_DBL, 8, 8, 'of the group', 0, 0, g_d)
    if (ga_nodeid() == 0) call ga_put(g_d, 1, 8, 1, 8, b, 8)
    call ga_copy(g_d, g_c)
    call ga_copy_patch('t', g_d, 1, 2, 1, 8, g_c, 1, 8, 1, 2)
    call ga_copy(g_c, g_d)
    y = -1
    call ga_get(g_d, 1, 8, 1, 3, y, 8)
    call check(all(y == c(:, :3)), 'ga_copy to an array of a group')
    ok = ga_destroy(g_d)
  end if
  call ga_pgroup_set_default(ga_pgroup_get_world())
  call is(c, 'ga_copy from an array of a group')
  ok = ga_pgroup_destroy(n)
  ! Three dimensions in the other order.
  ok = nga_create(MT_INT, 3, [4, 3, 2], 'cube', [-1, -1, -1], g_d)
  if (me == 0) call nga_put(g_d, [1, 1, 1], [4, 3, 2], [(i, i = 1, 24)], [4, 3])
  call ga_sync()
  cube = reshape([(i, i = 1, 24)], [4, 3, 2])
  n = nga_idot_patch(g_d, 'n', [1, 1, 1], [4, 3, 2], g_d, 't', [1, 1, 1], [4, 3, 2])
  call check(n == sum(reshape(cube, [24]) * reshape(reshape(cube, [2, 3, 4], order=[3, 2, 1]), [24])), 'nga_idot_patch, of a transpose')
  ok = ga_destroy(g_d)
  ! A loop over the common block, of which the header declares two elements.
  ok = nga_create(MT_INT, 1, [40 * procs], 'a row', [-1], g_d)
  call nga_distribution(g_d, me, lo(1), hi(1))
  call nga_access(g_d, lo(1), hi(1), index, ld)
  call put_sevens(index, hi(1) - lo(1) + 1)
  call check(all(int_mb(index:index + hi(1) - lo(1)) == 7), 'a loop over int_mb')
  call nga_release_update(g_d, lo(1), hi(1))
  ok = ga_destroy(g_d)
  ! Bins: of the values that processes have for bin b, which begin behind the offset, the sorted ones.
  ok = nga_create(MT_INT, 1, [3], 'counts', [-1], bins(1)) .and. nga_create(MT_INT, 1, [3], 'offsets', [-1], bins(2)) .and. &
    nga_create(MT_INT, 1, [4 * procs], 'bins', [-1], bins(3))
  if (me == 0) call nga_put(bins(1), [1], [3], [procs, 0, 3 * procs], [3])
  if (me == 0) call nga_put(bins(2), [1], [3], [0, procs, procs], [3])
  call ga_sync()
  ints = [1, 2, 3]
  call ga_bin_index(bins(3), bins(1), bins(2), [-me, 10 + me, 30 + me, 20 + me], [1, 3, 3, 3], 4, .false.)
  call nga_get(bins(3), [procs + 3 * me + 1], [procs + 3 * me + 3], ints, [3])
  call check(all(ints == [10 + me, 30 + me, 20 + me]), 'ga_bin_index')
  ok = ga_create_bin_range(bins(3), bins(1), bins(2), g_d)
  call check(ok, 'ga_create_bin_range')
  call nga_inquire(g_d, type, ndim, dims)
  call check(ndim == 2 .and. dims(1) == 2 .and. dims(2) == procs, 'the ranges of bins')
  call nga_get(g_d, [1, me + 1], [2, me + 1], ints, [2])
  ! The first process has the beginning of the first bin, that of element procs + 1 the beginning of the third.
  ok = nga_locate(bins(3), [1], i) .and. nga_locate(bins(3), [procs + 1], j)
  call check((ints(1) == 1 .eqv. me == i) .and. (ints(2) == 3 .eqv. me == j), 'the first and the last bin of a process')
  call check(me == i .or. me == j .or. (ints(1) == 0 .and. ints(2) == -1), 'no bin of a process')
  call ga_sync()
  ok = ga_destroy(g_d)
  call ga_bin_sorter(bins(3), bins(1), bins(2))
  call nga_get(bins(3), [me + 1], [me + 1], n, [1])
  call check(n == me - procs + 1, 'ga_bin_sorter')
  call nga_get(bins(3), [procs + me + 1], [procs + me + 1], n, [1])
  call check(n == 10 + me, 'ga_bin_sorter')
  do i = 1, 3
    ok = ga_destroy(bins(i))
  end do
  call ga_version(i, j, k)
  call check(i == 5 .and. j == 9, 'ga_version')
  z = ga_zdot_of_ones()
  call check(z == (4d0, 0d0), 'ga_zdot')
  call steps()
  call notified()
  call sparse()
  ! Blocks that begin where the program says.
  ok = ga_create_irreg(MT_DBL, 8, 6, 'irregular', [1, 5], 1 + min(1, procs - 1), [1], 1, g_d)
  call check(ok, 'ga_create_irreg')
  if (procs > 1) then
    call ga_distribution(g_d, 1, ilo, ihi, jlo, jhi)
    call check(ilo == 5 .and. ihi == 8 .and. jlo == 1 .and. jhi == 6, 'ga_distribution')
  end if
  ok = ga_locate_region(g_d, 1, 8, 1, 6, map, n)
  call check(ok .and. n == min(2, procs) .and. all(map(1:2, n) == [merge(5, 1, n == 2), 8]) .and. all(map(3:4, n) == [1, 6]), 'ga_locate_region')
  ok = ga_destroy(g_d)
  ! Ghost cells: index of the own part with its margins.
  width = [1, 2]
  ok = nga_create_ghosts(MT_DBL, 2, [8, 8], width, 'margins', [-1, -1], g_d)
  call ga_fill(g_d, 1d0 * 3)
  call ga_update_ghosts(g_d)
  call nga_access_ghosts(g_d, dims, index, ld)
  call ga_distribution(g_d, me, ilo, ihi, jlo, jhi)
  call check(dims(1) == ihi - ilo + 3 .and. dims(2) == jhi - jlo + 5, 'nga_access_ghosts')
  call check(dbl_mb(index) == 3 .and. dbl_mb(index + dims(1) * dims(2) - 1) == 3, 'ghost cells')
  ok = ga_destroy(g_d)
  ! MA: on the heap and on the stack.
  ok = ma_push_get(MT_DBL, 50, 'on the stack', handle, index)
  call check(ok, 'ma_push_get')
  do i = 0, 49
    dbl_mb(index + i) = i
  end do
  call check(sum(dbl_mb(index:index + 49)) == 1225, 'dbl_mb')
  call check(ma_pop_stack(handle), 'ma_pop_stack')
  ok = ma_alloc_get(MT_INT, 10, 'on the heap', handle, index)
  int_mb(index:index + 9) = me
  call check(ok .and. sum(int_mb(index:index + 9)) == 10 * me, 'int_mb')
  call check(ma_free_heap(handle), 'ma_free_heap')
  ok = ga_destroy(g_a) .and. ga_destroy(g_b) .and. ga_destroy(g_c)
  call check(ok, 'ga_destroy')
  if (me == 0) print '(a)', 'right'
  call ga_terminate()
  call mpi_finalize(status)
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print *, 'wrong: ', what, ' on ', me
    call ga_error('a wrong answer', 1)
  end subroutine
  logical function near(p, q)
    double precision, intent(in) :: p, q
    near = abs(p - q) < 1d-9
  end function
  ! The elements of g_c.
  subroutine is(wanted, what)
    double precision, intent(in) :: wanted(8, 8)
    character(len=*), intent(in) :: what
    double precision :: got(8, 8)
    call ga_sync()
    call ga_get(g_c, 1, 8, 1, 8, got, 8)
    call check(all(abs(got - wanted) < 1d-9), what)
    call ga_sync()
  end subroutine
  ! Quotients of patches, the second into its own numerator: those by 0 and of 0 are what bounds of steps need.
  subroutine steps()
    integer :: g(4), i
    logical :: made
    double precision :: got(6), large, least, wolfe, most
    large = 1d307
    made = .true.
    do i = 1, 4
      made = made .and. nga_create(MT_DBL, 2, [5, 6], 'steps', [-1, -1], g(i))
      call ga_fill(g(i), 9d0)
    end do
    call check(made, 'arrays of steps')
    if (me == 0) then
      call nga_put(g(1), [2, 1], [3, 3], [6d0, 0d0, 0d0, 0d0, 5d0, -8d0], [2])
      call nga_put(g(2), [1, 2], [2, 4], [3d0, 2d0, -2d0, 0d0, 0d0, 4d0], [2])
    end if
    call ga_sync()
    call nga_elem_step_divide_patch(g(1), [2, 1], [3, 3], g(2), [1, 2], [2, 4], g(3), [4, 3], [5, 5])
    call nga_get(g(3), [4, 3], [5, 5], got, [2])
    call check(all(got == [2d0, large, 0d0, large, large, -2d0]), 'nga_elem_step_divide_patch')
    call nga_get(g(3), [1, 1], [3, 2], got, [3])
    call check(all(got == 9), 'what is not in the patch')
    call ga_sync()
    call ga_elem_stepb_divide_patch(g(1), [2, 1], [3, 3], g(2), [1, 2], [2, 4], g(1), [2, 1], [3, 3])
    call nga_get(g(1), [2, 1], [3, 3], got, [2])
    call check(all(got == [2d0, 0d0, large, large, large, -2d0]), 'ga_elem_stepb_divide_patch')
    call ga_sync()
    ! From 9, by 3, below 9 + 12 and above 0: four steps.
    call ga_fill(g(1), 9d0)
    call ga_fill(g(2), 3d0)
    call ga_fill(g(3), 0d0)
    call ga_fill(g(4), 21d0)
    call nga_step_bound_info_patch(g(1), [1, 1], [2, 3], g(2), [2, 2], [3, 4], g(3), [3, 1], [4, 3], g(4), [1, 4], [2, 6], least, wolfe, most)
    call check(near(least, 4d0) .and. near(wolfe, 4d0) .and. near(most, 4d0), 'nga_step_bound_info_patch')
    do i = 1, 4
      made = ga_destroy(g(i))
    end do
    call ga_ddot_and_matmul()
  end subroutine
  ! Older names of products and copies.
  subroutine ga_ddot_and_matmul()
    double precision, external :: ga_ddot_patch_dp
    integer :: g(3), i
    logical :: made
    double precision :: got(4)
    made = .true.
    do i = 1, 3
      made = made .and. nga_create(MT_DBL, 2, [2, 2], 'older', [-1, -1], g(i))
    end do
    call check(made, 'small arrays')
    if (me == 0) call nga_put(g(1), [1, 1], [2, 2], [1d0, 2d0, 3d0, 4d0], [2])
    call ga_sync()
    call ga_copy_patch_dp('t', g(1), 1, 2, 1, 2, g(2), 1, 2, 1, 2)
    call nga_get(g(2), [1, 1], [2, 2], got, [2])
    call check(all(got == [1d0, 3d0, 2d0, 4d0]), 'ga_copy_patch_dp')
    call check(near(ga_ddot_patch_dp(g(1), 'n', 1, 2, 1, 2, g(2), 'n', 1, 2, 1, 2), 29d0), 'ga_ddot_patch_dp')
    call ga_matmul('n', 'n', 1d0, 0d0, g(1), 1, 2, 1, 2, g(2), 1, 2, 1, 2, g(3), 1, 2, 1, 2)
    call nga_get(g(3), [1, 1], [2, 2], got, [2])
    call check(all(got == [10d0, 14d0, 14d0, 20d0]), 'ga_matmul')
    call ga_sync()
    do i = 1, 3
      made = ga_destroy(g(i))
    end do
  end subroutine
  ! An element that comes after what was put: a process that sees it sees the rest.
  subroutine notified()
    integer :: g, h, next, request, seen, got(4)
    logical :: made
    made = nga_create(MT_INT, 2, [4, procs], 'data', [4, 1], g) .and. nga_create(MT_INT, 1, [procs], 'notes', [1], h)
    call check(made, 'arrays of notes')
    call ga_zero(g)
    call ga_zero(h)
    next = mod(me + 1, procs) + 1
    call nga_nbput_notify(g, [1, next], [4, next], [me, me + 1, me + 2, me + 3], [4], h, [next], [me + 7], request)
    call nga_nbwait_notify(request)
    seen = 0
    do while (seen == 0)
      call nga_get(h, [me + 1], [me + 1], seen, [1])
    end do
    call nga_get(g, [1, me + 1], [4, me + 1], got, [4])
    call check(all(got == [seen - 7, seen - 6, seen - 5, seen - 4]), 'nga_nbput_notify')
    call ga_sync()
    made = ga_destroy(g) .and. ga_destroy(h)
  end subroutine
  ! Row i of 2 has i in its first, 10 i in its last column; the process looks at its own.
  subroutine sparse()
    integer :: s, i, lo, hi, blocks(64), count, found, k, at
    logical :: made
    double precision :: total
    MA_ACCESS_INDEX_TYPE :: starts, columns, values
    s = nga_sprs_array_create(2 * procs, 2 * procs, MT_DBL)
    if (me == 0) then
      do i = 1, 2 * procs
        call nga_sprs_array_add_element(s, i, 1, 1d0 * i)
        call nga_sprs_array_add_element(s, i, 2 * procs, 1d1 * i)
      end do
    end if
    call check(nga_sprs_array_assemble(s), 'nga_sprs_array_assemble')
    call nga_sprs_array_row_distribution(s, me, lo, hi)
    count = size(blocks)
    call nga_sprs_array_col_block_list(s, blocks, count)
    total = 0
    found = 0
    do k = 1, count
      call nga_sprs_array_access_col_block(s, blocks(k), starts, columns, values)
      do i = lo, hi
        do at = int_mb(starts + i - lo), int_mb(starts + i - lo + 1) - 1
          found = found + 1
          total = total + dbl_mb(values + at)
          call check(dbl_mb(values + at) == merge(1d0, 1d1, int_mb(columns + at) == 0) * i, 'an element of a block')
        end do
      end do
    end do
    call check(found == 2 * (hi - lo + 1) .and. near(total, 11d0 * (lo + hi) * (hi - lo + 1) / 2), 'nga_sprs_array_access_col_block')
    call ga_sync()
    made = nga_sprs_array_destroy(s)
    call check(made, 'nga_sprs_array_destroy')
  end subroutine
  double complex function ga_zdot_of_ones()
    integer :: g
    logical :: made
    made = nga_create(MT_DCPL, 1, [4], 'z', [-1], g)
    call ga_fill(g, (1d0, 0d0))
    ga_zdot_of_ones = ga_zdot(g, g)
    made = ga_destroy(g)
  end function
  ! From 1 to m, the same on all processes.
  integer function draw(m)
    integer, intent(in) :: m
    seed = mod(seed * 1103 + 12345, 1000003)
    draw = 1 + mod(seed, max(m, 1))
  end function
  ! As many elements of an array from an index on.
  subroutine put_sevens(index, count)
    MA_ACCESS_INDEX_TYPE, intent(in) :: index
    integer, intent(in) :: count
    MA_ACCESS_INDEX_TYPE :: at, i
    at = index
    do i = 0, count - 1
      int_mb(at + i) = 7
    end do
  end subroutine
end program
