//! Single copies: the receiver pulls an announced message out of the sender's buffer, and where a CPU is to spare the
//! sender, if it is inside the library, pushes from the other end at the same time. With more ranks than CPUs one side at a time
//! copies.
//!
//! The two claim chunks in the transfer's [`Descriptor`](isthmus_shm::Descriptor), the receiver from the front and the
//! sender from the back, so what is not done lies in one piece at any time. Should either be refused, that piece is done
//! by the other one, or through the ring. Sources: blueprint section 5; "Intra-node MPI communication with Cross Memory
//! Attach" (XSEDE'14) for one side.

use isthmus_os::clock;
use isthmus_shm::occupancy;
use isthmus_transfer::Direction;

use crate::channel::outbound::{Answer, Outbound};
use crate::channel::record::{Help, ReadyToSend};
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::limits::{LONG_CHUNK, SHORT_CHUNK, SLICE};
use crate::memory::buffer::Buffer;
use crate::memory::heap;
use crate::protocol::access::Access;
use crate::protocol::choice::protocols;

/// Chunks begin on pages of the message.
const PAGE: u64 = 4 << 10;

/// Bytes of a chunk of a copy that is shared out: at least a page.
pub(crate) fn chunk_of(length: u64) -> u64 {
    // Larger for messages beyond 1 PiB, so that their number fits.
    let chunk = (length / 2).min(SHORT_CHUNK).max(length / 8).min(LONG_CHUNK);
    chunk.max(length >> 31).max(PAGE).next_multiple_of(PAGE)
}

/// A receiver's single copy that is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pull {
    /// `None`: only the sender copies.
    access: Option<Access>,
    path: DataPath,
    op: u32,
    peer: u32,
    record: ReadyToSend,
    /// Everything before this is here.
    done: u64,
    /// And everything from here on, once nothing is shared any more.
    end: u64,
    /// Bytes of the message that the receive takes.
    expected: u64,
    /// Bytes of a chunk; zero: not shared, or not any more.
    chunk: u64,
    /// Bytes before this are ours alone, though the sender may still be at a chunk behind.
    alone: u64,
    /// The sender has begun the copy, and has not shared it out yet.
    follows: bool,
    failed: bool,
}

impl Pull {
    /// Of a message that its sender alone copies, as one chunk.
    pub fn by_sender(path: DataPath, op: u32, peer: u32, record: ReadyToSend, expected: u64) -> Self {
        Self {
            chunk: expected,
            ..Self::begin(None, path, (op, peer), record, expected)
        }
    }

    /// Of the first `expected` bytes of a message into the receive `op`, by the receiver alone.
    fn begin(
        access: Option<Access>,
        path: DataPath,
        (op, peer): (u32, u32),
        record: ReadyToSend,
        expected: u64,
    ) -> Self {
        Self {
            access,
            path,
            op,
            peer,
            record,
            done: 0,
            end: expected,
            expected,
            chunk: 0,
            alone: 0,
            follows: false,
            failed: false,
        }
    }

    /// From whom.
    pub fn peer(&self) -> u32 {
        self.peer
    }
}

/// A sender's help for a receiver that pulls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Push {
    pub access: Access,
    /// Ours.
    pub buffer: Buffer,
    pub op: u32,
    pub peer: u32,
    /// Where the descriptor is.
    pub descriptor: u64,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Bytes from the beginning of the message that the receive takes.
    pub length: u64,
    /// The receiver does not copy, as far as we know.
    pub alone: bool,
}

/// How a step went.
enum Step {
    Moved,
    /// For the other side.
    Waiting,
    Over,
}

impl Engine {
    // ---- the receiver ----

    /// Pull the first `expected` bytes of an announced message into the receive `op`.
    pub(crate) fn start_pull(&mut self, access: Access, op: u32, peer: u32, record: ReadyToSend, expected: u64) {
        if self.start_helped(access, op, peer, record, expected) {
            return;
        }
        let chunk = self.share(op, peer, record, expected);
        let pull = Pull::begin(Some(access), access.path, (op, peer), record, expected);
        self.transfers.pulls.push(Pull { chunk, ..pull });
        self.pull_on();
    }

    /// Take part in a copy that the sender has begun, by its claim to the receive `op`.
    pub(crate) fn start_following(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64) {
        let access = self.pull_access(peer, record, expected);
        let pull = Pull::begin(access, DataPath::SingleCopy, (op, peer), record, expected);
        self.transfers.pulls.push(Pull {
            chunk: chunk_of(expected),
            follows: true,
            ..pull
        });
        self.pull_on();
    }

    /// Let the sender push the first `expected` bytes of an announced message into the receive `op`: only it knows where
    /// they lie.
    pub(crate) fn start_pushed(&mut self, path: DataPath, op: u32, peer: u32, record: ReadyToSend, expected: u64) {
        // Nothing is shared out: as much as is pulled at a time.
        let chunk = self.ask_for_help(op, peer, record, expected, chunk_of(expected).max(SLICE));
        let pull = Pull::begin(None, path, (op, peer), record, expected);
        self.transfers.pulls.push(Pull { chunk, ..pull });
        self.pull_on();
    }

    /// Ask the sender to help, if there is a CPU for it: the bytes of a chunk, or zero. A claimer that has lost its CPU
    /// would stall its peer; and who has an announced message of ours to fetch has a copy of its own to make.
    fn share(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64) -> u64 {
        let is_busy = |outbound: &Outbound| outbound.orders.has_fetchable();
        let is_busy = self.channels.outbound(peer).is_some_and(is_busy);
        match protocols::is_shared(&self.transfers.facts, expected, is_busy) {
            true => self.ask_for_help(op, peer, record, expected, chunk_of(expected)),
            false => 0,
        }
    }

    fn ask_for_help(&mut self, op: u32, peer: u32, record: ReadyToSend, expected: u64, chunk: u64) -> u64 {
        let Some(descriptor) = self.descriptor(record.descriptor) else {
            return 0;
        };
        // Nobody else can write where only we know the places.
        let Some(buffer) = self.ops[op].buffer.row() else {
            return 0;
        };
        descriptor.share(expected.div_ceil(chunk) as u32);
        let help = Help {
            send_op: record.send_op,
            into_device: 0,
            descriptor: record.descriptor,
            address: buffer.expose_provenance() as u64,
            shared_address: heap::shared_address_of(buffer, expected).map_or(0, |shared_address| shared_address.0),
            length: expected,
            chunk,
        };
        self.answer(peer, Answer::Help(help));
        chunk
    }

    /// A slice of every single copy that is under way: nothing else moves meanwhile. True: something moved.
    pub(crate) fn pull_on(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.transfers.pulls.len() {
            let mut pull = self.transfers.pulls[at];
            let step = self.step(&mut pull);
            self.transfers.pulls[at] = pull;
            match step {
                Step::Waiting => at += 1,
                Step::Moved => {
                    moved = true;
                    at += 1;
                }
                Step::Over => {
                    moved = true;
                    self.transfers.pulls.swap_remove(at);
                    self.pulled(pull);
                }
            }
        }
        moved
    }

    fn step(&mut self, pull: &mut Pull) -> Step {
        if pull.chunk > 0
            && let Some(descriptor) = self.descriptor(pull.record.descriptor)
        {
            if pull.follows {
                if !descriptor.is_pushed() {
                    return Step::Waiting;
                }
                pull.follows = false;
                if pull.access.is_some() && occupancy::is_oversubscribed() {
                    // A claimer that has lost its CPU would stall us: it claims no more.
                    pull.alone = u64::from(descriptor.close())
                        .saturating_mul(pull.chunk)
                        .min(pull.expected);
                }
            }
            if pull.done < pull.alone && !pull.failed {
                self.copy(pull, pull.alone.min(pull.done + SLICE));
                return Step::Moved;
            }
            if pull.access.is_none() {
                if descriptor.is_refused() {
                    descriptor.close();
                }
            } else if let Some(chunk) = descriptor.claim_front() {
                let end = (u64::from(chunk) + 1).saturating_mul(pull.chunk).min(pull.expected);
                if !self.copy(pull, end) {
                    descriptor.close();
                }
                return Step::Moved;
            }
            let Some(from) = descriptor.settled() else {
                return Step::Waiting;
            };
            pull.end = u64::from(from)
                .saturating_mul(pull.chunk)
                .clamp(pull.done, pull.expected);
            pull.chunk = 0;
        }
        if pull.done < pull.end && !pull.failed {
            self.copy(pull, pull.end.min(pull.done + SLICE));
        }
        if pull.done == pull.end || pull.failed {
            Step::Over
        } else {
            Step::Moved
        }
    }

    /// Pull up to `end`. False: it failed.
    fn copy(&mut self, pull: &mut Pull, end: u64) -> bool {
        let length = end.saturating_sub(pull.done);
        let buffer = self.ops[pull.op].buffer;
        let usable = |access: &Access| !self.is_refused(pull.peer, access.path, Direction::Pull);
        let Some(access) = pull.access.filter(usable) else {
            pull.failed = true;
            return false;
        };
        let began = clock::ticks();
        // SAFETY: the receive's pending buffer has room for `expected` bytes, and `end` is at most that.
        let pulled = unsafe { access.pull(buffer, pull.expected, pull.done..pull.done + length) };
        if let Some(sample) = &mut self.ops[pull.op].sample {
            sample.add_receiver(clock::ticks().wrapping_sub(began));
        }
        let got = pulled.map_or_else(|stopped| stopped.done, |()| length);
        access.count(got);
        pull.done += got;
        if let Err(stopped) = pulled {
            pull.failed = true;
            self.copy_failed(
                pull.peer,
                access.path,
                Direction::Pull,
                stopped,
                access.address(pull.done),
            );
        }
        pulled.is_ok()
    }

    /// No more will be pulled.
    fn pulled(&mut self, pull: Pull) {
        if pull.done == pull.end {
            self.learn_from_pull(pull);
        }
        self.fetched(pull.op, pull.peer, pull.record, pull.done..pull.end);
    }

    fn learn_from_pull(&mut self, pull: Pull) {
        let (sample, began) = (self.ops[pull.op].sample, self.ops[pull.op].began);
        if let Some(sample) = sample {
            self.learn_from_announced(pull.peer, sample, pull.path, pull.expected);
        } else if let Some(began) = began {
            self.learn_from_scattered(pull.peer, pull.path, began, pull.expected);
        }
    }

    /// Has a single copy something to do?
    pub(crate) fn has_copies_to_do(&self) -> bool {
        let is_due = |pull: &Pull| {
            let descriptor = self.descriptor(pull.record.descriptor);
            pull.chunk == 0
                || descriptor.is_none_or(|descriptor| match pull.follows {
                    true => descriptor.is_pushed(),
                    false => {
                        descriptor.settled().is_some()
                            || pull.access.is_none() && descriptor.is_refused()
                            || pull.done < pull.alone && !pull.failed
                    }
                })
        };
        !self.transfers.pushes.is_empty() || self.transfers.pulls.iter().any(is_due)
    }

    // ---- the sender ----

    /// The receiver of an announced send pulls, and asks for help.
    pub(crate) fn on_help(&mut self, peer: u32, help: Help) {
        let Some(op) = self.offered_to(peer, help.send_op) else {
            return;
        };
        if self.transfers.pushes.iter().any(|push| push.op == op) {
            return;
        }
        let ours = self.ops[op].descriptor.is_some_and(|own| own.0 == help.descriptor);
        let buffer = self.ops[op].buffer;
        if !ours || help.chunk == 0 || help.length > self.ops[op].length as u64 {
            return;
        }
        self.answered(op);
        if help.into_device != 0 {
            return self.push_into_device(op, peer, help);
        }
        let access = self.push_access(peer, help.address, help.shared_address, help.length);
        let Some(access) = access.filter(|_| buffer.has_layout()) else {
            // It may wait for that.
            if let Some(descriptor) = self.descriptor(help.descriptor) {
                descriptor.refuse();
                self.channels.order();
                self.channels.wake(peer);
            }
            return;
        };
        self.start_push(Push {
            access,
            buffer,
            op,
            peer,
            descriptor: help.descriptor,
            chunk: help.chunk,
            length: help.length,
            // It does not know where the bytes lie.
            alone: buffer.row().is_none(),
        });
    }

    /// Push chunks, from the end of what is to be pushed.
    pub(crate) fn start_push(&mut self, push: Push) {
        self.transfers.pushes.push(push);
    }

    /// A chunk of every message whose receiver asked for help, or only of those that nobody else copies. True: there was one.
    pub(crate) fn push_on(&mut self, only_alone: bool) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.transfers.pushes.len() {
            let push = self.transfers.pushes[at];
            if only_alone && !push.alone {
                at += 1;
            } else if self.push_chunk(push) {
                moved = true;
                at += 1;
            } else {
                self.transfers.pushes.swap_remove(at);
                self.pushed(push.op, push.descriptor);
                // It may sleep until our last claim has retired.
                self.channels.order();
                self.channels.wake(push.peer);
            }
        }
        moved
    }

    /// We push no more. If the whole message has gone that way, the receiver has nothing to tell us that we wait for.
    pub(crate) fn pushed(&mut self, op: u32, descriptor: u64) {
        let settled = self.descriptor(descriptor).and_then(|descriptor| descriptor.settled());
        if settled == Some(0) {
            // The descriptor comes back with the receiver's `Finished`.
            self.transfers.withdrawn.extend(self.ops[op].descriptor.take());
            self.ops.complete_as_is(op);
        }
    }

    /// False: there are no more, or it failed.
    fn push_chunk(&mut self, push: Push) -> bool {
        let Some(descriptor) = self.descriptor(push.descriptor) else {
            return false;
        };
        if self.is_refused(push.peer, push.access.path, Direction::Push) {
            descriptor.refuse();
            return false;
        }
        let Some(chunk) = descriptor.claim_back() else {
            return false;
        };
        let start = u64::from(chunk).saturating_mul(push.chunk).min(push.length);
        let end = start.saturating_add(push.chunk).min(push.length);
        // SAFETY: `on_help` checked the length against our pending buffer; the receiver has given us its own for as long
        // as our claim has not retired.
        let pushed = unsafe { push.access.push(push.buffer, push.length, start..end) };
        match pushed {
            Ok(()) => {
                push.access.count(end - start);
                descriptor.retire();
                true
            }
            Err(stopped) => {
                // Its pulls may go on.
                descriptor.refuse();
                let at = push.access.address(start + stopped.done);
                self.copy_failed(push.peer, push.access.path, Direction::Push, stopped, at);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks() {
        assert_eq!([0, 1, 2, 5000].map(chunk_of), [PAGE; 4]);
        assert_eq!(
            [64 << 10, 100_000, 256 << 10, 1 << 20].map(chunk_of),
            [32 << 10, 52 << 10, 128 << 10, 128 << 10]
        );
        assert_eq!(
            [2 << 20, 4 << 20, 1 << 30].map(chunk_of),
            [256 << 10, 512 << 10, 512 << 10]
        );
        assert!((1u64 << 62).div_ceil(chunk_of(1 << 62)) <= u64::from(u32::MAX));
    }
}
