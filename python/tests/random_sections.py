"""Random arrays, keys and values on all processes against NumPy: argument: how many rounds, and the seed."""

import sys

import numpy as np
from isthmus import ga

rounds, seed = int(sys.argv[1]), int(sys.argv[2])
DTYPES = ["i4", "i8", "f4", "f8", "c8", "c16"]
# The same on every process: what is done must be agreed on.
random = np.random.default_rng(seed)


def check(condition, what):
    if not condition:
        print(f"seed {seed}: {what}", file=sys.stderr, flush=True)
        import os

        os._exit(1)


def values_of(shape, dtype):
    numbers = random.integers(-50, 50, size=shape)
    return numbers.astype(dtype) + (1j * random.integers(-9, 9, size=shape)).astype(dtype) if dtype[0] == "c" else numbers.astype(dtype)


def random_blocks(shape):
    """First indexes of blocks, not more blocks than processes."""
    left, blocks = ga.size(), []
    for extent in shape:
        count = int(random.integers(1, min(left, extent) + 1))
        left //= count
        blocks.append([0, *sorted(random.choice(np.arange(1, extent), count - 1, replace=False).tolist())])
    return blocks


def random_options(shape):
    """A distribution of any kind."""
    block = [int(random.integers(1, 4)) for _ in shape]
    left, grid = ga.size(), []
    for extent in shape:
        grid.append(int(random.integers(1, left + 1)))
        left //= grid[-1]
    some = random.permutation(ga.size())[: int(random.integers(1, ga.size() + 1))].tolist()
    return [
        {},
        {"chunk": 2},
        {"ghosts": 1},
        {"blocks": random_blocks(shape)},
        {"block": block},
        {"block": block, "grid": grid},
        {"block": block, "grid": grid, "tiled": True},
        {"processes": some},
        {"mirrored": True},
    ][random.integers(9)]


def random_key(shape):
    key = []
    for extent in shape:
        kind = random.integers(5)
        if kind == 0:
            key.append(int(random.integers(-extent, extent)))
        elif kind == 1:
            key.append(slice(None))
        else:
            low, high = sorted(int(n) for n in random.integers(0, extent + 1, size=2))
            step = int(random.integers(1, 4)) if kind > 2 else 1
            key.append(slice(low, high, step) if random.integers(3) else slice(high - 1 if high else 0, None, -step))
    return tuple(key)


for round in range(rounds):
    ndim = int(random.integers(1, 8)) if random.integers(4) == 0 else int(random.integers(1, 4))
    shape = tuple(int(n) for n in random.integers(1, max(3, 40 // ndim**2), size=ndim))
    dtype = DTYPES[random.integers(len(DTYPES))]
    options = random_options(shape)
    if "ghosts" in options and min(shape) < ga.size():
        options = {}
    model = values_of(shape, dtype)
    a = ga.array(model, **options)
    what = f"round {round}: {shape} {dtype} {options}"
    check((a.numpy() == model).all(), f"{what}: created")
    low, high = a.distribution()
    own = tuple(slice(first, last) for first, last in zip(low, high))
    check("block" in options or a.local.shape == model[own].shape and (a.local == model[own]).all(), f"{what}: own part")
    ga.sync()
    for _ in range(6):
        key, owner, kind = random_key(shape), int(random.integers(ga.size())), int(random.integers(4))
        section = f"{what}: {key}"
        new = values_of(model[key].shape, dtype)
        if kind == 3:
            # Everybody adds.
            model[key] += new * ga.size()
            if random.integers(2):
                a.acc[key] += new
            else:
                a.acc(key, new, 1)
        else:
            # Of layouts other than C's, too.
            new = np.array(new, order="F") if kind == 2 else new
            model[key] = new
            if ga.rank() == owner:
                a[key] = new
        ga.sync()
        got = a[key]
        check(np.shape(got) == np.shape(model[key]) and np.all(got == model[key]), f"{section}: kind {kind}")
        ga.sync()
    check((a.numpy() == model).all(), f"{what}: at last")
    at = np.stack([random.integers(0, extent, size=5) for extent in shape], axis=1)
    check((a.gather(at) == model[tuple(at.T)]).all(), f"{what}: gather")
    ga.sync()
    a.scatter_acc(at, np.ones(5))
    np.add.at(model, tuple(at.T), np.ones(5, dtype) * ga.size())
    ga.sync()
    check((a.numpy() == model).all(), f"{what}: scatter_acc")
    ga.sync()
    with a.copy() as b:
        b += 0
        for result, wanted in [(a + b, model + model), (a - b, model - model), (a * b, model * model), (a * 3, model * 3)]:
            check((result.numpy() == wanted).all(), f"{what}: arithmetic")
            ga.sync()
            result.destroy()
    check(a.sum() == model.sum(dtype=dtype), f"{what}: sum")
    if dtype[0] != "c":
        check(a.max() == model.max() and a.min() == model.min(), f"{what}: max, min")
        check(model[a.argmax()] == model.max(), f"{what}: argmax")
    if "ghosts" in options:
        a.update_ghosts()
        if low != high:
            around = np.ix_(*[np.arange(first - 1, last + 1) % extent for first, last, extent in zip(low, high, shape)])
            check((a.local_with_ghosts == model[around]).all(), f"{what}: ghosts")
    if ndim == 2 and dtype[0] in "fc":
        with a.transpose() as t, a @ t as product:
            check((t.numpy() == model.T).all(), f"{what}: transpose")
            check(np.allclose(product.numpy(), model @ model.T), f"{what}: product")
            ga.sync()
    ga.sync()
    a.destroy()

counter = ga.zeros(1, np.int64)
mine = [counter.read_inc(0) for _ in range(100)]
ga.sync()
check(counter[0] == 100 * ga.size() and mine == sorted(set(mine)), "read_inc")
# A mistake is an exception.
for wrong, key, new in [(IndexError, 3, None), (IndexError, (0, 0), None), (TypeError, "x", None), (TypeError, 0, 1.5), (ValueError, slice(0, 1), [1, 2])]:
    try:
        counter[key] if new is None else counter.__setitem__(key, new)
    except wrong:
        continue
    check(False, f"{key}, {new} must raise {wrong.__name__}")
ga.sync()
if ga.rank() == 0:
    print("right")
