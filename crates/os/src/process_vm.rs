//! Copying straight from and to another process's memory (Cross Memory Attach, `process_vm_readv(2)`).
//!
//! Both calls name the other process by its id alone: that the id still is who it was is the caller's business. Both
//! treat each list of spans as one stream of bytes, and stop at the first byte that cannot be copied: what they return
//! is exactly how much of the stream was copied before it.

use crate::error::{Result, check_size};

/// One call moves at most this many bytes (the kernel's `MAX_RW_COUNT`).
pub const MAX_BYTES: u64 = 0x7fff_f000;

/// One call takes at most this many spans on either side (the kernel's `UIO_MAXIOV`).
pub const MAX_SPANS: usize = 1024;

/// Bytes in some address space; as the kernel's `struct iovec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// First byte.
    pub address: u64,
    /// How many.
    pub length: u64,
}

const _: () = assert!(size_of::<Span>() == size_of::<libc::iovec>() && align_of::<Span>() == align_of::<libc::iovec>());

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the other process to us (`process_vm_readv`).
    Read,
    /// From us to the other process (`process_vm_writev`).
    Write,
}

impl Direction {
    /// Name of the system call.
    pub fn call(self) -> &'static str {
        match self {
            Self::Read => "process_vm_readv",
            Self::Write => "process_vm_writev",
        }
    }
}

/// Copy between `local` spans of this process and `remote` spans of process `pid`, at most [`MAX_SPANS`] each. Returns
/// how many bytes were copied, which may be fewer than either side holds. Does not wait for the other process.
///
/// # Safety
/// The `local` spans must be readable, and for [`Direction::Read`] writable; in the other process, what is written must
/// be memory that it expects to change.
pub unsafe fn copy(direction: Direction, pid: u32, local: &[Span], remote: &[Span]) -> Result<usize> {
    let call = match direction {
        Direction::Read => libc::process_vm_readv,
        Direction::Write => libc::process_vm_writev,
    };
    // SAFETY: a Span is laid out as an iovec; the caller vouches for what the local ones name, and the kernel checks the
    // remote ones against the other process.
    check_size(direction.call(), unsafe {
        call(
            pid as libc::pid_t,
            local.as_ptr().cast(),
            local.len() as libc::c_ulong,
            remote.as_ptr().cast(),
            remote.len() as libc::c_ulong,
            0,
        )
    })
}

/// Copy up to `length` bytes from `remote` in process `pid` to `local`. Returns how many bytes were copied, which may
/// be fewer: the kernel stops at the first page it cannot read. Does not wait for the other process.
///
/// # Safety
/// `local` must be writable for `length` bytes.
pub unsafe fn read(pid: u32, remote: u64, local: *mut u8, length: usize) -> Result<usize> {
    let length = length as u64;
    let to = Span {
        address: local.expose_provenance() as u64,
        length,
    };
    let from = Span {
        address: remote,
        length,
    };
    // SAFETY: the caller vouches for `local`; nothing is written elsewhere.
    unsafe { copy(Direction::Read, pid, &[to], &[from]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    fn span(bytes: &mut [u8]) -> Span {
        Span {
            address: bytes.as_mut_ptr().expose_provenance() as u64,
            length: bytes.len() as u64,
        }
    }

    #[test]
    fn both_directions_take_lists_that_are_cut_differently() {
        let mut whole: Vec<u8> = (0..100).collect();
        let mut parts = vec![vec![0u8; 30]; 3];
        let list: Vec<Span> = parts.iter_mut().map(|part| span(part)).collect();
        // SAFETY: the spans are our vectors, and the other process is ourselves.
        let read = unsafe { copy(Direction::Read, process::id(), &list, &[span(&mut whole)]) };
        assert_eq!(read, Ok(90), "the shorter side ends it");
        assert_eq!(parts[2][29], 89);
        parts[1].fill(7);
        // SAFETY: as above.
        let written = unsafe { copy(Direction::Write, process::id(), &list, &[span(&mut whole)]) };
        assert_eq!(written, Ok(90));
        assert_eq!((whole[29], whole[30], whole[59], whole[60]), (29, 7, 7, 60));
    }

    #[test]
    fn an_address_that_nobody_has_is_an_error() {
        let mut here = [0u8; 8];
        // SAFETY: `here` is ours.
        let read = unsafe { read(process::id(), 8, here.as_mut_ptr(), 8) };
        assert_eq!(read.map_err(|error| error.errno), Err(libc::EFAULT));
    }
}
