//! Mutexes: each process is host to some, and any process may lock any.

use std::sync::{PoisonError, RwLock};

use crate::error::{Result, argument};
use crate::life::{Job, job};
use crate::lock::SleepLock;
use crate::memory;

/// The mutexes of all processes, mapped here: where they begin, and how many there are.
struct Set {
    hosts: Vec<(usize, usize)>,
    own: *mut u8,
}

// SAFETY: the pointer is only given back.
unsafe impl Send for Set {}
// SAFETY: as above.
unsafe impl Sync for Set {}

static SET: RwLock<Option<Set>> = RwLock::new(None);

/// Make `count` mutexes at the calling process. Collective; there is one set at a time.
///
/// # Errors
/// A negative count, a set that exists, or no memory.
pub fn create(count: i32) -> Result<()> {
    let job = job()?;
    let Ok(count) = usize::try_from(count) else {
        return Err(argument(format!("num={count} is negative")));
    };
    if SET.read().unwrap_or_else(PoisonError::into_inner).is_some() {
        return Err(argument("there are mutexes already: destroy them first"));
    }
    let size = SleepLock::bytes(job.processes());
    let (_, shown) = memory::exchange(&job.world.link()?, (count * size) as u64)?;
    let hosts = shown
        .iter()
        .map(|block| (block.address.expose_provenance(), block.length as usize / size));
    let set = Set {
        hosts: hosts.collect(),
        own: shown[job.me].address,
    };
    *SET.write().unwrap_or_else(PoisonError::into_inner) = Some(set);
    Ok(())
}

/// Destroy the set. Collective: waits for all.
///
/// # Errors
/// There is none.
pub fn destroy() -> Result<()> {
    job()?.world.link()?.barrier()?;
    let set = SET.write().unwrap_or_else(PoisonError::into_inner).take();
    let set = set.ok_or_else(|| argument("there are no mutexes: create some first"))?;
    memory::release(set.own);
    Ok(())
}

/// The set is gone with all memory.
pub(crate) fn forget() {
    SET.write().unwrap_or_else(PoisonError::into_inner).take();
}

/// Call `f` with a mutex of a process.
fn with(job: &Job, mutex: i32, proc: i32, f: impl FnOnce(SleepLock<'_>) -> Result<()>) -> Result<()> {
    let proc = job.process(proc)?;
    let (base, count) = {
        let set = SET.read().unwrap_or_else(PoisonError::into_inner);
        let set = set
            .as_ref()
            .ok_or_else(|| argument("there are no mutexes: create some first"))?;
        set.hosts[proc]
    };
    let size = SleepLock::bytes(job.processes());
    let at = usize::try_from(mutex)
        .ok()
        .filter(|&at| at < count)
        .ok_or_else(|| argument(format!("mutex={mutex}, process {proc} has {count}")))?;
    // SAFETY: the process showed so many, zeroed, in memory that is mapped.
    f(unsafe { SleepLock::at(std::ptr::with_exposed_provenance_mut(base + at * size), job.processes()) })
}

/// Lock a mutex of a process. Blocks; sleeps while it waits. A mutex whose holder has died is taken over.
///
/// # Errors
/// There is no such mutex, or the calling process holds it.
pub fn lock(mutex: i32, proc: i32) -> Result<()> {
    let job = job()?;
    with(job, mutex, proc, |lock| lock.lock(job.me, &job.world))
}

/// Unlock it.
///
/// # Errors
/// There is no such mutex, or the calling process does not hold it.
pub fn unlock(mutex: i32, proc: i32) -> Result<()> {
    let job = job()?;
    with(job, mutex, proc, |lock| lock.unlock(job.me, &job.world))
}
