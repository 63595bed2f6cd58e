//! The report of waits: of ranks by their slots, of the others by the kernel.

use std::time::{Duration, Instant};

use isthmus_engine::job::{Awaits, Cause};
use isthmus_os::{clock, cpu, stdio};

use super::Supervisor;
use crate::failure::say;
use crate::head::hangs;
use crate::wire::{ToHead, Wait};

/// No more ranks are told of one by one.
const MOST_LINES: usize = 64;

/// How often a node looks again whose ranks do nothing but wait, where there are others.
const RECONSIDER: Duration = Duration::from_secs(1);

/// No look follows another one sooner.
const SOONEST: Duration = Duration::from_millis(100);

/// Where the job's output has lost its reader (`mpiexec ... | head`) a hang is looked for so often, and the job is ended if there is one: a rank whose
/// `print` has failed may have raised an exception, and the others wait for it (docs/decisions/0241).
const UNREAD: Duration = Duration::from_secs(3);

/// CPU time that the ranks of such a job take together from one look to the next, in ticks of 10 ms: those that only wait sleep. With more some thread
/// computes beside the one that waits.
const IDLE_TICKS: u64 = 30;

/// When to look for the first time.
pub(super) fn first_look(limit: Duration) -> Instant {
    Instant::now()
        + match stdio::output_can_lose_its_reader() {
            true => limit.min(UNREAD),
            false => limit,
        }
}

/// The state of a rank that has not ended.
enum Doing {
    Waits(Awaits),
    /// By SIGSTOP, or by a debugger.
    Stopped,
    /// Computing, or waiting for something that is not MPI's.
    Other,
}

impl Supervisor<'_> {
    /// One line for each rank that has not ended.
    pub(super) fn say_who_waits(&self) {
        let mut left = MOST_LINES;
        for index in 0..self.ranks.len() {
            let Some((pid, doing)) = self.doing(index) else {
                continue;
            };
            if left == 0 {
                say(&format!("... and more: {MOST_LINES} ranks are told of at most"));
                return;
            }
            left -= 1;
            say(&format!(
                "{} {}{}",
                self.name(index, pid),
                describe(&doing),
                off_cpu(pid)
            ));
        }
    }

    /// Everybody has waited for long: then it is said, once.
    pub(super) fn look_for_hang(&mut self) {
        let Some(limit) = self.job.report_hang else {
            self.next_look = None;
            return;
        };
        let can_be_unread = self.uplink.is_none() && stdio::output_can_lose_its_reader();
        let now = clock::now();
        // The one who has waited least.
        let mut least = Duration::MAX;
        let (mut waiting, mut stopped, mut others) = (0, 0, 0);
        for index in 0..self.ranks.len() {
            match self.doing(index) {
                // It may compute in between.
                Some((_, Doing::Waits(awaits))) if awaits.tests => others += 1,
                Some((_, Doing::Waits(awaits))) => {
                    least = least.min(now.saturating_sub(Duration::from_millis(awaits.since)));
                    waiting += 1;
                }
                Some((_, Doing::Other)) => others += 1,
                Some((_, Doing::Stopped)) => stopped += 1,
                None => {}
            }
        }
        // A rank that is stopped, by a debugger for instance, may go on.
        let is_unread = can_be_unread && stopped == 0 && stdio::output_has_no_reader();
        let limit = if is_unread { limit.min(UNREAD) } else { limit };
        // Until all may have waited for so long.
        let rest = if waiting > 0 && others == 0 {
            limit.saturating_sub(least)
        } else {
            limit
        };
        if self.uplink.is_some() {
            let wait = (others == 0 && waiting + stopped > 0 && least >= limit).then(|| Wait {
                seconds: (waiting > 0).then_some(least.as_secs() as u32),
                stopped: stopped > 0,
            });
            self.tell_of_wait(wait);
            self.next_look = Some(Instant::now() + if wait.is_some() { RECONSIDER } else { rest.max(SOONEST) });
            return;
        }
        let all_wait = waiting > 0 && others == 0 && least >= limit;
        if all_wait && (!is_unread || self.are_idle()) {
            say(&hangs::sentence(least.as_secs_f64(), stopped > 0));
            self.say_who_left();
            self.say_who_waits();
            self.next_look = None;
            if is_unread {
                say("standard output has no reader any more; ending the job");
                self.end(128 + libc::SIGPIPE as u8);
            }
            return;
        }
        let rest = match can_be_unread {
            // It computes beside the threads that wait, or this is the first look.
            _ if all_wait => UNREAD,
            true => rest.min(UNREAD),
            false => rest,
        };
        self.next_look = Some(Instant::now() + rest.max(SOONEST));
    }

    /// Have the ranks done next to nothing since this was asked last?
    fn are_idle(&mut self) -> bool {
        let pids = (0..self.ranks.len()).filter_map(|index| Some(self.doing(index)?.0));
        let ticks: u64 = pids.map(ticks).sum();
        let before = self.ticks_at_look.replace(ticks);
        before.is_some_and(|before| ticks.saturating_sub(before) <= IDLE_TICKS)
    }

    /// The ranks of this node do nothing but wait, or do so no more. Whether all do is for `mpiexec` to find.
    fn tell_of_wait(&mut self, wait: Option<Wait>) {
        if wait.is_some() != self.told_of_wait {
            self.told_of_wait = wait.is_some();
            let node = self.nodes.as_ref().map_or(0, |nodes| nodes.own.into());
            self.tell_up(&ToHead::Waiting { node, wait });
        }
    }

    /// What a rank that has not ended does, and its process.
    fn doing(&self, index: usize) -> Option<(u32, Doing)> {
        let rank = &self.ranks[index];
        if rank.lost || rank.ended.is_some() && rank.lifeline.is_none() {
            return None;
        }
        let pid = rank.lifeline.as_ref().map_or(rank.pid, |lifeline| lifeline.pid);
        if is_stopped(pid) {
            return Some((pid, Doing::Stopped));
        }
        let is_inside = rank.lifeline.as_ref().is_some_and(|lifeline| !lifeline.finalized);
        let awaits = is_inside.then(|| {
            self.turns
                .get(rank.left)?
                .overview
                .awaited(self.here.start + index as u32)
        });
        Some((pid, awaits.flatten().map_or(Doing::Other, Doing::Waits)))
    }
}

/// Whether other processes, or other ranks, have had its CPU for much of the time.
fn off_cpu(pid: u32) -> String {
    const MUCH: f64 = 0.1;
    let Some((ran, waited)) = cpu::ran_and_waited(pid) else {
        return String::new();
    };
    let share = waited.as_secs_f64() / (ran + waited).as_secs_f64().max(f64::MIN_POSITIVE);
    match share >= MUCH {
        true => format!(
            "; off its CPU for {:.0} % of the time that it wanted one",
            share * 100.0
        ),
        false => String::new(),
    }
}

fn describe(doing: &Doing) -> String {
    match doing {
        Doing::Stopped => "is stopped; SIGCONT lets it go on".to_owned(),
        Doing::Other => {
            "does not wait in MPI: it computes, or waits for something else (gdb -p, or perf top -p, tells)".to_owned()
        }
        Doing::Waits(awaits) => {
            let call = match awaits.call.as_str() {
                "" => String::new(),
                name => format!(" in {name}"),
            };
            let now = clock::now();
            let seconds = now.saturating_sub(Duration::from_millis(awaits.since)).as_secs_f64();
            let cause = describe_cause(awaits.cause);
            match awaits.tests {
                false => format!("has waited{call} for {seconds:.1} s{cause}"),
                true => format!("has tested{call} without success for {seconds:.1} s{cause}"),
            }
        }
    }
}

fn describe_cause(cause: Cause) -> String {
    match cause {
        Cause::Unknown => String::new(),
        Cause::Receives(peer, tag, context) => {
            let peer = peer.map_or("any rank".to_owned(), |peer| format!("rank {peer}"));
            format!(": {} from {peer} on {}", message(tag, context), space(context))
        }
        Cause::Sends(peer, tag, context) => {
            format!(
                ": rank {peer} to receive {} on {}",
                message(tag, context),
                space(context)
            )
        }
        Cause::Collective(None, context) => {
            format!(": others to do their part of the collective on {}", space(context))
        }
        Cause::Collective(Some(peer), context) => {
            format!(": rank {peer} to do its part of the collective on {}", space(context))
        }
        Cause::Comes(peer) => format!(": rank {peer} to come to the call that goes with it"),
        Cause::Lock(target, None) => format!(": the lock of rank {target}"),
        Cause::Lock(target, Some(holder)) => format!(": the lock of rank {target}, which rank {holder} has"),
        Cause::Value => ": a value in its memory that another rank writes".to_owned(),
        Cause::Answers(peer) => format!(": rank {peer} to answer one-sided operations"),
    }
}

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF` have the first numbers, each one for messages and one for collectives.
fn space(context: u32) -> String {
    match context / 2 {
        0 => "MPI_COMM_WORLD".to_owned(),
        1 => "MPI_COMM_SELF".to_owned(),
        number => format!("communicator {number}"),
    }
}

fn message(tag: Option<i32>, context: u32) -> String {
    match (context % 2, tag) {
        (1, _) => "its part of the collective".to_owned(),
        (_, Some(tag)) => format!("a message with tag {tag}"),
        (_, None) => "a message with any tag".to_owned(),
    }
}

/// `pid (name) state ...`; the name may hold anything. The field of this number, of which the state is 0.
fn field(pid: u32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit(") ").next()?.split(' ').nth(number)?.to_owned())
}

fn is_stopped(pid: u32) -> bool {
    matches!(field(pid, 0).as_deref(), Some("T" | "t"))
}

/// CPU time of all its threads, of the program's and of the kernel's.
fn ticks(pid: u32) -> u64 {
    let of = |number| field(pid, number).and_then(|text| text.parse::<u64>().ok());
    of(11).unwrap_or(0) + of(12).unwrap_or(0)
}
