"""A self-consistent field: how programs of quantum chemistry use distributed arrays.

    mpiexec -n 4 python fock.py [FUNCTIONS [BLOCK]]

Atoms in a row, one function each, with a made-up interaction that has the symmetries of the real one. Blocks of integrals are tasks of unequal cost:
each process takes the number of its next one from a counter, gets the blocks of the density that it needs, and adds what comes out to blocks of the
Fock matrix, wherever these lie. Then all processes diagonalize and multiply together. Prints the energy, and how far it is from NumPy's, which one
process computes without blocks.
"""

import sys
from itertools import product

import numpy as np
from isthmus import ga
from isthmus.ga import linalg

functions = int(sys.argv[1]) if len(sys.argv) > 1 else 24
block = int(sys.argv[2]) if len(sys.argv) > 2 else 5
pairs_of_electrons = functions // 2
ITERATIONS = 12

places = np.arange(functions) + 0.3 * np.sin(np.arange(functions))
apart = places[:, None] - places[None, :]
core = -2 * np.exp(-0.5 * apart**2) - np.diag(0.3 * np.cos(places))
overlap = np.exp(-0.7 * apart**2)
middle = (places[:, None] + places[None, :]) / 2


def integrals(i, j, k, l):
    """(ij|kl) of ranges of functions: what two clouds of charge do to each other."""
    distance = middle[i, j][:, :, None, None] - middle[k, l]
    return 0.1 * overlap[i, j][:, :, None, None] * overlap[k, l] / np.sqrt(1 + distance**2)


ranges = [slice(first, min(first + block, functions)) for first in range(0, functions, block)]
tasks = [task for task in product(ranges, repeat=4) if overlap[task[0], task[1]].max() * overlap[task[2], task[3]].max() > 1e-14]


def build(fock, density, counter):
    """Add the interaction with a density to a Fock matrix. Collective; returns how many tasks this process had."""
    done = 0
    while (number := counter.read_inc(0)) < len(tasks):
        i, j, k, l = tasks[number]
        these = integrals(i, j, k, l)
        fock.acc[i, j] += 2 * np.einsum("ijkl,kl->ij", these, density[k, l])
        fock.acc[i, k] -= np.einsum("ijkl,jl->ik", these, density[j, l])
        done += 1
    ga.sync()
    return done


hamiltonian, density, counter = ga.array(core), ga.zeros(core.shape), ga.zeros(1, dtype="i8")
done = 0
for _ in range(ITERATIONS):
    counter.fill(0)
    fock = hamiltonian.copy()
    done += build(fock, density, counter)
    fock.symmetrize()
    energy = hamiltonian.dot(density) + fock.dot(density)
    values, vectors = linalg.eigh(fock)
    orbitals = ga.array(vectors[:, :pairs_of_electrons])
    density = orbitals @ orbitals.transpose()

shares = ga.reduce(np.eye(ga.size())[ga.rank()] * done)
if ga.rank() == 0:
    every = slice(None)
    whole, model = integrals(every, every, every, every), np.zeros_like(core)
    for _ in range(ITERATIONS):
        matrix = core + 2 * np.einsum("ijkl,kl->ij", whole, model) - np.einsum("ijkl,jl->ik", whole, model)
        expected = ((core + matrix) * model).sum()
        its_values, its_vectors = np.linalg.eigh(matrix)
        model = its_vectors[:, :pairs_of_electrons] @ its_vectors[:, :pairs_of_electrons].T
    error = max(abs(energy - expected), abs(values - its_values).max(), abs(density[:] - model).max())
    print(f"{ga.size()} processes, {functions} functions, tasks {shares.astype(int).tolist()}: energy {energy:.9f}, error {error:.1e}")
ga.sync()
