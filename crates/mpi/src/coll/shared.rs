//! Blocking collectives through memory that all ranks of a communicator share.
//!
//! A communicator gets a [`Board`] in its [`WARM_UP`]th blocking collective: one that is hardly used pays nothing. From then
//! on every such call has a number on the board and goes through *steps*. In a step a rank posts what it has for others: in
//! the post itself if it is short, else in staged memory that the post names. The others read it there. Nothing is reset and
//! nobody is waited for but those who have not posted yet, and, now and then, those who have not read yet. So a rank may
//! run ahead, and with more ranks than CPUs each is scheduled about once per step.
//!
//! Each post says where its data lies and how long it is, so what one rank decides alone needs no agreement. What ranks
//! must choose alike, which algorithm and how many steps it has, depends on the call's arguments and on what they agreed on
//! with the board. If a rank leaves a call early, since its arguments were wrong or its memory was refused, its mark goes
//! past the call, and those who need its posts get an error, not a hang. The next call works again.
//!
//! Messages and non-blocking collectives have nothing to do with the board, so all can be mixed.

mod exchange;
pub(super) mod fold;
pub(super) mod personal;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use isthmus_engine::{Board, LONGEST, Step, enter, is_crowded};

use super::link::Call;
use crate::comm::Comm;
use crate::error::Result;

/// Calls by messages before there is a board.
const WARM_UP: u32 = 3;
/// Beyond it, looking at everybody's posts costs more than a logarithm of messages.
pub(super) const MOST_RANKS: usize = 32;
/// Elements of more bytes are not combined in shared memory.
pub(super) const LARGEST_ELEMENT: usize = 4 << 10;

/// Shared control of one communicator.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Calls before there was a board: the same on every rank.
    early: AtomicU32,
    /// `None` inside: there is no memory for it.
    board: OnceLock<Option<Arc<Board>>>,
    /// Calls since: the same on every rank.
    calls: AtomicU64,
}

/// The board, as one call uses it. When it is dropped, the call is over.
pub(super) struct Access<'a> {
    board: &'a Arc<Board>,
    call: u64,
    /// The step to take next.
    next: Cell<Step>,
    comm: &'a Comm,
}

/// The board of the communicator that `call` is on, if it has one. `call` may not have it yet.
#[inline]
pub(super) fn begin<'a>(comm: &'a Comm, call: &Call<'a>) -> Result<Option<Access<'a>>> {
    match comm.shared.board.get() {
        Some(Some(board)) => {
            // Calls on one communicator follow each other, so there is nobody to race with.
            let calls = &comm.shared.calls;
            let number = calls.load(Ordering::Relaxed) + 1;
            calls.store(number, Ordering::Relaxed);
            Ok(Some(Access {
                board,
                call: number,
                next: Cell::new(Step::first_of(number)),
                comm,
            }))
        }
        Some(None) => Ok(None),
        None => warm_up(comm, call).map(|()| None),
    }
}

#[cold]
fn warm_up(comm: &Comm, call: &Call<'_>) -> Result<()> {
    let control = &comm.shared;
    let fits = !comm.is_inter() && (2..=MOST_RANKS as i32).contains(&comm.size());
    if fits && control.early.fetch_add(1, Ordering::Relaxed) + 1 == WARM_UP {
        let board = agree(comm, call)?;
        // Calls follow each other, so nobody else does this.
        let _ = control.board.set(board);
    }
    Ok(())
}

/// Rank 0 takes the memory and tells the others; all have a board, or none.
fn agree(comm: &Comm, call: &Call<'_>) -> Result<Option<Arc<Board>>> {
    let (rank, size) = (comm.rank() as usize, comm.size() as usize);
    let mut word = [0; 8];
    if rank == 0 {
        word = Board::allocate(&mut enter(), size).unwrap_or(0).to_ne_bytes();
        for other in 1..size {
            call.send(other, &word)?;
        }
    } else {
        call.receive(0, &mut word)?;
    }
    let offset = u64::from_ne_bytes(word);
    if offset == 0 {
        return Ok(None);
    }
    let members: Vec<_> = (0..comm.size()).filter_map(|member| comm.peer(member)).collect();
    Ok(Board::attach(&mut enter(), offset, &members, rank).map(Arc::new))
}

impl Access<'_> {
    /// The next step of the call. All ranks take the same steps.
    #[inline]
    pub fn step(&self) -> Step {
        let step = self.next.get();
        self.next.set(step.next());
        step
    }

    /// We are done with all steps up to this one, and have read all that we will of them.
    #[inline]
    pub fn finish(&self, step: Step) {
        self.board.finish_before(step.next());
        self.board.ring_all();
    }

    /// Bytes of a long contribution that cross in one step.
    pub fn segment(&self) -> usize {
        // With a CPU for each rank short segments overlap copying in and out; without, each step costs switches.
        if is_crowded() { LONGEST } else { 32 << 10 }
    }
}

impl Drop for Access<'_> {
    #[inline]
    fn drop(&mut self) {
        self.board.finish_before(Step::first_of(self.call + 1));
        self.board.ring_all();
    }
}
