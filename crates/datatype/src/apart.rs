//! Whether elements lie apart from each other: nothing may be received where two of their bytes share a place
//! (MPI-5.0 §5.1.11).

use std::sync::atomic::{AtomicI64, Ordering};

use crate::layout::{Body, Layout, Loop};

/// Runs that are compared one by one, where strides alone do not tell.
const MOST_RUNS: usize = 1 << 14;

/// Result so far: so many elements lie apart.
#[derive(Debug, Default)]
pub(crate) struct Apart(AtomicI64);

impl Apart {
    /// Do `count` elements of this layout, so many bytes from one to the next, lie apart?
    ///
    /// Of layouts with very many runs, of which strides do not tell that they are apart, the first are looked at.
    #[inline]
    pub fn holds(&self, layout: &Layout, count: i64, stride: i64) -> bool {
        count <= self.0.load(Ordering::Relaxed) || self.compare(layout, count, stride)
    }

    #[cold]
    fn compare(&self, layout: &Layout, count: i64, stride: i64) -> bool {
        // As many elements as anybody has, if strides tell.
        let known = [i64::MAX, count]
            .into_iter()
            .find(|count| layout.strides_tell(Loop { count: *count, stride }));
        let apart = known.unwrap_or(count);
        if known.is_none() && layout.runs_meet(Loop { count, stride }) {
            return false;
        }
        self.0.fetch_max(apart, Ordering::Relaxed);
        true
    }
}

impl Layout {
    /// Are all runs apart, since each stride steps over everything within it? The order of loops does not matter to where
    /// bytes lie.
    fn strides_tell(&self, elements: Loop) -> bool {
        let Some(body) = self.body.span() else { return false };
        let mut loops: Vec<Loop> = self.loops.iter().copied().chain([elements]).collect();
        loops.retain(|repeat| repeat.count > 1);
        loops.sort_by_key(|repeat| repeat.stride.unsigned_abs());
        let mut within = body;
        loops.iter().all(|repeat| {
            let stride = i128::from(repeat.stride).abs();
            let steps_over = stride >= within;
            within = within.saturating_add(stride.saturating_mul(i128::from(repeat.count) - 1));
            steps_over
        })
    }

    /// Do two of the runs of these elements share a byte?
    fn runs_meet(&self, elements: Loop) -> bool {
        let mut runs = Vec::new();
        for index in 0..elements.count {
            self.list(i128::from(index) * i128::from(elements.stride), &mut runs);
            if runs.len() >= MOST_RUNS {
                break;
            }
        }
        runs.sort_unstable();
        runs.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0)
    }

    /// Add runs as (offset, length), until there are very many.
    fn list(&self, base: i128, runs: &mut Vec<(i128, i128)>) {
        let mut starts = vec![base + i128::from(self.offset)];
        for repeat in &self.loops {
            let steps = repeat.count.min(MOST_RUNS as i64);
            let spread = |start: &i128| {
                let start = *start;
                (0..steps).map(move |step| start + i128::from(step) * i128::from(repeat.stride))
            };
            starts = starts.iter().flat_map(spread).take(MOST_RUNS).collect();
        }
        for start in starts {
            if runs.len() >= MOST_RUNS {
                return;
            }
            self.body.list(start, runs);
        }
    }
}

impl Body {
    fn list(&self, start: i128, runs: &mut Vec<(i128, i128)>) {
        let at = |offset: i64, length: i64| (start + i128::from(offset), i128::from(length));
        match self {
            Self::Run(length) => runs.push(at(0, *length)),
            Self::Blocks { length, offsets } => {
                runs.extend(offsets.iter().take(MOST_RUNS).map(|offset| at(*offset, *length)));
            }
            Self::Runs(list) => runs.extend(list.iter().take(MOST_RUNS).map(|run| at(run.offset, run.length))),
            Self::Parts(parts) => {
                for part in parts.iter() {
                    part.layout.list(start, runs);
                }
            }
        }
    }

    /// Bytes from the first to behind the last of one repetition, if its runs are seen to be apart.
    fn span(&self) -> Option<i128> {
        if let Self::Run(length) = self {
            return Some(i128::from(*length));
        }
        let mut runs = Vec::new();
        self.list(0, &mut runs);
        if runs.len() >= MOST_RUNS {
            return None;
        }
        runs.sort_unstable();
        let apart = runs.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
        let (first, last) = (runs.first()?, runs.last()?);
        apart.then_some(last.0 + last.1 - first.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is an overlap found, and never claimed for separate elements?
    fn meet(layout: &Layout, count: i64, stride: i64) -> bool {
        let elements = Loop { count, stride };
        let meets = layout.runs_meet(elements);
        assert!(!(meets && layout.strides_tell(elements)), "strides tell otherwise");
        meets
    }

    #[test]
    fn elements_that_overlap_are_seen() {
        let run = Layout::run(0, 8);
        assert!(meet(&run, 2, 4));
        assert!(meet(&run, 2, 0));
        assert!(meet(&run, 2, -7));
        assert!(!meet(&run, 2, -8));
        assert!(!meet(&run, 1, 0));
        let blocks = Layout::sequence([Layout::run(0, 4), Layout::run(2, 4), Layout::run(20, 4)]);
        assert!(meet(&blocks, 1, 24));
    }

    #[test]
    fn columns_lie_apart() {
        // A column of a matrix with rows of 80 bytes, resized so that the next element is the next column.
        let column = Layout::run(0, 8).repeated(10, 80);
        let columns = |count| Loop { count, stride: 8 };
        assert!(column.strides_tell(columns(10)));
        assert!(!meet(&column, 10, 8));
        assert!(meet(&column, 11, 8));
        assert!(!column.strides_tell(columns(i64::MAX)));
    }

    #[test]
    fn combs_lie_apart_though_strides_do_not_tell() {
        let comb = Layout::sequence([Layout::run(0, 4), Layout::run(12, 2)]);
        assert!(!comb.strides_tell(Loop { count: 2, stride: 4 }));
        assert!(!meet(&comb, 2, 4));
        assert!(meet(&comb, 3, 6));
    }

    #[test]
    fn very_many_runs_are_looked_at_as_far_as_that_is_cheap() {
        // The second copy meets the first, far behind the compared elements.
        let far = Layout::run(0, 8).repeated(1 << 40, 16).repeated(1 << 20, 8);
        assert!(!meet(&far, 1, 0));
        let same = Layout::run(0, 8).repeated(1 << 40, 0);
        assert!(meet(&same, 1, 0));
    }
}
