//! Rendezvous: the receiver fetches an announced message by a single copy, or asks for it through the ring.
//!
//! ```text
//! sender                      receiver
//! offer, ReadyToSend   ->     matched: take the offer
//!                             pull by process_vm_readv
//!                      <-     Finished                      (all of it is there)
//!                      <-     ClearToSend {offset}          (no permission, or it failed from `offset` on)
//! Data ...             ->     complete
//! ```

use std::time::Duration;

use isthmus_os::{Error as OsError, clock};
use isthmus_shm::Offset;
use isthmus_transfer::cma::{Cma, Refusal};
use isthmus_transfer::copy::Copying;
use isthmus_transfer::{Layout, Transfer};

use crate::counters;
use crate::engine::{Early, Engine, Reach};
use crate::matching::Key;
use crate::ops::Stage;
use crate::outbound::{Answer, Queued};
use crate::record::{ClearToSend, Finished, ReadyToSend};
use crate::select::{self, Lessons, Way};
use crate::tunables;
use crate::types::{ContextId, OpId};

/// Bytes of a single copy between two looks at everything else.
const SLICE: u64 = 4 << 20;

/// A single copy that is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pull {
    cma: &'static Cma,
    op: u32,
    peer: u32,
    record: ReadyToSend,
    done: u64,
    expected: u64,
}

impl Pull {
    /// From whom.
    pub fn peer(&self) -> u32 {
        self.peer
    }
}

impl Engine {
    /// A peer offers a message.
    pub(crate) fn on_ready_to_send(&mut self, peer: u32, context: ContextId, record: ReadyToSend) {
        let key = Key {
            context,
            from: peer,
            tag: record.envelope.tag,
        };
        // The offer is taken only for a receive that is there: a withdrawn message must not consume one.
        let Some(op) = self.posted.find(&self.ops, key) else {
            self.keep(key, Early::Announced(record));
            return;
        };
        if self.take_offer(peer, record) {
            self.posted.remove(&mut self.ops, op);
            self.fetch(op, peer, key.tag, record);
        }
    }

    /// Take an offer. False: it was withdrawn, and its sender knows that we know.
    pub(crate) fn take_offer(&mut self, peer: u32, record: ReadyToSend) -> bool {
        let taken = self
            .descriptor(record.descriptor)
            .is_some_and(|descriptor| descriptor.take());
        if !taken {
            self.finish(peer, record);
        }
        taken
    }

    /// Get the bytes of a taken offer moving into the receive `op`.
    pub(crate) fn fetch(&mut self, op: u32, peer: u32, tag: i32, record: ReadyToSend) {
        let expected = self.ops.matched(op, record.envelope.source, tag, record.total);
        self.ops[op].to = peer;
        self.ops[op].began = clock::now();
        if expected == 0 {
            self.fetched(op, peer, record, 0);
        } else if let Some(cma) = self.way(op, peer, expected) {
            self.pulls.push(Pull {
                cma,
                op,
                peer,
                record,
                done: 0,
                expected,
            });
            self.pull_on();
        } else {
            self.fetched(op, peer, record, 0);
        }
    }

    /// A slice of every single copy that is under way: nothing else moves meanwhile. True: there was one.
    pub(crate) fn pull_on(&mut self) -> bool {
        let any = !self.pulls.is_empty();
        let mut at = 0;
        while at < self.pulls.len() {
            let Pull {
                cma,
                op,
                peer,
                record,
                done,
                expected,
            } = self.pulls[at];
            let length = (expected - done).min(SLICE);
            let from = Layout::contiguous(record.address, expected);
            let to = Layout::local(self.ops[op].buffer, expected);
            // SAFETY: the receive's pending buffer has room for `expected` bytes.
            let pulled = unsafe { cma.pull(&from, &to, done..done + length) };
            let got = pulled.map_or_else(|stopped| stopped.done, |()| length);
            counters::CMA_BYTES.add(got);
            self.pulls[at].done = done + got;
            if let Err(stopped) = pulled {
                self.reach[peer as usize] = Reach::No;
                report(peer, &Refusal::Os(stopped.error));
            } else if done + got < expected {
                at += 1;
                continue;
            } else {
                let took = (clock::now() - self.ops[op].began).as_nanos() as u64;
                self.learned(peer)
                    .announced
                    .learn(Way::SingleCopy, expected, expected, took);
            }
            self.pulls.swap_remove(at);
            self.fetched(op, peer, record, done + got);
        }
        any
    }

    /// The first `done` bytes of the message are here, and no more will be pulled: it is complete, or the rest is asked
    /// for through the ring.
    fn fetched(&mut self, op: u32, peer: u32, record: ReadyToSend, done: u64) {
        let Stage::Receiving { expected, .. } = self.ops[op].stage else {
            return;
        };
        if done == expected {
            self.finish(peer, record);
            self.ops.complete_as_is(op);
            return;
        }
        self.ops[op].stage = Stage::Receiving {
            received: done,
            expected,
        };
        self.ops[op].wire = expected;
        let answer = ClearToSend {
            send_op: record.send_op,
            receive_op: self.ops.id(op).0,
            offset: done,
            limit: expected,
            descriptor: record.descriptor,
            copying: self.ops[op].copying as u64,
        };
        self.answer(peer, Answer::ClearToSend(answer));
    }

    /// By what the message is to be pulled; `None`: let it come through the ring.
    fn way(&mut self, op: u32, peer: u32, length: u64) -> Option<&'static Cma> {
        let reach = self.reach(peer);
        let single = matches!(reach, Reach::Yes(_)).then_some(Way::SingleCopy);
        let open = single.into_iter().chain(select::ring_ways());
        match (self.learned(peer).announced.choose(length, open), reach) {
            (Way::SingleCopy, Reach::Yes(cma)) => Some(cma),
            (Way::Ring(copying), _) => {
                self.ops[op].copying = copying;
                None
            }
            _ => None,
        }
    }

    pub(crate) fn learned(&mut self, peer: u32) -> &mut Lessons {
        self.learned[peer as usize].get_or_insert_default()
    }

    /// The announced message that the receive `op` took, of `length` bytes, has streamed in whole.
    pub(crate) fn learn_from_stream(&mut self, peer: u32, began: Duration, copying: Copying, length: u64) {
        let took = (clock::now() - began).as_nanos() as u64;
        self.learned(peer)
            .announced
            .learn(Way::Ring(copying), length, length, took);
    }

    /// May the peer's memory be read? Tried once per peer, for real.
    fn reach(&mut self, peer: u32) -> Reach {
        if matches!(self.reach[peer as usize], Reach::Unknown) {
            self.reach[peer as usize] = self.probe_reach(peer);
        }
        self.reach[peer as usize]
    }

    #[cold]
    fn probe_reach(&self, peer: u32) -> Reach {
        if tunables::CMA.get() == 0 {
            return Reach::No;
        }
        let Some(identity) = self.segment.slot(peer).identity() else {
            return Reach::No;
        };
        match Cma::probe(identity.pid, identity.nonce, identity.nonce_address) {
            // As long as the engine: until the process exits.
            Ok(cma) => Reach::Yes(Box::leak(Box::new(cma))),
            Err(refusal) => {
                report(peer, &refusal);
                Reach::No
            }
        }
    }

    fn finish(&mut self, peer: u32, record: ReadyToSend) {
        self.answer(
            peer,
            Answer::Finished(Finished {
                send_op: record.send_op,
                zero: 0,
                descriptor: record.descriptor,
            }),
        );
    }

    fn answer(&mut self, peer: u32, answer: Answer) {
        match self.outbound(peer) {
            Ok(outbound) => {
                outbound.answer(answer);
                self.kick(peer);
            }
            // Without a channel back the sender would wait for ever; its launcher must know.
            Err(error) => crate::abort(
                1,
                &format!("isthmus: rank {}: cannot answer rank {peer}: {error}", self.me),
            ),
        }
    }

    /// The receiver wants the bytes through the ring.
    pub(crate) fn on_clear_to_send(&mut self, peer: u32, record: ClearToSend) {
        let Some(op) = self.offered_to(peer, record.send_op) else {
            return;
        };
        self.reclaim(op, record.descriptor);
        let (buffer, length) = (self.ops[op].buffer, self.ops[op].length);
        let end = (record.limit as usize).min(length);
        let next = (record.offset as usize).min(end);
        self.ops[op].stage = Stage::Queued;
        self.lease_for(peer, end - next);
        let stream = Queued::Stream {
            op,
            receive_op: record.receive_op,
            copying: Copying::of(record.copying as u32),
            buffer,
            next,
            end,
        };
        self.out[peer as usize]
            .as_mut()
            .expect("it was announced through it")
            .push(stream);
        self.kick(peer);
    }

    /// The receiver has everything, or has seen that the offer was withdrawn.
    pub(crate) fn on_finished(&mut self, peer: u32, record: Finished) {
        match self.offered_to(peer, record.send_op) {
            Some(op) => {
                self.reclaim(op, record.descriptor);
                self.ops.complete_as_is(op);
            }
            // Withdrawn: the operation is over, the descriptor comes back now.
            None => self.reclaim_withdrawn(record.descriptor),
        }
    }

    /// The announced send that `peer` names, if it is one.
    fn offered_to(&self, peer: u32, send_op: u32) -> Option<u32> {
        let op = self.ops.find(OpId(send_op))?;
        (self.ops[op].stage == Stage::Offered && self.ops[op].to == peer).then_some(op)
    }

    fn reclaim(&mut self, op: u32, descriptor: u64) {
        if self.ops[op].descriptor.take_if(|own| own.0 == descriptor).is_some() {
            self.arena.give_back(Offset(descriptor));
        }
    }

    fn reclaim_withdrawn(&mut self, descriptor: u64) {
        if let Some(at) = self.withdrawn.iter().position(|own| own.0 == descriptor) {
            self.arena.give_back(self.withdrawn.swap_remove(at));
        }
    }
}

/// One line, once per process: cause and cure.
fn report(peer: u32, refusal: &Refusal) {
    // ESRCH: the peer has died. The launcher reports that.
    if matches!(refusal, Refusal::Os(OsError { errno: 3, .. })) {
        return;
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let cure = match refusal {
            Refusal::Os(OsError { errno: 1, .. }) => {
                "allow it (same user, Yama ptrace_scope 0 or 1, no seccomp filter on process_vm_readv)"
            }
            Refusal::Os(OsError { errno: 38, .. }) => "the kernel or a seccomp filter lacks process_vm_readv",
            Refusal::Stranger(_) => "start the ranks in one pid namespace",
            _ => "see `isthmus doctor`",
        };
        isthmus_os::process::say(&format!(
            "isthmus: cannot read the memory of rank {peer} ({refusal}); large messages take two copies instead of one. \
             Cure: {cure}; or silence this with ISTHMUS_CMA=0."
        ));
    });
}
