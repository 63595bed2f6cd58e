//! Sections of arrays as ARMCI tells them: bytes of a row, and counts and strides of levels.

use std::ops::Range;

use isthmus_transfer::{Layout, Level};

use crate::error::{Result, argument};

/// `ARMCI_MAX_STRIDE_LEVEL`.
pub const MOST_LEVELS: usize = 8;

/// Rows of equal length, at two places.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Bytes of a row.
    pub row: u64,
    /// Levels that count.
    count: usize,
    from: [Level; MOST_LEVELS],
    to: [Level; MOST_LEVELS],
}

const ONCE: Level = Level { count: 1, stride: 0 };

impl Section {
    /// One row.
    #[inline]
    pub fn row(bytes: u64) -> Self {
        Self {
            row: bytes,
            count: 0,
            from: [ONCE; MOST_LEVELS],
            to: [ONCE; MOST_LEVELS],
        }
    }

    /// Rows of `row` bytes, repeated by levels of (count, stride at the source, stride at the destination), the innermost first. What is
    /// contiguous at both ends becomes one row.
    ///
    /// # Panics
    /// If there are more than [`MOST_LEVELS`] levels that count.
    pub fn of(row: u64, levels: impl IntoIterator<Item = (u64, i64, i64)>) -> Self {
        let mut section = Self::row(row);
        for (count, from, to) in levels {
            if count == 1 {
                continue;
            }
            if section.count == 0 && from == to && u64::try_from(from) == Ok(section.row) {
                section.row *= count;
                continue;
            }
            if let Some(inner) = section.count.checked_sub(1) {
                let (a, b) = (&mut section.from[inner], &mut section.to[inner]);
                let goes_on = |level: &Level, stride: i64| level.stride.checked_mul(level.count as i64) == Some(stride);
                let longer = a.count.checked_mul(count);
                if let Some(longer) = longer.filter(|_| goes_on(a, from) && goes_on(b, to)) {
                    (a.count, b.count) = (longer, longer);
                    continue;
                }
            }
            section.from[section.count] = Level { count, stride: from };
            section.to[section.count] = Level { count, stride: to };
            section.count += 1;
        }
        section
    }

    /// From the arrays of a strided call. `None`: there is nothing to move.
    ///
    /// # Errors
    /// A negative count, or more levels than there may be.
    ///
    /// # Safety
    /// `count` must have `levels + 1` elements, the strides `levels`.
    pub unsafe fn parse(
        levels: i32,
        count: *const i32,
        from_strides: *const i32,
        to_strides: *const i32,
    ) -> Result<Option<Self>> {
        let depth = usize::try_from(levels)
            .ok()
            .filter(|&depth| depth <= MOST_LEVELS)
            .ok_or_else(|| argument(format!("stride_levels={levels}, there may be 0 to {MOST_LEVELS}")))?;
        if count.is_null() || (depth > 0 && (from_strides.is_null() || to_strides.is_null())) {
            return Err(argument("count or a stride array is null"));
        }
        // SAFETY: the caller's promise.
        let number = |array: *const i32, at: usize| unsafe { array.add(at).read() };
        let mut is_empty = false;
        for at in 0..=depth {
            match number(count, at) {
                0 => is_empty = true,
                negative if negative < 0 => return Err(argument(format!("count[{at}]={negative} is negative"))),
                _ => {}
            }
        }
        if is_empty {
            return Ok(None);
        }
        let level = |at: usize| {
            let (count, from, to) = (number(count, at + 1), number(from_strides, at), number(to_strides, at));
            (count as u64, i64::from(from), i64::from(to))
        };
        Ok(Some(Self::of(number(count, 0) as u64, (0..depth).map(level))))
    }

    /// Is it one row?
    #[inline]
    pub fn is_row(&self) -> bool {
        self.count == 0
    }

    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.levels_at_source()
            .iter()
            .fold(self.row, |bytes, level| bytes.saturating_mul(level.count))
    }

    fn levels_at_source(&self) -> &[Level] {
        &self.from[..self.count]
    }

    fn levels_at_target(&self) -> &[Level] {
        &self.to[..self.count]
    }

    /// The same rows in the same order, to where they lie one after the other.
    pub fn gathering(&self) -> Self {
        let mut packed = self.row as i64;
        let levels = self.levels_at_source().iter().map(|level| {
            let stride = packed;
            packed *= level.count as i64;
            (level.count, level.stride, stride)
        });
        Self::of(self.row, levels)
    }

    /// The same rows in the same order, from where they lie one after the other.
    pub fn scattering(&self) -> Self {
        let mut packed = self.row as i64;
        let levels = self.levels_at_target().iter().map(|level| {
            let stride = packed;
            packed *= level.count as i64;
            (level.count, stride, level.stride)
        });
        Self::of(self.row, levels)
    }

    /// The same rows in the same order, in parts of about so many: each with how far from the first row's places it begins.
    pub fn parts(&self, rows: u64) -> impl Iterator<Item = (Self, [i64; 2])> + use<> {
        let section = *self;
        let outermost = section.count.saturating_sub(1);
        let inner = section.levels_at_source().iter().take(outermost);
        let inner = inner.fold(1_u64, |rows, level| rows.saturating_mul(level.count));
        let (from, to) = (section.from[outermost], section.to[outermost]);
        let step = (rows / inner.max(1)).max(1);
        (0..from.count.div_ceil(step)).map(move |part| {
            let begin = part * step;
            let level = |level: usize| match level == outermost {
                true => (step.min(from.count - begin), from.stride, to.stride),
                false => (
                    section.from[level].count,
                    section.from[level].stride,
                    section.to[level].stride,
                ),
            };
            let places = [from.stride, to.stride].map(|stride| stride * begin as i64);
            (Self::of(section.row, (0..section.count).map(level)), places)
        })
    }

    /// The source, from `base` on.
    #[inline]
    pub fn source(&self, base: u64) -> Layout<'_> {
        Layout::strided(base, self.row, self.levels_at_source())
    }

    /// The destination, from `base` on.
    #[inline]
    pub fn target(&self, base: u64) -> Layout<'_> {
        Layout::strided(base, self.row, self.levels_at_target())
    }

    /// The addresses that a side of it touches. `None`: it would leave the address space.
    #[inline]
    pub fn extent(layout: &Layout<'_>) -> Option<Range<u64>> {
        layout.extent()
    }

    /// Call `row(source, destination)` for every row, in the order of addresses of a section with positive strides.
    #[inline]
    pub fn for_each_row(&self, from: u64, to: u64, mut row: impl FnMut(u64, u64)) {
        self.for_each_run(from, to, |mut source, mut target, count, [a, b]| {
            for _ in 0..count {
                row(source, target);
                source = source.wrapping_add_signed(a);
                target = target.wrapping_add_signed(b);
            }
        });
    }

    /// Call `run(source, destination, count, strides)` for the rows of the innermost level, in the same order.
    #[inline]
    pub fn for_each_run(&self, from: u64, to: u64, mut run: impl FnMut(u64, u64, u64, [i64; 2])) {
        let inner = (self.from[0], self.to[0]);
        let mut index = [0_u64; MOST_LEVELS];
        let (mut source, mut target) = (from, to);
        loop {
            run(source, target, inner.0.count, [inner.0.stride, inner.1.stride]);
            let mut level = 1;
            loop {
                if level >= self.count {
                    return;
                }
                let (a, b) = (self.from[level], self.to[level]);
                index[level] += 1;
                if index[level] < a.count {
                    source = source.wrapping_add_signed(a.stride);
                    target = target.wrapping_add_signed(b.stride);
                    break;
                }
                index[level] = 0;
                let back = (a.count - 1) as i64;
                source = source.wrapping_add_signed(-a.stride * back);
                target = target.wrapping_add_signed(-b.stride * back);
                level += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_contiguous_at_both_ends_is_one_row() {
        let section = Section::of(16, [(4, 16, 16), (3, 64, 64)]);
        assert!(section.is_row());
        assert_eq!(section.row, 192);
        let section = Section::of(16, [(4, 16, 32), (1, 7, 9), (3, 64, 128)]);
        assert!(!section.is_row());
        assert_eq!(section.bytes(), 192);
    }

    #[test]
    fn what_is_gathered_is_scattered_in_the_same_order() {
        let section = Section::of(8, [(2, 10, 100), (3, 40, 1000)]);
        let rows = |section: &Section| {
            let mut rows = Vec::new();
            section.for_each_row(0, 0, |from, to| rows.push((from, to)));
            rows
        };
        let (gathered, scattered) = (rows(&section.gathering()), rows(&section.scattering()));
        let ends: Vec<_> = gathered.iter().zip(&scattered).map(|(a, b)| (a.0, b.1)).collect();
        assert_eq!(ends, rows(&section));
        assert!(gathered.iter().zip(&scattered).all(|(a, b)| a.1 == b.0));
        assert_eq!(gathered.last(), Some(&(90, 40)));
    }

    #[test]
    fn parts_are_all_rows_in_their_order() {
        let rows = |section: &Section, [from, to]: [i64; 2]| {
            let mut rows = Vec::new();
            section.for_each_row(0, 0, |a, b| {
                rows.push((a.wrapping_add_signed(from), b.wrapping_add_signed(to)));
            });
            rows
        };
        let sections = [
            Section::row(8),
            Section::of(8, [(7, 10, 100)]),
            Section::of(8, [(2, 10, 100), (5, 40, 1000), (3, 400, 10000)]),
        ];
        for section in sections {
            for most in 1..20 {
                let parts: Vec<_> = section.parts(most).collect();
                let all: Vec<_> = parts.iter().flat_map(|(part, places)| rows(part, *places)).collect();
                assert_eq!(all, rows(&section, [0, 0]), "{most}");
            }
        }
        assert_eq!(sections[1].parts(3).count(), 3);
        assert_eq!(sections[2].parts(20).count(), 2);
    }

    #[test]
    fn rows_come_in_order() {
        let section = Section::of(8, [(2, 10, 100), (3, 40, 1000)]);
        let mut rows = Vec::new();
        section.for_each_row(1, 2, |from, to| rows.push((from, to)));
        assert_eq!(
            rows,
            [(1, 2), (11, 102), (41, 1002), (51, 1102), (81, 2002), (91, 2102)]
        );
        assert_eq!(section.target(2).extent(), Some(2..2110));
    }

    #[test]
    fn bad_counts_are_refused() {
        let (counts, strides) = ([8, -1], [8]);
        // SAFETY: the arrays have two and one elements.
        let parse = |levels| unsafe { Section::parse(levels, counts.as_ptr(), strides.as_ptr(), strides.as_ptr()) };
        assert!(parse(1).is_err() && parse(9).is_err() && parse(-1).is_err());
        assert!(parse(0).is_ok_and(|section| section.is_some_and(|section| section.row == 8)));
    }
}
