//! Global memory: a block at each process of a group, out of the shared heap, known to all; and local memory.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use isthmus_engine::heap::{self, SharedAddress};
use isthmus_engine::rma::{self, RegionKey};
use isthmus_engine::{Peer, symmetric};

use crate::directory::{self, MappedBlock};
use crate::error::{Error, Result, argument};
use crate::far::{self, Keys};
use crate::group::Group;
use crate::life::job;
use crate::link::Link;

/// Blocks begin on a line, and vectors of any processor.
const ALIGNMENT: u64 = 64;

/// What this process took from the shared heap, by address, and the keys that processes of other nodes reach it by.
static OWN: LazyLock<Mutex<HashMap<usize, Option<Keys>>>> = LazyLock::new(Mutex::default);
/// What it took from its own memory, by address: bytes.
static LOCAL: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);
/// Collective calls that this process took part in.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(1);

fn own() -> MutexGuard<'static, HashMap<usize, Option<Keys>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A member's block, as mapped here or, on another node, as mapped there; without bytes the address is null.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// First byte. Of another node's memory nothing is there: it is a name.
    pub address: *mut u8,
    /// Bytes.
    pub length: u64,
}

/// Said in place of a block that could not be had.
const REFUSED: u64 = u64::MAX;
/// Said in place of a block without bytes.
const NOTHING: u64 = u64::MAX - 1;

/// Take `bytes` zeroed bytes of the heap, and tell all members of the link: the number of the allocation, and everybody's
/// blocks. Collective. Blocks.
///
/// # Errors
/// At every member, if one could not have its memory.
pub fn exchange(link: &Link<'_>, bytes: u64) -> Result<(u64, Vec<Shown>)> {
    let (taken, why) = match bytes {
        0 => (Ok(None), String::new()),
        _ => match heap::allocate_zeroed(bytes, ALIGNMENT) {
            Ok(address) => (Ok(Some(address)), String::new()),
            Err(error) => (Err(()), error.to_string()),
        },
    };
    let shared = match taken {
        Err(()) => REFUSED,
        Ok(None) => NOTHING,
        Ok(Some(address)) => heap::shared_address_of(address.as_ptr(), bytes).map_or(REFUSED, |shared| shared.0),
    };
    let mut keys = None;
    let mut told = BlockInfo {
        shared,
        length: bytes,
        address: 0,
        keys: [RegionKey::NONE; 2],
    };
    if let (Ok(Some(address)), true) = (taken, far::is_on()) {
        match far::register(address.as_ptr(), bytes) {
            Ok(registered) => {
                told.address = address.as_ptr().addr() as u64;
                told.keys = registered;
                keys = Some(registered);
            }
            Err(_) => told.shared = REFUSED,
        }
    }
    let give_back = || {
        if let Ok(Some(address)) = taken {
            keys.iter().flatten().for_each(|key| rma::deregister(*key));
            heap::free(address);
        }
    };
    let all = link.all_gather(told.bytes()).inspect_err(|_| {
        // Somebody has failed, and others may have heard of the block, who go on using it: it is freed with all others.
        if let Ok(Some(address)) = taken {
            own().insert(address.as_ptr().addr(), keys);
        }
    })?;
    let allocation = ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let members = all.chunks_exact(told.bytes().len()).enumerate();
    let shown = members.map(|(member, told)| shown(link.peer(member), BlockInfo::of(told)?, allocation));
    let Some(shown) = shown.collect::<Option<Vec<Shown>>>() else {
        far::forget(allocation);
        give_back();
        let why = if why.is_empty() {
            "another process could not have its part".to_owned()
        } else {
            why
        };
        return Err(Error::Memory { bytes, why });
    };
    if let Ok(Some(address)) = taken {
        own().insert(address.as_ptr().addr(), keys);
    }
    Ok((allocation, shown))
}

/// A block as its owner announces it: where all of its node find it, and its address and keys for others.
#[derive(Clone, Copy)]
#[repr(C)]
struct BlockInfo {
    shared: u64,
    length: u64,
    /// From here on not told in a job on one node.
    address: u64,
    keys: Keys,
}

impl BlockInfo {
    /// As it is sent.
    fn bytes(&self) -> &[u8] {
        let length = match far::is_on() {
            true => size_of::<Self>(),
            false => 16,
        };
        // SAFETY: plain numbers without holes.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), length) }
    }

    /// As it came. `None`: it is too long.
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut told = Self {
            shared: 0,
            length: 0,
            address: 0,
            keys: [RegionKey::NONE; 2],
        };
        (bytes.len() <= size_of::<Self>()).then(|| {
            // SAFETY: there is room, and any bits are numbers.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::from_mut(&mut told).cast(), bytes.len());
            }
            told
        })
    }
}

/// What a member told. `None`: it has no memory, or what it told makes no sense.
fn shown(member: Peer, told: BlockInfo, allocation: u64) -> Option<Shown> {
    let length = told.length;
    let address = match told.shared {
        REFUSED => return None,
        NOTHING => std::ptr::null_mut(),
        _ if symmetric::is_elsewhere(member) => std::ptr::without_provenance_mut(told.address as usize),
        shared => heap::address_of(SharedAddress(shared), length)?.as_ptr(),
    };
    if !address.is_null() && far::is_on() {
        let start = address.addr() as u64;
        far::learn(member, start, length, allocation, told.keys).ok()?;
    }
    Some(Shown { address, length })
}

/// `ARMCI_Malloc`: `bytes` at the calling process, as many as each likes; the blocks of all members of the group. Collective.
/// The memory is zeroed.
///
/// # Errors
/// At every member, if one could not have its memory; the caller is not a member.
pub fn allocate(group: &Group, bytes: u64) -> Result<Vec<Shown>> {
    let world = &job()?.world;
    let (allocation, shown) = exchange(&group.link()?, bytes)?;
    let mut blocks = Vec::new();
    let is_here = |member: usize| !symmetric::is_elsewhere(group.peer(member));
    let blocks_here = shown
        .iter()
        .enumerate()
        .filter(|(member, block)| !block.address.is_null() && is_here(*member));
    for (member, block) in blocks_here {
        blocks.push(MappedBlock {
            start: block.address.addr() as u64,
            length: block.length,
            owner: if std::ptr::eq(group, &raw const **world) {
                member
            } else {
                group.absolute(member as i32)?
            },
            allocation,
        });
    }
    directory::add(blocks);
    Ok(shown)
}

/// `ARMCI_Free`: give back what [`allocate`] gave, by the own block's address, or null where there is none. Collective over
/// the group that allocated.
///
/// # Errors
/// At every member, if one names an address that no block begins at.
pub fn free(group: &Group, address: *mut u8) -> Result<()> {
    let bad = |address: u64| {
        argument(format!(
            "ptr={address:#x} is not the beginning of memory from ARMCI_Malloc (or was freed)"
        ))
    };
    let mine = match address.is_null() {
        true => NOTHING,
        false => heap::shared_address_of(address, 1).map_or(REFUSED, |shared| shared.0),
    };
    job()?.fence(None)?;
    let mut told = [0; 16];
    told[..8].copy_from_slice(&mine.to_ne_bytes());
    told[8..].copy_from_slice(&(address.addr() as u64).to_ne_bytes());
    let all = group.link()?.all_gather(&told)?;
    // A process that has a block tells which allocation it is.
    let mut allocation = None;
    for (member, told) in all.chunks_exact(16).enumerate() {
        let number = |at: usize| u64::from_ne_bytes(told[at..at + 8].try_into().unwrap_or_default());
        let (shared, there) = (number(0), number(8));
        if shared == NOTHING {
            continue;
        }
        let found = match symmetric::is_elsewhere(group.peer(member)) {
            true => far::allocation_at(group.peer(member), there),
            false => {
                let start = heap::address_of(SharedAddress(shared), 1).map_or(0, |start| start.as_ptr().addr() as u64);
                directory::allocation_at(start)
            }
        };
        let found = found.ok_or_else(|| bad(address.addr() as u64))?;
        if *allocation.get_or_insert(found) != found {
            return Err(argument("processes free different allocations in one call"));
        }
    }
    if let Some(allocation) = allocation {
        directory::forget(allocation);
        far::forget(allocation);
    }
    release(address);
    Ok(())
}

/// Memory of the shared heap for one process alone, which others learn of by the meminfo that they are given (`ARMCI_Memget`), and in a job
/// on several nodes its keys. Local.
///
/// # Errors
/// There is none.
pub fn take(bytes: u64) -> Result<(NonNull<u8>, Option<Keys>)> {
    let job = job()?;
    let address = heap::allocate(bytes.max(1), ALIGNMENT)?;
    let keys = match far::is_on() {
        false => None,
        true => Some(far::register(address.as_ptr(), bytes.max(1)).inspect_err(|_| {
            heap::free(address);
        })?),
    };
    own().insert(address.as_ptr().addr(), keys);
    know(address.as_ptr().addr() as u64, bytes, job.me, keys)?;
    Ok((address, keys))
}

/// From now on these bytes of `owner` may be accessed from here, in a job on several nodes by their keys.
///
/// # Errors
/// The keys make no sense.
pub fn know(start: u64, length: u64, owner: usize, keys: Option<Keys>) -> Result<()> {
    let job = job()?;
    if let Some(keys) = keys
        && !far::is_known(job.peer(owner), start, &keys)
    {
        let allocation = ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        far::learn(job.peer(owner), start, length, allocation, keys)?;
    }
    if job.far(owner).is_none() && directory::allocation_at(start).is_none() {
        directory::add([MappedBlock {
            start,
            length,
            owner,
            allocation: ALLOCATIONS.fetch_add(1, Ordering::Relaxed),
        }]);
    }
    Ok(())
}

/// Give back what [`take`] gave. Local.
///
/// # Errors
/// It did not give this address.
pub fn give_back(address: *mut u8) -> Result<()> {
    let allocation = directory::allocation_at(address.addr() as u64);
    match (allocation, NonNull::new(address)) {
        (Some(allocation), Some(own_block)) if own().contains_key(&address.addr()) => {
            directory::forget(allocation);
            if let Some(known) = far::allocation_at(job()?.peer(job()?.me), own_block.as_ptr().addr() as u64) {
                far::forget(known);
            }
            release(address);
            Ok(())
        }
        _ => Err(argument(format!("address {address:p} did not come from ARMCI_Memget"))),
    }
}

/// Give back what [`exchange`] gave this process; null is nothing. Local.
pub(crate) fn release(address: *mut u8) {
    if let Some(address) = NonNull::new(address) {
        let known = own().remove(&address.as_ptr().addr());
        if let Some(keys) = known {
            keys.iter().flatten().for_each(|key| rma::deregister(*key));
            heap::free(address);
        }
    }
}

/// Give back what is left of the shared heap, at the end.
pub(crate) fn free_all() {
    let all: Vec<(usize, Option<Keys>)> = own().drain().collect();
    for (address, keys) in all {
        keys.iter().flatten().for_each(|key| rma::deregister(*key));
        if let Some(address) = NonNull::new(std::ptr::with_exposed_provenance_mut(address)) {
            heap::free(address);
        }
    }
}

fn layout(bytes: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(bytes.max(1), ALIGNMENT as usize).ok()
}

/// `ARMCI_Malloc_local`: memory of this process. Null: there is none.
pub fn allocate_local(bytes: usize) -> *mut u8 {
    if bytes as u64 > heap::available() {
        return std::ptr::null_mut();
    }
    let Some(layout) = layout(bytes) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the layout's size is not 0.
    let address = unsafe { std::alloc::alloc(layout) };
    if !address.is_null() {
        let mut local = LOCAL.lock().unwrap_or_else(PoisonError::into_inner);
        local.insert(address.expose_provenance(), bytes);
    }
    address
}

/// `ARMCI_Free_local`: give back what [`allocate_local`] gave; null is nothing.
///
/// # Errors
/// It did not give this address.
pub fn free_local(address: *mut u8) -> Result<()> {
    if address.is_null() {
        return Ok(());
    }
    let bytes = LOCAL
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&address.addr());
    match bytes.and_then(layout) {
        Some(layout) => {
            let address: *mut u8 = std::ptr::with_exposed_provenance_mut(address.addr());
            // SAFETY: `alloc` gave this address for this layout, and it has just left the table.
            unsafe { std::alloc::dealloc(address, layout) };
            Ok(())
        }
        None => Err(argument(format!(
            "ptr={address:p} did not come from ARMCI_Malloc_local"
        ))),
    }
}
