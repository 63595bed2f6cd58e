//! Mapping a memfd.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};
use crate::huge;

/// A shared, readable and writable mapping; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is plain memory; the structures inside define which thread may touch which bytes.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Map the first `length` bytes of `fd`. The mapping may reach beyond the end of the file: those addresses become
    /// good when the file grows.
    pub fn shared(fd: &OwnedFd, length: usize) -> Result<Self> {
        Self::shared_near(fd, length, 0)
    }

    /// As [`shared`](Self::shared), at the address `hint`, which is a multiple of the page size, if nothing is there.
    pub fn shared_near(fd: &OwnedFd, length: usize, hint: usize) -> Result<Self> {
        // SAFETY: a new mapping touches nothing that exists: the kernel goes elsewhere if the hint is no good.
        let base = unsafe {
            libc::mmap(
                std::ptr::without_provenance_mut(hint),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Error::last("mmap"));
        }
        let base = NonNull::new(base.cast()).ok_or(Error {
            call: "mmap",
            errno: libc::ENOMEM,
        })?;
        Ok(Self { base, length })
    }

    /// A core dump does not hold this mapping: it is mostly holes, and writing them out takes long.
    pub fn keep_from_core_dumps(&self) -> bool {
        // SAFETY: the range is ours.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.length, libc::MADV_DONTDUMP) == 0 }
    }

    /// Some pages of it are a user's: they are in core dumps, and children made by `fork` share them, whatever holds for
    /// the rest.
    pub fn lend(&self, offset: usize, length: usize) -> bool {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is within ours; the advice changes no byte of it.
        unsafe {
            let first = self.base.as_ptr().add(offset).cast();
            libc::madvise(first, length, libc::MADV_DODUMP) == 0 && libc::madvise(first, length, libc::MADV_DOFORK) == 0
        }
    }

    /// Make pages present that will be written soon, rather than one by one when they are. A kernel that cannot leaves it
    /// at that.
    pub fn populate(&self, offset: usize, length: usize) {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is within ours; the advice changes no byte of it.
        unsafe {
            let first = self.base.as_ptr().add(offset).cast();
            libc::madvise(first, length, libc::MADV_POPULATE_WRITE);
        }
    }

    /// Let these pages, whole huge ones, be huge ones when the kernel next can, if its settings allow; `now`: have it make them at once,
    /// whatever these say. False: it does not.
    pub fn prefer_huge(&self, offset: usize, length: usize, now: bool) -> bool {
        /// Since Linux 6.1.
        const MADV_COLLAPSE: libc::c_int = 25;
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is within ours; the advice changes no byte of it.
        unsafe {
            let first = self.base.as_ptr().add(offset);
            if libc::madvise(first.cast(), length, libc::MADV_HUGEPAGE) != 0 {
                return false;
            }
            if !now {
                return true;
            }
            // It makes none where there is no memory at all.
            for at in (0..length).step_by(huge::BYTES as usize) {
                AtomicU8::from_ptr(first.add(at)).load(Ordering::Relaxed);
            }
            libc::madvise(first.cast(), length, MADV_COLLAPSE) == 0
        }
    }

    /// Let whole pages of it be accessible, or not. False: the kernel does not want it.
    pub fn open(&self, offset: usize, length: usize, open: bool) -> bool {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        let rights = if open {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_NONE
        };
        // SAFETY: the range is within ours; that nobody uses what is closed is the caller's business, and a fault if not.
        unsafe { libc::mprotect(self.base.as_ptr().add(offset).cast(), length, rights) == 0 }
    }

    /// First byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True for a mapping of no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// In children made by `fork`, this mapping does not exist.
    pub fn keep_from_children(&self) -> bool {
        // SAFETY: the range is ours.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.length, libc::MADV_DONTFORK) == 0 }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours and nobody can hold a reference: they borrow from self.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Keep `length` bytes of addresses from `address` on for the caller, without memory and without access. False: they are not all
/// free here, or the kernel does not want it.
pub fn reserve_addresses(address: NonNull<u8>, length: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: with this flag a mapping replaces nothing that exists.
    let got = unsafe { libc::mmap(address.as_ptr().cast(), length, libc::PROT_NONE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return false;
    }
    if got.cast() == address.as_ptr() {
        return true;
    }
    // Kernels before 4.17 take the address as a hint.
    // SAFETY: the mapping is new and ours.
    unsafe { libc::munmap(got, length) };
    false
}

/// Give back what [`reserve_addresses`] kept.
///
/// # Safety
/// The range must have been kept by the caller, and nobody may use it.
pub unsafe fn release_addresses(address: NonNull<u8>, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(address.as_ptr().cast(), length) };
}

/// Map part of `fd`, readable and writable, at `address`, in place of whatever is there.
///
/// # Safety
/// Memory that is there now must be the caller's, and unused.
pub unsafe fn shared_at(fd: &OwnedFd, offset: u64, length: usize, address: NonNull<u8>) -> Result<()> {
    // SAFETY: the caller's promise.
    let got = unsafe {
        libc::mmap(
            address.as_ptr().cast(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED,
            fd.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if got == libc::MAP_FAILED {
        return Err(Error::last("mmap"));
    }
    Ok(())
}

/// Make the pages of private memory present, as writing to each would. A kernel that cannot leaves it at that.
pub fn populate(memory: &mut [std::mem::MaybeUninit<u8>]) {
    const PAGE: usize = 4096;
    let first = memory.as_mut_ptr().addr().next_multiple_of(PAGE) - memory.as_mut_ptr().addr();
    if let Some(pages) = memory.get_mut(first..).filter(|pages| pages.len() >= PAGE) {
        let length = pages.len() / PAGE * PAGE;
        // SAFETY: the pages lie within memory that is the caller's alone; the advice changes no byte of it.
        unsafe { libc::madvise(pages.as_mut_ptr().cast(), length, libc::MADV_POPULATE_WRITE) };
    }
}

/// Is there memory at all of these addresses, of whatever kind? A system call.
pub fn is_mapped(address: usize, length: usize) -> bool {
    const PAGE: usize = 4096;
    let start = address / PAGE * PAGE;
    let at = std::ptr::without_provenance_mut(start);
    // SAFETY: it changes nothing; of addresses where nothing is it says so.
    unsafe { libc::msync(at, address - start + length, libc::MS_ASYNC) == 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_mapped_and_what_is_not() {
        let here = 0u8;
        assert!(super::is_mapped((&raw const here).addr(), 1));
        assert!(!super::is_mapped(4096, 4096));
    }
}
