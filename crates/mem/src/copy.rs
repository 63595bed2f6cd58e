//! Copies between memory of any two kinds.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::Kind;
use crate::api::{Address, Api};
use crate::counts::{COUNTS, count};
use crate::error::Result;
use crate::look::{Seen, look, watched_driver};
use crate::place::{self, BOUNCE, Lane, Place};

/// Bytes that go through memory between at a time.
pub const PORTION: usize = 32 << 20;

/// An address and what it is.
#[derive(Debug, Clone, Copy)]
pub struct At {
    pub address: usize,
    pub seen: Seen,
}

impl At {
    pub fn of(api: &Api, address: usize) -> Result<Self> {
        Ok(Self {
            address,
            seen: look(api, address)?,
        })
    }

    pub fn is_host(&self) -> bool {
        self.seen.kind == Kind::Host
    }

    pub fn driver(&self) -> Address {
        self.address as Address
    }

    pub fn mut_pointer(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.address)
    }

    pub fn plus(self, offset: isize) -> Self {
        Self {
            address: self.address.wrapping_add_signed(offset),
            ..self
        }
    }
}

/// Can a kernel of this place access it?
pub fn is_reached(place: &Place, seen: &Seen) -> bool {
    match seen.kind {
        Kind::Host => seen.pinned,
        Kind::Managed(_) => true,
        Kind::Device(_) if !seen.context.is_null() => seen.context == place.context,
        Kind::Device(device) => device == place.device,
    }
}

/// Where the copy is done: in the context of the device's memory; of two, where it is read.
pub fn place_of(api: &Api, from: &Seen, to: &Seen) -> Result<&'static Place> {
    for seen in [from, to] {
        if let Kind::Device(device) = seen.kind {
            return place::of(api, device, seen.context);
        }
    }
    match (from.kind, to.kind) {
        (Kind::Managed(device), _) | (_, Kind::Managed(device)) => place::of(api, device, ptr::null_mut()),
        _ => unreachable!("a copy in host memory is the processor's"),
    }
}

/// See [`crate::copy`].
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let Some(api) = watched_driver() else {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        return Ok(());
    };
    let from = At::of(api, from.expose_provenance())?;
    let to = At::of(api, to.expose_provenance())?;
    // SAFETY: the caller's promise.
    unsafe { copy_at(api, to, from, bytes) }
}

/// # Safety
/// As for [`crate::copy`].
pub unsafe fn copy_at(api: &Api, to: At, from: At, bytes: usize) -> Result<()> {
    if to.is_host() && from.is_host() {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from.mut_pointer(), to.mut_pointer(), bytes) };
        return Ok(());
    }
    count_copy(&to, &from, bytes);
    let place = place_of(api, &from.seen, &to.seen)?;
    let short = bytes <= BOUNCE;
    if short && to.is_host() && !to.seen.pinned {
        return place.run(api, |lane| {
            let between = lane.pinned.expose_provenance() as Address;
            enqueue(api, lane, between, from.driver(), bytes)?;
            place.wait(api, lane)?;
            // SAFETY: a lane's buffer has as many bytes; the caller's promise.
            unsafe { ptr::copy_nonoverlapping(lane.pinned, to.mut_pointer(), bytes) };
            Ok(())
        });
    }
    place.run(api, |lane| {
        let mut source = from.driver();
        if short && from.is_host() && !from.seen.pinned {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(from.mut_pointer(), lane.pinned, bytes) };
            source = lane.pinned.expose_provenance() as Address;
        }
        enqueue(api, lane, to.driver(), source, bytes)
    })
}

pub fn count_copy(to: &At, from: &At, bytes: usize) {
    let (copies, all) = match (from.is_host(), to.is_host()) {
        (false, true) => (&COUNTS.copies_to_host, &COUNTS.bytes_to_host),
        (true, false) => (&COUNTS.copies_to_device, &COUNTS.bytes_to_device),
        _ => (&COUNTS.copies_on_device, &COUNTS.bytes_on_device),
    };
    count(copies);
    all.fetch_add(bytes as u64, Ordering::Relaxed);
}

pub fn enqueue(api: &Api, lane: &Lane, to: Address, from: Address, bytes: usize) -> Result<()> {
    // SAFETY: the callers of `copy` and its siblings vouch for the addresses; the driver checks those of devices.
    let answer = unsafe { (api.copy)(to, from, bytes, lane.stream) };
    api.check(answer, "cuMemcpyAsync", || {
        format!("cannot copy {bytes} bytes from {from:#x} to {to:#x}")
    })
}
