//! Where programs are checked: bytes that several members have written, outside atomic mode, since all have synchronised the file. Which of them are there
//! afterwards is undefined (MPI-5.0 §14.6.1). If a collective call on the file lies between the two it is only told: HDF5 writes its metadata so, by
//! one rank and later by another, and on a file system that all see alike the later one's bytes are there (decision 181).

use std::sync::atomic::Ordering;

use isthmus_io::view::View;
use isthmus_io::written::{self, Call};
use isthmus_os::switches::Switch;

use super::{File, locked, operation};
use crate::coll::check::report;
use crate::error::Result;
use crate::fail;

/// Calls that write, by the number by which others know them.
const CALLS: [&str; 14] = [
    "file_write_at",
    "file_write_at_all",
    "file_iwrite_at",
    "file_iwrite_at_all",
    "file_write",
    "file_write_all",
    "file_iwrite",
    "file_iwrite_all",
    "file_write_shared",
    "file_iwrite_shared",
    "file_write_ordered",
    "file_write_at_all_begin",
    "file_write_all_begin",
    "file_write_ordered_begin",
];

fn name(number: u8) -> String {
    let call = CALLS.get(usize::from(number)).copied().unwrap_or_default();
    // As the standard writes it.
    format!("MPI_F{}", call.get(1..).unwrap_or("ile_write"))
}

impl File {
    /// A call in this [phase](Self::phase) has written these positions.
    pub(super) fn record(&self, call: &str, phase: u32, view: &View, position: u64, bytes: u64) {
        if !Switch::Check.is_on() || self.is_atomic() || self.comm.size() == 1 {
            return;
        }
        let name = CALLS.iter().position(|one| *one == call).unwrap_or(CALLS.len()) as u8;
        let pieces = view.pieces(position, position + bytes);
        locked(&self.written).add(Call { name, phase }, pieces);
    }

    /// The phase of what this process does alone now. That of the next collective call is one more.
    pub(super) fn phase(&self) -> u32 {
        self.calls.load(Ordering::Relaxed).wrapping_mul(2)
    }

    /// All members have come to a synchronisation: fails on all if some have written the same bytes since the last one. Blocks until all have come.
    pub(super) fn check_overlaps(&self) -> Result<()> {
        if !Switch::Check.is_on() {
            return Ok(());
        }
        let written = std::mem::take(&mut *locked(&self.written));
        let exchange = self.messages();
        let Some(conflict) = operation::drive(written::conflict(&exchange, &written))?? else {
            return Ok(());
        };
        let [(one, first), (other, second)] = conflict.by;
        let is_ordered = conflict.is_ordered();
        let line = format!(
            "{}: {} on rank {one} and {} on {} have written bytes {} to {} since the last synchronisation, without atomic mode{}",
            self.path,
            name(first.name),
            name(second.name),
            report::list(&[other]),
            conflict.bytes.start,
            conflict.bytes.end - 1,
            match is_ordered {
                true =>
                    ", with other collective calls between them: MPI demands MPI_File_sync, a barrier and MPI_File_sync there",
                false => ": which of them are there is undefined",
            },
        );
        // Programs often look at no error codes of files. A line that is no error is told once.
        if self.comm.rank() == 0 && !(is_ordered && self.has_told.swap(true, Ordering::Relaxed)) {
            isthmus_os::process::say(&format!("isthmus: {line}"));
        }
        if is_ordered { Ok(()) } else { Err(fail!(Io, "{line}")) }
    }
}
