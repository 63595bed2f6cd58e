#!/usr/bin/env python3
"""The C surface against what others say of it: pympistandard, and the headers and libraries of the mpich wheel.

usage: check.py PREFIX [CHECK...]

PREFIX is an installation of Isthmus. Run it with the Python of an environment that has pympistandard 0.2.0 and mpich 5.0.2.
Prints a line per check; fails if one does.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WHEEL = Path(sys.prefix)
PREFIX = Path(sys.argv[1]).resolve()
OURS = PREFIX / "include/mpi.h"
STANDARD = WHEEL / "include/mpi_abi.h"
MPICH = WHEEL / "include/mpi.h"

# Functions removed from MPI: the wheel's libmpi_abi exports them without declaring them. The standard ABI has none of them.
REMOVED = {entry["name"] for entry in json.loads((ROOT / "standard/removed.json").read_text())}
# What the data, rendered naively, gets wrong (standard/README.md).
TRAPS = {
    "MPI_Info_create_env": "int (int,char**,MPI_Info*)",
    "MPI_Pcontrol": "int (const int,...)",
}
# Constants of the MPICH ABI that are its own choice of ours, or symbols.
SYMBOLIC = {"MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_T_PVAR_ALL_HANDLES"}


def main():
    checks = [
        prototypes_of_the_standard,
        prototypes_of_the_wheel,
        callbacks_of_the_wheel,
        constants_of_the_standard_abi,
        constants_of_the_mpich_abi,
        symbols_of_libmpi_abi,
        symbols_of_libmpi,
        libraries,
        interception,
        calls_outside_mpi,
        exceptions,
        garbage,
    ]
    wanted = sys.argv[2:]
    failed = 0
    for check in checks:
        if wanted and check.__name__ not in wanted:
            continue
        try:
            print(f"ok    {check.__name__}: {check()}", flush=True)
        except Wrong as wrong:
            failed += 1
            print(f"WRONG {check.__name__}: {wrong}", flush=True)
    return 1 if failed else 0


class Wrong(Exception):
    """A check's finding."""


def differences(ours, theirs, what):
    """Fail unless two mappings agree."""
    lines = []
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            lines.append(f"{name}: ours {ours.get(name)}, theirs {theirs.get(name)}")
    if lines:
        raise Wrong(f"{len(lines)} {what} differ:\n  " + "\n  ".join(lines[:40]))


# --- prototypes


def normal_parameter(text):
    """`const int ranks[]` -> `const int*`: the type alone, arrays as pointers."""
    text = text.strip()
    if text in ("void", "..."):
        return "" if text == "void" else text
    matrix = re.search(r"\[\]\[(\d+)\]$", text)
    stars = text.count("*") + (1 if text.endswith("[]") else 0)
    words = re.sub(r"[*]|\[.*", " ", text).split()
    # The last word is the parameter's name.
    base = " ".join(words[:-1])
    return base + "*" * stars + (f"(*)[{matrix[1]}]" if matrix else "")


def normal(result, parameters):
    """The type of a function, as text."""
    return f"{result} ({','.join(normal_parameter(one) for one in parameters.split(','))})"


def header(path):
    """A header without its comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def prototypes(path):
    """name -> type, of all functions that a header declares."""
    found = re.findall(r"^(\w+) (P?MPI_\w+)\(([^)]*)\);", header(path), flags=re.M)
    return {name: normal(result, parameters) for result, name, parameters in found}


def prototypes_of_the_standard():
    import pympistandard

    pympistandard.use_api_version(1, force_bundled=True)
    theirs = {}
    for procedure in pympistandard.all_iso_c_procedures():
        forms = [procedure.express.iso_c, procedure.express.embiggen.iso_c]
        for form in filter(None, forms):
            text = str(form).replace("\\ldots", "...")
            result, name, parameters = re.fullmatch(r"(\w+) (\w+)\((.*)\)", text).groups()
            if re.search(r"_(c2f|f2c|c2f08|f082c|f2f08|f082f)$", name):
                continue
            theirs[name] = TRAPS.get(name) or normal(result, parameters)
    theirs |= {"P" + name: kind for name, kind in theirs.items()}
    differences(prototypes(OURS), theirs, "prototypes")
    return f"{len(theirs)} prototypes"


def prototypes_of_the_wheel():
    theirs = {name: TRAPS.get(name.removeprefix("P"), kind) for name, kind in prototypes(STANDARD).items()}
    differences(prototypes(OURS), theirs, "prototypes")
    return f"{len(theirs)} prototypes"


def callbacks_of_the_wheel():
    def callbacks(path):
        found = re.findall(r"typedef (\w+) \((MPI_\w+)\)\s*\(([^)]*)\);", header(path))
        return {name: normal(result, parameters) for result, name, parameters in found}

    theirs = callbacks(STANDARD)
    differences(callbacks(OURS), theirs, "callbacks")
    return f"{len(theirs)} types of callbacks"


# --- constants


def names_of_constants(path):
    """Every constant that a header defines."""
    text = header(path)
    names = set(re.findall(r"^\s*#\s*define\s+(MPI_\w+)[ \t]+\S", text, flags=re.M))
    for body in re.findall(r"enum\b[^{;]*\{(.*?)\}", text, flags=re.S):
        names |= set(re.findall(r"\b(MPI_\w+)\s*(?=[=,]|$)", body.strip()))
    return {name for name in names if not re.search(r"_(c2f|f2c|SPEC|DEFINED|INCLUDED)$|^MPI_(ABI_(Aint|Count|Offset)|H_ABI)$", name)}


def values(path, names, folder):
    """name -> value, as the C compiler sees it."""
    lines = "".join(f'    printf("{name} %lld\\n", (long long)(intptr_t)({name}));\n' for name in sorted(names))
    text = f'#include <stdint.h>\n#include <stdio.h>\n#include "{path}"\nint main(void) {{\n{lines}    return 0;\n}}\n'
    program = compiled(text, folder, ["-w", f"-I{path.parent}"])
    return dict(line.split() for line in run([program]).splitlines())


def constants_of_the_standard_abi():
    ours, theirs = names_of_constants(OURS), names_of_constants(STANDARD)
    with tempfile.TemporaryDirectory() as folder:
        differences(values(OURS, ours, folder), values(STANDARD, theirs, folder), "constants")
        layouts = [run([compiled(LAYOUT.replace("HEADER", str(path)), folder)]) for path in (OURS, STANDARD)]
    if layouts[0] != layouts[1]:
        raise Wrong(f"layouts differ: ours {layouts[0]}, theirs {layouts[1]}")
    return f"{len(theirs)} constants"


LAYOUT = """
#include <stddef.h>
#include <stdio.h>
#include "HEADER"
int main(void) {
    printf("%zu %zu %zu %zu %zu %zu %zu %zu\\n", sizeof(MPI_Status), offsetof(MPI_Status, MPI_SOURCE),
           offsetof(MPI_Status, MPI_TAG), offsetof(MPI_Status, MPI_ERROR), sizeof(MPI_Aint), sizeof(MPI_Count),
           sizeof(MPI_Offset), sizeof(MPI_Comm));
    return 0;
}
"""


def constants_of_the_mpich_abi():
    ours = {}
    for line in (ROOT / "standard/constants.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, _, _, value = line.split("\t")
            if value != "-" and name not in SYMBOLIC:
                ours[name] = value
    for name, value in ours.items():
        if value in ours:
            ours[name] = ours[value]
    ours = {name: signed(int(value, 0)) for name, value in ours.items()}
    # What MPICH has beyond the standard is checked where we know it.
    names = {name for name in names_of_constants(MPICH) if not name.endswith("DUP_FN")}
    names |= {name for name in ours if name.startswith("MPIX_")}
    with tempfile.TemporaryDirectory() as folder:
        theirs = {name: signed(int(value)) for name, value in values(MPICH, names, folder).items()}
    differences(ours, theirs, "constants")
    return f"{len(theirs)} constants"


def signed(value):
    """As a 32-bit int."""
    return (value + 2**31) % 2**32 - 2**31


# --- symbols


def symbols(library):
    """name -> (kind, size of data), of the MPI_ and PMPI_ symbols that a library exports."""
    found = {}
    for line in run(["nm", "-D", "-S", "--defined-only", library]).splitlines():
        fields = line.split()
        name, kind = fields[-1], fields[-2]
        if re.match(r"P?MPI_", name):
            data = kind in "BDRVGbd"
            found[name.split("@")[0]] = ("data", int(fields[1], 16)) if data else (kind, 0)
    return found


def symbols_of_libmpi_abi():
    ours = symbols(PREFIX / "lib/libmpi_abi.so.1")
    theirs = symbols(WHEEL / "lib/libmpi_abi.so.1")
    theirs = {name: kind for name, kind in theirs.items() if name.removeprefix("P") not in REMOVED}
    differences(ours, theirs, "symbols")
    if ours.keys() != prototypes(OURS).keys():
        raise Wrong("the header does not declare what the library exports")
    return f"{len(ours)} symbols"


def symbols_of_libmpi():
    ours = symbols(PREFIX / "lib/libmpi.so.12")
    theirs = symbols(WHEEL / "lib/libmpi.so.12")
    differences(ours, theirs, "symbols")
    return f"{len(ours)} symbols"


def libraries():
    wanted = {
        "libisthmus.so.0": "libisthmus.so.0",
        "libmpi_abi.so.1": "libmpi_abi.so.1",
        "libmpi.so.12": "libmpi.so.12",
        "libmpich.so.12": "libmpi.so.12",
    }
    for name, soname in wanted.items():
        dynamic = run(["readelf", "-dW", PREFIX / "lib" / name])
        if f"soname: [{soname}]" not in dynamic:
            raise Wrong(f"{name} does not call itself {soname}")
        if "NODELETE" not in dynamic:
            raise Wrong(f"{name} could be unloaded")
        if name != "libisthmus.so.0" and not {"[libisthmus.so.0]", "[$ORIGIN]"} <= set(re.findall(r"\[\S+\]", dynamic)):
            raise Wrong(f"{name} does not find libisthmus.so.0 beside itself")
        if re.search(r"GNU_STACK.*RWE", run(["readelf", "-lW", PREFIX / "lib" / name])):
            raise Wrong(f"{name} asks for an executable stack")
    for name in run(["nm", "-D", "--defined-only", PREFIX / "lib/libisthmus.so.0"]).split()[2::3]:
        if not re.match(r"isthmus_((std|mpich)_MPI|(openmpi|armci|ga|openshmem)_)", name):
            raise Wrong(f"libisthmus.so.0 exports {name}")
    return f"{len(wanted)} libraries"


# --- running


def interception():
    """A tool that defines MPI_Send and calls PMPI_Send sees the program's sends."""
    lib = PREFIX / "lib"
    expected = "sent 3, seen 3\n"
    count = 0
    for flags, library in ([f"-I{PREFIX / 'include'}"], "mpi_abi"), ([f"-I{WHEEL / 'include'}"], "mpi"):
        with tempfile.TemporaryDirectory() as folder:
            link = [f"-L{lib}", f"-Wl,-rpath,{lib}", f"-l:{'libmpi_abi.so.1' if library == 'mpi_abi' else 'libmpi.so.12'}"]
            tool, program = HERE / "tool.c", HERE / "program.c"
            so = Path(folder) / "libtool.so"
            run(["cc", "-shared", "-fPIC", *flags, tool, "-o", so, *link])
            ways = {
                "the tool before the library": ([f"-L{folder}", f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed", "-ltool", *link], {}),
                "the tool within the program": ([tool, *link], {}),
                "LD_PRELOAD": (link, {"LD_PRELOAD": str(so)}),
            }
            for way, (how, environment) in ways.items():
                run(["cc", *flags, program, "-o", f"{folder}/program", *how])
                said = run([f"{folder}/program"], env=os.environ | environment)
                if said != expected:
                    raise Wrong(f"lib{library}, {way}: {said!r}")
                count += 1
    return f"{count} ways"


def calls_outside_mpi():
    """Before initialization and after finalization most calls end with one line, some work."""
    with tempfile.TemporaryDirectory() as folder:
        lib = PREFIX / "lib"
        flags = [f"-I{PREFIX / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi_abi"]
        program = compiled((HERE / "outside.c").read_text(), folder, flags)
        if run([program, "works"]) != "works\n":
            raise Wrong("calls that are always allowed failed")
        for when in ("before", "after"):
            done = subprocess.run([program, when], capture_output=True, text=True, timeout=20)
            if done.returncode <= 0 or "MPI_Comm_rank: MPI_ERR_OTHER" not in done.stderr:
                raise Wrong(f"{when}: code {done.returncode}, it said {done.stderr!r}")
    return "before and after"


def exceptions():
    """A C++ exception thrown in a callback reaches the program."""
    with tempfile.TemporaryDirectory() as folder:
        lib = PREFIX / "lib"
        link = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi_abi"]
        run(["c++", f"-I{PREFIX / 'include'}", HERE / "exception.cpp", "-o", f"{folder}/program", *link])
        said = run([f"{folder}/program"])
    if said != "caught 3\n":
        raise Wrong(f"it said {said!r}")
    return "through an error handler"


def garbage():
    """A garbage handle, or a null pointer, in every place of every function of both ABIs is an error."""
    calls = 0
    for library in ("libmpi_abi.so.1", "libmpi.so.12"):
        command = [sys.executable, HERE / "garbage.py", PREFIX / "lib" / library]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        said = done.stdout.splitlines() or [""]
        if done.returncode:
            failures = [line for line in said if "was taken" in line][:40] or said[-1:]
            raise Wrong("\n  ".join([f"{library}: code {done.returncode}", *failures, done.stderr[-2000:]]))
        calls += int(said[-1].removeprefix("done "))
    return f"{calls} calls"


def compiled(text, folder, flags=()):
    """The program that a C text is."""
    source = Path(folder) / "program.c"
    source.write_text(text)
    program = Path(folder) / "program"
    libraries = [flag for flag in flags if flag.startswith(("-l", "-L", "-Wl"))]
    run(["cc", *[flag for flag in flags if flag not in libraries], source, "-o", program, *libraries])
    return program


def run(command, env=None):
    """What a command prints; fails if it does."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, env=env)
    if done.returncode:
        raise Wrong(f"{' '.join(map(str, command))}: code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
    return done.stdout


sys.exit(main())
