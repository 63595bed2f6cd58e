//! Ranks that run on another MPI's library: each becomes a job of its own, and nothing but its output says so.
//!
//! What a process has mapped is known while it lives only, so processes are looked at while no rank has joined: soon after the start,
//! then ever more rarely.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::say;
use crate::process_tree;
use crate::program::Program;

use super::Supervisor;

/// When the processes are looked at first. Ranks of ours have joined by then, and libraries of others are still busy starting.
const FIRST: Duration = Duration::from_millis(30);
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(5);
/// Exit code of a job whose ranks ran on another MPI's library.
const FOREIGN: u8 = 1;

/// When to look next, and what was found.
pub(super) struct Looks {
    next: Option<Instant>,
    pause: Duration,
    found: Option<PathBuf>,
}

impl Looks {
    /// For a job of `size` ranks: of one nothing has to be found.
    pub(super) fn begin(size: u32) -> Self {
        Self {
            next: (size > 1).then(|| Instant::now() + FIRST),
            pause: FIRST,
            found: None,
        }
    }

    /// When to look next, if at all.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl Supervisor<'_> {
    /// Look what the processes of the job have mapped, if it is time.
    pub(super) fn look_for_foreign_library(&mut self) {
        if self.looks.next.is_none_or(|at| Instant::now() < at) {
            return;
        }
        let joined = self.ranks.iter().any(|rank| rank.left > 0 || rank.lifeline.is_some());
        if joined {
            self.looks.next = None;
            return;
        }
        let processes = process_tree::descendants(&self.foreign);
        self.looks.found = processes.into_iter().find_map(foreign_library);
        self.looks.pause = (self.looks.pause * 3 / 2).min(LONGEST);
        self.looks.next = self.looks.found.is_none().then(|| Instant::now() + self.looks.pause);
    }

    /// A program that finds another MPI's library runs as so many jobs of one rank. The exit code that the job has for that, if it was seen.
    pub(super) fn tell_of_foreign_library(&self, programs: &[Program]) -> Option<u8> {
        let none_joined = self.ranks.iter().all(|rank| rank.left == 0);
        if self.size <= 1 || !none_joined {
            return None;
        }
        if let Some(library) = &self.looks.found {
            let (kind, variable) = (kind(library), "LD_LIBRARY_PATH");
            let ours = own_folder().map_or_else(|| "our lib folder".into(), |folder| folder.display().to_string());
            say(&format!(
                "no rank joined this job: its processes loaded {} ({kind}), and ran as jobs of one rank each; put {ours} first where the \
                 program's scripts set {variable} (R: R_LD_LIBRARY_PATH), or, if the program carries a path (readelf -d), say -x LD_PRELOAD={ours}/{}",
                library.display(),
                preloaded(library)
            ));
            return Some(FOREIGN);
        }
        let commands = self.job.commands.iter().zip(programs);
        let linked = commands.into_iter().find(|(_, program)| program.linked_to_mpi);
        if let Some((command, _)) = linked.filter(|_| self.verdict.is_none()) {
            let program = command.program.display();
            say(&format!(
                "no rank of {program} called MPI_Init of this library; did it find another MPI's (ldd {program})?"
            ));
        }
        None
    }
}

/// Our library that has what this one has: Cray's MPICH is MPICH by another name.
fn preloaded(library: &Path) -> String {
    match kind(library) {
        "Cray's" => "libmpi.so.12".to_owned(),
        _ => soname(library),
    }
}

/// Where our libraries are.
fn own_folder() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.parent()?.parent()?.join("lib"))
}

/// A library of another MPI that the process has mapped.
fn foreign_library(pid: u32) -> Option<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let ours = own_folder().and_then(|folder| folder.canonicalize().ok());
    let files = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    files
        .map(PathBuf::from)
        .find(|file| is_mpi(file) && file.parent().map(Path::to_owned) != ours)
}

/// Is it the C library of some MPI? Not those that lie above one, such as `libmpi_cxx.so.40`.
fn is_mpi(file: &Path) -> bool {
    const STARTS: [&str; 6] = [
        "libmpi.so",
        "libmpi_abi.so",
        "libmpich.so",
        "libmpi_gnu",
        "libmpi_cray",
        "libmpi_intel",
    ];
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    STARTS.iter().any(|start| name.starts_with(start))
}

/// The name that programs ask for: `libmpi.so.40` of `libmpi.so.40.30.4`.
fn soname(library: &Path) -> String {
    let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.split_once(".so.") {
        Some((start, version)) => format!("{start}.so.{}", version.split('.').next().unwrap_or(version)),
        None => name,
    }
}

/// The MPI that a library belongs to, as far as its name tells.
fn kind(library: &Path) -> &'static str {
    let name = soname(library);
    if name.starts_with("libmpi_abi") {
        "another library of the standard ABI"
    } else if name == "libmpi.so.12" || name.starts_with("libmpich") {
        "MPICH's or one of its kin"
    } else if name.starts_with("libmpi.so") {
        "Open MPI's"
    } else {
        "Cray's"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_names() {
        for (file, is, of) in [
            ("/usr/lib/libmpi.so.40.30.4", true, "Open MPI's"),
            ("/usr/lib/libmpi.so.12", true, "MPICH's or one of its kin"),
            ("/usr/lib/libmpich.so.12.1.8", true, "MPICH's or one of its kin"),
            ("/opt/cray/lib/libmpi_gnu_91.so.12", true, "Cray's"),
            ("/usr/lib/libmpi_cxx.so.40", false, ""),
            ("/usr/lib/libmpifort.so.12", false, ""),
        ] {
            assert_eq!(is_mpi(Path::new(file)), is, "{file}");
            assert!(!is || kind(Path::new(file)) == of, "{file}");
        }
        assert_eq!(soname(Path::new("/usr/lib/libmpi.so.40.30.4")), "libmpi.so.40");
    }
}
