//! Memory for intermediate results, and host memory that is registered.

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use crate::api::{Address, Api, Object, code, flag};
use crate::counts::COUNTS;
use crate::error::{Error, Result};
use crate::look::watched_driver;
use crate::place::{self, Current, Place};
use crate::{Device, ranges};

/// The smallest size, in bytes, as a power of two.
const SMALLEST: u32 = 12;
/// Bytes kept for later calls, of pinned memory, and of each context's.
const MOST_KEPT: usize = 256 << 20;

/// Memory for intermediate results, kept for later calls, given back when dropped.
#[derive(Debug)]
pub struct Scratch {
    at: *mut u8,
    /// Null: pinned host memory.
    context: Object,
    /// A power of two.
    size: u32,
    /// The allocation's buffer id: memory of a context that is gone has another or none.
    buffer: Option<u64>,
}

// SAFETY: it owns the memory.
unsafe impl Send for Scratch {}
// SAFETY: it gives its address alone.
unsafe impl Sync for Scratch {}

/// What is kept, by context and size; the context as a number.
static KEPT: Mutex<Option<HashMap<(usize, u32), Vec<Scratch>>>> = Mutex::new(None);

fn size_of_class(bytes: usize) -> u32 {
    bytes.max(1 << SMALLEST).next_power_of_two().ilog2()
}

/// A context to work with host memory in: the current one, or one of a device that this process uses.
fn any_context(api: &Api) -> Result<Object> {
    let mut current = null_mut();
    // SAFETY: the driver writes the current context, or null.
    if unsafe { (api.context_current)(&raw mut current) } == code::SUCCESS && !current.is_null() {
        return Ok(current);
    }
    let device = place::last_device(api)
        .ok_or_else(|| Error::plain("this process has no context on any CUDA device".to_owned()))?;
    place::context_for(api, device, null_mut())
}

impl Scratch {
    /// Pinned host memory, which copies to and from devices reach without an intermediate copy.
    pub fn pinned(bytes: usize) -> Result<Self> {
        let api = watched_driver().ok_or_else(Error::unsupported)?;
        let size = size_of_class(bytes);
        if let Some(kept) = Self::kept(api, null_mut(), size) {
            return Ok(kept);
        }
        let _current = Current::enter(api, any_context(api)?)?;
        let mut at = null_mut();
        // SAFETY: the driver writes where the memory is.
        let answer =
            unsafe { (api.allocate_host)(&raw mut at, 1 << size, flag::HOST_PORTABLE | flag::HOST_DEVICE_MAP) };
        api.check(answer, "cuMemHostAlloc", || {
            format!("no {} bytes of pinned memory", 1_usize << size)
        })?;
        Ok(Self {
            at: at.cast(),
            context: null_mut(),
            size,
            buffer: api.buffer_id(at.expose_provenance() as Address),
        })
    }

    /// Memory of a device.
    pub fn on(device: Device, bytes: usize) -> Result<Self> {
        let api = watched_driver().ok_or_else(Error::unsupported)?;
        Self::in_place(api, place::of(api, device, null_mut())?, bytes)
    }

    /// Memory of a device, in this context.
    pub(crate) fn in_place(api: &Api, place: &Place, bytes: usize) -> Result<Self> {
        let size = size_of_class(bytes);
        if let Some(kept) = Self::kept(api, place.context, size) {
            return Ok(kept);
        }
        let _current = Current::enter(api, place.context)?;
        let mut at: Address = 0;
        // SAFETY: the driver writes where the memory is.
        let answer = unsafe { (api.allocate)(&raw mut at, 1 << size) };
        api.check(answer, "cuMemAlloc", || {
            format!("no {} bytes of memory on device {}", 1_usize << size, place.device.0)
        })?;
        Ok(Self {
            at: std::ptr::with_exposed_provenance_mut(at as usize),
            context: place.context,
            size,
            buffer: api.buffer_id(at),
        })
    }

    /// One that is kept, if its context is still there.
    fn kept(api: &Api, context: Object, size: u32) -> Option<Self> {
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

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.at
    }

    fn free(&self) {
        let Some(api) = watched_driver() else { return };
        // SAFETY: allocated by the driver, and nobody uses it any more.
        unsafe {
            if self.context.is_null() {
                if let Ok(context) = any_context(api)
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
        let own = Self { ..*self };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let all = kept.get_or_insert_default();
        let context = self.context.addr();
        let bytes: usize = all
            .iter()
            .filter(|((of, _), _)| *of == context)
            .map(|((_, size), list)| list.len() << size)
            .sum();
        if bytes + (1 << self.size) <= MOST_KEPT {
            all.entry((context, self.size)).or_default().push(own);
        } else {
            drop(kept);
            own.free();
            std::mem::forget(own);
        }
    }
}

/// See [`crate::register`].
pub fn register(start: *mut u8, bytes: usize) {
    let range = start.addr()..start.addr() + bytes;
    if bytes == 0 || ranges::is_pinned(range.start) && ranges::is_pinned(range.end - 1) {
        return;
    }
    let Some(api) = watched_driver() else { return };
    let Ok(context) = any_context(api) else { return };
    let Ok(_current) = Current::enter(api, context) else {
        return;
    };
    // SAFETY: the driver pins what is mapped there, and refuses what is not.
    let answer = unsafe { (api.register_host)(start.cast(), bytes, flag::HOST_PORTABLE | flag::HOST_DEVICE_MAP) };
    match answer {
        code::SUCCESS if ranges::add_pinned(&range) => {
            COUNTS.registered_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        code::SUCCESS | code::HOST_MEMORY_ALREADY_REGISTERED => {}
        _ => {
            COUNTS.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// See [`crate::unregister`].
pub fn unregister(start: *mut u8) {
    if ranges::remove_pinned(start.addr()).is_none() {
        return;
    }
    if let Some(api) = watched_driver()
        && let Ok(context) = any_context(api)
        && let Ok(_current) = Current::enter(api, context)
    {
        // SAFETY: registered by `register`.
        unsafe { (api.unregister_host)(start.cast()) };
    }
}
