"""A transform of three dimensions by dtFFT (Fortran, built for MPICH) against NumPy's, and back, by each of its ways to exchange blocks."""

import dtfft
import numpy
from mpi4py import MPI

WAYS = "MPI_DATATYPE MPI_P2P MPI_P2P_PIPELINED MPI_P2P_SCHEDULED MPI_P2P_FUSED MPI_A2A".split()
# As Fortran counts: the first index runs fastest.
DIMS = [12, 10, 16]


def part(array, pencil):
    """The part of this rank, in Fortran's order."""
    return array[tuple(slice(at, at + count) for at, count in zip(pencil.starts, pencil.counts))].ravel(order="F")


numbers = numpy.random.default_rng(5)
whole = numbers.random(DIMS) + 1j * numbers.random(DIMS)
wanted = numpy.fft.fftn(whole).transpose(2, 0, 1)
worst = 0.0
for way in WAYS:
    config = dtfft.Config(backend=getattr(dtfft.Backend, way))
    plan = dtfft.PlanC2C(
        DIMS, comm=MPI.COMM_WORLD, precision=dtfft.Precision.DOUBLE, executor=dtfft.Executor.FFTW3, config=config
    )
    before, after = plan.get_pencil(dtfft.Layout.X_PENCILS), plan.get_pencil(dtfft.Layout.Z_PENCILS)
    a, b = (plan.get_ndarray(plan.alloc_size, dtype=numpy.complex128).ravel() for _ in range(2))
    a[: before.size] = part(whole, before)
    plan.execute(a, b, dtfft.Execute.FORWARD)
    worst = max(worst, abs(b[: after.size] - part(wanted, after)).max())
    plan.execute(b, a, dtfft.Execute.BACKWARD)
    worst = max(worst, abs(a[: before.size] / whole.size - part(whole, before)).max())
    assert worst < 1e-9, f"{way} on rank {MPI.COMM_WORLD.rank}: off by {worst}"
    plan.destroy()
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print(f"right: {len(WAYS)} ways")
