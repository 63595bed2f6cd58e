//! Signals: of the ranks' ends, and for the ranks.

use std::time::{Duration, Instant};

use isthmus_os::child::{self, Reaped};
use isthmus_os::signal::{self, Arrived};

use super::{Rank, SentSignal, Supervisor};
use crate::failure::{Failure, Result, say};
use crate::process_tree;

/// Two signals closer together are one wish (`timeout` sends to the process and to its group).
const SAME_SIGNAL: Duration = Duration::from_millis(200);

/// What `mpiexec` answers itself.
pub const TAKEN: [i32; 9] = [
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

impl Supervisor<'_> {
    pub(super) fn handle_signals(&mut self) -> Result<()> {
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

    pub(super) fn reap(&mut self) {
        loop {
            match child::reap() {
                Reaped::Child(pid, status) => {
                    // An orphan may carry an id that a rank had.
                    let is_it = |rank: &Rank| rank.pid == pid && rank.ended.is_none();
                    let Some(rank) = self.ranks.iter().position(is_it) else {
                        continue;
                    };
                    self.ranks[rank].ended = Some(status);
                    // It may have come, spoken and gone since we looked.
                    if self.ending.is_none() {
                        self.handle_visitors();
                        self.handle_rank(rank);
                    }
                }
                Reaped::AllRunning => return self.childless = false,
                Reaped::NoChildren => return self.childless = true,
                Reaped::Refused(errno) => return self.give_up("wait for the ranks", "wait4", errno),
            }
        }
    }

    fn pass_on(&mut self, arrived: Arrived) {
        let Arrived { signal, from_kernel } = arrived;
        match signal {
            libc::SIGUSR1 | libc::SIGUSR2 => {
                if signal == libc::SIGUSR1 {
                    self.say_who_waits();
                }
                // Not to wrappers: they would die of it.
                for rank in self
                    .ranks
                    .iter()
                    .filter(|rank| rank.ended.is_none() || rank.lifeline.is_some())
                {
                    let target = rank.lifeline.as_ref().map_or(rank.pid, |lifeline| lifeline.pid);
                    // A request to mpiexec must not end a program that does not handle the signal.
                    if signal == libc::SIGUSR1 && !process_tree::takes(target, signal) {
                        continue;
                    }
                    let _ = signal::send(target, signal); // It may end at any moment.
                }
            }
            libc::SIGCONT => self.tell_all(signal),
            libc::SIGTSTP => {
                // Not SIGTSTP itself: the kernel discards it in a process group that no shell looks after.
                if !from_kernel {
                    self.tell_all(libc::SIGSTOP);
                }
                let _ = signal::send(std::process::id(), libc::SIGSTOP); // Always allowed.
            }
            _ => match &self.told {
                Some(told) if told.at.elapsed() < SAME_SIGNAL => {}
                Some(_) => {
                    say("ending the job");
                    self.say_who_left();
                    self.end(128 + signal as u8);
                }
                None => {
                    // A signal of the terminal has reached the ranks already.
                    if !from_kernel {
                        self.tell_all(signal);
                    }
                    self.told = Some(SentSignal {
                        signal,
                        at: Instant::now(),
                        reminded: false,
                    });
                }
            },
        }
    }
}
