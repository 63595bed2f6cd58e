//! Records on their way into the ring.

use isthmus_os::clock;
use isthmus_shm::ring::{self, Header};
use isthmus_transfer::copy::Copying;

use super::pieces::{Payload, ticks_since, write_piece};
use super::{Message, Outbound};
use crate::channel::cells::{self, Cell};
use crate::channel::record::{EagerFirst, EagerMore, Fixed, FullLine, Handler, InCell};
use crate::counters;
use crate::limits::{CELL_FROM, ONE_LINE};

/// Bytes of the ring that only answers may use.
pub(super) const RESERVED: u64 = 4 * ring::LINE;

impl Outbound {
    /// One record for the whole message.
    #[inline]
    pub(super) fn put_whole(&mut self, message: Message) -> bool {
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
    pub(super) fn put_in_cell(&mut self, cell: Cell, message: Message, from: usize) -> bool {
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
    pub(super) fn put_first(&mut self, (copying, measure): (Copying, bool), message: Message, length: usize) -> bool {
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
    pub(super) fn put<T: Fixed>(
        &mut self,
        handler: Handler,
        context: u32,
        fixed: T,
        payload: Payload,
        spare: u64,
    ) -> bool {
        self.put_with(handler, context, payload.length, spare, |to| {
            // SAFETY: see `put_with`; the payload is the user's pending buffer.
            unsafe { payload.buffer.read(payload.from, payload.length, to) };
            fixed
        })
    }

    /// As [`Self::put`], with the payload copied that way; `fixed` is made of how long that took, in ticks.
    pub(super) fn put_by<T: Fixed>(
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
