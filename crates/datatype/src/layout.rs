//! Where the bytes of a datatype lie, in a canonical form that equivalent constructors share.
//!
//! A layout is a *body* repeated by a nest of loops, outermost first. The order of the bytes is that of the type map,
//! so it is also the order in which they are packed. What a constructor builds is simplified at once: runs that touch
//! become one, loops whose strides fit into each other collapse, evenly spaced equal parts become a loop (the form
//! of TEMPI, Pearson et al. 2021: counts, strides, block length).

use std::sync::Arc;

use crate::error::{Result, room};

/// Bytes of one element of a datatype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Displacement of the first repetition of the body.
    pub(crate) offset: i64,
    /// Outermost first; every count is at least two.
    pub(crate) loops: Vec<Loop>,
    pub(crate) body: Body,
}

/// A repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// How often.
    pub count: i64,
    /// Bytes from one start to the next; may be negative.
    pub stride: i64,
}

/// What the loops repeat. Offsets are relative to the repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many bytes in a row. The only form in which a layout is empty.
    Run(i64),
    /// Runs of one length, unevenly spaced.
    Blocks { length: i64, offsets: Arc<[i64]> },
    /// Runs of several lengths.
    Runs(Arc<[Run]>),
    /// Anything else.
    Parts(Arc<[NestedLayout]>),
}

/// Bytes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub offset: i64,
    pub length: i64,
    /// Bytes of the body up to the end of this run.
    pub end: i64,
}

/// A layout within a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NestedLayout {
    pub layout: Layout,
    /// Bytes of the body up to the end of this part.
    pub end: i64,
}

impl Layout {
    /// `length` bytes from `offset` on.
    pub fn run(offset: i64, length: i64) -> Self {
        Self {
            offset,
            loops: Vec::new(),
            body: Body::Run(length),
        }
    }

    /// No bytes.
    pub fn empty() -> Self {
        Self::run(0, 0)
    }

    /// Number of bytes.
    pub fn size(&self) -> i64 {
        self.loops.iter().map(|repeat| repeat.count).product::<i64>() * self.body.size()
    }

    /// (offset, length), if the bytes are in a row.
    pub fn as_run(&self) -> Option<(i64, i64)> {
        match self.body {
            Body::Run(length) if self.loops.is_empty() => Some((self.offset, length)),
            _ => None,
        }
    }

    /// The same bytes, `distance` further on.
    pub fn shifted(mut self, distance: i64) -> Self {
        if !self.is_empty() {
            self.offset += distance;
        }
        self
    }

    /// `count` copies, each `stride` bytes after the one before.
    pub fn repeated(mut self, count: i64, stride: i64) -> Self {
        if count == 0 || self.is_empty() {
            return Self::empty();
        }
        if count == 1 {
            return self;
        }
        match (&mut self.body, self.loops.first_mut()) {
            (Body::Run(length), None) if *length == stride => *length *= count,
            (_, Some(outer)) if outer.count.checked_mul(outer.stride) == Some(stride) => outer.count *= count,
            _ => self.loops.insert(0, Loop { count, stride }),
        }
        self
    }

    /// One after the other, in type map order.
    pub fn sequence(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::joined(parts.into_iter().filter(|part| !part.is_empty()).collect())
    }

    /// As [`Self::sequence`], of `count` parts at most; `NoMem` if there is no memory for them.
    pub(crate) fn sequence_of(count: usize, parts: impl Iterator<Item = Self>) -> Result<Self> {
        let mut list = room(count, "a datatype's blocks")?;
        list.extend(parts.filter(|part| !part.is_empty()));
        Ok(Self::joined(list))
    }

    /// The same of a list, whose parts are not empty.
    fn joined(parts: Vec<Self>) -> Self {
        // Before they are opened: a row of parts with holes in them is a loop, as a vector of them is.
        let mut list = match as_loop(parts) {
            Ok(repeated) => return repeated,
            Err(parts) => {
                let mut list = Vec::with_capacity(parts.len());
                parts.into_iter().for_each(|part| append(&mut list, part));
                list
            }
        };
        list = match as_loop(list) {
            Ok(repeated) => return repeated,
            Err(list) => list,
        };
        let offset = list[0].offset;
        for part in &mut list {
            part.offset -= offset;
        }
        Self {
            offset,
            loops: Vec::new(),
            body: Body::of(list),
        }
    }

    fn is_empty(&self) -> bool {
        self.body == Body::Run(0)
    }

    fn same_shape(&self, other: &Self) -> bool {
        self.loops == other.loops && self.body == other.body
    }
}

impl Body {
    /// Bytes in one repetition.
    pub(crate) fn size(&self) -> i64 {
        match self {
            Self::Run(length) => *length,
            Self::Blocks { length, offsets } => length * offsets.len() as i64,
            Self::Runs(runs) => runs.last().map_or(0, |run| run.end),
            Self::Parts(parts) => parts.last().map_or(0, |part| part.end),
        }
    }

    fn of(list: Vec<Layout>) -> Self {
        let mut end = 0;
        let Some(runs) = list.iter().map(Layout::as_run).collect::<Option<Vec<_>>>() else {
            let parts = list.into_iter().map(|layout| {
                end += layout.size();
                NestedLayout { layout, end }
            });
            return Self::Parts(parts.collect());
        };
        let length = runs[0].1;
        if runs.iter().all(|run| run.1 == length) {
            let offsets = runs.iter().map(|run| run.0).collect();
            return Self::Blocks { length, offsets };
        }
        let runs = runs.into_iter().map(|(offset, length)| {
            end += length;
            Run { offset, length, end }
        });
        Self::Runs(runs.collect())
    }
}

/// Add `part` at the end of `list`: nested lists are opened, runs that touch are joined.
fn append(list: &mut Vec<Layout>, part: Layout) {
    if part.is_empty() {
        return;
    }
    if part.loops.is_empty() {
        match &part.body {
            Body::Run(length) => {
                if let Some(Layout {
                    offset,
                    loops,
                    body: Body::Run(before),
                }) = list.last_mut()
                    && loops.is_empty()
                    && *offset + *before == part.offset
                {
                    *before += length;
                    return;
                }
            }
            Body::Blocks { length, offsets } => {
                for offset in offsets.iter() {
                    append(list, Layout::run(part.offset + offset, *length));
                }
                return;
            }
            Body::Runs(runs) => {
                for run in runs.iter() {
                    append(list, Layout::run(part.offset + run.offset, run.length));
                }
                return;
            }
            Body::Parts(parts) => {
                for inner in parts.iter() {
                    append(list, inner.layout.clone().shifted(part.offset));
                }
                return;
            }
        }
    }
    list.push(part);
}

/// One layout for what is nothing, one part, or parts that are alike and equally far apart; otherwise the parts.
fn as_loop(mut list: Vec<Layout>) -> std::result::Result<Layout, Vec<Layout>> {
    let stride = match &list[..] {
        [] => return Ok(Layout::empty()),
        [_] => Some(0),
        [first, second, ..] => second.offset.checked_sub(first.offset),
    };
    let follows =
        |pair: &[Layout]| pair[1].offset.checked_sub(pair[0].offset) == stride && pair[0].same_shape(&pair[1]);
    match stride {
        Some(stride) if list.windows(2).all(follows) => {
            let count = list.len() as i64;
            Ok(list.swap_remove(0).repeated(count, stride))
        }
        _ => Err(list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_constructions_share_a_form() {
        let double = Layout::run(0, 8);
        let vector = double.clone().repeated(2, 8).repeated(5, 32);
        let indexed = Layout::sequence((0..5).map(|i| double.clone().repeated(2, 8).shifted(32 * i)));
        let of_bytes = Layout::run(0, 1).repeated(16, 1).repeated(5, 32);
        assert_eq!(vector, indexed);
        assert_eq!(vector, of_bytes);
        assert_eq!(vector.size(), 80);
        assert_eq!(vector.loops, [Loop { count: 5, stride: 32 }],);
    }

    #[test]
    fn loops_collapse_and_runs_join() {
        assert_eq!(Layout::run(4, 8).repeated(3, 8).as_run(), Some((4, 24)));
        let plane = Layout::run(0, 8).repeated(10, 16).repeated(10, 160);
        assert_eq!(plane.loops, [Loop { count: 100, stride: 16 }]);
        let joined = Layout::sequence([Layout::run(0, 4), Layout::empty(), Layout::run(4, 12)]);
        assert_eq!(joined.as_run(), Some((0, 16)));
        assert_eq!(Layout::run(0, 8).repeated(0, 8), Layout::empty());
    }

    #[test]
    fn parts_with_holes_become_a_loop_too() {
        let holes = Layout::sequence([Layout::run(0, 2), Layout::run(4, 4)]);
        let listed = Layout::sequence((0..3).map(|i| holes.clone().shifted(i * 8)));
        assert_eq!(listed, holes.repeated(3, 8));
    }

    #[test]
    fn order_is_kept() {
        let backwards = Layout::sequence([Layout::run(4, 4), Layout::run(0, 4)]);
        assert_eq!(backwards.loops, [Loop { count: 2, stride: -4 }]);
        assert_eq!(backwards.offset, 4);
        let uneven = Layout::sequence([Layout::run(8, 4), Layout::run(0, 4), Layout::run(20, 4)]);
        assert!(matches!(uneven.body, Body::Blocks { length: 4, .. }));
        let nested = Layout::sequence([uneven.clone(), Layout::run(24, 2)]);
        assert!(matches!(&nested.body, Body::Runs(runs) if runs.len() == 3 && runs[2].length == 6));
    }
}
