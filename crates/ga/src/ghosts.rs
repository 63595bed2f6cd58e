//! Margins of blocks that hold copies of the neighbours' elements; the array is a torus.
//!
//! Three algorithms: *direct* gets the 3^dimensions - 1 pieces of a margin, corners too, each from its owner, with one wait for all
//! before and one after; *shift* goes dimension by dimension, and takes from the two neighbours in each also what they have just got,
//! with a wait for all between dimensions that are cut; *packed* (`packed.rs`) copies twice and waits once. See C. S. Guiang, A. Purkayastha,
//! K. F. Milfeld, "Remote memory operations on Linux clusters", and B. Palmer, J. Nieplocha, "Efficient Algorithms for Ghost Cell Updates on
//! Two Classes of MPP Architectures", 2002. The first updates of an array try all, and the fastest one stays (tunable `ga_ghosts`).
//!
//! Where the rows of a margin are no longer than a line, *shift* and *packed* copy 128 of one side and then 128 of the other: a row's last
//! elements and the next row's first are in the same or neighbouring lines, which would have left the nearest cache between two copies from
//! end to end. us for an update of 64³ doubles on 2 processes: 6.7 instead of 7.9; of 24⁴ 38.8 instead of 44.8 (Zen 5).

mod packed;
mod plan;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use isthmus_armci::group::Group;
use isthmus_armci::life::job;
use isthmus_armci::reduction::{Operator, all_reduce};
use isthmus_armci::section::Section;
use isthmus_armci::transfer::copy_section;
use isthmus_engine::tunables;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::life::{collectively, forget_mask, sync_group};
use crate::local::as_bytes;
use crate::onesided::Buffer;
use crate::patch::{Patch, offset};

use packed::Packed;
use plan::{Step, around, own};

/// Updates by each algorithm before one is chosen.
const TRIALS: usize = 8;

/// Which way margins are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    /// Each piece from its owner.
    Direct,
    /// Dimension by dimension.
    Shift,
    /// Through memory in which the pieces lie packed.
    Packed,
}

/// By the names of the tunable.
const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("packed", Algorithm::Packed),
    ("direct", Algorithm::Direct),
    ("shift", Algorithm::Shift),
];

/// The ways to fill the margins of an array, and which one is taken.
#[derive(Debug)]
pub(crate) struct Margins {
    direct: Vec<Step>,
    /// `None`: it is not possible.
    shift: Option<Vec<Step>>,
    /// `None`: it is not possible, or not wanted.
    packed: Option<Packed>,
    choice: Mutex<Choice>,
}

/// The same at every process, as updates are collective.
#[derive(Debug, Default, Clone)]
struct Choice {
    /// Of how many updates by each algorithm how long they took here, in seconds.
    taken: [Vec<f64>; ALGORITHMS.len()],
    chosen: Option<Algorithm>,
}

impl Margins {
    /// Collective. Blocks.
    fn new(array: &Array, group: &Group) -> Result<Self> {
        let wanted = tunables::GA_GHOSTS.get();
        let wanted = ALGORITHMS
            .iter()
            .find(|(name, _)| wanted == Some(*name))
            .map(|found| found.1);
        let direct = plan::direct(array, around(array))?;
        // The possible algorithms depend on the distribution, and on memory that all have or none, so all choose alike.
        let packed = match wanted {
            // It writes into the memory of neighbours, who look there; those of other nodes are not mapped.
            _ if job()?.far.is_some() => None,
            None | Some(Algorithm::Packed) => Packed::new(array, group)?,
            Some(_) => None,
        };
        let new = Self {
            direct,
            shift: plan::shift(array),
            packed,
            choice: Mutex::default(),
        };
        let chosen = wanted.map(|wanted| if new.has(wanted) { wanted } else { Algorithm::Direct });
        new.choice.lock().unwrap_or_else(PoisonError::into_inner).chosen = chosen;
        Ok(new)
    }

    fn has(&self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Direct => true,
            Algorithm::Shift => self.shift.is_some(),
            Algorithm::Packed => self.packed.is_some(),
        }
    }

    /// Give back what it has beside the array. Collective over the array's group. Blocks.
    ///
    /// # Errors
    /// A process has failed.
    pub(crate) fn give_back(&self, group: &Group) -> Result<()> {
        self.packed.as_ref().map_or(Ok(()), |packed| packed.give_back(group))
    }

    /// One update, by this algorithm. Collective. Blocks.
    fn update(&self, array: &Array, group: &Group, algorithm: Algorithm) -> Result<()> {
        let directly = || plan::make(&self.direct, || Ok(()));
        match (algorithm, &self.shift, &self.packed) {
            (Algorithm::Packed, _, Some(packed)) => {
                forget_mask();
                packed.update(array, group, directly)
            }
            (Algorithm::Shift, Some(steps), _) => collectively(group, || plan::make(steps, || sync_group(group))),
            _ => collectively(group, directly),
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
    let group = array.group()?;
    let margins = match array.margins.get() {
        Some(known) => known,
        None => {
            let new = Margins::new(array, &group)?;
            array.margins.get_or_init(|| new)
        }
    };
    let choice = || margins.choice.lock().unwrap_or_else(PoisonError::into_inner);
    let chosen = choice().chosen;
    if let Some(chosen) = chosen {
        return margins.update(array, &group, chosen);
    }
    let tried = choice().taken.iter().map(Vec::len).collect::<Vec<_>>();
    let possible = (0..ALGORITHMS.len()).filter(|which| margins.has(ALGORITHMS[*which].1));
    let which = possible.min_by_key(|which| tried[*which]).unwrap_or(0);
    let begin = Instant::now();
    margins.update(array, &group, ALGORITHMS[which].1)?;
    let taken = begin.elapsed().as_secs_f64();
    let mut all = {
        let mut choice = choice();
        choice.taken[which].push(taken);
        choice.taken.clone()
    };
    let is_tried = |which: usize| all[which].len() >= TRIALS || !margins.has(ALGORITHMS[which].1);
    if (0..ALGORITHMS.len()).all(is_tried) {
        let chosen = choose(&group, &mut all)?;
        choice().chosen = Some(chosen);
    }
    Ok(())
}

/// The algorithm by which the slowest process is faster, in the middle of its updates.
fn choose(group: &Group, taken: &mut [Vec<f64>; ALGORITHMS.len()]) -> Result<Algorithm> {
    let kind = ElementKind::Double.of_reduction()?;
    let mut times = [f64::INFINITY; ALGORITHMS.len()];
    for (time, taken) in times.iter_mut().zip(taken) {
        taken.sort_by(f64::total_cmp);
        *time = taken.get(taken.len() / 2).copied().unwrap_or(f64::INFINITY);
    }
    all_reduce(&group.link()?, as_bytes(&mut times), kind, Operator::Max)?;
    let fastest = (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b]));
    Ok(ALGORITHMS[fastest.unwrap_or(0)].1)
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
