//! Copies from and to a peer's memory of a device, which this process has mapped, by the device's driver.
//!
//! What the peer announces are addresses of its own process; the mapping lies elsewhere here.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use isthmus_mem::{self as mem, Mapped};
use isthmus_os::errno;

use crate::{Interrupted, Layout, Span, Transfer, device, local};

/// A stretch of a peer's memory.
#[derive(Debug)]
pub struct Cuda {
    /// Its address in the peer.
    theirs: u64,
    /// Where it lies here.
    ours: u64,
    /// Keeps it there; `None`: it is this process's own.
    _mapped: Option<Mapped>,
    /// What the driver said last.
    failure: Mutex<Option<mem::Error>>,
}

impl Cuda {
    /// Memory of a peer, from its address `theirs` on.
    pub fn of_peer(theirs: u64, mapped: Mapped) -> Self {
        Self {
            theirs,
            ours: mapped.start().expose_provenance() as u64,
            _mapped: Some(mapped),
            failure: Mutex::default(),
        }
    }

    /// Memory of this process.
    pub fn own() -> Self {
        Self {
            theirs: 0,
            ours: 0,
            _mapped: None,
            failure: Mutex::default(),
        }
    }

    fn with_mapped<R>(&self, remote: &Layout<'_>, f: impl FnOnce(&Layout<'_>) -> R) -> R {
        let here = |address: u64| address.wrapping_sub(self.theirs).wrapping_add(self.ours);
        match *remote {
            Layout::Contiguous(span) => f(&Layout::contiguous(here(span.address), span.length)),
            Layout::Strided { base, block, levels } => f(&Layout::Strided {
                base: here(base),
                block,
                levels,
            }),
            Layout::Spans(spans) => {
                let moved = spans.iter().map(|span| Span {
                    address: here(span.address),
                    length: span.length,
                });
                f(&Layout::Spans(&moved.collect::<Vec<_>>()))
            }
        }
    }

    fn told(&self, copied: mem::Result<()>) -> Result<(), Interrupted> {
        copied.map_err(|error| {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Interrupted::at_once("a copy by the CUDA driver", errno::EIO)
        })
    }
}

/// Do both layouts have the bytes of `range`?
fn check(remote: &Layout<'_>, local: &Layout<'_>, range: &Range<u64>) -> Result<(), Interrupted> {
    let length = remote.length().min(local.length());
    match range.start <= range.end && range.end <= length {
        true => Ok(()),
        false => Err(Interrupted::at_once("range", errno::EINVAL)),
    }
}

/// Where byte `at` of a layout of one block lies.
fn row(layout: &Layout<'_>, at: u64) -> Option<*mut u8> {
    match *layout {
        Layout::Contiguous(span) => Some(std::ptr::with_exposed_provenance_mut((span.address + at) as usize)),
        _ => None,
    }
}

impl Transfer for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn explanation(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(mem::Error::to_string)
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        check(remote, local, &range)?;
        let length = range.end - range.start;
        // SAFETY: the caller's promise; the staging memory has room for the range.
        unsafe {
            if let Some(to) = row(local, range.start) {
                return self.told(self.with_mapped(remote, |there| device::pack(there, range, to)));
            }
            let mut staging = vec![0_u8; length as usize];
            let to = staging.as_mut_ptr();
            self.told(self.with_mapped(remote, |there| device::pack(there, range.clone(), to)))?;
            let packed = Layout::local(to, length);
            local::copy_on(&mut packed.cursor(0), &mut local.cursor(range.start), length);
        }
        Ok(())
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        check(remote, local, &range)?;
        let length = range.end - range.start;
        // SAFETY: as above.
        unsafe {
            if let Some(from) = row(local, range.start) {
                return self.told(self.with_mapped(remote, |there| device::unpack(there, range, from)));
            }
            let mut staging = vec![0_u8; length as usize];
            let packed = Layout::local(staging.as_mut_ptr(), length);
            local::copy_on(&mut local.cursor(range.start), &mut packed.cursor(0), length);
            self.told(self.with_mapped(remote, |there| device::unpack(there, range, staging.as_ptr())))
        }
    }
}
