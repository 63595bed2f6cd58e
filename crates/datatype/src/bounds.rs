//! Lower and upper bounds, true extent, alignment (MPI-5.0 §5.1.6 to §5.1.8).
//!
//! Padding stays with what it pads, as in C: a type that ends in an element of another type ends where that element's
//! padding does. Only strides that no alignment explains show a difference to padding the flattened type map.

/// What a type map says of its bounds. All in bytes; wide, so that no sum overflows before it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// First byte of data, and the one behind the last; none if there is no data.
    data: Option<(i128, i128)>,
    /// Where the last of the parts ends that it was made of, with its padding.
    end: Option<i128>,
    /// The smallest explicit lower bound (`lb_marker`).
    lower: Option<i128>,
    /// The largest explicit upper bound (`ub_marker`).
    upper: Option<i128>,
    /// The strictest alignment of a basic element.
    alignment: i128,
}

impl Bounds {
    pub const EMPTY: Self = Self {
        data: None,
        end: None,
        lower: None,
        upper: None,
        alignment: 1,
    };

    /// Of `size` bytes at 0.
    pub fn basic(size: i64, alignment: i64) -> Self {
        Self {
            data: Some((0, i128::from(size))),
            end: Some(i128::from(size)),
            alignment: i128::from(alignment),
            ..Self::EMPTY
        }
    }

    pub fn with_lower(self, lower: i64) -> Self {
        Self {
            lower: Some(i128::from(lower)),
            ..self
        }
    }

    pub fn with_upper(self, upper: i128) -> Self {
        Self {
            upper: Some(upper),
            ..self
        }
    }

    pub fn lb(&self) -> i128 {
        self.lower.or(self.data.map(|data| data.0)).unwrap_or(0)
    }

    /// Without an explicit bound the extent is rounded up to the alignment, as a C compiler pads a structure.
    pub fn ub(&self) -> i128 {
        let natural = || {
            let lb = self.lb();
            let end = self.end.unwrap_or(lb);
            lb + (end - lb + self.alignment - 1).div_euclid(self.alignment) * self.alignment
        };
        self.upper.unwrap_or_else(natural)
    }

    /// Of a finished type: its own padding belongs to it from now on.
    pub fn finished(self) -> Self {
        Self {
            end: self.end.map(|_| Self { upper: None, ..self }.ub()),
            ..self
        }
    }

    pub fn true_lb(&self) -> i128 {
        self.data.map_or(0, |data| data.0)
    }

    pub fn true_ub(&self) -> i128 {
        self.data.map_or(0, |data| data.1)
    }

    /// Of `count` copies, `stride` bytes apart.
    pub fn repeated(self, count: i64, stride: i64) -> Self {
        match count {
            0 => Self::EMPTY,
            _ => self.union(self.shifted(i128::from(count - 1) * i128::from(stride))),
        }
    }

    pub fn shifted(self, distance: i128) -> Self {
        Self {
            data: self.data.map(|(from, to)| (from + distance, to + distance)),
            end: self.end.map(|end| end + distance),
            lower: self.lower.map(|lower| lower + distance),
            upper: self.upper.map(|upper| upper + distance),
            ..self
        }
    }

    /// Of both type maps, one after the other.
    pub fn union(self, other: Self) -> Self {
        fn merge<T>(a: Option<T>, b: Option<T>, pick: impl FnOnce(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(pick(a, b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            data: merge(self.data, other.data, |a, b| (a.0.min(b.0), a.1.max(b.1))),
            end: merge(self.end, other.end, i128::max),
            lower: merge(self.lower, other.lower, i128::min),
            upper: merge(self.upper, other.upper, i128::max),
            alignment: self.alignment.max(other.alignment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bounds;

    #[test]
    fn explicit_bounds_win_over_data() {
        let resized = Bounds::basic(4, 4).with_lower(-4).with_upper(12);
        let with_double = resized.union(Bounds::basic(8, 8).shifted(100));
        assert_eq!((with_double.lb(), with_double.ub()), (-4, 12));
        assert_eq!((with_double.true_lb(), with_double.true_ub()), (0, 108));
    }

    #[test]
    fn extents_are_padded_like_structures() {
        let double_char = Bounds::basic(8, 8).union(Bounds::basic(1, 1).shifted(8));
        assert_eq!((double_char.lb(), double_char.ub(), double_char.true_ub()), (0, 16, 9));
        let pair = double_char.finished();
        assert_eq!(pair.union(pair.shifted(17)).ub(), 40);
        let upper_only = Bounds::basic(4, 4).with_upper(-3);
        assert_eq!((upper_only.lb(), upper_only.ub()), (0, -3));
        assert_eq!(Bounds::basic(8, 8).repeated(0, 8), Bounds::EMPTY);
        assert_eq!(Bounds::EMPTY.ub(), 0);
    }
}
