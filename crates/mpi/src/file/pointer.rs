//! File pointers, in etypes of the view (MPI-5.0 §14.4.3, §14.4.4).

use std::sync::atomic::Ordering;

use isthmus_io::independent::size;

use super::{File, mode};
use crate::constants::{SEEK_CUR, SEEK_END, SEEK_SET};
use crate::error::Result;
use crate::fail;

impl File {
    /// The end of the file, in etypes of the view: the first that does not begin before it.
    pub(super) fn end_of_file(&self) -> Result<i64> {
        self.looks();
        let bytes = size(&*self.backend).map_err(|failure| self.failed(failure))?;
        let view = &self.seen().view;
        Ok(view.position_at(bytes).div_ceil(view.etype()) as i64)
    }

    fn sought(&self, offset: i64, whence: i32, now: impl FnOnce() -> Result<i64>) -> Result<i64> {
        let from = match whence {
            SEEK_SET => 0,
            SEEK_CUR => now()?,
            SEEK_END => self.end_of_file()?,
            _ => {
                return Err(fail!(
                    Arg,
                    "whence={whence} has to be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"
                ));
            }
        };
        match from.checked_add(offset) {
            Some(to @ 0..) => Ok(to),
            None if offset > 0 => Err(fail!(
                Arg,
                "offset={offset} from {from} exceeds 64 bits, in the view of {}",
                self.path
            )),
            _ => Err(fail!(
                Arg,
                "offset={offset} from {from} lies before the start of the view of {}",
                self.path
            )),
        }
    }

    /// Where the individual pointer is, and move it on by so many etypes if `check` finds nothing wrong with the place.
    pub(super) fn take_pointer(&self, etypes: i64, check: impl Fn(i64) -> Result<u64>) -> Result<u64> {
        let mut at = self.pointer.load(Ordering::Relaxed);
        loop {
            let position = check(at)?;
            let moved = self
                .pointer
                .compare_exchange_weak(at, at + etypes, Ordering::Relaxed, Ordering::Relaxed);
            match moved {
                Ok(_) => return Ok(position),
                Err(now) => at = now,
            }
        }
    }

    /// As [`Self::take_pointer`], of the shared pointer.
    pub(super) fn take_shared(&self, etypes: i64, check: impl Fn(i64) -> Result<u64>) -> Result<u64> {
        let at = self.shared.advance(etypes)?;
        // Others who have moved it on from there meanwhile are refused as well, and move it back.
        check(at).or_else(|error| self.shared.advance(-etypes).and(Err(error)))
    }

    /// Place the shared pointer. All members call; blocks until it is there.
    pub(super) fn place_shared(&self, etypes: i64) -> Result<()> {
        let placed = match self.comm.rank() {
            0 => self.shared.store(etypes),
            _ => Ok(()),
        };
        self.agree(placed)
    }
}

/// `MPI_File_seek`: move the individual pointer.
pub fn file_seek(fh: &File, offset: i64, whence: i32) -> Result<()> {
    fh.check_not_sequential()?;
    let to = fh.sought(offset, whence, || Ok(fh.pointer.load(Ordering::Relaxed)))?;
    fh.pointer.store(to, Ordering::Relaxed);
    Ok(())
}

/// `MPI_File_get_position`: the individual pointer.
pub fn file_get_position(fh: &File) -> Result<i64> {
    fh.check_not_sequential()?;
    Ok(fh.pointer.load(Ordering::Relaxed))
}

/// `MPI_File_seek_shared`: move the shared pointer. Collective; the arguments must be the same everywhere. Blocks until all have called.
pub fn file_seek_shared(fh: &File, offset: i64, whence: i32) -> Result<()> {
    let to = offset as u64 ^ (whence as u64) << 48;
    fh.together("file_seek_shared", fh.check_seekable(), "the place to seek", to)?;
    // Now that all have called, none of them moves the pointer or the end of the file.
    let to = fh.sought(offset, whence, || fh.shared.load());
    fh.agree(to.as_ref().map(drop).map_err(Clone::clone))?;
    fh.place_shared(to?)
}

/// `MPI_File_get_position_shared`: the shared pointer.
pub fn file_get_position_shared(fh: &File) -> Result<i64> {
    fh.looks();
    fh.shared.load()
}

/// `MPI_File_get_byte_offset`: where in the file, in bytes, an offset of the view is.
pub fn file_get_byte_offset(fh: &File, offset: i64) -> Result<i64> {
    if !fh.is(mode::SEQUENTIAL) && offset < 0 {
        return Err(fail!(Arg, "offset={offset} is negative"));
    }
    fh.check_not_sequential()?;
    let view = &fh.seen().view;
    if view.is_empty() {
        return Err(fail!(Arg, "there is no data in the view of {}", fh.path));
    }
    let position = (offset as u64).checked_mul(view.etype());
    let position = position.ok_or_else(|| fail!(Arg, "offset={offset} exceeds 64 bits"))?;
    let offset_of = i64::try_from(view.offset_of(position));
    offset_of.map_err(|_| fail!(Arg, "offset={offset} lies beyond what a file can have"))
}
