//! Arrays, and the handles that programs know them by.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use isthmus_armci::group::{self, Group};
use isthmus_armci::life::job;
use isthmus_armci::memory;

use crate::distribution::{self, Block, Distribution};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::patch::{MOST_DIMENSIONS, Patch};
use crate::sparse::Sparse;
use crate::{getmem, life};

/// What an array is to be, before it has memory (`GA_Create_handle` and its setters).
#[derive(Debug, Clone)]
pub struct Plan {
    /// Shown in messages.
    pub name: String,
    /// Of elements.
    pub kind: Option<Kind>,
    /// Elements in each dimension.
    pub dims: Vec<i64>,
    /// See [`Distribution::even`].
    pub chunk: Vec<i64>,
    /// Margins.
    pub ghosts: Vec<i64>,
    /// The user's own distribution.
    pub cut: Cut,
    /// The number of the group whose processes have it.
    pub group: i32,
    /// Each node is to have a whole copy.
    pub is_mirrored: bool,
    /// Only these of the group.
    pub restricted: Option<Vec<usize>>,
}

/// How a plan is to be cut.
#[derive(Debug, Clone, Default)]
pub enum Cut {
    /// Evenly.
    #[default]
    Even,
    /// First indexes of blocks.
    Irregular(Vec<Vec<i64>>),
    /// Blocks in turn.
    Cyclic(Vec<i64>),
    /// Blocks, grid of processes, and whether blocks lie one behind the other.
    Grid(Vec<i64>, Vec<i64>, bool),
    /// First indexes of blocks, and the grid.
    TiledIrregular(Vec<Vec<i64>>, Vec<i64>),
}

/// More than any address space has, and so few that sums and products with numbers of processes can be counted.
const MOST_BYTES: i64 = 1 << 55;

impl Plan {
    /// Of nothing, for the default group.
    pub fn new() -> Self {
        Self {
            name: "unnamed".into(),
            kind: None,
            dims: Vec::new(),
            chunk: Vec::new(),
            ghosts: Vec::new(),
            cut: Cut::Even,
            group: group::default_number(),
            is_mirrored: life::default_is_mirror(),
            restricted: None,
        }
    }

    /// Of so many elements.
    ///
    /// # Errors
    /// Too many dimensions, or a negative one.
    pub fn set_data(&mut self, dims: Vec<i64>, kind: Kind) -> Result<()> {
        if dims.is_empty() || dims.len() > MOST_DIMENSIONS {
            return Err(Error::argument(format!(
                "ndim={}, there may be 1 to {MOST_DIMENSIONS}",
                dims.len()
            )));
        }
        if let Some(d) = dims.iter().position(|dim| *dim < 1) {
            return Err(Error::argument(format!("dims[{d}]={} must be at least 1", dims[d])));
        }
        self.ghosts = vec![0; dims.len()];
        self.dims = dims;
        self.kind = Some(kind);
        Ok(())
    }

    /// For this group, by the number that programs know.
    pub fn set_group(&mut self, number: i32) {
        self.group = life::group_number(number);
        self.is_mirrored = number == life::MIRROR;
    }

    /// Can all its elements be counted, and margins and blocks that are not full besides? If not, there is no memory for them.
    fn check_size(&self, bytes: usize) -> Result<()> {
        let block = match &self.cut {
            Cut::Cyclic(block) | Cut::Grid(block, ..) => block.as_slice(),
            _ => &[],
        };
        let extent = |d: usize| -> Option<i64> {
            let margins = self.ghosts[d].checked_mul(2)?;
            let block = block.get(d).copied().unwrap_or(0).max(0);
            let dim = match &self.cut {
                // Each has the room of the longest.
                Cut::TiledIrregular(cuts, _) => longest(&cuts[d], self.dims[d]).checked_mul(cuts[d].len() as i64)?,
                _ => self.dims[d],
            };
            dim.checked_add(margins)?.checked_add(block)
        };
        let mut extents = (0..self.dims.len()).map(extent);
        let total = extents.try_fold(bytes as i64, |total, extent| total.checked_mul(extent?));
        match total.is_some_and(|total| total <= MOST_BYTES) {
            true => Ok(()),
            false => Err(isthmus_armci::Error::Memory {
                bytes: MOST_BYTES as u64,
                why: format!("dims={:?} are more than can be addressed", self.dims),
            }
            .into()),
        }
    }

    fn distribution(&self, processes: usize) -> Result<Distribution> {
        let dims = &self.dims;
        let right = |list: &[i64], what: &str| -> Result<()> {
            if list.len() == dims.len() && list.iter().all(|value| *value > 0) {
                return Ok(());
            }
            Err(Error::argument(format!(
                "{what}={list:?} must be a positive number for each of {} dimensions",
                dims.len()
            )))
        };
        let fits = |grid: &[i64]| -> Result<()> {
            right(grid, "proc_grid")?;
            let wanted = grid.iter().try_fold(1_i64, |wanted, &count| wanted.checked_mul(count));
            let wanted = wanted.unwrap_or(i64::MAX);
            if wanted > processes as i64 {
                return Err(Error::argument(format!(
                    "proc_grid={grid:?} needs {wanted} processes of {processes}"
                )));
            }
            Ok(())
        };
        let has_ghosts = self.ghosts.iter().any(|width| *width > 0);
        if has_ghosts && !matches!(self.cut, Cut::Even | Cut::Irregular(_)) {
            return Err(Error::argument(
                "ghost cells need one block per process, not block-cyclic data",
            ));
        }
        match &self.cut {
            Cut::Even => Ok(Distribution::even(dims, &self.chunk, processes)),
            Cut::Irregular(cuts) => Distribution::irregular(dims, cuts.clone(), processes),
            Cut::Cyclic(block) => {
                right(block, "block dims")?;
                Ok(Distribution::Cyclic { block: block.clone() })
            }
            Cut::Grid(block, grid, tiled) => {
                right(block, "block dims")?;
                fits(grid)?;
                Ok(distribution::dealt(dims, block.clone(), grid.clone(), *tiled))
            }
            Cut::TiledIrregular(cuts, grid) => {
                fits(grid)?;
                Distribution::irregular(dims, cuts.clone(), usize::MAX)?;
                Ok(Distribution::Grid {
                    block: (0..dims.len()).map(|d| longest(&cuts[d], dims[d])).collect(),
                    cuts: cuts.clone(),
                    grid: grid.clone(),
                    tiled: true,
                })
            }
        }
    }
}

/// The longest block of a dimension that is cut so.
fn longest(cuts: &[i64], dim: i64) -> i64 {
    let ends = cuts.iter().skip(1).chain(std::iter::once(&dim));
    ends.zip(cuts)
        .map(|(end, cut)| end.saturating_sub(*cut))
        .max()
        .unwrap_or(1)
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the elements of an array lie.
#[derive(Debug)]
pub(crate) enum Memory {
    /// In memory that it was created with.
    Own,
    /// In what `GA_Getmem` gave the program: the address that the caller was given, who may have no part.
    Taken(usize),
    /// In that of another array, which counts those that overlay it.
    Of(Arc<AtomicUsize>),
}

/// A plan laid out among the processes of its group: an array but for its memory.
pub(crate) struct LaidOut {
    plan: Plan,
    kind: Kind,
    pub(crate) group: Arc<Group>,
    /// Those that have it, by their numbers in the group.
    pub(crate) members: Vec<usize>,
    distribution: Distribution,
    /// The calling process's place among these.
    pub(crate) me: Option<usize>,
    /// What the calling process needs.
    pub(crate) bytes: u64,
}

impl LaidOut {
    /// Lay a plan out.
    ///
    /// # Errors
    /// It makes no sense.
    pub(crate) fn new(plan: Plan) -> Result<Self> {
        let kind = plan
            .kind
            .ok_or_else(|| Error::argument("the array has no dimensions yet: call GA_Set_data first"))?;
        plan.check_size(kind.bytes())?;
        let group = group::find(plan.group)?;
        let members = match &plan.restricted {
            Some(list) => list.clone(),
            None => (0..group.size()).collect(),
        };
        let distribution = plan.distribution(members.len())?;
        let me = members.iter().position(|member| Some(*member) == group.me());
        let elements = me.map_or(0, |me| distribution.room(&plan.dims, &plan.ghosts, members.len(), me));
        let bytes = u64::try_from(elements)
            .ok()
            .and_then(|elements| elements.checked_mul(kind.bytes() as u64))
            .ok_or_else(|| Error::argument("more bytes than a process can have"))?;
        Ok(Self {
            plan,
            kind,
            group,
            members,
            distribution,
            me,
            bytes,
        })
    }

    /// The array, in this memory: the address of each member's part here.
    pub(crate) fn with(self, parts: Vec<usize>, memory: Memory) -> Result<Array> {
        let Self {
            plan,
            members,
            distribution,
            ..
        } = self;
        let processes: Result<Vec<usize>> = members
            .iter()
            .map(|member| Ok(self.group.absolute(*member as i32)?))
            .collect();
        let total = match distribution {
            Distribution::Regular { .. } => distribution.total(&plan.dims),
            _ => 0,
        };
        let single = (0..total).map(|number| distribution.block(&plan.dims, &plan.ghosts, members.len(), number));
        let single = single.collect();
        Ok(Array {
            name: plan.name.clone(),
            kind: self.kind,
            dims: plan.dims.clone(),
            ghosts: plan.ghosts.clone(),
            distribution,
            processes: processes?,
            me: self.me,
            parts,
            memory,
            overlaid: Arc::default(),
            own_bytes: self.bytes,
            single,
            margins: OnceLock::new(),
            plan,
        })
    }
}

/// An array.
#[derive(Debug)]
pub struct Array {
    /// Shown in messages.
    pub name: String,
    /// Of elements.
    pub kind: Kind,
    /// Elements in each dimension.
    pub dims: Vec<i64>,
    /// Margins around each block.
    pub ghosts: Vec<i64>,
    /// Who has what.
    pub distribution: Distribution,
    /// How it was planned, for duplicates.
    pub plan: Plan,
    /// The processes that have it: their numbers among all.
    processes: Vec<usize>,
    /// The calling process's place among these.
    me: Option<usize>,
    /// First byte of each process's part, as mapped here; null where there is none.
    parts: Vec<usize>,
    memory: Memory,
    /// How many arrays overlay this one.
    pub(crate) overlaid: Arc<AtomicUsize>,
    /// Bytes of the own part.
    own_bytes: u64,
    /// The block of each process, where each has at most one.
    single: Vec<Block>,
    /// How its margins are filled, once that was asked for.
    pub(crate) margins: OnceLock<crate::ghosts::Margins>,
}

impl Array {
    /// `GA_Allocate`: give the plan memory, zeroed. Collective over the plan's group. Blocks.
    ///
    /// # Errors
    /// The plan makes no sense, the memory limit, or there is none, at every process.
    pub fn create(plan: Plan) -> Result<Self> {
        let laid_out = LaidOut::new(plan)?;
        let bytes = laid_out.bytes;
        let refused = life::take_memory(bytes).is_err();
        // Everybody hears of a limit that one has reached.
        let shown = memory::allocate(&laid_out.group, if refused { u64::MAX / 2 } else { bytes });
        let shown = match shown {
            Ok(shown) => shown,
            Err(error) => {
                if !refused {
                    life::give_back_memory(bytes);
                }
                return Err(error.into());
            }
        };
        let parts = laid_out.members.iter();
        let parts = parts.map(|member| shown[*member].address.expose_provenance()).collect();
        laid_out.with(parts, Memory::Own)
    }

    /// Give its memory back. Collective over its group. Blocks until all are here.
    ///
    /// # Errors
    /// A process has failed; other arrays overlay it.
    pub fn destroy(&self) -> Result<()> {
        if self.overlaid.load(Ordering::Relaxed) > 0 {
            return Err(Error::argument(format!(
                "array '{}' is overlaid by another: destroy that one first",
                self.name
            )));
        }
        let group = self.group()?;
        group.link()?.barrier()?;
        match &self.memory {
            Memory::Own => {
                memory::free(&group, self.own_part())?;
                life::give_back_memory(self.own_bytes);
            }
            Memory::Taken(own) => getmem::give_back(std::ptr::with_exposed_provenance_mut(*own))?,
            Memory::Of(overlaid) => {
                overlaid.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Bytes that its part takes beside those of other arrays.
    pub fn counted_bytes(&self) -> u64 {
        match self.memory {
            Memory::Own => self.own_bytes,
            Memory::Taken(_) | Memory::Of(_) => 0,
        }
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The group whose processes have it.
    ///
    /// # Errors
    /// It was destroyed.
    pub fn group(&self) -> Result<Arc<Group>> {
        Ok(group::find(self.plan.group)?)
    }

    /// How many processes have it.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// The calling process's place among those that have it.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// The place among those that have it of a process of its group. `None`: it has nothing of it.
    pub fn place_of(&self, process: usize) -> Option<usize> {
        match &self.plan.restricted {
            Some(list) => list.iter().position(|member| *member == process),
            None => Some(process).filter(|process| *process < self.processes()),
        }
    }

    /// The number in its group of the process at a place.
    pub fn process_at(&self, place: usize) -> usize {
        self.plan.restricted.as_ref().map_or(place, |list| list[place])
    }

    /// The number among all of a process that has it.
    pub fn absolute(&self, process: usize) -> usize {
        self.processes[process]
    }

    /// The first byte of a process's part, as mapped here.
    pub fn part(&self, process: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.parts[process])
    }

    /// That of the calling process; null: it has none.
    pub fn own_part(&self) -> *mut u8 {
        self.me.map_or(std::ptr::null_mut(), |me| self.part(me))
    }

    /// Bytes of the own part.
    pub fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    /// All of it.
    pub fn whole(&self) -> Patch {
        Patch::whole(&self.dims)
    }

    /// Has it margins?
    pub fn has_ghosts(&self) -> bool {
        self.ghosts.iter().any(|width| *width > 0)
    }

    /// The blocks that a patch touches, cut to it.
    pub fn blocks(&self, patch: &Patch) -> Vec<Block> {
        self.distribution
            .blocks(&self.dims, &self.ghosts, self.processes(), patch)
    }

    /// The block that has all of a patch, if a single one has, and each process has at most one. Takes no memory.
    #[inline]
    pub fn block_around(&self, lo: &[i64], hi: &[i64]) -> Option<&Block> {
        let Distribution::Regular { cuts } = &self.distribution else {
            return None;
        };
        let mut number = 0;
        for d in 0..cuts.len() {
            if lo[d] < 0 || hi[d] < lo[d] || hi[d] >= self.dims[d] {
                return None;
            }
            number = number * cuts[d].len() + distribution::find(&cuts[d], lo[d]);
        }
        let block = self.single.get(number)?;
        (0..cuts.len()).all(|d| hi[d] <= block.patch.hi[d]).then_some(block)
    }

    /// The blocks of a process.
    pub fn blocks_of(&self, process: usize) -> Vec<Block> {
        self.distribution
            .of_process(&self.dims, &self.ghosts, self.processes(), process)
    }

    /// A block by its number.
    ///
    /// # Errors
    /// There is none.
    pub fn block(&self, number: i64) -> Result<Block> {
        let total = self.distribution.total(&self.dims);
        if !(0..total).contains(&number) {
            return Err(Error::argument(format!(
                "block {number} of array '{}', which has {total}",
                self.name
            )));
        }
        Ok(self
            .distribution
            .block(&self.dims, &self.ghosts, self.processes(), number))
    }

    /// What the calling process has of a patch.
    pub fn own_blocks(&self, patch: &Patch) -> Vec<Block> {
        let own = self.me.map_or_else(Vec::new, |me| self.blocks_of(me));
        own.iter().filter_map(|block| block.within(patch)).collect()
    }

    /// Is a patch within it?
    ///
    /// # Errors
    /// It is not: which index, and what would be.
    pub fn check(&self, patch: &Patch) -> Result<()> {
        let wrong = |what, dimension: usize, value, low, high| {
            Err(Error::Range {
                name: self.name.clone(),
                what,
                dimension,
                value,
                low,
                high,
            })
        };
        if patch.rank() != self.rank() {
            return Err(Error::argument(format!(
                "array '{}' has {} dimensions, the patch {}",
                self.name,
                self.rank(),
                patch.rank()
            )));
        }
        for d in 0..self.rank() {
            let (lo, hi) = (patch.lo[d], patch.hi[d]);
            if !(0..self.dims[d]).contains(&lo) {
                return wrong("lo", d, lo, 0, self.dims[d]);
            }
            if !(lo..self.dims[d]).contains(&hi) {
                return wrong("hi", d, hi, lo, self.dims[d]);
            }
        }
        Ok(())
    }

    /// Are these of the same type, and of the same number of elements?
    ///
    /// # Errors
    /// They are not.
    pub fn check_like(&self, patch: &Patch, other: &Self, its: &Patch) -> Result<()> {
        if self.kind != other.kind {
            return Err(Error::argument(format!(
                "arrays '{}' and '{}' have elements of different types",
                self.name, other.name
            )));
        }
        if patch.count() != its.count() {
            return Err(Error::argument(format!(
                "patches of '{}' ({} elements) and '{}' ({}) differ",
                self.name,
                patch.count(),
                other.name,
                its.count()
            )));
        }
        Ok(())
    }
}

/// What a handle stands for.
#[derive(Debug, Clone)]
enum Entry {
    Planned(Plan),
    Ready(Arc<Array>),
    Sparse(Arc<Sparse>),
}

#[derive(Debug, Default)]
struct Slot {
    generation: i32,
    entry: Option<Entry>,
}

static SLOTS: RwLock<Vec<Slot>> = RwLock::new(Vec::new());

/// Handles are negative, as programs know them: the first is -1000. A place in the table, and how often it was used before.
const FIRST: i32 = -1000;
const PLACES: i32 = 1 << 15;
const GENERATIONS: i32 = 1 << 15;

fn place_of(handle: i32) -> Option<(usize, i32)> {
    let number = FIRST.checked_sub(handle).filter(|number| *number >= 0)?;
    Some(((number % PLACES) as usize, number / PLACES))
}

fn keep(entry: Entry) -> Result<i32> {
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    let free = slots
        .iter()
        .position(|slot| slot.entry.is_none())
        .unwrap_or(slots.len());
    if free == PLACES as usize {
        return Err(Error::argument(format!("there are {PLACES} arrays already")));
    }
    if free == slots.len() {
        slots.push(Slot::default());
    }
    slots[free].entry = Some(entry);
    Ok(FIRST - (free as i32 + slots[free].generation * PLACES))
}

fn entry(handle: i32) -> Result<Entry> {
    job()?;
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    let found = place_of(handle).and_then(|(place, generation)| {
        let slot = slots.get(place)?;
        (slot.generation == generation).then(|| slot.entry.clone()).flatten()
    });
    found.ok_or(Error::Handle(handle))
}

/// The handle of a new array.
///
/// # Errors
/// There are too many.
pub fn add(array: Array) -> Result<i32> {
    keep(Entry::Ready(Arc::new(array)))
}

/// The handle of a plan.
///
/// # Errors
/// There are too many.
pub fn add_plan(plan: Plan) -> Result<i32> {
    keep(Entry::Planned(plan))
}

/// The array of a handle.
///
/// # Errors
/// It has none, or no memory yet.
pub fn find(handle: i32) -> Result<Arc<Array>> {
    match entry(handle)? {
        Entry::Ready(array) => Ok(array),
        Entry::Planned(_) => Err(Error::argument(format!(
            "array {handle} has no memory yet: call GA_Allocate first"
        ))),
        Entry::Sparse(_) => Err(Error::argument(format!("array {handle} is sparse"))),
    }
}

/// Changes when a handle comes to stand for something else, or for nothing.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The table, to change what handles stand for: nobody remembers what was there before once this is let go.
struct Changing(RwLockWriteGuard<'static, Vec<Slot>>);

fn change() -> Changing {
    Changing(SLOTS.write().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Changing {
    fn drop(&mut self) {
        CHANGES.fetch_add(1, Ordering::Release);
    }
}

/// An array that a thread used last.
struct Last {
    handle: i32,
    changes: u64,
    array: Arc<Array>,
}

thread_local! {
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

/// Use the array of a handle for something short: as [`find`], but who uses the same again touches nothing that is shared.
///
/// # Errors
/// It has none, or no memory yet; what `work` says.
#[inline]
pub fn with<R>(handle: i32, work: impl FnOnce(&Array) -> Result<R>) -> Result<R> {
    let changes = CHANGES.load(Ordering::Acquire);
    // While it is in use here it is nobody's: a call from within looks for itself.
    let known = LAST
        .take()
        .filter(|last| last.handle == handle && last.changes == changes);
    let last = match known {
        Some(last) => last,
        None => Last {
            handle,
            changes,
            array: find(handle)?,
        },
    };
    let answer = work(&last.array);
    LAST.set(Some(last));
    answer
}

/// The handle of a new sparse array.
///
/// # Errors
/// There are too many.
pub fn add_sparse(matrix: Sparse) -> Result<i32> {
    keep(Entry::Sparse(Arc::new(matrix)))
}

/// The sparse array of a handle.
///
/// # Errors
/// It has none.
pub fn find_sparse(handle: i32) -> Result<Arc<Sparse>> {
    match entry(handle)? {
        Entry::Sparse(matrix) => Ok(matrix),
        _ => Err(Error::argument(format!("array {handle} is not sparse"))),
    }
}

/// Forget the handle of a sparse array.
///
/// # Errors
/// It has none.
pub fn remove_sparse(handle: i32) -> Result<Arc<Sparse>> {
    let found = find_sparse(handle)?;
    forget(handle);
    Ok(found)
}

/// Free the place of a handle, and make the handle invalid.
fn forget(handle: i32) {
    if let Some((place, _)) = place_of(handle) {
        let slots = &mut change().0;
        slots[place].entry = None;
        slots[place].generation = (slots[place].generation + 1) % GENERATIONS;
    }
}

/// Forget all handles, at the end. Bytes of memory that their arrays had.
pub fn forget_all() -> u64 {
    let slots = &mut change().0;
    let mut bytes = 0;
    for slot in slots.iter_mut() {
        bytes += match slot.entry.take() {
            Some(Entry::Ready(array)) => array.counted_bytes(),
            Some(Entry::Sparse(matrix)) => matrix.own_bytes(),
            Some(Entry::Planned(_)) => 0,
            None => continue,
        };
        slot.generation = (slot.generation + 1) % GENERATIONS;
    }
    bytes
}

/// Change the plan of a handle.
///
/// # Errors
/// It has none, or memory already, or what `change` says.
pub fn change_plan<R>(handle: i32, change: impl FnOnce(&mut Plan) -> Result<R>) -> Result<R> {
    entry(handle)?;
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    let slot = place_of(handle).and_then(|(place, _)| slots.get_mut(place));
    match slot.and_then(|slot| slot.entry.as_mut()) {
        Some(Entry::Planned(plan)) => change(plan),
        Some(Entry::Ready(array)) => Err(Error::argument(format!(
            "array '{}' has its memory already: this must be set before GA_Allocate",
            array.name
        ))),
        Some(Entry::Sparse(_)) => Err(Error::argument(format!("array {handle} is sparse"))),
        None => Err(Error::Handle(handle)),
    }
}

/// Put an array in the place of its plan, or of an array without it.
pub fn replace(handle: i32, array: Array) {
    if let Some((place, _)) = place_of(handle) {
        let slots = &mut change().0;
        slots[place].entry = Some(Entry::Ready(Arc::new(array)));
    }
}

/// Put a plan in the place of an array (`GA_Deallocate`).
pub fn put_back(handle: i32, plan: Plan) {
    if let Some((place, _)) = place_of(handle) {
        let slots = &mut change().0;
        slots[place].entry = Some(Entry::Planned(plan));
    }
}

/// The plan of a handle that has no memory yet.
///
/// # Errors
/// It has none.
pub fn plan(handle: i32) -> Result<Plan> {
    change_plan(handle, |plan| Ok(plan.clone()))
}

/// Forget a handle. The array, if it had memory.
///
/// # Errors
/// There is no such handle.
pub fn remove(handle: i32) -> Result<Option<Arc<Array>>> {
    let found = match entry(handle)? {
        Entry::Ready(array) => Some(array),
        Entry::Planned(_) => None,
        Entry::Sparse(_) => {
            return Err(Error::argument(format!(
                "array {handle} is sparse: call NGA_Sprs_array_destroy"
            )));
        }
    };
    forget(handle);
    Ok(found)
}

/// Does the handle stand for anything?
pub fn is_valid(handle: i32) -> bool {
    entry(handle).is_ok()
}

/// All handles with arrays.
pub fn all() -> Vec<(i32, Arc<Array>)> {
    let slots = SLOTS.read().unwrap_or_else(PoisonError::into_inner);
    let arrays = slots.iter().enumerate().filter_map(|(place, slot)| match &slot.entry {
        Some(Entry::Ready(array)) => Some((FIRST - (place as i32 + slot.generation * PLACES), array.clone())),
        _ => None,
    });
    arrays.collect()
}

/// Names of arrays, as C strings that live as long as the process: `GA_Inquire_name` answers pointers.
pub fn c_name(name: &str) -> *const std::ffi::c_char {
    static NAMES: Mutex<Vec<std::ffi::CString>> = Mutex::new(Vec::new());
    let mut names: MutexGuard<'_, _> = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().position(|known| known.as_bytes() == name.as_bytes());
    let at = known.unwrap_or_else(|| {
        names.push(std::ffi::CString::new(name.replace('\0', " ")).unwrap_or_default());
        names.len() - 1
    });
    // The text is on the heap, and stays there when the vector grows.
    names[at].as_ptr()
}
