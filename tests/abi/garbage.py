#!/usr/bin/env python3
"""Calls every function of a library with garbage in one argument at a time. Prints each call before it makes it.

usage: garbage.py LIBRARY

All arguments of the C binding are integers or addresses, so all are passed as 64-bit integers.
"""

import ctypes
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = Path(sys.argv[1])
STANDARD = "mpi_abi" in LIBRARY.name

HANDLES = {
    "COMMUNICATOR": "MPI_COMM_SELF",
    "DATATYPE": "MPI_INT",
    "ERRHANDLER": "MPI_ERRORS_RETURN",
    "FILE": "MPI_FILE_NULL",
    "GROUP": "MPI_GROUP_EMPTY",
    "INFO": "MPI_INFO_NULL",
    "MESSAGE": "MPI_MESSAGE_NO_PROC",
    "OPERATION": "MPI_SUM",
    "REQUEST": "MPI_REQUEST_NULL",
    "SESSION": "MPI_SESSION_NULL",
    "WINDOW": "MPI_WIN_NULL",
}
NULLS = {
    "COMMUNICATOR": "MPI_COMM_NULL",
    "DATATYPE": "MPI_DATATYPE_NULL",
    "GROUP": "MPI_GROUP_NULL",
    "OPERATION": "MPI_OP_NULL",
    "ERRHANDLER": "MPI_ERRHANDLER_NULL",
}
# These say nothing about objects, end the program, or convert handles that need not name anything.
SKIPPED = r"MPI_(Init|Init_thread|Finalize|Abort|Pcontrol|Wtime|Wtick|Aint_.*|T_.*)$|.*_(toint|fromint|[cf]2[cf]|c2f08|f082c|f2f08|f082f)$"
# Here the null handle is allowed.
NULL_ALLOWED = {"MPI_Comm_get_name", "MPI_Type_get_name"}


def constants():
    """name -> value in the library's ABI."""
    found = {}
    for line in (ROOT / "standard/constants.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, _, standard, mpich = line.split("\t")
            value = standard if STANDARD else mpich
            if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", value):
                found[name] = int(value, 0)
    return found


VALUE = constants()
GARBAGE = [3, 0x101, 0x0400_0001, 0x1234_5678, 0x2C00_1234, 0x3FFF_FFFF, 0x7FFF_FFFF, 0xDEAD_BEEF, 0xFFFF_FFFF]
if STANDARD:
    GARBAGE += [0x7FFF_1234_5678, 0xFFFF_FFFF_FFFF_FFFF]
    GARBAGE.remove(0x101)
    WIDTH = ctypes.c_void_p
else:
    WIDTH = ctypes.c_int


class Call:
    """One call: its arguments, and the memory that they point at."""

    def __init__(self, name, parameters):
        self.name = name
        self.memory = []
        self.values = [self.usual(parameter) for parameter in parameters]

    def room(self):
        """Memory full of zeros."""
        self.memory.append(ctypes.create_string_buffer(1 << 14))
        return ctypes.addressof(self.memory[-1])

    def handle_at(self, value, count=1):
        """The address of handles."""
        array = (WIDTH * count)(*[value if STANDARD else ctypes.c_int(value & 0xFFFF_FFFF).value] * count)
        self.memory.append(array)
        return ctypes.addressof(array)

    def usual(self, parameter):
        """An argument that does no harm."""
        kind, direction = parameter["kind"], parameter["direction"]
        if kind in HANDLES:
            value = VALUE[HANDLES[kind]]
            if direction == "out":
                return self.room()
            if direction == "in" and "length" not in parameter and not parameter.get("pointer"):
                return value
            return self.handle_at(value, 16)
        if kind == "RANK" and "length" not in parameter and direction == "in":
            return 0 if parameter["name"] in ("root", "local_leader", "remote_leader") else VALUE["MPI_PROC_NULL"]
        if direction == "in" and "length" not in parameter and self.is_number(kind):
            return 1
        return self.room()

    @staticmethod
    def is_number(kind):
        """Is it an integer that is passed by value?"""
        pointers = "BUFFER|STRING|STATUS|FUNCTION|EXTRA_STATE|ATTRIBUTE_VAL|ARGUMENT|LOGICAL_VOID|MPI_OBJ|F08"
        return not re.search(pointers, kind)

    def make(self):
        """What the function returns."""
        function = getattr(MPI, self.name)
        function.restype = ctypes.c_int
        return function(*[ctypes.c_int64(ctypes.c_uint64(value & (1 << 64) - 1).value) for value in self.values])


def functions():
    """(name, parameters) of every function that takes a handle."""
    for file in ("apis.json",) + (() if STANDARD else ("removed.json",)):
        for procedure in json.loads((ROOT / "standard" / file).read_text()):
            if procedure.get("callback") or re.match(SKIPPED, procedure["name"]):
                continue
            large = any(one["kind"].startswith("POLY") for one in procedure["parameters"])
            for suffix in ["", "_c"] if large else [""]:
                parameters = [one for one in procedure["parameters"] if suffix or not one.get("large_only")]
                yield procedure["name"] + suffix, parameters


def attempt(name, parameters, place, value, must_fail):
    """Make one call with `value` at `place`."""
    call = Call(name, parameters)
    parameter = parameters[place]
    by_address = parameter["direction"] != "in" or "length" in parameter or parameter.get("pointer")
    call.values[place] = call.handle_at(value, 16) if must_fail and by_address else value
    print(f"{name} {parameter['name']}={value:#x}", flush=True)
    code = call.make()
    if must_fail and code == 0:
        failures.append(f"{name}: {parameter['name']}={value:#x} was taken")


def moves_nothing(parameters):
    """Is a call with usual arguments with MPI_PROC_NULL or MPI_MESSAGE_NO_PROC, or with counts that are all 0? Then the null datatype is
    accepted."""
    roots = ("root", "local_leader", "remote_leader")
    to_nobody = any(one["kind"] == "MESSAGE" or one["kind"] == "RANK" and one["name"] not in roots for one in parameters)
    return to_nobody or any(one["kind"] == "POLYXFER_NUM_ELEM_NNI" and "length" in one for one in parameters)


def garbage_handles(name, parameters):
    """A garbage handle in each place."""
    for place, parameter in enumerate(parameters):
        if parameter["kind"] not in HANDLES or parameter["direction"] == "out":
            continue
        values = list(GARBAGE)
        # An object of another kind.
        other = "DATATYPE" if parameter["kind"] != "DATATYPE" else "GROUP"
        values.append(VALUE[HANDLES[other]])
        if parameter["kind"] in NULLS and name not in NULL_ALLOWED:
            if parameter["kind"] != "DATATYPE" or not moves_nothing(parameters):
                values.append(VALUE[NULLS[parameter["kind"]]])
        for value in values:
            attempt(name, parameters, place, value, True)
            attempts.append(name)


def null_pointers(name, parameters):
    """A null pointer in each place for a result or a string."""
    for place, parameter in enumerate(parameters):
        kind = parameter["kind"]
        result = parameter["direction"] != "in" and kind not in ("BUFFER", "ARGUMENT_COUNT", "ARGUMENT_LIST")
        if kind == "STRING" or result:
            attempt(name, parameters, place, 0, False)
            attempts.append(name)
        # A status that is to be ignored, where one must be there, too.
        if kind == "STATUS":
            attempt(name, parameters, place, VALUE["MPI_STATUS_IGNORE"], False)
            attempts.append(name)


MPI = ctypes.CDLL(str(LIBRARY))
attempts, failures = [], []
assert MPI.MPI_Init(None, None) == 0
for world in ("MPI_COMM_WORLD", "MPI_COMM_SELF"):
    handle, returned = (ctypes.c_int64(VALUE[one]) for one in (world, "MPI_ERRORS_RETURN"))
    assert MPI.MPI_Comm_set_errhandler(handle, returned) == 0
for name, parameters in functions():
    garbage_handles(name, parameters)
    null_pointers(name, parameters)
print("MPI_Finalize", flush=True)
assert MPI.MPI_Finalize() == 0
for failure in failures:
    print(failure)
print(f"done {len(attempts)}" if not failures else f"{len(failures)} failures")
sys.exit(1 if failures else 0)
