//! Copying between two layouts within one address space: packing, unpacking, and memory that both sides map.
//!
//! Blocks at even distances are what sections of arrays are made of; they get loops of their own (`rows.rs`).

use std::ops::Range;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use crate::Span;
use crate::copy::copy;
use crate::layout::{Cursor, Layout, Run};
use crate::rows;

/// Copy `range` of the stream that both layouts stand for. A range beyond either ends where the shorter one does.
///
/// # Safety
/// Within the range the bytes of `from` must be readable and those of `to` writable, and no byte of `to` may be one of
/// `from`. The bytes may be changing at the source, as for [`copy`].
pub unsafe fn copy_range(from: &Layout<'_>, to: &Layout<'_>, range: Range<u64>) {
    let (mut source, mut target) = (from.cursor(range.start), to.cursor(range.start));
    // SAFETY: the caller's promise.
    unsafe { copy_on(&mut source, &mut target, range.end.saturating_sub(range.start)) };
}

/// Copy `bytes` more, and move both cursors on. Returns how many were there.
///
/// # Safety
/// As for [`copy_range`].
pub unsafe fn copy_on(from: &mut Cursor<'_>, to: &mut Cursor<'_>, bytes: u64) -> u64 {
    let mut left = bytes;
    while left > 0 {
        let (source, target) = (from.block(), to.block());
        // SAFETY: the blocks before the ends of both runs are the caller's.
        let step = unsafe { copy_run(from, to, left) };
        if step > 0 {
            left -= step;
            continue;
        }
        let length = source.length.min(target.length).min(left);
        if length == 0 {
            break;
        }
        // SAFETY: a part of the caller's range.
        unsafe { copy(readable(source), writable(target), length as usize) };
        from.advance(length);
        to.advance(length);
        left -= length;
    }
    bytes - left
}

/// Copy as many whole blocks as both sides have at even distances. Returns how many bytes that were: none if a side
/// stands in the middle of a block, or the blocks do not match.
///
/// # Safety
/// As for [`copy_range`].
#[inline]
unsafe fn copy_run(from: &mut Cursor<'_>, to: &mut Cursor<'_>, limit: u64) -> u64 {
    let (source, target) = (from.block(), to.block());
    // By runs on both sides, or by a run on one and within one block on the other.
    let (block, count, from_stride, to_stride) = match (from.run(), to.run()) {
        (Some(a), Some(b)) if a.block == b.block => (a.block, a.count.min(b.count), Some(a.stride), Some(b.stride)),
        (Some(a), _) if a.block <= target.length => (a.block, whole(a, target), Some(a.stride), None),
        (_, Some(b)) => (b.block, whole(b, source), None, Some(b.stride)),
        _ => return 0,
    };
    let count = count.min(limit / block);
    if count == 0 {
        return 0;
    }
    // SAFETY: `count` blocks on either side are within the caller's range.
    unsafe {
        rows::copy_run(
            (readable(source), from_stride.unwrap_or(block as i64)),
            (writable(target), to_stride.unwrap_or(block as i64)),
            block as usize,
            count,
        );
    }
    skip(from, from_stride, block, count);
    skip(to, to_stride, block, count);
    count * block
}

/// Blocks of a run that one contiguous block holds.
fn whole(run: Run, other: Span) -> u64 {
    run.count.min(other.length / run.block)
}

fn skip(side: &mut Cursor<'_>, stride: Option<i64>, block: u64, count: u64) {
    match stride {
        Some(_) => side.skip(count),
        None => side.advance(count * block),
    }
}

fn readable(span: Span) -> *const u8 {
    with_exposed_provenance(span.address as usize)
}

fn writable(span: Span) -> *mut u8 {
    with_exposed_provenance_mut(span.address as usize)
}

/// Memory that a probe of costs copies; `None`: there is none.
pub(crate) fn probe_bytes(value: u8, length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, value);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Level;

    /// Every pair of forms, block sizes and ranges, against moving byte by byte.
    #[test]
    fn every_pair_of_forms() {
        let bytes: Vec<u8> = (0..4096u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for (a, b) in [(1, 1), (8, 8), (8, 3), (24, 8), (16, 32), (5, 64), (64, 1), (12, 12)] {
            let mut target = vec![0u8; 4096];
            let (from, to) = (
                bytes.as_ptr().expose_provenance() as u64,
                target.as_mut_ptr().expose_provenance() as u64,
            );
            let levels = |block: u64| {
                [
                    Level {
                        count: 5,
                        stride: block as i64 + 3,
                    },
                    Level {
                        count: 3,
                        stride: 5 * (block as i64 + 3) + 1,
                    },
                ]
            };
            let spans = |base: u64, block: u64| {
                let span = |index: u64| Span {
                    address: base + 7 + index * (block + 2),
                    length: block * (index % 3),
                };
                (0..15).map(span).collect::<Vec<_>>()
            };
            let (from_levels, to_levels) = (levels(a), levels(b));
            let (from_spans, to_spans) = (spans(from, a), spans(to, b));
            let sources = [
                Layout::contiguous(from + 1, 15 * a),
                Layout::strided(from + 2, a, &from_levels),
                Layout::Spans(&from_spans),
            ];
            let targets = [
                Layout::contiguous(to + 3, 15 * b),
                Layout::strided(to + 5, b, &to_levels),
                Layout::Spans(&to_spans),
            ];
            for (source, goal) in sources.iter().flat_map(|s| targets.iter().map(move |t| (s, t))) {
                let length = source.length().min(goal.length());
                for range in [
                    0..length,
                    1..length,
                    0..length / 2,
                    length / 3..length.saturating_sub(1),
                ] {
                    target.fill(0xee);
                    // SAFETY: both lie within the vectors.
                    unsafe { copy_range(source, goal, range.clone()) };
                    let mut wanted = vec![0xee; 4096];
                    for at in range {
                        let (f, t) = (source.cursor(at).block().address, goal.cursor(at).block().address);
                        wanted[(t - to) as usize] = bytes[(f - from) as usize];
                    }
                    assert!(target == wanted, "{source:?} to {goal:?}");
                }
            }
        }
    }

    #[test]
    fn a_range_beyond_the_end_stops_there() {
        let (from, mut to) = ([1u8; 8], [0u8; 8]);
        // SAFETY: the layouts lie within the arrays.
        unsafe {
            copy_range(
                &Layout::local(from.as_ptr(), 4),
                &Layout::local(to.as_mut_ptr(), 8),
                2..100,
            );
        }
        assert_eq!(to, [0, 0, 1, 1, 0, 0, 0, 0]);
    }
}
