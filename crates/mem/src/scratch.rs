//! Memory for intermediate results.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use crate::Device;
use crate::api::{Address, Api, Object, code, flag};
use crate::counts::{COUNTS, count};
use crate::error::{Error, Result};
use crate::look::watched_driver;
use crate::place::{self, Current, Place};

/// The smallest size, in bytes.
const SMALLEST: usize = 4 << 10;
/// Sizes are powers of two up to this, in bytes, and its multiples above.
const STEP: usize = 32 << 20;
/// Bytes of pinned memory that are kept for later calls.
const MOST_PINNED: usize = 256 << 20;
/// Bytes of each context's memory that are kept: the program has the rest.
const MOST_ON_DEVICE: usize = 64 << 20;

/// Memory for intermediate results, kept for later calls, given back when dropped.
#[derive(Debug)]
pub struct Scratch {
    at: *mut u8,
    /// Null: host memory.
    context: Object,
    /// The driver would not pin it.
    plain: bool,
    /// In bytes.
    size: usize,
    /// The allocation's buffer id: memory of a context that is gone has another or none.
    buffer: Option<u64>,
}

// SAFETY: it owns the memory.
unsafe impl Send for Scratch {}
// SAFETY: it gives its address alone.
unsafe impl Sync for Scratch {}

/// Memory that is kept, by context (as a number) and size.
static KEPT: Mutex<Option<KeptScratch>> = Mutex::new(None);
type KeptScratch = HashMap<(usize, usize), Vec<Scratch>>;

fn size_for(bytes: usize) -> usize {
    match bytes <= STEP {
        true => bytes.max(SMALLEST).next_power_of_two(),
        false => bytes.next_multiple_of(STEP),
    }
}

impl Scratch {
    /// Pinned host memory, which copies to and from devices reach without an intermediate copy. Where the driver has no more of it, other
    /// host memory.
    pub fn pinned(bytes: usize) -> Result<Self> {
        let api = watched_driver().ok_or_else(Error::unsupported)?;
        let size = size_for(bytes);
        if let Some(kept) = Self::kept(api, null_mut(), size) {
            return Ok(kept);
        }
        let _current = Current::enter(api, place::any_context(api)?)?;
        let mut at = null_mut();
        // SAFETY: the driver writes where the memory is.
        let answer = unsafe { (api.allocate_host)(&raw mut at, size, flag::HOST_PORTABLE | flag::HOST_DEVICE_MAP) };
        if answer != code::SUCCESS {
            count(&COUNTS.failures);
            return Ok(Self::plain(size));
        }
        Ok(Self {
            at: at.cast(),
            context: null_mut(),
            plain: false,
            size,
            buffer: api.buffer_id(at.expose_provenance() as Address),
        })
    }

    fn plain(size: usize) -> Self {
        let layout = Self::layout(size);
        // SAFETY: the size is not 0.
        let at = unsafe { std::alloc::alloc(layout) };
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        at.expose_provenance();
        Self {
            at,
            context: null_mut(),
            plain: true,
            size,
            buffer: None,
        }
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, SMALLEST).unwrap_or_else(|_| unreachable!("a size of memory"))
    }

    /// Memory of a device.
    pub fn on(device: Device, bytes: usize) -> Result<Self> {
        let api = watched_driver().ok_or_else(Error::unsupported)?;
        Self::in_place(api, place::of(api, device, null_mut())?, bytes)
    }

    /// Memory of a device, in this context.
    pub(crate) fn in_place(api: &Api, place: &Place, bytes: usize) -> Result<Self> {
        let size = size_for(bytes);
        if let Some(kept) = Self::kept(api, place.context, size) {
            return Ok(kept);
        }
        let _current = Current::enter(api, place.context)?;
        let mut at: Address = 0;
        // SAFETY: the driver writes where the memory is.
        let mut answer = unsafe { (api.allocate)(&raw mut at, size) };
        if answer == code::OUT_OF_MEMORY {
            Self::give_back(place.context);
            // SAFETY: as above.
            answer = unsafe { (api.allocate)(&raw mut at, size) };
        }
        api.check(answer, "cuMemAlloc", || {
            format!("no {} bytes of memory on device {}", size, place.device.0)
        })?;
        Ok(Self {
            at: std::ptr::with_exposed_provenance_mut(at as usize),
            context: place.context,
            plain: false,
            size,
            buffer: api.buffer_id(at),
        })
    }

    /// One that is kept, if its context is still there.
    fn kept(api: &Api, context: Object, size: usize) -> Option<Self> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let list = kept.as_mut()?.get_mut(&(context.addr(), size))?;
        while let Some(scratch) = list.pop() {
            if api.buffer_id(scratch.at.expose_provenance() as Address) == scratch.buffer {
                return Some(scratch);
            }
            // Freed with its context.
            std::mem::forget(scratch);
        }
        None
    }

    /// Free what is kept of a context.
    fn give_back(context: Object) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let all = kept.get_or_insert_default();
        for ((_, _), list) in all.iter_mut().filter(|((of, _), _)| *of == context.addr()) {
            for scratch in list.drain(..) {
                scratch.free();
                std::mem::forget(scratch);
            }
        }
    }

    /// Did the driver pin it?
    pub(crate) fn is_pinned(&self) -> bool {
        !self.plain
    }

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.at
    }

    fn free(&self) {
        let Some(api) = watched_driver() else { return };
        if api.buffer_id(self.at.expose_provenance() as Address) != self.buffer {
            return; // Freed with its context.
        }
        // SAFETY: allocated by the driver, and nobody uses it any more.
        unsafe {
            if self.context.is_null() {
                if let Ok(context) = place::any_context(api)
                    && let Ok(_current) = Current::enter(api, context)
                {
                    (api.free_host)(self.at.cast());
                }
            } else if let Ok(_current) = Current::enter(api, self.context) {
                (api.free)(self.at.expose_provenance() as Address);
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.plain {
            // SAFETY: allocated by `plain`.
            unsafe { std::alloc::dealloc(self.at, Self::layout(self.size)) };
            return;
        }
        let own = Self { ..*self };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let all = kept.get_or_insert_default();
        let context = self.context.addr();
        let bytes: usize = all
            .iter()
            .filter(|((of, _), _)| *of == context)
            .map(|((_, size), list)| list.len() * size)
            .sum();
        let most = if self.context.is_null() {
            MOST_PINNED
        } else {
            MOST_ON_DEVICE
        };
        if bytes + self.size <= most {
            all.entry((context, self.size)).or_default().push(own);
        } else {
            drop(kept);
            own.free();
            std::mem::forget(own);
        }
    }
}
