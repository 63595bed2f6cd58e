# Copyright Isthmus developers. SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""Spack package of Isthmus. Made from a checkout: spack repo add packaging/spack/spack_repo/isthmus; spack dev-build -d . isthmus@0.1.0"""

from spack.package import *
from spack_repo.builtin.build_systems.generic import Package


class Isthmus(Package):
    """MPI library for Linux whose home is inside the node, in the standard ABI, MPICH's and Open MPI's."""

    license("Apache-2.0 OR MIT")

    # From a checkout alone (dev-build): sources are not published elsewhere yet.
    version("0.1.0")

    variant("network", default=True, description="Jobs on several nodes, by libfabric, which is opened when it is needed")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("rust@1.95:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("binutils", type="build")
    depends_on("libfabric@1.17:", when="+network", type="run")

    requires("platform=linux", msg="the library is for Linux")
    requires("target=x86_64:", msg="other processors were never tried")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("xtask", "install", "--prefix", prefix)

    def setup_run_environment(self, env):
        self.set_wrappers(env)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.set_wrappers(env)
        # The wrappers call Spack's compilers.
        dependent = dependent_spec.package.module
        for variable, compiler in (("ISTHMUS_CC", "spack_cc"), ("ISTHMUS_CXX", "spack_cxx"), ("ISTHMUS_FC", "spack_fc")):
            if hasattr(dependent, compiler):
                env.set(variable, getattr(dependent, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpifc = self.prefix.bin.mpifort
        self.spec.mpif77 = self.prefix.bin.mpifort

    def set_wrappers(self, env):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIF90", self.prefix.bin.mpifort)
        env.set("MPIF77", self.prefix.bin.mpifort)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def start_two_ranks(self):
        Executable(self.prefix.bin.mpiexec)("-n", "2", "true")
