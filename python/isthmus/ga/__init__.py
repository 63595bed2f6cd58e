"""Global Arrays for NumPy: distributed dense arrays whose sections every process reads and writes, without the owner's help.

    from isthmus import ga

    a = ga.zeros((1000, 1000))        # collective
    a[2:5, ::2] = 1.0                 # one-sided: a put
    part = a[10:20, :]                # one-sided: a get, an ndarray
    a.acc[0, :] += part[0]            # atomic against others' accumulates
    a.local[...] = ga.rank()          # the own part, without a copy
    ga.sync()                         # all have done what stands before

The job starts with the import, and ends with the process; with mpi4py in the same program either may be imported first. Functions marked
*collective* must be called by all processes, in the same order. What lies outside an array raises IndexError; what fails in the library
ends the job with a line that names the routine (see ga.h).

The module calls libga.so through ctypes: no compiler, no build per version of Python. A call takes about a microsecond more than from C, so
programs that move single elements in a loop want gather and scatter. Upstream's ga4py (last changed in 2019) is in no package registry and
needs Python 2's imports.
"""

import atexit
import ctypes

import numpy as np

from . import _library
from ._array import DTYPES, GlobalArray

__all__ = [
    "GlobalArray", "array", "broadcast", "create", "empty", "full", "ones", "rank", "reduce", "size", "sync", "zeros",
    "zeros_like",
]

_lib = GlobalArray._lib = _library.load()
_lib.GA_Initialize()
atexit.register(_lib.GA_Terminate)


def rank():
    """Number of this process, from 0."""
    return _lib.GA_Nodeid()


def size():
    """Number of processes."""
    return _lib.GA_Nnodes()


def sync():
    """Wait for all processes; what they put before is there. Collective."""
    _lib.GA_Sync()


def create(
    shape, dtype=float, *, ghosts=None, chunk=None, blocks=None, block=None, grid=None, tiled=False, processes=None, mirrored=False, name="array"
):
    """A new array whose elements are not set. Collective.

    ghosts: width of the margin around each process's part, for each dimension. chunk: least extent of a part for each dimension (0: no
    matter). blocks: for each dimension the first index of each block (an irregular distribution, as many blocks in all as processes at
    most). block: extents of blocks that are dealt out in turn, to the processes, or in each dimension to a `grid` of processes: then the
    blocks of a process form one array, as ScaLAPACK has it, or lie one behind the other if `tiled`. processes: only these have parts.
    mirrored: for the group of the node's processes.
    """
    shape = tuple(int(extent) for extent in (shape if np.iterable(shape) else (shape,)))
    dtype = np.dtype(dtype)
    if dtype not in DTYPES:
        raise TypeError(f"dtype {dtype}: {', '.join(str(known) for known in DTYPES)} are known")
    if not 1 <= len(shape) <= 7:
        raise ValueError(f"{len(shape)} dimensions: 1 to 7 are possible")
    if min(shape) < 1:
        raise ValueError(f"shape {shape}: every extent must be at least 1")

    def each(what, values):
        values = [int(value) for value in (values if np.iterable(values) else [values] * len(shape))]
        if len(values) != len(shape) or min(values) < 0:
            raise ValueError(f"{what} {values}: one number for each of {len(shape)} dimensions, none negative")
        return _library.indexes(values)

    ghosts = None if ghosts is None else each("ghosts", ghosts)
    chunk = None if chunk is None else each("chunk", chunk)
    if blocks is not None:
        starts = [[int(start) for start in dimension] for dimension in blocks]
        for dimension, extent in zip(starts, shape):
            rising = all(low < high for low, high in zip(dimension, dimension[1:]))
            if not dimension or dimension[0] != 0 or not rising or dimension[-1] >= extent:
                raise ValueError(f"blocks {dimension}: first indexes of blocks rise from 0 and end below {extent}")
        if len(starts) != len(shape) or np.prod([len(dimension) for dimension in starts]) > size():
            raise ValueError(f"blocks: one list for each dimension, and at most {size()} blocks in all")
    if block is not None:
        block = each("block", block)
        grid = None if grid is None else each("grid", grid)
        if 0 in block[: len(shape)] or (grid and np.prod(grid[: len(shape)]) not in range(1, size() + 1)):
            raise ValueError(f"block and grid: positive numbers, and at most {size()} processes")
    handle = _lib.GA_Create_handle()
    _lib.GA_Set_data64(handle, len(shape), _library.indexes(shape), DTYPES[dtype])
    _lib.GA_Set_array_name(handle, name.encode())
    if ghosts is not None:
        _lib.GA_Set_ghosts64(handle, ghosts)
    if chunk is not None:
        _lib.GA_Set_chunk64(handle, chunk)
    if blocks is not None:
        every = [start for dimension in starts for start in dimension]
        counts = [len(dimension) for dimension in starts]
        _lib.GA_Set_irreg_distr64(handle, _library.indexes(every), _library.indexes(counts))
    if block is not None and grid is None:
        _lib.GA_Set_block_cyclic64(handle, block)
    elif block is not None:
        (_lib.GA_Set_tiled_proc_grid64 if tiled else _lib.GA_Set_block_cyclic_proc_grid64)(handle, block, grid)
    if mirrored:
        _lib.GA_Set_pgroup(handle, _lib.GA_Pgroup_get_mirror())
    if processes is not None:
        processes = [int(process) for process in processes]
        _lib.GA_Set_restricted(handle, (ctypes.c_int * len(processes))(*processes), len(processes))
    if not _lib.GA_Allocate(handle):
        raise MemoryError(f"array '{name}' of shape {shape}: no memory for it")
    return GlobalArray(handle, shape, dtype)


def empty(shape, dtype=float, **options):
    """As `create`, by the name that NumPy has for it. Collective."""
    return create(shape, dtype, **options)


def zeros(shape, dtype=float, **options):
    """A new array of zeros. Collective. Options as for `create`."""
    return create(shape, dtype, **options).fill(0)


def ones(shape, dtype=float, **options):
    """A new array of ones. Collective. Options as for `create`."""
    return create(shape, dtype, **options).fill(1)


def full(shape, value, dtype=float, **options):
    """A new array of this value. Collective. Options as for `create`."""
    return create(shape, dtype, **options).fill(value)


def zeros_like(array):
    """A new array of zeros, distributed as `array` is. Collective."""
    return array.duplicate().fill(0)


def array(values, **options):
    """A new array with the elements of an ndarray that every process has. Collective. Options as for `create`."""
    values = np.asarray(values)
    new = create(values.shape, values.dtype, **options)
    if "block" in options:
        # A part is many blocks.
        if rank() == 0:
            new[...] = values
        sync()
        return new
    low, high = new.distribution()
    if new.local.size:
        new.local[...] = values[tuple(slice(first, last) for first, last in zip(low, high))]
    sync()
    return new


def reduce(values, op="+"):
    """Combine arrays of the same shape from all processes, by "+", "*", "max", "min", "absmax" or "absmin". Collective.

    Returns an ndarray, or a scalar for a scalar.
    """
    result = np.array(values, order="C")
    if result.dtype not in DTYPES:
        raise TypeError(f"dtype {result.dtype}: {', '.join(str(known) for known in DTYPES)} are known")
    if op not in ("+", "*", "max", "min", "absmax", "absmin"):
        raise ValueError(f"op {op!r}: +, *, max, min, absmax, absmin are known")
    _lib.GA_Gop(DTYPES[result.dtype], result.ctypes.data, result.size, op.encode())
    return result if result.ndim else result[()]


def broadcast(values, root=0):
    """The elements that process `root` has, in arrays of the same shape and type. Collective. Returns an ndarray."""
    if not 0 <= root < size():
        raise ValueError(f"root {root}: there are {size()} processes")
    result = np.array(values, order="C")
    _lib.GA_Brdcst(result.ctypes.data, result.nbytes, root)
    return result
