//! Combining what all ranks have contributed, in the order of ranks: `c0 op (c1 op (... op cn))`.
//!
//! The order depends on nothing, so neither does the result: not on who combines, nor on how it is cut into parts.

use std::mem::MaybeUninit;

use super::LARGEST_ELEMENT;
use crate::coll::elements::Elements;
use crate::coll::link::Link;
use crate::coll::operand::Operand;
use crate::error::Result;
use crate::op::Reduction;

/// Bytes that are combined at a time, so that they stay in the nearest cache from one contribution to the next.
const BLOCK: usize = 4 << 10;

#[repr(align(64))]
struct Block([MaybeUninit<u8>; BLOCK]);

/// One rank's contribution.
#[derive(Clone, Copy)]
pub enum Part {
    /// Elements of our own.
    Own(*const u8),
    /// Elements as they cross, in shared memory.
    Shared(*const u8),
}

impl Part {
    fn address(self) -> *const u8 {
        match self {
            Self::Own(address) | Self::Shared(address) => address,
        }
    }
}

/// Put the combination of `parts`, `count` elements each, into `output`, which may overlap a part of our own, if
/// it begins no later.
///
/// # Safety
/// The parts must be readable and `output` writable; nothing else may overlap.
pub unsafe fn fold(link: &impl Link, operand: &Operand<'_>, parts: &[Part], output: *mut u8, count: i64) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match operand.reduction {
            Reduction::Kernel(kernel) if operand.datatype.is_contiguous() => {
                let size = operand.datatype.size() as usize;
                let mut block = Block([MaybeUninit::uninit(); BLOCK]);
                let length = count as usize * size;
                let (last, others) = parts.split_last().expect("somebody contributes");
                if others.is_empty() {
                    std::ptr::copy(last.address(), output, length);
                    return Ok(());
                }
                let is_hit = |part: &Part| matches!(*part, Part::Own(own) if overlap(own, output, length));
                // What is combined first may lie where the result goes.
                let aliased = others.iter().any(is_hit) || (is_hit(last) && last.address() != output);
                let mut done = 0;
                while done < count as usize {
                    let now = (BLOCK / size).min(count as usize - done);
                    let at = done * size;
                    let to = output.add(at);
                    let target = if aliased { block.0.as_mut_ptr().cast() } else { to };
                    let mut right = last.address().add(at);
                    for part in others.iter().rev() {
                        kernel(part.address().add(at), right, target, now);
                        right = target;
                    }
                    if right != to {
                        isthmus_engine::copy(right, to, now * size);
                    }
                    done += now;
                }
                Ok(())
            }
            _ => fold_any(link, operand, parts, output, count),
        }
    }
}

/// The same for elements with gaps, and for users' functions, which see no shared memory.
///
/// # Safety
/// As for [`fold`].
#[inline(never)]
unsafe fn fold_any(link: &impl Link, operand: &Operand<'_>, parts: &[Part], output: *mut u8, count: i64) -> Result<()> {
    let (result, left) = (operand.scratch(link, count)?, operand.scratch(link, count)?);
    let (last, others) = parts.split_last().expect("somebody contributes");
    // SAFETY: the caller's promise; scratch areas have room for the elements.
    unsafe {
        let fetch = |part: Part, to: *mut u8| match part {
            Part::Own(own) => operand.copy(link, own, to, count),
            Part::Shared(shared) => {
                operand.fetch(shared, to, count);
                Ok(())
            }
        };
        fetch(*last, result.elements)?;
        for part in others.iter().rev() {
            fetch(*part, left.elements)?;
            operand.combine(left.elements, result.elements, count);
        }
        operand.copy(link, result.elements, output, count)
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
                isthmus_engine::copy(from, to, length);
            }
        }
    }
}
