//! Copies between memory of any two kinds.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::api::{Address, Api};
use crate::counts::{COUNTS, count};
use crate::error::Result;
use crate::look::{Seen, look, watched_driver};
use crate::place::{self, BOUNCE, Lane, Place};
use crate::{Kind, Scratch};

/// Bytes that go through memory between at a time.
pub const PORTION: usize = 32 << 20;
/// Bytes of a chunk that goes through pinned memory while another is copied.
const CHUNK: usize = 256 << 10;

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
    let pageable = |at: &At| at.is_host() && !at.seen.pinned;
    if !pageable(&from) && !pageable(&to) {
        return place.run(api, |lane| enqueue(api, lane, to.driver(), from.driver(), bytes));
    }
    if bytes > BOUNCE {
        // SAFETY: the caller's promise.
        return unsafe { through_pinned(api, place, to, from, bytes) };
    }
    place.on_lane(api, |lane| {
        if lane.pinned.is_null() {
            enqueue(api, lane, to.driver(), from.driver(), bytes)?;
            return place.wait(api, lane);
        }
        let between = lane.pinned.expose_provenance() as Address;
        // SAFETY: a lane's buffer has as many bytes; the caller's promise.
        unsafe {
            if to.is_host() {
                enqueue(api, lane, between, from.driver(), bytes)?;
                place.wait(api, lane)?;
                ptr::copy_nonoverlapping(lane.pinned, to.mut_pointer(), bytes);
            } else {
                ptr::copy_nonoverlapping(from.mut_pointer(), lane.pinned, bytes);
                enqueue(api, lane, to.driver(), between, bytes)?;
                place.wait(api, lane)?;
            }
        }
        Ok(())
    })
}

/// Between a device and host memory that is not pinned: through two pinned chunks, of which the device copies one while the processor
/// copies the other.
///
/// # Safety
/// As for [`crate::copy`].
unsafe fn through_pinned(api: &Api, place: &Place, to: At, from: At, bytes: usize) -> Result<()> {
    let scratch = Scratch::pinned(2 * CHUNK)?;
    if !scratch.is_pinned() {
        return place.run(api, |lane| enqueue(api, lane, to.driver(), from.driver(), bytes));
    }
    let chunks = bytes.div_ceil(CHUNK);
    // Of chunk i: where it begins, its bytes, and its place in pinned memory.
    let chunk = |i: usize| {
        let (begin, pinned) = (i * CHUNK, scratch.start().wrapping_add(i % 2 * CHUNK));
        (begin as isize, CHUNK.min(bytes - begin), pinned)
    };
    let mut marks = [None; 2];
    place.on_lane(api, |lane| {
        if to.is_host() {
            for i in 0..chunks + 2 {
                if i >= 2 {
                    let (begin, length, pinned) = chunk(i - 2);
                    place.wait_for(api, lane, marks[i % 2])?;
                    // SAFETY: the caller's promise.
                    unsafe { ptr::copy_nonoverlapping(pinned, to.plus(begin).mut_pointer(), length) };
                }
                if i < chunks {
                    let (begin, length, pinned) = chunk(i);
                    enqueue(
                        api,
                        lane,
                        pinned.expose_provenance() as Address,
                        from.plus(begin).driver(),
                        length,
                    )?;
                    marks[i % 2] = place.mark(api, lane);
                }
            }
            return Ok(());
        }
        for i in 0..chunks {
            let (begin, length, pinned) = chunk(i);
            if i >= 2 {
                place.wait_for(api, lane, marks[i % 2])?;
            }
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(from.plus(begin).mut_pointer(), pinned, length) };
            enqueue(
                api,
                lane,
                to.plus(begin).driver(),
                pinned.expose_provenance() as Address,
                length,
            )?;
            marks[i % 2] = place.mark(api, lane);
        }
        place.wait_for(api, lane, marks[(chunks - 1) % 2])
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
