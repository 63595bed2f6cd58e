//! What `ISTHMUS_CHECK=1` looks for in windows, beside what is always refused.

use isthmus_engine::tunables::CHECK;

use super::Win;
use crate::constants::MODE_NOPRECEDE;
use crate::error::Result;
use crate::fail;

use super::epoch::Mode;

/// A fence that says that nothing was done since the last one, where something was.
pub(super) fn fence(win: &Win, assert: i32) -> Result<()> {
    if assert & MODE_NOPRECEDE != 0 && win.epochs.mode() == Mode::Fence && CHECK.get() != 0 {
        return Err(fail!(
            RmaSync,
            "MPI_Win_fence with MPI_MODE_NOPRECEDE on {}, where rank {} has accessed others since the last fence",
            win.label(),
            win.rank
        ));
    }
    Ok(())
}
