//! What must be copied to fill a margin, by either algorithm: found out once for each array.

use isthmus_armci::life::job;
use isthmus_armci::section::Section;
use isthmus_armci::transfer::{copy_section, move_far};
use isthmus_armci::vector::End;

use crate::array::Array;
use crate::distribution::Block;
use crate::error::Result;
use crate::onesided::{Buffer, at_once, plan_periodic};
use crate::patch::{Patch, offset};

/// The block of the calling process, and the box of its part, margin included, in indexes of the array.
pub(super) fn own(array: &Array) -> Option<(Block, Patch)> {
    of(array, array.me()?)
}

/// As [`own`], of any process that has a part.
pub(super) fn of(array: &Array, process: usize) -> Option<(Block, Patch)> {
    let block = array.blocks_of(process).into_iter().next()?;
    let outer = Patch {
        lo: (0..array.rank()).map(|d| block.patch.lo[d] - array.ghosts[d]).collect(),
        hi: (0..array.rank()).map(|d| block.patch.hi[d] + array.ghosts[d]).collect(),
    };
    Some((block, outer))
}

/// The piece of the margin that lies in these directions (-1, 0 or 1 in each dimension) from the block.
pub(super) fn piece(array: &Array, block: &Patch, direction: &[i64]) -> Patch {
    let along = |d: usize| match direction[d] {
        0 => (block.lo[d], block.hi[d]),
        below if below < 0 => (block.lo[d] - array.ghosts[d], block.lo[d] - 1),
        _ => (block.hi[d] + 1, block.hi[d] + array.ghosts[d]),
    };
    let (lo, hi): (Vec<i64>, Vec<i64>) = (0..array.rank()).map(along).unzip();
    Patch { lo, hi }
}

/// A copy from a block into a margin, or to or from the packed buffer between them.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) section: Section,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The process that has the source, by its number among all.
    pub(super) source: usize,
}

impl Copy {
    pub(super) fn make(&self) -> Result<()> {
        let Self {
            section,
            from,
            to,
            source,
        } = self;
        // SAFETY: what is copied was taken from our own part, margin included, from blocks and from packed pieces that are mapped here, or
        // are there on another node, for as long as the array lives; both ends are apart.
        unsafe {
            if !move_far(job()?, End::Source, section, *from, *to, *source)? {
                copy_section(section, *from, *to);
            }
        }
        Ok(())
    }

    /// The same in parts of about so many rows.
    fn parts(&self, rows: u64) -> Vec<Self> {
        let parts = self.section.parts(rows);
        parts
            .map(|(section, [from, to])| Self {
                section,
                from: self.from.wrapping_add_signed(from),
                to: self.to.wrapping_add_signed(to),
                source: self.source,
            })
            .collect()
    }
}

/// Copies that may be made in any order.
#[derive(Debug)]
pub(crate) struct Step {
    /// They read what others got by the steps before.
    waits: bool,
    copies: Vec<Copy>,
}

/// Make the copies; `wait` waits for all processes.
pub(super) fn make(steps: &[Step], wait: impl Fn() -> Result<()>) -> Result<()> {
    for step in steps {
        if step.waits {
            wait()?;
        }
        at_once(|| step.copies.iter().try_for_each(Copy::make))?;
    }
    Ok(())
}

/// What must be copied to fill a box of the margin of a block, each with the process whose block it is from; in these dimensions with the
/// margins of both, which are filled.
pub(super) fn pieces(array: &Array, block: &Block, wanted: &Patch, filled: &[usize]) -> Result<Vec<(usize, Copy)>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let place = block.offset + offset(&wanted.lo, &block.patch.lo, &block.strides);
    let buffer = Buffer {
        at: array
            .part(block.owner)
            .wrapping_offset((place * array.kind.bytes() as i64) as isize),
        strides: block.strides.clone(),
    };
    let mut wider = vec![0; array.rank()];
    filled.iter().for_each(|d| wider[*d] = array.ghosts[*d]);
    let copies = plan_periodic(array, wanted, &buffer, &wider)?.into_iter();
    Ok(copies
        .map(|(section, from, to, owner)| {
            let source = array.absolute(owner);
            (
                owner,
                Copy {
                    section,
                    from,
                    to,
                    source,
                },
            )
        })
        .collect())
}

/// All directions but that of the block itself.
pub(super) fn around(array: &Array) -> impl Iterator<Item = Vec<i64>> + use<> {
    let all = Patch::new(vec![-1; array.rank()], vec![1; array.rank()]);
    let directions: Vec<_> = all
        .indexes()
        .filter(|direction| direction.iter().any(|d| *d != 0))
        .collect();
    directions.into_iter()
}

/// The pieces in these directions, each from its owner.
///
/// # Errors
/// A margin that is wider than the array.
pub(super) fn direct(array: &Array, directions: impl Iterator<Item = Vec<i64>>) -> Result<Vec<Step>> {
    let mut copies = Vec::new();
    if let Some((block, _)) = own(array) {
        for direction in directions {
            let pieces = pieces(array, &block, &piece(array, &block.patch, &direction), &[])?;
            copies.extend(pieces.into_iter().map(|(_, copy)| copy));
        }
    }
    Ok(vec![Step { waits: false, copies }])
}

/// Can blocks take all of a margin from their next neighbours?
fn can_shift(array: &Array) -> bool {
    let blocks = (0..array.processes()).flat_map(|process| array.blocks_of(process));
    array.distribution.total(&array.dims) == array.processes() as i64
        && blocks
            .map(|block| block.patch.extents())
            .all(|extents| (0..array.rank()).all(|d| extents[d] >= array.ghosts[d]))
}

/// Dimension by dimension, from the two neighbours in each, with what these got before; first the dimensions that are cut, so that in the
/// others, where the neighbour is the block itself, nobody waits. `None`: some block is smaller than the margin.
pub(super) fn shift(array: &Array) -> Option<Vec<Step>> {
    if !can_shift(array) {
        return None;
    }
    // A process without elements waits with the others.
    let own = own(array);
    let counts = array.distribution.block_counts(&array.dims);
    let (cut, whole) = dimensions(array);
    let mut done = vec![false; array.rank()];
    let mut steps = Vec::new();
    for d in cut.into_iter().chain(whole) {
        steps.push(Step {
            waits: !steps.is_empty() && counts[d] > 1,
            copies: sides(array, own.as_ref(), &done, d),
        });
        done[d] = true;
    }
    Some(steps)
}

/// Dimensions that have a margin: cut ones, and uncut ones.
pub(super) fn dimensions(array: &Array) -> (Vec<usize>, Vec<usize>) {
    let counts = array.distribution.block_counts(&array.dims);
    (0..array.rank())
        .filter(|d| array.ghosts[*d] > 0)
        .partition(|d| counts[*d] > 1)
}

/// The dimensions that are not cut, one after the other, from the block itself, and from what was filled before.
pub(super) fn within(array: &Array, whole: &[usize]) -> Vec<Copy> {
    let own = own(array).filter(|(block, _)| !block.patch.is_empty());
    let mut done = vec![false; array.rank()];
    let mut copies = Vec::new();
    for &d in whole {
        copies.extend(sides(array, own.as_ref(), &done, d));
        done[d] = true;
    }
    copies
}

/// Of margins whose rows are no longer than a line, so many rows of one side, and then as many of the other: they lie in the same lines.
const ROWS_IN_TURN: u64 = 128;
const LINE: u64 = 64;

/// Both sides of a dimension.
fn sides(array: &Array, own: Option<&(Block, Patch)>, done: &[bool], dimension: usize) -> Vec<Copy> {
    let Some(own) = own else { return Vec::new() };
    let [low, high] = [-1, 1].map(|side| shifted(array, own, done, dimension, side));
    if low.section.row > LINE {
        return vec![low, high];
    }
    let (low, high) = (low.parts(ROWS_IN_TURN), high.parts(ROWS_IN_TURN));
    low.into_iter().zip(high).flat_map(<[Copy; 2]>::from).collect()
}

/// The margin on one side of a dimension, from the neighbour there, which has the same extents in all others; of the dimensions `done` with
/// their margins.
fn shifted(array: &Array, (block, outer): &(Block, Patch), done: &[bool], dimension: usize, side: i64) -> Copy {
    let width = array.ghosts[dimension];
    let counts = array.distribution.block_counts(&array.dims);
    let mut at = array.distribution.coordinates(&array.dims, block.number);
    at[dimension] = (at[dimension] + side).rem_euclid(counts[dimension]);
    let number = array.distribution.number(&array.dims, &at);
    let ghosts = &array.ghosts;
    let theirs = array.distribution.block(&array.dims, ghosts, array.processes(), number);
    let mut wanted = block.patch.clone();
    for (d, _) in done.iter().enumerate().filter(|(_, done)| **done) {
        (wanted.lo[d], wanted.hi[d]) = (outer.lo[d], outer.hi[d]);
    }
    let mut source = wanted.clone();
    (wanted.lo[dimension], wanted.hi[dimension]) = match side {
        -1 => (block.patch.lo[dimension] - width, block.patch.lo[dimension] - 1),
        _ => (block.patch.hi[dimension] + 1, block.patch.hi[dimension] + width),
    };
    (source.lo[dimension], source.hi[dimension]) = match side {
        -1 => (theirs.patch.hi[dimension] - width + 1, theirs.patch.hi[dimension]),
        _ => (theirs.patch.lo[dimension], theirs.patch.lo[dimension] + width - 1),
    };
    let bytes = array.kind.bytes() as i64;
    let to = block.offset + offset(&wanted.lo, &block.patch.lo, &block.strides);
    // In the other dimensions both have the same indexes.
    let mut begin = theirs.patch.lo.clone();
    for (d, lo) in begin.iter_mut().enumerate().filter(|(d, _)| *d != dimension) {
        *lo = block.patch.lo[d];
    }
    let from = theirs.offset + offset(&source.lo, &begin, &theirs.strides);
    let extents = wanted.extents();
    let last = array.rank() - 1;
    let levels = (0..last)
        .rev()
        .map(|d| (extents[d] as u64, theirs.strides[d] * bytes, block.strides[d] * bytes));
    let section = Section::of((extents[last] * bytes) as u64, levels);
    let from = array.part(theirs.owner).wrapping_offset((from * bytes) as isize);
    let to = array.own_part().wrapping_offset((to * bytes) as isize);
    Copy {
        section,
        from: from.expose_provenance() as u64,
        to: to.expose_provenance() as u64,
        source: array.absolute(theirs.owner),
    }
}
