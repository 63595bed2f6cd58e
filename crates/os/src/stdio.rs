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
