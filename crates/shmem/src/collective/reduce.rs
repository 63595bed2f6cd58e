//! Reductions. Short ones: everybody shows its elements, and combines all. Middling ones: everybody combines all from where they lie. Long
//! ones: each member combines a part, from where the elements lie, into its own result; then everybody copies the other parts. Elements are combined in the order of the team, so the
//! result is the same everywhere and each time.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::{Group, SHORT, bytes};
use crate::call::Call;
use crate::numbers::{Element, Operation};
use crate::rma::copy_bytes;
use crate::team::TeamHandle;

/// Up to so many bytes a meeting costs more than combining what others combine too.
const MIDDLING: usize = 8192;
/// Bytes that are combined at a time: they stay in the first cache.
const AT_A_TIME: usize = 8192;

/// `shmem_sum_reduce` and its siblings; `dest` may be `source`. Blocks.
///
/// # Safety
/// Both must have `nreduce` elements.
pub unsafe fn reduce<T: Element, O: Operation<T>>(
    call: Call,
    team: TeamHandle,
    dest: *mut T,
    source: *const T,
    nreduce: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { run::<T, O>(Group::of_team(call, team), dest, source, nreduce) };
    0
}

/// # Safety
/// As for [`reduce`].
pub(super) unsafe fn run<T: Element, O: Operation<T>>(group: Group<'_>, dest: *mut T, source: *const T, count: usize) {
    let agreed = ("nreduce", count as u64);
    let into = group.name("dest", dest.cast_const(), count);
    let from = group.name("source", source, count);
    if count.saturating_mul(size_of::<T>()) <= SHORT {
        // SAFETY: the caller's promise.
        let meeting = group.meet(agreed, &[], unsafe { bytes(source, count) });
        let element = |member: usize, index: usize| {
            let array = meeting.data(member, 0).cast::<T>();
            // SAFETY: every member has shown as many elements.
            unsafe { array.add(index).read_unaligned() }
        };
        for index in 0..count {
            let mut value = element(0, index);
            for member in 1..group.size() {
                value = O::combine(value, element(member, index));
            }
            // SAFETY: dest was checked.
            unsafe { dest.add(index).write_unaligned(value) };
        }
        return;
    }
    let meeting = group.meet(agreed, &[from, into], &[]);
    let places = |word: usize| -> Vec<*const T> {
        let place = |member: usize| group.array_of(member, meeting.word(member, word), count);
        (0..group.size()).map(place).collect()
    };
    let sources = places(0);
    if count.saturating_mul(size_of::<T>()) <= MIDDLING {
        // `dest` may be a source that others still read.
        let mut result: Vec<MaybeUninit<T>> = Vec::with_capacity(count);
        // SAFETY: all sources were checked; the result has room, and is written before it is copied.
        unsafe {
            combine_range::<T, O>(&sources, result.as_mut_ptr().cast(), 0..count);
            group.meet(agreed, &[], &[]);
            std::ptr::copy_nonoverlapping(result.as_ptr().cast::<u8>(), dest.cast(), count * size_of::<T>());
        }
        return;
    }
    let results = places(1);
    let part = |member: usize| count * member / group.size()..count * (member + 1) / group.size();
    // SAFETY: all arrays were checked; nobody else writes to our part of our result or reads it as a source.
    unsafe { combine_range::<T, O>(&sources, dest, part(group.me())) };
    group.meet(agreed, &[], &[]);
    for offset in 1..group.size() {
        let member = (group.me() + offset) % group.size();
        let part = part(member);
        // SAFETY: as above; its owner leaves its part alone until all have copied it.
        unsafe {
            let from = results[member].add(part.start);
            copy_bytes(from.cast(), dest.add(part.start).cast(), part.len() * size_of::<T>());
        }
    }
    group.meet(agreed, &[], &[]);
}

/// Combine some elements of all sources into the same ones of `dest`, which may be one of the sources.
///
/// # Safety
/// All must have these elements; nobody may write to those of the sources.
pub(super) unsafe fn combine_range<T: Element, O: Operation<T>>(
    sources: &[*const T],
    dest: *mut T,
    range: Range<usize>,
) {
    let most = AT_A_TIME / size_of::<T>();
    let mut buffer: Vec<MaybeUninit<T>> = Vec::with_capacity(most.min(range.len()));
    let mut start = range.start;
    while start < range.end {
        let length = most.min(range.end - start);
        buffer.clear();
        // SAFETY: the buffer has room, and is written before it is read; the rest is the caller's promise.
        unsafe {
            let result = buffer.as_mut_ptr().cast::<T>();
            std::ptr::copy_nonoverlapping(
                sources[0].add(start).cast::<u8>(),
                result.cast(),
                length * size_of::<T>(),
            );
            for source in &sources[1..] {
                let source = source.add(start);
                for index in 0..length {
                    let value = O::combine(result.add(index).read(), source.add(index).read_unaligned());
                    result.add(index).write(value);
                }
            }
            std::ptr::copy_nonoverlapping(result.cast::<u8>(), dest.add(start).cast(), length * size_of::<T>());
        }
        start += length;
    }
}
