//! Processes that fail while others go on: what a communicator's calls say of it.
//!
//! The engine ends operations with a dead process, and in revoked message spaces. What it cannot know is who belongs to a
//! communicator: a collective call ends everywhere when a member has failed, though most of its messages are between living
//! processes; a receive from anybody is not sure to be answered any more. Until a failure is known, nothing here costs more
//! than one load.
//!
//! The procedures (`recovery`) are those of the User Level Failure Mitigation proposal (Bland et al., "Post-failure
//! recovery of MPI communication capability", IJHPCA 27(3), 2013), under the names that MPICH and Open MPI give them.

mod recovery;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_engine::{Consensus, Entered, OpId, Outcome, Peer, enter, wait_until, wounds};

use crate::comm::Comm;
use crate::errhandler::Errhandler;
use crate::error::{Error, Result};
use crate::group::Members;
use crate::{environment, fail, request};

pub use recovery::{
    comm_ack_failed, comm_agree, comm_failure_ack, comm_failure_get_acked, comm_get_failed, comm_is_revoked,
    comm_revoke, comm_shrink,
};

/// What a communicator knows of its dead.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The calls end that need all members: one has failed, or the communicator is revoked.
    broken: AtomicBool,
    /// With so many wounds of the process it was looked at last.
    looked: AtomicU32,
    /// Failures of the job, from the first one on, that the user has acknowledged on this communicator.
    acknowledged: AtomicU32,
    /// How its members agree; made at the first agreement.
    consensus: Mutex<Option<Consensus>>,
}

impl Comm {
    /// Fails if a member has failed or the communicator is revoked: then calls that need all its members end. One load
    /// while the job is whole.
    #[inline]
    pub(crate) fn check_whole(&self, inside: &mut Entered) -> Result<()> {
        if wounds() == 0 {
            return Ok(());
        }
        self.look_for_wounds(inside)
    }

    /// The same for one call, whose tag in the message space of collective calls this is: fails, too, if a member has given
    /// it up.
    #[inline]
    pub(crate) fn check_call(&self, inside: &mut Entered, tag: i32) -> Result<()> {
        if wounds() == 0 {
            return Ok(());
        }
        self.look_for_wounds(inside)?;
        match inside.is_given_up(self.collective_context(), tag) {
            true => Err(given_up()),
            false => Ok(()),
        }
    }

    /// The calling process cannot do its part of the call with this tag, and has not told anybody: nobody need wait for it.
    /// Where members have failed, all learn that, and no more is said.
    #[cold]
    pub(crate) fn give_up_call(&self, inside: &mut Entered, tag: i32) {
        if self.check_whole(inside).is_ok() {
            let groups = [
                Some(self.group.members()),
                self.remote_group().map(|group| group.members()),
            ];
            let members = groups.into_iter().flatten().flat_map(Members::iter);
            inside.give_up(self.collective_context(), tag, members);
        }
    }

    /// Has that been found?
    pub(crate) fn is_broken(&self) -> bool {
        self.health().broken.load(Ordering::Relaxed)
    }

    #[cold]
    fn look_for_wounds(&self, inside: &mut Entered) -> Result<()> {
        let health = self.health();
        if !health.broken.load(Ordering::Relaxed) && health.looked.load(Ordering::Relaxed) == wounds() {
            return Ok(());
        }
        health.looked.store(wounds(), Ordering::Relaxed);
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

    /// Whom the communicator's calls concern.
    fn everyone(&self) -> impl Iterator<Item = &Members> {
        let remote = self.remote_group().map(|group| group.members());
        [Some(self.group.members()), remote, self.beyond()]
            .into_iter()
            .flatten()
    }

    /// Members that have failed, in the order of the job's failures from the `since`-th on. Those who have left in peace
    /// have not: nobody waits for them, unless somebody gave up.
    fn failed_members(&self, inside: &mut Entered, since: u32) -> Vec<Peer> {
        let member = |peer: Peer| self.everyone().any(|members| members.rank_of(peer).is_some());
        let gone = (since..inside.failures()).filter_map(|index| inside.failure(index));
        gone.filter(|&(peer, in_peace)| !in_peace && member(peer))
            .map(|(peer, _)| peer)
            .collect()
    }

    /// Somebody for whom a receive from anybody may wait in vain: a member has failed, and the user has not acknowledged
    /// that; or nobody is left who could send.
    #[cold]
    pub(crate) fn unacknowledged(&self, inside: &mut Entered) -> Option<Peer> {
        let since = self.health().acknowledged.load(Ordering::Relaxed);
        let failed = self.failed_members(inside, since).first().copied();
        failed.or_else(|| {
            let senders = self.remote_group().unwrap_or(&self.group).members();
            let alone = senders
                .iter()
                .all(|peer| inside.has_failed(peer) || Some(peer) == environment::me());
            let other = senders.iter().find(|peer| Some(*peer) != environment::me());
            other.filter(|_| alone)
        })
    }

    /// Wait until `ready` answers, or until not all members are there any more. For calls that all members make, and that
    /// wait for what is no message.
    pub(crate) fn wait_until<T: Send>(&self, mut ready: impl FnMut(&mut Entered) -> Option<T> + Send) -> Result<T> {
        wait_until(|inside| match ready(inside) {
            Some(value) => Some(Ok(value)),
            None => self.check_whole(inside).err().map(Err),
        })?
    }

    /// Wait for messages of the library's own in a call that all members make; `each` is told how each ended, by its place.
    /// All are over when this returns. Fails if a member has failed or the communicator is revoked.
    pub(crate) fn settle(
        &self,
        inside: &mut Entered,
        ops: &[Option<OpId>],
        each: impl FnMut(usize, &Outcome) -> Result<()>,
    ) -> Result<()> {
        self.settle_while(inside, ops, |inside| self.check_whole(inside), each)
    }

    /// The same, for messages that are needed as long as `check` is fine; it is asked once something is wrong anywhere.
    pub(crate) fn settle_while(
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
                if is_withdrawn || wounds() == 0 {
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
pub(crate) fn error_of(outcome: &Outcome, what: &str) -> Error {
    if outcome.revoked {
        return revoked();
    }
    fail!(ProcFailed, "{what}")
}

#[cold]
pub(crate) fn given_up() -> Error {
    fail!(
        Other,
        "a rank of the communicator could not do its part of the call (its memory was refused, most likely), and gave it up"
    )
}

#[cold]
pub(crate) fn revoked() -> Error {
    fail!(Revoked, "the communicator is revoked")
}

#[cold]
pub(crate) fn failed(dead: Peer) -> Error {
    fail!(
        ProcFailed,
        "process {} of the job, a member of the communicator, has failed",
        dead.0
    )
}

/// The error of a receive from anybody that may wait for somebody who has failed. It still waits.
#[cold]
pub(crate) fn pending(dead: Peer) -> Error {
    fail!(
        ProcFailedPending,
        "process {} of the job, which might have sent, has failed; the receive goes on once that is acknowledged",
        dead.0
    )
}

/// The error of a call that waits for a message from anybody, and gives up.
#[cold]
pub(crate) fn unanswered(dead: Peer) -> Error {
    fail!(
        ProcFailed,
        "process {} of the job, which might have sent, has failed and that is not acknowledged",
        dead.0
    )
}

/// May the receive `op`, which has not matched, wait for somebody who has failed? Free while the job is whole.
#[inline]
pub(crate) fn disturbs(inside: &mut Entered, op: OpId) -> Option<Peer> {
    if wounds() == 0 {
        return None;
    }
    disturbs_if_wild(inside, op)
}

#[cold]
fn disturbs_if_wild(inside: &mut Entered, op: OpId) -> Option<Peer> {
    let context = inside.awaits_anybody(op)?;
    request::comm_of(inside, context)?.unacknowledged(inside)
}

/// Wait for the receive `op` from anybody. Gives up, and withdraws it, if a member has failed that the user does not know of.
pub(crate) fn await_anybody(inside: &mut Entered, op: OpId) -> Result<Outcome> {
    let mut dead = None;
    let outcome = inside.wait(|inside| {
        if let Some(outcome) = inside.take(op) {
            return Some(outcome);
        }
        dead = disturbs(inside, op);
        dead.is_some_and(|_| inside.cancel(op))
            .then(|| inside.take(op))
            .flatten()
    })?;
    match dead {
        Some(dead) if outcome.cancelled => Err(unanswered(dead)),
        _ => Ok(outcome),
    }
}

/// An error handler that returns has been given to something: this process wants to go on when others fail.
pub(crate) fn attach(errhandler: &Errhandler) {
    if errhandler.returns() && isthmus_engine::state() == isthmus_engine::State::Inside {
        enter().endure();
    }
}

/// The way out of a job in which somebody has failed: nobody waits for the others, since who leaves counts as gone.
pub(crate) fn forgive(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.is_failure() => Ok(()),
        other => other,
    }
}

impl Health {
    fn consensus(&self) -> std::sync::MutexGuard<'_, Option<Consensus>> {
        self.consensus.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
