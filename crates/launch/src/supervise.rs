//! Staying with the ranks of a job from start to end: one loop that waits for signals, lifelines and pipes.

mod elsewhere;
mod foreign;
mod hangs;
mod members;
mod passing;
mod signals;
mod survivors;
mod uplink;
mod verdict;

use std::collections::HashSet;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use isthmus_engine::control::Nonce;
use isthmus_engine::job::{self, Nodes, Overview};
use isthmus_os::child;
use isthmus_os::poll::{self, Interest};
use isthmus_os::signal::Signals;
use isthmus_os::{limits, random};

use crate::failure::{Failure, Result, say};
use crate::lifeline::Lifeline;
use crate::options::Job;
use crate::process_tree;
use crate::program::{self, Program};
use crate::rank_socket::{RankSocket, Refused, UnprovenPeer};
use crate::sink;
use crate::start::{self, Starter};
use crate::watcher::Watcher;
use crate::wire::NodePart;

use elsewhere::Elsewhere;
use foreign::Looks;
use passing::Passing;
pub use uplink::Uplink;

/// How long ranks have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(250);
/// A rank that is in the job when another fails, and has not said that it wants to go on, has so long to end its call and
/// say so; as long after it has come, if that was later.
const SETTLING: Duration = Duration::from_millis(250);
/// A rank that has not called `MPI_Init` is waited for so long after its start, if another fails meanwhile.
const COMING: Duration = Duration::from_secs(10);
/// How long we wait to learn how a process ended whose connection has closed.
const LEARN: Duration = Duration::from_millis(100);
/// While ranks are being killed: how often we look whether they started others meanwhile.
const SWEEP: Duration = Duration::from_millis(10);
/// Processes that have not gone this long after SIGKILL hang in the kernel.
const GIVE_UP: Duration = Duration::from_secs(2);
/// After passing on a signal that usually ends a job: when we say that it did not.
const REMIND: Duration = Duration::from_secs(1);
/// Descriptors of `mpiexec` itself, a few connections that have not joined among them.
const OWN_FILES: u64 = 24;
/// Exit code when `--timeout` ends the job, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

/// Run the job; the answer is the exit code. Blocks until every process of it has gone.
pub fn run(job: &Job) -> Result<u8> {
    let mut nonce = Nonce([0; 16]);
    random::fill(&mut nonce.0).map_err(|error| Failure::machine("make the job's nonce", error))?;
    let ranks = 0..job.commands.iter().map(|command| command.ranks).sum();
    supervise(job, nonce, ranks, None, None)
}

/// Run the part of a job that is this node's; what concerns the others goes up.
pub fn run_part(part: NodePart, uplink: Uplink) -> Result<u8> {
    let mut job = part.job;
    let mut environment = part.environment;
    // Ours come first here, too.
    if let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "LD_LIBRARY_PATH")
        && let Some(whole) = start::library_path(std::env::current_exe().ok().as_deref(), Some(path.clone()))
    {
        *path = whole;
    }
    for command in &mut job.commands {
        let everywhere = environment.iter().cloned();
        command.environment = everywhere.chain(command.environment.drain(..)).collect();
    }
    let is_here = |node: &u16| *node == part.node;
    let first = part.of.iter().position(is_here).unwrap_or(0) as u32;
    let count = part.of.iter().copied().filter(|node| is_here(node)).count() as u32;
    let nodes = Nodes {
        own: part.node,
        of: part.of,
    };
    supervise(&job, Nonce(part.nonce), first..first + count, Some(nodes), Some(uplink))
}

fn supervise(
    job: &Job,
    nonce: Nonce,
    here: Range<u32>,
    nodes: Option<Nodes>,
    mut uplink: Option<Uplink>,
) -> Result<u8> {
    let size = job.commands.iter().map(|command| command.ranks).sum();
    let programs = job.commands.iter().map(|command| program::find(command, size));
    let programs = programs.collect::<Result<Vec<_>>>();
    let programs = programs.map_err(|failure| match &mut uplink {
        Some(uplink) => {
            uplink.say_refused(failure.code);
            failure.on_host()
        }
        None => failure,
    })?;
    // Per rank a connection and a pidfd, perhaps two pipes.
    let of_ranks = here.len() as u64 * if job.pipes_output() { 4 } else { 2 };
    let needed = OWN_FILES + of_ranks;
    limits::allow_open_files(64 + of_ranks, needed).map_err(|limit| {
        let cure = format!("{size} ranks need {needed} open files: raise the hard limit of {limit} (ulimit -Hn)");
        Failure::machine("start so many ranks", cure)
    })?;
    let node = nodes.as_ref().map_or(0, |nodes| nodes.own.into());
    let _watcher = Watcher::begin(&nonce);
    let foreign = if child::exist() {
        process_tree::descendants(&HashSet::new())
    } else {
        Vec::new()
    };
    child::adopt_orphans().map_err(|error| Failure::machine("watch over the ranks", error))?;
    let mut supervisor = Supervisor {
        ranks_socket: RankSocket::open(nonce, node, size)?,
        signals: Signals::take_over(&signals::TAKEN).map_err(|error| Failure::machine("take over signals", error))?,
        turns: vec![Turn::begin(size, nonce, nodes.as_ref())?],
        job,
        nonce,
        size,
        here,
        nodes,
        uplink,
        elsewhere: Elsewhere::default(),
        lost_elsewhere: HashSet::new(),
        foreign: foreign.into_iter().collect(),
        ranks: Vec::new(),
        passing: Passing::begin(),
        childless: false,
        verdict: None,
        told: None,
        ending: None,
        partial_abort: None,
        deadline: job.timeout.map(|limit| Instant::now() + limit),
        next_look: job.report_hang.map(hangs::first_look),
        ticks_at_look: None,
        looks: Looks::begin(size),
        told_of_wait: false,
        refused: false,
    };
    sink::begin();
    supervisor.tell_of_cards(0);
    let outcome = supervisor.start(&programs);
    supervisor.hear_early();
    if outcome.is_err() {
        supervisor.end(1);
    }
    supervisor.watch()?;
    supervisor.say_done();
    outcome?;
    let foreign = supervisor.tell_of_foreign_library(&programs);
    Ok(supervisor.verdict.filter(|code| *code != 0).or(foreign).unwrap_or(0))
}

/// One program that a rank runs after the other (`sh -c './a; ./b'`): those of the same turn share a world.
struct Turn {
    segment: OwnedFd,
    /// Huge pages, where the machine has set some aside.
    pool: Option<OwnedFd>,
    overview: Overview,
}

impl Turn {
    fn begin(size: u32, nonce: Nonce, nodes: Option<&Nodes>) -> Result<Self> {
        let failed = |error| Failure::machine("make the job's shared memory", error);
        let segment = match nodes {
            None => job::create(size, nonce),
            Some(nodes) => job::create_on(size, nonce, nodes),
        };
        let segment = segment.map_err(failed)?;
        let overview = Overview::of(&segment, nonce).map_err(failed)?;
        let pool = job::create_pool(&segment);
        Ok(Self {
            segment,
            pool,
            overview,
        })
    }
}

struct Supervisor<'a> {
    job: &'a Job,
    nonce: Nonce,
    size: u32,
    /// The ranks that run here; what is kept of each stands in `ranks`, from the first of them on.
    here: Range<u32>,
    /// Where the others run, if not all are here.
    nodes: Option<Nodes>,
    uplink: Option<Uplink>,
    elsewhere: Elsewhere,
    /// Ranks of other nodes to which some here have no way any more, by turn.
    lost_elsewhere: HashSet<(u32, u32)>,
    ranks_socket: RankSocket,
    signals: Signals,
    turns: Vec<Turn>,
    /// Children that we were born with, and what has left a job that ended well.
    foreign: HashSet<u32>,
    ranks: Vec<Rank>,
    passing: Passing,
    /// The kernel says that no child is left.
    childless: bool,
    /// The exit code of the first failure.
    verdict: Option<u8>,
    /// A signal that usually ends a job was passed on.
    told: Option<SentSignal>,
    /// The job is being ended; what lives at this time is killed.
    ending: Option<Instant>,
    /// Some ranks are being ended: those that live at this time are killed.
    partial_abort: Option<Instant>,
    deadline: Option<Instant>,
    /// When to look whether everybody waits.
    next_look: Option<Instant>,
    /// CPU time of the ranks at the last look, where the output has no reader.
    ticks_at_look: Option<u64>,
    /// Whether the ranks run on another MPI's library.
    looks: Looks,
    /// The ranks here do nothing but wait, and `mpiexec` knows.
    told_of_wait: bool,
    /// A rank has ended the job rather than go on without one that failed.
    refused: bool,
}

struct Rank {
    command: usize,
    /// The process that we started.
    pid: u32,
    /// How it ended.
    ended: Option<ExitStatus>,
    /// Of the program that is in the job now.
    lifeline: Option<Lifeline>,
    /// Programs that have joined as this rank and left in peace.
    left: usize,
    /// It has failed, and the others go on without it.
    lost: bool,
    /// The others have been told that it is no more.
    declared: bool,
    /// The decision where the job is on several nodes: do the others go on?
    judged: Option<bool>,
    /// It ends as a member of what `MPI_Abort` was called for.
    aborted: bool,
    /// When the program that is in the job now joined it, or the rank was started.
    came: Instant,
}

struct SentSignal {
    signal: i32,
    at: Instant,
    reminded: bool,
}

/// What a descriptor belongs to.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    RankSocket,
    Rank(usize),
    Pipe(usize),
    /// There is room for more output, by stream.
    Room(usize),
    Uplink,
}

/// Descriptors, what each is waited for, and what it belongs to.
type Awaited<'a> = Vec<(BorrowedFd<'a>, Interest, Source)>;

/// Wait for one of them, at most for `limit`, and return the ready ones.
fn ready(awaited: Awaited<'_>, limit: Option<Duration>) -> isthmus_os::Result<Vec<Source>> {
    let descriptors: Vec<_> = awaited
        .iter()
        .map(|(descriptor, interest, _)| (*descriptor, *interest))
        .collect();
    let ready = poll::ready(&descriptors, limit)?;
    let sources = awaited.into_iter().zip(ready);
    Ok(sources
        .filter_map(|((_, _, source), ready)| ready.then_some(source))
        .collect())
}

impl Supervisor<'_> {
    fn start(&mut self, programs: &[Program]) -> Result<()> {
        let address = self.uplink.as_ref().and_then(Uplink::own_address);
        let signals = self.signals.mask_before();
        let node = self.nodes.as_ref().map_or(0, |nodes| nodes.own.into());
        let starter = Starter::new(
            self.job,
            (self.nonce, node),
            self.size,
            self.here.clone(),
            address,
            signals,
        );
        let mut next = 0;
        for (command, (wanted, program)) in self.job.commands.iter().zip(programs).enumerate() {
            let ranks = next..next + wanted.ranks;
            next = ranks.end;
            for rank in ranks.filter(|rank| self.here.contains(rank)) {
                let started = starter.start(rank, command, program)?;
                self.passing.add(started.pipes);
                self.ranks.push(Rank {
                    command,
                    pid: started.pid,
                    ended: None,
                    lifeline: None,
                    left: 0,
                    lost: false,
                    declared: false,
                    judged: None,
                    aborted: false,
                    came: Instant::now(),
                });
            }
        }
        Ok(())
    }

    fn watch(&mut self) -> Result<()> {
        while !self.is_complete() {
            let mut is_door_done = false;
            for source in self.wait()? {
                match source {
                    Source::Signals => self.handle_signals()?,
                    Source::RankSocket if is_door_done => {}
                    Source::RankSocket => {
                        is_door_done = true;
                        self.handle_visitors();
                    }
                    Source::Rank(rank) => self.handle_rank(rank),
                    Source::Pipe(_) | Source::Room(_) => {}
                    Source::Uplink => self.handle_uplink(),
                }
            }
            self.handle_clock();
        }
        self.pass_the_rest_on()
    }

    /// Wait for the next event; output is passed on at once, the rest is answered.
    fn wait(&mut self) -> Result<Vec<Source>> {
        let limit = self
            .next_deadline()
            .map(|at| at.saturating_duration_since(Instant::now()));
        let mut awaited: Awaited<'_> = vec![(self.signals.as_fd(), Interest::Read, Source::Signals)];
        self.passing.awaited(&mut awaited);
        if let Some(uplink) = self.uplink.as_ref().filter(|uplink| !uplink.is_closed()) {
            let (descriptor, interest) = uplink.awaited();
            awaited.push((descriptor, interest, Source::Uplink));
        }
        if self.ending.is_none() {
            let ranks_socket = self.ranks_socket.descriptors();
            awaited.extend(ranks_socket.map(|descriptor| (descriptor, Interest::Read, Source::RankSocket)));
            for (index, rank) in self.ranks.iter().enumerate() {
                let lifelines = rank.lifeline.iter().flat_map(Lifeline::descriptors);
                awaited.extend(lifelines.map(|descriptor| (descriptor, Interest::Read, Source::Rank(index))));
            }
        }
        let ready = ready(awaited, limit).map_err(|error| Failure::machine("wait for the ranks", error))?;
        self.passing.handle(&ready);
        self.say_unwritten();
        Ok(ready)
    }

    fn next_deadline(&self) -> Option<Instant> {
        if let Some(kill_at) = self.ending {
            return Some(kill_at.max(Instant::now() + SWEEP));
        }
        let reminder = self
            .told
            .as_ref()
            .filter(|told| !told.reminded)
            .map(|told| told.at + REMIND);
        let now = Instant::now();
        let asked = (self.has_ballots() || self.has_unsent()).then(|| now + SWEEP);
        let learned = |ended: Instant| {
            if ended + LEARN > now {
                ended + LEARN
            } else {
                now + SWEEP
            }
        };
        let learning = self
            .ranks
            .iter()
            .filter_map(|rank| rank.lifeline.as_ref()?.ended.map(learned))
            .min();
        [
            self.deadline,
            self.ranks_socket.opens(),
            reminder,
            learning,
            self.next_look,
            self.looks.next(),
            self.partial_abort,
            asked,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Every rank has ended, and whatever it left.
    fn is_complete(&mut self) -> bool {
        if self.ending.is_none() {
            if self
                .ranks
                .iter()
                .any(|rank| rank.ended.is_none() || rank.lifeline.is_some())
            {
                return false;
            }
            if self.verdict.is_none() {
                self.let_detached_live();
            }
            if !self.nobody_left() {
                // Background jobs end with the node's part of the job.
                self.end_here();
            }
        }
        self.nobody_left()
    }

    /// The job has ended well: what its ranks have started to outlive it belongs to it no more (docs/decisions/0137).
    fn let_detached_live(&mut self) {
        let own = std::process::id();
        let descriptors = self.passing.descriptors().chain([1, 2]);
        let outputs = descriptors
            .filter_map(|descriptor| process_tree::output(own, descriptor).ok())
            .collect();
        let left = process_tree::descendants(&self.foreign).into_iter();
        self.foreign
            .extend(left.filter(|pid| process_tree::is_detached(*pid, &outputs)));
    }

    fn nobody_left(&self) -> bool {
        self.childless || (!self.foreign.is_empty() && process_tree::descendants(&self.foreign).is_empty())
    }

    fn handle_visitors(&mut self) {
        let joining = match self.ranks_socket.handle() {
            Ok(joining) => joining,
            Err(Refused(errno)) => return self.give_up("let the ranks join", "accept4", errno),
        };
        for (rank, peer) in joining {
            match self.here.contains(&rank) {
                true => self.join((rank - self.here.start) as usize, peer),
                false => peer.refuse(),
            }
        }
    }

    fn join(&mut self, rank: usize, peer: UnprovenPeer) {
        // The program before it in the same rank may have left a moment ago.
        self.handle_rank(rank);
        let Some(joining) = self.ranks.get_mut(rank).filter(|_| self.ending.is_none()) else {
            return;
        };
        if joining.lifeline.is_some() || joining.lost {
            return peer.refuse();
        }
        let turn = joining.left;
        if turn == self.turns.len() {
            match Turn::begin(self.size, self.nonce, self.nodes.as_ref()) {
                Ok(turn) => self.turns.push(turn),
                Err(failure) => {
                    say(&failure.message);
                    return peer.refuse();
                }
            }
            self.tell_of_the_lost(turn);
            self.tell_of_cards(turn);
        }
        self.ranks[rank].came = Instant::now();
        let Turn { segment, pool, .. } = &self.turns[turn];
        self.ranks[rank].lifeline = Some(peer.welcome(self.size, segment, pool.as_ref()));
        self.tell_of_revocations(rank);
    }

    fn handle_rank(&mut self, rank: usize) {
        let abort = self
            .ranks
            .get_mut(rank)
            .and_then(|rank| rank.lifeline.as_mut())
            .and_then(Lifeline::handle);
        if let Some(abort) = abort {
            self.abort(rank, &abort);
        }
        self.pass_card_on(rank);
        self.tell_elsewhere(rank);
        self.consider(rank);
    }

    fn handle_clock(&mut self) {
        let now = Instant::now();
        if let Some(kill_at) = self.ending {
            if now >= kill_at {
                if now >= kill_at + GIVE_UP {
                    say(match process_tree::is_visible() {
                        true => {
                            "some processes of the job do not end: another user's, or stuck in the kernel (state D in ps)"
                        }
                        false => "some processes of the job do not end, and cannot be found: /proc is not mounted here",
                    });
                    self.childless = true;
                    return;
                }
                self.tell_all(libc::SIGKILL);
            }
            return;
        }
        if self.partial_abort.is_some_and(|at| now >= at) {
            self.end_aborted();
        }
        for rank in 0..self.ranks.len() {
            if self.ranks[rank]
                .lifeline
                .as_ref()
                .is_some_and(|lifeline| lifeline.ended.is_some())
            {
                self.consider(rank);
            }
        }
        self.answer_ballots();
        self.tell_unsent();
        if let Some(told) = self
            .told
            .as_mut()
            .filter(|told| !told.reminded && now >= told.at + REMIND)
        {
            told.reminded = true;
            say(&format!(
                "the ranks were sent signal {}; send it once more to end the job",
                told.signal
            ));
        }
        if self.next_look.is_some_and(|at| now >= at) {
            self.look_for_hang();
        }
        self.look_for_foreign_library();
        if self.ending.is_none() && self.deadline.is_some_and(|deadline| now >= deadline) {
            let limit = self.job.timeout.unwrap_or_default().as_secs_f64();
            say(&format!("the job has not ended within {limit} s; ending it"));
            self.say_who_left();
            self.say_who_waits();
            self.end(TIMED_OUT);
        }
    }
}
