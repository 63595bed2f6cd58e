//! Single copies that something else makes while this rank computes: the kernel module's thread or a DMA engine, which the word of a copy tells the
//! end of, or the helper thread, off unless the tunable `helper` says otherwise.
//!
//! The module's thread copies only if it is named, at any size; a DMA engine from DMAmin on, where the machine has one. Source:
//! "Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis" (ICPP'09), sections 3.4 and 3.5: there, too, progress polls
//! the word.

use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use std::time::Duration;

use isthmus_os::clock;
use isthmus_os::kmod::Later;
use isthmus_shm::occupancy;
use isthmus_transfer::Pending;
use isthmus_transfer::helper::{self, Completion};
use isthmus_transfer::{Direction, Interrupted};

use crate::channel::record::ReadyToSend;
use crate::engine::Engine;
use crate::memory::buffer::Buffer;
use crate::protocol::access::Access;
use crate::protocol::mechanism;
use crate::watches::Watch;
use crate::{counters, tunables};

/// A message that something else pulls.
#[derive(Debug)]
pub(crate) struct Helped {
    copy: Copier,
    access: Access,
    op: u32,
    peer: u32,
    record: ReadyToSend,
    /// Everything before this is here.
    done: u64,
    expected: u64,
    began: u64,
}

/// What copies.
#[derive(Debug)]
enum Copier {
    /// The helper thread, which rings our doorbell.
    Helper(Arc<Completion>),
    /// The module, which rings nothing: sleeps are short meanwhile.
    Module {
        pending: Pending,
        began: Duration,
        _watch: Watch,
    },
}

impl Copier {
    fn module(pending: Pending) -> Self {
        Self::Module {
            pending,
            began: clock::now(),
            _watch: Watch::begin(),
        }
    }

    fn poll(&self) -> Option<Result<(), Interrupted>> {
        match self {
            Self::Helper(completion) => completion.poll(),
            Self::Module { pending, .. } => pending.poll(),
        }
    }
}

impl Helped {
    /// From whom.
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// Until no bytes are written any more. Short, if the peer is dead: then its memory is gone.
    pub fn await_end(&self) {
        let _ = match &self.copy {
            Copier::Helper(completion) => completion.wait(),
            Copier::Module { pending, .. } => pending.wait(),
        };
    }

    /// Is it over?
    pub fn is_over(&self) -> bool {
        self.copy.poll().is_some()
    }

    /// So many bytes are here.
    fn count(&self, bytes: u64) {
        match &self.copy {
            Copier::Helper(_) => self.access.count(bytes),
            Copier::Module { pending, .. } => match pending.by() {
                Later::Thread => counters::KMOD_THREAD_BYTES.add(bytes),
                Later::Dma => counters::KMOD_DMA_BYTES.add(bytes),
            },
        }
    }
}

/// Is a copy of so many bytes long enough to be handed over?
fn is_long(bytes: u64) -> bool {
    bytes
        >= match tunables::HELPER_FROM.get() {
            0 => helper::dma_min(),
            from => from,
        }
}

/// Is a copy of so many bytes to be handed to the helper thread?
fn is_for_helper(bytes: u64) -> bool {
    let may_be = match tunables::HELPER.get() {
        0 => false,
        // Each rank with a CPU of its own has another one for its helper.
        1 => !occupancy::is_oversubscribed_by(2),
        _ => true,
    };
    may_be && is_long(bytes)
}

impl Engine {
    /// Let something else pull the first `expected` bytes of an announced message into the receive `op`. False: nothing does.
    pub(crate) fn start_helped(
        &mut self,
        access: Access,
        op: u32,
        peer: u32,
        record: ReadyToSend,
        expected: u64,
    ) -> bool {
        let buffer = self.ops[op].buffer;
        let copy = self
            .hand_to_module(access, buffer, 0..expected)
            .or_else(|| self.hand_to_helper(access, buffer, expected));
        let Some(copy) = copy else { return false };
        counters::HELPED.add(1);
        self.transfers.helped.push(Helped {
            copy,
            access,
            op,
            peer,
            record,
            done: 0,
            expected,
            began: clock::ticks(),
        });
        true
    }

    /// `None`: it does not copy later, or cannot now, as with too many copies under way or too little memory that may be locked.
    fn hand_to_module(&self, access: Access, buffer: Buffer, range: Range<u64>) -> Option<Copier> {
        if mechanism::copied_later().is_none() && !is_long(range.end - range.start) {
            return None;
        }
        // SAFETY: the receive's pending buffer has room for all that the range is in, and the receive is not over before the copy is.
        let begun = unsafe { access.pull_later(buffer, range.end, range) }?;
        begun.ok().map(Copier::module)
    }

    fn hand_to_helper(&self, access: Access, buffer: Buffer, expected: u64) -> Option<Copier> {
        if !is_for_helper(expected) {
            return None;
        }
        let (address, slot, range) = (buffer.row()?.expose_provenance(), self.slot(), 0..expected);
        let copy = move || {
            let buffer = Buffer::target(with_exposed_provenance_mut(address));
            // SAFETY: the receive's pending buffer has room for the bytes, and the receive is not over before the copy is.
            unsafe { access.pull(buffer, expected, range) }
        };
        // Our rank may sleep.
        let wake = move || {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            slot.doorbell().alert();
        };
        helper::submit(copy, wake).ok().map(Copier::Helper)
    }

    /// Take note of what is over. True: there was something.
    pub(crate) fn helped_on(&mut self) -> bool {
        let mut moved = false;
        while let Some(at) = self.transfers.helped.iter().position(Helped::is_over) {
            moved = true;
            let mut helped = self.transfers.helped.swap_remove(at);
            let outcome = helped.copy.poll().expect("it is over");
            let whole = match &helped.copy {
                Copier::Helper(_) => helped.expected,
                Copier::Module { pending, began, .. } => {
                    mechanism::tell_later(pending, *began, outcome);
                    pending.bytes()
                }
            };
            let got = outcome.map_or_else(|stopped| stopped.done, |()| whole);
            helped.count(got);
            helped.done += got;
            if let Err(stopped) = outcome {
                let at = helped.access.address(helped.done);
                self.copy_failed(helped.peer, helped.access.path, Direction::Pull, stopped, at);
            } else if helped.done < helped.expected
                && let Some(next) =
                    self.hand_to_module(helped.access, self.ops[helped.op].buffer, helped.done..helped.expected)
            {
                helped.copy = next;
                self.transfers.helped.push(helped);
                continue;
            }
            if let Some(sample) = &mut self.ops[helped.op].sample {
                sample.add_receiver(clock::ticks().wrapping_sub(helped.began));
            }
            self.fetched(helped.op, helped.peer, helped.record, helped.done..helped.expected);
        }
        moved
    }
}
