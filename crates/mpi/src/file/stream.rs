//! Files that cannot seek, as pipes and terminals (MPI-5.0 §14.2.1, `MPI_MODE_SEQUENTIAL`): members access them in turn, in the order in which they
//! were given ranges by the shared pointer. A word beside the pointer says how many bytes have gone through; a member whose range begins there
//! makes its access, and moves the word to the end of its range, whether it could make the access or not (decision 226).

use std::ops::Range;

use isthmus_io::view::View;

use super::File;
use super::access::{Elements, Whence};
use crate::error::Result;
use crate::fail;
use crate::status::Status;

/// Which bytes have to have gone through before an access of these positions, and after it; `None`: it has none, and takes no turn.
pub(super) fn turn_of(view: &View, positions: Range<u64>) -> Option<Range<i64>> {
    if positions.is_empty() || view.is_empty() {
        return None;
    }
    let span = view.span(positions.start, positions.end);
    Some(span.start as i64..span.end as i64)
}

impl File {
    /// Refuse an offset of a file that cannot seek.
    pub(super) fn check_seekable(&self) -> Result<()> {
        if self.is_stream {
            return Err(fail!(
                UnsupportedOperation,
                "{} cannot seek: it is a pipe or a terminal",
                self.path
            ));
        }
        Ok(())
    }

    /// Do this when all bytes before these positions of a view have gone through. Blocks until then; fails if a member has failed.
    pub(super) fn in_turn<T>(&self, view: &View, positions: Range<u64>, act: impl FnOnce() -> T) -> Result<T> {
        let Some(turn) = turn_of(view, positions) else {
            return Ok(act());
        };
        self.shared.wait_for(turn.start, &self.comm)?;
        let done = act();
        self.shared.pass(turn.end, &self.comm)?;
        Ok(done)
    }

    /// This process's part of an access in the order of ranks, and how the others' went. Collective; blocks until all have made theirs.
    ///
    /// # Safety
    /// As for [`File::prepare`].
    pub(super) unsafe fn ordered_in_turn(
        &self,
        call: &'static str,
        whence: Whence,
        elements: Elements,
        writes: bool,
    ) -> Result<Status> {
        // SAFETY: the caller's promise.
        let done = match unsafe { self.part(call, whence, elements, writes) } {
            Ok(access) => access.run(),
            Err(error) => self.leave_out(whence, elements, writes).and(Err(error)),
        };
        self.agree(done.as_ref().map(drop).map_err(Clone::clone))?;
        done
    }

    /// Let the next one have its turn, since this process has no access to make.
    #[cold]
    fn leave_out(&self, whence: Whence, elements: Elements, writes: bool) -> Result<()> {
        let Whence::Ordered(offset) = whence else { return Ok(()) };
        let (seen, etypes) = (self.seen(), self.check_access(elements, writes)?.etypes);
        let view = &seen.view;
        let (from, bytes) = (offset as u64 * view.etype(), etypes as u64 * view.etype());
        self.in_turn(view, from..from + bytes, || ())
    }
}
