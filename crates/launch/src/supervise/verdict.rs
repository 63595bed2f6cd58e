//! What the end of a rank means for the job, and ending the job.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use isthmus_os::signal;

use super::{GRACE, LEARN, Supervisor};
use crate::failure::{say, say_as_it_is};
use crate::lifeline::{Abort, Lifeline};
use crate::process_tree;
use crate::report::{self, Stage};

/// The text for a rank whose connection has ended when the end of its process is unknown.
pub(super) const SILENT: &str = "ended, or closed its connection to mpiexec, without calling MPI_Finalize";

impl Supervisor<'_> {
    /// Judge a rank by what is known of it.
    pub(super) fn consider(&mut self, index: usize) {
        let Some(rank) = self.ranks.get_mut(index).filter(|_| self.ending.is_none()) else {
            return;
        };
        if rank.lost && rank.lifeline.is_none() {
            return;
        }
        if rank.aborted {
            return self.part_from_aborted(index);
        }
        if let Some(lifeline) = &mut rank.lifeline {
            let is_ours = lifeline.pid == rank.pid;
            if is_ours && rank.ended.is_some() {
                lifeline.ended.get_or_insert_with(Instant::now);
            }
            match lifeline.ended {
                Some(_) if lifeline.finalized => {
                    rank.lifeline = None;
                    rank.left += 1;
                    self.part_from(index);
                }
                Some(since) => {
                    if !self.let_others_go_on(index) {
                        return;
                    }
                    let Some((rank, lifeline)) = self.of(index) else { return };
                    let is_ours = lifeline.pid == rank.pid;
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
        let rank = &self.ranks[index];
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

    pub(super) fn fail(&mut self, rank: usize, pid: u32, status: ExitStatus, stage: Stage) {
        let how = report::describe(status, stage);
        let wanted = self
            .told
            .as_ref()
            .is_some_and(|told| status.signal() == Some(told.signal));
        if wanted {
            // A signal to mpiexec is for the whole job; the error handlers of the others do not matter.
            say(&format!("{} {how}; ending the job", self.name(rank, pid)));
            return self.end(report::exit_code(status));
        }
        self.conclude(rank, pid, &how, report::exit_code(status));
    }

    /// A rank has failed: say how, and end the job, unless the others go on.
    fn conclude(&mut self, rank: usize, pid: u32, how: &str, code: u8) {
        let name = self.name(rank, pid);
        if self.ranks[rank].lost {
            say(&format!(
                "{name} {how}; the others go on, since their error handlers return"
            ));
            self.verdict.get_or_insert(code);
            self.ranks[rank].lifeline = None;
        } else if self.job.never_end_others {
            say(&format!(
                "{name} {how}; the others go on, as -disable-auto-cleanup says"
            ));
            self.verdict.get_or_insert(code);
            self.ranks[rank].lost = true;
            self.ranks[rank].lifeline = None;
        } else {
            self.ranks[rank].judged = Some(false);
            say(&format!("{name} {how}; ending the job"));
            self.end(code);
        }
    }

    /// The connection has ended and nobody can say how the process did.
    pub(super) fn fail_silently(&mut self, rank: usize, pid: u32) {
        self.conclude(rank, pid, SILENT, 1);
    }

    pub(super) fn abort(&mut self, rank: usize, abort: &Abort) {
        // An abort may be the echo of a death that we are still asking about.
        let dead = self.ranks.iter().position(|rank| {
            let ended = |lifeline: &Lifeline| lifeline.ended.is_some() && !lifeline.finalized;
            !rank.aborted && rank.lifeline.as_ref().is_some_and(ended)
        });
        if let Some(dead) = dead {
            self.refused = !self.others_endure(dead);
            self.consider(dead);
            if !self.ranks[dead].lost && self.refused {
                return;
            }
        }
        if self.ending.is_some() || self.refuses() {
            return;
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
        let code = isthmus_engine::control::exit_code(abort.code);
        match self.end_members(&abort.members, code) {
            true => {}
            false => self.end(code),
        }
    }

    /// A job hangs where somebody waits for a rank that has left, and nothing else says so.
    pub(super) fn say_who_left(&self) {
        let of = |left: bool| {
            let all = self.ranks.iter().enumerate();
            let chosen = all.filter(|(_, rank)| (rank.ended.is_some() && rank.lifeline.is_none()) == left);
            report::list(chosen.map(|(rank, _)| self.here.start as usize + rank))
        };
        if let (Some(left), Some(there)) = (of(true), of(false)) {
            say(&format!(
                "{left} had ended before; {there} had not, and may have waited for them"
            ));
        }
    }

    pub(super) fn name(&self, rank: usize, pid: u32) -> String {
        let program = self.job.commands[self.ranks[rank].command].program.display();
        format!(
            "rank {} (pid {pid}, {program}){}",
            self.here.start as usize + rank,
            self.on_host()
        )
    }

    /// From here on every process of the job is being ended.
    pub(super) fn end(&mut self, code: u8) {
        self.verdict.get_or_insert(code);
        if self.ending.is_none() {
            self.say_unjudged();
            self.say_ending(code);
            self.end_here();
        }
    }

    /// All processes of this node are being ended. Other nodes hear nothing: their ranks may still be at work.
    pub(super) fn end_here(&mut self) {
        self.ending = Some(Instant::now() + GRACE);
        self.tell_all(libc::SIGTERM);
        // A stopped process does not hear SIGTERM.
        self.tell_all(libc::SIGCONT);
        self.reap();
    }

    pub(super) fn tell_all(&self, signal: i32) {
        let mut all = process_tree::descendants(&self.foreign);
        if all.is_empty() {
            // There is no /proc: those that we know.
            let living = self
                .ranks
                .iter()
                .filter(|rank| rank.ended.is_none())
                .map(|rank| rank.pid);
            let joined = self.ranks.iter().filter_map(|rank| rank.lifeline.as_ref());
            all.extend(
                living.chain(
                    joined
                        .filter(|lifeline| !lifeline.is_gone())
                        .map(|lifeline| lifeline.pid),
                ),
            );
        }
        for pid in all {
            let _ = signal::send(pid, signal); // It may end at any moment.
        }
    }

    /// What a job needs is refused to us: say so, and kill everybody without waiting for how they end.
    pub(super) fn give_up(&mut self, what: &str, call: &str, errno: i32) {
        if self.childless {
            return;
        }
        let why = std::io::Error::from_raw_os_error(errno);
        say(&format!(
            "cannot {what}: {call}: {why} (a seccomp filter?); ending the job"
        ));
        self.verdict = Some(1);
        self.ending = Some(Instant::now());
        self.tell_all(libc::SIGKILL);
        self.childless = true;
    }
}
