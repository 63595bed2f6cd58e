"""Systems, inverses and eigenproblems of random matrices on all processes against NumPy, in each distribution."""

import sys

import numpy as np
from isthmus import ga
from isthmus.ga import linalg

# The same on every process.
random = np.random.default_rng(21)


def check(condition, what):
    if not condition:
        print(what, file=sys.stderr, flush=True)
        import os

        os._exit(1)


def raises(error, call, what):
    try:
        call()
    except error:
        return
    check(False, f"{what} must raise {error.__name__}")


def arrays_of(model):
    """In each distribution that there is for two dimensions; vectors in one."""
    yield ga.array(model)
    if model.ndim == 2:
        yield ga.array(model, block=(3, 2))
        yield ga.array(model, block=(2, 2), grid=(ga.size(), 1))


for n in (1, 7, 20):
    for dtype, near in (("f8", 1e-9), ("f4", 1e-2), ("c16", 1e-9), ("c8", 1e-2)):
        model = random.random((n, n)) + n * np.eye(n) + (1j * random.random((n, n)) if dtype[0] == "c" else 0)
        right = random.random((n, 3)).astype(dtype)
        model = model.astype(dtype)
        for a in arrays_of(model):
            for b in arrays_of(right):
                x = linalg.solve(a, b)
                check(np.allclose(model @ x.numpy(), right, rtol=near, atol=near), f"solve {n} {dtype}")
                check((b.numpy() == right).all() and (a.numpy() == model).all(), "what is given stays")
                ga.sync()
                x.destroy()
                b.destroy()
            a.destroy()
        vector = ga.array(right[:, 0])
        a = ga.array(model)
        check(np.allclose(model @ linalg.solve(a, vector).numpy(), right[:, 0], rtol=near, atol=near), f"vector {n} {dtype}")
        ga.sync()
        if dtype != "f8":
            continue
        positive, symmetric = model @ model.T, model + model.T
        p, s = ga.array(positive), ga.array(symmetric, block=(2, 3))
        b = ga.array(right)
        check(np.allclose(positive @ linalg.solve(p, b, positive=True).numpy(), right), f"positive {n}")
        check(np.allclose(linalg.inverse_of_positive(p).numpy() @ positive, np.eye(n)), f"inverse {n}")
        values, vectors = linalg.eigh(s)
        v = vectors.numpy()
        check(np.allclose(values, np.linalg.eigvalsh(symmetric)) and np.allclose(symmetric @ v, v * values), f"eigh {n}")
        check(np.allclose(v.T @ v, np.eye(n)), f"orthogonal {n}")
        values, vectors = linalg.eigh(s, p)
        v = vectors.numpy()
        check(np.allclose(symmetric @ v, positive @ v * values), f"generalized {n}")
        check(np.allclose(v.T @ positive @ v, np.eye(n)), f"orthogonal by the metric {n}")
        ga.sync()
        negative = ga.array(-positive)
        raises(np.linalg.LinAlgError, lambda: linalg.solve(negative, b, positive=True), "a negative matrix")
        raises(np.linalg.LinAlgError, lambda: linalg.inverse_of_positive(negative), "a negative matrix")
        raises(ValueError, lambda: linalg.solve(p, ga.zeros((n + 1, 2))), "rows that differ")
        raises(ValueError, lambda: linalg.eigh(ga.zeros((n, n + 1))), "no square")
        raises(TypeError, lambda: linalg.eigh(ga.zeros((n, n), np.float32)), "floats")
        raises(TypeError, lambda: linalg.solve(ga.zeros((n, n), int), ga.zeros((n, n), int)), "integers")
ga.sync()
if ga.rank() == 0:
    print("right")
