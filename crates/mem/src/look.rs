//! What an address is, as the driver says.

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use isthmus_os::switches::Switch;
use isthmus_os::{cpu, process, process_vm};

use crate::api::{Address, Api, Object, attribute, code, driver, memory_type, pointer};
use crate::counts::{COUNTS, count};
use crate::error::{Error, Result};
use crate::place::{self, Current};
use crate::{Device, Kind, ranges};

/// An address, as the driver knows it.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub kind: Kind,
    /// Of device memory; null for memory of pools and of virtual memory management.
    pub context: Object,
    /// Host memory that the driver has pinned.
    pub pinned: bool,
    /// The buffer id of the allocation; 0 if it has none.
    pub buffer: u64,
}

impl Seen {
    const HOST: Self = Self {
        kind: Kind::Host,
        context: null_mut(),
        pinned: false,
        buffer: 0,
    };
}

/// The driver, if this process has one that may be asked.
#[inline]
pub fn watched_driver() -> Option<&'static Api> {
    if Switch::Devices.is_on() { driver() } else { None }
}

/// See [`crate::kind_of`].
pub fn kind_of(address: usize) -> Result<Kind> {
    if ranges::is_still_host(address) {
        return Ok(Kind::Host);
    }
    match driver() {
        None => {
            ranges::was_host(address, false);
            Ok(Kind::Host)
        }
        Some(api) => look(api, address).map(|seen| seen.kind),
    }
}

/// Look at `address`.
pub fn look(api: &Api, address: usize) -> Result<Seen> {
    if ranges::is_surely_host(address) || ranges::is_still_pageable(address) {
        return Ok(Seen::HOST);
    }
    ask(api, address)
}

fn ask(api: &Api, address: usize) -> Result<Seen> {
    count(&COUNTS.queries);
    let mut memory: c_uint = memory_type::NONE;
    let mut managed: c_uint = 0;
    let mut context: Object = null_mut();
    let mut ordinal: c_int = 0;
    let mut buffer: u64 = 0;
    let mut attributes = [
        pointer::MEMORY_TYPE,
        pointer::IS_MANAGED,
        pointer::CONTEXT,
        pointer::DEVICE_ORDINAL,
        pointer::BUFFER_ID,
    ];
    let mut values = [
        (&raw mut memory).cast(),
        (&raw mut managed).cast(),
        (&raw mut context).cast(),
        (&raw mut ordinal).cast(),
        (&raw mut buffer).cast(),
    ];
    let mut query = || {
        let count = attributes.len() as c_uint;
        // SAFETY: each value has the type of its attribute; the driver takes any address.
        unsafe { (api.pointer_attributes)(count, attributes.as_mut_ptr(), values.as_mut_ptr(), address as Address) }
    };
    let mut answer = query();
    if answer == code::INVALID_CONTEXT
        && let Ok(context) = place::any_context(api)
        && let Ok(_current) = Current::enter(api, context)
    {
        answer = query();
    }
    match answer {
        code::SUCCESS if memory == memory_type::NONE => host_unless_gone(address),
        code::SUCCESS if managed == 0 && memory != memory_type::DEVICE => {
            ranges::was_host(address, true);
            Ok(Seen {
                pinned: true,
                buffer,
                ..Seen::HOST
            })
        }
        code::SUCCESS => {
            let device = Device(ordinal as u32);
            let seen = Seen {
                kind: if managed != 0 && touches_managed(api, device) {
                    Kind::Managed(device)
                } else {
                    Kind::Device(device)
                },
                context,
                pinned: false,
                buffer,
            };
            if !is_known(buffer) {
                first_seen(api, &seen, address);
            }
            place::used(device, context);
            Ok(seen)
        }
        // No device memory without a driver that is initialized.
        code::NOT_INITIALIZED | code::DEINITIALIZED => Ok(Seen::HOST),
        failed if is_readable(address) => {
            let _ = failed;
            count(&COUNTS.failures);
            Ok(Seen::HOST)
        }
        failed => Err(api.error(failed, "cuPointerGetAttributes", || {
            format!("cannot tell what memory {address:#x} is")
        })),
    }
}

/// The driver does not know it.
fn host_unless_gone(address: usize) -> Result<Seen> {
    if is_readable(address) {
        ranges::was_host(address, false);
        return Ok(Seen::HOST);
    }
    Err(Error::plain(format!(
        "{address:#x} is memory of a device that has been freed, or no memory at all: neither the CUDA driver knows it nor can the \
         processor read it"
    )))
}

/// Can the processor read it? The kernel tries, so that nothing happens if not. Where it may not (a sandbox), the answer is yes.
fn is_readable(address: usize) -> bool {
    let mut byte = 0_u8;
    // SAFETY: one byte of this process is copied to a local one.
    match unsafe { process_vm::read(process::id(), address as u64, &raw mut byte, 1) } {
        Ok(bytes) => bytes == 1,
        Err(error) => error.errno != libc::EFAULT,
    }
}

/// May the processor touch managed memory while a kernel of the device runs?
fn touches_managed(api: &Api, device: Device) -> bool {
    static ANSWERS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
    let Some(answer) = ANSWERS.get(device.0 as usize) else {
        return false;
    };
    let mut known = answer.load(Ordering::Relaxed);
    if known == 0 {
        known = 1 + u64::from(api.attribute_of(device.0 as c_int, attribute::CONCURRENT_MANAGED_ACCESS) != 0);
        answer.store(known, Ordering::Relaxed);
    }
    known == 2
}

/// Buffer ids that have been looked at before, each at one place; they are not given twice in a process.
static KNOWN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

fn is_known(buffer: u64) -> bool {
    KNOWN[buffer as usize % KNOWN.len()].load(Ordering::Relaxed) == buffer
}

/// An allocation that has not been looked at before. A program's synchronous copy to it returns when its source may be changed, which can
/// be before the bytes are there, and streams that do not block do not wait for it. So what goes through the default stream is
/// waited for once, and from now on such copies of the program are complete when they return. Its context may be a new one at the place of
/// another that is gone, with all that was made there.
#[cold]
fn first_seen(api: &Api, seen: &Seen, address: usize) {
    /// `CU_STREAM_LEGACY`.
    const DEFAULT_STREAM: usize = 1;
    const LIMIT: Duration = Duration::from_secs(1);
    let device = match seen.kind {
        Kind::Device(device) | Kind::Managed(device) => device,
        Kind::Host => return,
    };
    if let Ok(context) = place::context_for(api, device, seen.context) {
        place::forget_if_gone(api, context);
        if let Ok(_current) = Current::enter(api, context) {
            let yes: c_uint = 1;
            let begun = Instant::now();
            // SAFETY: the attribute is an `unsigned int`; the handle names the default stream.
            unsafe {
                (api.set_pointer_attribute)((&raw const yes).cast(), pointer::SYNC_MEMOPS, address as Address);
                let stream = std::ptr::without_provenance_mut(DEFAULT_STREAM);
                while (api.stream_query)(stream) == code::NOT_READY && begun.elapsed() < LIMIT {
                    cpu::yield_now();
                }
            }
        }
    }
    KNOWN[seen.buffer as usize % KNOWN.len()].store(seen.buffer, Ordering::Relaxed);
}
