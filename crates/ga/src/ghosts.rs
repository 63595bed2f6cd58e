//! Margins of blocks that hold copies of the neighbours' elements; the array is a torus.
//!
//! Two algorithms: *direct* gets the 3^dimensions - 1 pieces of a margin, corners too, each from whoever has it, with one wait for all
//! before and one after; *shift* goes dimension by dimension, and takes from the two neighbours in each also what they have just got,
//! with a wait for all between dimensions that are cut. See C. S. Guiang, A. Purkayastha, K. F. Milfeld, "Remote memory operations on
//! Linux clusters", and B. Palmer, J. Nieplocha, "Efficient Algorithms for Ghost Cell Updates on Two Classes of MPP Architectures", 2002.
//! The first updates of an array try both, and the faster one stays (tunable `ga_ghosts`).

mod plan;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use isthmus_armci::reduction::{Operator, all_reduce};
use isthmus_armci::section::Section;
use isthmus_armci::transfer::copy_section;
use isthmus_engine::tunables;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::life::{collectively, sync_group};
use crate::local::as_bytes;
use crate::onesided::Buffer;
use crate::patch::{Patch, offset};

use plan::{Step, around, own};

/// Updates by each algorithm before one is chosen.
const TRIALS: u32 = 8;

/// Which way margins are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    /// Each piece from its owner.
    Direct,
    /// Dimension by dimension.
    Shift,
}

/// Both ways to fill the margins of an array, and which one is taken.
#[derive(Debug)]
pub(crate) struct Margins {
    direct: Vec<Step>,
    /// `None`: it is not possible.
    shift: Option<Vec<Step>>,
    choice: Mutex<Choice>,
}

/// The same at every process, as updates are collective.
#[derive(Debug, Default, Clone, Copy)]
struct Choice {
    updates: u32,
    /// The shortest update here, by algorithm, in seconds.
    best: [f64; 2],
    chosen: Option<Algorithm>,
}

impl Margins {
    fn new(array: &Array) -> Result<Self> {
        // Whether that is possible depends on the distribution alone, so all choose alike.
        let shift = plan::shift(array);
        let chosen = match tunables::GA_GHOSTS.get() {
            _ if shift.is_none() => Some(Algorithm::Direct),
            Some("direct") => Some(Algorithm::Direct),
            Some("shift") => Some(Algorithm::Shift),
            _ => None,
        };
        Ok(Self {
            direct: plan::direct(array, around(array))?,
            shift,
            choice: Mutex::new(Choice {
                updates: 0,
                best: [f64::INFINITY; 2],
                chosen,
            }),
        })
    }

    fn steps(&self, algorithm: Algorithm) -> &[Step] {
        match (algorithm, &self.shift) {
            (Algorithm::Shift, Some(steps)) => steps,
            _ => &self.direct,
        }
    }
}

/// `GA_Update_ghosts`. Collective. Blocks.
///
/// # Errors
/// A margin that is wider than the array.
pub fn update(array: &Array) -> Result<()> {
    if !array.has_ghosts() {
        return Ok(());
    }
    let margins = match array.margins.get() {
        Some(known) => known,
        None => {
            let new = Margins::new(array)?;
            array.margins.get_or_init(|| new)
        }
    };
    let choice = || margins.choice.lock().unwrap_or_else(PoisonError::into_inner);
    let known = *choice();
    if let Some(chosen) = known.chosen {
        return update_by(array, margins, chosen);
    }
    let which = (known.updates % 2) as usize;
    let begin = Instant::now();
    update_by(array, margins, [Algorithm::Direct, Algorithm::Shift][which])?;
    let taken = begin.elapsed();
    let mut after = known;
    after.updates += 1;
    after.best[which] = after.best[which].min(taken.as_secs_f64());
    if after.updates == 2 * TRIALS {
        after.chosen = Some(choose(array, after.best)?);
    }
    *choice() = after;
    Ok(())
}

/// The algorithm by which the slowest process is faster.
fn choose(array: &Array, mut best: [f64; 2]) -> Result<Algorithm> {
    let kind = Kind::Double.of_reduction()?;
    all_reduce(&array.group()?.link()?, as_bytes(&mut best), kind, Operator::Max)?;
    Ok(match best[1] < best[0] {
        true => Algorithm::Shift,
        false => Algorithm::Direct,
    })
}

fn update_by(array: &Array, margins: &Margins, algorithm: Algorithm) -> Result<()> {
    let group = array.group()?;
    collectively(&group, || plan::make(margins.steps(algorithm), || sync_group(&group)))
}

/// Get the pieces in these directions.
///
/// # Errors
/// A margin that is wider than the array.
pub fn fill_directions(array: &Array, directions: impl Iterator<Item = Vec<i64>>) -> Result<()> {
    plan::make(&plan::direct(array, directions)?, || Ok(()))
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
