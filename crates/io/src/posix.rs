//! The system's own calls.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Seek};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::backend::{Backend, Holder};
use crate::layout::Layout;
use crate::systems::{self, System};

/// A file of the system's.
#[derive(Debug)]
pub struct Posix {
    file: File,
    path: PathBuf,
    layout: Layout,
    system: &'static System,
    is_readable: bool,
    /// Locks of threads of this process: to the system a descriptor's locks are those of one owner.
    held: Mutex<Vec<(Range<u64>, bool)>>,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// To read from it?
    pub read: bool,
    /// To write to it?
    pub write: bool,
    /// Make it, if there is none, or only if there is none.
    pub create: Create,
    /// Permissions of a new one, before the process's mask.
    pub mode: u32,
}

/// What if there is no such file?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// An error.
    Never,
    /// It is made.
    Missing,
    /// It is made, and it is an error if there is one.
    Always,
}

impl Posix {
    /// Open a file. Blocks as long as the system takes.
    pub fn open(path: &Path, how: How) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(how.read).write(how.write).mode(how.mode);
        match how.create {
            Create::Never => {}
            // By hand: the standard library wants it to be opened for writing.
            Create::Missing => _ = options.custom_flags(libc::O_CREAT),
            Create::Always => _ = options.custom_flags(libc::O_CREAT | libc::O_EXCL),
        }
        let file = options.open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::EISDIR));
        }
        let system = system_of(&file);
        let striped = if system.is_striped { stripes(&file) } else { None };
        Ok(Self {
            layout: striped.unwrap_or_else(|| Layout::of_blocks(about.blksize(), system)),
            system,
            is_readable: how.read,
            file,
            path: path.to_owned(),
            held: Mutex::default(),
        })
    }

    /// Can it seek? A pipe and a terminal cannot.
    pub fn is_seekable(&self) -> bool {
        let none = |error: io::Error| error.raw_os_error() == Some(libc::ESPIPE);
        !self.file().stream_position().is_err_and(none)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The locks of this process's threads. A thread that changes them tells the system before another thread looks.
    fn held(&self) -> MutexGuard<'_, Vec<(Range<u64>, bool)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Write zeros from the end of the file on until it has this size.
    fn fill(&self, size: u64) -> io::Result<()> {
        let zeros = [0; 16 << 10];
        let mut end = self.size()?;
        while end < size {
            let step = (size - end).min(zeros.len() as u64) as usize;
            self.file.write_all_at(&zeros[..step], end)?;
            end += step as u64;
        }
        Ok(())
    }

    fn set_lock(&self, range: &Range<u64>, kind: i32) -> io::Result<()> {
        self.lock_call(libc::F_OFD_SETLK, range, kind).map(drop)
    }

    fn lock_call(&self, call: i32, range: &Range<u64>, kind: i32) -> io::Result<libc::flock> {
        // SAFETY: a structure of numbers, for which zeros are values.
        let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = range.start as libc::off_t;
        lock.l_len = (range.end - range.start) as libc::off_t;
        // SAFETY: the descriptor is open, and the structure lives during the call.
        let done = unsafe { libc::fcntl(self.file.as_raw_fd(), call, &raw mut lock) };
        if done < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(lock)
        }
    }
}

/// The parts of a range that no lock of these covers. To the system the locks of a descriptor have one owner: it is told of these parts only, so
/// that what another thread has locked stays locked.
fn uncovered(range: Range<u64>, held: &[(Range<u64>, bool)]) -> Vec<Range<u64>> {
    let mut others: Vec<&Range<u64>> = held.iter().map(|(other, _)| other).collect();
    others.sort_by_key(|other| other.start);
    let mut parts = Vec::new();
    let mut at = range.start;
    for other in others {
        let next = other.start.min(range.end);
        if at < next {
            parts.push(at..next);
        }
        at = at.max(other.end);
    }
    if at < range.end {
        parts.push(at..range.end);
    }
    parts
}

/// How many bytes a call of the system has moved.
fn moved(bytes: isize) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

fn kind_of_lock(exclusive: bool) -> i32 {
    if exclusive { libc::F_WRLCK } else { libc::F_RDLCK }
}

/// The stripes that Lustre's attribute tells of.
fn stripes(file: &File) -> Option<Layout> {
    let mut attribute = [0_u8; 16 << 10];
    let (name, room) = (c"lustre.lov", attribute.len());
    // SAFETY: the descriptor is open, and so many bytes can be written to.
    let got = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), attribute.as_mut_ptr().cast(), room) };
    Layout::of_lustre(attribute.get(..usize::try_from(got).ok()?)?)
}

/// The row of the file system that a file is on.
fn system_of(file: &File) -> &'static System {
    let mut about: MaybeUninit<libc::statfs> = MaybeUninit::uninit();
    // SAFETY: the descriptor is open, and the call fills the structure if it succeeds.
    let done = unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) };
    match done {
        // SAFETY: filled.
        0 => systems::of(unsafe { about.assume_init() }.f_type),
        _ => &systems::OTHER,
    }
}

impl Backend for Posix {
    fn read(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn write(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(from, offset)
    }

    fn read_list(&self, into: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<usize> {
        let (list, places, offset) = (into.as_ptr().cast(), into.len() as libc::c_int, offset as libc::off_t);
        // SAFETY: the descriptor is open; an `IoSliceMut` has the layout of an `iovec`, and its bytes can be written to.
        moved(unsafe { libc::preadv(self.file.as_raw_fd(), list, places, offset) })
    }

    fn write_list(&self, from: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let (list, places, offset) = (from.as_ptr().cast(), from.len() as libc::c_int, offset as libc::off_t);
        // SAFETY: the descriptor is open; an `IoSlice` has the layout of an `iovec`, and its bytes can be read.
        moved(unsafe { libc::pwritev(self.file.as_raw_fd(), list, places, offset) })
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        // SAFETY: the descriptor is open.
        let done = unsafe { libc::fallocate(self.file.as_raw_fd(), 0, 0, size as libc::off_t) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // A file system that cannot: it has room for what is written.
            Some(libc::EOPNOTSUPP) => self.fill(size),
            _ => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.file.sync_all() {
            // A pipe has no device behind it to bring anything to.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            other => other,
        }
    }

    fn flush(&self) -> io::Result<()> {
        let copy = self.file.try_clone()?.into_raw_fd();
        // SAFETY: the descriptor is ours, and nothing uses it after this.
        match unsafe { libc::close(copy) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn try_lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let mut held = self.held();
        let meets = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        if held.iter().any(|(other, alone)| (exclusive || *alone) && meets(other)) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.set_lock(&range, kind_of_lock(exclusive))?;
        held.push((range, exclusive));
        Ok(())
    }

    fn holder(&self, range: Range<u64>, exclusive: bool) -> io::Result<Holder> {
        let found = self.lock_call(libc::F_OFD_GETLK, &range, kind_of_lock(exclusive))?;
        if i32::from(found.l_type) == libc::F_UNLCK {
            // If it is another thread's of this process, that has this file open.
            let is_held = !self.held().is_empty();
            return Ok(if is_held { Holder::OpenFile } else { Holder::Nothing });
        }
        // A lock of an open file has no process.
        Ok(match found.l_pid {
            pid @ 1.. => Holder::Process(pid),
            _ => Holder::OpenFile,
        })
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn unlock(&self, range: Range<u64>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let mut held = self.held();
        if let Some(at) = held.iter().position(|(other, _)| *other == range) {
            held.swap_remove(at);
        }
        let mut done = Ok(());
        for part in uncovered(range, &held) {
            done = done.and(self.set_lock(&part, libc::F_UNLCK));
        }
        done
    }

    fn is_readable(&self) -> bool {
        self.is_readable
    }

    fn is_cached_elsewhere(&self) -> bool {
        self.system.is_cached_elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Lock, read, write};

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("isthmus-io-{}-{name}", std::process::id()))
    }

    const NEW: How = How {
        read: true,
        write: true,
        create: Create::Missing,
        mode: 0o666,
    };

    #[test]
    fn bytes_come_back() {
        let path = scratch("bytes");
        let file = Posix::open(&path, NEW).expect("a file");
        write(&file, b"isthmus", 3).expect("room");
        let mut back = [1; 12];
        assert_eq!(read(&file, &mut back, 0), Ok(10));
        assert_eq!(&back[..10], b"\0\0\0isthmus");
        file.allocate(20).expect("room");
        assert_eq!(file.size().expect("open"), 20);
        file.resize(4).expect("open");
        assert_eq!(read(&file, &mut back, 2), Ok(2));
        std::fs::remove_file(path).expect("made above");
    }

    #[test]
    fn locks_keep_other_descriptors_and_other_threads_away() {
        let path = scratch("locks");
        let one = Posix::open(&path, NEW).expect("a file");
        let other = Posix::open(&path, NEW).expect("a file");
        let held = Lock::take(&one, 0..10, true).expect("free");
        assert!(other.try_lock(5..6, false).is_err() && one.try_lock(5..6, false).is_err());
        other.try_lock(10..20, true).expect("beside it");
        drop(held);
        other.try_lock(5..6, true).expect("free again");
        std::fs::remove_file(path).expect("made above");
    }

    #[test]
    fn locks_of_threads_that_overlap_end_each_with_its_own_part() {
        let path = scratch("overlap");
        let one = Posix::open(&path, NEW).expect("a file");
        let other = Posix::open(&path, NEW).expect("a file");
        let first = Lock::take(&one, 0..10, false).expect("free");
        let second = Lock::take(&one, 5..15, false).expect("shared");
        let within = Lock::take(&one, 6..8, false).expect("shared");
        drop(first);
        other.try_lock(0..5, true).expect("given back");
        assert!(other.try_lock(5..6, true).is_err() && other.try_lock(9..10, true).is_err());
        drop(second);
        assert!(other.try_lock(6..8, true).is_err());
        other.try_lock(5..6, true).expect("given back");
        other.try_lock(8..15, true).expect("given back");
        drop(within);
        other.try_lock(6..8, true).expect("given back");
        std::fs::remove_file(path).expect("made above");
    }

    #[test]
    fn a_file_is_filled_to_its_size() {
        let path = scratch("fill");
        let file = Posix::open(&path, NEW).expect("a file");
        write(&file, b"isthmus", 0).expect("room");
        file.fill(40_000).expect("room");
        file.fill(3).expect("nothing to do");
        let mut back = [1; 8];
        assert_eq!((file.size().expect("open"), read(&file, &mut back, 0)), (40_000, Ok(8)));
        assert_eq!(&back, b"isthmus\0");
        std::fs::remove_file(path).expect("made above");
    }

    #[test]
    fn a_directory_is_no_file() {
        let how = How {
            write: false,
            create: Create::Never,
            ..NEW
        };
        let error = Posix::open(&std::env::temp_dir(), how).expect_err("a directory");
        assert_eq!(error.raw_os_error(), Some(libc::EISDIR));
    }
}
