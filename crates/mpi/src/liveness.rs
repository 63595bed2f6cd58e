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

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_collective::failure;
use isthmus_engine::{Consensus, ContextId, Entered, Peer, enter, fault_events};

use crate::comm::Comm;
use crate::errhandler::Errhandler;
use crate::error::{Error, Result};
use crate::{fail, process};

pub(crate) use failure::{failed, revoked};
pub use recovery::{
    comm_ack_failed, comm_agree, comm_failure_ack, comm_failure_get_acked, comm_get_failed, comm_is_revoked,
    comm_revoke, comm_shrink,
};

/// What the user of a communicator knows of its dead, and does about them.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Failures of the job, from the first one on, that the user has acknowledged on this communicator.
    acknowledged: AtomicU32,
    /// How its members agree; made at the first agreement.
    consensus: Mutex<Option<Consensus>>,
}

impl Comm {
    /// A failed member for which a receive from any source may wait: the user has not acknowledged
    /// the failure; or no possible sender is left.
    #[cold]
    pub(crate) fn unacknowledged(&self, inside: &mut Entered) -> Option<Peer> {
        let since = self.health().acknowledged.load(Ordering::Relaxed);
        let failed = self.failed_members(inside, since).first().copied();
        failed.or_else(|| {
            let senders = self.remote_group().unwrap_or(&self.group).members();
            let alone = senders
                .iter()
                .all(|peer| inside.has_failed(peer) || Some(peer) == process::me());
            let other = senders.iter().find(|peer| Some(*peer) != process::me());
            other.filter(|_| alone)
        })
    }
}

impl Comm {
    /// The communicator is freed: its members agree on nothing more.
    pub(crate) fn leave_agreements(&self, inside: &mut Entered) {
        if let Some(consensus) = self.health().consensus().take() {
            consensus.leave(inside);
        }
    }
}

/// The error of a receive from any source that may wait for a failed rank. It still waits.
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

/// The error of an operation of this message space that would move nothing, as with `MPI_PROC_NULL`: it fails where the space is revoked.
#[cold]
pub(crate) fn check_revoked(inside: &mut Entered, context: ContextId) -> Result<()> {
    match fault_events() > 0 && inside.is_revoked(context) {
        true => Err(revoked()),
        false => Ok(()),
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
