//! Memory without a name in any file system (`memfd_create(2)`).

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Result, check};
use crate::signal;

/// New, empty, close-on-exec; can grow, never shrink (so a mapped page never goes away below somebody's feet).
pub fn create(name: &CStr) -> Result<OwnedFd> {
    create_with(name, 0)
}

/// As [`create`], of huge pages of the usual size ([`crate::huge::BYTES`]) from the machine's pool. Offsets and lengths are whole ones. The
/// pool is not asked before [`reserve`]; touching a page that is not reserved is a SIGBUS where the pool is empty.
pub fn create_huge(name: &CStr) -> Result<OwnedFd> {
    create_with(name, libc::MFD_HUGETLB | libc::MFD_HUGE_2MB)
}

fn create_with(name: &CStr, flags: libc::c_uint) -> Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let fd = check("memfd_create", unsafe {
        libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | flags)
    })?;
    // SAFETY: the descriptor is new and ours.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: fcntl on our own descriptor.
    check("fcntl(F_ADD_SEALS)", unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK)
    })?;
    Ok(fd)
}

/// Back `[offset, offset + length)` with memory now, growing the file as needed, so that touching it later cannot
/// fail: a full machine is an error here, never a SIGBUS there. Beyond the limit on files (`ulimit -f`) the file does not
/// grow (`EFBIG`).
pub fn reserve(fd: &OwnedFd, offset: u64, length: u64) -> Result<()> {
    loop {
        // SAFETY: fallocate on an open descriptor.
        let result = signal::without(libc::SIGXFSZ, || unsafe {
            let result = libc::fallocate(fd.as_raw_fd(), 0, offset as libc::off_t, length as libc::off_t);
            check("fallocate", result)
        });
        match result {
            Err(error) if error.errno == libc::EINTR => {}
            other => return other.map(drop),
        }
    }
}

/// Let the file be `length` bytes long, of which what is not reserved costs nothing: then [`reserve`] need not make it grow,
/// and works whatever the caller's limit on files. Fails (`EFBIG`) if our own limit, hard or soft, is lower.
pub fn extend(fd: &OwnedFd, length: u64) -> Result<()> {
    // SAFETY: ftruncate on an open descriptor.
    let result = signal::without(libc::SIGXFSZ, || unsafe {
        let result = libc::ftruncate(fd.as_raw_fd(), length as libc::off_t);
        check("ftruncate", result)
    });
    result.map(drop)
}

/// Give the memory behind `[offset, offset + length)`, whole pages, back to the machine. The bytes read as zeros; writing
/// to them takes memory again, without asking. The file does not become shorter.
pub fn punch(fd: &OwnedFd, offset: u64, length: u64) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: fallocate on an open descriptor.
    let result = unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as libc::off_t, length as libc::off_t) };
    check("fallocate(FALLOC_FL_PUNCH_HOLE)", result).map(drop)
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

fn status(fd: &OwnedFd) -> Result<libc::stat> {
    // SAFETY: an all-zero stat is a valid out parameter.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is ours.
    check("fstat", unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) })?;
    Ok(stat)
}
