# One HDF5 file that all ranks write and read by h5py: a grid in blocks of rows (collectively and not), columns in turn, records that grow, attributes.
import sys

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
path = sys.argv[1]
ROWS, COLUMNS = 3 * size, 4 * size


def value(row, column):
    return 1000 * row + column


grid = numpy.fromfunction(value, (ROWS, COLUMNS), dtype=int)
mine = slice(3 * rank, 3 * rank + 3)

with h5py.File(path, "w", driver="mpio", comm=world) as file:
    rows = file.create_dataset("rows", (ROWS, COLUMNS), dtype="i8")
    with rows.collective:
        rows[mine, :] = grid[mine, :]
    columns = file.create_dataset("columns", (ROWS, COLUMNS), dtype="f8")
    with columns.collective:
        columns[:, rank::size] = grid[:, rank::size]
    alone = file.create_dataset("alone", (size,), dtype="i4")
    alone[rank] = rank * rank
    grown = file.create_dataset("grown", (1, 5), maxshape=(None, 5), chunks=(1, 5), dtype="i2")
    grown.resize((size, 5))
    with grown.collective:
        grown[rank, :] = numpy.arange(5) + rank
    file.attrs["ranks"] = size

with h5py.File(path, "r", driver="mpio", comm=world) as file:
    assert file.attrs["ranks"] == size
    other = (rank + 1) % size
    theirs = slice(3 * other, 3 * other + 3)
    with file["rows"].collective:
        assert (file["rows"][theirs, :] == grid[theirs, :]).all()
    assert (file["columns"][:, other::size] == grid[:, other::size]).all()
    assert (file["alone"][:] == numpy.arange(size) ** 2).all()
    assert (file["grown"][other, :] == numpy.arange(5) + other).all()

# Without MPI it is the same file.
world.Barrier()
if rank == 0:
    with h5py.File(path, "r") as file:
        assert (file["rows"][:] == grid).all() and (file["columns"][:] == grid).all()
    print("all is there")
