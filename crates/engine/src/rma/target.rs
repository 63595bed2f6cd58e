//! A region of a peer, as this process reaches it.

use std::ptr::{NonNull, from_ref, null_mut, with_exposed_provenance_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, Ordering};

use isthmus_shm::switchover::ReadGuard;
use isthmus_transfer::{Direction, Interrupted, Layout, Transfer};

use super::locks::Locks;
use super::mailbox::{self, Mailboxes};
use super::region::{Atomicity, OnDevice, Parsed, RegionKey};
use crate::data_path::DataPath;
use crate::types::Peer;
use crate::{Error, Result, allows_threads, enter, fault_events};

/// A region of a peer. Cheap to keep.
#[derive(Debug)]
pub struct Target {
    peer: Peer,
    id: u32,
    /// Address of byte 0 in the owner.
    base: u64,
    length: u64,
    /// Address of byte 0 here, if `is_direct`.
    direct: usize,
    is_direct: bool,
    is_shared: bool,
    is_elsewhere: bool,
    /// Is it memory of a device of this node? Then `transfer`, if there is one, is this target's own.
    is_on_device: bool,
    atomicity: Atomicity,
    pub(super) locks: &'static Locks,
    pub(super) phase: u8,
    /// What copies from and to the peer's own memory, once that was needed.
    transfer: OnceLock<&'static dyn Transfer>,
    refused: [AtomicBool; 2],
    /// Null: not found yet.
    mailboxes: AtomicPtr<Mailboxes>,
    /// By which the network reaches it, once its owner was asked; `None`: it does not.
    network_key: OnceLock<Box<Option<u64>>>,
    /// How many times in a row the owner made no progress.
    pub(super) idle_rounds: AtomicU16,
    /// How many requests in a row had no answer, and how many operations are therefore not asked for.
    pub(super) unanswered: AtomicU8,
    pub(super) skipped: AtomicU16,
}

// Many windows have many.
const _: () = assert!(size_of::<Target>() <= 104);

impl Target {
    /// The region that `key` names, which must be one of `peer`. Does not block, and reaches nothing yet.
    ///
    /// # Errors
    /// The key makes no sense ([`Error::BadKey`]).
    pub fn attach(peer: Peer, key: RegionKey) -> Result<Self> {
        let Parsed {
            id,
            base,
            length,
            direct,
            is_shared,
            is_elsewhere,
            locks,
            phase,
            atomicity,
            device,
        } = key.parse(peer)?;
        let transfer = OnceLock::new();
        let is_on_device = device.is_some();
        let mut is_refused = false;
        match device {
            None => {}
            // Until the target is dropped.
            Some(OnDevice::Copied(copier)) => {
                let _ = transfer.set(Box::leak(copier) as &'static dyn Transfer);
            }
            Some(OnDevice::Called) => is_refused = true,
        }
        Ok(Self {
            peer,
            id,
            base,
            length,
            direct: direct.unwrap_or(0),
            is_direct: direct.is_some(),
            is_shared,
            is_elsewhere,
            is_on_device,
            atomicity,
            locks,
            phase,
            transfer,
            refused: [AtomicBool::new(is_refused), AtomicBool::new(is_refused)],
            mailboxes: AtomicPtr::new(null_mut()),
            network_key: OnceLock::new(),
            idle_rounds: AtomicU16::new(0),
            unanswered: AtomicU8::new(0),
            skipped: AtomicU16::new(0),
        })
    }

    /// Another one for the same region, which is not memory of a device.
    pub(super) fn twin(&self) -> Self {
        let transfer = OnceLock::new();
        if let Some(known) = self.transfer.get().filter(|_| !self.is_on_device) {
            let _ = transfer.set(*known);
        }
        Self {
            is_on_device: false,
            transfer,
            refused: self
                .refused
                .each_ref()
                .map(|refused| AtomicBool::new(refused.load(Ordering::Relaxed))),
            mailboxes: AtomicPtr::new(self.mailboxes.load(Ordering::Relaxed)),
            network_key: OnceLock::new(),
            idle_rounds: AtomicU16::new(0),
            unanswered: AtomicU8::new(0),
            skipped: AtomicU16::new(0),
            ..*self
        }
    }

    /// Is the other one for the same region?
    #[inline]
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (self.peer, self.id, self.base, self.length) == (other.peer, other.id, other.base, other.length)
    }

    /// Its owner.
    #[inline]
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// The region's number in its owner.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Where so many bytes from this offset on can be loaded and stored here, for [`Flow::store`](super::Flow::store) and
    /// [`Flow::load`](super::Flow::load). `None`: they are not mapped, or not all in the region, or some process has failed, which
    /// [`Flow::put_bytes`](super::Flow::put_bytes) and [`Flow::get_bytes`](super::Flow::get_bytes) look into.
    #[inline]
    pub fn mapped_at(&self, at: u64, bytes: u64) -> Option<*mut u8> {
        let is_inside = at.checked_add(bytes)? <= self.length;
        (is_inside && self.is_direct && fault_events() == 0)
            .then(|| with_exposed_provenance_mut(self.direct.wrapping_add(at as usize)))
    }

    /// Can its bytes be reached by nothing but calls?
    #[inline]
    pub(super) fn needs_calls(&self) -> bool {
        self.is_elsewhere
            || !self.is_direct && (self.transfer(Direction::Pull).is_none() || self.transfer(Direction::Push).is_none())
    }

    /// Is its owner on another node?
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// Is it memory of a device of this node?
    #[inline]
    pub(super) fn is_on_device(&self) -> bool {
        self.is_on_device
    }

    /// Its bytes.
    #[inline]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Address of its first byte in its owner.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where its first byte can be loaded and stored here, if the owner and this process both map it; of this process's own regions
    /// always.
    #[inline]
    pub fn mapped(&self) -> Option<NonNull<u8>> {
        NonNull::new(with_exposed_provenance_mut(self.direct)).filter(|_| self.is_direct)
    }

    /// Is it memory that every process of the job maps?
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The mailboxes of its owner, where it has some and its memory is not mapped here.
    #[inline]
    pub(super) fn mailboxes(&self) -> Option<&'static Mailboxes> {
        // SYNC: target-mailboxes
        let known = self.mailboxes.load(Ordering::Acquire);
        // SAFETY: null, or of the reference below, which is one for good.
        if let Some(boxes) = unsafe { known.as_ref() } {
            return Some(boxes);
        }
        if self.is_direct || self.is_elsewhere || self.is_on_device {
            return None;
        }
        let boxes = mailbox::at(&self.locks.mailboxes)?;
        // SYNC: target-mailboxes
        self.mailboxes.store(from_ref(boxes).cast_mut(), Ordering::Release);
        Some(boxes)
    }

    /// The key by which the network reaches it, which `ask` asks its owner for.
    pub(super) fn network_key(&self, ask: impl FnOnce() -> Result<Option<u64>>) -> Result<Option<u64>> {
        match self.network_key.get() {
            Some(key) => Ok(**key),
            None => {
                let key = ask()?;
                Ok(**self.network_key.get_or_init(|| Box::new(key)))
            }
        }
    }

    /// How accumulates on it are made atomic.
    #[inline]
    pub fn atomicity(&self) -> Atomicity {
        self.atomicity
    }

    /// The number to add to an offset to get an address here; `None`: there is none.
    #[inline]
    pub(super) fn shift(&self) -> Option<usize> {
        self.is_direct.then_some(self.direct)
    }

    /// Change elements by instructions until the answer is dropped; `None`: they need locks.
    #[inline]
    pub(super) fn enter_section(&self, home: &super::ProcessContext) -> Option<ReadGuard<'_>> {
        self.locks.enter_section(home, self.phase, allows_threads())
    }

    /// Are these bytes in it?
    ///
    /// # Errors
    /// They are not.
    #[inline]
    pub fn check(&self, at: u64, bytes: u64) -> Result<()> {
        match at.checked_add(bytes) {
            Some(end) if end <= self.length => Ok(()),
            _ => Err(self.outside(at, at.saturating_add(bytes))),
        }
    }

    /// Are all bytes of a layout of offsets in it?
    ///
    /// # Errors
    /// They are not.
    pub fn check_layout(&self, at: &Layout<'_>) -> Result<()> {
        if let Layout::Contiguous(span) = *at {
            return self.check(span.address, span.length);
        }
        match at.extent() {
            Some(extent) if extent.end <= self.length => Ok(()),
            Some(extent) => Err(self.outside(extent.start, extent.end)),
            None => Err(self.outside(0, u64::MAX)),
        }
    }

    #[cold]
    fn outside(&self, from: u64, to: u64) -> Error {
        Error::OutOfRange {
            peer: self.peer.0,
            from,
            to,
            length: self.length,
        }
    }

    /// What copies in this direction; `None`: nothing does.
    pub(super) fn transfer(&self, direction: Direction) -> Option<&'static dyn Transfer> {
        if self.is_elsewhere || self.refused[direction as usize].load(Ordering::Relaxed) {
            return None;
        }
        if let Some(transfer) = self.transfer.get() {
            return Some(*transfer);
        }
        let access = enter().engine().single_access(self.peer.0, self.base, direction)?;
        Some(*self.transfer.get_or_init(|| access.transfer()))
    }

    /// If it is memory of a device that this process copies from and to: a copy has failed, and why.
    pub(super) fn device_failure(&self) -> Option<Error> {
        if !self.is_on_device {
            return None;
        }
        let said = self.transfer.get()?.explanation();
        let why = said.unwrap_or_else(|| "its driver could not copy".to_owned());
        Some(Error::Device(format!("memory of a GPU of rank {}: {why}", self.peer.0)))
    }

    /// A single copy has failed: say so, and remember what will fail for good. True: it will.
    #[cold]
    pub(super) fn failed(&self, direction: Direction, stopped: Interrupted) -> bool {
        let mut inside = enter();
        let engine = inside.engine();
        engine.copy_failed(self.peer.0, DataPath::SingleCopy, direction, stopped, None);
        let refused = engine.is_refused(self.peer.0, DataPath::SingleCopy, direction);
        if refused {
            self.refused[direction as usize].store(true, Ordering::Relaxed);
        }
        refused
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_on_device
            && let Some(transfer) = self.transfer.take()
        {
            // SAFETY: `attach` has leaked it from a box, for this target alone.
            drop(unsafe { Box::from_raw(from_ref(transfer).cast_mut()) });
        }
    }
}
