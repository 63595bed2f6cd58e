! Grids and graphs.
#include "form.h"
subroutine topologies
  use form
  implicit none
  integer :: n, m, i, kind, dims(2), coords(2), from, to, index(16), edges(32), sources(4), weights(4), targets(4), out(4)
  logical :: flag, periods(2)
  COMM :: grid, row, graph
  family = 'topologies'
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierr); OK
  CHECK(product(dims) == ranks .and. dims(1) >= dims(2))
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid, ierr); OK
  call MPI_Topo_test(grid, kind, ierr); OK
  CHECK(kind == MPI_CART)
  call MPI_Cartdim_get(grid, n, ierr); OK
  CHECK(n == 2)
  dims = 0
  call MPI_Cart_get(grid, 2, dims, periods, coords, ierr); OK
  CHECK(product(dims) == ranks .and. periods(1) .and. .not. periods(2))
  CHECK(coords(1) * dims(2) + coords(2) == rank)
  call MPI_Cart_rank(grid, coords, n, ierr); OK
  CHECK(n == rank)
  coords = -1
  call MPI_Cart_coords(grid, rank, 2, coords, ierr); OK
  CHECK(coords(1) * dims(2) + coords(2) == rank)
  call MPI_Cart_shift(grid, 0, 1, from, to, ierr); OK
  CHECK(to == mod(rank + dims(2), ranks) .and. from == mod(rank + ranks - dims(2), ranks))
  call MPI_Cart_shift(grid, 1, 1, from, to, ierr); OK
  CHECK(to == merge(rank + 1, MPI_PROC_NULL, coords(2) < dims(2) - 1))
  call MPI_Cart_sub(grid, [.false., .true.], row, ierr); OK
  call MPI_Comm_size(row, n, ierr); OK
  CHECK(n == dims(2))
  call MPI_Comm_free(row, ierr); OK
  call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, [.true., .true.], n, ierr); OK
  CHECK(n >= 0 .and. n < ranks)
  call MPI_Comm_free(grid, ierr); OK
  ! A ring as a graph.
  index(:ranks) = [(2 * i, i = 1, ranks)]
  do i = 0, ranks - 1
    edges(2 * i + 1) = mod(i + ranks - 1, ranks)
    edges(2 * i + 2) = mod(i + 1, ranks)
  end do
  call MPI_Graph_map(MPI_COMM_WORLD, ranks, index, edges, n, ierr); OK
  CHECK(n >= 0 .and. n < ranks)
  call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .false., graph, ierr); OK
  call MPI_Topo_test(graph, kind, ierr); OK
  CHECK(kind == MPI_GRAPH)
  call MPI_Graphdims_get(graph, n, m, ierr); OK
  CHECK(n == ranks .and. m == 2 * ranks)
  index = 0
  edges = -1
  call MPI_Graph_get(graph, 16, 32, index, edges, ierr); OK
  CHECK(index(ranks) == 2 * ranks .and. edges(2 * rank + 1) == last .and. edges(2 * rank + 2) == next)
  call MPI_Graph_neighbors_count(graph, rank, n, ierr); OK
  CHECK(n == 2)
  call MPI_Graph_neighbors(graph, rank, 2, targets, ierr); OK
  CHECK(targets(1) == last .and. targets(2) == next)
  call MPI_Comm_free(graph, ierr); OK
  ! The same, told by all of the next one's edge.
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [next], [1], [last], [rank + 10], MPI_INFO_NULL, .false., graph, ierr); OK
  call MPI_Topo_test(graph, kind, ierr); OK
  CHECK(kind == MPI_DIST_GRAPH)
  call MPI_Dist_graph_neighbors_count(graph, n, m, flag, ierr); OK
  CHECK(n == 1 .and. m == 1 .and. flag)
  call MPI_Dist_graph_neighbors(graph, 1, sources, weights, 1, targets, out, ierr); OK
  ! Rank r says: next(r) sends to last(r), so rank k sends to k - 2 and hears of k + 2.
  CHECK(targets(1) == mod(rank + 2 * ranks - 2, ranks) .and. sources(1) == mod(rank + 2, ranks))
  CHECK(out(1) == last + 10 .and. weights(1) == next + 10)
  call MPI_Comm_free(graph, ierr); OK
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [last], [3], 1, [next], [4], MPI_INFO_NULL, .false., graph, ierr); OK
  call MPI_Dist_graph_neighbors(graph, 1, sources, weights, 1, targets, out, ierr); OK
  CHECK(sources(1) == last .and. targets(1) == next .and. weights(1) == 3 .and. out(1) == 4)
  call MPI_Comm_free(graph, ierr); OK
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, sources, MPI_WEIGHTS_EMPTY, 0, targets, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, &
    .false., graph, ierr); OK
  call MPI_Dist_graph_neighbors_count(graph, n, m, flag, ierr); OK
  CHECK(n == 0 .and. m == 0 .and. flag)
  call MPI_Comm_free(graph, ierr); OK
end subroutine
