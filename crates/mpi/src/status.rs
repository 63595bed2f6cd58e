//! Statuses of completed operations (MPI-5.0 §3.2.5), and the procedures that read and write it.

use isthmus_datatype::Signature;
use isthmus_engine::Outcome;

use crate::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::error::{Class, Result};

/// Bits of a rank in an envelope: a job has fewer processes. Where programs are checked, the types of the elements stand above them
/// (`ledger/types.rs`).
pub(crate) const RANK_BITS: u32 = 31 - Signature::BRIEF_BITS;

/// The rank that an envelope says.
pub(crate) fn rank_in(source: i32) -> i32 {
    if source < 0 {
        source
    } else {
        source & ((1 << RANK_BITS) - 1)
    }
}

/// A status, free of any ABI's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank.
    pub source: i32,
    /// The message's tag.
    pub tag: i32,
    /// The canonical error code. `None`: the user's field stays as it is, which is the rule for calls that return one
    /// status and for those that return several without `MPI_ERR_IN_STATUS`.
    pub error: Option<i32>,
    /// Bytes that were received.
    pub bytes: i64,
    /// The operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The empty status: of null handles and inactive requests.
    pub const EMPTY: Self = Self {
        source: ANY_SOURCE,
        tag: ANY_TAG,
        error: Some(Class::Success as i32),
        bytes: 0,
        cancelled: false,
    };

    /// Of a send: only whether it was cancelled means anything.
    pub const SENT: Self = Self {
        error: None,
        ..Self::EMPTY
    };

    /// Of a receive or probe from `MPI_PROC_NULL`.
    pub const NO_PROCESS: Self = Self {
        source: PROC_NULL,
        tag: ANY_TAG,
        error: None,
        bytes: 0,
        cancelled: false,
    };
}

/// Where a call that completes several requests tells their statuses, by position.
pub trait Statuses {
    /// The status at a position.
    fn put(&self, at: usize, status: &Status);
    /// The canonical error code of the status at a position, which has been put there.
    fn put_error(&self, at: usize, code: i32);
}

impl From<&Outcome> for Status {
    /// Of a receive.
    fn from(outcome: &Outcome) -> Self {
        Self {
            cancelled: outcome.cancelled,
            ..Self::from(&outcome.arrival)
        }
    }
}

impl From<&isthmus_engine::Arrival> for Status {
    fn from(arrival: &isthmus_engine::Arrival) -> Self {
        Self {
            source: arrival.source,
            tag: arrival.tag,
            error: None,
            bytes: arrival.bytes as i64,
            cancelled: false,
        }
    }
}

/// `MPI_Test_cancelled`: was the operation cancelled?
pub fn test_cancelled(status: &Status) -> Result<bool> {
    Ok(status.cancelled)
}

/// `MPI_Status_get_source` (MPI-5.0 §3.2.5).
pub fn status_get_source(status: &Status) -> Result<i32> {
    Ok(status.source)
}

/// `MPI_Status_get_tag`.
pub fn status_get_tag(status: &Status) -> Result<i32> {
    Ok(status.tag)
}

/// `MPI_Status_get_error`.
pub fn status_get_error(status: &Status) -> Result<i32> {
    Ok(status.error.unwrap_or(Class::Success as i32))
}

/// `MPI_Status_set_source` (MPI-5.0 §13.3).
pub fn status_set_source(status: &mut Status, source: i32) -> Result<()> {
    status.source = source;
    Ok(())
}

/// `MPI_Status_set_tag`.
pub fn status_set_tag(status: &mut Status, tag: i32) -> Result<()> {
    status.tag = tag;
    Ok(())
}

/// `MPI_Status_set_error`.
pub fn status_set_error(status: &mut Status, error: i32) -> Result<()> {
    status.error = Some(error);
    Ok(())
}

/// `MPI_Status_set_cancelled`.
pub fn status_set_cancelled(status: &mut Status, flag: bool) -> Result<()> {
    status.cancelled = flag;
    Ok(())
}
