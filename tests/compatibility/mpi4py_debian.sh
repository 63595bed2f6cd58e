$MPIEXEC -n $RANKS /usr/bin/python3 -c '
from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.allreduce(1) == world.size > 1
assert world.allgather({"rank": world.rank}) == [{"rank": n} for n in range(world.size)]
assert "Isthmus" in MPI.Get_library_version()
'
