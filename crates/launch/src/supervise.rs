//! Staying with the ranks of a job from start to end: one loop that waits for signals, lifelines and pipes.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use isthmus_engine::control::Nonce;
use isthmus_os::child::{self, Reaped};
use isthmus_os::signal::{self, Arrived, Signals};
use isthmus_os::{limits, poll, random};

use crate::failure::{Failure, Result, say, say_as_it_is};
use crate::family;
use crate::lifeline::{Abort, Asks, Door, Lifeline, Visitor};
use crate::options::Job;
use crate::output::Pipe;
use crate::program::{self, Program};
use crate::report::{self, Stage};
use crate::start::Starter;

/// How long ranks have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(250);
/// How long we wait to learn how a process ended whose connection has closed.
const LEARN: Duration = Duration::from_millis(100);
/// While ranks are being killed: how often we look whether they started others meanwhile.
const SWEEP: Duration = Duration::from_millis(10);
/// Processes that have not gone this long after SIGKILL hang in the kernel.
const GIVE_UP: Duration = Duration::from_secs(2);
/// After passing on a signal that usually ends a job: when we say that it did not.
const REMIND: Duration = Duration::from_secs(1);
/// Two signals closer together are one wish (`timeout` sends to the process and to its group).
const SAME_WISH: Duration = Duration::from_millis(200);

/// Exit code when `--timeout` ends the job, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

const TAKEN: [i32; 9] = [
    libc::SIGCHLD,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Run the job; the answer is the exit code. Blocks until every process of it has gone.
pub fn run(job: &Job) -> Result<u8> {
    let programs = job.commands.iter().map(program::find).collect::<Result<Vec<_>>>()?;
    let size = job.commands.iter().map(|command| command.ranks).sum();
    let mut nonce = Nonce([0; 16]);
    random::fill(&mut nonce.0).map_err(|error| Failure::machine("make the job's nonce", error))?;
    // Per rank a connection and a pidfd, perhaps two pipes.
    let wanted = 64 + u64::from(size) * if job.tag_output { 4 } else { 2 };
    limits::allow_open_files(wanted).map_err(|limit| {
        let cure = format!("{size} ranks need {wanted} open files: raise the hard limit of {limit} (ulimit -Hn)");
        Failure::machine("start so many ranks", cure)
    })?;
    let strangers = if child::exist() {
        family::descendants(&HashSet::new())
    } else {
        Vec::new()
    };
    child::adopt_orphans().map_err(|error| Failure::machine("watch over the ranks", error))?;
    let mut supervisor = Supervisor {
        door: Door::open(nonce, size)?,
        signals: Signals::take_over(&TAKEN).map_err(|error| Failure::machine("take over signals", error))?,
        segments: vec![segment(size, nonce)?],
        job,
        nonce,
        size,
        strangers: strangers.into_iter().collect(),
        visitors: Vec::new(),
        ranks: Vec::new(),
        pipes: Vec::new(),
        childless: false,
        verdict: None,
        told: None,
        ending: None,
        deadline: job.timeout.map(|limit| Instant::now() + limit),
    };
    let outcome = supervisor.start(&programs);
    if outcome.is_err() {
        supervisor.end(1);
    }
    supervisor.watch()?;
    outcome?;
    supervisor.warn_of_strange_library(&programs);
    Ok(supervisor.verdict.unwrap_or(0))
}

fn segment(size: u32, nonce: Nonce) -> Result<OwnedFd> {
    isthmus_engine::job::create(size, nonce).map_err(|error| Failure::machine("make the job's shared memory", error))
}

struct Supervisor<'a> {
    job: &'a Job,
    nonce: Nonce,
    size: u32,
    door: Door,
    signals: Signals,
    /// One per program that a rank runs one after the other (`sh -c './a; ./b'`): those of the same turn share a world.
    segments: Vec<OwnedFd>,
    /// Children that we were born with.
    strangers: HashSet<u32>,
    visitors: Vec<Visitor>,
    ranks: Vec<Rank>,
    pipes: Vec<Pipe>,
    /// The kernel says that no child is left.
    childless: bool,
    /// The exit code of the first failure.
    verdict: Option<u8>,
    /// A signal that usually ends a job was passed on.
    told: Option<Told>,
    ending: Option<Ending>,
    deadline: Option<Instant>,
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
}

struct Told {
    signal: i32,
    at: Instant,
    reminded: bool,
}

struct Ending {
    kill_at: Instant,
}

/// What a descriptor belongs to.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    Door,
    Visitor,
    Rank(usize),
    Pipe(usize),
}

impl Supervisor<'_> {
    fn start(&mut self, programs: &[Program]) -> Result<()> {
        let starter = Starter::new(self.job, self.nonce, self.size, self.signals.mask_before());
        for (command, (wanted, program)) in self.job.commands.iter().zip(programs).enumerate() {
            for _ in 0..wanted.ranks {
                let started = starter.start(self.ranks.len() as u32, command, program)?;
                self.pipes.extend(started.pipes);
                self.ranks.push(Rank {
                    command,
                    pid: started.pid,
                    ended: None,
                    lifeline: None,
                    left: 0,
                });
            }
        }
        Ok(())
    }

    fn watch(&mut self) -> Result<()> {
        while !self.over() {
            for source in self.wait()? {
                match source {
                    Source::Signals => self.attend_signals()?,
                    Source::Door | Source::Visitor => self.attend_visitors(),
                    Source::Rank(rank) => self.attend_rank(rank),
                    Source::Pipe(_) => {}
                }
            }
            self.attend_clock();
        }
        // Everybody who could write has gone: what is left in the pipes is all there is.
        while self
            .pipes
            .iter()
            .any(|pipe| poll::readable(&[pipe.as_fd()], Some(Duration::ZERO)) == Ok(vec![true]))
        {
            self.wait()?;
        }
        Ok(())
    }

    /// Wait for the next event; output is passed on at once, the rest is answered.
    fn wait(&mut self) -> Result<Vec<Source>> {
        let limit = self
            .next_deadline()
            .map(|at| at.saturating_duration_since(Instant::now()));
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd()];
        let mut sources = vec![Source::Signals];
        for (index, pipe) in self.pipes.iter().enumerate() {
            descriptors.push(pipe.as_fd());
            sources.push(Source::Pipe(index));
        }
        if self.ending.is_none() {
            descriptors.push(self.door.as_fd());
            sources.push(Source::Door);
            for visitor in &self.visitors {
                descriptors.push(visitor.as_fd());
                sources.push(Source::Visitor);
            }
            for (index, rank) in self.ranks.iter().enumerate() {
                for descriptor in rank.lifeline.iter().flat_map(Lifeline::descriptors) {
                    descriptors.push(descriptor);
                    sources.push(Source::Rank(index));
                }
            }
        }
        let ready =
            poll::readable(&descriptors, limit).map_err(|error| Failure::machine("wait for the ranks", error))?;
        let ready: Vec<Source> = sources
            .into_iter()
            .zip(ready)
            .filter_map(|(source, ready)| ready.then_some(source))
            .collect();
        // From the back, so that the indexes before a closed pipe stay true.
        for &source in ready.iter().rev() {
            if let Source::Pipe(index) = source
                && !self.pipes[index].pass_on()
            {
                self.pipes.remove(index);
            }
        }
        Ok(ready)
    }

    fn next_deadline(&self) -> Option<Instant> {
        if let Some(ending) = &self.ending {
            return Some(ending.kill_at.max(Instant::now() + SWEEP));
        }
        let reminder = self
            .told
            .as_ref()
            .filter(|told| !told.reminded)
            .map(|told| told.at + REMIND);
        let learning = self
            .ranks
            .iter()
            .filter_map(|rank| Some(rank.lifeline.as_ref()?.ended? + LEARN))
            .min();
        [self.deadline, reminder, learning].into_iter().flatten().min()
    }

    /// Every rank has ended, and whatever it left.
    fn over(&mut self) -> bool {
        if self.ending.is_none() {
            if self
                .ranks
                .iter()
                .any(|rank| rank.ended.is_none() || rank.lifeline.is_some())
            {
                return false;
            }
            if !self.nobody_left() {
                // Daemons and background jobs end with the job.
                self.end(self.verdict.unwrap_or(0));
            }
        }
        self.nobody_left()
    }

    fn nobody_left(&self) -> bool {
        self.childless || (!self.strangers.is_empty() && family::descendants(&self.strangers).is_empty())
    }

    fn attend_visitors(&mut self) {
        while let Some(visitor) = self.door.visitor() {
            self.visitors.push(visitor);
        }
        for visitor in std::mem::take(&mut self.visitors) {
            match self.door.listen(&visitor) {
                None => self.visitors.push(visitor),
                Some(Asks::Nothing) => visitor.refuse(),
                Some(Asks::ToJoin(rank)) => self.join(rank as usize, visitor),
            }
        }
    }

    fn join(&mut self, rank: usize, visitor: Visitor) {
        // The program before it in the same rank may have left a moment ago.
        self.attend_rank(rank);
        let Some(joining) = self.ranks.get_mut(rank).filter(|_| self.ending.is_none()) else {
            return;
        };
        if joining.lifeline.is_some() {
            return visitor.refuse();
        }
        if joining.left == self.segments.len() {
            match segment(self.size, self.nonce) {
                Ok(segment) => self.segments.push(segment),
                Err(failure) => {
                    say(&failure.message);
                    return visitor.refuse();
                }
            }
        }
        joining.lifeline = Some(visitor.welcome(self.size, &self.segments[joining.left]));
    }

    fn attend_rank(&mut self, rank: usize) {
        let abort = self
            .ranks
            .get_mut(rank)
            .and_then(|rank| rank.lifeline.as_mut())
            .and_then(Lifeline::attend);
        if let Some(abort) = abort {
            self.abort(rank, &abort);
        }
        self.consider(rank);
    }

    fn attend_signals(&mut self) -> Result<()> {
        while let Some(arrived) = self
            .signals
            .next()
            .map_err(|error| Failure::machine("read signals", error))?
        {
            match arrived.signal {
                libc::SIGCHLD => self.reap(),
                _ => self.pass_on(arrived),
            }
        }
        Ok(())
    }

    fn reap(&mut self) {
        loop {
            match child::reap() {
                Reaped::Child(pid, status) => {
                    let Some(rank) = self.ranks.iter().position(|rank| rank.pid == pid) else {
                        continue;
                    };
                    self.ranks[rank].ended = Some(status);
                    // It may have come, spoken and gone since we looked.
                    if self.ending.is_none() {
                        self.attend_visitors();
                        self.attend_rank(rank);
                    }
                }
                Reaped::AllRunning => return self.childless = false,
                Reaped::NoChildren => return self.childless = true,
            }
        }
    }

    fn pass_on(&mut self, arrived: Arrived) {
        let Arrived { signal, from_kernel } = arrived;
        match signal {
            libc::SIGUSR1 | libc::SIGUSR2 => {
                // Not to wrappers: they would die of it.
                for rank in self
                    .ranks
                    .iter()
                    .filter(|rank| rank.ended.is_none() || rank.lifeline.is_some())
                {
                    let target = rank.lifeline.as_ref().map_or(rank.pid, |lifeline| lifeline.pid);
                    let _ = signal::send(target, signal); // It may end at any moment.
                }
            }
            libc::SIGCONT => self.tell_all(signal),
            libc::SIGTSTP => {
                if !from_kernel {
                    self.tell_all(signal);
                }
                let _ = signal::send(std::process::id(), libc::SIGSTOP); // Always allowed.
            }
            _ => match &self.told {
                Some(told) if told.at.elapsed() < SAME_WISH => {}
                Some(_) => {
                    say("ending the job");
                    self.end(128 + signal as u8);
                }
                None => {
                    // What comes from the terminal has reached the ranks already.
                    if !from_kernel {
                        self.tell_all(signal);
                    }
                    self.told = Some(Told {
                        signal,
                        at: Instant::now(),
                        reminded: false,
                    });
                }
            },
        }
    }

    fn attend_clock(&mut self) {
        let now = Instant::now();
        if let Some(ending) = &self.ending {
            if now >= ending.kill_at {
                if now >= ending.kill_at + GIVE_UP {
                    say("some processes of the job do not end: they hang in the kernel (ps shows them in state D)");
                    self.childless = true;
                    return;
                }
                self.tell_all(libc::SIGKILL);
            }
            return;
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
        if self.ending.is_none() && self.deadline.is_some_and(|deadline| now >= deadline) {
            let limit = self.job.timeout.unwrap_or_default().as_secs_f64();
            say(&format!("the job has not ended within {limit} s; ending it"));
            self.end(TIMED_OUT);
        }
    }

    /// Judge a rank by what is known of it.
    fn consider(&mut self, index: usize) {
        let Some(rank) = self.ranks.get_mut(index).filter(|_| self.ending.is_none()) else {
            return;
        };
        if let Some(lifeline) = &mut rank.lifeline {
            let is_ours = lifeline.pid == rank.pid;
            if is_ours && rank.ended.is_some() {
                lifeline.ended.get_or_insert_with(Instant::now);
            }
            match lifeline.ended {
                Some(_) if lifeline.finalized => {
                    rank.lifeline = None;
                    rank.left += 1;
                }
                Some(since) => {
                    let pid = lifeline.pid;
                    let status = if is_ours {
                        rank.ended
                    } else {
                        lifeline.exit_status().or(rank.ended)
                    };
                    if let Some(status) = status {
                        return self.fail(index, pid, status, Stage::Inside);
                    }
                    if since.elapsed() >= LEARN {
                        return self.fail_silently(index, pid);
                    }
                }
                // A wrapper may go before its program.
                None if rank.ended.is_none_or(|status| status.success()) => return,
                None => {}
            }
        }
        let Some(status) = rank.ended.filter(|status| !status.success()) else {
            return;
        };
        let pid = rank.pid;
        if rank.lifeline.is_some() {
            self.fail(index, pid, status, Stage::Inside);
        } else if rank.left > 0 {
            // Nobody waits for it any more: the others may end in their own time.
            if self.verdict.is_none() {
                self.verdict = Some(report::exit_code(status));
                say(&format!(
                    "{} {}",
                    self.name(index, pid),
                    report::describe(status, Stage::AfterFinalize)
                ));
            }
        } else {
            self.fail(index, pid, status, Stage::BeforeInit);
        }
    }

    fn fail(&mut self, rank: usize, pid: u32, status: ExitStatus, stage: Stage) {
        say(&format!(
            "{} {}; ending the job",
            self.name(rank, pid),
            report::describe(status, stage)
        ));
        self.end(report::exit_code(status));
    }

    /// The connection has ended and nobody can say how the process did.
    fn fail_silently(&mut self, rank: usize, pid: u32) {
        say(&format!(
            "{} ended, or closed its connection to mpiexec, without calling MPI_Finalize; ending the job",
            self.name(rank, pid)
        ));
        self.end(1);
    }

    fn abort(&mut self, rank: usize, abort: &Abort) {
        // An abort may be the echo of a death that we are still asking about.
        let dead = self.ranks.iter().position(|rank| {
            rank.lifeline
                .as_ref()
                .is_some_and(|lifeline| lifeline.ended.is_some() && !lifeline.finalized)
        });
        if self.ending.is_some() {
            return;
        }
        if let Some((dead, pid)) = dead.and_then(|dead| Some((dead, self.ranks[dead].lifeline.as_ref()?.pid))) {
            return self.fail_silently(dead, pid);
        }
        match abort.message.trim_end() {
            "" => {
                let pid = self.ranks[rank]
                    .lifeline
                    .as_ref()
                    .map_or(self.ranks[rank].pid, |lifeline| lifeline.pid);
                say(&format!(
                    "{} called MPI_Abort with code {}; ending the job",
                    self.name(rank, pid),
                    abort.code
                ));
            }
            message => say_as_it_is(message),
        }
        self.end(report::abort_code(abort.code));
    }

    fn name(&self, rank: usize, pid: u32) -> String {
        let program = self.job.commands[self.ranks[rank].command].program.display();
        format!("rank {rank} (pid {pid}, {program})")
    }

    /// From here on every process of the job is being ended.
    fn end(&mut self, code: u8) {
        self.verdict.get_or_insert(code);
        if self.ending.is_none() {
            let kill_at = Instant::now() + GRACE;
            self.ending = Some(Ending { kill_at });
            self.tell_all(libc::SIGTERM);
            // A stopped process does not hear SIGTERM.
            self.tell_all(libc::SIGCONT);
            self.reap();
        }
    }

    fn tell_all(&self, signal: i32) {
        for pid in family::descendants(&self.strangers) {
            let _ = signal::send(pid, signal); // It may end at any moment.
        }
    }

    /// A program that finds another MPI's library runs as so many jobs of one rank, and nothing else says so.
    fn warn_of_strange_library(&self, programs: &[Program]) {
        let none_joined = self.ranks.iter().all(|rank| rank.left == 0);
        if self.size > 1 && self.verdict.is_none() && none_joined {
            let linked = self
                .job
                .commands
                .iter()
                .zip(programs)
                .find(|(_, program)| program.linked_to_mpi);
            if let Some((command, _)) = linked {
                let program = command.program.display();
                say(&format!(
                    "no rank of {program} called MPI_Init of this library; did it find another MPI's (ldd {program})?"
                ));
            }
        }
    }
}
