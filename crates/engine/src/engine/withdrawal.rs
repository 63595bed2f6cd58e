//! Withdrawing a message that is announced to another node.
//!
//! ```text
//! sender                      receiver
//! ReadyToSend          ->     an offer of its own stands for the sender's
//! Withdraw             ->     not taken yet: it is withdrawn there
//!                      <-     Withdrawn                     (else Finished comes, sooner or later)
//! complete, cancelled
//! ```

use isthmus_shm::Offset;

use crate::channel::outbound::{Answer, Outbound};
use crate::channel::record::Finished;
use crate::engine::Engine;
use crate::membership::failures::REVOKED;
use crate::types::OpId;

impl Engine {
    /// Ask the receiver of the announced send `op` to leave it, unless nobody has heard of it. True: nobody had; else it completes later, as
    /// cancelled or not.
    pub(crate) fn withdraw_remote(&mut self, op: u32) -> bool {
        let (OpId(send_op), to) = (self.ops.id(op), self.ops[op].to);
        let Some(Offset(descriptor)) = self.ops[op].descriptor else {
            return false;
        };
        let is_queued = |outbound: &mut Outbound| outbound.withdraw_announcement(send_op);
        if self.channels.outbound_mut(to).is_some_and(is_queued) {
            self.answered(op);
            self.reclaim(op, descriptor);
            return true;
        }
        self.answer(
            to,
            Answer::Withdraw(Finished {
                send_op,
                kept: 0,
                descriptor,
            }),
        );
        false
    }

    /// A peer on another node withdraws a message.
    pub(crate) fn on_withdraw(&mut self, peer: u32, record: Finished) {
        let theirs = self.channels.network().and_then(|network| {
            let mut proxies = network.proxies.iter();
            proxies.find(|(_, proxy)| proxy.peer == peer && proxy.theirs == record.descriptor)
        });
        let own = theirs.map(|(own, _)| *own);
        // Otherwise it was taken, and the answer to that is on its way.
        if own.is_some_and(|own| self.descriptor(own).is_some_and(|own| own.withdraw())) {
            self.answer(peer, Answer::Withdrawn(record));
        }
    }

    /// The message that we wanted back was not taken.
    pub(crate) fn on_withdrawn(&mut self, peer: u32, record: Finished) {
        let ours = |op: &u32| self.ops[*op].descriptor.is_some_and(|own| own.0 == record.descriptor);
        let Some(op) = self.offered_to(peer, record.send_op).filter(ours) else {
            return;
        };
        self.end_exposure(record.descriptor);
        // The descriptor comes back with the receiver's `Finished`.
        self.transfers.withdrawn.extend(self.ops[op].descriptor.take());
        self.answered(op);
        if self.membership.failures.is_revoked(self.ops[op].context) {
            return self.ops.complete(op, REVOKED);
        }
        self.ops[op].outcome.cancelled = true;
        self.ops.complete_as_is(op);
    }
}
