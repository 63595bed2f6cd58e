//! Pieces of memory that operations have: which overlap, and whether they have changed.

use std::collections::BTreeMap;

use isthmus_engine::layout::Layout;
use isthmus_os::switches::Switch;
use smallvec::{SmallVec, smallvec};

use super::{Given, Use};

/// First byte, and the one behind the last.
pub(crate) type Piece = (u64, u64);

/// Pieces in order; most buffers have one.
pub(crate) type List = SmallVec<[Piece; 2]>;

/// Buffers of more pieces are not compared.
const MOST: usize = 64;

/// So many buffers of several pieces are compared as wholes, one by one; of more each piece is kept by itself.
const FEW: usize = 32;

/// Longer pieces may have been given back to the system by the program: it is asked before they are read.
const KEPT_BY_MALLOC: u64 = 64 << 10;

/// The pieces of a buffer, in order and apart; `None`: there are too many.
pub(super) fn of(given: &Given<'_>) -> Option<List> {
    if given.count <= 0 || given.datatype.size() == 0 {
        return None;
    }
    let base = given.buffer.expose_provenance() as u64;
    if given.datatype.is_contiguous() {
        let bytes = given.datatype.bytes(given.count).ok()?;
        return Some(smallvec![(base, base.checked_add_signed(bytes)?)]);
    }
    given.datatype.with_places(base, given.count, pieces_of).map(in_order)
}

/// The same bytes, by pieces in order of which none meet.
fn in_order(mut pieces: List) -> List {
    if pieces.is_sorted_by(|one, next| one.1 < next.0) {
        return pieces;
    }
    pieces.sort_unstable();
    pieces.dedup_by(|next, one| {
        let meets = next.0 <= one.1;
        if meets {
            one.1 = one.1.max(next.1);
        }
        meets
    });
    pieces
}

/// The pieces of several buffers, in order and apart; `None`: there are none, or too many.
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
    (!pieces.is_empty()).then(|| in_order(pieces))
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

/// Pieces of operations under way: of which buffers, and where.
#[derive(Default)]
pub(super) struct Pieces {
    /// Buffers of one piece, and what is beyond [`FEW`] others. (first byte, request, number of the piece): byte behind the last, use.
    all: BTreeMap<(u64, u32, usize), (u64, Use)>,
    /// No piece is longer.
    longest: u64,
    /// Buffers of several pieces.
    rows: Vec<BufferRows>,
}

/// A buffer of several pieces, which are in order and apart.
struct BufferRows {
    request: u32,
    does: Use,
    pieces: List,
}

/// A piece, and what an operation does with it.
pub(super) type Used = (Piece, Use);

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.rows.is_empty()
    }

    /// A request has such a buffer, whose pieces are in order and apart.
    pub fn add(&mut self, pieces: &[Piece], does: Use, request: u32) {
        if pieces.len() > 1 && self.rows.len() < FEW {
            self.rows.push(BufferRows {
                request,
                does,
                pieces: pieces.into(),
            });
            return;
        }
        for (number, &(start, end)) in pieces.iter().enumerate() {
            self.longest = self.longest.max(end - start);
            self.all.insert((start, request, number), (end, does));
        }
    }

    pub fn remove(&mut self, pieces: &[Piece], request: u32) {
        let is_it = |rows: &BufferRows| rows.request == request && rows.pieces[..] == *pieces;
        if let Some(at) = self.rows.iter().position(is_it) {
            self.rows.swap_remove(at);
            return;
        }
        for (number, &(start, _)) in pieces.iter().enumerate() {
            self.all.remove(&(start, request, number));
        }
        if self.all.is_empty() {
            self.longest = 0;
        }
    }

    /// A piece of these, which are in order and apart, that an operation of this use may not have; and the request that has it, and as what.
    pub fn meets(&self, pieces: &[Piece], does: Use) -> Option<(Piece, u32, Used)> {
        let conflicts = |theirs: Use| does == Use::Receives || theirs == Use::Receives;
        for rows in self.rows.iter().filter(|rows| conflicts(rows.does)) {
            if let Some((ours, theirs)) = common(pieces, &rows.pieces) {
                return Some((ours, rows.request, (theirs, rows.does)));
            }
        }
        let (first, last) = (pieces.first()?.0, pieces.last()?.1);
        let near = |(start, end): Piece| {
            let near = self.all.range((start.saturating_sub(self.longest), 0, 0)..(end, 0, 0));
            near.map(|(&(first, request, _), &(last, theirs))| (request, ((first, last), theirs)))
        };
        let may_meet = |(_, (_, theirs)): &(u32, Used)| conflicts(*theirs);
        // Those that are near are few, or each of ours is looked for.
        if pieces.len() > 1 && near((first, last)).nth(4 * pieces.len()).is_none() {
            return near((first, last)).filter(may_meet).find_map(|(request, used)| {
                let (ours, _) = common(pieces, &[used.0])?;
                Some((ours, request, used))
            });
        }
        pieces.iter().find_map(|piece| {
            let mut near = near(*piece).filter(may_meet);
            let (request, used) = near.find(|(_, ((_, last), _))| *last > piece.0)?;
            Some((*piece, request, used))
        })
    }
}

/// Two pieces that share bytes, of two lists in order.
pub(super) fn common(ours: &[Piece], theirs: &[Piece]) -> Option<(Piece, Piece)> {
    let (first, last) = (ours.first()?, ours.last()?);
    // The first of theirs that ends behind where ours begin.
    let mut at = theirs.partition_point(|their| their.1 <= first.0);
    if theirs.get(at).is_none_or(|their| their.0 >= last.1) {
        return None;
    }
    let mut own = ours.partition_point(|our| our.1 <= theirs[at].0);
    while let (Some(our), Some(their)) = (ours.get(own), theirs.get(at)) {
        if our.0 < their.1 && their.0 < our.1 {
            return Some((*our, *their));
        }
        if our.1 <= their.0 { own += 1 } else { at += 1 }
    }
    None
}

/// A number that changes if the bytes do; `None`: they are not there any more, or in memory of a device.
pub(super) fn sum(pieces: &[Piece]) -> Option<u64> {
    let mut sum = 0;
    for &(start, end) in pieces {
        let length = end - start;
        let is_readable = |start| isthmus_mem::kind_of(start).is_ok_and(|kind| !kind.is_device());
        if Switch::Devices.is_on() && !is_readable(std::ptr::with_exposed_provenance(start as usize)) {
            return None;
        }
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
    let words = length / 8;
    for word in whole * 4..words {
        // SAFETY: as above.
        lanes[0] = mix(lanes[0], unsafe { at.add(word * 8).cast::<u64>().read_unaligned() });
    }
    for rest in words * 8..length {
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
        let meets = |piece, does| pieces.meets(&[piece], does).map(|(_, request, _)| request);
        assert_eq!(meets((150, 160), Use::Sends), None);
        assert_eq!(meets((150, 160), Use::Receives), Some(1));
        assert_eq!(meets((50, 101), Use::Receives), Some(1));
        assert_eq!(meets((200, 300), Use::Receives), None);
        assert_eq!(meets((50, 500), Use::Sends), Some(2));
        pieces.remove(&[(400, 404)], 2);
        assert!(pieces.meets(&[(50, 500)], Use::Sends).is_none());
        pieces.remove(&[(100, 200), (300, 310)], 1);
        assert!(pieces.is_empty());
    }

    /// Buffers of several pieces, kept as wholes or piece by piece: against the definition.
    #[test]
    fn any_lists_meet_where_their_bytes_do() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut list = |most: u64| {
                let count = 1 + random(most);
                let pieces: List = (0..count)
                    .map(|_| {
                        let start = random(400);
                        (start, start + 1 + random(6))
                    })
                    .collect();
                in_order(pieces)
            };
            let held: Vec<List> = (0..FEW + 8).map(|_| list(4)).collect();
            let mut pieces = Pieces::default();
            let does = |request: usize| {
                if request.is_multiple_of(3) {
                    Use::Receives
                } else {
                    Use::Sends
                }
            };
            for (request, list) in held.iter().enumerate() {
                pieces.add(list, does(request), request as u32);
            }
            for gone in [3, FEW + 5, 0] {
                pieces.remove(&held[gone], gone as u32);
            }
            let asked = list(6);
            let shares = |list: &List| {
                list.iter()
                    .any(|one| asked.iter().any(|two| one.0 < two.1 && two.0 < one.1))
            };
            for ours in [Use::Sends, Use::Receives] {
                let theirs = held
                    .iter()
                    .enumerate()
                    .filter(|(request, _)| ![3, FEW + 5, 0].contains(request));
                let expected = theirs
                    .filter(|(request, _)| ours == Use::Receives || does(*request) == Use::Receives)
                    .any(|(_, list)| shares(list));
                let found = pieces.meets(&asked, ours);
                assert_eq!(found.is_some(), expected, "{asked:?} among {held:?}");
                if let Some((own, request, (theirs, _))) = found {
                    assert!(asked.contains(&own) && own.0 < theirs.1 && theirs.0 < own.1);
                    assert!(held[request as usize].contains(&theirs));
                }
            }
            for (request, list) in held.iter().enumerate() {
                pieces.remove(list, request as u32);
            }
            assert!(pieces.is_empty());
        }
    }

    #[test]
    fn pieces_are_put_in_order() {
        let list = |pieces: &[Piece]| in_order(pieces.into()).to_vec();
        assert_eq!(list(&[(8, 9), (1, 3), (2, 5), (5, 6)]), [(1, 6), (8, 9)]);
        assert_eq!(list(&[(1, 2), (3, 4)]), [(1, 2), (3, 4)]);
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
