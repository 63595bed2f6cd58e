//! The completion queue, and what somebody sleeps on who waits for completions.
//!
//! A queue that is asked for with a descriptor of its own (`FI_WAIT_FD`) is made ready for a sleep by `fi_trywait`. The code of TCP in
//! libfabric 1.17 (provider `net`) and 1.18.0 (provider `tcp`) does nothing there: after the first completion the descriptor stays
//! readable for good, and nobody sleeps any more (mended in 1.18.2: <https://github.com/ofiwg/libfabric/commit/9057c4c95>). There the
//! queue gets a wait set, which takes the signal back when it is asked without a time to wait.

use std::os::fd::RawFd;
use std::ptr::NonNull;

use crate::Result;
use crate::abi::{self, Cq, CqAttr, Domain, Fabric, Fid, Wait, WaitAttr};
use crate::library::Library;

/// A queue, and what tells of it.
#[derive(Debug)]
pub(crate) struct Queue {
    fabric: NonNull<Fabric>,
    pub cq: NonNull<Cq>,
    set: Option<NonNull<Wait>>,
    /// What can be read when something has come. `None`: the provider has nothing of the kind.
    pub descriptor: Option<RawFd>,
}

impl Queue {
    /// Open one. `needs_set`: its `fi_trywait` does nothing.
    ///
    /// # Errors
    /// If the provider refuses it.
    ///
    /// # Safety
    /// The fabric and its domain must live until [`Self::close`].
    pub unsafe fn open(
        library: &Library,
        fabric: NonNull<Fabric>,
        domain: *mut Domain,
        needs_set: bool,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let set = unsafe { if needs_set { open_set(fabric.as_ptr()) } else { None } };
        let of_set = set.map_or(std::ptr::null_mut(), |set| set.as_ptr().cast());
        let first = if needs_set { abi::WAIT_SET } else { abi::WAIT_FD };
        let mut code = -1;
        let mut cq = std::ptr::null_mut();
        for wait_obj in [first, abi::WAIT_NONE] {
            if wait_obj == abi::WAIT_SET && set.is_none() {
                continue;
            }
            // SAFETY: numbers and pointers, for which zero is a value.
            let mut attr: CqAttr = unsafe { std::mem::zeroed() };
            attr.format = abi::CQ_FORMAT_MSG;
            attr.wait_obj = wait_obj;
            attr.wait_set = if wait_obj == abi::WAIT_SET {
                of_set
            } else {
                std::ptr::null_mut()
            };
            // SAFETY: the caller's promise.
            code = unsafe { ((*(*domain).ops).cq_open)(domain, &raw mut attr, &raw mut cq, std::ptr::null_mut()) };
            if code == 0 && wait_obj != abi::WAIT_NONE {
                let waits_on: *mut Fid = if set.is_some() { of_set.cast() } else { cq.cast() };
                return Ok(Self {
                    fabric,
                    // SAFETY: just made.
                    cq: unsafe { NonNull::new_unchecked(cq) },
                    set,
                    // SAFETY: just made, and asked for a descriptor.
                    descriptor: unsafe { descriptor_of(waits_on) },
                });
            }
            if code == 0 {
                break;
            }
        }
        library.check("fi_cq_open", code)?;
        Ok(Self {
            fabric,
            // SAFETY: just made.
            cq: unsafe { NonNull::new_unchecked(cq) },
            set,
            descriptor: None,
        })
    }

    /// May somebody sleep until the descriptor is readable? False: there may be something to read.
    pub fn may_sleep(&self) -> bool {
        // SAFETY: the objects live, by the promise of `open`.
        unsafe {
            if let Some(set) = self.set {
                let set = set.as_ptr();
                return ((*(*set).ops).wait)(set, 0) == -abi::ETIMEDOUT;
            }
            let mut fid: *mut Fid = self.cq.as_ptr().cast();
            let fabric = self.fabric.as_ptr();
            ((*(*fabric).ops).trywait)(fabric, &raw mut fid, 1) == 0
        }
    }

    /// Close it, once nothing uses it any more.
    ///
    /// # Safety
    /// Once, after the endpoints that are bound to it.
    pub unsafe fn close(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            let cq: *mut Fid = self.cq.as_ptr().cast();
            ((*(*cq).ops).close)(cq);
            if let Some(set) = self.set.take() {
                let set: *mut Fid = set.as_ptr().cast();
                ((*(*set).ops).close)(set);
            }
        }
    }
}

/// A wait set with a descriptor, if the provider has such.
///
/// # Safety
/// The fabric must live.
unsafe fn open_set(fabric: *mut Fabric) -> Option<NonNull<Wait>> {
    let mut attr = WaitAttr {
        wait_obj: abi::WAIT_FD,
        flags: 0,
    };
    let mut set = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    let code = unsafe { ((*(*fabric).ops).wait_open)(fabric, &raw mut attr, &raw mut set) };
    NonNull::new(set).filter(|_| code == 0)
}

/// # Safety
/// A queue or a wait set, which must live.
unsafe fn descriptor_of(fid: *mut Fid) -> Option<RawFd> {
    let mut fd: RawFd = -1;
    // SAFETY: the caller's promise; the answer is one descriptor.
    let code = unsafe { ((*(*fid).ops).control)(fid, abi::GETWAIT, (&raw mut fd).cast()) };
    (code == 0 && fd >= 0).then_some(fd)
}
