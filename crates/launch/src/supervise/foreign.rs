//! Ranks that run on another MPI's library: each becomes a job of its own, and nothing but its output says so.
//!
//! What a process has mapped is known while it lives only, so processes are looked at while no rank has joined: all of them soon after the start,
//! then ever more rarely. A program below a script may live for tens of milliseconds only, so processes below the first ranks that have just begun are
//! looked at whenever the kernel has given a new number to a process.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isthmus_engine::other_mpi::MpiFamily;
use object::read::ReadCache;

use crate::elf::Elf;
use crate::failure::say;
use crate::process_tree;
use crate::program::{Program, own_folder};

use super::Supervisor;

/// When the processes are looked at first. Ranks of ours have joined by then, and libraries of others are still busy starting.
const FIRST: Duration = Duration::from_millis(30);
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(5);
/// The time between two looks at what has just begun. The shortest MPI program there is, which does nothing between `MPI_Init` and `MPI_Finalize`
/// of MPICH, lives twice as long.
const SHORT: Duration = Duration::from_millis(20);
/// By then a program has mapped the libraries that it is linked to; what it opens later the rarer looks see.
const YOUNG: Duration = Duration::from_millis(500);
/// Ranks whose processes are looked at so often: others run the same, or one of a few programs.
const WATCHED: usize = 2;
/// Exit code of a job whose ranks ran on another MPI's library.
const FOREIGN: u8 = 1;

/// When to look next, and what was found.
pub(super) struct Looks {
    next: Option<Instant>,
    pause: Duration,
    found: Option<ForeignMpi>,
    /// Programs that were looked into.
    read: HashSet<PathBuf>,
    /// When to look at what has just begun.
    soon: Option<Instant>,
    /// The number of a process that the kernel had given last.
    last_made: Option<u32>,
    /// When a process was seen first with this program.
    begun: HashMap<u32, (PathBuf, Instant)>,
}

impl Looks {
    /// For a job of `size` ranks: of one nothing has to be found.
    pub(super) fn begin(size: u32) -> Self {
        let first = (size > 1).then(|| Instant::now() + FIRST);
        Self {
            next: first,
            pause: FIRST,
            found: None,
            read: HashSet::new(),
            soon: (size > 1).then(|| Instant::now() + SHORT),
            last_made: None,
            begun: HashMap::new(),
        }
    }

    /// When to look next, if at all.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.into_iter().chain(self.soon).min()
    }

    /// Look at the processes below `roots` that have just begun.
    fn at_young(&mut self, roots: impl Iterator<Item = u32>) {
        let now = Instant::now();
        self.soon = Some(now + SHORT);
        let last = process_tree::last_made();
        let is_young = |(_, since): &(PathBuf, Instant)| now < *since + YOUNG;
        if last.is_some() && last == self.last_made && !self.begun.values().any(is_young) {
            return;
        }
        self.last_made = last;
        let mut alive = HashMap::new();
        for root in roots {
            let Some(processes) = process_tree::listed(root) else {
                continue;
            };
            for pid in processes {
                let Ok(program) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
                    continue;
                };
                let before = self.begun.remove(&pid).filter(|(known, _)| *known == program);
                let known = before.unwrap_or((program, now));
                if is_young(&known) {
                    self.found = self.found.take().or_else(|| found_in(pid, &mut self.read));
                }
                alive.insert(pid, known);
            }
        }
        self.begun = alive;
    }
}

impl Supervisor<'_> {
    /// Look what the processes of the job have mapped, if it is time.
    pub(super) fn look_for_foreign_library(&mut self) {
        let now = Instant::now();
        if self.looks.next().is_none_or(|at| now < at) {
            return;
        }
        let joined = self.ranks.iter().any(|rank| rank.left > 0 || rank.lifeline.is_some());
        if joined {
            (self.looks.next, self.looks.soon) = (None, None);
            return;
        }
        if self.looks.next.is_some_and(|at| now >= at) {
            let processes = process_tree::descendants(&self.foreign);
            self.looks.found = processes
                .into_iter()
                .find_map(|pid| found_in(pid, &mut self.looks.read));
            self.looks.pause = (self.looks.pause * 3 / 2).min(LONGEST);
            self.looks.next = Some(now + self.looks.pause);
        }
        if self.looks.soon.is_some_and(|at| now >= at) {
            let roots = self.ranks.iter().filter(|rank| rank.ended.is_none());
            self.looks.at_young(roots.take(WATCHED).map(|rank| rank.pid));
        }
        if self.looks.found.is_some() {
            (self.looks.next, self.looks.soon) = (None, None);
        }
    }

    /// A program that finds another MPI's library runs as so many jobs of one rank. The exit code that the job has for that, if it was seen.
    pub(super) fn tell_of_foreign_library(&self, programs: &[Program]) -> Option<u8> {
        let none_joined = self.ranks.iter().all(|rank| rank.left == 0);
        if self.size <= 1 || !none_joined {
            return None;
        }
        if let Some(found) = &self.looks.found {
            say(&format!("no rank joined this job: its processes {}", found.explained()));
            return Some(FOREIGN);
        }
        let commands = self.job.commands.iter().zip(programs);
        let linked = commands.into_iter().find(|(_, program)| program.linked.to_mpi);
        if let Some((command, _)) = linked.filter(|_| self.verdict.is_none()) {
            let program = command.program.display();
            say(&format!(
                "no rank of {program} called MPI_Init of this library; did it find another MPI's (ldd {program})?"
            ));
        }
        None
    }
}

/// What makes a process the only rank of a job of its own.
enum ForeignMpi {
    /// A library of another MPI that it has mapped.
    Mapped(PathBuf, MpiFamily),
    /// Its program, and the MPI that is linked into that.
    Inside(PathBuf, MpiFamily),
}

impl ForeignMpi {
    /// What the processes did, and what to do.
    fn explained(&self) -> String {
        let ours = own_folder().map_or_else(|| "our lib folder".into(), |folder| folder.display().to_string());
        match self {
            Self::Inside(program, kind) => format!(
                "run {}, which has a library of MPI inside ({}, linked statically), and ran as jobs of one rank each: compile it again with \
                 the mpicc beside this mpiexec",
                program.display(),
                kind.name()
            ),
            Self::Mapped(library, kind) => {
                let cure = match kind.counterpart() {
                    None => "which is of none of the ABIs here: compile the program again with the mpicc beside this mpiexec".to_owned(),
                    Some(name) => format!(
                        "put {ours} first where the program's scripts set LD_LIBRARY_PATH (R: R_LD_LIBRARY_PATH), or, if the program \
                         carries a path (readelf -d), say -x LD_PRELOAD={ours}/{name}"
                    ),
                };
                let (library, kind) = (library.display(), kind.name());
                format!("loaded {library} ({kind}), and ran as jobs of one rank each; {cure}")
            }
        }
    }
}

/// Of a process that has not joined. Each program is read once.
fn found_in(pid: u32, read: &mut HashSet<PathBuf>) -> Option<ForeignMpi> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let ours = own_folder().and_then(|folder| folder.canonicalize().ok());
    let files = maps
        .lines()
        .filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let foreign = files.filter(|file| file.parent() != ours.as_deref());
    let mut mapped = foreign.filter_map(|file| Some(ForeignMpi::Mapped(file.to_owned(), MpiFamily::of(file)?)));
    if let Some(found) = mapped.next() {
        return Some(found);
    }
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    if !read.insert(program.clone()) {
        return None;
    }
    let elf = Elf::read(&ReadCache::new(File::open(&program).ok()?));
    elf.inside.map(|kind| ForeignMpi::Inside(program, kind))
}
