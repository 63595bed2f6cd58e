//! Copying straight from and to another process's memory (Cross Memory Attach, `process_vm_readv(2)`).

use crate::error::{Result, check_size};

/// One call moves at most this many bytes (the kernel's `MAX_RW_COUNT`).
pub const MAX_BYTES: usize = 0x7fff_f000;

/// Copy up to `length` bytes from `remote` in process `pid` to `local`. Returns how many bytes were copied, which may
/// be fewer: the kernel stops at the first page it cannot read. Does not wait for the other process.
///
/// # Safety
/// `local` must be writable for `length` bytes.
pub unsafe fn read(pid: u32, remote: u64, local: *mut u8, length: usize) -> Result<usize> {
    let length = length.min(MAX_BYTES);
    let to = libc::iovec {
        iov_base: local.cast(),
        iov_len: length,
    };
    let from = libc::iovec {
        iov_base: remote as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: the caller vouches for `local`; the kernel checks `remote` against the other process.
    check_size("process_vm_readv", unsafe {
        libc::process_vm_readv(pid as libc::pid_t, &to, 1, &from, 1, 0)
    })
}
