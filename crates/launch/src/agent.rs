//! The ranks that another launcher has started (PMI-1): the agent (`mpiexec` with `--agent`) hands out the job's memory, and watches over them.
//!
//! Rank 0 starts it, detached, and reads the job's nonce from its standard output. It cannot start or reap the ranks, so it
//! knows them by their connections alone. It ends with the last of them; when it ends before, they do.

use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use isthmus_engine::abort_by_launcher;
use isthmus_engine::control::Nonce;
use isthmus_engine::job::{self, Nodes, Overview};
use isthmus_os::{limits, poll, process, random, signal};

use crate::failure::{Failure, Result, say, say_as_it_is};
use crate::lifeline::{Abort, Lifeline};
use crate::rank_socket::RankSocket;
use crate::sink;

/// How long ranks may take to join after the last one was here.
const EMPTY: Duration = Duration::from_secs(60);
/// How long ranks have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(250);
/// How long the launcher has to pass on what was said why: Hydra leaves off when it is asked to end the job.
const OUTPUT: Duration = Duration::from_millis(100);
/// How long the launcher has to end ranks when it is asked to.
const LAUNCHER: Duration = Duration::from_secs(1);
/// How often we look at what has no descriptor to wait for.
const LOOK: Duration = Duration::from_millis(50);

/// The ranks to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// Ranks of the job.
    ranks: u32,
    /// If they are on several nodes: where each is.
    nodes: Option<Nodes>,
}

impl JobSpec {
    /// As an argument: `RANKS`, or `RANKS@NODE@NODE,NODE,...`: this node, and that of each rank.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('@');
        let ranks: u32 = parts.next()?.parse().ok()?;
        let nodes = match parts.next() {
            None => None,
            Some(own) => Some(Nodes {
                own: own.parse().ok()?,
                of: parts
                    .next()?
                    .split(',')
                    .map(|node| node.parse().ok())
                    .collect::<Option<_>>()?,
            }),
        };
        let fits = nodes.as_ref().is_none_or(|nodes| nodes.of.len() == ranks as usize);
        ((1..=job::MAX_RANKS).contains(&ranks) && fits && parts.next().is_none()).then_some(Self { ranks, nodes })
    }
}

/// The nonce of a job whose first rank has made it: in the environment, since arguments are seen by everybody.
fn given_nonce() -> Result<Nonce> {
    let given = std::env::var("ISTHMUS_JOB").ok().and_then(|text| Nonce::parse(&text));
    given.ok_or_else(|| Failure::usage("--agent on several nodes: this is for the library's own use"))
}

/// Make the part of a job that is on this node, say its nonce, and stay with its ranks; the answer is the exit code. Blocks until all have gone.
pub fn run(JobSpec { ranks, nodes }: JobSpec) -> Result<u8> {
    let mut nonce = Nonce([0; 16]);
    match nodes {
        Some(_) => nonce = given_nonce()?,
        None => random::fill(&mut nonce.0).map_err(|error| Failure::machine("make the job's nonce", error))?,
    }
    let of_ranks = u64::from(ranks) * 2;
    limits::allow_open_files(64 + of_ranks, 24 + of_ranks)
        .map_err(|limit| Failure::machine("keep so many ranks", format!("the hard limit of open files is {limit}")))?;
    let failed = |error| Failure::machine("make the job's shared memory", error);
    let segment = match &nodes {
        None => job::create(ranks, nonce),
        Some(nodes) => job::create_on(ranks, nonce, nodes),
    };
    let segment = segment.map_err(failed)?;
    let is_here = |rank: u32| {
        let nodes = nodes.as_ref();
        nodes.is_none_or(|nodes| nodes.of[rank as usize] == nodes.own)
    };
    let pool = job::create_pool(&segment);
    let mut agent = Agent {
        ranks_socket: RankSocket::open(nonce, 0, ranks)?,
        overview: Overview::of(&segment, nonce).map_err(failed)?,
        ranks: (0..ranks)
            .map(|rank| if is_here(rank) { State::Awaited } else { State::Left })
            .collect(),
        is_whole: nodes.is_none(),
        launcher: nodes.and_then(|_| process::inherited_socket(0)),
        empty_since: Instant::now(),
    };
    let mut output = std::io::stdout();
    writeln!(output, "{nonce}")
        .and_then(|()| output.flush())
        .map_err(|error| Failure::machine("tell rank 0 of the job", error))?;
    sink::begin();
    loop {
        agent.wait()?;
        agent.handle_visitors(&segment, pool.as_ref());
        for rank in 0..agent.ranks.len() {
            if let Some(code) = agent.handle(rank) {
                return Ok(code);
            }
        }
        if agent.are_over() {
            return Ok(0);
        }
    }
}

enum State {
    /// It has not joined yet.
    Awaited,
    Inside(Lifeline),
    /// It has finalized and gone, or is on another node.
    Left,
    /// It has died, and the others go on.
    Lost,
}

struct Agent {
    ranks_socket: RankSocket,
    overview: Overview,
    ranks: Vec<State>,
    /// All ranks of the job are here.
    is_whole: bool,
    /// If not: the connection of one of ours to the launcher, which ends those.
    launcher: Option<OwnedFd>,
    /// Since when nobody was inside.
    empty_since: Instant,
}

impl Agent {
    fn wait(&self) -> Result<()> {
        let mut descriptors: Vec<BorrowedFd<'_>> = self.ranks_socket.descriptors().collect();
        descriptors.extend(self.inside().flat_map(|(_, lifeline)| lifeline.descriptors()));
        // A death is not told of by a descriptor on old kernels, nor is time that has passed.
        let is_settled = self.inside().all(|(_, lifeline)| lifeline.ended.is_none()) && self.inside().next().is_some();
        let opens = self
            .ranks_socket
            .opens()
            .map(|at| at.saturating_duration_since(Instant::now()));
        let limit = (!is_settled).then_some(LOOK).into_iter().chain(opens).min();
        poll::readable(&descriptors, limit).map_err(|error| Failure::machine("wait for the ranks", error))?;
        Ok(())
    }

    fn inside(&self) -> impl Iterator<Item = (usize, &Lifeline)> {
        let ranks = self.ranks.iter().enumerate();
        ranks.filter_map(|(rank, state)| match state {
            State::Inside(lifeline) => Some((rank, lifeline)),
            _ => None,
        })
    }

    fn handle_visitors(&mut self, segment: &OwnedFd, pool: Option<&OwnedFd>) {
        // Where the kernel lets nobody in, the ranks say so themselves.
        let joining = self.ranks_socket.handle().unwrap_or_default();
        let size = self.ranks.len() as u32;
        for (rank, peer) in joining {
            match &mut self.ranks[rank as usize] {
                state @ State::Awaited => *state = State::Inside(peer.welcome(size, segment, pool)),
                // A child that has inherited a rank's environment is a job of its own.
                _ => peer.refuse(),
            }
        }
    }

    /// Hear what a rank says. The exit code, if that ends the job.
    fn handle(&mut self, rank: usize) -> Option<u8> {
        let State::Inside(lifeline) = &mut self.ranks[rank] else {
            return None;
        };
        // The launcher would end all of them anyway.
        if let Some(abort) = lifeline.handle() {
            return Some(self.abort(rank, &abort));
        }
        if let Some((_, why)) = lifeline.lost.first() {
            // Nobody could tell the other node.
            say_as_it_is(&format!("{why}; ending the job"));
            return Some(self.end(1));
        }
        lifeline.ended?;
        self.empty_since = Instant::now();
        if lifeline.finalized {
            self.ranks[rank] = State::Left;
            if self.ranks.iter().any(|other| matches!(other, State::Lost)) {
                self.overview.declare_failed(rank as u32, true);
            }
            return None;
        }
        let pid = lifeline.pid;
        if self.do_others_go_on(rank) {
            // Those who are told that it is dead will use its memory.
            let _ = signal::send(pid, signal::KILL); // It may have ended.
            self.ranks[rank] = State::Lost;
            self.overview.declare_failed(rank as u32, false);
            say(&format!(
                "rank {rank} (pid {pid}) ended without calling MPI_Finalize; the others go on, since their error handlers return"
            ));
            return None;
        }
        // The launcher may have noticed first, and ended others: which of them was the first nobody knows.
        let mut ended = vec![format!("rank {rank} (pid {pid})")];
        for other in rank + 1..self.ranks.len() {
            let State::Inside(lifeline) = &mut self.ranks[other] else {
                continue;
            };
            if let Some(abort) = lifeline.handle() {
                return Some(self.abort(other, &abort));
            }
            if lifeline.ended.is_some() && !lifeline.finalized {
                ended.push(format!("rank {other} (pid {})", lifeline.pid));
            }
        }
        say(&format!(
            "{} ended without calling MPI_Finalize; ending the job",
            ended.join(" and ")
        ));
        Some(self.end(1))
    }

    /// A rank has called `MPI_Abort`, or has met an error that ends the job. The exit code.
    fn abort(&mut self, rank: usize, Abort { code, message, .. }: &Abort) -> u8 {
        let State::Inside(lifeline) = &self.ranks[rank] else {
            return 1;
        };
        let pid = lifeline.pid;
        match message.trim_end() {
            "" => say(&format!(
                "rank {rank} (pid {pid}) called MPI_Abort with code {code}; ending the job"
            )),
            message => say_as_it_is(message),
        }
        // It ends by itself when it is let go, with its own code.
        self.ranks[rank] = State::Lost;
        self.end(isthmus_engine::control::exit_code(*code))
    }

    /// Somebody else is inside, and all who are, or will be, want to go on when others fail.
    fn do_others_go_on(&self, failed: usize) -> bool {
        let mut others = self.ranks.iter().enumerate().filter(|(rank, _)| *rank != failed);
        let all = others.all(|(rank, state)| match state {
            State::Inside(lifeline) if !lifeline.finalized => self.overview.endures(rank as u32),
            State::Awaited => false,
            _ => true,
        });
        // Those on other nodes would have to be asked, and told; the launcher ends them.
        self.is_whole
            && all
            && self
                .inside()
                .any(|(rank, lifeline)| rank != failed && !lifeline.finalized)
    }

    fn are_over(&self) -> bool {
        let is_awaited = self.ranks.iter().any(|state| matches!(state, State::Awaited));
        self.inside().next().is_none() && (!is_awaited || self.empty_since.elapsed() > EMPTY)
    }

    /// End every rank that is inside. Those on other nodes are the launcher's to end, which is asked to: Hydra takes no notice when all
    /// processes of a node end by themselves.
    fn end(&mut self, code: u8) -> u8 {
        let is_told = |launcher: &OwnedFd| {
            std::thread::sleep(OUTPUT);
            abort_by_launcher(launcher, code).is_ok()
        };
        let steps: &[(Option<i32>, Duration)] = match &self.launcher {
            Some(launcher) if is_told(launcher) => &[(None, LAUNCHER), (Some(signal::KILL), GRACE)],
            _ if self.is_whole => &[(Some(libc::SIGTERM), GRACE), (Some(signal::KILL), GRACE)],
            _ => &[(Some(signal::KILL), GRACE)],
        };
        for &(kill, grace) in steps {
            for (_, lifeline) in self.inside() {
                if let Some(kill) = kill {
                    let _ = signal::send(lifeline.pid, kill); // It may end at any moment.
                }
            }
            let began = Instant::now();
            while self.inside().any(|(_, lifeline)| lifeline.ended.is_none()) && began.elapsed() < grace {
                std::thread::sleep(Duration::from_millis(5));
                for state in &mut self.ranks {
                    if let State::Inside(lifeline) = state {
                        let _ = lifeline.handle();
                    }
                }
            }
        }
        code
    }
}
