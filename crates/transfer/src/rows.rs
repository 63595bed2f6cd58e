//! Copies of rows of one length between places at even distances, by loops made for the length: sections of arrays, whose rows may be
//! single elements, where everything but the load and the store is too much (docs/decisions/0009).

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use crate::copy::{Copying, copy, copy_by, is_beyond_caches};
use crate::layout::{Layout, Level};

/// Rows shorter than this are copied by loops of their own, longer ones by [`copy`].
const SHORT: usize = 1 << 10;

const VECTOR: usize = 32;

/// Levels beyond these go another way.
const MOST_LEVELS: usize = 8;

/// Copies a row from the one address to the other.
trait Row: Copy {
    /// # Safety
    /// Both must be good for the row, and may not overlap.
    unsafe fn copy(self, from: *const u8, to: *mut u8);
}

/// Of `N` bytes.
#[derive(Clone, Copy)]
struct Fixed<const N: usize>;
/// Of `N` bytes, vector by vector.
#[derive(Clone, Copy)]
struct Wide<const N: usize>;
/// Of `N` to twice as many bytes: what it begins with and what it ends with.
#[derive(Clone, Copy)]
struct Ends<const N: usize>(usize);
/// Of so many bytes, which are 32 or more.
#[derive(Clone, Copy)]
struct Vectors(usize);
/// Of so many bytes.
#[derive(Clone, Copy)]
struct Bytes(usize);
/// Of so many bytes, past the caches.
#[derive(Clone, Copy)]
struct Streamed(usize);

/// # Safety
/// Both must be good for `N` bytes.
#[inline(always)]
unsafe fn one<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; bytes have no alignment.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
}

impl<const N: usize> Row for Fixed<N> {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { one::<N>(from, to) };
    }
}

impl<const N: usize> Row for Wide<N> {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        let mut done = 0;
        while done < N {
            // SAFETY: within the row.
            unsafe { one::<VECTOR>(from.add(done), to.add(done)) };
            done += VECTOR;
        }
    }
}

impl<const N: usize> Row for Ends<N> {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        let last = self.0 - N;
        // SAFETY: the caller's promise; `last` is at most `N`.
        unsafe {
            let (begin, end) = (from.cast::<[u8; N]>().read(), from.add(last).cast::<[u8; N]>().read());
            to.cast::<[u8; N]>().write(begin);
            to.add(last).cast::<[u8; N]>().write(end);
        }
    }
}

impl Row for Vectors {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        const ROUND: usize = 4 * VECTOR;
        let mut done = 0;
        // SAFETY: no part goes beyond the row.
        unsafe {
            while self.0 - done >= ROUND {
                Wide::<ROUND>.copy(from.add(done), to.add(done));
                done += ROUND;
            }
            while self.0 - done >= VECTOR {
                one::<VECTOR>(from.add(done), to.add(done));
                done += VECTOR;
            }
            if done < self.0 {
                one::<VECTOR>(from.add(self.0 - VECTOR), to.add(self.0 - VECTOR));
            }
        }
    }
}

impl Row for Bytes {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { copy(from, to, self.0) };
    }
}

impl Row for Streamed {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { copy_by(Copying::Streaming, from, to, self.0) };
    }
}

/// Rows, the innermost level first: how many, and the distances at both ends.
#[derive(Clone, Copy)]
struct Nest<'a> {
    inner: (u64, i64, i64),
    outer: (&'a [Level], &'a [Level]),
}

impl Nest<'_> {
    fn rows(self) -> usize {
        let outer = self.outer.0.iter().map(|level| level.count as usize);
        outer.fold(self.inner.0 as usize, usize::saturating_mul)
    }
}

/// # Safety
/// All rows must be good, and none may overlap another one of the other side.
#[inline(always)]
unsafe fn run(mut from: u64, mut to: u64, (count, a, b): (u64, i64, i64), row: impl Row) {
    for _ in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            row.copy(
                with_exposed_provenance(from as usize),
                with_exposed_provenance_mut(to as usize),
            );
        }
        from = from.wrapping_add_signed(a);
        to = to.wrapping_add_signed(b);
    }
}

/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn each(nest: Nest<'_>, mut from: u64, mut to: u64, row: impl Row) {
    let (a, b) = nest.outer;
    let mut index = [0_u64; MOST_LEVELS];
    loop {
        // SAFETY: the caller's promise.
        unsafe { run(from, to, nest.inner, row) };
        let mut at = 0;
        loop {
            let (Some(a), Some(b)) = (a.get(at), b.get(at)) else {
                return;
            };
            index[at] += 1;
            if index[at] < a.count {
                from = from.wrapping_add_signed(a.stride);
                to = to.wrapping_add_signed(b.stride);
                break;
            }
            index[at] = 0;
            let back = (a.count - 1) as i64;
            from = from.wrapping_sub(a.stride.wrapping_mul(back) as u64);
            to = to.wrapping_sub(b.stride.wrapping_mul(back) as u64);
            at += 1;
        }
    }
}

/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn by_length(nest: Nest<'_>, from: u64, to: u64, row: usize) {
    // SAFETY: the caller's promise, in each case.
    unsafe {
        match row {
            1 => each(nest, from, to, Fixed::<1>),
            2 => each(nest, from, to, Fixed::<2>),
            4 => each(nest, from, to, Fixed::<4>),
            8 => each(nest, from, to, Fixed::<8>),
            9..=15 => each(nest, from, to, Ends::<8>(row)),
            16 => each(nest, from, to, Fixed::<16>),
            17..=31 => each(nest, from, to, Ends::<16>(row)),
            32 => each(nest, from, to, Fixed::<32>),
            33..=63 => each(nest, from, to, Ends::<32>(row)),
            64 => each(nest, from, to, Fixed::<64>),
            65..=127 => each(nest, from, to, Ends::<64>(row)),
            128 => each(nest, from, to, Wide::<128>),
            256 => each(nest, from, to, Wide::<256>),
            512 => each(nest, from, to, Wide::<512>),
            129..SHORT => each(nest, from, to, Vectors(row)),
            _ if is_beyond_caches(nest.rows().saturating_mul(row)) => each(nest, from, to, Streamed(row)),
            _ => each(nest, from, to, Bytes(row)),
        }
    }
}

/// As [`by_length`], compiled for a processor with vectors of 32 bytes.
///
/// # Safety
/// As for [`run`]; the processor must have them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn by_length_wide(nest: Nest<'_>, from: u64, to: u64, row: usize) {
    // SAFETY: the caller's promise.
    unsafe { by_length(nest, from, to, row) };
}

/// # Safety
/// As for [`run`].
#[inline]
unsafe fn copy_nest(nest: Nest<'_>, from: u64, to: u64, row: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the caller's promise; the processor has vectors.
        return unsafe { by_length_wide(nest, from, to, row) };
    }
    // SAFETY: the caller's promise.
    unsafe { by_length(nest, from, to, row) };
}

/// Copy `count` rows of `row` bytes at these distances.
///
/// # Safety
/// They must be readable and writable, and none may be on both sides.
#[inline]
pub(crate) unsafe fn copy_run(
    (from, from_stride): (*const u8, i64),
    (to, to_stride): (*mut u8, i64),
    row: usize,
    count: u64,
) {
    let (from, to) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    let nest = Nest {
        inner: (count, from_stride, to_stride),
        outer: (&[], &[]),
    };
    // SAFETY: the caller's promise.
    unsafe { copy_nest(nest, from, to, row) };
}

/// Copy all of one layout to the other one, if one is rows in levels, and the other one as many rows of the same length in levels of the same
/// counts, or one row of them all; `from_by` and `to_by` are added to their addresses (which wraps). False: they are not, and nothing was done.
///
/// # Safety
/// The bytes of `from` must be readable and those of `to` writable, and no byte may be one of both.
#[inline]
pub unsafe fn copy_alike((from, from_by): (&Layout<'_>, u64), (to, to_by): (&Layout<'_>, u64)) -> bool {
    let mut packed = [Level { count: 1, stride: 0 }; MOST_LEVELS];
    let (source, target, row, a, b): (u64, u64, u64, &[Level], &[Level]) = match (*from, *to) {
        (
            Layout::Strided {
                base: source,
                block: row,
                levels: a,
            },
            Layout::Strided {
                base: target,
                block,
                levels: b,
            },
        ) if row == block => (source, target, row, a, b),
        (Layout::Strided { base, block, levels }, Layout::Contiguous(span)) => {
            match pack(levels, block, span.length, &mut packed) {
                Some(packed) => (base, span.address, block, levels, packed),
                None => return false,
            }
        }
        (Layout::Contiguous(span), Layout::Strided { base, block, levels }) => {
            match pack(levels, block, span.length, &mut packed) {
                Some(packed) => (span.address, base, block, packed, levels),
                None => return false,
            }
        }
        _ => return false,
    };
    let ([first, outer @ ..], [other, beyond @ ..]) = (a, b) else {
        return false;
    };
    let is_alike = row > 0
        && a.len() == b.len()
        && a.len() <= MOST_LEVELS
        && a.iter().zip(b).all(|(a, b)| a.count == b.count && a.count > 0);
    if !is_alike {
        return false;
    }
    let nest = Nest {
        inner: (first.count, first.stride, other.stride),
        outer: (outer, beyond),
    };
    // SAFETY: the caller's promise.
    unsafe {
        copy_nest(
            nest,
            source.wrapping_add(from_by),
            target.wrapping_add(to_by),
            row as usize,
        );
    }
    true
}

/// The levels of rows that lie one after the other, as many as these are; `None`: they are not `length` bytes.
#[inline]
fn pack<'a>(levels: &[Level], row: u64, length: u64, packed: &'a mut [Level; MOST_LEVELS]) -> Option<&'a [Level]> {
    let mut bytes = row;
    for (level, packed) in levels.iter().zip(packed.iter_mut()) {
        *packed = Level {
            count: level.count,
            stride: i64::try_from(bytes).ok()?,
        };
        bytes = bytes.checked_mul(level.count)?;
    }
    (bytes == length && levels.len() <= MOST_LEVELS).then_some(&packed[..levels.len().min(MOST_LEVELS)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, in three levels with gaps: the rows, and nothing else.
    #[test]
    fn rows_of_every_length_come_over() {
        let lengths = (1..300).chain([511, 512, 520, 1000, 1023, 1024, 1025]);
        for row in lengths {
            let (a, b) = (row as i64 + 3, row as i64 + 1);
            come_over(row, [(3, a, b), (2, 4 * a, 5 * b), (2, 9 * a, 11 * b)]);
        }
    }

    fn come_over(row: u64, levels: [(u64, i64, i64); 3]) {
        let (a, b) = (row as i64 + 3, row as i64 + 1);
        let source: Vec<u8> = (0..18 * a as usize + 600).map(|at| (at * 7 % 251) as u8 + 1).collect();
        let mut target = vec![0_u8; 22 * b as usize + 600];
        let mut wanted = target.clone();
        let [inner, middle, outer] = levels;
        for i in 0..outer.0 as i64 {
            for j in 0..middle.0 as i64 {
                for k in 0..inner.0 as i64 {
                    let from = (i * outer.1 + j * middle.1 + k * inner.1) as usize;
                    let to = (i * outer.2 + j * middle.2 + k * inner.2) as usize;
                    wanted[to..to + row as usize].copy_from_slice(&source[from..from + row as usize]);
                }
            }
        }
        let here = levels.map(|(count, stride, _)| Level { count, stride });
        let there = levels.map(|(count, _, stride)| Level { count, stride });
        let strided = |levels| Layout::Strided {
            base: 0,
            block: row,
            levels,
        };
        let (from, to) = (
            source.as_ptr().expose_provenance() as u64,
            target.as_mut_ptr().expose_provenance() as u64,
        );
        // SAFETY: both are longer than the section.
        assert!(unsafe { copy_alike((&strided(&here), from), (&strided(&there), to)) });
        assert!(target == wanted, "rows of {row}");
        // And by way of where they lie one after the other.
        let mut packed = vec![0_u8; 12 * row as usize];
        let between = Layout::local(packed.as_mut_ptr(), 12 * row);
        target.fill(0);
        // SAFETY: as above.
        assert!(unsafe { copy_alike((&strided(&here), from), (&between, 0)) });
        // SAFETY: as above.
        assert!(unsafe { copy_alike((&between, 0), (&strided(&there), to)) });
        assert!(target == wanted, "rows of {row}, packed");
    }

    #[test]
    fn what_is_cut_differently_is_left_alone() {
        let levels = |counts: [u64; 2]| counts.map(|count| Level { count, stride: 100 });
        let (a, b, c) = (levels([2, 3]), levels([3, 2]), levels([0, 3]));
        let layout = |block, levels| Layout::Strided { base: 0, block, levels };
        let pairs = [
            (layout(8, &a[..]), layout(8, &b[..])),
            (layout(8, &a[..]), layout(4, &a[..])),
            (layout(8, &a[..]), layout(8, &a[..1])),
            (layout(8, &c[..]), layout(8, &c[..])),
            (layout(8, &a[..]), Layout::contiguous(0, 40)),
        ];
        for (from, to) in pairs {
            // SAFETY: nothing is copied.
            assert!(!unsafe { copy_alike((&from, 0), (&to, 0)) });
        }
    }
}
