//! Single copies that the helper thread makes while this rank computes: off unless the tunable `helper` says otherwise.

use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

use isthmus_os::clock;
use isthmus_shm::occupancy;
use isthmus_transfer::Direction;
use isthmus_transfer::helper::{self, Completion};

use crate::channel::record::ReadyToSend;
use crate::engine::Engine;
use crate::memory::buffer::Buffer;
use crate::protocol::access::Access;
use crate::{counters, tunables};

/// A message that the helper pulls.
#[derive(Debug)]
pub(crate) struct Helped {
    completion: Arc<Completion>,
    access: Access,
    op: u32,
    peer: u32,
    record: ReadyToSend,
    expected: u64,
    began: u64,
}

impl Helped {
    /// From whom.
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// Until the helper is done with the buffers. Short, if the peer is dead: then its memory is gone.
    pub fn await_end(&self) {
        let _ = self.completion.wait();
    }

    /// Is it over?
    pub fn is_over(&self) -> bool {
        self.completion.poll().is_some()
    }
}

/// Is a copy of so many bytes to be handed over?
fn is_wanted(bytes: u64) -> bool {
    let may_be = match tunables::HELPER.get() {
        0 => false,
        // Each rank with a CPU of its own has another one for its helper.
        1 => !occupancy::is_oversubscribed_by(2),
        _ => true,
    };
    may_be
        && match tunables::HELPER_FROM.get() {
            0 => bytes >= helper::dma_min(),
            from => bytes >= from,
        }
}

impl Engine {
    /// Let the helper pull the first `expected` bytes of an announced message into the receive `op`. False: it is not for it.
    pub(crate) fn start_helped(
        &mut self,
        access: Access,
        op: u32,
        peer: u32,
        record: ReadyToSend,
        expected: u64,
    ) -> bool {
        if !is_wanted(expected) {
            return false;
        }
        let Some(row) = self.ops[op].buffer.row() else {
            return false;
        };
        let (address, slot, range) = (row.expose_provenance(), self.slot(), 0..expected);
        let copy = move || {
            let buffer = Buffer::target(with_exposed_provenance_mut(address));
            // SAFETY: the receive's pending buffer has room for the bytes, and the receive is not over before the copy is.
            unsafe { access.pull(buffer, expected, range) }
        };
        // Our rank may sleep.
        let wake = move || {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            if slot.doorbell().ring() {
                slot.doorbell().wake();
            }
        };
        let Ok(completion) = helper::submit(copy, wake) else {
            return false;
        };
        counters::HELPED.add(1);
        self.transfers.helped.push(Helped {
            completion,
            access,
            op,
            peer,
            record,
            expected,
            began: clock::ticks(),
        });
        true
    }

    /// Take note of what the helper has finished. True: there was something.
    pub(crate) fn helped_on(&mut self) -> bool {
        let mut moved = false;
        while let Some(at) = self.transfers.helped.iter().position(Helped::is_over) {
            moved = true;
            let helped = self.transfers.helped.swap_remove(at);
            let outcome = helped.completion.wait();
            let missing: Range<u64> = match outcome {
                Ok(()) => helped.expected..helped.expected,
                Err(stopped) => stopped.done..helped.expected,
            };
            helped.access.count(missing.start);
            if let Some(effort) = &mut self.ops[helped.op].effort {
                effort.add_receiver(clock::ticks().wrapping_sub(helped.began));
            }
            if let Err(stopped) = outcome {
                self.copy_failed(helped.peer, helped.access.way, Direction::Pull, stopped);
            }
            self.fetched(helped.op, helped.peer, helped.record, missing);
        }
        moved
    }
}
