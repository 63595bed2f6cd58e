//! What moves bytes to and from one file.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::layout::Layout;
use crate::memory::AccessMemory;

/// A file that is open. Calls may do less than is asked for, as the system's do: [`read()`] and [`write()`] do the rest.
pub trait Backend: Send + Sync {
    /// Read to `into` from `offset` on: how many bytes; none at the end of the file. May block as long as the device takes.
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Write `from` at `offset`: how many bytes. May block as long as the device takes.
    fn write(&self, from: &[u8], offset: u64) -> io::Result<usize>;

    /// As [`Self::read`], to several places of memory, one after the other.
    fn read_list(&self, into: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<usize> {
        into.iter_mut()
            .find(|place| !place.is_empty())
            .map_or(Ok(0), |place| self.read(place, offset))
    }

    /// As [`Self::write`], from several places of memory, one after the other.
    fn write_list(&self, from: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        from.iter()
            .find(|place| !place.is_empty())
            .map_or(Ok(0), |place| self.write(place, offset))
    }

    /// Its length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Cut it, or have it end in zeros, at `size`.
    fn resize(&self, size: u64) -> io::Result<()>;

    /// Have room for its first `size` bytes; it becomes as long as that.
    fn allocate(&self, size: u64) -> io::Result<()>;

    /// Bring what was written to the device.
    fn sync(&self) -> io::Result<()>;

    /// Learn of errors of earlier writes, as far as `close` tells them: file systems on a network write when a descriptor is closed.
    fn flush(&self) -> io::Result<()>;

    /// Try to keep all others, of this process or another, from these bytes: those who write if `exclusive` is false, else all who
    /// lock. `EAGAIN`: somebody has locked them. Does not block.
    fn try_lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()>;

    /// Which process keeps this one from locking these bytes? Asked when [`Self::try_lock`] has failed.
    fn holder(&self, range: Range<u64>, exclusive: bool) -> io::Result<Holder>;

    /// Let others.
    fn unlock(&self, range: Range<u64>) -> io::Result<()>;

    /// Where its parts are.
    fn layout(&self) -> Layout {
        Layout::default()
    }

    /// Its name, for messages that have no other.
    fn name(&self) -> String;

    /// Is this name still this file's, and no other's that somebody has put there?
    ///
    /// # Errors
    /// `ENOENT`: there is no file of that name.
    fn is_called(&self, path: &Path) -> io::Result<bool>;

    /// Was it opened to be read from, too? If not, no window of it can be read to be written back.
    fn is_readable(&self) -> bool {
        true
    }

    /// May other nodes see it, so that what they read can be old unless the bytes are locked (NFS)?
    fn is_cached_elsewhere(&self) -> bool {
        false
    }

    /// Can it not seek, so that bytes go where the last ones ended? Those who access it take turns.
    fn is_stream(&self) -> bool {
        false
    }
}

/// The owner of a lock on bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process, with locks that last as long as it likes (`fcntl`, `F_SETLK`), as editors and databases have them.
    Process(i32),
    /// An open file: a rank of this job or of another, for one access.
    OpenFile,
    /// Nothing any more.
    Nothing,
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

/// Places that one call of the system takes (`IOV_MAX`).
const MOST_PLACES: usize = 1024;

/// Read bytes `from..to` of a listed memory, or as many as there are before the end of the file: how many.
pub fn read_listed(file: &dyn Backend, memory: &AccessMemory, from: u64, to: u64, offset: u64) -> Result<u64> {
    let mut done = 0;
    while from + done < to {
        let mut list = memory.list_mut(from + done, to, MOST_PLACES);
        match whole("preadv", || file.read_list(&mut list, offset + done))? {
            0 => break,
            bytes => done += bytes as u64,
        }
    }
    Ok(done)
}

/// Write bytes `from..to` of a listed memory.
pub fn write_listed(file: &dyn Backend, memory: &AccessMemory, from: u64, to: u64, offset: u64) -> Result<()> {
    let mut done = 0;
    while from + done < to {
        let list = memory.list(from + done, to, MOST_PLACES);
        match whole("pwritev", || file.write_list(&list, offset + done))? {
            0 => {
                return Err(Failure {
                    call: "pwritev",
                    errno: libc::ENOSPC,
                });
            }
            bytes => done += bytes as u64,
        }
    }
    Ok(())
}

/// The call that fails if a file that is to be removed has lost its name to another one.
pub const REPLACED: &str = "unlink: another file has its name by now, and stays";

/// Remove a file by its name, unless somebody has put another one there.
pub fn remove(file: &dyn Backend, path: &Path) -> Result<()> {
    match whole("unlink", || file.is_called(path))? {
        true => whole("unlink", || std::fs::remove_file(path)),
        false => Err(Failure {
            call: REPLACED,
            errno: libc::ENOENT,
        }),
    }
}

/// Bytes that are locked, until this is dropped.
pub struct Lock<'a> {
    file: &'a dyn Backend,
    range: Range<u64>,
}

/// As long as this a lock is waited for before it is looked at more closely.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The call that fails if a process holds a lock for too long.
pub const LOCKED: &str =
    "fcntl(F_OFD_SETLK): a process that is none of MPI's has had these bytes locked for half a minute";

impl<'a> Lock<'a> {
    /// Lock bytes against others. Blocks while another open file has them locked, because such a lock ends with an access: a line says so each half
    /// minute. A process that has locked them by itself is waited for half a minute.
    ///
    /// # Errors
    /// `EAGAIN`: a process has held them all the time. `ENOLCK`, `EOPNOTSUPP`: the file system has no locks.
    pub fn take(file: &'a dyn Backend, range: Range<u64>, exclusive: bool) -> Result<Self> {
        Self::take_after(file, range, exclusive, LOCK_TIMEOUT)
    }

    fn take_after(file: &'a dyn Backend, range: Range<u64>, exclusive: bool, timeout: Duration) -> Result<Self> {
        let (mut since, mut pause) = (None, 0);
        loop {
            match file.try_lock(range.clone(), exclusive) {
                Ok(()) => return Ok(Self { file, range }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if since.get_or_insert_with(Instant::now).elapsed() >= timeout {
                        since = None;
                        look_closer(file, &range, exclusive)?;
                    }
                    // Most are held for microseconds.
                    match pause {
                        0..64 => std::thread::yield_now(),
                        _ => std::thread::sleep(Duration::from_millis(1)),
                    }
                    pause += 1;
                }
                Err(error) => return Err(Failure::new("fcntl(F_OFD_SETLK)", &error)),
            }
        }
    }
}

/// A lock has been waited for: say why it is waited for still, or fail.
#[cold]
fn look_closer(file: &dyn Backend, range: &Range<u64>, exclusive: bool) -> Result<()> {
    let name = file.name();
    let bytes = format!("bytes {} to {} of {name}", range.start, range.end);
    match whole("fcntl(F_OFD_GETLK)", || file.holder(range.clone(), exclusive))? {
        Holder::Nothing => {}
        Holder::OpenFile => isthmus_os::process::say(&format!(
            "isthmus: an access waits for {bytes}, which another rank or another MPI job has locked for half a minute; it waits on"
        )),
        Holder::Process(pid) => {
            isthmus_os::process::say(&format!(
                "isthmus: an access to {bytes} fails, since process {pid} has had them locked for half a minute"
            ));
            return Err(Failure {
                call: LOCKED,
                errno: libc::EAGAIN,
            });
        }
    }
    Ok(())
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // The locks of a descriptor end with it at the latest.
        let _ = self.file.unlock(self.range.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::posix::{Create, How, Posix};

    const NEW: How = How {
        read: true,
        write: true,
        create: Create::Missing,
        mode: 0o600,
    };

    #[test]
    fn locks_of_open_files_are_waited_for_and_those_of_processes_named() {
        let path = std::env::temp_dir().join(format!("isthmus-io-{}-wait", std::process::id()));
        let (one, other) = (
            Posix::open(&path, NEW).expect("a file"),
            Posix::open(&path, NEW).expect("a file"),
        );
        let held = Lock::take(&one, 0..10, true).expect("free");
        assert_eq!(other.holder(0..10, true).expect("asked"), Holder::OpenFile);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Lock::take_after(&other, 5..6, true, Duration::from_millis(1)).map(drop));
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            assert_eq!(waits.join().expect("no panic"), Ok(()));
        });
        let foreign = OpenOptions::new().write(true).open(&path).expect("there");
        // SAFETY: a structure of numbers, for which zeros are values: the whole file.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        // SAFETY: the descriptor is open, and the structure lives during the call.
        let done = unsafe { libc::fcntl(foreign.as_raw_fd(), libc::F_SETLK, &raw const lock) };
        assert_eq!(done, 0);
        let process = Holder::Process(std::process::id().cast_signed());
        assert_eq!(other.holder(0..10, true).expect("asked"), process);
        let refused = Lock::take_after(&other, 0..10, true, Duration::from_millis(1))
            .map(drop)
            .expect_err("locked");
        assert_eq!((refused.call, refused.errno), (LOCKED, libc::EAGAIN));
        std::fs::remove_file(path).expect("made above");
    }
}
