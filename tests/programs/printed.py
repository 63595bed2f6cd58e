"""printed.py LIBRARY HOW: as printed.c, of a Python program: rank 0 prints a line and waits; rank 1 aborts the job meanwhile. HOW says who sees to
it that the line is there: `flush` (the call), or `lines` (the output is line-buffered)."""

import ctypes
import os
import sys
import time

mpi = ctypes.CDLL(sys.argv[1])
world = ctypes.c_void_p(0x101)  # MPI_COMM_WORLD of the standard ABI
how = sys.argv[2]
rank = int(os.environ["PMI_RANK"])

assert mpi.MPI_Init(None, None) == 0
if how == "lines":
    sys.stdout.reconfigure(line_buffering=True)
if rank == 0:
    print("printed before the end", flush=how == "flush")
assert mpi.MPI_Barrier(world) == 0
if rank == 1:
    mpi.MPI_Abort(world, 3)
time.sleep(30)
