//! The shared file pointer (MPI-5.0 §14.4.4): a word in the job's memory if all who have the file open are on one node, else a window of rank 0's.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};

use isthmus_engine::rma;

use crate::comm::Comm;
use crate::constants::MODE_NOCHECK;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::op::Op;
use crate::win::{Win, fetch_and_op, win_allocate, win_flush, win_free, win_lock_all, win_unlock_all};

/// Bytes that are taken for it.
const BYTES: u64 = 8;
/// `MPI_INT64_T`.
const INT64: Handle<Datatype> = Handle::from_raw(0x258);
/// `MPI_SUM`, `MPI_REPLACE`, `MPI_NO_OP`.
const SUM: Handle<Op> = Handle::from_raw(0x21);
const REPLACE: Handle<Op> = Handle::from_raw(0x3c);
const NO_OP: Handle<Op> = Handle::from_raw(0x3d);

/// The pointer, in etypes.
pub(super) enum Shared {
    /// In the job's memory; the offset there, for the rank that took it.
    Here { word: Word, own: Option<u64> },
    /// In a window, at rank 0.
    Away(Handle<Win>),
}

/// A word of the job's memory.
pub(super) struct Word(NonNull<u8>);

// SAFETY: an atomic in the job's segment, which stays mapped.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

impl Word {
    fn atomic(&self) -> &AtomicI64 {
        // SAFETY: eight bytes of the segment, which begin a line.
        unsafe { AtomicI64::from_ptr(self.0.as_ptr().cast()) }
    }
}

/// Take memory for a pointer that all members of one node see: where, for the others.
pub(super) fn take() -> Result<u64> {
    Ok(rma::take_shared(BYTES)?)
}

/// Nobody has been told of it, or uses it any more.
pub(super) fn give_back(offset: u64) {
    rma::give_shared(offset, BYTES);
}

impl Shared {
    /// The pointer that a member has taken and told of; `own`: it was the calling one.
    pub fn here(offset: u64, own: bool) -> Result<Self> {
        let at = rma::shared_at(offset, BYTES);
        let at = at.ok_or_else(|| fail!(Intern, "a rank's shared file pointer lies outside the job's memory"))?;
        Ok(Self::Here {
            word: Word(at),
            own: own.then_some(offset),
        })
    }

    /// One for members on several nodes. Collective.
    pub fn away(comm: &Comm) -> Result<Self> {
        let bytes = if comm.rank() == 0 { BYTES as i64 } else { 0 };
        let (memory, win) = win_allocate(bytes, 1, None, comm)?;
        if comm.rank() == 0 {
            // SAFETY: so many bytes, of which nobody has been told that they mean something.
            unsafe { memory.cast::<i64>().write(0) };
        }
        win_lock_all(MODE_NOCHECK, win.resolve("win")?)?;
        Ok(Self::Away(win))
    }

    /// Let go of it. All members call, and use it no more.
    pub fn free(&self) -> Result<()> {
        match self {
            Self::Here { own, .. } => {
                own.map(give_back);
                Ok(())
            }
            Self::Away(win) => {
                win_unlock_all(win.resolve("win")?)?;
                win_free(*win)
            }
        }
    }

    pub fn load(&self) -> Result<i64> {
        match self {
            Self::Here { word, .. } => Ok(word.atomic().load(Ordering::Acquire)),
            Self::Away(win) => operate(*win, NO_OP, 0),
        }
    }

    pub fn store(&self, value: i64) -> Result<()> {
        match self {
            Self::Here { word, .. } => word.atomic().store(value, Ordering::Release),
            Self::Away(win) => _ = operate(*win, REPLACE, value)?,
        }
        Ok(())
    }

    /// Move it on; where it was.
    pub fn advance(&self, etypes: i64) -> Result<i64> {
        match self {
            Self::Here { word, .. } => Ok(word.atomic().fetch_add(etypes, Ordering::AcqRel)),
            Self::Away(win) => operate(*win, SUM, etypes),
        }
    }
}

fn operate(win: Handle<Win>, op: Handle<Op>, value: i64) -> Result<i64> {
    let (win, int, op) = (win.resolve("win")?, INT64.resolve("datatype")?, op.resolve("op")?);
    let mut before = 0_i64;
    let (origin, result): (*const i64, *mut i64) = (&raw const value, &raw mut before);
    // SAFETY: both live until the operation is complete.
    unsafe {
        fetch_and_op(origin.cast::<c_void>(), result.cast(), int, 0, 0, op, win)?;
        win_flush(0, win)?;
    }
    // It may have been written by what the compiler does not see.
    // SAFETY: a local variable.
    Ok(unsafe { result.read_volatile() })
}
