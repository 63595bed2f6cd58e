//! Moving the bytes of a layout between memory and a packed stream.
//!
//! One walk serves both directions and any range of the stream, so a message can be packed and unpacked piece by piece.
//! The innermost loops are specialised by the length of their blocks (`copy/blocks.rs`).

mod blocks;
#[cfg(target_arch = "x86_64")]
mod vectors;

use crate::layout::{Body, Layout, Loop, NestedLayout, Run};
use blocks::{Direction, Pack, Unpack, listed, nest, run};

/// Once.
const ONCE: Loop = Loop { count: 1, stride: 0 };

/// Elements of a datatype in a row.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    /// Of one of them.
    pub layout: &'a Layout,
    /// Its bytes.
    pub size: i64,
    /// How many, and from one to the next.
    pub repeat: Loop,
}

impl Elements<'_> {
    /// Pack bytes `from..to` of the stream that the elements at `memory` make, into `stream`.
    ///
    /// # Safety
    /// `memory` must be readable wherever the elements lie, `stream` writable for `to - from` bytes; they must not
    /// overlap. `0 <= from <= to <= count * size`.
    #[inline(always)]
    pub unsafe fn pack(self, memory: *const u8, from: i64, to: i64, stream: *mut u8) {
        // SAFETY: `Pack` only reads memory; the rest is the caller's promise.
        unsafe { self.walk::<Pack>(memory.cast_mut(), from, to, stream) }
    }

    /// The reverse of [`Self::pack`].
    ///
    /// # Safety
    /// `memory` must be writable wherever the elements lie, `stream` readable for `to - from` bytes; they must not
    /// overlap. `0 <= from <= to <= count * size`.
    #[inline(always)]
    pub unsafe fn unpack(self, memory: *mut u8, from: i64, to: i64, stream: *const u8) {
        // SAFETY: `Unpack` only reads the stream; the rest is the caller's promise.
        unsafe { self.walk::<Unpack>(memory, from, to, stream.cast_mut()) }
    }

    /// # Safety
    /// As for [`Self::pack`] or [`Self::unpack`].
    #[inline(always)]
    unsafe fn walk<D: Direction>(self, memory: *mut u8, from: i64, to: i64, stream: *mut u8) {
        if from == to {
            return;
        }
        let Layout { offset, loops, body } = self.layout;
        let memory = memory.wrapping_offset(*offset as isize);
        let Loop { count, .. } = self.repeat;
        // SAFETY: the caller's promise.
        unsafe {
            if from > 0 || to < count * self.size {
                part_of_loop::<D>(self.repeat, loops, body, memory, from, to, stream);
            } else if count == 1 {
                all::<D>(loops, body, memory, stream);
            } else {
                all_of_loop::<D>(self.repeat, loops, body, memory, stream);
            }
        }
    }
}

/// Everything that `loops` and `body` hold; the stream's end.
///
/// # Safety
/// Memory and stream are good for all of it, and do not overlap.
#[inline(always)]
unsafe fn all<D: Direction>(loops: &[Loop], body: &Body, memory: *mut u8, stream: *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match loops {
            [] => all_of_body::<D>(body, memory, stream),
            [outer, inner @ ..] => all_of_loop::<D>(*outer, inner, body, memory, stream),
        }
    }
}

/// # Safety
/// As for [`all`].
#[inline(always)]
unsafe fn all_of_loop<D: Direction>(
    outer: Loop,
    inner: &[Loop],
    body: &Body,
    memory: *mut u8,
    stream: *mut u8,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match (inner, body) {
            ([], Body::Run(length)) if *length == outer.stride => {
                let length = (length * outer.count) as usize;
                run::<D>(length, memory, stream);
                stream.add(length)
            }
            ([], Body::Run(length)) => nest::<D>(memory, stream, *length as usize, outer, ONCE),
            ([inner], Body::Run(length)) => nest::<D>(memory, stream, *length as usize, *inner, outer),
            _ => one_by_one::<D>(outer, inner, body, memory, stream),
        }
    }
}

/// # Safety
/// As for [`all`].
unsafe fn one_by_one<D: Direction>(
    outer: Loop,
    inner: &[Loop],
    body: &Body,
    memory: *mut u8,
    stream: *mut u8,
) -> *mut u8 {
    let (mut place, mut stream) = (memory, stream);
    for _ in 0..outer.count {
        // SAFETY: each repetition is part of what the caller promised.
        stream = unsafe { all::<D>(inner, body, place, stream) };
        place = place.wrapping_offset(outer.stride as isize);
    }
    stream
}

/// # Safety
/// As for [`all`].
unsafe fn all_of_body<D: Direction>(body: &Body, memory: *mut u8, stream: *mut u8) -> *mut u8 {
    // SAFETY: each piece is part of what the caller promised.
    unsafe {
        match body {
            Body::Run(length) => {
                run::<D>(*length as usize, memory, stream);
                stream.add(*length as usize)
            }
            Body::Blocks { length, offsets } => listed::<D>(memory, stream, *length as usize, offsets),
            Body::Runs(runs) => {
                let mut stream = stream;
                for Run { offset, length, .. } in runs.iter() {
                    run::<D>(*length as usize, memory.wrapping_offset(*offset as isize), stream);
                    stream = stream.add(*length as usize);
                }
                stream
            }
            Body::Parts(parts) => {
                let mut stream = stream;
                for NestedLayout { layout, .. } in parts.iter() {
                    let memory = memory.wrapping_offset(layout.offset as isize);
                    stream = all::<D>(&layout.loops, &layout.body, memory, stream);
                }
                stream
            }
        }
    }
}

/// Bytes `from..to` (not none) of what `loops` and `body` hold.
///
/// # Safety
/// Memory and stream are good for those, and do not overlap.
unsafe fn part<D: Direction>(loops: &[Loop], body: &Body, memory: *mut u8, from: i64, to: i64, stream: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match loops {
            [] => part_of_body::<D>(body, memory, from, to, stream),
            [outer, inner @ ..] => part_of_loop::<D>(*outer, inner, body, memory, from, to, stream),
        }
    }
}

/// # Safety
/// As for [`part`].
unsafe fn part_of_loop<D: Direction>(
    outer: Loop,
    inner: &[Loop],
    body: &Body,
    memory: *mut u8,
    from: i64,
    to: i64,
    stream: *mut u8,
) {
    let size = inner.iter().map(|repeat| repeat.count).product::<i64>() * body.size();
    let place = |i: i64| memory.wrapping_offset(i.wrapping_mul(outer.stride) as isize);
    let (first, skipped) = (from / size, from % size);
    let (last, wanted) = (to / size, to % size);
    // SAFETY: repetitions first..=last, cut at both ends, are what the caller promised.
    unsafe {
        if first == last {
            return part::<D>(inner, body, place(first), skipped, wanted, stream);
        }
        let mut stream = stream;
        let mut whole = first;
        if skipped > 0 {
            part::<D>(inner, body, place(first), skipped, size, stream);
            stream = stream.add((size - skipped) as usize);
            whole += 1;
        }
        if whole < last {
            let middle = Loop {
                count: last - whole,
                ..outer
            };
            stream = all_of_loop::<D>(middle, inner, body, place(whole), stream);
        }
        if wanted > 0 {
            part::<D>(inner, body, place(last), 0, wanted, stream);
        }
    }
}

/// # Safety
/// As for [`part`].
unsafe fn part_of_body<D: Direction>(body: &Body, memory: *mut u8, from: i64, to: i64, stream: *mut u8) {
    // SAFETY: each piece is cut to `from..to`, which the caller promised.
    unsafe {
        let piece = |offset: i64, length: i64, end: i64| {
            let start = end - length;
            let (cut_from, cut_to) = (from.max(start), to.min(end));
            run::<D>(
                (cut_to - cut_from) as usize,
                memory.wrapping_offset((offset + cut_from - start) as isize),
                stream.add((cut_from - from) as usize),
            );
        };
        match body {
            Body::Run(length) => piece(0, *length, *length),
            Body::Blocks { length, offsets } => {
                for i in from / length..=(to - 1) / length {
                    piece(offsets[i as usize], *length, (i + 1) * length);
                }
            }
            Body::Runs(runs) => {
                let first = runs.partition_point(|run| run.end <= from);
                for run in runs[first..]
                    .iter()
                    .take_while(|Run { end, length, .. }| end - length < to)
                {
                    piece(run.offset, run.length, run.end);
                }
            }
            Body::Parts(parts) => {
                let first = parts.partition_point(|part| part.end <= from);
                for NestedLayout { layout, end } in &parts[first..] {
                    let start = end - layout.size();
                    if start >= to {
                        break;
                    }
                    let (cut_from, cut_to) = (from.max(start), to.min(*end));
                    let memory = memory.wrapping_offset(layout.offset as isize);
                    let stream = stream.add((cut_from - from) as usize);
                    part::<D>(
                        &layout.loops,
                        &layout.body,
                        memory,
                        cut_from - start,
                        cut_to - start,
                        stream,
                    );
                }
            }
        }
    }
}
