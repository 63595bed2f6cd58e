//! Files that cannot seek: pipes, terminals, sockets. The next bytes follow the last ones; the offset of an access is not used. Ranks that have one open
//! together take turns. A write to a pipe that nobody reads is an error of that write, and no signal.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::Range;
use std::path::Path;

use isthmus_os::signal::without;

use crate::backend::{Backend, Holder};
use crate::posix::Posix;

/// A file of the system's that cannot seek.
#[derive(Debug)]
pub struct Stream(Posix);

impl Stream {
    /// `file`, if it cannot seek; else the file itself.
    pub fn of(file: Posix) -> Result<Self, Posix> {
        if file.is_seekable() { Err(file) } else { Ok(Self(file)) }
    }
}

impl Backend for Stream {
    fn read(&self, into: &mut [u8], _offset: u64) -> io::Result<usize> {
        self.0.file().read(into)
    }

    fn write(&self, from: &[u8], _offset: u64) -> io::Result<usize> {
        without(libc::SIGPIPE, || self.0.file().write(from))
    }

    fn read_list(&self, into: &mut [IoSliceMut<'_>], _offset: u64) -> io::Result<usize> {
        self.0.file().read_vectored(into)
    }

    fn write_list(&self, from: &[IoSlice<'_>], _offset: u64) -> io::Result<usize> {
        without(libc::SIGPIPE, || self.0.file().write_vectored(from))
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.0.resize(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.0.allocate(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    /// There is nothing to lock: accesses take turns.
    fn try_lock(&self, _range: Range<u64>, _exclusive: bool) -> io::Result<()> {
        Ok(())
    }

    fn holder(&self, _range: Range<u64>, _exclusive: bool) -> io::Result<Holder> {
        Ok(Holder::Nothing)
    }

    fn unlock(&self, _range: Range<u64>) -> io::Result<()> {
        Ok(())
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn is_called(&self, path: &Path) -> io::Result<bool> {
        self.0.is_called(path)
    }

    fn is_readable(&self) -> bool {
        self.0.is_readable()
    }

    fn is_stream(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::backend::{read, write};
    use crate::posix::{Create, How};

    #[test]
    fn bytes_go_through_a_pipe_in_order() {
        let path = std::env::temp_dir().join(format!("isthmus-io-{}-stream", std::process::id()));
        let name = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        // SAFETY: a string that ends in a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let open = |read| {
            let how = How {
                read,
                write: !read,
                create: Create::Never,
                mode: 0,
            };
            Stream::of(Posix::open(&path, how).expect("there")).expect("a pipe")
        };
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let pipe = open(false);
                write(&pipe, &[7; 100_000], 0).expect("a reader");
                write(&pipe, b"end", 5).expect("a reader");
            });
            let (pipe, mut bytes) = (open(true), vec![0; 100_010]);
            // Several calls of the system, and the end of the file.
            assert_eq!(read(&pipe, &mut bytes, 3), Ok(100_003));
            assert!(bytes[..100_000].iter().all(|byte| *byte == 7) && &bytes[100_000..100_003] == b"end");
            writer.join().expect("no panic");
        });
        std::fs::remove_file(path).expect("made above");
    }
}
