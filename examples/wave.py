"""A drop in a square pool: the 2-D wave equation on a distributed array with ghost cells.

    mpiexec -n 4 python wave.py [POINTS [STEPS]]

Each process computes its own part in place, on ndarrays that lie in the shared array; one call fetches the margins. Writes wave.png (with
matplotlib) and prints the energy, which the scheme keeps.
"""

import sys

import numpy as np
from isthmus import ga

points = int(sys.argv[1]) if len(sys.argv) > 1 else 400
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3 * points // 4
COURANT = 0.5  # wave speed x time step / distance of points

# Heights now and one step before; the margin is one point wide. Edges are periodic.
now, before = (ga.zeros((points, points), ghosts=1, name=name) for name in ("now", "before"))
low, high = now.distribution()
x, y = (np.arange(first, last) / points for first, last in zip(low, high))
drop = np.exp(-600 * ((x[:, None] - 0.35) ** 2 + (y[None, :] - 0.4) ** 2))
now.local[...] = before.local[...] = drop


def energy():
    """Kinetic and potential energy of all points: one reduction."""
    now.update_ghosts()
    before.update_ghosts()
    u, v = now.local_with_ghosts, before.local_with_ghosts
    moving = ((u - v)[1:-1, 1:-1] ** 2).sum()
    across = (np.diff(u, axis=0)[:-1, 1:-1] * np.diff(v, axis=0)[:-1, 1:-1]).sum()
    along = (np.diff(u, axis=1)[1:-1, :-1] * np.diff(v, axis=1)[1:-1, :-1]).sum()
    return float(ga.reduce(moving + COURANT**2 * (across + along)))


first = energy()
for _ in range(steps):
    now.update_ghosts()
    u = now.local_with_ghosts
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    # The step before is not needed any more: the next one goes there.
    old = before.local
    old *= -1
    old += 2 * now.local + COURANT**2 * around
    now, before = before, now
last = energy()
if ga.rank() == 0:
    print(f"{ga.size()} processes, {points} x {points} points, {steps} steps: energy {first:.9f}, then {last:.9f}")
    picture = now.numpy()
    try:
        from matplotlib import image
    except ImportError:
        print("no matplotlib, no picture")
    else:
        limit = abs(picture).max()
        image.imsave("wave.png", picture, cmap="RdBu", vmin=-limit, vmax=limit)
ga.sync()
