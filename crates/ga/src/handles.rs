//! The handles that programs know arrays by: checked, with a generation.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use isthmus_armci::life::job;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::sparse::Sparse;

/// What a handle stands for.
#[derive(Debug, Clone)]
enum HandleSlot {
    Planned(Plan),
    Ready(Arc<Array>),
    Sparse(Arc<Sparse>),
}

#[derive(Debug, Default)]
struct Slot {
    generation: i32,
    entry: Option<HandleSlot>,
    /// Kept for something that is being made: see [`Reserved`].
    is_reserved: bool,
}

#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    /// Below it none is free.
    free_from: usize,
}

impl Table {
    fn handle(&self, place: usize) -> i32 {
        FIRST - (place as i32 + self.slots[place].generation * PLACES)
    }

    fn let_go(&mut self, place: usize) {
        self.slots[place].is_reserved = false;
        self.slots[place].entry = None;
        self.free_from = self.free_from.min(place);
    }
}

static TABLE: RwLock<Table> = RwLock::new(Table {
    slots: Vec::new(),
    free_from: 0,
});

/// Handles are negative, as programs know them: the first is -1000. A place in the table, and how often it was used before.
const FIRST: i32 = -1000;
const PLACES: i32 = 1 << 15;
const GENERATIONS: i32 = 1 << 15;

fn place_of(handle: i32) -> Option<(usize, i32)> {
    let number = FIRST.checked_sub(handle).filter(|number| *number >= 0)?;
    Some(((number % PLACES) as usize, number / PLACES))
}

/// A handle that stands for nothing yet: taken before what it is for gets memory, which would be lost if there were no handle. Dropping it
/// gives it back.
#[derive(Debug)]
pub struct Reserved(usize);

impl Reserved {
    /// # Errors
    /// There are too many arrays.
    pub fn new() -> Result<Self> {
        let table = &mut *TABLE.write().unwrap_or_else(PoisonError::into_inner);
        let free = table.slots[table.free_from..]
            .iter()
            .position(|slot| slot.entry.is_none() && !slot.is_reserved);
        let free = free.map_or(table.slots.len(), |free| table.free_from + free);
        if free == PLACES as usize {
            return Err(Error::argument(format!("there are {PLACES} arrays already")));
        }
        if free == table.slots.len() {
            table.slots.push(Slot::default());
        }
        table.slots[free].is_reserved = true;
        table.free_from = free + 1;
        Ok(Self(free))
    }

    fn keep(self, entry: HandleSlot) -> i32 {
        let table = &mut *TABLE.write().unwrap_or_else(PoisonError::into_inner);
        table.slots[self.0].entry = Some(entry);
        table.handle(self.0)
        // Dropped, it sees that it is used.
    }

    /// It is the array's from now on.
    pub fn array(self, array: Array) -> i32 {
        self.keep(HandleSlot::Ready(Arc::new(array)))
    }

    /// It is the sparse array's from now on.
    pub fn sparse(self, matrix: Sparse) -> i32 {
        self.keep(HandleSlot::Sparse(Arc::new(matrix)))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let table = &mut *TABLE.write().unwrap_or_else(PoisonError::into_inner);
        match &mut table.slots[self.0] {
            slot if slot.entry.is_some() => slot.is_reserved = false,
            _ => table.let_go(self.0),
        }
    }
}

fn entry(handle: i32) -> Result<HandleSlot> {
    job()?;
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let found = place_of(handle).and_then(|(place, generation)| {
        let slot = table.slots.get(place)?;
        (slot.generation == generation).then(|| slot.entry.clone()).flatten()
    });
    found.ok_or(Error::Handle(handle))
}

/// The handle of a plan.
///
/// # Errors
/// There are too many.
pub fn add_plan(plan: Plan) -> Result<i32> {
    Ok(Reserved::new()?.keep(HandleSlot::Planned(plan)))
}

/// The array of a handle.
///
/// # Errors
/// It has none, or no memory yet.
pub fn find(handle: i32) -> Result<Arc<Array>> {
    match entry(handle)? {
        HandleSlot::Ready(array) => Ok(array),
        HandleSlot::Planned(_) => Err(Error::argument(format!(
            "array {handle} has no memory yet: call GA_Allocate first"
        ))),
        HandleSlot::Sparse(_) => Err(Error::argument(format!("array {handle} is sparse"))),
    }
}

/// Changes when a handle comes to stand for something else, or for nothing.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Another number once a handle may have come to stand for something else, or for nothing.
#[inline]
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// The table, to change what handles stand for: nobody remembers what was there before once this is let go.
struct Changing(RwLockWriteGuard<'static, Table>);

fn change() -> Changing {
    Changing(TABLE.write().unwrap_or_else(PoisonError::into_inner))
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
    let changes = changes();
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

/// The sparse array of a handle.
///
/// # Errors
/// It has none.
pub fn find_sparse(handle: i32) -> Result<Arc<Sparse>> {
    match entry(handle)? {
        HandleSlot::Sparse(matrix) => Ok(matrix),
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
        let table = &mut change().0;
        table.let_go(place);
        table.slots[place].generation = (table.slots[place].generation + 1) % GENERATIONS;
    }
}

/// Forget all handles, at the end.
pub fn forget_all() {
    let table = &mut change().0;
    table.free_from = 0;
    for slot in &mut table.slots {
        if slot.entry.take().is_some() {
            slot.generation = (slot.generation + 1) % GENERATIONS;
        }
    }
}

/// Change the plan of a handle.
///
/// # Errors
/// It has none, or memory already, or what `change` says.
pub fn change_plan<R>(handle: i32, change: impl FnOnce(&mut Plan) -> Result<R>) -> Result<R> {
    entry(handle)?;
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let slot = place_of(handle).and_then(|(place, _)| table.slots.get_mut(place));
    match slot.and_then(|slot| slot.entry.as_mut()) {
        Some(HandleSlot::Planned(plan)) => change(plan),
        Some(HandleSlot::Ready(array)) => Err(Error::argument(format!(
            "array '{}' has its memory already: this must be set before GA_Allocate",
            array.name
        ))),
        Some(HandleSlot::Sparse(_)) => Err(Error::argument(format!("array {handle} is sparse"))),
        None => Err(Error::Handle(handle)),
    }
}

/// Put an array in the place of its plan, or of an array without it.
pub fn replace(handle: i32, array: Array) {
    if let Some((place, _)) = place_of(handle) {
        change().0.slots[place].entry = Some(HandleSlot::Ready(Arc::new(array)));
    }
}

/// Put a plan in the place of an array (`GA_Deallocate`).
pub fn put_back(handle: i32, plan: Plan) {
    if let Some((place, _)) = place_of(handle) {
        change().0.slots[place].entry = Some(HandleSlot::Planned(plan));
    }
}

/// How many dimensions the array of a handle has, or will have once it has memory: 0 before `GA_Set_data`.
///
/// # Errors
/// It has none, or a sparse one.
pub fn rank(handle: i32) -> Result<usize> {
    match entry(handle)? {
        HandleSlot::Ready(array) => Ok(array.rank()),
        HandleSlot::Planned(plan) => Ok(plan.dims.len()),
        HandleSlot::Sparse(_) => Err(Error::argument(format!("array {handle} is sparse"))),
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
        HandleSlot::Ready(array) => Some(array),
        HandleSlot::Planned(_) => None,
        HandleSlot::Sparse(_) => {
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
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let arrays = table
        .slots
        .iter()
        .enumerate()
        .filter_map(|(place, slot)| match &slot.entry {
            Some(HandleSlot::Ready(array)) => Some((table.handle(place), array.clone())),
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
