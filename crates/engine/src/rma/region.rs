//! Memory that a process exposes, and the key by which others find it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_mem::{self as mem, Export};
use isthmus_os::switches::Switch;
use isthmus_shm::SharedAddress;
use isthmus_transfer::cuda::Cuda;

use super::locks::{self, Locks, PHASES};
use super::{direct, home, mailbox};
use crate::memory::heap::{self, REGISTRY};
use crate::types::Peer;
use crate::{Error, Result};

/// How accumulates on a region are made atomic. The same for all who access it: it is part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Atomicity {
    /// Naturally aligned elements of 1, 2, 4, 8 and 16 bytes by atomic instructions until the first long accumulate, others, and all from
    /// then on, under the owner's locks. Only for memory that all map.
    Elements = 1,
    /// Every element under the owner's locks: long accumulates are loops over vectors then.
    Locked = 2,
}

/// In the place of an [`Atomicity`]: memory of a device, whose elements are changed under the owner's locks.
const ON_DEVICE: u16 = 3;

const MAGIC: u32 = 0x4b_52_4d_41;

/// Names a region of a process. Plain data of any bits, to be told to other processes; checked by
/// [`Target::attach`](super::Target::attach).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct RegionKey {
    magic: u32,
    owner: u32,
    /// Address of byte 0 in the owner.
    base: u64,
    length: u64,
    /// Where byte 0 lies for all; 0: in ordinary memory. Of memory of a device: where its export lies; 0: it has none.
    shared_address: u64,
    /// Where the owner's lock table lies.
    locks: u64,
    atomicity: u16,
    /// The number of its phase among those of the owner.
    phase: u16,
    id: u32,
}

const _: () = assert!(size_of::<RegionKey>() == 48);

impl RegionKey {
    /// No region.
    pub const NONE: Self = Self {
        magic: 0,
        owner: 0,
        base: 0,
        length: 0,
        shared_address: 0,
        locks: 0,
        atomicity: 0,
        phase: 0,
        id: 0,
    };

    /// The alleged owner.
    pub fn owner(&self) -> Peer {
        Peer(self.owner)
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Address of its first byte in its owner.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The same region as its number says; a region of later has another one, but for 2^32 regions in between.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Do all processes of the job map it?
    pub fn is_mapped(&self) -> bool {
        self.shared_address != 0 && self.atomicity != ON_DEVICE
    }

    /// Is it memory of a device?
    pub fn is_on_device(&self) -> bool {
        self.atomicity == ON_DEVICE
    }

    pub(super) fn parse(self, peer: Peer) -> Result<Parsed> {
        let home = home()?;
        let bad = |why| Err(Error::BadKey { peer: peer.0, why });
        if self.magic != MAGIC || self.owner != peer.0 {
            return bad("the key is none of its");
        }
        if self.owner >= home.segment.ranks() {
            return bad("there is no such process");
        }
        if self.base.checked_add(self.length).is_none() {
            return bad("more bytes than an address space has");
        }
        let atomicity = match self.atomicity {
            1 => Atomicity::Elements,
            2 | ON_DEVICE => Atomicity::Locked,
            _ => return bad("its atomicity is unknown"),
        };
        let Ok(phase) = u8::try_from(self.phase) else {
            return bad("its phase is unknown");
        };
        if home.segment.is_elsewhere(self.owner) {
            // Nothing of it is reached but by calls, so the owner's locks are not; these are nobody's but ours.
            let locks = locks::at(locks::own()?).expect("the table that was just made");
            return Ok(Parsed {
                id: self.id,
                base: self.base,
                length: self.length,
                direct: None,
                is_shared: false,
                is_elsewhere: true,
                locks,
                phase,
                atomicity: Atomicity::Locked,
                device: None,
            });
        }
        if self.is_on_device() {
            return self.parse_on_device(home.me);
        }
        let locks = self.locks()?;
        let mut direct = 0;
        if self.shared_address != 0 {
            match REGISTRY.at(SharedAddress(self.shared_address), self.length) {
                Some(at) => direct = at.as_ptr().expose_provenance(),
                None => return bad("its shared_address lies outside the job's memory"),
            }
        }
        let is_own = self.owner == home.me;
        if is_own && direct == 0 {
            direct = self.base as usize;
        }
        if atomicity == Atomicity::Elements && self.shared_address == 0 && home.segment.ranks() > 1 {
            return bad("its atomicity is not one of ordinary memory");
        }
        Ok(Parsed {
            id: self.id,
            base: self.base,
            length: self.length,
            direct: (direct != 0 || is_own).then_some(direct),
            is_shared: self.shared_address != 0,
            is_elsewhere: false,
            locks,
            phase,
            atomicity,
            device: None,
        })
    }

    fn locks(self) -> Result<&'static Locks> {
        locks::at(SharedAddress(self.locks)).ok_or(Error::BadKey {
            peer: self.owner,
            why: "its lock table lies outside the job's memory",
        })
    }

    /// Of memory of a device.
    #[cold]
    fn parse_on_device(self, me: u32) -> Result<Parsed> {
        let bad = |why| Error::BadKey { peer: self.owner, why };
        let device = match (self.owner == me, self.shared_address) {
            (true, _) => OnDevice::Copied(Box::new(Cuda::own())),
            (false, 0) => OnDevice::Called,
            (false, place) => {
                let at = REGISTRY.at(SharedAddress(place), EXPORT);
                let at = at.ok_or_else(|| bad("its export lies outside the job's memory"))?;
                // SAFETY: as many bytes are mapped there; any are an export.
                let export = unsafe { at.cast::<Export>().as_ptr().read_unaligned() };
                let end = export.offset.checked_add(self.length);
                if end.is_none_or(|end| end > export.size) {
                    return Err(bad("it reaches beyond the device's allocation"));
                }
                match mem::map(u64::from(self.owner), &export) {
                    Some(mapped) => OnDevice::Copied(Box::new(Cuda::of_peer(self.base, mapped))),
                    None => OnDevice::Called,
                }
            }
        };
        Ok(Parsed {
            id: self.id,
            base: self.base,
            length: self.length,
            direct: None,
            is_shared: false,
            is_elsewhere: false,
            locks: self.locks()?,
            phase: 0,
            atomicity: Atomicity::Locked,
            device: Some(device),
        })
    }
}

const EXPORT: u64 = size_of::<Export>() as u64;

/// What a good key says.
pub(super) struct Parsed {
    pub id: u32,
    pub base: u64,
    pub length: u64,
    /// Address of byte 0 here, if it can be loaded and stored here.
    pub direct: Option<usize>,
    pub is_shared: bool,
    pub is_elsewhere: bool,
    pub locks: &'static Locks,
    pub phase: u8,
    pub atomicity: Atomicity,
    /// How memory of a device is reached.
    pub device: Option<OnDevice>,
}

/// How this process reaches memory of a device on its node.
pub(super) enum OnDevice {
    /// By copies of the device's driver.
    Copied(Box<Cuda>),
    /// By calls of its owner: its driver maps it in no other process, or not in this one.
    Called,
}

/// Memory of this process that others may access.
#[derive(Debug)]
pub struct Region {
    key: RegionKey,
}

/// Expose `length` bytes at `base` to the processes that get the key. Local; does not block. `0` and `u64::MAX` expose the whole
/// address space: offsets are addresses then.
///
/// Memory from [`crate::heap`] is mapped by all; any other is reached by copies. The bytes must stay there until nobody accesses
/// them any more, which the caller's model says: nothing of it is known here. To drop the region changes nothing for others.
///
/// # Errors
/// There is no memory for the lock table, the range wraps around, or an allocation of a device ends before it.
pub fn register(base: *mut u8, length: u64) -> Result<Region> {
    register_as(base, length, Atomicity::Elements)
}

/// As [`register`], and say how accumulates are made atomic. Ordinary memory is [`Atomicity::Locked`] in any case.
pub fn register_as(base: *mut u8, length: u64, atomicity: Atomicity) -> Result<Region> {
    static IDS: AtomicU32 = AtomicU32::new(1);
    let home = home()?;
    let base = base.expose_provenance() as u64;
    if base.checked_add(length).is_none() {
        return Err(Error::Mismatch("a region of more bytes than an address space has"));
    }
    // The whole address space is of no kind.
    if Switch::Devices.is_on() && length > 0 && base != 0 {
        let first = std::ptr::with_exposed_provenance(base as usize);
        let kind = mem::kind_of(first).map_err(|error| Error::Device(error.to_string()))?;
        if kind.is_device() {
            return register_on_device(first, length, IDS.fetch_add(1, Ordering::Relaxed));
        }
    }
    let shared_address = match length {
        0 => 0,
        _ => heap::shared_address_of(std::ptr::with_exposed_provenance(base as usize), length)
            .map_or(0, |shared_address| shared_address.0),
    };
    let atomicity = match shared_address == 0 && home.segment.ranks() > 1 {
        true => Atomicity::Locked,
        false => atomicity,
    };
    let table = locks::own()?;
    let key = RegionKey {
        magic: MAGIC,
        owner: home.me,
        base,
        length,
        shared_address,
        locks: table.0,
        atomicity: atomicity as u16,
        phase: match atomicity {
            Atomicity::Elements => take_phase(table),
            Atomicity::Locked => 0,
        },
        id: IDS.fetch_add(1, Ordering::Relaxed),
    };
    if shared_address == 0 || home.segment.nodes() > 1 {
        admit_calls(key);
        if shared_address == 0
            && home.segment.ranks() > 1
            && let Some(locks) = locks::at(table)
        {
            mailbox::open(&locks.mailboxes);
        }
    }
    Ok(Region { key })
}

/// Memory of a device: others map it, and copy by its driver, or call for it.
#[cold]
fn register_on_device(base: *const u8, length: u64, id: u32) -> Result<Region> {
    let table = locks::own()?;
    let has_all = |export: &Export| {
        export
            .size
            .checked_sub(export.offset)
            .is_some_and(|rest| rest >= length)
    };
    let shared_address = match mem::export(base) {
        // Each mapping of virtual memory management has a descriptor of its own: the rest may lie in the next one.
        None => 0,
        Some(export) if !has_all(&export) && export.is_descriptor != 0 => 0,
        Some(export) if !has_all(&export) => {
            return Err(Error::Device(format!(
                "memory of a GPU at {base:?}, {length} bytes: its allocation ends before"
            )));
        }
        Some(export) => {
            let place = heap::allocate(EXPORT, 64)?;
            // SAFETY: as many bytes were allocated for it.
            unsafe { place.cast::<Export>().as_ptr().write_unaligned(export) };
            heap::shared_address_of(place.as_ptr(), EXPORT).map_or(0, |shared_address| shared_address.0)
        }
    };
    let key = RegionKey {
        magic: MAGIC,
        owner: home()?.me,
        base: base.addr() as u64,
        length,
        shared_address,
        locks: table.0,
        atomicity: ON_DEVICE,
        phase: 0,
        id,
    };
    admit_calls(key);
    Ok(Region { key })
}

/// Calls may come for the region.
fn admit_calls(key: RegionKey) {
    let mut keys = own_keys();
    let at = keys.partition_point(|other| other.id < key.id);
    keys.insert(at, key);
    drop(keys);
    CALLABLE.fetch_add(1, Ordering::Relaxed);
}

/// Regions of this process that calls may come for, by number: of ordinary memory and of devices', and all where there are several nodes. New ones come to
/// the end, and those that go are mostly the first or the last.
static OWN: Mutex<VecDeque<RegionKey>> = Mutex::new(VecDeque::new());

fn own_keys() -> MutexGuard<'static, VecDeque<RegionKey>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The region of this process that has this number, if calls may come for it.
pub(super) fn own_key(id: u32) -> Option<RegionKey> {
    let keys = own_keys();
    keys.binary_search_by_key(&id, |key| key.id).ok().map(|at| keys[at])
}

/// Expose a region of this process no more: as [`Region::deregister`], for holders of its key only.
pub fn deregister(key: RegionKey) {
    if key.is_on_device()
        && key.magic == MAGIC
        && key.shared_address != 0
        && let Some(place) = REGISTRY.at(SharedAddress(key.shared_address), EXPORT)
    {
        heap::free(place);
    }
    if key.atomicity == Atomicity::Elements as u16
        && key.magic == MAGIC
        && let Some(uses) = phases().get_mut(usize::from(key.phase))
    {
        *uses = uses.saturating_sub(1);
    }
    let mut keys = own_keys();
    let known = keys.binary_search_by_key(&key.id, |other| other.id).ok();
    let is_known = known.is_some_and(|at| keys.remove(at).is_some());
    drop(keys);
    if is_known {
        CALLABLE.fetch_sub(1, Ordering::Relaxed);
        GENERATION.fetch_add(1, Ordering::Release);
        direct::withdraw(key.id);
    }
}

/// How many regions that others may have to ask for have gone.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Changes when such a region is exposed no more.
#[inline]
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// How many regions of this process have each phase.
static IN_PHASES: Mutex<[u32; PHASES]> = Mutex::new([0; PHASES]);

fn phases() -> MutexGuard<'static, [u32; PHASES]> {
    IN_PHASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A phase for a new region: of its own, if there is one left.
fn take_phase(table: SharedAddress) -> u16 {
    let mut uses = phases();
    let least = (0..PHASES).min_by_key(|number| uses[*number]).unwrap_or(0);
    if uses[least] == 0
        && let Some(locks) = locks::at(table)
    {
        // No other region has it, and nobody knows of the new one yet.
        locks.phase(least as u8).reset();
    }
    uses[least] += 1;
    least as u16
}

/// How many regions of this process calls may come for.
static CALLABLE: AtomicU32 = AtomicU32::new(0);

/// Has this process regions that others may have to ask it for?
#[inline]
pub(super) fn has_callable() -> bool {
    CALLABLE.load(Ordering::Relaxed) != 0
}

impl Region {
    /// What to tell others.
    pub fn key(&self) -> RegionKey {
        self.key
    }

    /// Expose it no more. A later access corrupts the memory's next use.
    pub fn deregister(self) {
        deregister(self.key);
    }
}
