//! Moving the bytes of a layout between memory and a packed stream.
//!
//! One walk serves both directions and any range of the stream, so a message can be packed and unpacked piece by piece.
//! The innermost loop is specialised by block size; what is not a common size goes through `memcpy`.

use std::ptr::copy_nonoverlapping;

use super::layout::{Body, Layout, Loop, Part, Run};

/// Which way the bytes go.
trait Direction {
    /// Move `N` bytes.
    ///
    /// # Safety
    /// Both sides must be good for `N` bytes and must not overlap.
    unsafe fn fixed<const N: usize>(memory: *mut u8, stream: *mut u8);
    /// Move `length` bytes.
    ///
    /// # Safety
    /// As for [`Self::fixed`].
    unsafe fn bytes(memory: *mut u8, stream: *mut u8, length: usize);
}

struct Pack;
struct Unpack;

impl Direction for Pack {
    #[inline(always)]
    unsafe fn fixed<const N: usize>(memory: *mut u8, stream: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { copy_nonoverlapping(memory, stream, N) }
    }
    #[inline(always)]
    unsafe fn bytes(memory: *mut u8, stream: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy(memory, stream, length) }
    }
}

impl Direction for Unpack {
    #[inline(always)]
    unsafe fn fixed<const N: usize>(memory: *mut u8, stream: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { copy_nonoverlapping(stream, memory, N) }
    }
    #[inline(always)]
    unsafe fn bytes(memory: *mut u8, stream: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy(stream, memory, length) }
    }
}

/// Pack bytes `from..to` of the stream that `elements` elements at `memory` make, into `stream`.
///
/// # Safety
/// `memory` must be readable wherever those elements lie, `stream` writable for `to - from` bytes; they must not
/// overlap. `0 <= from <= to <= elements.count * layout.size()`.
pub(super) unsafe fn pack(layout: &Layout, elements: Loop, memory: *const u8, from: i64, to: i64, stream: *mut u8) {
    // SAFETY: `Pack` only reads memory; the rest is the caller's promise.
    unsafe { walk::<Pack>(layout, elements, memory.cast_mut(), from, to, stream) }
}

/// The reverse of [`pack`].
///
/// # Safety
/// `memory` must be writable wherever those elements lie, `stream` readable for `to - from` bytes; they must not
/// overlap. `0 <= from <= to <= elements.count * layout.size()`.
pub(super) unsafe fn unpack(layout: &Layout, elements: Loop, memory: *mut u8, from: i64, to: i64, stream: *const u8) {
    // SAFETY: `Unpack` only reads the stream; the rest is the caller's promise.
    unsafe { walk::<Unpack>(layout, elements, memory, from, to, stream.cast_mut()) }
}

/// # Safety
/// As for [`pack`] or [`unpack`].
unsafe fn walk<D: Direction>(layout: &Layout, elements: Loop, memory: *mut u8, from: i64, to: i64, stream: *mut u8) {
    if from < to {
        let memory = memory.wrapping_offset(layout.offset as isize);
        // SAFETY: the caller's promise.
        unsafe { part_of_loop::<D>(elements, &layout.loops, &layout.body, memory, from, to, stream) }
    }
}

/// Everything that `loops` and `body` hold; the stream's end.
///
/// # Safety
/// As for [`walk`]: memory and stream are good for all of it.
unsafe fn all<D: Direction>(loops: &[Loop], body: &Body, memory: *mut u8, stream: *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise covers each piece of the whole.
    unsafe {
        match loops {
            [] => all_of_body::<D>(body, memory, stream),
            [outer, inner @ ..] => all_of_loop::<D>(*outer, inner, body, memory, stream),
        }
    }
}

/// # Safety
/// As for [`all`].
unsafe fn all_of_loop<D: Direction>(
    outer: Loop,
    inner: &[Loop],
    body: &Body,
    memory: *mut u8,
    stream: *mut u8,
) -> *mut u8 {
    let places = (0..outer.count as isize).map(move |i| memory.wrapping_offset(i.wrapping_mul(outer.stride as isize)));
    // SAFETY: each place is one repetition; the caller's promise covers all of them.
    unsafe {
        match (inner, body) {
            ([], Body::Run(length)) if *length == outer.stride => {
                let length = (length * outer.count) as usize;
                D::bytes(memory, stream, length);
                stream.add(length)
            }
            ([], Body::Run(length)) => blocks::<D>(places, *length as usize, stream),
            _ => {
                let mut stream = stream;
                for place in places {
                    stream = all::<D>(inner, body, place, stream);
                }
                stream
            }
        }
    }
}

/// # Safety
/// As for [`all`].
unsafe fn all_of_body<D: Direction>(body: &Body, memory: *mut u8, stream: *mut u8) -> *mut u8 {
    // SAFETY: each piece is part of what the caller promised.
    unsafe {
        match body {
            Body::Run(length) => {
                D::bytes(memory, stream, *length as usize);
                stream.add(*length as usize)
            }
            Body::Blocks { length, offsets } => {
                let places = offsets.iter().map(|offset| memory.wrapping_offset(*offset as isize));
                blocks::<D>(places, *length as usize, stream)
            }
            Body::Runs(runs) => {
                let mut stream = stream;
                for run in runs.iter() {
                    D::bytes(memory.wrapping_offset(run.offset as isize), stream, run.length as usize);
                    stream = stream.add(run.length as usize);
                }
                stream
            }
            Body::Parts(parts) => {
                let mut stream = stream;
                for Part { layout, .. } in parts.iter() {
                    let memory = memory.wrapping_offset(layout.offset as isize);
                    stream = all::<D>(&layout.loops, &layout.body, memory, stream);
                }
                stream
            }
        }
    }
}

/// Blocks of `length` bytes at `places`; the stream's end.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
unsafe fn blocks<D: Direction>(places: impl Iterator<Item = *mut u8>, length: usize, stream: *mut u8) -> *mut u8 {
    /// # Safety
    /// As for [`all`].
    #[inline(always)]
    unsafe fn fixed<D: Direction, const N: usize>(
        places: impl Iterator<Item = *mut u8>,
        mut stream: *mut u8,
    ) -> *mut u8 {
        for place in places {
            // SAFETY: the caller's promise.
            unsafe {
                D::fixed::<N>(place, stream);
                stream = stream.add(N);
            }
        }
        stream
    }
    // SAFETY: the caller's promise; `fixed::<N>` is chosen by the length.
    unsafe {
        match length {
            1 => fixed::<D, 1>(places, stream),
            2 => fixed::<D, 2>(places, stream),
            4 => fixed::<D, 4>(places, stream),
            8 => fixed::<D, 8>(places, stream),
            12 => fixed::<D, 12>(places, stream),
            16 => fixed::<D, 16>(places, stream),
            24 => fixed::<D, 24>(places, stream),
            32 => fixed::<D, 32>(places, stream),
            64 => fixed::<D, 64>(places, stream),
            _ => {
                let mut stream = stream;
                for place in places {
                    D::bytes(place, stream, length);
                    stream = stream.add(length);
                }
                stream
            }
        }
    }
}

/// Bytes `from..to` (not none) of what `loops` and `body` hold.
///
/// # Safety
/// As for [`walk`].
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
            D::bytes(
                memory.wrapping_offset((offset + cut_from - start) as isize),
                stream.add((cut_from - from) as usize),
                (cut_to - cut_from) as usize,
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
                for Part { layout, end } in &parts[first..] {
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

/// `memcpy`, without the call for up to 16 bytes.
///
/// # Safety
/// As for `copy_nonoverlapping`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    /// First and last `N` bytes of `N ..= 2 N`.
    ///
    /// # Safety
    /// As for `copy_nonoverlapping`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: both windows lie within `length`.
        unsafe {
            let first = from.cast::<[u8; N]>().read();
            let last = from.add(length - N).cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write(first);
            to.add(length - N).cast::<[u8; N]>().write(last);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match length {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<2>(from, to, length),
            4..8 => ends::<4>(from, to, length),
            8..=16 => ends::<8>(from, to, length),
            _ => copy_nonoverlapping(from, to, length),
        }
    }
}
