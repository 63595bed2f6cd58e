"""Runs mpi4py's own test suite on the ranks that it is started on.

    mpiexec -n 3 python run.py SUITE LIST [options of the suite's main.py]

SUITE is the directory `test` of mpi4py's sources. LIST says which tests need what is not implemented yet: they run too, and
must not pass, so that the list stays true. Everything else must pass, or be skipped by the suite for a reason that has
nothing to do with the MPI below. A test that has taken `LIMIT` seconds ends the job, with the stack of each thread.
"""

import builtins
import collections
import faulthandler
import fnmatch
import os
import pathlib
import re
import sys
import unittest

LIMIT = 300
# The wheel is on Open MPI's ABI.
OPEN_MPI = os.environ.get("MPI4PY_MPIABI") == "openmpi"
# Why the suite may skip a test: Python packages, or ranks, are too few.
CIRCUMSTANCES = re.compile(
    r"mpi-world-size.*|comm\.size.*|cupy|numba|numpy|dill|yaml|cffi|array"
    # mpi4py asks some other libraries alone for what is beside the standard.
    r"|mpi-comm_revoke"
    # What Open MPI 4.1, whose version libmpi.so.40 tells, has wrong or lacks is not asked of it.
    + (r"|openmpi(\(.*\))?|Session" if OPEN_MPI else "")
)
SUITE, LIST = map(pathlib.Path, sys.argv[1:3])
LISTS = [LIST, LIST.with_name("excluded_openmpi.txt")] if OPEN_MPI else [LIST]
sys.path.insert(0, os.fspath(SUITE))
sys.dont_write_bytecode = True

from main import TestProgram  # noqa: E402  (the suite's)


class Exclusions:
    """The lines `[!]PATTERN  CHAPTER` of a list; `!`: not even tried."""

    def __init__(self, text):
        self.patterns, self.untried = [], set()
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words:
                pattern = words[0].lstrip("!")
                self.patterns.append(pattern)
                if words[0].startswith("!"):
                    self.untried.add(pattern)
        self.unused = set(self.patterns)

    def find(self, name):
        found = [pattern for pattern in self.patterns if fnmatch.fnmatchcase(name, pattern)]
        self.unused.difference_update(found)
        return found


class Result(unittest.TestResult):
    """Tells tests that are excluded from those that count."""

    def __init__(self, exclusions):
        super().__init__()
        self.exclusions = exclusions
        self.excluded, self.passed = set(), set()

    def startTest(self, test):
        super().startTest(test)
        faulthandler.dump_traceback_later(LIMIT, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

    def addError(self, test, err):
        if not self._excused(test):
            super().addError(test, err)

    def addFailure(self, test, err):
        if not self._excused(test):
            super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is None or not self._excused(test):
            super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        if self._excused(test):
            return
        super().addSkip(test, reason)
        if not CIRCUMSTANCES.fullmatch(reason):
            self.failures.append((test, f"skipped without being excluded: {reason}\n"))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.add(test.id())

    def _excused(self, test):
        # A subtest, and what failed outside of any test, has an id that begins like this.
        excused = bool(self.exclusions.find(test.id()))
        if excused:
            self.excluded.add(test.id())
        return excused


class Runner:
    """Runs a suite, then says what came of it: a line per rank, and whatever went wrong."""

    def __init__(self, exclusions):
        self.exclusions = exclusions

    def run(self, suite):
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.Get_rank()
        result = Result(self.exclusions)
        unittest.TestSuite(self._tried(suite, result)).run(result)
        for test, trace in result.errors + result.failures:
            self._complain(rank, test.id(), trace)
        for test in result.unexpectedSuccesses:
            self._complain(rank, test.id(), "passed, which the suite did not expect")
        for name in sorted(result.passed):
            if self.exclusions.find(name):
                self._complain(rank, name, "is excluded, and passes: the list is stale")
                result.failures.append((name, "stale"))
        if not {"-i", "-e"}.intersection(sys.argv):
            for pattern in sorted(self.exclusions.unused):
                self._complain(rank, pattern, "excludes nothing: the list is stale")
                result.failures.append((pattern, "stale"))
        if rank == 0:
            reasons = collections.Counter(reason for _, reason in result.skipped)
            for reason, count in reasons.most_common():
                print(f"skipped by the suite: {count} x {reason}")
        verdict = "all others passed" if result.wasSuccessful() else "FAILED"
        print(
            f"rank {rank} ran {result.testsRun} tests, skipped {len(result.skipped)}, "
            f"{len(result.excluded)} are excluded: {verdict}"
        )
        return result

    @staticmethod
    def _complain(rank, name, what):
        print(f"rank {rank}: {name}: {what}", file=sys.stderr)

    def _tried(self, suite, result):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                yield unittest.TestSuite(self._tried(test, result))
            elif self.exclusions.untried.intersection(self.exclusions.find(test.id())):
                result.excluded.add(test.id())
            else:
                yield test


class Program(TestProgram):
    """The suite's own, with a list."""

    def createTests(self, *arguments, **options):
        from mpi4py import MPI

        # Some modules open a file or make a window when they are loaded, and disable tests if the MPI below lacks that.
        # Ours lacks no procedure, but some refuse: so while modules are loaded, this is what they are told by.
        original = NotImplementedError
        builtins.NotImplementedError = MPI.Exception
        try:
            super().createTests(*arguments, **options)
        finally:
            builtins.NotImplementedError = original


if __name__ == "__main__":
    runner = Runner(Exclusions("\n".join(path.read_text(encoding="utf-8") for path in LISTS)))
    Program(module=None, argv=[sys.argv[0], "--no-builddir", *sys.argv[3:]], testRunner=runner)
