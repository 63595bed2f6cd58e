//! What a file answers, and what is done to it as a whole (MPI-5.0 §14.2, §14.6).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use isthmus_io::backend::whole;
use isthmus_io::independent::size;
use isthmus_io::two_phase::aggregators;

use super::{File, locked};
use crate::error::Result;
use crate::fail;
use crate::group::Group;
use crate::handle::{Handle, Object};
use crate::info::Info;
use crate::process::kinds;

impl File {
    /// Take over what the user says; what is not understood is ignored.
    pub(super) fn take_hints(&self, info: &Info) {
        let mut hints = locked(&self.hints);
        let hints = Arc::make_mut(&mut hints);
        for (key, value) in info.pairs() {
            hints.set(&String::from_utf8_lossy(&key), &String::from_utf8_lossy(&value));
        }
    }

    /// What rank 0 does for all with a size that all must have given. Blocks until it is done.
    fn by_first(
        &self,
        call: &str,
        size: i64,
        name: &'static str,
        act: impl FnMut() -> std::io::Result<()>,
    ) -> Result<()> {
        // All must have come: what they did before is not to meet what is done now.
        self.together(call, self.check_size(call, size), "size", size as u64)?;
        let done = match self.comm.rank() {
            0 => whole(name, act),
            _ => Ok(()),
        };
        self.agree_on(done.err())
    }

    fn check_size(&self, call: &str, size: i64) -> Result<()> {
        self.check_writable()?;
        if size < 0 {
            return Err(fail!(Arg, "size={size} is negative"));
        }
        self.check_not_split(call)
    }
}

/// `MPI_File_get_size`: in bytes.
pub fn file_get_size(fh: &File) -> Result<i64> {
    fh.looks();
    let bytes = size(&*fh.backend).map_err(|failure| fh.failed(failure))?;
    Ok(bytes as i64)
}

/// `MPI_File_set_size`: cut the file, or have it end in zeros, at so many bytes. Collective; blocks until it is done.
pub fn file_set_size(fh: &File, size: i64) -> Result<()> {
    fh.by_first("file_set_size", size, "ftruncate", || fh.backend.resize(size as u64))
}

/// `MPI_File_preallocate`: have room for the first bytes. Collective; blocks until it is done.
pub fn file_preallocate(fh: &File, size: i64) -> Result<()> {
    fh.by_first("file_preallocate", size, "fallocate", || match size {
        0 => Ok(()),
        bytes => fh.backend.allocate(bytes as u64),
    })
}

/// `MPI_File_sync`: bring what was written to the device, and see what others have brought there. Collective; blocks as long as the device
/// takes.
pub fn file_sync(fh: &File) -> Result<()> {
    // What this process wrote is on the device when it comes, and what all wrote when all have come.
    let done = fh
        .check_not_split("file_sync")
        .and_then(|()| whole("fsync", || fh.backend.sync()).map_err(|failure| fh.failed(failure)));
    fh.together("file_sync", done, "", 0)?;
    fh.check_overlaps()
}

/// `MPI_File_set_atomicity`: are accesses atomic from now on? Collective; must be the same everywhere. Blocks until all have called.
pub fn file_set_atomicity(fh: &File, flag: bool) -> Result<()> {
    fh.together("file_set_atomicity", Ok(()), "flag", u64::from(flag))?;
    fh.is_atomic.store(flag, Ordering::Relaxed);
    Ok(())
}

/// `MPI_File_get_atomicity`.
pub fn file_get_atomicity(fh: &File) -> Result<bool> {
    Ok(fh.is_atomic.load(Ordering::Relaxed))
}

/// `MPI_File_get_amode`: as it was opened.
pub fn file_get_amode(fh: &File) -> Result<i32> {
    Ok(fh.amode)
}

/// `MPI_File_get_group`: the processes that have opened it. To be freed by the caller.
pub fn file_get_group(fh: &File) -> Result<Handle<Group>> {
    Group::table().insert(Arc::clone(&fh.comm.group))
}

/// `MPI_File_set_info`: hints from now on. Those that we do not know are ignored, others keep their values. Collective; where programs are checked,
/// it blocks until all have called.
pub fn file_set_info(fh: &File, info: Option<&Info>) -> Result<()> {
    fh.same("file_set_info")?;
    if let Some(info) = info {
        fh.take_hints(info);
    }
    Ok(())
}

/// `MPI_File_get_info`: all hints that we know, with the values in force. To be freed by the caller.
pub fn file_get_info(fh: &File) -> Result<Handle<Info>> {
    let hints = fh.hints();
    let layout = fh.backend.layout();
    let mut pairs = hints.pairs(aggregators(&fh.exchange(), &hints, layout), layout);
    pairs.push(("filename".to_owned(), fh.path.to_string()));
    let kinds = kinds::memory_alloc_kinds(fh.comm.group.session());
    pairs.push(("mpi_memory_alloc_kinds".to_owned(), kinds));
    Info::from_pairs(pairs).publish()
}
