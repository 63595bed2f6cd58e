"""Linear algebra of matrices that are global arrays, by the system's ScaLAPACK or LAPACK (docs/ga.md). Every function is collective.

    from isthmus.ga import linalg

    x = linalg.solve(a, b)             # a @ x is b
    values, vectors = linalg.eigh(f, s)
"""

import numpy as np

from . import create

__all__ = ["eigh", "inverse_of_positive", "solve"]


def _square(matrix, what, kinds):
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{what}: a square matrix is needed, not {matrix!r}")
    if matrix.dtype.str[1:] not in kinds:
        raise TypeError(f"{what}: dtype {matrix.dtype}: {', '.join(kinds)} are known")


def solve(a, b, *, positive=False):
    """x with `a @ x` = b, a new array distributed as `b` is; by LU, or, if `a` is symmetric and positive definite, by Cholesky.

    Of a matrix that is not positive definite, which `positive` says it were, LinAlgError is raised; one that is singular ends the job.
    """
    _square(a, "a", ("f4", "f8", "c8", "c16"))
    if b.dtype != a.dtype or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(f"no system of {a!r} and {b!r}")
    x = b.copy()
    if not positive:
        a._lib.GA_Lu_solve(b"n", a._live, x._live)
        return x
    row = a._lib.GA_Llt_solve(a._live, x._live)
    if row:
        x.destroy()
        raise np.linalg.LinAlgError(f"the matrix is not positive definite, at row {row}")
    return x


def inverse_of_positive(a):
    """The inverse of a symmetric positive definite matrix, a new array. LinAlgError: it is none."""
    _square(a, "a", ("f4", "f8", "c8", "c16"))
    inverse = a.copy()
    row = a._lib.GA_Spd_invert(inverse._live)
    if row:
        inverse.destroy()
        raise np.linalg.LinAlgError(f"the matrix is not positive definite, at row {abs(row)}")
    return inverse


def eigh(a, metric=None):
    """Eigenvalues of a symmetric matrix of doubles, ascending, as an ndarray, and its eigenvectors, the columns of a new array.

    With a symmetric positive definite `metric` s those of the generalized problem: `a @ v` = `s @ v` times the values.
    """
    for what, matrix in (("a", a), ("metric", metric)):
        if matrix is not None:
            _square(matrix, what, ("f8",))
            if matrix.shape != a.shape:
                raise ValueError(f"a is {a!r}, the metric {matrix!r}")
    values, vectors = np.empty(a.shape[0]), create(a.shape, float, name="eigenvectors")
    if metric is None:
        a._lib.GA_Diag_std(a._live, vectors._live, values.ctypes.data)
    else:
        a._lib.GA_Diag(a._live, metric._live, vectors._live, values.ctypes.data)
    return values, vectors
