//! The sending half of a channel: the ring to one peer, and what waits for room in it.
//!
//! Records never wait in a system call or a spin: what does not fit is queued here, first in, first out; answers
//! (clear-to-send, finished, switch) have a queue of their own that goes first, and room in the ring that messages leave free.

mod leases;
mod pieces;
mod queue;

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use isthmus_os::clock;
use isthmus_shm::ring::{self, Header, Mapped, Producer};
use isthmus_shm::{Doorbell, Offset, Segment, segment};
use isthmus_transfer::copy::Copying;

use crate::channel::cells::{self, Cell, Cells};
use crate::channel::network;
use crate::channel::orders::Orders;
use crate::channel::record::{CallFailed, Data, EagerFirst, EagerMore, Envelope, Fixed, FullLine, Handler, InCell};
use crate::counters;
use crate::limits::{CELL_FROM, LARGEST_RING, ONE_LINE, ONE_RECORD, SMALL_RING};
use crate::membership::failed_calls;
use crate::memory::arena::Arena;
use crate::memory::buffer::Buffer;
use crate::types::{ContextId, Posting};

use pieces::{Payload, ticks_since, write_piece};

pub use leases::Leases;
pub use queue::{Answer, Queued};

/// Bytes of the ring that only answers may use.
const RESERVED: u64 = 4 * ring::LINE;

/// A message on its way out.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub context: ContextId,
    pub envelope: Envelope,
    pub buffer: Buffer,
    pub length: usize,
}

impl Message {
    /// One that is posted so.
    #[inline]
    pub fn of(posting: Posting, buffer: Buffer, length: usize) -> Self {
        Self {
            context: posting.context,
            envelope: Envelope {
                tag: posting.tag,
                source: posting.source,
            },
            buffer,
            length,
        }
    }
}

/// The ring to one peer and what waits for room in it.
#[derive(Debug)]
pub struct Outbound {
    ring: Producer<Mapped>,
    /// The peer's.
    bell: &'static Doorbell,
    /// The ring that is not in use: the small one while a large one is leased.
    parked: Option<Producer<Mapped>>,
    small_at: Offset,
    small: u64,
    /// Longest body of a record, whatever the ring.
    limit: usize,
    /// What the receiver wished when last seen, and longer messages since.
    hints: u32,
    unmeasured: u32,
    /// Pieces of longer messages that found room. Wraps.
    pieces: u32,
    /// What of ours is under way, and where it may go.
    pub orders: Orders,
    /// The cells that we have for messages to the peer.
    pub cells: Cells,
    /// How often a message found no room in the small ring.
    strained: u32,
    answers: VecDeque<Answer>,
    queue: VecDeque<Queued>,
}

// SAFETY: buffers belong to the user's pending operations; only the thread inside the engine touches them.
unsafe impl Send for Outbound {}

impl Outbound {
    /// The first, small ring to `peer`: made here, found by the peer through its inbox.
    pub fn connect(segment: &'static Segment, arena: &mut Arena, me: u32, peer: u32) -> Result<Self, segment::Error> {
        let at = arena.allocate(segment, ring::bytes_for(SMALL_RING))?;
        let ring = Producer::new(mapped(segment, at, SMALL_RING).expect("just taken"));
        // SYNC: inbox
        let notice = segment.inbox(peer, me).swap(at.0, Ordering::AcqRel);
        let answer = failed_calls::is_notice(notice).then(|| {
            let (context, tag) = failed_calls::named_by(notice);
            Answer::CallFailed(context, CallFailed { tag, zero: 0 })
        });
        Ok(Self {
            ring,
            bell: segment.slot(peer).doorbell(),
            parked: None,
            small_at: at,
            small: SMALL_RING,
            limit: usize::MAX,
            hints: 0,
            unmeasured: 0,
            pieces: 0,
            orders: Orders::default(),
            cells: Cells::default(),
            strained: 0,
            answers: answer.into_iter().collect(),
            queue: VecDeque::new(),
        })
    }

    /// The ring to a peer on another node, which the network channel reads here; and where it is.
    pub fn connect_remote(
        segment: &'static Segment,
        arena: &mut Arena,
        peer: u32,
    ) -> Result<(Self, Offset), segment::Error> {
        let at = arena.allocate(segment, ring::bytes_for(network::RING))?;
        let ring = Producer::new(mapped(segment, at, network::RING).expect("just taken"));
        let outbound = Self {
            ring,
            bell: segment.slot(peer).doorbell(),
            parked: None,
            small_at: at,
            small: network::RING,
            limit: network::LONGEST,
            hints: 0,
            unmeasured: 0,
            pieces: 0,
            orders: Orders::default(),
            cells: Cells::never(),
            strained: 0,
            answers: VecDeque::new(),
            queue: VecDeque::new(),
        };
        Ok((outbound, at))
    }

    /// Is it read by the network?
    pub fn is_remote(&self) -> bool {
        self.limit == network::LONGEST
    }

    /// Wake the peer if it sleeps, after publishing something and [`order`](isthmus_shm::doorbell::order).
    #[inline]
    pub fn wake(&self) {
        if self.bell.alert() {
            counters::WAKES.add_anywhere(1);
        }
    }

    /// Does the peer look at this ring without being told?
    #[inline]
    pub fn is_polled(&self) -> bool {
        self.ring.is_polled()
    }

    /// Does the peer want announcements only?
    #[inline]
    pub fn announce_only(&self) -> bool {
        self.ring.announce_only()
    }

    /// Pieces of longer messages that the peer has made room for so far. Wraps.
    pub fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Does nothing wait for room?
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.answers.is_empty()
    }

    /// Payload that fits into one record of this ring beside a fixed part of 16 bytes.
    fn longest(&self) -> usize {
        (ring::longest_body(self.size()) as usize).min(self.limit) - FullLine::<Data>::SIZE as usize
    }

    fn size(&self) -> u64 {
        use isthmus_shm::ring::RingMemory;
        self.ring.memory().size()
    }

    /// Send a message in one record, if nothing is queued before it and there is room. On the path of short messages.
    #[inline]
    pub fn try_eager(&mut self, message: Message) -> bool {
        self.queue.is_empty()
            && (message.length <= ONE_RECORD.min(self.longest()) || self.cells.fit_whole(message.length))
            && self.put_whole(message)
    }

    /// Write as much of the message of the send `op` as there is room for, if nothing is queued before it, and queue the
    /// rest. (whether something was written, whether all of it was)
    pub fn begin(&mut self, op: u32, message: Message) -> (bool, bool) {
        let mut queued = Queued::Eager {
            op,
            message,
            copying: self.copying(message),
            begun: false,
            sent: 0,
            cell: None,
        };
        let (wrote, finished) = match self.queue.is_empty() {
            true => self.advance(&mut queued),
            false => (false, None),
        };
        if finished.is_none() {
            self.queue.push_back(queued);
        }
        (wrote, finished.is_some())
    }

    /// One record for the whole message.
    #[inline]
    fn put_whole(&mut self, message: Message) -> bool {
        let Message {
            context,
            envelope,
            buffer,
            length,
        } = message;
        if length >= CELL_FROM
            && let Some(cell) = self.cells.fitting(length)
        {
            return self.put_in_cell(cell, message, 0);
        }
        if length < ONE_LINE {
            if length >= CELL_FROM {
                self.cells.miss();
            }
            let whole = Payload {
                buffer,
                from: 0,
                length,
            };
            let put = self.put(Handler::Eager, context.0, envelope, whole, RESERVED);
            if put {
                self.orders.sent_eager(context, envelope.tag);
            }
            return put;
        }
        let copying = self.copying(message);
        self.put_first(copying, message, length)
    }

    /// Put the piece of a message that begins at `from` into its cell, and a record that says so into the ring. With the
    /// last one the cell is the peer's. Vectors: the lines are in this CPU's cache. Not measured, since there is no choice.
    #[inline]
    fn put_in_cell(&mut self, cell: Cell, message: Message, from: usize) -> bool {
        let length = cells::piece(message.length).min(message.length - from);
        let fill = || {
            // SAFETY: the cell is ours and has room for the message, which is the user's pending buffer.
            unsafe {
                let to = cell.base.as_ptr().add(from);
                message.buffer.read_by(Copying::Vector, from, length, to);
            }
        };
        let in_cell = InCell {
            fixed: EagerMore::default(),
            cell: cell.at.0,
            from: from as u32,
            length: length as u32,
            is_last: u64::from(from + length == message.length),
            zero: 0,
        };
        let lines = (length as u64).div_ceil(ring::LINE);
        if from > 0 {
            let put = self.put_with(Handler::MoreInCell, 0, 0, RESERVED, |_| {
                fill();
                in_cell
            });
            counters::RING_LINES.add(if put { lines } else { 0 });
            return put;
        }
        let put = self.put_with(Handler::FirstInCell, message.context.0, 0, RESERVED, |_| {
            fill();
            in_cell.with(EagerFirst {
                envelope: message.envelope,
                total: message.length as u64,
                copying: Copying::Vector as u32,
                ticks: 0,
            })
        });
        if put {
            counters::RING_LINES.add(lines);
            self.cells.leave();
            self.orders.sent_eager(message.context, message.envelope.tag);
        }
        put
    }

    /// The first record of a longer message, with `length` bytes of it.
    #[inline]
    fn put_first(&mut self, (copying, measure): (Copying, bool), message: Message, length: usize) -> bool {
        self.cells.miss();
        let put = self.put_with(Handler::EagerFirst, message.context.0, length, RESERVED, |to| {
            let began = if measure { clock::ticks() } else { 0 };
            let piece = Payload {
                buffer: message.buffer,
                from: 0,
                length,
            };
            // SAFETY: see `put_with`; the message is at least `length` bytes long, in the user's pending buffer.
            unsafe { write_piece(copying, piece, to) };
            let ticks = if measure { ticks_since(began) } else { 0 };
            FullLine::new(EagerFirst {
                envelope: message.envelope,
                total: message.length as u64,
                copying: copying as u32,
                ticks,
            })
        });
        if put {
            self.orders.sent_eager(message.context, message.envelope.tag);
        }
        put
    }

    /// Write one record: a fixed part, then payload. False: no room.
    #[inline]
    fn put<T: Fixed>(&mut self, handler: Handler, context: u32, fixed: T, payload: Payload, spare: u64) -> bool {
        self.put_with(handler, context, payload.length, spare, |to| {
            // SAFETY: see `put_with`; the payload is the user's pending buffer.
            unsafe { payload.buffer.read(payload.from, payload.length, to) };
            fixed
        })
    }

    /// As [`Self::put`], with the payload copied that way; `fixed` is made of how long that took, in ticks.
    fn put_by<T: Fixed>(
        &mut self,
        copying: Copying,
        handler: Handler,
        payload: Payload,
        fixed: impl FnOnce(u32) -> T,
    ) -> bool {
        self.put_with(handler, 0, payload.length, RESERVED, |to| {
            let began = clock::ticks();
            // SAFETY: as above.
            unsafe { write_piece(copying, payload, to) };
            FullLine::new(fixed(ticks_since(began)))
        })
    }

    /// As [`Self::put`]; `fill` is told where to write the `length` bytes of payload, and answers with the fixed part.
    #[inline]
    fn put_with<T: Fixed>(
        &mut self,
        handler: Handler,
        context: u32,
        length: usize,
        spare: u64,
        fill: impl FnOnce(*mut u8) -> T,
    ) -> bool {
        let body = T::SIZE + length as u32;
        let Some(room) = self.ring.reserve(body, spare) else {
            return false;
        };
        let at = self.ring.memory().body(room.at);
        // SAFETY: `reserve` gave room for `body` bytes.
        unsafe {
            // The receiver polls the record's first line: touch it last, and once, so that it does not bounce.
            let fixed = fill(at.add(T::SIZE as usize));
            at.cast::<T>().write_unaligned(fixed);
        }
        self.ring.publish(Header {
            handler: handler as u8,
            length: body,
            context,
        });
        counters::RING_LINES.add(ring::lines(body));
        true
    }
}

/// The ring with `size` bytes of data at `offset`, which a peer may have told us.
pub fn mapped(segment: &Segment, offset: Offset, size: u64) -> Option<Mapped> {
    if !size.is_power_of_two() || !(SMALL_RING..=LARGEST_RING).contains(&size) || !offset.0.is_multiple_of(128) {
        return None;
    }
    let base = segment.at(offset, ring::bytes_for(size))?;
    // SAFETY: mapped for as long as the segment, which lives until the process exits; the memory was zero when its
    // owner made the ring there.
    Some(unsafe { Mapped::new(base, size) })
}

/// The ring that a peer made for us in the first place.
pub fn first_ring(segment: &Segment, offset: u64) -> Option<Mapped> {
    mapped(segment, Offset(offset), SMALL_RING)
}
