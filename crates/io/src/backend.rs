//! What moves bytes to and from one file.

use std::io;
use std::ops::Range;

use crate::failure::{Failure, Result};

/// A file that is open. Calls may do less than is asked for, as the system's do: [`read()`] and [`write()`] do the rest.
pub trait Backend: Send + Sync {
    /// Read to `into` from `offset` on: how many bytes; none at the end of the file. May block as long as the device takes.
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Write `from` at `offset`: how many bytes. May block as long as the device takes.
    fn write(&self, from: &[u8], offset: u64) -> io::Result<usize>;

    /// Its length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Cut it, or have it end in zeros, at `size`.
    fn resize(&self, size: u64) -> io::Result<()>;

    /// Have room for its first `size` bytes; it becomes as long as that.
    fn allocate(&self, size: u64) -> io::Result<()>;

    /// Bring what was written to the device.
    fn sync(&self) -> io::Result<()>;

    /// Try to keep all others, of this process or another, from these bytes: those who write if `exclusive` is false, else all who
    /// lock. `EAGAIN`: somebody has locked them. Does not block.
    fn try_lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()>;

    /// Let others.
    fn unlock(&self, range: Range<u64>) -> io::Result<()>;

    /// Was it opened to be read from, too? If not, no window of it can be read to be written back.
    fn is_readable(&self) -> bool {
        true
    }

    /// May other nodes see it, so that what they read can be old unless the bytes are locked (NFS)?
    fn is_cached_elsewhere(&self) -> bool {
        false
    }
}

/// Do what the system's `call` does, as often as it is interrupted. Blocks as long as the device takes.
pub fn whole<T>(call: &'static str, mut act: impl FnMut() -> io::Result<T>) -> Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done.map_err(|error| Failure::new(call, &error)),
        }
    }
}

/// Read all of `into`, or as much as there is before the end of the file: how many bytes.
pub fn read(file: &dyn Backend, into: &mut [u8], offset: u64) -> Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match whole("pread", || file.read(&mut into[done..], offset + done as u64))? {
            0 => break,
            bytes => done += bytes,
        }
    }
    Ok(done)
}

/// Write all of `from`.
pub fn write(file: &dyn Backend, from: &[u8], offset: u64) -> Result<()> {
    let mut done = 0;
    while done < from.len() {
        match whole("pwrite", || file.write(&from[done..], offset + done as u64))? {
            // The system gives no reason: the device takes nothing more.
            0 => {
                return Err(Failure {
                    call: "pwrite",
                    errno: libc::ENOSPC,
                });
            }
            bytes => done += bytes,
        }
    }
    Ok(())
}

/// Bytes that are locked, until this is dropped.
pub struct Lock<'a> {
    file: &'a dyn Backend,
    range: Range<u64>,
}

/// As long as this, in milliseconds, a lock of others is waited for: members of a job hold one for an access each.
const LONGEST: u64 = 30_000;

impl<'a> Lock<'a> {
    /// Lock bytes against others; blocks while they have them locked, at most for half a minute.
    ///
    /// # Errors
    /// `EAGAIN`: others have held them all the time. `ENOLCK`, `EOPNOTSUPP`: the file system has no locks.
    pub fn take(file: &'a dyn Backend, range: Range<u64>, exclusive: bool) -> Result<Self> {
        let (mut waited, mut pause) = (0, 0);
        loop {
            match file.try_lock(range.clone(), exclusive) {
                Ok(()) => return Ok(Self { file, range }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && waited < LONGEST => {
                    // Most are held for microseconds.
                    match pause {
                        0..64 => std::thread::yield_now(),
                        _ => {
                            std::thread::sleep(std::time::Duration::from_millis(1));
                            waited += 1;
                        }
                    }
                    pause += 1;
                }
                Err(error) => return Err(Failure::new("fcntl(F_OFD_SETLK)", &error)),
            }
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // The locks of a descriptor end with it at the latest.
        let _ = self.file.unlock(self.range.clone());
    }
}
