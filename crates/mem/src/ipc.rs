//! Device memory reached by other processes of the machine, by the driver's handles or by descriptors.
//!
//! An allocation is exported once: what the driver has answered is kept by its buffer id, or by the id of its physical memory, which no later
//! allocation of the process has.
//! An export names those that were freed since, as far as that has been noticed: each call looks at one of them.
//! What others export is mapped once, and the mapping is kept until the same peer exports another allocation that overlaps the first or
//! names it among the freed ones, until the peer is forgotten, or until there are too many; never as long as a [`Mapped`] of it lives.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{Address, Api, IpcHandle, Object, Ordinal, Uuid, code, flag};
use crate::counts::{COUNTS, count};
use crate::look::{look, watched_driver};
use crate::physical::{self, Exported};
use crate::place::{self, Current};
use crate::{Device, Export, FREED, Kind};

/// Mappings that are kept.
pub const MOST: usize = 64;
/// Exports that are kept.
const MOST_EXPORTS: usize = 1024;
/// Exports with a descriptor: the system allows a process few. An export keeps its descriptor until the memory is freed.
const MOST_DESCRIPTORS: usize = 128;

/// How many of them are looked at for a new one, whose handle takes longer by far.
const LOOKS: usize = 64;

/// An id with this bit is one of physical memory.
const PHYSICAL: u64 = 1 << 63;

/// An allocation of this process: where it begins, and what others need, or `None` if it cannot be exported.
#[derive(Clone)]
struct OwnAllocation {
    base: Address,
    export: Option<Export>,
    /// Open as long as others may take it.
    physical: Option<Arc<Exported>>,
}

/// The allocations of this process that others may know.
#[derive(Default)]
struct Exports {
    /// By id.
    kept: HashMap<u64, OwnAllocation>,
    /// The same in the order in which they came, to look at one after the other.
    order: VecDeque<u64>,
    /// Those that were freed last.
    freed: [u64; FREED],
}

static EXPORTS: Mutex<Option<Exports>> = Mutex::new(None);

/// What another process has exported, mapped here.
struct Mapping {
    export: Export,
    peers: Vec<u64>,
    at: Address,
    /// The context that it is mapped in.
    context: Object,
    /// How many [`Mapped`] there are of it.
    uses: usize,
    /// When it was last asked for.
    last: u64,
}

// SAFETY: contexts may be used by any thread.
unsafe impl Send for Mapping {}

#[derive(Default)]
struct Mappings {
    list: Vec<Mapping>,
    /// Handles that could not be mapped.
    refused: Vec<([u8; 64], u64)>,
    clock: u64,
}

static MAPPINGS: Mutex<Option<Mappings>> = Mutex::new(None);

fn exports() -> MutexGuard<'static, Option<Exports>> {
    EXPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mappings() -> MutexGuard<'static, Option<Mappings>> {
    MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`crate::export`].
pub fn export(address: *const u8) -> Option<Export> {
    let api = watched_driver()?;
    let address = address.expose_provenance();
    let seen = look(api, address).ok()?;
    let Kind::Device(device) = seen.kind else { return None };
    // Memory without a context is of a pool or of virtual memory management.
    let physical = if seen.context.is_null() {
        api.block_id(address as Address)
    } else {
        None
    };
    let id = physical.map_or(seen.buffer, |id| id | PHYSICAL);
    if id == 0 {
        return None;
    }
    let kept = exports().get_or_insert_default().kept.get(&id).cloned();
    // The driver is asked without the lock.
    let (own, is_new) = match kept {
        Some(kept) => (kept, false),
        None => (ask(api, address as Address, device, seen.context, id), true),
    };
    let mut exports = exports();
    let exports = exports.get_or_insert_default();
    exports.look_at_the_next(api);
    let own = if is_new { exports.add(api, id, own) } else { own };
    Some(Export {
        offset: (address as u64).checked_sub(own.base)?,
        freed: exports.freed,
        ..own.export?
    })
}

/// Does the memory that has this id still begin there?
fn is_there(api: &Api, base: Address, id: u64) -> bool {
    match id & PHYSICAL {
        0 => api.buffer_id(base) == Some(id),
        _ => api.block_id(base).is_some_and(|block| block | PHYSICAL == id),
    }
}

impl Exports {
    /// Keep it, unless another thread has done so meanwhile: what is kept.
    fn add(&mut self, api: &Api, id: u64, mut own: OwnAllocation) -> OwnAllocation {
        for _ in 0..self.order.len().min(LOOKS) {
            self.look_at_the_next(api);
        }
        // Other processes may know the descriptor of what is kept.
        if let Some(kept) = self.kept.get(&id) {
            return kept.clone();
        }
        let has_descriptor = |own: &&OwnAllocation| own.physical.is_some();
        if has_descriptor(&&own) && self.kept.values().filter(has_descriptor).count() >= MOST_DESCRIPTORS {
            (own.export, own.physical) = (None, None);
        }
        if self.kept.len() >= MOST_EXPORTS {
            // Others may still be about to take the descriptors.
            let oldest = self
                .order
                .iter()
                .position(|id| self.kept.get(id).is_none_or(|own| own.physical.is_none()));
            if let Some(oldest) = oldest.and_then(|at| self.order.remove(at)) {
                self.kept.remove(&oldest);
            }
        }
        self.kept.insert(id, own.clone());
        self.order.push_back(id);
        own
    }

    /// Was the next one freed?
    fn look_at_the_next(&mut self, api: &Api) {
        let Some(id) = self.order.pop_front() else { return };
        let Some(own) = self.kept.get(&id) else { return };
        if is_there(api, own.base, id) {
            self.order.push_back(id);
            return;
        }
        let was_exported = own.export.is_some();
        self.kept.remove(&id);
        if was_exported {
            self.freed.rotate_right(1);
            self.freed[0] = id;
        }
    }
}

fn ask(api: &Api, address: Address, device: Device, context: Object, id: u64) -> OwnAllocation {
    let none = OwnAllocation {
        base: address,
        export: None,
        physical: None,
    };
    let Ok(context) = place::context_for(api, device, context) else {
        return none;
    };
    let Ok(_current) = Current::enter(api, context) else {
        return none;
    };
    let Some(uuid) = uuid_of(api, device) else { return none };
    let export = |handle, base, size, is_descriptor| Export {
        handle,
        device: uuid.0,
        buffer: id,
        base,
        offset: 0,
        size: size as u64,
        is_descriptor,
        freed: [0; FREED],
    };
    if let Some((base, size)) = api.range_of(address)
        && let Some(handle) = handle_of(api, base)
    {
        count(&COUNTS.exports);
        return OwnAllocation {
            base,
            export: Some(export(handle, base, size, 0)),
            physical: None,
        };
    }
    if let Some(physical) = Exported::of(api, address)
        && let Some(handle) = physical.handle()
    {
        count(&COUNTS.exports);
        return OwnAllocation {
            base: physical.base,
            export: Some(export(handle, physical.base, physical.size, 1)),
            physical: Some(Arc::new(physical)),
        };
    }
    count(&COUNTS.failures);
    none
}

/// The driver's handle of the allocation that begins there.
fn handle_of(api: &Api, base: Address) -> Option<[u8; 64]> {
    let mut handle = IpcHandle([0; 64]);
    // SAFETY: the driver writes what it is asked for, or nothing.
    let answer = unsafe { (api.ipc_handle)(&raw mut handle, base) };
    (answer == code::SUCCESS).then_some(handle.0)
}

fn uuid_of(api: &Api, device: Device) -> Option<Uuid> {
    let mut uuid = Uuid([0; 16]);
    // SAFETY: the driver writes 16 bytes, or nothing.
    let answer = unsafe { (api.device_uuid)(&raw mut uuid, device.0 as Ordinal) };
    (answer == code::SUCCESS).then_some(uuid)
}

/// What another process has exported, mapped here as long as this lives, and usually longer.
#[derive(Debug)]
pub struct Mapped {
    start: *mut u8,
    /// Handle and id of the export; `None`: memory of this process.
    key: Option<([u8; 64], u64)>,
}

// SAFETY: it gives its address alone.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Where the exported bytes begin.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut mappings = mappings();
        let Some(mappings) = mappings.as_mut() else { return };
        let is_it = |mapping: &Mapping| (mapping.export.handle, mapping.export.buffer) == key;
        if let Some(at) = mappings.list.iter().position(is_it) {
            mappings.list[at].uses -= 1;
            if mappings.list[at].uses == 0 && mappings.list[at].peers.is_empty() {
                mappings.close(at);
            }
        }
    }
}

/// See [`crate::map`].
pub fn map(peer: u64, export: &Export) -> Option<Mapped> {
    if export.offset > export.size {
        return None;
    }
    let api = watched_driver()?;
    // The driver refuses a handle in the process that has made it.
    if let Some(own) = own(api, export) {
        return Some(Mapped { start: own, key: None });
    }
    let mut mappings = mappings();
    let mappings = mappings.get_or_insert_default();
    mappings.clock += 1;
    mappings.leave(
        |mapping| mapping.peers.contains(&peer) && export.freed.contains(&mapping.export.buffer),
        peer,
    );
    let at = match mappings.find(export) {
        Some(at) => at,
        None => mappings.open(api, peer, export)?,
    };
    let mapping = &mut mappings.list[at];
    if !mapping.peers.contains(&peer) {
        mapping.peers.push(peer);
    }
    mapping.last = mappings.clock;
    mapping.uses += 1;
    Some(Mapped {
        start: std::ptr::with_exposed_provenance_mut((mapping.at + export.offset) as usize),
        key: Some((export.handle, export.buffer)),
    })
}

/// The address, if this process has exported it.
fn own(api: &Api, export: &Export) -> Option<*mut u8> {
    let kept = exports().as_ref()?.kept.get(&export.buffer).cloned()?;
    let same = kept.export.is_some_and(|own| own.handle == export.handle) && kept.base == export.base;
    (same && is_there(api, kept.base, export.buffer))
        .then(|| std::ptr::with_exposed_provenance_mut((kept.base + export.offset) as usize))
}

/// See [`crate::forget`].
pub fn forget(peer: u64) {
    let mut mappings = mappings();
    let Some(mappings) = mappings.as_mut() else { return };
    mappings.leave(|mapping| mapping.peers.contains(&peer), peer);
    mappings.refused.clear();
}

impl Mappings {
    fn find(&self, export: &Export) -> Option<usize> {
        self.list.iter().position(|mapping| {
            mapping.export.handle == export.handle
                && mapping.export.buffer == export.buffer
                && mapping.export.size >= export.size
                && !mapping.peers.is_empty()
        })
    }

    /// Mappings that `peer` shall not keep are closed if no other does.
    fn leave(&mut self, which: impl Fn(&Mapping) -> bool, peer: u64) {
        for at in (0..self.list.len()).rev() {
            if which(&self.list[at]) {
                let mapping = &mut self.list[at];
                mapping.peers.retain(|&other| other != peer);
                if mapping.peers.is_empty() && mapping.uses == 0 {
                    self.close(at);
                }
            }
        }
    }

    fn open(&mut self, api: &Api, peer: u64, export: &Export) -> Option<usize> {
        let (base, end) = (export.base, export.base.saturating_add(export.size));
        self.leave(
            |old| {
                let old_end = old.export.base.saturating_add(old.export.size);
                old.peers.contains(&peer)
                    && old.export.device == export.device
                    && old.export.base < end
                    && base < old_end
            },
            peer,
        );
        if self.refused.contains(&(export.handle, export.buffer)) {
            return None;
        }
        while self.list.len() >= MOST {
            let unused = self.list.iter().enumerate().filter(|(_, mapping)| mapping.uses == 0);
            let (oldest, _) = unused.min_by_key(|(_, mapping)| mapping.last)?;
            self.close(oldest);
        }
        let (context, devices) = Self::context_for(api, export)?;
        let Some(at) = Self::ask(api, context, &devices, export) else {
            count(&COUNTS.failures);
            if self.refused.len() >= MOST {
                self.refused.remove(0);
            }
            self.refused.push((export.handle, export.buffer));
            return None;
        };
        count(&COUNTS.opens);
        self.list.push(Mapping {
            export: *export,
            peers: vec![peer],
            at,
            context,
            uses: 0,
            last: self.clock,
        });
        Some(self.list.len() - 1)
    }

    /// A context of a device that this process uses and that reaches the memory's, and these devices.
    fn context_for(api: &Api, export: &Export) -> Option<(Object, Vec<Device>)> {
        let theirs = place::devices(api).find(|&device| uuid_of(api, device) == Some(Uuid(export.device)));
        let own = match theirs {
            Some(device) if place::is_used(api, device) => device,
            _ => place::last_device(api)?,
        };
        if let Some(theirs) = theirs
            && theirs != own
        {
            let mut can: c_int = 0;
            // SAFETY: the driver writes an int, or nothing.
            unsafe { (api.device_can_access_peer)(&raw mut can, own.0 as Ordinal, theirs.0 as Ordinal) };
            if can == 0 {
                return None;
            }
        }
        let context = place::context_for(api, own, null_mut()).ok()?;
        let others = theirs.into_iter().filter(|theirs| *theirs != own);
        Some((context, std::iter::once(own).chain(others).collect()))
    }

    /// Have the driver map it in this context.
    fn ask(api: &Api, context: Object, devices: &[Device], export: &Export) -> Option<Address> {
        let _current = Current::enter(api, context).ok()?;
        if export.is_descriptor != 0 {
            return physical::map(api, export.handle, usize::try_from(export.size).ok()?, devices);
        }
        let mut at = 0;
        // SAFETY: the driver checks the handle, and writes where it has mapped the memory.
        unsafe {
            let handle = IpcHandle(export.handle);
            if (api.ipc_open)(&raw mut at, handle, flag::IPC_LAZY_ENABLE_PEER_ACCESS) != code::SUCCESS {
                return None;
            }
            // A peer's word for its size is not taken.
            let has_all = |(base, size): (Address, usize)| {
                base <= at && at.checked_add(export.size).is_some_and(|end| end <= base + size as u64)
            };
            if !api.range_of(at).is_some_and(has_all) {
                (api.ipc_close)(at);
                return None;
            }
        }
        Some(at)
    }

    fn close(&mut self, at: usize) {
        let mapping = self.list.swap_remove(at);
        count(&COUNTS.closes);
        let Some(api) = watched_driver() else { return };
        if mapping.export.is_descriptor != 0 {
            // SAFETY: mapped by `ask`, and not in use.
            unsafe { physical::unmap(api, mapping.at, mapping.export.size as usize) };
        } else if let Ok(_current) = Current::enter(api, mapping.context) {
            // SAFETY: as above.
            unsafe { (api.ipc_close)(mapping.at) };
        }
    }
}
