//! Combining what all ranks have contributed, in the order of ranks: `c0 op (c1 op (... op cn))`.
//!
//! The order depends on nothing, so neither does the result: not on who combines, nor on how it is cut into parts.

use std::mem::MaybeUninit;

use super::{Access, LARGEST_ELEMENT, MOST_RANKS};
use crate::elements::Elements;
use crate::error::Result;
use crate::link::Link;
use crate::operand::Operand;
use isthmus_datatype::Reduction;

/// Bytes that are combined at a time, so that they stay in the nearest cache from one contribution to the next.
const BLOCK: usize = 4 << 10;

#[repr(align(64))]
struct Block([MaybeUninit<u8>; BLOCK]);

/// Combine the contributions of the first `ranks` ranks, `count` elements each, into `output`: one's own is `own`, and where
/// those of others are `at` says. `output` may overlap `own`, if it begins no later.
///
/// # Safety
/// All contributions must be readable and `output` writable; nothing else may overlap.
#[inline]
pub unsafe fn fold(
    access: &Access<'_>,
    operand: &Operand<'_>,
    ranks: usize,
    own: *const u8,
    at: impl Fn(usize) -> Result<*const u8>,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let me = access.rank();
    let mut parts = [own; MOST_RANKS];
    for (rank, part) in parts.iter_mut().enumerate().take(ranks).filter(|(rank, _)| *rank != me) {
        *part = at(rank)?;
    }
    let own = (me < ranks).then_some(me);
    // SAFETY: the caller's promise.
    unsafe { fold_parts(access, operand, &parts[..ranks], own, output, count) }
}

/// The same where all are known. The one at `own` is in memory of our own.
///
/// # Safety
/// As for [`fold`].
pub unsafe fn fold_parts(
    access: &Access<'_>,
    operand: &Operand<'_>,
    parts: &[*const u8],
    own: Option<usize>,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match operand.reduction {
            Reduction::Kernel(kernel) if operand.datatype.is_contiguous() => {
                let size = operand.datatype.size() as usize;
                let mut block = Block([MaybeUninit::uninit(); BLOCK]);
                let length = count as usize * size;
                let (last, others) = parts.split_last().expect("somebody contributes");
                if others.is_empty() {
                    std::ptr::copy(*last, output, length);
                    return Ok(());
                }
                // What is combined first may lie where the result goes.
                let is_hit = |own: usize| overlap(parts[own], output, length);
                let aliased = own.is_some_and(|own| is_hit(own) && !(own == others.len() && parts[own] == output));
                let mut done = 0;
                while done < count as usize {
                    let now = (BLOCK / size).min(count as usize - done);
                    let at = done * size;
                    let to = output.add(at);
                    let target = if aliased { block.0.as_mut_ptr().cast() } else { to };
                    let mut right = last.add(at);
                    for part in others.iter().rev() {
                        kernel(part.add(at), right, target, now);
                        right = target;
                    }
                    if right != to {
                        isthmus_engine::copy(right, to, now * size);
                    }
                    done += now;
                }
                Ok(())
            }
            _ => fold_any(access, operand, parts, own, output, count),
        }
    }
}

/// The same for elements with gaps, and for users' functions, which see no shared memory.
///
/// # Safety
/// As for [`fold`].
#[inline(never)]
unsafe fn fold_any(
    access: &Access<'_>,
    operand: &Operand<'_>,
    parts: &[*const u8],
    own: Option<usize>,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let (result, left) = (operand.scratch(access, count)?, operand.scratch(access, count)?);
    let (last, others) = parts.split_last().expect("somebody contributes");
    // SAFETY: the caller's promise; scratch areas have room for the elements.
    unsafe {
        let fetch = |rank: usize, part: *const u8, to: *mut u8| match own {
            Some(own) if own == rank => operand.copy(access, part, to, count),
            _ => {
                operand.fetch(part, to, count);
                Ok(())
            }
        };
        fetch(others.len(), *last, result.elements)?;
        for (rank, part) in others.iter().enumerate().rev() {
            fetch(rank, *part, left.elements)?;
            operand.combine(left.elements, result.elements, count);
        }
        operand.copy(access, result.elements, output, count)
    }
}

/// Do regions of `length` bytes overlap?
pub fn overlap(left: *const u8, right: *const u8, length: usize) -> bool {
    left.addr().abs_diff(right.addr()) < length
}

impl Operand<'_> {
    /// Can these elements be combined in shared memory?
    #[inline]
    pub fn crosses_small(&self) -> bool {
        self.crossing(1) <= LARGEST_ELEMENT
    }

    /// Bytes of `count` elements as they cross.
    #[inline]
    pub fn crossing(&self, count: i64) -> usize {
        let each = if self.crosses_packed() {
            self.datatype.size()
        } else {
            self.datatype.extent()
        };
        (count * each) as usize
    }

    /// Write elements as they cross.
    ///
    /// # Safety
    /// `from` must hold `count` elements and `to` have room for [`Self::crossing`] bytes.
    #[inline]
    pub unsafe fn put(&self, from: *const u8, count: i64, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.crosses_packed() {
                Elements::new(from.cast(), count, self.datatype).pack(to);
            } else {
                isthmus_engine::copy_for_others(from, to, self.crossing(count));
            }
        }
    }

    /// Take elements that have crossed into memory of our own, gaps included.
    ///
    /// # Safety
    /// `from` must hold [`Self::crossing`] bytes, `to` have room for `count` elements, gaps included.
    #[inline]
    pub unsafe fn fetch(&self, from: *const u8, to: *mut u8, count: i64) {
        let length = self.crossing(count);
        // SAFETY: the caller's promise.
        unsafe {
            if self.crosses_packed() {
                Elements::new(to.cast(), count, self.datatype).unpack(from, length);
            } else {
                isthmus_engine::copy_from_others(from, to, length);
            }
        }
    }
}
