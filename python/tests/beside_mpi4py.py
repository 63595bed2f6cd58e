"""One program with mpi4py and isthmus.ga; argument: which is imported first."""

import sys

if sys.argv[1] == "ga":
    from isthmus import ga
    from mpi4py import MPI
else:
    from mpi4py import MPI
    from isthmus import ga

world = MPI.COMM_WORLD
assert (world.rank, world.size) == (ga.rank(), ga.size())
a = ga.zeros((4 * ga.size(), 5))
a.local[...] = world.rank
total = world.allreduce(a.local.sum())
ga.sync()
assert total == a.sum() == a.numpy().sum()
neighbour = (world.rank + 1) % world.size
row = a[4 * neighbour]
world.Send(row, neighbour)
world.Recv(row)
assert (row == world.rank).all(), row
ga.sync()
if world.rank == 0:
    print("right")
