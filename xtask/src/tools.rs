//! Programs of the system that we need: checked, and installed where we may.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::{kmod, process};

/// Where distributions have OpenSSH's server and client.
pub const SSHD: &str = "/usr/sbin/sshd";
/// See [`SSHD`].
pub const SSH: &str = "/usr/bin/ssh";

/// Something that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// A C compiler.
    C,
    /// A C++ compiler.
    Cxx,
    /// A Fortran compiler: GNU's.
    Fortran,
    /// CMake, and the make that it drives.
    CMake,
    /// `pkg-config`.
    PkgConfig,
    /// The library that reads C headers for others.
    Clang,
    /// Python 3 with venv and the headers that extensions need.
    Python,
    /// The library of networks, found at run time.
    Libfabric,
    /// Linear algebra on many processes, which Global Arrays find at run time.
    Scalapack,
    /// The same for Open MPI's ABI.
    OpenMpiScalapack,
    /// Fourier transforms of one process.
    Fftw,
    /// HDF5, built for MPICH.
    ParallelFiles,
    /// Open MPI with its wrappers for compilers.
    OpenMpi,
    /// Programs that Debian has built for Open MPI: HPC Challenge, NetPIPE.
    OpenMpiPrograms,
    /// mpi4py as Debian has it, for its own Python and Open MPI.
    DebianMpi4py,
    /// Libraries for files, and h5py, that Debian has built for Open MPI.
    OpenMpiFiles,
    /// Slurm's daemons and commands.
    Slurm,
    /// An emulator of whole machines.
    Qemu,
    /// A kernel with its headers.
    Headers,
    /// A shell and its commands that need no libraries.
    BusyBox,
    /// What works with binary files: `strip`.
    Binutils,
    /// `sshd` and `ssh`.
    Ssh,
    /// A C compiler for aarch64, with its C library.
    CrossC,
    /// An emulator of processes of other processors.
    Emulator,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::C => "a C compiler",
            Self::Cxx => "a C++ compiler",
            Self::Fortran => "gfortran",
            Self::CMake => "CMake",
            Self::PkgConfig => "pkg-config",
            Self::Clang => "libclang",
            Self::Python => "Python 3 with venv and headers",
            Self::Libfabric => "libfabric",
            Self::Scalapack => "ScaLAPACK for MPICH's ABI",
            Self::OpenMpiScalapack => "ScaLAPACK for Open MPI's ABI",
            Self::Fftw => "FFTW",
            Self::ParallelFiles => "HDF5 for MPICH's ABI",
            Self::OpenMpi => "Open MPI",
            Self::OpenMpiPrograms => "HPC Challenge and NetPIPE for Open MPI",
            Self::DebianMpi4py => "Debian's mpi4py",
            Self::OpenMpiFiles => "HDF5, netCDF, PnetCDF and h5py for Open MPI",
            Self::Slurm => "Slurm",
            Self::Qemu => "qemu for x86",
            Self::Headers => "the headers of a Linux kernel",
            Self::BusyBox => "a static busybox",
            Self::Binutils => "strip",
            Self::Ssh => "OpenSSH's server and client",
            Self::CrossC => "a C compiler for aarch64",
            Self::Emulator => "qemu for processes",
        }
    }

    /// Debian's packages.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::C => &["gcc", "libc6-dev"],
            Self::Cxx => &["g++"],
            Self::Fortran => &["gfortran"],
            Self::CMake => &["cmake", "make"],
            Self::PkgConfig => &["pkg-config"],
            Self::Clang => &["libclang-dev"],
            Self::Python => &["python3", "python3-venv", "python3-dev"],
            Self::Libfabric => &["libfabric1"],
            Self::Scalapack => &["libscalapack-mpich2.2", "libopenblas0-pthread"],
            Self::OpenMpiScalapack => &["libscalapack-openmpi2.2", "liblapack3"],
            Self::Fftw => &["libfftw3-double3", "libfftw3-single3"],
            Self::ParallelFiles => &["libhdf5-mpich-103-1"],
            Self::OpenMpi => &["libopenmpi-dev", "openmpi-bin"],
            Self::OpenMpiPrograms => &["hpcc", "netpipe-openmpi"],
            Self::DebianMpi4py => &["python3-mpi4py"],
            Self::OpenMpiFiles => &[
                "libhdf5-openmpi-dev",
                "libnetcdf-mpi-dev",
                "libpnetcdf-dev",
                "python3-h5py-mpi",
            ],
            Self::Slurm => &[
                "slurmctld",
                "slurmd",
                "slurm-client",
                "slurm-wlm-basic-plugins",
                "munge",
            ],
            Self::Qemu => &["qemu-system-x86"],
            Self::Headers => &["linux-headers-amd64", "make", "gcc"],
            Self::BusyBox => &["busybox-static"],
            Self::Binutils => &["binutils"],
            Self::Ssh => &["openssh-server", "openssh-client"],
            Self::CrossC => &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
            Self::Emulator => &["qemu-user"],
        }
    }

    /// Is it installed?
    pub fn is_there(self) -> bool {
        match self {
            Self::C => found("cc"),
            Self::Cxx => found("c++"),
            Self::Fortran => found("gfortran"),
            Self::CMake => found("cmake") && found("make"),
            Self::PkgConfig => found("pkg-config"),
            Self::Clang => {
                let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
                std::env::var_os("LIBCLANG_PATH").is_some()
                    || versions
                        .filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"))
                        .any(|entry| entry.path().join("lib/libclang.so").exists())
            }
            Self::Python => {
                let probe = "import ensurepip, venv, os, sysconfig; \
                             assert os.path.exists(sysconfig.get_path('include') + '/Python.h')";
                let mut python = Command::new("python3");
                python.args(["-c", probe]).stdout(Stdio::null()).stderr(Stdio::null());
                python.status().is_ok_and(|status| status.success())
            }
            Self::Libfabric => has_library("libfabric.so.1"),
            Self::Scalapack => has_library("libscalapack-mpich.so.2.2"),
            Self::OpenMpiScalapack => has_library("libscalapack-openmpi.so.2.2"),
            Self::Fftw => has_library("libfftw3.so.3") && has_library("libfftw3f.so.3"),
            Self::ParallelFiles => has_library("libhdf5_mpich.so.103"),
            Self::OpenMpiPrograms => found("hpcc") && found("NPopenmpi"),
            Self::OpenMpi => found("mpicc.openmpi") && has_library("libmpi_cxx.so.40"),
            Self::DebianMpi4py => Path::new("/usr/lib/python3/dist-packages/mpi4py").exists(),
            Self::OpenMpiFiles => {
                let files = [
                    "/usr/include/hdf5/openmpi/hdf5.h",
                    "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include/netcdf_par.h",
                    "/usr/include/pnetcdf.h",
                    "/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi",
                ];
                files.into_iter().all(|file| Path::new(file).exists())
            }
            Self::Slurm => ["munged", "slurmctld", "slurmd", "srun"].into_iter().all(found),
            Self::Qemu => found(kmod::QEMU),
            Self::Headers => found("make") && found("gcc") && kmod::newest().is_some(),
            Self::BusyBox => Path::new(kmod::BUSYBOX).exists(),
            Self::Binutils => found("strip"),
            Self::CrossC => {
                found("aarch64-linux-gnu-gcc") && Path::new("/usr/aarch64-linux-gnu/include/stdio.h").exists()
            }
            Self::Emulator => found("qemu-aarch64"),
            Self::Ssh => [SSHD, SSH].into_iter().all(|program| Path::new(program).is_file()),
        }
    }
}

/// See that all of them are there: by apt if we are root on a machine that has it, otherwise by asking for them. So is what would open the
/// machine to logins there and then.
pub fn need(tools: &[Tool]) -> Result<()> {
    let missing: Vec<Tool> = tools.iter().copied().filter(|tool| !tool.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ");
    let packages: Vec<&str> = missing.iter().flat_map(|tool| tool.packages()).copied().collect();
    let cure = format!("apt-get install {}", packages.join(" "));
    let starts_services = missing.contains(&Tool::Ssh) && Path::new("/run/systemd/system").exists();
    if !(is_root() && found("apt-get")) || starts_services {
        bail!("missing: {names}; install it (Debian, Ubuntu: {cure}) and try again");
    }
    println!("missing: {names}; {cure}");
    let mut apt = Command::new("apt-get");
    process::show(apt.args(["-qq", "update"]))?;
    let mut apt = Command::new("apt-get");
    apt.args(["-qq", "-y", "--no-install-recommends", "install"])
        .args(packages);
    let selected = alternatives();
    process::show(apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
    restore(&selected)?;
    match missing.iter().find(|tool| !tool.is_there()) {
        Some(tool) => bail!("{} is still missing after {cure}", tool.name()),
        None => Ok(()),
    }
}

/// The machine's alternatives (update-alternatives(1)), as `name value`: `mpicc` and `mpirun` are among them. None where there is no such command.
fn alternatives() -> Vec<(String, String)> {
    let said = Command::new("update-alternatives").arg("--get-selections").output();
    let said = said
        .map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
        .unwrap_or_default();
    let lines = said.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.nth(1)?.to_owned()))
    });
    lines.collect()
}

/// A package that was installed for a test may not change which of several programs a name means: what was selected before is again.
fn restore(selected: &[(String, String)]) -> Result<()> {
    let now = alternatives();
    for (name, value) in changed(selected, &now) {
        let mut command = Command::new("update-alternatives");
        process::show(command.args(["--set", name, value]))?;
    }
    Ok(())
}

/// Those of `before` that have another value `now`.
fn changed<'a>(before: &'a [(String, String)], now: &[(String, String)]) -> Vec<(&'a str, &'a str)> {
    let differs = |pair: &&(String, String)| now.iter().any(|(name, value)| *name == pair.0 && *value != pair.1);
    before
        .iter()
        .filter(differs)
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Install what is missing where we may. What still is cannot be tried.
pub fn want(tools: &[Tool]) {
    if is_root()
        && let Err(error) = need(tools)
    {
        println!("{error:#}");
    }
}

/// Does this process have every right?
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

/// Does the loader find it, by its cache or `LD_LIBRARY_PATH`?
fn has_library(name: &str) -> bool {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let cache = Command::new("/sbin/ldconfig").arg("-p").output();
    std::env::split_paths(&path).any(|folder| folder.join(name).exists())
        || cache.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(name))
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|entry: PathBuf| entry.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_selected_before_is_selected_again() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let before = pairs(&[("mpicc", "/opt/mpicc"), ("editor", "/bin/vi")]);
        let now = pairs(&[
            ("mpicc", "/usr/bin/mpicc.mpich"),
            ("mpirun", "/usr/bin/mpirun.mpich"),
            ("editor", "/bin/vi"),
        ]);
        assert_eq!(changed(&before, &now), [("mpicc", "/opt/mpicc")]);
    }
}
