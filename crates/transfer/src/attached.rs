//! Loads and stores on memory of the peer that is mapped here piece by piece, as XPMEM does it (`/dev/xpmem`).
//!
//! Remote layouts hold the peer's addresses, as for [`crate::cma`]; windows around them are attached at first use and
//! kept. Unlike memory of a segment they may lose what is behind them at any moment, when the peer unmaps it or ends, so
//! every copy is guarded (`isthmus_os::guarded`): a hole ends the copy, not the process.

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::Range;
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::{Mutex, PoisonError};

use isthmus_os::process_vm;
use isthmus_os::xpmem::Device;
use isthmus_os::{Error, errno, guarded};

use crate::Span;
use crate::cma::Refusal;
use crate::layout::Layout;
use crate::transfer::{self, Interrupted, Transfer};

const CALL: &str = "attached copy";

/// Bytes of a window. Attaching takes a system call, each of its pages a fault at first use.
pub const WINDOW: u64 = 16 << 20;
/// Windows of one peer that are kept.
const MOST_WINDOWS: usize = 256;

/// How windows of a peer's memory are mapped.
pub trait Attach: Debug + Send + Sync {
    /// Map the window of [`WINDOW`] bytes at this address of the peer, a multiple of that.
    fn attach(&self, address: u64) -> Result<NonNull<u8>, Error>;

    /// Unmap one.
    ///
    /// # Safety
    /// Nobody may use it any more.
    unsafe fn detach(&self, window: NonNull<u8>);

    /// Has the peer ended?
    fn is_gone(&self) -> bool;
}

/// A peer whose memory can be mapped.
#[derive(Debug)]
pub struct Attached<A: Attach> {
    how: A,
    /// Address here, by address there. A copying thread holds the lock.
    windows: Mutex<HashMap<u64, usize>>,
}

impl<A: Attach> Attached<A> {
    /// # Errors
    /// Copies cannot be guarded on this processor.
    pub fn new(how: A) -> Result<Self, Error> {
        guarded::ready()?;
        Ok(Self {
            how,
            windows: Mutex::default(),
        })
    }

    /// # Safety
    /// As for [`Transfer::pull`] and [`Transfer::push`].
    unsafe fn copy(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
        push: bool,
    ) -> Result<(), Interrupted> {
        transfer::check(CALL, local, remote, &range)?;
        let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            let (ours, theirs) = (here.block(), there.block());
            let offset = theirs.address % WINDOW;
            let length = ours.length.min(theirs.length).min(range.end - at).min(WINDOW - offset);
            // SAFETY: a part of the caller's range.
            let copied = unsafe { self.copy_within(theirs.address - offset, offset, ours.address, length, push) };
            let copied = copied.map_err(|error| Interrupted {
                done: at - range.start,
                error,
            })?;
            at += copied;
            if copied < length {
                return Err(Interrupted {
                    done: at - range.start,
                    error: self.missing(),
                });
            }
            here.advance(length);
            there.advance(length);
        }
        Ok(())
    }

    /// Copy between a window and our memory. Returns how many bytes there were.
    ///
    /// # Safety
    /// As for [`Self::copy`]; `offset` and `length` lie within the window.
    unsafe fn copy_within(&self, window: u64, offset: u64, ours: u64, length: u64, push: bool) -> Result<u64, Error> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let base = match windows.get(&window) {
            Some(&base) => base,
            None => {
                if windows.len() >= MOST_WINDOWS {
                    self.detach_all(&mut windows);
                }
                let base = self.how.attach(window)?.as_ptr().expose_provenance();
                windows.insert(window, base);
                base
            }
        };
        let theirs = with_exposed_provenance_mut::<u8>(base + offset as usize);
        let ours = with_exposed_provenance_mut::<u8>(ours as usize);
        let (from, to) = if push { (ours, theirs) } else { (theirs, ours) };
        // SAFETY: the window is mapped as long as we hold the lock; our side is the caller's.
        Ok(unsafe { guarded::copy(from, to, length as usize) } as u64)
    }

    fn detach_all(&self, windows: &mut HashMap<u64, usize>) {
        for (_, base) in windows.drain() {
            if let Some(base) = NonNull::new(with_exposed_provenance_mut(base)) {
                // SAFETY: it has just left the table, whose lock the caller holds.
                unsafe { self.how.detach(base) };
            }
        }
    }

    fn missing(&self) -> Error {
        let errno = if self.how.is_gone() {
            errno::ESRCH
        } else {
            errno::EFAULT
        };
        Error { call: CALL, errno }
    }
}

impl<A: Attach> Drop for Attached<A> {
    fn drop(&mut self) {
        let mut windows = std::mem::take(&mut *self.windows.lock().unwrap_or_else(PoisonError::into_inner));
        self.detach_all(&mut windows);
    }
}

impl<A: Attach> Transfer for Attached<A> {
    fn name(&self) -> &'static str {
        "xpmem"
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(local, remote, range, false) }
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(local, remote, range, true) }
    }
}

/// A peer's memory by XPMEM.
#[derive(Debug)]
pub struct Xpmem {
    device: &'static Device,
    access: i64,
    pid: u32,
    secret_address: u64,
}

impl Xpmem {
    /// Get access to the memory that the peer has exposed as `id`, and read the peer's secret there: the same bytes prove
    /// identity and permission.
    ///
    /// # Errors
    /// The module refuses, or what is there is not the secret.
    pub fn probe(
        device: &'static Device,
        id: i64,
        pid: u32,
        secret: [u64; 2],
        secret_address: u64,
    ) -> Result<Attached<Self>, Refusal> {
        let attached = Attached::new(Self {
            device,
            access: device.access(id)?,
            pid,
            secret_address,
        })?;
        let mut found = [0u64; 2];
        let length = size_of_val(&found) as u64;
        let (here, there) = (
            Layout::local(found.as_mut_ptr().cast(), length),
            Layout::contiguous(secret_address, length),
        );
        // SAFETY: `found` is ours and as long as we say.
        unsafe { attached.pull(&there, &here, 0..length) }.map_err(|stopped| stopped.error)?;
        if std::hint::black_box(found) == secret {
            Ok(attached)
        } else {
            Err(Refusal::OtherProcess(pid))
        }
    }
}

impl Attach for Xpmem {
    fn attach(&self, address: u64) -> Result<NonNull<u8>, Error> {
        self.device.attach(self.access, address, WINDOW)
    }

    unsafe fn detach(&self, window: NonNull<u8>) {
        // A window that stays mapped costs addresses and nothing else.
        // SAFETY: the caller's promise.
        let _ = unsafe { self.device.detach(window) };
    }

    fn is_gone(&self) -> bool {
        let mut byte = 0u8;
        let (ours, theirs) = (
            Span {
                address: (&raw mut byte).expose_provenance() as u64,
                length: 1,
            },
            Span {
                address: self.secret_address,
                length: 1,
            },
        );
        // SAFETY: the byte is ours.
        let read = unsafe { process_vm::copy(process_vm::Direction::Read, self.pid, &[ours], &[theirs]) };
        read.is_err_and(|error| error.errno == errno::ESRCH)
    }
}
