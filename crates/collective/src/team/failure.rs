//! Members that fail while others go on: what a team's calls say of it.
//!
//! The engine ends operations with a dead process, and in revoked message spaces. What it cannot know is who belongs to a
//! team: a collective call ends everywhere when a member has failed, though most of its messages are between living processes.
//! Until a failure is known, nothing here costs more than one load.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use isthmus_engine::{Entered, OpId, Outcome, Peer, fault_events, wait_until};
use isthmus_os::switches::Switch;

use crate::error::{Error, Result};
use crate::fail;
use crate::members::Members;
use crate::team::Team;

/// What a team knows of its dead.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The calls end that need all members: one has failed, or the team is revoked.
    broken: AtomicBool,
    /// How many fault events there were when it was looked at last.
    looked: AtomicU32,
}

impl Team {
    /// Fails if a member has failed or the communicator is revoked: then calls that need all its members end. One load
    /// while the job is whole.
    #[inline]
    pub fn check_whole(&self, inside: &mut Entered) -> Result<()> {
        if !Switch::Faults.is_on() {
            return Ok(());
        }
        self.look_for_failures(inside)
    }

    /// The same for one call, whose tag in the message space of collective calls this is: fails, too, if a member has given
    /// it up.
    #[inline]
    pub fn check_call(&self, inside: &mut Entered, tag: i32) -> Result<()> {
        if !Switch::Faults.is_on() {
            return Ok(());
        }
        self.look_for_failures(inside)?;
        match inside.has_call_failed(self.collective_context(), tag) {
            true => Err(given_up()),
            false => Ok(()),
        }
    }

    /// The calling process cannot do its part of the call with this tag, and has not told anybody: nobody need wait for it.
    /// Where members have failed, all learn that, and no more is said.
    #[cold]
    pub fn fail_call(&self, inside: &mut Entered, tag: i32) {
        if self.check_whole(inside).is_ok() {
            let groups = [Some(self.members()), self.remote_members()];
            let members = groups.into_iter().flatten().flat_map(Members::iter);
            inside.fail_call(self.collective_context(), tag, members);
        }
    }

    /// Has that been found?
    pub fn is_broken(&self) -> bool {
        self.health().broken.load(Ordering::Relaxed)
    }

    #[cold]
    fn look_for_failures(&self, inside: &mut Entered) -> Result<()> {
        let health = self.health();
        if !health.broken.load(Ordering::Relaxed) && health.looked.load(Ordering::Relaxed) == fault_events() {
            return Ok(());
        }
        health.looked.store(fault_events(), Ordering::Relaxed);
        let found = if inside.is_revoked(self.context()) {
            Err(revoked())
        } else {
            match self.failed_members(inside, 0).first() {
                None => Ok(()),
                Some(dead) => Err(failed(*dead)),
            }
        };
        health.broken.store(found.is_err(), Ordering::Relaxed);
        found
    }

    /// Members that have failed, in the order of the job's failures from the `since`-th on. Those who have left in peace
    /// have not: nobody waits for them, unless somebody gave up.
    pub fn failed_members(&self, inside: &mut Entered, since: u32) -> Vec<Peer> {
        let member = |peer: Peer| self.everyone().any(|members| members.rank_of(peer).is_some());
        let gone = (since..inside.failures()).filter_map(|index| inside.failure(index));
        gone.filter(|&(peer, in_peace)| !in_peace && member(peer))
            .map(|(peer, _)| peer)
            .collect()
    }

    /// Wait until `ready` answers, or until not all members are there any more. For calls that all members make, and that
    /// wait for what is no message.
    pub fn wait_until<T: Send>(&self, mut ready: impl FnMut(&mut Entered) -> Option<T> + Send) -> Result<T> {
        wait_until(|inside| match ready(inside) {
            Some(value) => Some(Ok(value)),
            None => {
                inside.waits_in_collective(self.context());
                self.check_whole(inside).err().map(Err)
            }
        })?
    }

    /// Wait for messages of the library's own in a call that all members make; `each` is told how each ended, by its place.
    /// All are over when this returns. Fails if a member has failed or the communicator is revoked.
    pub fn settle(
        &self,
        inside: &mut Entered,
        ops: &[Option<OpId>],
        each: impl FnMut(usize, &Outcome) -> Result<()>,
    ) -> Result<()> {
        self.settle_while(inside, ops, |inside| self.check_whole(inside), each)
    }

    /// The same, for messages that are needed as long as `check` is fine; it is asked once something is wrong anywhere.
    pub fn settle_while(
        &self,
        inside: &mut Entered,
        ops: &[Option<OpId>],
        check: impl Fn(&mut Entered) -> Result<()> + Sync,
        mut each: impl FnMut(usize, &Outcome) -> Result<()>,
    ) -> Result<()> {
        let mut result = Ok(());
        let mut is_withdrawn = false;
        for (at, op) in ops.iter().enumerate() {
            let Some(op) = *op else { continue };
            let outcome = inside.wait(|inside| {
                if let Some(outcome) = inside.take(op) {
                    return Some(outcome);
                }
                if is_withdrawn || !Switch::Faults.is_on() {
                    return None;
                }
                if result.is_ok() {
                    result = check(inside);
                }
                // One of them may have said so already. Others may not come to theirs.
                is_withdrawn = result.is_err();
                if is_withdrawn {
                    for op in ops[at..].iter().flatten() {
                        inside.cancel(*op);
                    }
                }
                inside.take(op)
            })?;
            let ended = each(at, &outcome);
            result = result.and(ended);
        }
        result
    }
}

/// The error of an operation that ended because of others.
#[cold]
pub fn error_of(outcome: &Outcome, what: &str) -> Error {
    if outcome.revoked {
        return revoked();
    }
    fail!(ProcFailed, "{what}")
}

/// The error of a call that a member gave up.
#[cold]
pub fn given_up() -> Error {
    fail!(
        Other,
        "a rank of the communicator could not do its part of the call (its memory was refused, most likely), and gave it up"
    )
}

/// The error of calls on a team that is revoked.
#[cold]
pub fn revoked() -> Error {
    fail!(Revoked, "the communicator is revoked")
}

/// The error of calls on a team a member of which has failed.
#[cold]
pub fn failed(dead: Peer) -> Error {
    fail!(
        ProcFailed,
        "process {} of the job, a member of the communicator, has failed",
        dead.0
    )
}
