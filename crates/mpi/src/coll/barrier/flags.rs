//! Barrier by shared flags: raise one's own, wait for the others'.
//!
//! Source: the flat form of the release-gather of MPICH's `ch4/shm/posix` and of XHC, without a leader: every rank sees
//! every flag, so each is scheduled once per barrier, which is what counts when ranks outnumber CPUs.
//! Cost: one store and p - 1 loads a rank; one line crossing where each rank has a CPU.
//! Preconditions: all ranks on one node, at most [`MOST_RANKS`]; memory for the flags. They are made in the
//! [`WARM_UP`]th barrier of a communicator, so one that hardly uses barriers pays nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_engine::{Flags, enter};

use super::dissemination;
use crate::coll::link::{Call, Link};
use crate::comm::Comm;
use crate::error::Result;

/// Beyond it, reading everybody's flag costs more than a logarithm of messages.
const MOST_RANKS: i32 = 32;
/// Barriers by messages before flags are made.
const WARM_UP: u64 = 2;
/// Communicators with flags that one process makes: the memory lives until the job ends.
const MOST_FLAGS: u32 = 256;

static MADE: AtomicU32 = AtomicU32::new(0);

/// The barriers of one communicator.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// Calls so far: the same on every rank.
    calls: AtomicU64,
    /// `None` inside: there is no memory for them.
    flags: OnceLock<Option<Flags>>,
}

/// Can this communicator have flags? The same answer on every rank.
pub fn serves(comm: &Comm) -> bool {
    (2..=MOST_RANKS).contains(&comm.size()) && !comm.is_inter()
}

pub fn run(comm: &Comm, link: &Call<'_>) -> Result<()> {
    let barriers = &comm.barriers;
    let call = barriers.calls.fetch_add(1, Ordering::Relaxed) + 1;
    if call < WARM_UP {
        return dissemination::run(link);
    }
    if call == WARM_UP {
        let flags = agree(comm, link)?;
        // The first to come here is the only one: barriers of one communicator follow each other.
        let _ = barriers.flags.set(flags);
        return dissemination::run(link);
    }
    let Some(Some(flags)) = barriers.flags.get() else {
        return dissemination::run(link);
    };
    flags.raise(&mut enter(), call);
    comm.wait_until(|_| flags.all_reached(call).then_some(()))
}

/// Rank 0 takes the memory and tells the others; all have flags, or none.
fn agree(comm: &Comm, link: &Call<'_>) -> Result<Option<Flags>> {
    let (rank, size) = (link.rank(), link.size());
    let mut word = [0; 8];
    if rank == 0 {
        let wanted = MADE.fetch_add(1, Ordering::Relaxed) < MOST_FLAGS;
        let offset = if wanted {
            Flags::allocate(&mut enter(), size).unwrap_or(0)
        } else {
            0
        };
        word = offset.to_ne_bytes();
        for other in 1..size {
            link.send(other, &word)?;
        }
    } else {
        link.receive(0, &mut word)?;
    }
    let offset = u64::from_ne_bytes(word);
    if offset == 0 {
        return Ok(None);
    }
    let members = (0..comm.size()).filter_map(|member| comm.peer(member)).collect();
    Ok(Flags::attach(&mut enter(), offset, members, rank))
}
