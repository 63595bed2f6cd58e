//! The sending half of a channel: the ring to one peer, and what waits for room in it.
//!
//! Records never wait in a system call or a spin: what does not fit is queued here, first in, first out; answers
//! (clear-to-send, finished, switch) have a queue of their own that goes first, and room in the ring that messages leave free.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use isthmus_os::clock;
use isthmus_shm::ring::{self, Header, Mapped, Producer};
use isthmus_shm::{Offset, Segment, segment};
use isthmus_transfer::Direction;
use isthmus_transfer::copy::Copying;

use crate::channel::cells::{self, Cell, Cells};
use crate::channel::network;
use crate::channel::record::{
    Advertised, CallFailed, ClearToSend, Data, EagerFirst, EagerMore, Envelope, Fed, Finished, Fixed, FullLine,
    Handler, Help, InCell, ReadyToSend, Switch,
};
use crate::channel::ring_size;
use crate::membership::boot;
use crate::membership::failed_calls;
use crate::memory::arena::Arena;
use crate::memory::buffer::Buffer;
use crate::memory::staging;
use crate::protocol::choice::select;
use crate::protocol::mechanism;
use crate::protocol::orders::Orders;
use crate::types::{ContextId, OpId};
use crate::{counters, tunables};

/// Data of the ring that a pair starts with.
pub const SMALL_RING: u64 = 4 << 10;
/// Data of the largest ring that a streaming pair may lease.
const LARGEST_RING: u64 = 4 << 20;
/// Large rings that one process holds at a time.
const MAX_LEASES: u32 = 16;

/// Bytes that the large rings of all ranks take at most.
const LEASED: u64 = 256 << 20;

/// Data of the ring that a streaming pair leases: the tunable, as a power of two within what rings can be; or by the
/// cache, less in a large job.
fn large_ring(segment: &Segment) -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let share = LEASED / u64::from(MAX_LEASES) / u64::from(segment.ranks().max(1));
        let bytes = match tunables::RING.get() {
            0 => ring_size::suitable(segment.ranks()).min(1 << share.max(1).ilog2()),
            bytes => bytes,
        };
        bytes.clamp(SMALL_RING, LARGEST_RING).next_power_of_two()
    })
}

/// Payload of the first and of the last record of a message in several, by string copies: while one side copies it, the
/// other can only wait.
const EDGE: usize = 16 << 10;
/// Least and most payload of a record by vectors; an eighth of the message between.
const VECTOR_PIECES: [usize; 2] = [2 << 10, 32 << 10];
/// Most of it where reader and writer take turns: there a record costs, and nobody reads while the next is written.
const OVERSUBSCRIBED_PIECE: usize = 128 << 10;
/// Least and most payload of a record by streaming stores; half of the message between.
const STREAMING_PIECES: [usize; 2] = [4 << 10, 8 << 10];
/// Longer messages that are measured after the receiver has changed its wishes...
const MEASURED: u32 = 4;
/// ...and one of so many later.
const MEASURE_EVERY: u32 = 8;

/// Payload of the next record of a message of `total` bytes, of which `rest` are to go (docs/decisions/0008, 0009).
///
/// Short pieces let both sides copy at the same time. But a string copy pays for draining the lines it took, so few and
/// long pieces win there; and as the last ones in flight are copied out with nobody helping, a message is cut into at
/// least four (measured on Zen 5 at 128 KiB: 11.7 us in pieces of 4 KiB, 5.9 in 16, 5.5 in 32, 5.9 in 64).
fn piece(copying: Copying, total: usize, rest: usize) -> usize {
    match copying {
        Copying::Vector if boot::is_oversubscribed() => return rest.min(OVERSUBSCRIBED_PIECE),
        Copying::Vector => return rest.min((total / 8).clamp(VECTOR_PIECES[0], VECTOR_PIECES[1])),
        Copying::Streaming => return rest.min((total / 2).clamp(STREAMING_PIECES[0], STREAMING_PIECES[1])),
        Copying::String => {}
    }
    let middle = (total / 4).min(tunables::PIECE.get() as usize).max(EDGE);
    if rest == total || rest <= 2 * EDGE {
        rest.min(EDGE)
    } else if rest <= middle + EDGE {
        rest - EDGE
    } else {
        middle
    }
}

/// Messages up to this length go in one record.
const WHOLE: usize = 2 << 10;
/// So often a small ring may be full before it gives way to a large one.
const STRAIN: u32 = 8;
/// No payload.
const NOTHING: Payload = Payload {
    buffer: Buffer::NOWHERE,
    from: 0,
    length: 0,
};
/// Messages below this length share their first line with the header.
const SHORT: usize = 512;
/// Bytes of the ring that only answers may use.
const RESERVED: u64 = 4 * ring::LINE;

/// At least one.
fn ticks_since(began: u64) -> u32 {
    clock::ticks().wrapping_sub(began).clamp(1, u64::from(u32::MAX)) as u32
}

/// Bytes of a pending operation's buffer.
#[derive(Clone, Copy)]
struct Payload {
    buffer: Buffer,
    from: usize,
    length: usize,
}

/// Copy a piece of a message to `to`, in the ring. Where ranks take turns on the CPUs its reader learns nothing of how that is
/// best done, so it is done as for what is shown to all (docs/decisions/0025).
///
/// # Safety
/// As for [`Buffer::read`].
unsafe fn write_piece(copying: Copying, piece: Payload, to: *mut u8) {
    let Payload { buffer, from, length } = piece;
    match buffer.row() {
        // SAFETY: the caller's promise.
        Some(at) if boot::is_oversubscribed() => unsafe { staging::copy_for_others(at.add(from), to, length) },
        // SAFETY: as above.
        _ => unsafe { buffer.read_by(copying, from, length, to) },
    }
}

/// A message on its way out.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub context: ContextId,
    pub envelope: Envelope,
    pub buffer: Buffer,
    pub length: usize,
}

/// Something that waits for room.
#[derive(Debug)]
pub enum Queued {
    /// An eager message of which `sent` bytes are out (none: not even its envelope).
    Eager {
        op: u32,
        message: Message,
        /// And whether to measure it.
        copying: (Copying, bool),
        begun: bool,
        sent: usize,
        /// Where its bytes go, if it has begun in a cell.
        cell: Option<Cell>,
    },
    /// An announcement.
    Announcement { context: ContextId, record: ReadyToSend },
    /// Pieces of an announced message, from `next` to `end`.
    Stream {
        op: u32,
        receive_op: u32,
        copying: Copying,
        buffer: Buffer,
        next: usize,
        end: usize,
    },
}

/// An answer to a peer's announcement, or something else that goes before messages.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    ClearToSend(ClearToSend),
    Finished(Finished),
    Help(Help),
    Advertised(ContextId, Advertised),
    CallFailed(ContextId, CallFailed),
    Fed(Fed),
}

/// The ring to one peer and what waits for room in it.
#[derive(Debug)]
pub struct Outbound {
    ring: Producer<Mapped>,
    /// The ring that is not in use: the small one while a large one is leased.
    parked: Option<Producer<Mapped>>,
    small_at: Offset,
    small: u64,
    /// Longest body of a record, whatever the ring.
    limit: usize,
    /// What the receiver wished when last seen, and longer messages since.
    wishes: u32,
    unmeasured: u32,
    /// The peer has asked for an announced message through the ring: it may not be able to read ours.
    pub has_asked: bool,
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
    pub fn connect(segment: &Segment, arena: &mut Arena, me: u32, peer: u32) -> Result<Self, segment::Error> {
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
            parked: None,
            small_at: at,
            small: SMALL_RING,
            limit: usize::MAX,
            wishes: 0,
            unmeasured: 0,
            has_asked: false,
            pieces: 0,
            orders: Orders::default(),
            cells: Cells::default(),
            strained: 0,
            answers: answer.into_iter().collect(),
            queue: VecDeque::new(),
        })
    }

    /// The ring to a peer on another node, which the network channel reads here; and where it is.
    pub fn connect_remote(segment: &Segment, arena: &mut Arena) -> Result<(Self, Offset), segment::Error> {
        let at = arena.allocate(segment, ring::bytes_for(network::RING))?;
        let ring = Producer::new(mapped(segment, at, network::RING).expect("just taken"));
        let outbound = Self {
            ring,
            parked: None,
            small_at: at,
            small: network::RING,
            limit: network::LONGEST,
            wishes: 0,
            unmeasured: 0,
            has_asked: false,
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

    /// Does the receiver wish this message, which could go at once, to be announced? One that is packed is not worth it.
    #[inline]
    pub fn is_to_be_announced(&self, message: Message) -> bool {
        select::is_wished_announced(self.ring.wishes(), message.length as u64) && message.buffer.row().is_some()
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
        use isthmus_shm::ring::Memory;
        self.ring.memory().size()
    }

    /// How to copy a message into the ring, as its receiver wishes, and whether to measure it.
    #[inline]
    fn copying(&mut self, message: Message) -> (Copying, bool) {
        if message.buffer.row().is_none() {
            // It is packed, whatever the receiver wishes, and how long that takes says nothing about copies.
            return (Copying::Vector, false);
        }
        let wishes = select::ring_wishes(self.ring.wishes());
        if wishes != self.wishes {
            self.wishes = wishes;
            self.unmeasured = 0;
        }
        self.unmeasured += 1;
        let measure = self.unmeasured <= MEASURED || self.unmeasured.is_multiple_of(MEASURE_EVERY);
        (select::wish(wishes, message.length), measure)
    }

    /// Send a message in one record, if nothing is queued before it and there is room. The hot path.
    #[inline]
    pub fn try_eager(&mut self, message: Message) -> bool {
        self.queue.is_empty()
            && (message.length <= WHOLE.min(self.longest()) || self.cells.fit_whole(message.length))
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
        if length >= cells::WORTH
            && let Some(cell) = self.cells.fitting(length)
        {
            return self.put_in_cell(cell, message, 0);
        }
        if length < SHORT {
            if length >= cells::WORTH {
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
        if from > 0 {
            return self.put_with(Handler::MoreInCell, 0, 0, RESERVED, |_| {
                fill();
                in_cell
            });
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
        true
    }

    /// Queue a message or announcement behind what waits already.
    pub fn push(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// Take a message that waits for room, and of which nothing is out, from the queue.
    pub fn withdraw(&mut self, wanted: u32) -> bool {
        let at = self
            .queue
            .iter()
            .position(|queued| matches!(queued, Queued::Eager { op, begun: false, .. } if *op == wanted));
        at.is_some_and(|at| self.queue.remove(at).is_some())
    }

    /// The first message that waits for room, if nothing of it is out: to be announced instead.
    pub fn first_unbegun(&mut self) -> Option<(u32, Message)> {
        match self.queue.front() {
            Some(Queued::Eager {
                op,
                message,
                begun: false,
                ..
            }) => Some((*op, *message)),
            _ => None,
        }
    }

    /// Put an announcement in place of the first message of the queue.
    pub fn replace_first(&mut self, queued: Queued) {
        self.queue.pop_front();
        self.queue.push_front(queued);
    }

    /// The peer has died: nothing of what waits here goes out.
    pub fn abandon(&mut self) {
        self.answers.clear();
        for queued in self.queue.drain(..) {
            if let Queued::Eager { begun: true, cell, .. } = queued {
                self.cells.take_back(cell);
            }
        }
        self.orders.forget();
    }

    /// Answers that wait for room.
    pub fn unanswered(&self) -> usize {
        self.answers.len()
    }

    /// Queue an answer before everything else.
    pub fn answer(&mut self, answer: Answer) {
        self.answers.push_back(answer);
    }

    /// Write what there is room for; with `hold`, no message of which nothing is out yet. Operations whose buffers are free
    /// now go to `done`. True: something was written.
    pub fn flush(&mut self, done: &mut Vec<u32>, hold: bool) -> bool {
        let mut wrote = false;
        while let Some(&answer) = self.answers.front() {
            let written = match answer {
                Answer::ClearToSend(fixed) => self.put(Handler::ClearToSend, 0, fixed, NOTHING, 0),
                Answer::Help(fixed) => self.put(Handler::Help, 0, fixed, NOTHING, 0),
                Answer::Advertised(context, fixed) => self.put(Handler::Advertised, context.0, fixed, NOTHING, 0),
                Answer::CallFailed(context, fixed) => self.put(Handler::CallFailed, context.0, fixed, NOTHING, 0),
                Answer::Fed(fixed) => self.put(Handler::Fed, 0, fixed, NOTHING, 0),
                Answer::Finished(fixed) => self.put(Handler::Finished, 0, fixed, NOTHING, 0),
            };
            if !written {
                return wrote;
            }
            wrote = true;
            self.answers.pop_front();
        }
        while !(hold && self.first_unbegun().is_some()) {
            let Some(mut queued) = self.queue.pop_front() else {
                break;
            };
            let (progressed, finished) = self.advance(&mut queued);
            wrote |= progressed;
            match finished {
                Some(op) => done.extend(op),
                None => {
                    self.queue.push_front(queued);
                    break;
                }
            }
        }
        wrote
    }

    /// (whether something was written, `Some` once all of it is: with the operation that is done, if any)
    fn advance(&mut self, queued: &mut Queued) -> (bool, Option<Option<u32>>) {
        let longest = self.longest();
        let mut wrote = false;
        match queued {
            Queued::Announcement { context, record } => {
                let put = self.put(Handler::ReadyToSend, context.0, *record, NOTHING, RESERVED);
                if put {
                    let op = OpId(record.send_op);
                    self.orders
                        .sent_announcement(op, *context, record.envelope.tag, record.address != 0);
                }
                (put, put.then_some(None))
            }
            Queued::Eager {
                op,
                message,
                copying,
                begun,
                sent,
                cell,
            } => {
                if !*begun && message.length <= WHOLE.min(longest) {
                    let put = self.put_whole(*message);
                    return (put, put.then_some(Some(*op)));
                }
                if !*begun {
                    *cell = self.cells.fitting(message.length);
                }
                loop {
                    let rest = message.length - *sent;
                    if *begun && rest == 0 {
                        return (wrote, Some(Some(*op)));
                    }
                    let now = match cell {
                        Some(_) => cells::piece(message.length).min(rest),
                        None => piece(copying.0, message.length, rest).min(longest),
                    };
                    let put = if let Some(cell) = *cell {
                        self.put_in_cell(cell, *message, *sent)
                    } else if *begun {
                        let piece = Payload {
                            buffer: message.buffer,
                            from: *sent,
                            length: now,
                        };
                        self.put_by(copying.0, Handler::EagerMore, piece, |ticks| EagerMore {
                            ticks: ticks.into(),
                            zero: [0; 2],
                        })
                    } else {
                        self.put_first(*copying, *message, now)
                    };
                    if !put {
                        return (wrote, None);
                    }
                    wrote = true;
                    self.pieces = self.pieces.wrapping_add(1);
                    *begun = true;
                    *sent += now;
                }
            }
            Queued::Stream {
                op,
                receive_op,
                copying,
                buffer,
                next,
                end,
            } => {
                while next < end {
                    let now = piece(*copying, *end, *end - *next).min(longest);
                    let piece = Payload {
                        buffer: *buffer,
                        from: *next,
                        length: now,
                    };
                    let put = self.put_by(*copying, Handler::Data, piece, |ticks| {
                        mechanism::strike_piece(Direction::Push);
                        Data {
                            receive_op: *receive_op,
                            ticks,
                            offset: *next as u64,
                            zero_too: 0,
                        }
                    });
                    if !put {
                        return (wrote, None);
                    }
                    counters::RING_BYTES.add(now as u64);
                    self.pieces = self.pieces.wrapping_add(1);
                    wrote = true;
                    *next += now;
                }
                (wrote, Some(Some(*op)))
            }
        }
    }

    /// Is the large ring in use?
    pub fn is_leased(&self) -> bool {
        self.parked.is_some()
    }

    /// Would messages of `length` bytes, of which one found no room, gain from a large ring? Shorter ones do when that
    /// happens often.
    pub fn wants_lease(&mut self, length: usize) -> bool {
        if self.is_leased() {
            return false;
        }
        self.strained += 1;
        length > WHOLE.min(self.longest()) || self.strained > STRAIN
    }

    /// Go on in a large ring. False: no room for the record that says so; the lease goes back.
    pub fn lease(&mut self, segment: &Segment, at: Offset) -> bool {
        let Some(memory) = mapped(segment, at, large_ring(segment)) else {
            return false;
        };
        let switch = Switch {
            offset: at.0,
            size: large_ring(segment),
        };
        // Made before the peer can see it.
        let large = Producer::anew(memory);
        if !self.put(Handler::Switch, 0, switch, NOTHING, 0) {
            return false;
        }
        counters::RINGS_LEASED.add(1);
        self.parked = Some(std::mem::replace(&mut self.ring, large));
        true
    }

    /// If nothing waits, go back to the small ring; the large one is free once the returned producer is drained.
    pub fn end_lease(&mut self) -> Option<Producer<Mapped>> {
        if !self.is_leased() || !self.is_idle() {
            return None;
        }
        let switch = Switch {
            offset: self.small_at.0,
            size: self.small,
        };
        if !self.put(Handler::Switch, 0, switch, NOTHING, 0) {
            return None;
        }
        let small = self.parked.take()?;
        Some(std::mem::replace(&mut self.ring, small))
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

/// The large rings of this process: who has one, which are free.
#[derive(Debug, Default)]
pub struct Leases {
    made: u32,
    free: Vec<Offset>,
    /// Given back, but the peer has not seen the end of it yet.
    leaving: Vec<(u32, Offset, Producer<Mapped>)>,
    /// Who has which, least recently leased first.
    held: VecDeque<(u32, Offset)>,
}

// SAFETY: rings in the job segment, touched only by the thread inside the engine.
unsafe impl Send for Leases {}

impl Leases {
    /// A large ring for `peer`, if the budget allows. If not, the longest holder that is idle gives its ring back for
    /// later, and must be told (`Err`).
    pub fn take(
        &mut self,
        segment: &Segment,
        out: &mut [Option<Box<Outbound>>],
        peer: u32,
    ) -> Result<Offset, Option<u32>> {
        self.leaving.retain(|(_, offset, ring)| {
            let drained = ring.is_drained();
            if drained {
                self.free.push(*offset);
            }
            !drained
        });
        let offset = match self.free.pop() {
            Some(offset) => offset,
            None if self.made < MAX_LEASES => {
                // What cannot be had now is not asked for again: small rings do.
                self.made += 1;
                segment
                    .allocate(ring::bytes_for(large_ring(segment)))
                    .map_err(|_| None)?
            }
            None => return Err(self.recall(out)),
        };
        self.held.push_back((peer, offset));
        Ok(offset)
    }

    /// `take` was for nothing.
    pub fn put_back(&mut self, offset: Offset) {
        self.held.retain(|(_, held)| *held != offset);
        self.free.push(offset);
    }

    /// The peer has died: what it had, and what it would have had to read to its end, is free.
    pub fn reclaim(&mut self, dead: u32) {
        let free = &mut self.free;
        let mut keep = |peer: u32, offset: Offset| {
            if peer == dead {
                free.push(offset);
            }
            peer != dead
        };
        self.held.retain(|(peer, offset)| keep(*peer, *offset));
        self.leaving.retain(|(peer, offset, _)| keep(*peer, *offset));
    }

    /// Whose ring comes back.
    fn recall(&mut self, out: &mut [Option<Box<Outbound>>]) -> Option<u32> {
        for _ in 0..self.held.len() {
            let (peer, offset) = self.held.pop_front()?;
            match out[peer as usize].as_mut().and_then(|outbound| outbound.end_lease()) {
                Some(ring) => {
                    self.leaving.push((peer, offset, ring));
                    return Some(peer);
                }
                None => self.held.push_back((peer, offset)),
            }
        }
        None
    }
}
