//! Accumulates: element by element, each atomically, by the rule of the region.

mod gathered;

use std::ops::Range;
use std::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};

use isthmus_transfer::copy::copy;
use isthmus_transfer::layout::Cursor;
use isthmus_transfer::{Direction, Layout, Span};

use super::atomic::RowCombine;
use super::combine::{Combine, Operator, WIDEST};
use super::flow::{Flow, check_alive, copy_short, settle};
use super::locks::SPAN;
use super::mailbox::{self, Asked, Outcome};
use super::region::Atomicity;
use super::service::{FlowId, What};
use super::target::Target;
use super::{atomic, both_ends, home, locks, long, protocols, service};
use crate::limits::LOCKED_FROM;
use crate::{Error, Result, counters};
use gathered::Sides;

const WIDEST_BYTES: usize = WIDEST as usize;

impl Flow {
    /// Combine the elements of `from`, addresses here, into those of `at`, offsets in the region. For a no-op `from` is not looked at.
    ///
    /// # Errors
    /// As for [`Flow::put`]; or a layout is not made of whole elements.
    ///
    /// # Safety
    /// The bytes of `from` must be readable until the operation is over locally.
    pub unsafe fn accumulate(
        &self,
        target: &Target,
        at: &Layout<'_>,
        from: &Layout<'_>,
        combine: Combine,
    ) -> Result<()> {
        if combine.operator == Operator::NoOp {
            target.check_layout(at)?;
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.combine(target, at, Some(from), None, combine) }
    }

    /// As [`Self::accumulate`], and what was there before goes to `result`, addresses here.
    ///
    /// # Errors
    /// As for [`Self::accumulate`].
    ///
    /// # Safety
    /// As for [`Self::accumulate`], and the bytes of `result` must be writable.
    pub unsafe fn get_accumulate(
        &self,
        target: &Target,
        at: &Layout<'_>,
        from: &Layout<'_>,
        result: &Layout<'_>,
        combine: Combine,
    ) -> Result<()> {
        let from = (combine.operator != Operator::NoOp).then_some(from);
        // SAFETY: the caller's promise.
        unsafe { self.combine(target, at, from, Some(result), combine) }
    }

    /// Combine one element into that at offset `at`, and tell what was there.
    ///
    /// # Errors
    /// As for [`Self::accumulate`].
    ///
    /// # Safety
    /// `operand` must be readable, unless it is a no-op, and `result` writable, or null, for an element.
    #[inline]
    pub unsafe fn fetch_op(
        &self,
        target: &Target,
        at: u64,
        operand: *const u8,
        result: *mut u8,
        combine: Combine,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.combine_row(target, at, operand, result, 1, &combine) }
    }

    /// Combine `count` elements, which lie in a row everywhere, into those from offset `at` on, and tell what was there.
    ///
    /// # Errors
    /// As for [`Self::accumulate`].
    ///
    /// # Safety
    /// `operand` must be readable, unless it is a no-op, and `result` writable, or null, for as many elements.
    pub unsafe fn combine_row(
        &self,
        target: &Target,
        at: u64,
        operand: *const u8,
        result: *mut u8,
        count: usize,
        combine: &Combine,
    ) -> Result<()> {
        let bytes = (count as u64).saturating_mul(u64::from(combine.width));
        target.check(at, bytes)?;
        if count == 0 || combine.operator == Operator::NoOp && result.is_null() {
            return Ok(());
        }
        check_alive(target.peer())?;
        self.stores();
        if reads(result, combine.operator) {
            settle();
        }
        if target.is_elsewhere() {
            let there = Layout::contiguous(at, bytes);
            // SAFETY: the caller's promise.
            unsafe { by_calls(self.id(), target, &there, operand, result, combine) }?;
            return Ok(());
        }
        // SAFETY: the caller's promise, and the elements are in the region.
        unsafe { in_a_row(target, at, operand, result, count, combine) }?;
        Ok(())
    }

    /// As [`Self::combine_row`] of one element or more, if the elements are mapped and can be changed at once: a single one by an instruction,
    /// others under one lock that everybody takes already. False: nothing was done, and no error was looked for.
    ///
    /// # Safety
    /// As for [`Self::combine_row`].
    #[inline(always)] // Half of what a short one costs is calls.
    pub unsafe fn combine_mapped(
        &self,
        target: &Target,
        at: u64,
        operand: *const u8,
        result: *mut u8,
        count: usize,
        row: &RowCombine,
    ) -> bool {
        // By reference: what was just written field by field is not to be read as a whole.
        let RowCombine { combine, single } = row;
        let bytes = (count as u64).saturating_mul(u64::from(combine.width));
        let (Some(there), Ok(home)) = (target.mapped_at(at, bytes), home()) else {
            return false;
        };
        let is_by_elements = target.atomicity() == Atomicity::Elements;
        if is_by_elements
            && count == 1
            && let Some(single) = single
            && there.addr() & (combine.width as usize - 1) == 0
            && let Some(_guard) = target.enter_section(home)
        {
            if !atomic::ORDERS {
                self.stores();
            }
            if reads(result, combine.operator) {
                settle();
            }
            // SAFETY: the caller's promise; all access the element by instructions.
            unsafe { single(there, operand, result) };
            return true;
        }
        let address = target.base().wrapping_add(at);
        if is_by_elements && !target.locks.phase(target.phase).is_locked() || bytes > SPAN - address % SPAN {
            return false;
        }
        self.stores();
        if !atomic::ORDERS && !result.is_null() {
            settle();
        }
        let _held = target.locks.hold(home, address);
        // SAFETY: the caller's promise; the elements are in the region, and all who change them take the lock.
        unsafe { apply_alone(there, operand, result, count, combine) };
        true
    }

    /// Replace the element of `width` bytes (1, 2, 4, 8 or 16) at offset `at` by `swap` if it equals `compare`, and tell what was there.
    ///
    /// # Errors
    /// As for [`Self::accumulate`].
    ///
    /// # Safety
    /// `compare` and `swap` must be readable, and `result` writable, for as many bytes.
    #[inline]
    pub unsafe fn compare_swap(
        &self,
        target: &Target,
        at: u64,
        width: u32,
        compare: *const u8,
        swap: *const u8,
        result: *mut u8,
    ) -> Result<()> {
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return Err(Error::Mismatch(
                "compare-and-swap of elements of other than 1, 2, 4, 8 or 16 bytes",
            ));
        }
        target.check(at, u64::from(width))?;
        check_alive(target.peer())?;
        let home = home()?;
        let by_instruction = by_instruction(target, at, width);
        if by_instruction.is_none() || !atomic::ORDERS {
            self.stores();
            settle();
        }
        if let Some(address) = by_instruction
            && let Some(_guard) = target.enter_section(home)
        {
            // SAFETY: the caller's promise; the element is in the region, and all access it so.
            unsafe { atomic::compare_swap(with_exposed_provenance_mut(address), width, compare, swap, result) };
            return Ok(());
        }
        if target.shift().is_none() {
            let bytes = width as usize;
            let mut operands = [0u8; 2 * 16];
            let asked = Asked {
                width,
                ..Asked::plain(What::CompareSwap)
            };
            // SAFETY: the caller's promise; two elements of at most 16 bytes fit.
            let done = unsafe {
                operands.as_mut_ptr().copy_from_nonoverlapping(compare, bytes);
                operands.as_mut_ptr().add(bytes).copy_from_nonoverlapping(swap, bytes);
                mailbox::ask(
                    target,
                    asked,
                    at,
                    bytes,
                    (operands.as_ptr(), 2 * bytes),
                    (result, bytes),
                )?
            };
            if done {
                return Ok(());
            }
        }
        if target.needs_calls() {
            // SAFETY: as above.
            unsafe { service::compares(self.id(), target, at, width, compare, swap, result) }?;
            return Ok(());
        }
        let address = locks::address(target.base(), at)?;
        let length = width as usize;
        let held = target.locks.hold(home, address);
        if let Some(address) = by_instruction {
            // Some may still go by instructions.
            // SAFETY: as above.
            unsafe { atomic::compare_swap(with_exposed_provenance_mut(address), width, compare, swap, result) };
            return Ok(());
        }
        let mut old = [0u8; 16];
        // SAFETY: the caller's promise; the element is in the region.
        let done = unsafe {
            fetch(target, at, old.as_mut_ptr(), length).and_then(|()| {
                match std::slice::from_raw_parts(compare, length) == &old[..length] {
                    true => store(target, at, swap, length),
                    false => Ok(()),
                }
            })
        };
        drop(held);
        match done {
            // Refused just now, before anything was changed.
            Err(Error::Unreachable { .. }) => {
                // SAFETY: as above.
                unsafe { service::compares(self.id(), target, at, width, compare, swap, result) }?;
            }
            // SAFETY: as above.
            Ok(()) => unsafe { result.copy_from_nonoverlapping(old.as_ptr(), length) },
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Self::get_accumulate`].
    unsafe fn combine(
        &self,
        target: &Target,
        at: &Layout<'_>,
        from: Option<&Layout<'_>>,
        result: Option<&Layout<'_>>,
        combine: Combine,
    ) -> Result<()> {
        let (length, width) = (at.length(), u64::from(combine.width));
        let differs = |other: Option<&Layout<'_>>| other.is_some_and(|other| other.length() != length);
        if differs(from) || differs(result) {
            return Err(Error::Mismatch("origin, target and result differ in length"));
        }
        if !length.is_multiple_of(width) {
            return Err(Error::Mismatch("bytes that are no whole number of elements"));
        }
        if length == 0 {
            return Ok(());
        }
        target.check_layout(at)?;
        check_alive(target.peer())?;
        self.stores();
        if result.is_some() {
            settle();
        }
        let is_contiguous = |side: &Layout<'_>| matches!(side, Layout::Contiguous(_));
        let is_row = is_contiguous(at) && from.is_none_or(is_contiguous) && result.is_none_or(is_contiguous);
        // One that can be asked for in shared memory is tried there first.
        if !(is_row && mailbox::is_progressing(target)) && target.needs_calls() {
            // SAFETY: the caller's promise.
            unsafe { service::accumulates(self.id(), target, at, from, result, &combine, 0..length) }?;
            return Ok(());
        }
        let mut sides = Sides {
            there: at.cursor(0),
            operands: from.map(|from| from.cursor(0)),
            results: result.map(|result| result.cursor(0)),
        };
        let is_gathered = !is_row && target.shift().is_none();
        let mut left = length / width;
        while left > 0 {
            if is_gathered {
                // SAFETY: the caller's promise; whether its bytes are reached by copies was found out above.
                match unsafe { gathered::combine_next(target, &mut sides, left, &combine) } {
                    Ok(0) => {}
                    Ok(count) => {
                        left -= count;
                        continue;
                    }
                    // Refused: the rest by calls.
                    Err(Error::Unreachable { .. }) => {
                        let rest = length - left * width..length;
                        // SAFETY: the caller's promise.
                        unsafe { service::accumulates(service::OF_NODE, target, at, from, result, &combine, rest) }?;
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
            let count = sides.row(width).min(left);
            if count == 0 {
                // SAFETY: the caller's promise.
                unsafe { straddling(target, &mut sides, &combine) }?;
                left -= 1;
                continue;
            }
            let (operand, result) = (sides.operand(), sides.result());
            // SAFETY: the caller's promise; so many elements are within all blocks.
            unsafe {
                let at = sides.there.block().address;
                in_a_row(target, at, operand, result, count as usize, &combine)
            }?;
            sides.advance(count * width);
            left -= count;
        }
        Ok(())
    }
}

/// Does an operation load something that earlier stores may not have left for? An instruction that changes an element, and one that takes a
/// lock, waits for them by itself.
#[inline]
fn reads(result: *const u8, operator: Operator) -> bool {
    !result.is_null() && (operator == Operator::NoOp || !atomic::ORDERS)
}

/// The address here of an element that atomic instructions serve, for all who access the region.
#[inline]
fn by_instruction(target: &Target, at: u64, width: u32) -> Option<usize> {
    let address = target.shift()?.wrapping_add(at as usize);
    (target.atomicity() == Atomicity::Elements && atomic::serves(width, address)).then_some(address)
}

/// Combine `count` elements that lie in a row everywhere.
///
/// # Safety
/// The elements must be in the region, readable at `operand` unless it is a no-op, and writable at `result` if it is not null.
#[inline]
unsafe fn in_a_row(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    count: usize,
    combine: &Combine,
) -> Result<()> {
    if let Some(address) = by_instruction(target, at, combine.width) {
        let home = home()?;
        if count * combine.width as usize >= LOCKED_FROM && !target.locks.phase(target.phase).is_locked() {
            target.locks.go_over(home, target.phase);
        }
        if let Some(_guard) = target.enter_section(home) {
            // SAFETY: the caller's promise; all access these elements by instructions, being of one region.
            unsafe { atomic::apply(combine, with_exposed_provenance_mut(address), operand, result, count) };
            return Ok(());
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        if target.shift().is_some() {
            return under_locks(target, at, operand, result, count, combine);
        }
        let bytes = count * combine.width as usize;
        if protocols::is_short(bytes) {
            return match ask(target, at, operand, result, bytes, combine)? {
                true => Ok(()),
                false => under_locks(target, at, operand, result, count, combine),
            };
        }
        long::of(target.peer())?.sums.go(
            bytes as u64,
            || ask_in_pieces(target, at, operand, result, bytes, combine),
            || {
                if result.is_null() && ask_to_pull(target, at, operand, bytes, combine)? != Outcome::Not {
                    return Ok(());
                }
                under_locks(target, at, operand, result, count, combine)
            },
        )
    }
}

/// Combine elements that nobody else changes meanwhile.
///
/// # Safety
/// As for [`in_a_row`], with elements at `there`.
#[inline]
unsafe fn apply_alone(there: *mut u8, operand: *const u8, result: *mut u8, count: usize, combine: &Combine) {
    // SAFETY: the caller's promise.
    unsafe {
        if !result.is_null() {
            match count * combine.width as usize {
                bytes @ ..=8 => copy_short(there, result, bytes),
                bytes => result.copy_from_nonoverlapping(there, bytes),
            }
        }
        if combine.operator != Operator::NoOp {
            (combine.kernel)(operand, there, there, count);
        }
    }
}

/// What a target is asked to do.
fn asked(result: *const u8, combine: &Combine) -> Asked<'_> {
    let what = match result.is_null() {
        true => What::Accumulate,
        false => What::GetAccumulate,
    };
    Asked::combining(what, combine)
}

/// Have the target combine the elements of few bytes, if it waits inside the library. False: it does not, and nothing was done.
///
/// # Safety
/// As for [`in_a_row`].
unsafe fn ask(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    bytes: usize,
    combine: &Combine,
) -> Result<bool> {
    let wanted = if result.is_null() { 0 } else { bytes };
    let given = if combine.operator == Operator::NoOp { 0 } else { bytes };
    let asked = asked(result, combine);
    // SAFETY: the caller's promise.
    unsafe { mailbox::ask(target, asked, at, bytes, (operand, given), (result, wanted)) }
}

/// As [`ask`], of many, of which the target copies the operands.
///
/// # Safety
/// As for [`in_a_row`].
unsafe fn ask_to_pull(
    target: &Target,
    at: u64,
    operand: *const u8,
    bytes: usize,
    combine: &Combine,
) -> Result<Outcome> {
    if combine.operator == Operator::NoOp {
        return Ok(Outcome::Not);
    }
    let width = combine.width as usize;
    let asked = Asked::combining(What::Accumulate, combine);
    let places = (at, operand.expose_provenance() as u64);
    // SAFETY: the caller's promise.
    let mut alone = |range| unsafe { part_under_locks(target, at, operand, null_mut(), range, combine) };
    // SAFETY: the caller's promise.
    unsafe { both_ends::ask(target, asked, places, (bytes as u64, width as u64), false, &mut alone) }
}

/// As [`ask`], of many.
///
/// # Safety
/// As for [`in_a_row`].
unsafe fn ask_in_pieces(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    bytes: usize,
    combine: &Combine,
) -> Result<Outcome> {
    let width = combine.width as usize;
    let is_kept = combine.operator == Operator::NoOp;
    let asked = asked(result, combine);
    let length = |range: &Range<u64>| (range.end - range.start) as usize;
    let mut sides = mailbox::Sides {
        // SAFETY: the caller's promise; the box has room for as many bytes.
        fill: &mut |range, room| unsafe {
            if !is_kept {
                copy(operand.add(range.start as usize), room, length(&range));
            }
        },
        // SAFETY: as above.
        read: &mut |range, room| unsafe { copy(room, result.add(range.start as usize), length(&range)) },
        // SAFETY: the caller's promise.
        otherwise: &mut |range| unsafe { part_under_locks(target, at, operand, result, range, combine) },
    };
    mailbox::ask_in_pieces(target, asked, at, 0..bytes as u64, width as u64, &mut sides)
}

/// As [`under_locks`], of the bytes `range` of all.
///
/// # Safety
/// As for [`in_a_row`].
unsafe fn part_under_locks(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    range: Range<u64>,
    combine: &Combine,
) -> Result<()> {
    let skip = range.start as usize;
    let count = (range.end - range.start) as usize / combine.width as usize;
    let result = if result.is_null() {
        result
    } else {
        result.wrapping_add(skip)
    };
    // SAFETY: the caller's promise.
    unsafe {
        under_locks(
            target,
            at + range.start,
            operand.wrapping_add(skip),
            result,
            count,
            combine,
        )
    }
}

/// # Safety
/// As for [`in_a_row`].
unsafe fn under_locks(
    target: &Target,
    mut at: u64,
    mut operand: *const u8,
    mut result: *mut u8,
    count: usize,
    combine: &Combine,
) -> Result<()> {
    let home = home()?;
    let width = combine.width as usize;
    let mut left = count;
    // Finding out how the target is reached enters the engine, where others may wait for the lock.
    let needs_calls = target.shift().is_none() && target.needs_calls();
    while left > 0 {
        let address = locks::address(target.base(), at)?;
        // Elements that begin under the same lock.
        let count = left.min(((SPAN - address % SPAN) as usize).div_ceil(width));
        let bytes = count * width;
        let done = if needs_calls {
            None
        } else {
            let _held = target.locks.hold(home, address);
            // SAFETY: the caller's promise.
            Some(unsafe { held(target, at, operand, result, count, combine) })
        };
        if matches!(done, None | Some(Err(Error::Unreachable { .. }))) {
            // Refused: the rest by calls.
            let there = Layout::contiguous(at, (left * width) as u64);
            // SAFETY: the caller's promise.
            return unsafe { by_calls(service::OF_NODE, target, &there, operand, result, combine) };
        }
        done.transpose()?;
        left -= count;
        at += bytes as u64;
        operand = operand.wrapping_add(bytes);
        if !result.is_null() {
            result = result.wrapping_add(bytes);
        }
    }
    Ok(())
}

/// Combine elements by calls that lie in a row here.
///
/// # Safety
/// As for [`in_a_row`]; `at` must be in the region.
unsafe fn by_calls(
    flow: FlowId,
    target: &Target,
    at: &Layout<'_>,
    operand: *const u8,
    result: *mut u8,
    combine: &Combine,
) -> Result<()> {
    let bytes = at.length();
    let from = (combine.operator != Operator::NoOp).then(|| Layout::local(operand, bytes));
    let into = (!result.is_null()).then(|| Layout::local(result, bytes));
    // SAFETY: the caller's promise.
    unsafe { service::accumulates(flow, target, at, from.as_ref(), into.as_ref(), combine, 0..bytes) }
}

/// Combine elements whose lock is held.
///
/// # Safety
/// As for [`in_a_row`].
unsafe fn held(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    count: usize,
    combine: &Combine,
) -> Result<()> {
    if let Some(shift) = target.shift() {
        let there: *mut u8 = with_exposed_provenance_mut(shift.wrapping_add(at as usize));
        if by_instruction(target, at, combine.width).is_some() && !target.locks.phase(target.phase).is_locked() {
            // Some may still go by instructions, without the lock.
            // SAFETY: the caller's promise; atomic instructions serve the elements.
            unsafe { atomic::apply(combine, there, operand, result, count) };
            return Ok(());
        }
        // SAFETY: the caller's promise; under the lock nobody else changes the elements.
        unsafe { apply_alone(there, operand, result, count, combine) };
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { held_elsewhere(target, at, operand, result, count, combine) }
}

/// As [`held`], in memory that is reached by copies. A function of its own for the sake of its stack.
///
/// # Safety
/// As for [`held`].
#[inline(never)]
unsafe fn held_elsewhere(
    target: &Target,
    at: u64,
    operand: *const u8,
    result: *mut u8,
    count: usize,
    combine: &Combine,
) -> Result<()> {
    let bytes = count * combine.width as usize;
    let mut copy = [0u8; SPAN as usize + WIDEST_BYTES];
    let copy = copy.as_mut_ptr();
    // SAFETY: elements that begin in one span fit into the copy; the rest is the caller's promise.
    unsafe {
        if !result.is_null() || combine.operator != Operator::Replace {
            fetch(target, at, copy, bytes)?;
        }
        if !result.is_null() {
            result.copy_from_nonoverlapping(copy, bytes);
        }
        if combine.operator != Operator::NoOp {
            (combine.kernel)(operand, copy, copy, count);
            match store(target, at, copy, bytes) {
                // It can be done again.
                Err(Error::BadKey { peer, .. }) if combine.operator == Operator::Replace && result.is_null() => {
                    return Err(unreachable(peer));
                }
                stored => stored?,
            }
        }
    }
    Ok(())
}

/// One element that some side has in several pieces.
///
/// # Safety
/// All sides must have a whole element left.
unsafe fn straddling(target: &Target, sides: &mut Sides<'_>, combine: &Combine) -> Result<()> {
    let Sides {
        there,
        operands,
        results,
    } = sides;
    let width = u64::from(combine.width);
    let (mut operand, mut result) = ([0u8; WIDEST_BYTES], [0u8; WIDEST_BYTES]);
    if let Some(side) = operands {
        // SAFETY: the caller's promise; an element fits.
        pieces(side, width, |piece, at, length| unsafe {
            operand
                .as_mut_ptr()
                .add(at)
                .copy_from_nonoverlapping(with_exposed_provenance(piece as usize), length);
            Ok(())
        })?;
    }
    let previous = if results.is_some() {
        result.as_mut_ptr()
    } else {
        null_mut()
    };
    if there.block().length >= width {
        // SAFETY: the element lies in a row at the target, the others are ours.
        unsafe { in_a_row(target, there.block().address, operand.as_ptr(), previous, 1, combine) }?;
        there.advance(width);
    } else {
        let mut places = Vec::new();
        pieces(there, width, |address, _, length| {
            places.push(Span {
                address,
                length: length as u64,
            });
            Ok(())
        })?;
        // SAFETY: the pieces are in the region; an element fits.
        match unsafe { in_pieces(target, &places, operand.as_ptr(), result.as_mut_ptr(), combine) } {
            Err(Error::Unreachable { .. }) => {
                let at = Layout::Spans(&places);
                // SAFETY: as above.
                unsafe { by_calls(service::OF_NODE, target, &at, operand.as_ptr(), previous, combine) }?;
            }
            done => done?,
        }
    }
    if let Some(side) = results {
        // SAFETY: the caller's promise.
        pieces(side, width, |piece, at, length| unsafe {
            let to: *mut u8 = with_exposed_provenance_mut(piece as usize);
            to.copy_from_nonoverlapping(result.as_ptr().add(at), length);
            Ok(())
        })?;
    }
    Ok(())
}

/// Combine one element that lies in several pieces at the target. [`Error::Unreachable`]: nothing was changed.
///
/// # Safety
/// The pieces must be in the region; `operand` must be readable and `previous` writable for an element.
unsafe fn in_pieces(
    target: &Target,
    places: &[Span],
    operand: *const u8,
    previous: *mut u8,
    combine: &Combine,
) -> Result<()> {
    let _held = target
        .locks
        .hold(home()?, locks::address(target.base(), places[0].address)?);
    let mut at = 0;
    for place in places {
        let length = place.length as usize;
        // SAFETY: the caller's promise.
        unsafe { fetch(target, place.address, previous.add(at), length) }?;
        at += length;
    }
    if combine.operator == Operator::NoOp {
        return Ok(());
    }
    let mut element = [0u8; WIDEST_BYTES];
    // SAFETY: one element each.
    unsafe { (combine.kernel)(operand, previous, element.as_mut_ptr(), 1) };
    let mut at = 0;
    for place in places {
        let length = place.length as usize;
        // SAFETY: the caller's promise.
        let stored = unsafe { store(target, place.address, element.as_ptr().add(at), length) };
        match stored {
            Err(Error::Unreachable { peer, .. }) if at > 0 => return Err(half_changed(peer)),
            stored => stored?,
        }
        at += length;
    }
    Ok(())
}

/// The pieces of the next `width` bytes: address, place among these bytes, length. Moves on.
fn pieces(side: &mut Cursor<'_>, width: u64, mut f: impl FnMut(u64, usize, usize) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < width {
        let block = side.block();
        let length = block.length.min(width - at);
        if length == 0 {
            return Err(Error::Mismatch("a layout that ends within an element"));
        }
        f(block.address, at as usize, length as usize)?;
        side.advance(length);
        at += length;
    }
    Ok(())
}

/// Copy bytes out of the region.
///
/// # Safety
/// They must be in the region, and `into` writable.
unsafe fn fetch(target: &Target, at: u64, into: *mut u8, length: usize) -> Result<()> {
    if let Some(shift) = target.shift() {
        // SAFETY: the caller's promise.
        unsafe { into.copy_from_nonoverlapping(with_exposed_provenance(shift.wrapping_add(at as usize)), length) };
        return Ok(());
    }
    let there = Layout::contiguous(locks::address(target.base(), at)?, length as u64);
    // SAFETY: the caller's promise.
    unsafe { fetch_from(target, &there, into) }
}

/// Copy bytes out of a region that is not mapped here, from addresses of its owner.
///
/// # Safety
/// They must be in the region, and `into` writable.
unsafe fn fetch_from(target: &Target, there: &Layout<'_>, into: *mut u8) -> Result<()> {
    let length = there.length();
    // SAFETY: the caller's promise.
    copy_by_transfer(target, Direction::Pull, length, |transfer| unsafe {
        transfer.pull(there, &Layout::local(into, length), 0..length)
    })
}

/// Copy bytes into the region.
///
/// # Safety
/// They must be in the region, and `from` readable.
unsafe fn store(target: &Target, at: u64, from: *const u8, length: usize) -> Result<()> {
    if let Some(shift) = target.shift() {
        let there: *mut u8 = with_exposed_provenance_mut(shift.wrapping_add(at as usize));
        // SAFETY: the caller's promise.
        unsafe { there.copy_from_nonoverlapping(from, length) };
        return Ok(());
    }
    let there = Layout::contiguous(locks::address(target.base(), at)?, length as u64);
    // SAFETY: the caller's promise.
    unsafe { store_to(target, &there, from) }
}

/// Copy bytes into a region that is not mapped here, to addresses of its owner.
///
/// # Safety
/// They must be in the region, and `from` readable.
unsafe fn store_to(target: &Target, there: &Layout<'_>, from: *const u8) -> Result<()> {
    let length = there.length();
    // SAFETY: the caller's promise.
    copy_by_transfer(target, Direction::Push, length, |transfer| unsafe {
        transfer.push(&Layout::local(from, length), there, 0..length)
    })
}

#[cold]
fn unreachable(peer: u32) -> Error {
    Error::Unreachable {
        peer,
        why: "single copies by the kernel are refused (see `isthmus doctor`); take memory from MPI_Win_allocate".into(),
    }
}

#[cold]
fn half_changed(peer: u32) -> Error {
    Error::BadKey {
        peer,
        why: "single copies were refused in the middle of an accumulate, which is half done",
    }
}

/// Copy by single copies, while the kernel allows them. [`Error::Unreachable`]: nothing was changed.
fn copy_by_transfer(
    target: &Target,
    direction: Direction,
    length: u64,
    f: impl Fn(&dyn isthmus_transfer::Transfer) -> std::result::Result<(), isthmus_transfer::Interrupted>,
) -> Result<()> {
    let mut is_half_done = false;
    while let Some(transfer) = target.transfer(direction) {
        match f(transfer) {
            Ok(()) => {
                counters::CMA_BYTES.add_anywhere(length);
                return Ok(());
            }
            Err(stopped) => {
                check_alive(target.peer())?;
                if let Some(error) = target.device_failure() {
                    return Err(error);
                }
                is_half_done |= stopped.done > 0 && direction == Direction::Push;
                if !target.failed(direction, stopped) {
                    break;
                }
            }
        }
    }
    if is_half_done {
        return Err(half_changed(target.peer().0));
    }
    Err(unreachable(target.peer().0))
}
