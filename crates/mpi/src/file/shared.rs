//! The shared file pointer (MPI-5.0 §14.4.4): words in the job's memory if all who have the file open are on one node, else a window of rank 0's.
//!
//! Of two words one is the pointer. `MPI_File_set_view` puts it to the start in the exchange that it has anyway: rank 0 clears the
//! other word before that, and all ranks use that word afterwards. The last view has put it out of use on all ranks (decision 225).
//!
//! A third word is for files that cannot seek (`stream.rs`): how many bytes have gone through.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use isthmus_engine::{Cause, Entered, enter, fault_events, rma, wait_until};

use crate::comm::Comm;
use crate::constants::MODE_NOCHECK;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::op::Op;
use crate::win::{Win, fetch_and_op, win_allocate, win_flush, win_free, win_lock_all, win_unlock_all};

/// Between two looks at a word on another node.
const AWAY_PAUSE: Duration = Duration::from_micros(100);
/// Bytes of a word.
const WORD: u64 = 8;
/// Bytes that are taken for the words.
const BYTES: u64 = WORDS as u64 * WORD;
const WORDS: usize = 3;
/// The word of what has gone through a file that cannot seek.
const PASSED: usize = 2;
/// `MPI_INT64_T`.
const INT64: Handle<Datatype> = Handle::from_raw(0x258);
/// `MPI_SUM`, `MPI_REPLACE`, `MPI_NO_OP`.
const SUM: Handle<Op> = Handle::from_raw(0x21);
const REPLACE: Handle<Op> = Handle::from_raw(0x3c);
const NO_OP: Handle<Op> = Handle::from_raw(0x3d);

/// The pointer, in etypes.
pub(super) struct Shared {
    place: Place,
    /// Which of the words it is, as all members know.
    current: AtomicUsize,
}

enum Place {
    /// In the job's memory; the offset there, for the rank that took it.
    Here { words: Words, own: Option<u64> },
    /// In a window, at rank 0.
    Away(Handle<Win>),
}

/// The words, in the job's memory.
struct Words(NonNull<u8>);

// SAFETY: atomics in the job's segment, which stays mapped.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn atomic(&self, index: usize) -> &AtomicI64 {
        debug_assert!(index < WORDS, "there are three words");
        // SAFETY: eight bytes of the segment, among the first of a line.
        unsafe { AtomicI64::from_ptr(self.0.as_ptr().cast::<i64>().add(index)) }
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

/// The error of a member that has failed, if one has.
fn first_failed(inside: &mut Entered, comm: &Comm) -> Option<Error> {
    if fault_events() == 0 {
        return None;
    }
    let failed = (0..comm.size()).find(|rank| comm.peer(*rank).is_some_and(|peer| inside.has_failed(peer)))?;
    Some(fail!(
        ProcFailed,
        "rank {failed} of the communicator of the file has failed"
    ))
}

impl Shared {
    fn of(place: Place) -> Self {
        Self {
            place,
            current: AtomicUsize::new(0),
        }
    }

    /// The pointer that a member has taken and told of; `own`: it was the calling one.
    pub fn here(offset: u64, own: bool) -> Result<Self> {
        let at = rma::shared_at(offset, BYTES);
        let at = at.ok_or_else(|| fail!(Intern, "a rank's shared file pointer lies outside the job's memory"))?;
        Ok(Self::of(Place::Here {
            words: Words(at),
            own: own.then_some(offset),
        }))
    }

    /// One for members on several nodes. Collective.
    pub fn away(comm: &Comm) -> Result<Self> {
        let bytes = if comm.rank() == 0 { BYTES as i64 } else { 0 };
        let (memory, win) = win_allocate(bytes, 1, None, comm)?;
        if comm.rank() == 0 {
            // SAFETY: so many bytes, of which nobody has been told that they mean something.
            unsafe { memory.cast::<[i64; WORDS]>().write([0; WORDS]) };
        }
        win_lock_all(MODE_NOCHECK, win.resolve("win")?)?;
        Ok(Self::of(Place::Away(win)))
    }

    /// Let go of it. All members call, and use it no more.
    pub fn free(&self) -> Result<()> {
        match &self.place {
            Place::Here { own, .. } => {
                own.map(give_back);
                Ok(())
            }
            Place::Away(win) => {
                win_unlock_all(win.resolve("win")?)?;
                win_free(*win)
            }
        }
    }

    fn index(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    pub fn load(&self) -> Result<i64> {
        self.load_at(self.index())
    }

    fn load_at(&self, index: usize) -> Result<i64> {
        match &self.place {
            Place::Here { words, .. } => Ok(words.atomic(index).load(Ordering::Acquire)),
            Place::Away(win) => operate(*win, index, NO_OP, 0),
        }
    }

    pub fn store(&self, value: i64) -> Result<()> {
        self.store_at(self.index(), value)
    }

    fn store_at(&self, index: usize, value: i64) -> Result<()> {
        match &self.place {
            Place::Here { words, .. } => words.atomic(index).store(value, Ordering::Release),
            Place::Away(win) => _ = operate(*win, index, REPLACE, value)?,
        }
        Ok(())
    }

    /// Move it on; where it was.
    pub fn advance(&self, etypes: i64) -> Result<i64> {
        match &self.place {
            Place::Here { words, .. } => Ok(words.atomic(self.index()).fetch_add(etypes, Ordering::AcqRel)),
            Place::Away(win) => operate(*win, self.index(), SUM, etypes),
        }
    }

    /// How many bytes have gone through a file that cannot seek.
    pub fn passed(&self) -> Result<i64> {
        self.load_at(PASSED)
    }

    /// Wait until so many bytes have. Blocks; fails if a member has, which may be the one whose turn it is.
    pub fn wait_for(&self, bytes: i64, comm: &Comm) -> Result<()> {
        match &self.place {
            Place::Here { .. } => wait_until(|inside| {
                inside.waits_for(Cause::Value);
                self.has_come(bytes, inside, comm)
            })?,
            Place::Away(_) => {
                while self.passed()? != bytes {
                    if let Some(failed) = first_failed(&mut enter(), comm) {
                        return Err(failed);
                    }
                    std::thread::sleep(AWAY_PAUSE);
                }
                Ok(())
            }
        }
    }

    /// Have so many bytes gone through, or has a member failed? `None`: not yet. Not for words on another node: does not block.
    pub fn has_come(&self, bytes: i64, inside: &mut Entered, comm: &Comm) -> Option<Result<()>> {
        let Place::Here { words, .. } = &self.place else {
            return Some(Err(fail!(Intern, "the words of a file are on another node")));
        };
        // SYNC: stream-turn
        if words.atomic(PASSED).load(Ordering::Acquire) == bytes {
            return Some(Ok(()));
        }
        first_failed(inside, comm).map(Err)
    }

    /// Are the words in this node's memory?
    pub fn is_here(&self) -> bool {
        matches!(self.place, Place::Here { .. })
    }

    /// So many bytes have gone through: the next of these members has its turn.
    pub fn pass(&self, bytes: i64, comm: &Comm) -> Result<()> {
        // SYNC: stream-turn
        self.store_at(PASSED, bytes)?;
        if self.is_here() {
            for peer in (0..comm.size()).filter_map(|rank| comm.peer(rank)) {
                rma::wake(peer)?;
            }
        }
        Ok(())
    }

    /// Have the other word at the start. Rank 0 calls, before it comes to where all meet.
    pub fn prepare(&self) -> Result<()> {
        self.store_at(1 - self.index(), 0)
    }

    /// The other word is the pointer from now on. All members call, after they have met.
    pub fn turn(&self) {
        self.current.store(1 - self.index(), Ordering::Relaxed);
    }
}

fn operate(win: Handle<Win>, index: usize, op: Handle<Op>, value: i64) -> Result<i64> {
    let (win, int, op) = (win.resolve("win")?, INT64.resolve("datatype")?, op.resolve("op")?);
    let place = index as i64 * WORD as i64;
    let mut before = 0_i64;
    let (origin, result): (*const i64, *mut i64) = (&raw const value, &raw mut before);
    // SAFETY: both live until the operation is complete.
    unsafe {
        fetch_and_op(origin.cast::<c_void>(), result.cast(), int, 0, place, op, win)?;
        win_flush(0, win)?;
    }
    // It may have been written by what the compiler does not see.
    // SAFETY: a local variable.
    Ok(unsafe { result.read_volatile() })
}
