//! Margins of blocks that hold copies of the neighbours' elements; the array is a torus.
//!
//! Two algorithms: *direct* gets the 3^dimensions - 1 pieces of a margin, corners too, each from whoever has it, with one wait for all
//! before and one after; *shift* goes dimension by dimension, and takes from the two neighbours in each also what they have just got,
//! with a wait for all after each dimension. See C. S. Guiang, A. Purkayastha, K. F. Milfeld, "Remote memory operations on Linux
//! clusters", and B. Palmer, J. Nieplocha, "Efficient Algorithms for Ghost Cell Updates on Two Classes of MPP Architectures", 2002.

use isthmus_armci::section::Section;
use isthmus_armci::transfer::copy_section;

use crate::array::Array;
use crate::distribution::Block;
use crate::error::{Error, Result};
use crate::life::{collectively, sync_group};
use crate::onesided::{Buffer, plan_periodic};
use crate::patch::{Patch, offset};

/// Which way margins are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Each piece from its owner.
    Direct,
    /// Dimension by dimension.
    Shift,
}

/// The block of the calling process, and the box of its part, margin included, in indexes of the array.
fn own(array: &Array) -> Option<(Block, Patch)> {
    let block = array.blocks_of(array.me()?).into_iter().next()?;
    let outer = Patch {
        lo: (0..array.rank()).map(|d| block.patch.lo[d] - array.ghosts[d]).collect(),
        hi: (0..array.rank()).map(|d| block.patch.hi[d] + array.ghosts[d]).collect(),
    };
    Some((block, outer))
}

/// The piece of the margin that lies in these directions (-1, 0 or 1 in each dimension) from the block.
fn piece(array: &Array, block: &Patch, direction: &[i64]) -> Patch {
    let along = |d: usize| match direction[d] {
        0 => (block.lo[d], block.hi[d]),
        below if below < 0 => (block.lo[d] - array.ghosts[d], block.lo[d] - 1),
        _ => (block.hi[d] + 1, block.hi[d] + array.ghosts[d]),
    };
    let (lo, hi): (Vec<i64>, Vec<i64>) = (0..array.rank()).map(along).unzip();
    Patch { lo, hi }
}

/// A copy from somebody's block into our margin.
#[derive(Debug)]
pub(crate) struct Copy {
    section: Section,
    from: u64,
    to: u64,
}

/// Get a box of our own margin from whoever has it.
fn fill(array: &Array, block: &Block, wanted: &Patch) -> Result<()> {
    for copy in plan(array, block, wanted)? {
        make(&copy);
    }
    Ok(())
}

fn make(copy: &Copy) {
    // SAFETY: `plan` took the box from our own part, margin included, and what goes there from blocks that are mapped here for as long as
    // the array lives.
    unsafe { copy_section(&copy.section, copy.from, copy.to) };
}

/// What must be copied to fill a box of our own margin.
fn plan(array: &Array, block: &Block, wanted: &Patch) -> Result<Vec<Copy>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let place = block.offset + offset(&wanted.lo, &block.patch.lo, &block.strides);
    let buffer = Buffer {
        at: array
            .own_part()
            .wrapping_offset((place * array.kind.bytes() as i64) as isize),
        strides: block.strides.clone(),
    };
    let copies = plan_periodic(array, wanted, &buffer)?.into_iter();
    Ok(copies.map(|(section, from, to)| Copy { section, from, to }).collect())
}

/// Get the pieces in these directions.
///
/// # Errors
/// A margin that is wider than the array.
pub fn fill_directions(array: &Array, directions: impl Iterator<Item = Vec<i64>>) -> Result<()> {
    let Some((block, _)) = own(array) else { return Ok(()) };
    for direction in directions {
        fill(array, &block, &piece(array, &block.patch, &direction))?;
    }
    Ok(())
}

/// All directions but that of the block itself.
fn around(array: &Array) -> impl Iterator<Item = Vec<i64>> + use<> {
    let all = Patch::new(vec![-1; array.rank()], vec![1; array.rank()]);
    let directions: Vec<_> = all
        .indexes()
        .filter(|direction| direction.iter().any(|d| *d != 0))
        .collect();
    directions.into_iter()
}

/// All pieces; what must be copied is found out once for each array.
fn direct(array: &Array) -> Result<()> {
    if let Some(known) = array.margins.get() {
        known.iter().for_each(make);
        return Ok(());
    }
    let mut copies = Vec::new();
    if let Some((block, _)) = own(array) {
        for direction in around(array) {
            copies.extend(plan(array, &block, &piece(array, &block.patch, &direction))?);
        }
    }
    copies.iter().for_each(make);
    // Another thread may have been faster.
    let _ = array.margins.set(copies);
    Ok(())
}

/// Can blocks take all of a margin from their next neighbours?
fn can_shift(array: &Array) -> bool {
    let blocks = (0..array.processes()).flat_map(|process| array.blocks_of(process));
    array.distribution.total(&array.dims) == array.processes() as i64
        && blocks
            .map(|block| block.patch.extents())
            .all(|extents| (0..array.rank()).all(|d| extents[d] >= array.ghosts[d]))
}

fn shift(array: &Array) -> Result<()> {
    let group = array.group()?;
    let own = own(array);
    for d in 0..array.rank() {
        if let Some((block, outer)) = &own {
            for side in [-1, 1] {
                shift_one(array, block, outer, d, side);
            }
        }
        if d + 1 < array.rank() {
            sync_group(&group)?;
        }
    }
    Ok(())
}

/// Take the margin on one side of a dimension from the neighbour there, who has the same extents in all others.
fn shift_one(array: &Array, block: &Block, outer: &Patch, dimension: usize, side: i64) {
    let width = array.ghosts[dimension];
    if width == 0 {
        return;
    }
    let counts = array.distribution.block_counts(&array.dims);
    let mut at = array.distribution.coordinates(&array.dims, block.number);
    at[dimension] = (at[dimension] + side).rem_euclid(counts[dimension]);
    let number = array.distribution.number(&array.dims, &at);
    let ghosts = &array.ghosts;
    let theirs = array.distribution.block(&array.dims, ghosts, array.processes(), number);
    // Dimensions before this one have their margins, those after it have not.
    let mut wanted = block.patch.clone();
    wanted.lo[..dimension].copy_from_slice(&outer.lo[..dimension]);
    wanted.hi[..dimension].copy_from_slice(&outer.hi[..dimension]);
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
    let (from, to) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    // SAFETY: both boxes lie within the parts of two processes, or apart from each other in one.
    unsafe { copy_section(&section, from, to) };
}

/// `GA_Update_ghosts` by one algorithm. Collective.
///
/// # Errors
/// A margin that is wider than the array.
pub fn update_by(array: &Array, algorithm: Algorithm) -> Result<()> {
    if !array.has_ghosts() {
        return Ok(());
    }
    collectively(&*array.group()?, || match algorithm {
        Algorithm::Shift if can_shift(array) => shift(array),
        _ => direct(array),
    })
}

/// `GA_Update_ghosts`. Collective.
///
/// # Errors
/// As for [`update_by`].
pub fn update(array: &Array) -> Result<()> {
    update_by(array, Algorithm::Direct)
}

/// `NGA_Update_ghost_dir`: the margin on one side of a dimension; its corners, too, if they are wanted. Collective.
///
/// # Errors
/// There is no such dimension or side.
pub fn update_side(array: &Array, dimension: usize, side: i64, corners: bool) -> Result<()> {
    if dimension >= array.rank() || side == 0 {
        return Err(Error::argument(format!(
            "dimension={dimension}, idir={side}: a dimension of 0..{} and a side of -1 or 1",
            array.rank()
        )));
    }
    let meant = |direction: &Vec<i64>| {
        direction[dimension] == side.signum()
            && (corners || (0..array.rank()).all(|d| d == dimension || direction[d] == 0))
    };
    collectively(&*array.group()?, || fill_directions(array, around(array).filter(meant)))
}

/// `NGA_Get_ghost_block`: from our own block and its margin.
///
/// # Errors
/// It is not within them.
///
/// # Safety
/// The buffer must be good for the patch.
pub unsafe fn get(array: &Array, patch: &Patch, buffer: &Buffer) -> Result<()> {
    let Some((block, outer)) = own(array) else {
        return Err(Error::argument(format!(
            "this process has nothing of array '{}'",
            array.name
        )));
    };
    if outer.and(patch).as_ref() != Some(patch) {
        return Err(Error::argument(format!(
            "patch {:?}..{:?} is not within this process's block of array '{}' and its margin, {:?}..{:?}",
            patch.lo, patch.hi, array.name, outer.lo, outer.hi
        )));
    }
    let bytes = array.kind.bytes() as i64;
    let from = block.offset + offset(&patch.lo, &block.patch.lo, &block.strides);
    let extents = patch.extents();
    let last = array.rank() - 1;
    let levels = (0..last)
        .rev()
        .map(|d| (extents[d] as u64, block.strides[d] * bytes, buffer.strides[d] * bytes));
    let section = Section::of((extents[last] * bytes) as u64, levels);
    let from = array.own_part().wrapping_offset((from * bytes) as isize);
    let (from, to) = (from.expose_provenance() as u64, buffer.at.expose_provenance() as u64);
    // SAFETY: checked, and the caller's promise.
    unsafe { copy_section(&section, from, to) };
    Ok(())
}
