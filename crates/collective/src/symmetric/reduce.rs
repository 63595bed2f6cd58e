//! Reductions to all. Short ones: everybody shows its elements, and combines all. Middling ones: everybody combines all from where they lie. Long
//! ones: each member combines a part, from where the elements lie, into its own result; then everybody copies the other parts. Elements
//! are combined in the order of the group, so the result is the same everywhere and each time.

use std::mem::MaybeUninit;
use std::ops::Range;

use isthmus_datatype::Kernel;

use super::{Group, SHORT, between, copy_bytes, shown};

/// Up to so many bytes a round costs more than combining what others combine too.
const MIDDLING: usize = 8192;
/// Bytes that are combined at a time: they stay in the first cache.
const AT_A_TIME: usize = 8192;

/// An operation on elements, which commutes.
#[derive(Debug, Clone, Copy)]
pub struct Combine {
    /// Bytes of an element.
    pub width: usize,
    /// The loop; it takes elements that are not aligned.
    pub kernel: Kernel,
}

impl Group<'_> {
    /// Combine everyone's `count` elements, to `dest` at all; it may be `source`. Blocks.
    ///
    /// # Safety
    /// Both must have as many elements.
    pub unsafe fn reduce(self, combine: Combine, dest: *mut u8, source: *const u8, count: usize) {
        let agreed = ("nreduce", count as u64);
        let length = count.saturating_mul(combine.width);
        let into = self.name("dest", dest, length);
        let from = self.name("source", source, length);
        if length <= SHORT {
            // SAFETY: the caller's promise.
            let round = self.round(agreed, &[], unsafe { shown(source, length) });
            let sources = |member: usize| round.data(member, 0);
            // SAFETY: every member has shown as many elements; dest was checked, and is nobody's cell.
            unsafe { combine.all(self.size(), sources, dest, count) };
            return;
        }
        let round = self.round(agreed, &[from, into], &[]);
        if let Some(team) = self.board.team() {
            // SAFETY: the caller's promise.
            self.done(unsafe { team.allreduce_at(&between::operand(combine), source, dest, count as i64) });
            return;
        }
        let places = |word: usize| -> Vec<*const u8> {
            let place = |member: usize| self.array_of(member, round.word(member, word), length);
            (0..self.size()).map(place).collect()
        };
        let sources = places(0);
        if length <= MIDDLING {
            // `dest` may be a source that others still read.
            let mut result = [MaybeUninit::<u8>::uninit(); MIDDLING];
            // SAFETY: all sources were checked; the result has room, and is written before it is copied.
            unsafe {
                let result = result.as_mut_ptr().cast();
                combine.all(self.size(), |member| sources[member], result, count);
                self.round(agreed, &[], &[]);
                std::ptr::copy_nonoverlapping(result.cast_const(), dest, length);
            }
            return;
        }
        let results = places(1);
        let part = |member: usize| count * member / self.size()..count * (member + 1) / self.size();
        // SAFETY: all arrays were checked; nobody else writes to our part of our result or reads it as a source.
        unsafe { combine.range(&sources, dest, part(self.me())) };
        self.round(agreed, &[], &[]);
        for offset in 1..self.size() {
            let member = (self.me() + offset) % self.size();
            let part = part(member);
            let (start, length) = (part.start * combine.width, part.len() * combine.width);
            // SAFETY: as above; its owner leaves its part alone until all have copied it.
            unsafe { copy_bytes(results[member].add(start), dest.add(start), length) };
        }
        self.round(agreed, &[], &[]);
    }
}

impl Combine {
    /// Combine the elements of so many sources, in their order, to `result`. The operation commutes.
    ///
    /// # Safety
    /// All must have `count` elements; `result` overlaps no source.
    pub(super) unsafe fn all(self, sources: usize, source: impl Fn(usize) -> *const u8, result: *mut u8, count: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match sources {
                0 => {}
                1 => std::ptr::copy_nonoverlapping(source(0), result, count * self.width),
                _ => {
                    (self.kernel)(source(0), source(1), result, count);
                    for member in 2..sources {
                        (self.kernel)(source(member), result, result, count);
                    }
                }
            }
        }
    }

    /// Combine some elements of all sources into the same ones of `dest`, which may be one of the sources.
    ///
    /// # Safety
    /// All must have these elements; nobody may write to those of the sources.
    pub(super) unsafe fn range(self, sources: &[*const u8], dest: *mut u8, range: Range<usize>) {
        let most = AT_A_TIME / self.width;
        let mut result = [MaybeUninit::<u8>::uninit(); AT_A_TIME];
        let result = result.as_mut_ptr().cast::<u8>();
        for start in range.clone().step_by(most) {
            let now = most.min(range.end - start);
            let at = start * self.width;
            // SAFETY: the buffer has room, and is written before it is read; the rest is the caller's promise.
            unsafe {
                self.all(sources.len(), |member| sources[member].add(at), result, now);
                std::ptr::copy_nonoverlapping(result.cast_const(), dest.add(at), now * self.width);
            }
        }
    }
}
