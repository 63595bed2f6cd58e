$MPIEXEC -n $RANKS /usr/bin/python3 -c '
import h5py, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
with h5py.File("shared.h5", "w", driver="mpio", comm=world) as file:
    numbers = file.create_dataset("numbers", (world.size,), dtype="i")
    numbers[world.rank] = world.rank
world.Barrier()
with h5py.File("shared.h5", "r", driver="mpio", comm=world) as file:
    assert list(file["numbers"]) == list(range(world.size))
'
