//! Which predefined handle an address is, and which address a predefined handle has.
//!
//! **Layout**: a table of addresses, open addressing with a multiplicative hash; beside it the canonical handles in the same places;
//! and the addresses by canonical handle.
//! **Fields**: written by [`register`] only, under a lock; read by anybody at any time.
//! **Ordering**: an address is stored after what it stands for (`// SYNC: predefined-handle`). A program knows an address only after
//! its library was loaded, and so registered.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::generated::constants::OPENMPI_HANDLES;

/// Places of the table: no more than a quarter is used.
const SLOTS: usize = 512;
const _: () = assert!(SLOTS.is_power_of_two() && OPENMPI_HANDLES * 4 <= SLOTS);

/// Canonical values of predefined handles are smaller.
const CANONICAL: usize = 0x300;

/// 2^64 divided by the golden ratio: neighbouring objects come far apart (Knuth, The Art of Computer Programming, volume 3, §6.4).
const MULTIPLIER: usize = 0x9e37_79b9_7f4a_7c15;

static ADDRESSES: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];
static HANDLES: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];
static BY_HANDLE: [AtomicUsize; CANONICAL] = [const { AtomicUsize::new(0) }; CANONICAL];

#[inline(always)]
fn first_slot(address: usize) -> usize {
    address.wrapping_mul(MULTIPLIER) >> (usize::BITS - SLOTS.trailing_zeros())
}

/// The canonical handle that this is the address of.
#[inline(always)]
pub fn find(address: usize) -> Option<u32> {
    let mut slot = first_slot(address);
    loop {
        // SYNC: predefined-handle
        match ADDRESSES[slot].load(Ordering::Acquire) {
            // Free places are 0, too: so null is looked for after them.
            0 => return None,
            found if found == address => return Some(HANDLES[slot].load(Ordering::Relaxed)),
            _ => slot = (slot + 1) % SLOTS,
        }
    }
}

/// The address of the object that a predefined handle is, if the library has one for it.
#[inline(always)]
pub fn address_of(raw: u32) -> Option<usize> {
    let address = BY_HANDLE.get(raw as usize)?.load(Ordering::Relaxed);
    (address != 0).then_some(address)
}

/// The objects of `libmpi.so.40`, told when it is loaded: `count` rows of {address, canonical handle}. A further library of that
/// name adds its own.
///
/// # Safety
/// `rows` is good for reading so many rows.
#[unsafe(export_name = "isthmus_openmpi_register")]
pub unsafe extern "C" fn register(rows: *const [usize; 2], count: usize) {
    static REGISTERING: Mutex<()> = Mutex::new(());
    // SAFETY: the caller's promise.
    let rows = unsafe { std::slice::from_raw_parts(rows, count) };
    let _alone = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    for &[address, canonical] in rows {
        let Some(by_handle) = BY_HANDLE.get(canonical).filter(|_| find(address).is_none()) else {
            continue;
        };
        // One slot in two at most, so that a search ends; there is room for several libraries.
        if ADDRESSES
            .iter()
            .filter(|slot| slot.load(Ordering::Relaxed) != 0)
            .count()
            * 2
            >= SLOTS
        {
            return;
        }
        let mut slot = first_slot(address);
        while ADDRESSES[slot].load(Ordering::Relaxed) != 0 {
            slot = (slot + 1) % SLOTS;
        }
        HANDLES[slot].store(canonical as u32, Ordering::Relaxed);
        // SYNC: predefined-handle
        ADDRESSES[slot].store(address, Ordering::Release);
        by_handle.store(address, Ordering::Relaxed);
    }
}
