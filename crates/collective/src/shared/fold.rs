//! Combining what all ranks have contributed, in the order of ranks: `((c0 op c1) op c2) op ...`, as a loop over ranks would.
//!
//! The order depends on nothing, so neither does the result: not on who combines, nor on how it is cut into parts.

use std::mem::MaybeUninit;

use super::{Access, largest_element};
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use isthmus_datatype::Reduction;

/// Bytes that are combined at a time, so that they stay in the nearest cache from one contribution to the next.
const BLOCK: usize = 4 << 10;

#[repr(align(64))]
struct AlignedBytes([MaybeUninit<u8>; BLOCK]);

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
    let mut places = Places::new();
    let parts = places.of(ranks);
    for (rank, part) in parts.iter_mut().enumerate() {
        *part = if rank == me { own } else { at(rank)? };
    }
    let own = (me < ranks).then_some(me);
    // SAFETY: the caller's promise.
    unsafe { fold_parts(access, operand, parts, own, output, count) }
}

/// Contributions whose places are on the stack.
const FEW: usize = 64;

/// Where contributions lie. Of the room only what is asked for is written.
pub(super) struct Places {
    few: [MaybeUninit<*const u8>; FEW],
    many: Vec<*const u8>,
}

impl Places {
    pub fn new() -> Self {
        Self {
            few: [MaybeUninit::uninit(); FEW],
            many: Vec::new(),
        }
    }

    /// For so many.
    #[inline]
    pub fn of(&mut self, number: usize) -> &mut [*const u8] {
        if number <= FEW {
            let few = &mut self.few[..number];
            for place in few.iter_mut() {
                place.write(std::ptr::null());
            }
            // SAFETY: all of them were written just now.
            return unsafe { std::slice::from_raw_parts_mut(few.as_mut_ptr().cast(), number) };
        }
        self.many.resize(number, std::ptr::null());
        &mut self.many
    }
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
            // Pairs, too, lie as they cross, with the padding that kernels leave alone.
            Reduction::Kernel(kernel) if !operand.crosses_packed() => {
                let size = operand.crossing(1);
                let mut blocks = [const { AlignedBytes([MaybeUninit::uninit(); BLOCK]) }; 2];
                let length = count as usize * size;
                let (last, before) = parts.split_last().expect("somebody contributes");
                let is_contiguous = operand.datatype.is_contiguous();
                let [first, middle @ ..] = before else {
                    match is_contiguous {
                        true => std::ptr::copy(*last, output, length),
                        false => operand.copy(access, *last, output, count)?,
                    }
                    return Ok(());
                };
                // In between, results go to and fro between two blocks. The last one goes to the output, unless it comes of what
                // lies there: a right operand may lie exactly there.
                let is_hit = |part: *const u8| overlap(part, output, length);
                let is_left = own == Some(0) && middle.is_empty() && is_hit(*first);
                let is_right = own == Some(before.len()) && is_hit(*last) && *last != output;
                let is_aside = is_left || is_right || !is_contiguous;
                let mut done = 0;
                while done < count as usize {
                    let now = (BLOCK / size).min(count as usize - done);
                    let at = done * size;
                    let to = output.add(at);
                    let mut left = first.add(at);
                    let [mut free, mut used] = blocks.each_mut().map(|block| block.0.as_mut_ptr().cast::<u8>());
                    for part in middle {
                        kernel(left, part.add(at), free, now);
                        left = free;
                        std::mem::swap(&mut free, &mut used);
                    }
                    let target = if is_aside { free } else { to };
                    kernel(left, last.add(at), target, now);
                    match is_aside {
                        false => {}
                        true if is_contiguous => isthmus_engine::copy(target, to, now * size),
                        true => {
                            // The user may keep something between the elements.
                            let elements = |at: *mut u8| Elements::new(at.cast(), now as i64, operand.datatype);
                            elements(target).pack(used);
                            elements(to).unpack(used, elements(to).bytes());
                        }
                    }
                    done += now;
                }
                Ok(())
            }
            _ => fold_any(access, operand, parts, own, output, count),
        }
    }
}

/// The same for elements that cross packed, and for users' functions, which see no shared memory.
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
    let areas = [operand.scratch(access, count)?, operand.scratch(access, count)?];
    let [mut result, mut next] = areas.each_ref().map(|area| area.elements);
    let (first, others) = parts.split_first().expect("somebody contributes");
    // SAFETY: the caller's promise; scratch areas have room for the elements.
    unsafe {
        let fetch = |rank: usize, part: *const u8, to: *mut u8| match own {
            Some(own) if own == rank => operand.copy(access, part, to, count),
            _ => {
                operand.fetch(part, to, count);
                Ok(())
            }
        };
        fetch(0, *first, result)?;
        for (rank, part) in others.iter().enumerate() {
            fetch(rank + 1, *part, next)?;
            operand.combine(result, next, count);
            std::mem::swap(&mut result, &mut next);
        }
        operand.copy(access, result, output, count)
    }
}

/// Do regions of `length` bytes overlap?
pub fn overlap(left: *const u8, right: *const u8, length: usize) -> bool {
    left.addr().abs_diff(right.addr()) < length
}

impl Operand<'_> {
    /// Can these elements be combined in memory that so many ranks share?
    #[inline]
    pub fn crosses_small(&self, ranks: usize) -> bool {
        self.crossing(1) <= largest_element(ranks)
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
