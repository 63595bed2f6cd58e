//! Mutexes: each process is host to some, and any process may lock any.

use std::sync::{PoisonError, RwLock};

use isthmus_engine::Peer;
use isthmus_engine::rma::{self, Layer, Served};

use crate::error::{Error, Result, argument};
use crate::life::{self, Job, job};
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
    if let Some(owner) = far_owner(job, mutex, proc)? {
        return ask(job.peer(owner), owner, LOCK, mutex.cast_unsigned());
    }
    with(job, mutex, proc, |lock| lock.lock(job.me, &job.world))
}

/// Unlock it.
///
/// # Errors
/// There is no such mutex, or the calling process does not hold it.
pub fn unlock(mutex: i32, proc: i32) -> Result<()> {
    let job = job()?;
    job.fence(None)?;
    if let Some(owner) = far_owner(job, mutex, proc)? {
        return ask(job.peer(owner), owner, UNLOCK, mutex.cast_unsigned());
    }
    with(job, mutex, proc, |lock| lock.unlock(job.me, &job.world))?;
    if job.far.is_some() {
        // Its owner may have been asked for it from another node.
        rma::wake(job.peer(job.process(proc)?))?;
    }
    Ok(())
}

/// The owner of a mutex, if that is on another node.
///
/// # Errors
/// There is no such mutex.
fn far_owner(job: &Job, mutex: i32, proc: i32) -> Result<Option<usize>> {
    let owner = job.process(proc)?;
    if job.far(owner).is_none() {
        return Ok(None);
    }
    let set = SET.read().unwrap_or_else(PoisonError::into_inner);
    let set = set
        .as_ref()
        .ok_or_else(|| argument("there are no mutexes: create some first"))?;
    let count = set.hosts[owner].1;
    match usize::try_from(mutex) {
        Ok(at) if at < count => Ok(Some(owner)),
        _ => Err(argument(format!("mutex={mutex}, process {proc} has {count}"))),
    }
}

/// Lock a mutex of the calling process for another one, if it is free or its holder is dead. Does not block.
///
/// # Errors
/// There is no such mutex, or that process holds it.
fn lock_for(job: &Job, mutex: u32, origin: usize) -> Result<bool> {
    if SET.read().unwrap_or_else(PoisonError::into_inner).is_none() {
        // They are being made: the other process has come out of that call already.
        return Ok(false);
    }
    let mut taken = false;
    with(job, mutex as i32, job.me as i32, |lock| {
        taken = lock.try_for(origin, &job.world)?;
        Ok(())
    })?;
    Ok(taken)
}

/// Unlock a mutex of the calling process for another one.
///
/// # Errors
/// There is no such mutex, or that process does not hold it.
fn unlock_for(job: &Job, mutex: u32, origin: usize) -> Result<()> {
    with(job, mutex as i32, job.me as i32, |lock| lock.unlock(origin, &job.world))
}

/// What processes of other nodes ask of a mutex's owner, which answers when it is done.
const LOCK: u32 = 1;
const UNLOCK: u32 = 2;
/// Bytes that say what was wrong, at most.
const LONGEST: usize = 64;

/// From now on processes of other nodes are served.
pub(crate) fn serve() {
    rma::handle_active(Layer::Armci, handle);
}

/// Have the owner lock or unlock a mutex for us. Blocks until it has.
fn ask(peer: Peer, proc: usize, what: u32, number: u32) -> Result<()> {
    let message = (u64::from(what) << 32 | u64::from(number)).to_ne_bytes();
    let answer = rma::ask(Layer::Armci, peer, &message, LONGEST).map_err(|error| match error {
        isthmus_engine::Error::PeerFailed { .. } => Error::Failed(proc),
        other => other.into(),
    })?;
    match answer.is_empty() {
        true => Ok(()),
        false => Err(argument(String::from_utf8_lossy(&answer))),
    }
}

fn handle(from: Peer, data: &[u8]) -> Served {
    let (Ok(bytes), Ok(job)) = (<[u8; 8]>::try_from(data), life::job()) else {
        return Served::Refused;
    };
    let asked = u64::from_ne_bytes(bytes);
    let (what, number) = ((asked >> 32) as u32, asked as u32);
    let Some(origin) = job.world.number_of(from) else {
        return Served::Refused;
    };
    let done = match what {
        LOCK => lock_for(job, number, origin),
        UNLOCK => unlock_for(job, number, origin).map(|()| true),
        _ => return Served::Refused,
    };
    match done {
        Ok(true) => Served::Done(Vec::new()),
        Ok(false) => Served::Later,
        Err(error) => {
            let mut text = error.to_string().into_bytes();
            text.truncate(LONGEST);
            Served::Done(text)
        }
    }
}
