//! Boxes of indexes. Dimensions are in C's order: the last one is the fastest.

/// `GA_MAX_DIM`.
pub const MOST_DIMENSIONS: usize = 7;

/// Indexes from `lo` to `hi`, both included, in each dimension. None if any `hi` is below its `lo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The first.
    pub lo: Vec<i64>,
    /// The last.
    pub hi: Vec<i64>,
}

impl Patch {
    /// From corners.
    pub fn new(lo: impl Into<Vec<i64>>, hi: impl Into<Vec<i64>>) -> Self {
        Self {
            lo: lo.into(),
            hi: hi.into(),
        }
    }

    /// The whole of an array.
    pub fn whole(dims: &[i64]) -> Self {
        Self {
            lo: vec![0; dims.len()],
            hi: dims.iter().map(|dim| dim - 1).collect(),
        }
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.lo.len()
    }

    /// Indexes in each dimension.
    pub fn extents(&self) -> Vec<i64> {
        self.lo
            .iter()
            .zip(&self.hi)
            .map(|(lo, hi)| (hi - lo + 1).max(0))
            .collect()
    }

    /// Elements.
    pub fn count(&self) -> i64 {
        self.extents().iter().product()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.lo.iter().zip(&self.hi).any(|(lo, hi)| hi < lo)
    }

    /// What both have.
    pub fn and(&self, other: &Self) -> Option<Self> {
        let lo: Vec<i64> = self.lo.iter().zip(&other.lo).map(|(a, b)| *a.max(b)).collect();
        let hi: Vec<i64> = self.hi.iter().zip(&other.hi).map(|(a, b)| *a.min(b)).collect();
        let both = Self { lo, hi };
        (!both.is_empty()).then_some(both)
    }

    /// The same box elsewhere: `from` becomes `to`.
    pub fn moved(&self, from: &[i64], to: &[i64]) -> Self {
        let shift = |at: &[i64]| -> Vec<i64> { (0..at.len()).map(|d| at[d] - from[d] + to[d]).collect() };
        Self {
            lo: shift(&self.lo),
            hi: shift(&self.hi),
        }
    }

    /// Dimensions the other way round.
    pub fn transposed(&self) -> Self {
        Self {
            lo: self.lo.iter().rev().copied().collect(),
            hi: self.hi.iter().rev().copied().collect(),
        }
    }

    /// The same elements in the same order, cut along the first dimension into boxes of at most `most` elements, as far as that goes.
    pub fn slabs(&self, most: i64) -> impl Iterator<Item = Self> + '_ {
        let per_index: i64 = self.extents().iter().skip(1).product();
        let step = (most / per_index.max(1)).max(1);
        let (lo, hi) = (self.lo[0], self.hi[0]);
        let mut next = lo;
        std::iter::from_fn(move || {
            if next > hi {
                return None;
            }
            let mut slab = self.clone();
            slab.lo[0] = next;
            slab.hi[0] = next.saturating_add(step - 1).min(hi);
            next = slab.hi[0] + 1;
            Some(slab)
        })
    }

    /// Every index, the last dimension fastest.
    pub fn indexes(&self) -> Indexes<'_> {
        Indexes {
            patch: self,
            next: (!self.is_empty()).then(|| self.lo.clone()),
        }
    }

    /// The first index of every row along the last dimension.
    pub fn rows(&self) -> PatchRows {
        let mut first = self.clone();
        if let (Some(hi), Some(lo)) = (first.hi.last_mut(), first.lo.last()) {
            *hi = (*hi).min(*lo);
        }
        let next = (!self.is_empty()).then(|| first.lo.clone());
        PatchRows { patch: first, next }
    }
}

/// See [`Patch::indexes`].
#[derive(Debug)]
pub struct Indexes<'a> {
    patch: &'a Patch,
    next: Option<Vec<i64>>,
}

fn advance(patch: &Patch, at: &mut [i64]) -> bool {
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] <= patch.hi[d] {
            return true;
        }
        at[d] = patch.lo[d];
    }
    false
}

impl Iterator for Indexes<'_> {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let current = self.next.clone()?;
        let mut next = current.clone();
        self.next = advance(self.patch, &mut next).then_some(next);
        Some(current)
    }
}

/// See [`Patch::rows`].
#[derive(Debug)]
pub struct PatchRows {
    patch: Patch,
    next: Option<Vec<i64>>,
}

impl Iterator for PatchRows {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let current = self.next.clone()?;
        let mut next = current.clone();
        self.next = advance(&self.patch, &mut next).then_some(next);
        Some(current)
    }
}

/// Row-major strides of a box with these extents, in elements.
pub fn strides(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for d in (0..extents.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1] * extents[d + 1];
    }
    strides
}

/// The place of an index in a box that begins at `lo` and has these strides.
pub fn offset(index: &[i64], lo: &[i64], strides: &[i64]) -> i64 {
    (0..index.len()).map(|d| (index[d] - lo[d]) * strides[d]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes() {
        let a = Patch::new([0, 2], [3, 5]);
        let b = Patch::new([2, 0], [9, 2]);
        assert_eq!(a.and(&b), Some(Patch::new([2, 2], [3, 2])));
        assert_eq!(a.and(&Patch::new([4, 0], [9, 9])), None);
        assert_eq!((a.count(), a.extents()), (16, vec![4, 4]));
        assert_eq!(a.moved(&[0, 2], &[1, 1]), Patch::new([1, 1], [4, 4]));
        let slabs: Vec<_> = a.slabs(13).collect();
        assert_eq!(slabs, [Patch::new([0, 2], [2, 5]), Patch::new([3, 2], [3, 5])]);
        assert_eq!(a.slabs(1).count(), 4);
        assert_eq!(a.slabs(i64::MAX).collect::<Vec<_>>(), [a]);
    }

    #[test]
    fn indexes_go_by_the_last_dimension() {
        let patch = Patch::new([1, 5], [2, 6]);
        let all: Vec<_> = patch.indexes().collect();
        assert_eq!(all, [[1, 5], [1, 6], [2, 5], [2, 6]]);
        assert_eq!(patch.rows().collect::<Vec<_>>(), [[1, 5], [2, 5]]);
        assert_eq!(Patch::new([0], [-1]).indexes().count(), 0);
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(offset(&[1, 2, 3], &[0, 0, 0], &[12, 4, 1]), 23);
    }
}
