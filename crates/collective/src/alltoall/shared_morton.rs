//! Everyone shows its blocks; each rank then sorts a piece of the matrix of all blocks by receiver, a piece that is about as high
//! as it is wide, since the matrix is cut along Morton's curve; and everyone takes what is for it out of few such pieces.
//!
//! Source: Li, Zhang, Hoefler, "Cache-oblivious MPI all-to-all communications based on Morton order", IEEE TPDS 29(3), 2018, on
//! copies in shared memory, where one rank may not write into another's buffer.
//! Cost: twice (p - 1) n bytes in and out at each rank, in two steps; but each reads about sqrt(p) posts in each step, of
//! sqrt(p) blocks in a row, rather than p - 1 posts of one block: for blocks shorter than a line on many ranks.
//! Preconditions: a board; blocks of one length.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::elements::{self, Elements};
use crate::link::{Link, mismatched};
use crate::shared::Access;

/// # Safety
/// What `from` says must be readable, what `to` says writable.
#[twice]
pub async unsafe fn run<'a>(
    access: &Access<'_>,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let pieces = pieces(size);
    let (len, segment) = (to(rank).bytes(), access.longest_part());
    if from(rank).bytes() != len {
        access.mismatch(rank, from(rank).bytes(), len);
        return Ok(());
    }
    for done in (0..len).step_by(segment) {
        let now = segment.min(len - done);
        let (shown, sorted) = (access.step(), access.step());
        let expected = |of: usize, got: usize| match got == now {
            true => Ok(()),
            false => Err(mismatched(of, size, done + got, len)),
        };
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let pack = |other: usize, draft: *mut u8| from(other).pack_part(done, now, draft);
            let parts = access.parts(|_| now);
            let draft = access.draft(shown, parts.bytes).await?;
            access.post_parts(draft, parts, pack);
            let draft = access.draft(sorted, pieces[rank].len() * now).await?;
            for (index, pair) in pieces[rank].iter().enumerate() {
                access.read(pair.from, shown).await?;
                let part = access.part(pair.to, pair.from, shown)?;
                expected(pair.from, part.length)?;
                isthmus_engine::copy_for_others(part.data, draft.data.add(index * now), now);
            }
            access.post(&draft);
            for copier in (0..size).map(|i| (rank + i) % size) {
                let mine = pieces[copier].iter().enumerate().filter(|(_, pair)| pair.to == rank);
                for (index, pair) in mine {
                    let posted = access.read(copier, sorted).await?;
                    expected(copier, posted.length / pieces[copier].len())?;
                    to(pair.from).unpack_part(done, now, posted.data.add(index * now));
                }
            }
        }
        access.finish(sorted);
    }
    // SAFETY: the caller's promise.
    unsafe { elements::copy(access, from(rank), to(rank)) }
}

/// A block of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    from: usize,
    to: usize,
}

/// The blocks that each rank sorts.
type Pieces = &'static [Vec<Pair>];

/// The blocks that each rank sorts, by receiver: all but the diagonal, shared out along Morton's curve.
fn pieces(size: usize) -> Pieces {
    static PIECES: Mutex<Option<HashMap<usize, Pieces>>> = Mutex::new(None);
    let mut pieces = PIECES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = pieces.get_or_insert_default();
    known.entry(size).or_insert_with(|| cut(size).leak())
}

fn cut(size: usize) -> Vec<Vec<Pair>> {
    let side = size.next_power_of_two();
    let on_curve = |at: usize| Pair {
        from: every_second_bit(at >> 1),
        to: every_second_bit(at),
    };
    let is_block = |pair: &Pair| pair.from < size && pair.to < size && pair.from != pair.to;
    let curve: Vec<Pair> = (0..side * side).map(on_curve).filter(is_block).collect();
    let piece = |of: &[Pair]| {
        let mut piece = of.to_vec();
        piece.sort_by_key(|pair| (pair.to, pair.from));
        piece
    };
    match size {
        1 => vec![Vec::new()],
        _ => curve.chunks(size - 1).map(piece).collect(),
    }
}

/// The number made of bits 0, 2, 4 and so on.
fn every_second_bit(bits: usize) -> usize {
    (0..usize::BITS / 2).fold(0, |number, bit| number | (bits >> (2 * bit) & 1) << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_sorted_once_and_pieces_are_square() {
        for size in (1..=40).chain([64, 100]) {
            let pieces = pieces(size);
            assert_eq!(pieces.len(), size);
            assert!(pieces.iter().all(|piece| piece.len() == size - 1));
            let mut all: Vec<_> = pieces.iter().flatten().map(|pair| (pair.from, pair.to)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), size * (size - 1));
        }
        for piece in pieces(16) {
            let mut receivers: Vec<_> = piece.iter().map(|pair| pair.to).collect();
            receivers.dedup();
            assert!(receivers.len() <= 8, "{piece:?}");
        }
    }
}
