//! Starting a rank: its environment, its place, its ties to us.
#![allow(unsafe_code)] // The code between fork and exec.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use isthmus_engine::control::Nonce;
use isthmus_os::signal::Mask;
use isthmus_os::{child, cpu};

use crate::debugger;
use crate::failure::{Failure, Result, say};
use crate::options::{Job, Pattern};
use crate::output::{Pipe, Tag};
use crate::placement::Placement;
use crate::program::Program;
use crate::report;
use crate::sink::Stream;

/// A rank that runs.
#[derive(Debug)]
pub struct Started {
    /// The process we made; what joins the job may be one below it.
    pub pid: u32,
    /// Where its output comes from, if lines are tagged.
    pub pipes: Vec<Pipe>,
}

/// Starts the ranks of one job.
#[derive(Debug)]
pub struct Starter<'a> {
    job: &'a Job,
    nonce: Nonce,
    size: u32,
    /// The ranks that run here.
    here: Range<u32>,
    /// Which node of the job this is.
    node: u32,
    /// How the network reaches it, if there are others.
    address: Option<IpAddr>,
    placement: Placement,
    library_path: Option<OsString>,
    signals: Mask,
}

/// What libfabric's `ofi_rxm` is told, unless the user does: the longest record of ours goes as one message, not in segments of 16 KiB (1 MiB in
/// three quarters of the time, measured with 1.17; frames of 68 KiB as one message would halve it, at 70 MB more of its buffers), and
/// connections, which have our own flow control, post few buffers of that size.
const RXM: [(&str, &str); 3] = [
    ("FI_OFI_RXM_BUFFER_SIZE", "36864"),
    ("FI_OFI_RXM_MSG_RX_SIZE", "16"),
    ("FI_OFI_RXM_MSG_TX_SIZE", "16"),
];

/// A rank's place as other launchers tell it, for `rank` of `size` on a node that has the ranks `here`.
fn told(rank: u32, size: u32, here: &Range<u32>) -> [(&'static str, String); 10] {
    let local = rank - here.start;
    [
        ("PMI_RANK", rank),
        ("PMI_SIZE", size),
        ("MPI_LOCALRANKID", local),
        ("MPI_LOCALNRANKS", here.end - here.start),
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_SIZE", size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", here.end - here.start),
        ("OMPI_COMM_WORLD_NODE_RANK", local),
        ("OMPI_UNIVERSE_SIZE", size),
    ]
    .map(|(name, value)| (name, value.to_string()))
}

impl<'a> Starter<'a> {
    /// On this node of the job, for the ranks `here` of `size`, which find signals blocked as `signals` says.
    pub fn new(
        job: &'a Job,
        (nonce, node): (Nonce, u32),
        size: u32,
        here: Range<u32>,
        address: Option<IpAddr>,
        signals: Mask,
    ) -> Self {
        let placement = Placement::new(job.bind, job.map, here.len());
        let library_path = library_path(
            std::env::current_exe().ok().as_deref(),
            std::env::var_os("LD_LIBRARY_PATH"),
        );
        Self {
            job,
            nonce,
            node,
            size,
            here,
            address,
            placement,
            library_path,
            signals,
        }
    }

    /// Start `rank`, which runs the command with index `application`.
    pub fn start(&self, rank: u32, application: usize, program: &Program) -> Result<Started> {
        let command = &self.job.commands[application];
        let mut process = if self.job.debugger {
            debugger::around(rank, &program.path, &command.arguments)?
        } else {
            let mut process = Process::new(&program.path);
            process.arg0(&command.program).args(&command.arguments);
            process
        };
        if let Some(names) = &self.job.inherit {
            process.env_clear();
            process.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        process
            .env("ISTHMUS_JOB", self.nonce.to_string())
            .env("ISTHMUS_NODE", self.node.to_string())
            .env("ISTHMUS_RANK", rank.to_string())
            .env("ISTHMUS_SIZE", self.size.to_string())
            .env("ISTHMUS_APPNUM", application.to_string())
            // What programs and scripts read before they call MPI, with the names that MPICH's, Intel's and Open MPI's launchers have.
            .envs(told(rank, self.size, &self.here));
        // Of a launcher around us: its ranks are others.
        for name in ["PMI_FD", "PMI_PORT", "PMI_ID", "PMIX_NAMESPACE"] {
            process.env_remove(name);
        }
        if let Some(address) = self.address {
            process.env("ISTHMUS_NODE_ADDRESS", address.to_string());
            let unsaid = RXM.iter().filter(|(name, _)| std::env::var_os(name).is_none());
            process.envs(unsaid.copied());
        }
        if let Some(path) = &self.library_path {
            process.env("LD_LIBRARY_PATH", path_with_inner(path, program.linked.to_inner));
            let said = |name| std::env::var(name).ok();
            if let Some(library) = library_of_mpi4py(path, said("MPI4PY_LIBMPI"), said("MPI4PY_MPIABI")) {
                process.env("MPI4PY_LIBMPI", library);
            }
        }
        process.envs(command.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &command.directory {
            process.current_dir(directory);
        }
        if self.job.stdin != Some(rank) {
            let nothing = File::open("/dev/null").map_err(|error| {
                Failure::machine(
                    "open /dev/null, which ranks without input read",
                    format!("{error} (in a chroot: mount a /dev)"),
                )
            })?;
            process.stdin(nothing);
        }
        let piped = self.redirect(&mut process, rank)?;
        let launcher = std::process::id();
        let cpus = self.placement.of((rank - self.here.start) as usize).to_vec();
        if self.job.report_bindings {
            let all = cpu::affinity();
            let shown = if cpus.is_empty() { &all } else { &cpus };
            let shown = report::ranges(shown);
            say(&format!("rank {rank} may use CPUs {shown}"));
        }
        let signals = self.signals;
        // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor locks.
        unsafe {
            process.pre_exec(move || {
                signals.set();
                child::die_with(launcher)?;
                if !cpus.is_empty() {
                    cpu::bind(&cpus).map_err(|error| io::Error::from_raw_os_error(error.errno))?;
                }
                Ok(())
            });
        }
        let mut started = process.spawn().map_err(|error| refused(&program.path, &error))?;
        let output = started.stdout.take().map(OwnedFd::from).or(piped);
        let output = output.map(|pipe| (pipe, Stream::Out));
        let errors = started.stderr.take().map(|pipe| (OwnedFd::from(pipe), Stream::Err));
        let pipes = output.into_iter().chain(errors);
        Ok(Started {
            pid: started.id(),
            pipes: pipes
                .map(|(pipe, stream)| Pipe::new(Tag::of(self.job, rank as usize), pipe, stream))
                .collect(),
        })
    }

    /// Say where the rank's output goes. The end to read from of a pipe for both, if that is where.
    fn redirect(&self, process: &mut Process, rank: u32) -> Result<Option<OwnedFd>> {
        let cannot = |error| Failure::machine("make a rank's standard output", error);
        let [output, errors] = &self.job.output_files;
        if !self.job.merges_errors {
            if self.job.pipes_output() {
                process.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            if let Some(pattern) = output {
                process.stdout(file_for(pattern, rank)?);
            }
            if let Some(pattern) = errors {
                process.stderr(file_for(pattern, rank)?);
            }
            return Ok(None);
        }
        let mut reader = None;
        let writer = match output {
            Some(pattern) => file_for(pattern, rank)?.into(),
            None if self.job.pipes_output() => {
                let (from, to) = io::pipe().map_err(cannot)?;
                reader = Some(from.into());
                to.into()
            }
            None => io::stdout().as_fd().try_clone_to_owned().map_err(cannot)?,
        };
        process.stderr(writer.try_clone().map_err(cannot)?).stdout(writer);
        Ok(reader)
    }
}

/// Where a rank's output goes. Folders that are not there are made.
fn file_for(pattern: &Pattern, rank: u32) -> Result<File> {
    let name = pattern.name(rank);
    let made = name.parent().map_or(Ok(()), std::fs::create_dir_all);
    let file = made.and_then(|()| File::create(&name));
    file.map_err(|error| Failure::usage(format!("cannot write {}: {error}", name.display())))
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    match error.raw_os_error() {
        // The file itself was there a moment ago.
        Some(libc::ENOENT) => Failure::not_found(format!("{shown}: its interpreter or dynamic linker does not exist")),
        Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => Failure {
            message: format!(
                "cannot start {shown}: {error}: start fewer ranks, or raise the limit (ulimit -u, -n, the cgroup's pids.max)"
            ),
            code: 1,
        },
        _ => Failure::not_runnable(format!("cannot start {shown}: {error}")),
    }
}

/// Our own libraries come first, so that programs compiled elsewhere against `libmpi_abi.so.1`, `libmpi.so.12` or `libmpi.so.40` find
/// them. `None` if `mpiexec` does not stand in an installed prefix.
pub fn library_path(own: Option<&Path>, inherited: Option<OsString>) -> Option<OsString> {
    let prefix: PathBuf = own?.parent()?.parent()?.into();
    let libraries = prefix.join("lib");
    if !libraries.join("libisthmus.so.0").exists() {
        return None;
    }
    let inherited = inherited.filter(|path| !path.is_empty());
    let mut path = libraries.into_os_string();
    if let Some(inherited) = inherited {
        path.push(":");
        path.push(inherited);
    }
    Some(path)
}

/// The library path of a program, and behind it what stands in for Open MPI's inner libraries, if it needs them. Others do not get these: a
/// program that starts Open MPI's own launcher needs the real ones.
fn path_with_inner(path: &OsStr, wanted: bool) -> Cow<'_, OsStr> {
    let ours = std::env::split_paths(path).next().filter(|_| wanted);
    let Some(ours) = ours else { return path.into() };
    let mut longer = path.to_owned();
    longer.push(":");
    longer.push(ours.join("isthmus/openmpi"));
    longer.into()
}

/// What mpi4py's wheel shall load, unless the user `said` it: in an environment with the wheel of another MPI it would take that one, whatever
/// the library path is. Of the ABIs that it may be told to use (`abi`) each has its library; by itself it uses MPICH's.
fn library_of_mpi4py(path: &OsStr, said: Option<String>, abi: Option<String>) -> Option<PathBuf> {
    if said.is_some_and(|said| !said.is_empty()) {
        return None;
    }
    let name = match abi.as_deref() {
        Some("mpiabi") => "libmpi_abi.so.1",
        Some("openmpi") => "libmpi.so.40",
        _ => "libmpi.so.12",
    };
    let ours = std::env::split_paths(path).next()?;
    Some(ours.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi4py_is_told_our_library_unless_the_user_names_one() {
        let path = OsStr::new("/opt/isthmus/lib:/usr/lib");
        let ours = |name: &str| Some(PathBuf::from("/opt/isthmus/lib").join(name));
        assert_eq!(library_of_mpi4py(path, None, None), ours("libmpi.so.12"));
        assert_eq!(
            library_of_mpi4py(path, None, Some("mpiabi".into())),
            ours("libmpi_abi.so.1")
        );
        assert_eq!(library_of_mpi4py(path, Some("/other".into()), None), None);
    }

    #[test]
    fn only_an_installed_launcher_names_libraries() {
        assert_eq!(library_path(None, None), None);
        assert_eq!(
            library_path(Some(Path::new("/no/such/bin/mpiexec")), Some("/x".into())),
            None
        );
    }
}
