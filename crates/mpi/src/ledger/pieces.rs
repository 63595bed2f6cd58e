//! Pieces of memory that operations have: which overlap, and whether they have changed.

use std::collections::BTreeMap;

use isthmus_engine::layout::Layout;
use smallvec::{SmallVec, smallvec};

use super::{Given, Use};

/// First byte, and the one behind the last.
pub(crate) type Piece = (u64, u64);

/// Pieces in order; most buffers have one.
pub(crate) type List = SmallVec<[Piece; 2]>;

/// Buffers of more pieces are not compared.
const MOST: usize = 64;

/// Longer pieces may have been given back to the system by the program: it is asked before they are read.
const KEPT_BY_MALLOC: u64 = 64 << 10;

/// The pieces of a buffer; `None`: there are too many.
pub(super) fn of(given: &Given<'_>) -> Option<List> {
    if given.count <= 0 || given.datatype.size() == 0 {
        return None;
    }
    let base = given.buffer.expose_provenance() as u64;
    if given.datatype.is_contiguous() {
        let bytes = given.datatype.bytes(given.count).ok()?;
        return Some(smallvec![(base, base.checked_add_signed(bytes)?)]);
    }
    given.datatype.with_places(base, given.count, pieces_of)
}

/// The pieces of several buffers; `None`: there are none, or too many.
pub(super) fn of_all<'a>(all: impl Iterator<Item = Given<'a>>) -> Option<List> {
    let mut pieces = List::new();
    for given in all.filter(|given| given.count > 0 && given.datatype.size() > 0) {
        for (start, behind) in of(&given)? {
            let is_full = pieces.len() == MOST;
            match pieces.last_mut() {
                // One buffer may go to several.
                Some(last) if *last == (start, behind) => {}
                Some((_, end)) if *end == start => *end = behind,
                _ if is_full => return None,
                _ => pieces.push((start, behind)),
            }
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// Where the bytes of a layout lie; `None`: in too many pieces, or beyond the last address.
pub(crate) fn pieces_of(layout: &Layout<'_>) -> Option<List> {
    let mut cursor = layout.cursor(0);
    let mut left = layout.length();
    let mut pieces = List::new();
    while left > 0 {
        let block = cursor.block();
        let length = block.length.min(left);
        let is_full = length == 0 || pieces.len() == MOST;
        match pieces.last_mut() {
            Some((_, end)) if *end == block.address => *end = end.checked_add(length)?,
            _ if is_full => return None,
            _ => pieces.push((block.address, block.address.checked_add(length)?)),
        }
        cursor.advance(length);
        left -= length;
    }
    Some(pieces)
}

/// Pieces of operations under way, by where they begin.
#[derive(Default)]
pub(super) struct Pieces {
    /// (first byte, request, number of the piece): byte behind the last, use.
    all: BTreeMap<(u64, u32, usize), (u64, Use)>,
    /// No piece is longer.
    longest: u64,
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn add(&mut self, pieces: &[Piece], does: Use, request: u32) {
        for (number, &(start, end)) in pieces.iter().enumerate() {
            self.longest = self.longest.max(end - start);
            self.all.insert((start, request, number), (end, does));
        }
    }

    pub fn remove(&mut self, pieces: &[Piece], request: u32) {
        for (number, &(start, _)) in pieces.iter().enumerate() {
            self.all.remove(&(start, request, number));
        }
        if self.all.is_empty() {
            self.longest = 0;
        }
    }

    /// A piece with which one of this use must not share bytes, and the request that has it.
    pub fn meets(&self, (start, end): Piece, does: Use) -> Option<(u32, (Piece, Use))> {
        let near = self.all.range((start.saturating_sub(self.longest), 0, 0)..(end, 0, 0));
        near.map(|(&(first, request, _), &(last, theirs))| (request, ((first, last), theirs)))
            .find(|(_, ((_, last), theirs))| *last > start && (does == Use::Receives || *theirs == Use::Receives))
    }
}

/// A number that changes if the bytes do; `None`: they are not there any more.
pub(super) fn sum(pieces: &[Piece]) -> Option<u64> {
    let mut sum = 0;
    for &(start, end) in pieces {
        let length = end - start;
        if length > KEPT_BY_MALLOC && !isthmus_os::mmap::is_mapped(start as usize, length as usize) {
            return None;
        }
        let at = std::ptr::with_exposed_provenance::<u8>(start as usize);
        // SAFETY: the program has given the bytes to an operation that reads them, and keeps them until its request is complete.
        sum = unsafe { sum_of(at, length as usize, sum) };
    }
    Some(sum)
}

/// Four lanes of eight bytes: as fast as memory.
///
/// # Safety
/// `length` bytes must be readable at `at`.
unsafe fn sum_of(at: *const u8, length: usize, seed: u64) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [seed, seed ^ 1, seed ^ 2, seed ^ 3];
    let mix = |lane: u64, word: u64| (lane.rotate_left(23) ^ word).wrapping_mul(MIX);
    let whole = length / 32;
    for block in 0..whole {
        // SAFETY: within the bytes; what another thread of the program writes meanwhile is its error, which shows in the sum.
        let words = unsafe { at.add(block * 32).cast::<[u64; 4]>().read_unaligned() };
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, word);
        }
    }
    for rest in whole * 32..length {
        // SAFETY: as above.
        lanes[0] = mix(lanes[0], u64::from(unsafe { at.add(rest).read() }));
    }
    lanes.into_iter().fold(length as u64, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_meet_where_one_is_written() {
        let mut pieces = Pieces::default();
        pieces.add(&[(100, 200), (300, 310)], Use::Sends, 1);
        pieces.add(&[(400, 404)], Use::Receives, 2);
        let meets = |piece, does| pieces.meets(piece, does).map(|(request, _)| request);
        assert_eq!(meets((150, 160), Use::Sends), None);
        assert_eq!(meets((150, 160), Use::Receives), Some(1));
        assert_eq!(meets((50, 101), Use::Receives), Some(1));
        assert_eq!(meets((200, 300), Use::Receives), None);
        assert_eq!(meets((50, 500), Use::Sends), Some(2));
        pieces.remove(&[(400, 404)], 2);
        assert_eq!(pieces.meets((50, 500), Use::Sends), None);
        pieces.remove(&[(100, 200), (300, 310)], 1);
        assert!(pieces.is_empty());
    }

    #[test]
    fn any_byte_changes_the_sum() {
        let mut bytes = [7u8; 75];
        let range = bytes.as_ptr_range();
        let whole = [(
            range.start.expose_provenance() as u64,
            range.end.expose_provenance() as u64,
        )];
        let before = sum(&whole);
        assert!(before.is_some());
        let mut flip_and_sum = |at: usize| {
            bytes[at] ^= 1;
            sum(&whole)
        };
        for at in 0..75 {
            assert_ne!(flip_and_sum(at), before, "byte {at}");
            assert_eq!(flip_and_sum(at), before, "byte {at}");
        }
    }
}
