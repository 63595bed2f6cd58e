//! Starting, ending, waiting for each other, and the limit of memory.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_armci::group::{self, Group};
use isthmus_armci::life as armci;
use isthmus_armci::memory::{self, Shown};
use isthmus_armci::mutex;
use isthmus_engine::Peer;

use crate::error::{Error, Result};
use crate::{getmem, handles, mirror, systems};

static INITIALIZED: AtomicBool = AtomicBool::new(false);
static MUTEXES: AtomicI32 = AtomicI32::new(-1);

/// `GA_Initialize`: among all processes of the job, or those of a communicator, which are told. Collective. Blocks.
///
/// # Errors
/// As for ARMCI.
pub fn initialize(members: Option<Vec<Peer>>) -> Result<()> {
    if INITIALIZED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    armci::init(members).inspect_err(|_| INITIALIZED.store(false, Ordering::Release))?;
    Ok(())
}

/// `GA_Terminate`: destroys what is left. Collective. Blocks.
///
/// # Errors
/// A process has failed.
pub fn terminate() -> Result<()> {
    if !INITIALIZED.swap(false, Ordering::AcqRel) {
        return Ok(());
    }
    set_default_group(WORLD)?;
    handles::forget_all();
    getmem::forget_all();
    systems::forget_all();
    mirror::forget_all();
    MUTEXES.store(-1, Ordering::Relaxed);
    // Gives back all memory that is left.
    armci::finalize()?;
    USED.store(0, Ordering::Relaxed);
    Ok(())
}

/// Between the two?
pub fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::Acquire)
}

/// A group by the number that programs know: -1 is the world, too.
///
/// # Errors
/// There is none.
pub fn group(number: i32) -> Result<Arc<Group>> {
    Ok(group::find(group_number(number))?)
}

/// The number that programs know of the group of all, and of that of all processes of the node, whose arrays are *mirrored*: each node has
/// a whole copy ([`mirror`]). Both are collective over all processes.
pub const WORLD: i32 = -1;
/// See [`WORLD`].
pub const MIRROR: i32 = 0;

/// See [`group()`].
pub fn group_number(number: i32) -> i32 {
    if number == WORLD { group::WORLD } else { number }
}

/// The number that programs know of a group.
pub fn number_told(number: i32, is_mirrored: bool) -> i32 {
    match number {
        _ if is_mirrored => MIRROR,
        group::WORLD => WORLD,
        number => number,
    }
}

/// Whether the default group is the mirror.
static DEFAULT_IS_MIRROR: AtomicBool = AtomicBool::new(false);

/// Are arrays of the default group mirrored?
pub fn default_is_mirror() -> bool {
    DEFAULT_IS_MIRROR.load(Ordering::Relaxed)
}

/// The number that programs know of the default group.
pub fn default_group() -> i32 {
    number_told(group::default_number(), default_is_mirror())
}

/// How many members a group counts: the mirror those processes of the own node among which a copy of its arrays lies.
///
/// # Errors
/// There is no such group.
pub fn size_of(number: i32) -> Result<usize> {
    match number {
        MIRROR => Ok(mirror::members()?.len()),
        number => Ok(group(number)?.size()),
    }
}

/// The place of the calling process among the members that a group [counts](size_of).
///
/// # Errors
/// There is no such group.
pub fn place_in(number: i32) -> Result<Option<usize>> {
    match number {
        MIRROR => Ok(Some(mirror::place()?)),
        number => Ok(group(number)?.me()),
    }
}

/// `GA_Pgroup_set_default`.
///
/// # Errors
/// There is no such group.
pub fn set_default_group(number: i32) -> Result<()> {
    group::set_default(group_number(number))?;
    DEFAULT_IS_MIRROR.store(number == MIRROR, Ordering::Relaxed);
    Ok(())
}

/// Wait for all of the default group; what was put before is there. Blocks.
///
/// # Errors
/// A process has failed.
pub fn sync() -> Result<()> {
    sync_group(&*group::default()?)
}

/// Wait for all of a group. Blocks.
///
/// # Errors
/// A process has failed, or the caller is not a member.
pub fn sync_group(group: &Group) -> Result<()> {
    // SYNC: what is cleared was set after its copy, by this or another thread, so that all see that copy after the barrier.
    if has_written_elsewhere() && group.size() == armci::job()?.processes() {
        WROTE_ELSEWHERE.swap(false, Ordering::Acquire);
    }
    isthmus_armci::transfer::fence(None)?;
    group.link()?.barrier()?;
    Ok(())
}

/// Has this process written to others' parts of arrays since all processes have waited for each other?
static WROTE_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// It has, which is told after the copy. Others may see that only after the next [`sync_group`] of all.
#[inline]
pub fn wrote_elsewhere() {
    WROTE_ELSEWHERE.store(true, Ordering::Release);
}

/// See [`wrote_elsewhere`].
pub fn has_written_elsewhere() -> bool {
    WROTE_ELSEWHERE.load(Ordering::Relaxed)
}

/// Whether the next collective operation waits for all at its beginning, and at its end (`GA_Mask_sync`).
static WAITS: Mutex<(bool, bool)> = Mutex::new((true, true));

/// Set it, for one operation.
pub fn mask_sync(first: bool, last: bool) {
    *WAITS.lock().unwrap_or_else(PoisonError::into_inner) = (first, last);
}

/// The next collective operation waits in its own way.
pub fn forget_mask() {
    mask_sync(true, true);
}

/// Do something collectively: all of the group wait for each other before and after, unless that is masked.
///
/// # Errors
/// What `work` says, or a process has failed.
pub fn collectively<R>(group: &Group, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let (first, last) = std::mem::replace(&mut *WAITS.lock().unwrap_or_else(PoisonError::into_inner), (true, true));
    if first {
        sync_group(group)?;
    }
    let answer = work()?;
    if last {
        sync_group(group)?;
    }
    Ok(answer)
}

/// Bytes that this process may have for arrays, what fills their margins, and `GA_Getmem`; `u64::MAX`: as many as there are.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static USED: AtomicU64 = AtomicU64::new(0);

/// `GA_Set_memory_limit`.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Is there one?
pub fn is_memory_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != u64::MAX
}

/// Bytes that it has for them.
pub fn memory_used() -> u64 {
    USED.load(Ordering::Relaxed)
}

/// Bytes that they may still get.
pub fn memory_left() -> u64 {
    let left = LIMIT.load(Ordering::Relaxed).saturating_sub(memory_used());
    left.min(isthmus_engine::heap::available())
}

/// Count bytes, unless they are beyond the limit.
fn count_memory(bytes: u64) -> bool {
    let before = USED.fetch_add(bytes, Ordering::Relaxed);
    let is_within = before.saturating_add(bytes) <= LIMIT.load(Ordering::Relaxed);
    if !is_within {
        USED.fetch_sub(bytes, Ordering::Relaxed);
    }
    is_within
}

/// Memory that counts in the limit: `bytes` at the calling process, as many as each likes; the blocks of all members of the group. A
/// process at which there can be none makes it fail at all. Collective. Blocks.
///
/// # Errors
/// At every member, if one has reached its limit, could not have its memory, or said that there can be none.
pub fn allocate(group: &Group, bytes: u64, is_possible: bool) -> Result<Vec<Shown>> {
    let is_counted = is_possible && count_memory(bytes);
    let shown = memory::allocate(group, if is_counted { bytes } else { u64::MAX / 2 });
    Ok(shown.inspect_err(|_| {
        if is_counted {
            USED.fetch_sub(bytes, Ordering::Relaxed);
        }
    })?)
}

/// Give back what [`allocate`] gave, which was so many bytes. Collective. Blocks.
///
/// # Errors
/// A process has failed.
pub fn free(group: &Group, at: *mut u8, bytes: u64) -> Result<()> {
    memory::free(group, at)?;
    USED.fetch_sub(bytes, Ordering::Relaxed);
    Ok(())
}

/// `GA_Create_mutexes`: so many, dealt out among the processes. Collective.
///
/// # Errors
/// There are some already, or the number is negative.
pub fn create_mutexes(count: i32) -> Result<()> {
    let processes = armci::job()?.processes() as i32;
    if count < 0 {
        return Err(Error::argument(format!("number={count} is negative")));
    }
    mutex::create((count + processes - 1) / processes)?;
    MUTEXES.store(count, Ordering::Relaxed);
    Ok(())
}

/// `GA_Destroy_mutexes`. Collective.
///
/// # Errors
/// There are none.
pub fn destroy_mutexes() -> Result<()> {
    mutex::destroy()?;
    MUTEXES.store(-1, Ordering::Relaxed);
    Ok(())
}

/// Which mutex of which process.
fn mutex_at(number: i32) -> Result<(i32, i32)> {
    let count = MUTEXES.load(Ordering::Relaxed);
    if !(0..count.max(0)).contains(&number) {
        return Err(Error::argument(format!("mutex={number}, there are {}", count.max(0))));
    }
    let processes = armci::job()?.processes() as i32;
    Ok((number / processes, number % processes))
}

/// Lock a mutex. Blocks.
///
/// # Errors
/// There is no such mutex, or the caller has it.
pub fn lock(number: i32) -> Result<()> {
    let (mutex, process) = mutex_at(number)?;
    Ok(mutex::lock(mutex, process)?)
}

/// Unlock it.
///
/// # Errors
/// There is no such mutex, or the caller has it not.
pub fn unlock(number: i32) -> Result<()> {
    let (mutex, process) = mutex_at(number)?;
    Ok(mutex::unlock(mutex, process)?)
}
