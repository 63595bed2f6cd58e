//! The standard streams without buffers of ours.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Standard input, of which nothing is taken but what is read. It stays open when this is dropped.
pub fn input() -> impl std::io::Read {
    // SAFETY: it is not closed: `ManuallyDrop` sees to that.
    Unbuffered(ManuallyDrop::new(unsafe { File::from_raw_fd(0) }))
}

struct Unbuffered(ManuallyDrop<File>);

impl std::io::Read for Unbuffered {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}
