//! Withdrawing a message that is announced.
//!
//! On the same node the sender does that in the descriptor, and is done. It tells the receiver then, which has kept the announcement and would
//! meet it again only when it looks for such a message. To another node:
//! ```text
//! sender                      receiver
//! ReadyToSend          ->     an offer of its own stands for the sender's
//! Withdraw             ->     not taken yet: it is withdrawn and forgotten there
//!                      <-     Finished: the descriptor is the sender's again
//!                      <-     Withdrawn                     (else Finished comes, sooner or later)
//! complete, cancelled
//! ```

use isthmus_shm::Offset;

use crate::channel::outbound::{Answer, Outbound};
use crate::channel::record::{Finished, ReadyToSend};
use crate::engine::Engine;
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
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

    /// Tell the receiver on this node of the announced send `op` that it is withdrawn.
    pub(crate) fn tell_of_withdrawal(&mut self, op: u32, descriptor: u64) {
        let (OpId(send_op), to) = (self.ops.id(op), self.ops[op].to);
        self.answer(
            to,
            Answer::Withdraw(Finished {
                send_op,
                kept: 0,
                descriptor,
            }),
        );
    }

    /// A peer withdraws a message, or has.
    pub(crate) fn on_withdraw(&mut self, peer: u32, record: Finished) {
        if !self.channels.is_remote(peer) {
            return self.forget_withdrawn(peer, record.descriptor);
        }
        let theirs = self.channels.network().and_then(|network| {
            let mut proxies = network.proxies.iter();
            proxies.find(|(_, proxy)| proxy.peer == peer && proxy.theirs == record.descriptor)
        });
        let own = theirs.map(|(own, _)| *own);
        // Otherwise it was taken, and the answer to that is on its way.
        if let Some(own) = own.filter(|own| self.descriptor(*own).is_some_and(|own| own.withdraw())) {
            self.answer(peer, Answer::Withdrawn(record));
            self.forget_withdrawn(peer, own);
        }
    }

    /// The announcement with this descriptor was withdrawn: if it is kept, it is no more, and the sender gets its descriptor back.
    fn forget_withdrawn(&mut self, peer: u32, descriptor: u64) {
        let is_it = |_, key: Key, message: &Unexpected| {
            let same = |record: &ReadyToSend| record.descriptor == descriptor;
            key.from == peer && matches!(message, Unexpected::Announced(record) if same(record))
        };
        for (_, message) in self.remove_all_unexpected(is_it) {
            if let Unexpected::Announced(record) = message {
                // It cannot be: so the sender is told.
                self.take_offer(peer, record);
            }
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
        self.transfers.withdraw(self.ops[op].descriptor.take());
        self.answered(op);
        if self.membership.failures.is_revoked(self.ops[op].context) {
            return self.ops.complete(op, REVOKED);
        }
        self.ops[op].outcome.cancelled = true;
        self.ops.complete_as_is(op);
    }
}
