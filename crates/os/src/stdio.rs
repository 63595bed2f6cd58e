//! The standard streams without buffers of ours.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};

/// Standard input, of which nothing is taken but what is read. It stays open when this is dropped.
pub fn input() -> impl std::io::Read {
    Unbuffered::of(0)
}

/// Standard output, to which each write is one of the kernel's. It stays open when this is dropped.
pub fn output() -> impl std::io::Write {
    Unbuffered::of(1)
}

/// Standard error, likewise.
pub fn errors() -> impl std::io::Write {
    Unbuffered::of(2)
}

/// Is standard output a pipe or a socket?
pub fn output_can_lose_its_reader() -> bool {
    // SAFETY: an all-zero value is a valid out parameter, which has room for the answer.
    let mut file: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let is_known = unsafe { libc::fstat(1, &raw mut file) == 0 };
    is_known && matches!(file.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK)
}

/// Is standard output a pipe that nobody can read any more, or a socket that is closed at its other end? Does not block.
pub fn output_has_no_reader() -> bool {
    let mut polled = libc::pollfd {
        fd: 1,
        events: 0,
        revents: 0,
    };
    // SAFETY: one valid element.
    let ready = unsafe { libc::poll(&raw mut polled, 1, 0) };
    ready == 1 && polled.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

/// The length of standard output, if it is a file; 0 otherwise.
pub fn output_length() -> u64 {
    // SAFETY: an all-zero value is a valid out parameter, which has room for the answer.
    let mut file: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let is_known = unsafe { libc::fstat(1, &raw mut file) == 0 };
    match is_known && file.st_mode & libc::S_IFMT == libc::S_IFREG {
        true => file.st_size as u64,
        false => 0,
    }
}

/// Is output lost, of this process or of others that write to the same standard output? True if its device refuses all (`/dev/full`), or if it
/// is a file that has grown beyond this length and ends with a whole block, on a file system without a free one. False where that cannot be told.
/// Writes nothing.
pub fn output_is_full(began_with: u64) -> bool {
    // SAFETY: all-zero values are valid out parameters of both calls.
    let (mut file, mut system): (libc::stat, libc::statvfs) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: each has room for its answer.
    if unsafe { libc::fstat(1, &raw mut file) != 0 || libc::fstatvfs(1, &raw mut system) != 0 } {
        return false;
    }
    match file.st_mode & libc::S_IFMT {
        // SAFETY: nothing is read from the pointer.
        libc::S_IFCHR => unsafe {
            libc::write(1, std::ptr::null(), 0) == -1 && *libc::__errno_location() == libc::ENOSPC
        },
        libc::S_IFREG => {
            // SAFETY: always.
            let free = match unsafe { libc::geteuid() } {
                0 => system.f_bfree,
                _ => system.f_bavail,
            };
            let has_grown = file.st_size as u64 > began_with;
            has_grown && free == 0 && system.f_blocks > 0 && file.st_size % file.st_blksize.max(1) == 0
        }
        _ => false,
    }
}

unsafe extern "C" {
    // C standard library, and glibc's <stdio_ext.h>.
    static stdout: *mut libc::FILE;
    fn __fbufsize(stream: *mut libc::FILE) -> libc::size_t;
}

/// Let C write its standard output line by line, as on a terminal, unless it has a buffer already. To be called before the program can use it.
pub fn write_c_output_by_lines() {
    const IOLBF: libc::c_int = 1;
    // SAFETY: C's own stream, in its own process, before anything is written to it.
    unsafe {
        if !stdout.is_null() && __fbufsize(stdout) == 0 {
            libc::setvbuf(stdout, std::ptr::null_mut(), IOLBF, 0);
        }
    }
}

struct Unbuffered(ManuallyDrop<File>);

impl Unbuffered {
    fn of(fd: RawFd) -> Self {
        // SAFETY: it is not closed: `ManuallyDrop` sees to that.
        Self(ManuallyDrop::new(unsafe { File::from_raw_fd(fd) }))
    }
}

impl std::io::Read for Unbuffered {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl std::io::Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
