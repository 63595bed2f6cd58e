//! Where programs are checked: bytes that several members have written, outside atomic mode, since all have synchronised the file. What is there
//! afterwards is undefined (MPI-5.0 §14.6.1).

use isthmus_io::view::View;
use isthmus_io::written;

use super::{File, locked, operation};
use crate::check;
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

fn name(number: u64) -> String {
    let call = CALLS.get(number as usize).copied().unwrap_or_default();
    // As the standard writes it.
    format!("MPI_F{}", call.get(1..).unwrap_or("ile_write"))
}

impl File {
    /// A call has written these positions.
    pub(super) fn record(&self, call: &str, view: &View, position: u64, bytes: u64) {
        if !check::is_on() || self.is_atomic() || self.comm.size() == 1 {
            return;
        }
        let number = CALLS.iter().position(|one| *one == call).unwrap_or(CALLS.len());
        let pieces = view.pieces(position, position + bytes);
        locked(&self.written).add(number as u64, pieces);
    }

    /// All members have come to a synchronisation: fails on all if some have written the same bytes since the last one. Blocks until all have come.
    pub(super) fn check_overlaps(&self) -> Result<()> {
        if !check::is_on() {
            return Ok(());
        }
        let written = std::mem::take(&mut *locked(&self.written));
        let exchange = self.meet();
        let Some(conflict) = operation::drive(written::conflict(&exchange, &written))?? else {
            return Ok(());
        };
        let [(one, first), (other, second)] = conflict.by;
        let line = format!(
            "{}: {} on rank {one} and {} on {} have written bytes {} to {} since the last synchronisation, without atomic mode: which of them \
             are there is undefined",
            self.path,
            name(first),
            name(second),
            report::list(&[other]),
            conflict.bytes.start,
            conflict.bytes.end - 1,
        );
        // Programs often look at no error codes of files.
        if self.comm.rank() == 0 {
            isthmus_os::process::say(&format!("isthmus: {line}"));
        }
        Err(fail!(Io, "{line}"))
    }
}
