//! The third algorithm, *packed*: each process puts what its neighbours want of its block into memory of theirs, where the pieces lie one
//! after the other; all wait for each other once; each takes what it got into its margin. Blocks may be changed as soon as that wait is
//! over, since nobody reads them any more: one wait, for one more copy. Dimensions that are not cut are filled from the block itself at
//! first, and their margins go along with the pieces.
//!
//! The memory is there twice, for updates of even and of odd numbers: a process that is two updates further has waited for all readers of
//! it. What a process has put into a block of another process since all have waited for each other may come after that one has packed it;
//! that process marks the update before the wait, and after it all see the mark, and get the pieces directly instead.

use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_armci::group::Group;
use isthmus_armci::life::job;

use super::plan::{Copy, dimensions, of, piece, pieces, within};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::life::{self, has_written_elsewhere, sync_group};
use crate::patch::Patch;

/// Pieces of all processes that each is willing to look through, once for each array.
const MOST_PIECES: usize = 4096;

/// Pieces of different processes, and the marks, lie on lines of their own.
const LINE: usize = 64;

/// What one process does in updates of even, or odd, numbers.
#[derive(Debug, Default)]
struct Turn {
    /// From our block, and its margins that are filled, into others' memory.
    packs: Vec<Copy>,
    /// From our memory into our margin.
    unpacks: Vec<Copy>,
}

/// How the margins of an array are filled, and the memory for it.
#[derive(Debug)]
pub(super) struct Packed {
    turns: [Turn; 2],
    /// From our own block into our margin.
    within: Vec<Copy>,
    /// The first byte of our memory, and how many there are.
    own: usize,
    taken: u64,
    /// Two numbers of updates that were marked, in the memory of the group's first process.
    marks: usize,
    updates: AtomicU64,
}

/// What a process gets from others, and where in its memory each piece lies.
struct FetchPlan {
    /// The block's owner, the copy to the margin, the place.
    pieces: Vec<(usize, Copy, usize)>,
    /// From its own block.
    from_itself: Vec<Copy>,
    bytes: usize,
}

/// All directions along dimensions that are cut.
fn directions(array: &Array, cut: &[usize]) -> Vec<Vec<i64>> {
    let end = |at: i64| (0..array.rank()).map(move |d| if cut.contains(&d) { at } else { 0 });
    let all = Patch::new(end(-1).collect::<Vec<_>>(), end(1).collect::<Vec<_>>());
    all.indexes()
        .filter(|direction| direction.iter().any(|d| *d != 0))
        .collect()
}

fn wanted(array: &Array, process: usize, directions: &[Vec<i64>], whole: &[usize]) -> Result<FetchPlan> {
    let mut all = Vec::new();
    if let Some((block, _)) = of(array, process) {
        for direction in directions {
            all.extend(pieces(array, &block, &piece(array, &block.patch, direction), whole)?);
        }
    }
    all.sort_by_key(|(owner, _)| *owner);
    let mut wanted = FetchPlan {
        pieces: Vec::new(),
        from_itself: Vec::new(),
        bytes: 0,
    };
    let mut last = None;
    for (owner, copy) in all {
        if owner == process {
            wanted.from_itself.push(copy);
            continue;
        }
        if last.replace(owner) != Some(owner) {
            wanted.bytes = wanted.bytes.next_multiple_of(LINE);
        }
        let place = wanted.bytes;
        wanted.bytes += copy.section.bytes() as usize;
        wanted.pieces.push((owner, copy, place));
    }
    wanted.bytes = wanted.bytes.next_multiple_of(LINE);
    Ok(wanted)
}

impl Packed {
    /// `None`: there are too many pieces, there is no memory, or it is beyond the limit, or processes outside the group may write to the array. Collective, and the
    /// same at every process. Blocks.
    ///
    /// # Errors
    /// A margin that is wider than the array; a process has failed.
    pub fn new(array: &Array, group: &Group) -> Result<Option<Self>> {
        let (cut, whole) = dimensions(array);
        let directions = directions(array, &cut);
        let are_all = group.size() == job()?.processes();
        if !are_all || directions.len().saturating_mul(array.processes()) > MOST_PIECES {
            return Ok(None);
        }
        let all: Result<Vec<FetchPlan>> = (0..array.processes())
            .map(|process| wanted(array, process, &directions, &whole))
            .collect();
        let all = all?;
        let bytes = array.me().map_or(0, |me| all[me].bytes);
        // The marks, and the pieces twice.
        let taken = (LINE + 2 * bytes) as u64;
        let shown = match life::allocate(group, taken, true) {
            Err(Error::Armci(isthmus_armci::Error::Memory { .. })) => return Ok(None),
            shown => shown?,
        };
        let memory_of = |process: usize| shown[array.process_at(process)].address.expose_provenance();
        let turn = |number: usize| {
            let place =
                |process: usize, at: usize| (memory_of(process) + LINE + number * all[process].bytes + at) as u64;
            let mut turn = Turn::default();
            let Some(me) = array.me() else { return turn };
            for (process, wanted) in all.iter().enumerate() {
                for (owner, copy, at) in &wanted.pieces {
                    if process == me {
                        turn.unpacks.push(Copy {
                            section: copy.section.scattering(),
                            from: place(me, *at),
                            to: copy.to,
                            source: array.absolute(me),
                        });
                    }
                    if *owner == me {
                        turn.packs.push(Copy {
                            section: copy.section.gathering(),
                            from: copy.from,
                            to: place(process, *at),
                            source: array.absolute(me),
                        });
                    }
                }
            }
            turn
        };
        let turns = [turn(0), turn(1)];
        let mut within = within(array, &whole);
        if let Some(me) = array.me() {
            within.extend(
                all.into_iter()
                    .nth(me)
                    .into_iter()
                    .flat_map(|wanted| wanted.from_itself),
            );
        }
        let me = group
            .me()
            .ok_or_else(|| Error::argument("this process is not in the group"))?;
        Ok(Some(Self {
            turns,
            within,
            own: shown[me].address.expose_provenance(),
            taken,
            marks: shown[0].address.expose_provenance(),
            updates: AtomicU64::new(0),
        }))
    }

    /// Fill the margins; or, if somebody has written to a block of another process, let `directly` do it, before all wait once more.
    /// Collective. Blocks.
    ///
    /// # Errors
    /// A process has failed.
    pub fn update(&self, array: &Array, group: &Group, directly: impl FnOnce() -> Result<()>) -> Result<()> {
        let number = self.updates.fetch_add(1, Ordering::Relaxed) + 1;
        let which = (number % 2) as usize;
        let at = std::ptr::with_exposed_provenance_mut::<u64>(self.marks).wrapping_add(which);
        // SAFETY: an aligned word of mapped memory, which everybody accesses atomically, for as long as the array lives.
        let mark = unsafe { AtomicU64::from_ptr(at) };
        // SYNC: the wait publishes the mark, and what was packed. Nobody is further than in the next update, which has the other word.
        if has_written_elsewhere() || array.can_be_written_unseen() {
            mark.store(number, Ordering::Relaxed);
        }
        let turn = &self.turns[which];
        self.within.iter().try_for_each(Copy::make)?;
        turn.packs.iter().try_for_each(Copy::make)?;
        sync_group(group)?;
        if mark.load(Ordering::Relaxed) == number {
            directly()?;
            return sync_group(group);
        }
        turn.unpacks.iter().try_for_each(Copy::make)
    }

    /// Give its memory back. Collective over the group. Blocks.
    ///
    /// # Errors
    /// A process has failed.
    pub fn give_back(&self, group: &Group) -> Result<()> {
        life::free(group, std::ptr::with_exposed_provenance_mut(self.own), self.taken)
    }
}
