//! Accumulates on elements that lie in many blocks, in memory that is reached by copies: so many blocks as fit are read by one copy, combined
//! here, and written by one.
//!
//! The locks of all these elements are held meanwhile, taken in the order of their stripes, so that no two origins wait for each other.

use super::super::locks::{self, SPAN};
use super::super::target::Target;
use super::super::{home, mailbox};
use super::{Combine, Operator};
use super::{apply_alone, fetch_from, store_to};
use crate::limits::{GATHERED_BLOCKS, GATHERED_FROM};
use crate::{Error, Result};
use isthmus_transfer::layout::Cursor;
use isthmus_transfer::{Layout, Span};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};

/// Bytes of elements that are combined at a time.
const ROOM: usize = SPAN as usize;

/// Where an accumulate has come to, on all its sides.
#[derive(Clone)]
pub(super) struct Sides<'a> {
    /// Offsets in the region.
    pub there: Cursor<'a>,
    pub operands: Option<Cursor<'a>>,
    pub results: Option<Cursor<'a>>,
}

impl Sides<'_> {
    /// How many elements of `width` bytes lie in a row on each side. 0: some side has the next one in several pieces.
    pub fn row(&self, width: u64) -> u64 {
        let room = |side: &Option<Cursor<'_>>| side.as_ref().map_or(u64::MAX, |side| side.block().length);
        let there = self.there.block().length;
        there.min(room(&self.operands)).min(room(&self.results)) / width
    }

    /// The next operand; null: there are none.
    pub fn operand(&self) -> *const u8 {
        self.operands
            .as_ref()
            .map_or(null(), |side| address_of(side).cast_const())
    }

    /// Where the next result goes; null: nobody wants it.
    pub fn result(&self) -> *mut u8 {
        self.results.as_ref().map_or(null_mut(), address_of)
    }

    /// Go on by as many bytes, which must be within the row.
    pub fn advance(&mut self, bytes: u64) {
        self.there.advance(bytes);
        for side in [&mut self.operands, &mut self.results].into_iter().flatten() {
            side.advance(bytes);
        }
    }
}

fn address_of(side: &Cursor<'_>) -> *mut u8 {
    with_exposed_provenance_mut(side.block().address as usize)
}

/// Combine the next of `left` elements together, and go on behind them. The answer is how many; 0: they are better done one by one.
///
/// # Errors
/// [`Error::Unreachable`]: single copies are refused, nothing was changed, and the sides are where they were. Other errors as for
/// [`Flow::accumulate`](super::Flow::accumulate).
///
/// # Safety
/// The elements must be in the region, readable at the operands unless it is a no-op, and writable at the results. The region must be one
/// that is reached by copies, and that this can be done was found out.
pub(super) unsafe fn combine_next(target: &Target, sides: &mut Sides<'_>, left: u64, combine: &Combine) -> Result<u64> {
    let width = u64::from(combine.width);
    let mut blocks = [Span { address: 0, length: 0 }; GATHERED_BLOCKS];
    let group = collect(target, sides, left, width, &mut blocks)?;
    if group.pieces < 2 || group.pieces < GATHERED_FROM && mailbox::is_progressing(target) {
        return Ok(0);
    }
    let there = Layout::Spans(&blocks[..group.blocks]);
    let mut elements = [0u8; ROOM];
    let elements = elements.as_mut_ptr();
    let is_replaced = sides.results.is_none() && combine.operator == Operator::Replace;
    let _held = target.locks.hold_all(home()?, group.stripes);
    if !is_replaced {
        // SAFETY: the elements are in the region, and no more than there is room for.
        unsafe { fetch_from(target, &there, elements) }?;
    }
    let (mut at, mut done) = (0, sides.clone());
    while at < group.bytes {
        let count = done.row(width).min((group.bytes - at) / width);
        // SAFETY: the caller's promise; the copy is ours, and has the elements in the same order.
        unsafe {
            let copied = elements.add(at as usize);
            apply_alone(copied, done.operand(), done.result(), count as usize, combine);
        }
        at += count * width;
        done.advance(count * width);
    }
    if combine.operator != Operator::NoOp {
        // SAFETY: as above.
        match unsafe { store_to(target, &there, elements) } {
            // It can be done again.
            Err(Error::BadKey { peer, .. }) if is_replaced => return Err(super::unreachable(peer)),
            stored => stored?,
        }
    }
    *sides = done;
    Ok(group.bytes / width)
}

/// Elements that are combined together.
struct Group {
    bytes: u64,
    /// How many rows they are, as all sides have them.
    pieces: usize,
    /// How many blocks they lie in at the target.
    blocks: usize,
    /// A bit for each lock that they need.
    stripes: u64,
}

/// The elements that follow, as far as they fit; no byte is among them twice. Their `blocks` are addresses of the owner.
fn collect(
    target: &Target,
    sides: &Sides<'_>,
    left: u64,
    width: u64,
    blocks: &mut [Span; GATHERED_BLOCKS],
) -> Result<Group> {
    let mut group = Group {
        bytes: 0,
        pieces: 0,
        blocks: 0,
        stripes: 0,
    };
    let mut ahead = sides.clone();
    let (mut low, mut high) = (u64::MAX, 0);
    while group.bytes < left * width {
        let length = ahead.row(width).min(left - group.bytes / width) * width;
        if length == 0 || length > ROOM as u64 - group.bytes {
            break;
        }
        let address = locks::address(target.base(), ahead.there.block().address)?;
        let end = locks::address(address, length)?;
        if low < end && address < high {
            // Some of it may be among them.
            break;
        }
        match group.blocks.checked_sub(1).map(|last| &mut blocks[last]) {
            Some(last) if last.address + last.length == address => last.length += length,
            _ if group.blocks == GATHERED_BLOCKS => break,
            _ => {
                blocks[group.blocks] = Span { address, length };
                group.blocks += 1;
            }
        }
        group.stripes |= locks::stripes(address, end - width);
        (low, high) = (low.min(address), high.max(end));
        group.bytes += length;
        group.pieces += 1;
        ahead.advance(length);
    }
    Ok(group)
}
