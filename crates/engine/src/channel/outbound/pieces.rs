//! How a message is cut into records, how they are copied, and which of that is measured.

use isthmus_os::clock;
use isthmus_shm::occupancy;
use isthmus_transfer::copy::Copying;

use super::{Message, Outbound};
use crate::channel::hints;
use crate::limits::{
    EDGE, MEASURE_EVERY, MEASURED, OVERSUBSCRIBED_PIECE, STREAMING_PIECE_LEAST, STREAMING_PIECE_MOST,
    VECTOR_PIECE_LEAST, VECTOR_PIECE_MOST,
};
use crate::memory::buffer::Buffer;
use crate::memory::staging;
use crate::rules::Rule;
use crate::tunables;

/// Payload of the next record of a message of `total` bytes, of which `rest` are to go (docs/decisions/0009).
///
/// Short pieces let both sides copy at the same time. But a string copy pays for draining the lines it took, so few and
/// long pieces win there; and as the last ones in flight are copied out with nobody helping, a message is cut into at
/// least four (measured on Zen 5 at 128 KiB: 11.7 us in pieces of 4 KiB, 5.9 in 16, 5.5 in 32, 5.9 in 64).
pub(super) fn piece(copying: Copying, total: usize, rest: usize) -> usize {
    if !Rule::Pieces.holds() {
        return rest.min(tunables::PIECE.get() as usize);
    }
    match copying {
        Copying::Vector if occupancy::is_oversubscribed() => return rest.min(OVERSUBSCRIBED_PIECE),
        Copying::Vector => return rest.min((total / 2).clamp(VECTOR_PIECE_LEAST, VECTOR_PIECE_MOST)),
        Copying::Streaming => return rest.min((total / 2).clamp(STREAMING_PIECE_LEAST, STREAMING_PIECE_MOST)),
        Copying::RepMovsb => {}
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

/// The time since then; at least one.
#[inline]
pub(super) fn ticks_since(began: u64) -> u32 {
    clock::ticks().wrapping_sub(began).clamp(1, u64::from(u32::MAX)) as u32
}

/// Bytes of a pending operation's buffer.
#[derive(Clone, Copy)]
pub(super) struct Payload {
    pub buffer: Buffer,
    pub from: usize,
    pub length: usize,
}

impl Payload {
    /// No bytes.
    pub const NOTHING: Self = Self {
        buffer: Buffer::NOWHERE,
        from: 0,
        length: 0,
    };
}

/// Copy a piece of a message to `to`, in the ring. Where ranks take turns on the CPUs its reader learns nothing of how that is
/// best done, so it is done as for what is shown to all (docs/decisions/0007).
///
/// # Safety
/// As for [`Buffer::read`].
#[inline]
pub(super) unsafe fn write_piece(copying: Copying, piece: Payload, to: *mut u8) {
    let Payload { buffer, from, length } = piece;
    match buffer.row() {
        // SAFETY: the caller's promise.
        Some(at) if occupancy::is_oversubscribed() && Rule::RepMovsb.holds() => unsafe {
            staging::copy_for_others(at.add(from), to, length)
        },
        // SAFETY: as above.
        _ => unsafe { buffer.read_by(copying, from, length, to) },
    }
}

impl Outbound {
    /// How to copy a message into the ring, by its receiver's hint, and whether to measure it.
    #[inline]
    pub(super) fn copying(&mut self, message: Message) -> (Copying, bool) {
        if message.buffer.row().is_none() {
            // It is packed, whatever the receiver's hint, and how long that takes says nothing about copies.
            return (Copying::Vector, false);
        }
        let hints = hints::ring_hints(self.ring.hints());
        if hints != self.hints {
            self.hints = hints;
            self.unmeasured = 0;
        }
        self.unmeasured += 1;
        let measure = self.unmeasured <= MEASURED || self.unmeasured.is_multiple_of(MEASURE_EVERY);
        (hints::hint(hints, message.length), measure)
    }
}
