//! Memory without a name in any file system (`memfd_create(2)`).

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{self, FallocateFlags, MemfdFlags, SealFlags};

use crate::error::{Result, named};
use crate::signal;

/// New, empty, close-on-exec; can grow, never shrink (so a mapped page never goes away below somebody's feet).
pub fn create(name: &CStr) -> Result<OwnedFd> {
    create_with(name, MemfdFlags::empty())
}

/// As [`create`], of huge pages of the usual size ([`crate::huge::BYTES`]) from the machine's pool. Offsets and lengths are whole ones. The
/// pool is not asked before [`reserve`]; touching a page that is not reserved is a SIGBUS where the pool is empty.
pub fn create_huge(name: &CStr) -> Result<OwnedFd> {
    create_with(name, MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB)
}

fn create_with(name: &CStr, flags: MemfdFlags) -> Result<OwnedFd> {
    let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = named("memfd_create", fs::memfd_create(name, flags))?;
    named("fcntl(F_ADD_SEALS)", fs::fcntl_add_seals(&fd, SealFlags::SHRINK))?;
    Ok(fd)
}

/// Back `[offset, offset + length)` with memory now, growing the file as needed, so that touching it later cannot
/// fail: a full machine is an error here, never a SIGBUS there. Beyond the limit on files (`ulimit -f`) the file does not
/// grow (`EFBIG`).
pub fn reserve(fd: &OwnedFd, offset: u64, length: u64) -> Result<()> {
    loop {
        let result = signal::without(libc::SIGXFSZ, || {
            named("fallocate", fs::fallocate(fd, FallocateFlags::empty(), offset, length))
        });
        match result {
            Err(error) if error.errno == libc::EINTR => {}
            other => return other,
        }
    }
}

/// Let the file be `length` bytes long, of which what is not reserved costs nothing: then [`reserve`] need not make it grow,
/// and works whatever the caller's limit on files. Fails (`EFBIG`) if our own limit, hard or soft, is lower.
pub fn extend(fd: &OwnedFd, length: u64) -> Result<()> {
    signal::without(libc::SIGXFSZ, || named("ftruncate", fs::ftruncate(fd, length)))
}

/// Give the memory behind `[offset, offset + length)`, whole pages, back to the machine. The bytes read as zeros; writing
/// to them takes memory again, without asking. The file does not become shorter.
pub fn punch(fd: &OwnedFd, offset: u64, length: u64) -> Result<()> {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    named(
        "fallocate(FALLOC_FL_PUNCH_HOLE)",
        fs::fallocate(fd, mode, offset, length),
    )
}

/// Memory behind the file, in bytes.
pub fn memory(fd: &OwnedFd) -> Result<u64> {
    // In units of 512, whatever the file system's blocks are.
    Ok(status(fd)?.st_blocks as u64 * 512)
}

/// Length of the file in bytes.
pub fn length(fd: &OwnedFd) -> Result<u64> {
    Ok(status(fd)?.st_size as u64)
}

fn status(fd: &OwnedFd) -> Result<fs::Stat> {
    named("fstat", fs::fstat(fd))
}
