//! Views (MPI-5.0 §14.3).

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use isthmus_io::view::View;

use super::datarep::Datarep;
use super::{File, locked, mode};
use crate::constants::DISPLACEMENT_CURRENT;
use crate::datatype::{Datatype, byte, type_dup};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::info::Info;

/// A process's view of a file.
pub(super) struct Seen {
    pub view: View,
    displacement: i64,
    etype: Arc<Datatype>,
    filetype: Arc<Datatype>,
    pub datarep: Datarep,
}

impl Seen {
    /// The view of a file that was just opened.
    pub fn bytes() -> Self {
        Self {
            view: View::bytes(),
            displacement: 0,
            etype: byte().share_object(),
            filetype: byte().share_object(),
            datarep: Datarep::Native,
        }
    }

    fn of(displacement: i64, etype: &Datatype, filetype: &Datatype, datarep: &CStr) -> Result<Self> {
        etype.check_committed("etype")?;
        filetype.check_committed("filetype")?;
        let datarep = Datarep::of(datarep)?;
        let (unit, tile) = (datarep.size_of(etype)?, datarep.size_of(filetype)?);
        let same = unit == etype.size() && tile == filetype.size();
        // Of what has other sizes in the file only what lies in a row is known to lie so there, too.
        let view = match same {
            true => View::new(displacement, etype, filetype)?,
            false if filetype.is_contiguous() => {
                // An error in the arguments is one in any representation.
                View::new(displacement, etype, filetype)?;
                View::contiguous(displacement as u64, unit as u64)
            }
            false => {
                return Err(fail!(
                    UnsupportedDatarep,
                    "datarep={:?} gives elements of filetype another size than they have in memory, which is done for contiguous filetypes \
                     only",
                    datarep.name()
                ));
            }
        };
        Ok(Self {
            view,
            displacement,
            etype: etype.share_object(),
            filetype: filetype.share_object(),
            datarep,
        })
    }

    /// What must be the same on all members, in a word: the size of the etype in the file, and the representation.
    fn of_all(&self) -> u64 {
        // FNV-1a.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let name = self.datarep.name().bytes();
        name.chain(self.view.etype().to_ne_bytes())
            .fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Bytes of an etype in memory.
    pub fn etype_size(&self) -> i64 {
        self.etype.size()
    }
}

impl File {
    /// Where the shared pointer is, in bytes of the file.
    fn shared_displacement(&self) -> Result<i64> {
        if self.is_stream {
            // All accesses are over, of ranks whose view is empty, too.
            return self.shared.passed();
        }
        let (seen, etypes) = (self.seen(), self.shared.load()?);
        if seen.view.is_empty() {
            return Ok(seen.displacement);
        }
        let position = (etypes as u64).checked_mul(seen.view.etype());
        let offset = position.and_then(|position| i64::try_from(seen.view.offset_of(position)).ok());
        offset.ok_or_else(|| {
            fail!(
                Arg,
                "{}: the shared pointer lies beyond what a file can have",
                self.path
            )
        })
    }
}

/// `MPI_File_set_view`: what the calling process sees of the file from now on. Collective; the size of the etype and the representation must be the
/// same everywhere. Pointers go to the start. Blocks until all have called.
pub fn file_set_view(
    fh: &File,
    disp: i64,
    etype: Handle<Datatype>,
    filetype: Handle<Datatype>,
    datarep: &CStr,
    info: Option<&Info>,
) -> Result<()> {
    // `now` is where the shared pointer is, for files that have no other displacement.
    let see = |now: i64| -> Result<Seen> {
        fh.check_not_split("file_set_view")?;
        let disp = match disp {
            current if DISPLACEMENT_CURRENT.contains(&current) && fh.is(mode::SEQUENTIAL) => now,
            current if DISPLACEMENT_CURRENT.contains(&current) => {
                return Err(fail!(
                    Arg,
                    "disp=MPI_DISPLACEMENT_CURRENT, but {} was not opened with MPI_MODE_SEQUENTIAL",
                    fh.path
                ));
            }
            _ if fh.is(mode::SEQUENTIAL) => {
                return Err(fail!(
                    Arg,
                    "disp={disp}, but {} was opened with MPI_MODE_SEQUENTIAL: MPI_DISPLACEMENT_CURRENT is all that can be",
                    fh.path
                ));
            }
            disp => disp,
        };
        let seen = Seen::of(disp, etype.resolve("etype")?, filetype.resolve("filetype")?, datarep)?;
        if fh.is_stream && !(seen.view.is_empty() || seen.filetype.is_contiguous()) {
            return Err(fail!(
                UnsupportedOperation,
                "filetype has gaps, and {} cannot seek over them: it is a pipe or a terminal",
                fh.path
            ));
        }
        if !seen.view.is_writable() && !fh.is(mode::RDONLY) {
            return Err(fail!(
                Io,
                "filetype has places that overlap, and {} was opened to be written to",
                fh.path
            ));
        }
        Ok(seen)
    };
    let seen = see(0);
    let said = seen.as_ref().map_or(0, Seen::of_all);
    let prepared = match fh.comm.rank() {
        0 => fh.shared.prepare(),
        _ => Ok(()),
    };
    let checked = seen.as_ref().map(drop).map_err(Clone::clone).and(prepared);
    fh.together("file_set_view", checked, "the size of etype or datarep", said)?;
    let mut seen = seen?;
    if fh.is(mode::SEQUENTIAL) {
        // Now that all have called, none of them moves the pointer.
        let placed = fh.shared_displacement().and_then(see);
        fh.agree(placed.as_ref().map(drop).map_err(Clone::clone))?;
        seen = placed?;
    }
    if let Some(info) = info {
        fh.take_hints(info);
    }
    *locked(&fh.seen) = Arc::new(seen);
    fh.pointer.store(0, Ordering::Relaxed);
    fh.shared.turn();
    Ok(())
}

/// A handle for the user: its own, if it is predefined.
fn handle_for_user(datatype: &Arc<Datatype>) -> Result<Handle<Datatype>> {
    if datatype.named().is_some() {
        return Ok(datatype.handle());
    }
    let mut copy = Err(fail!(Intern, "a datatype without a handle"));
    // Attributes are not wanted, but a copy made so is the one that programs know.
    datatype.with_handle(|handle| copy = handle.resolve("datatype").and_then(type_dup))?;
    copy
}

/// `MPI_File_get_view`. Datatypes that are not predefined are to be freed by the caller.
pub fn file_get_view(fh: &File) -> Result<(i64, Handle<Datatype>, Handle<Datatype>, String)> {
    let seen = fh.seen();
    let (etype, filetype) = (handle_for_user(&seen.etype)?, handle_for_user(&seen.filetype)?);
    Ok((seen.displacement, etype, filetype, seen.datarep.name().to_owned()))
}

/// `MPI_File_get_type_extent`: bytes from an element to the next in the file.
pub fn file_get_type_extent(fh: &File, datatype: Handle<Datatype>) -> Result<i64> {
    let datatype = datatype.resolve("datatype")?;
    let size = fh.seen().datarep.size_of(datatype)?;
    if size == datatype.size() {
        return Ok(datatype.extent());
    }
    if datatype.is_contiguous() {
        return Ok(size);
    }
    Err(fail!(
        UnsupportedDatarep,
        "{} gives elements of the datatype another size than they have in memory, which is known for contiguous datatypes only",
        fh.path
    ))
}
