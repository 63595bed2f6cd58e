//! One-sided operations on memory that processes expose to each other, free of any API. MPI's windows add their semantics to what
//! stands here. ARMCI and OpenSHMEM work on memory that every process of a node maps, and need none of it there (docs/decisions/0036); what is
//! on another node they reach by what stands here (docs/decisions/0191).
//!
//! A process [registers](register) memory; its [`RegionKey`] goes to others by whatever means their model has, and they make a
//! [`Target`] of it. Operations belong to a [`Flow`], the scope of what is completed together.
//!
//! | memory of the target | how it is reached |
//! |---|---|
//! | from [`crate::heap`] | loads and stores: every process of the job maps it |
//! | the calling process's own | loads and stores |
//! | any other, while its process waits inside the library | requests in shared memory, which that process answers (`mailbox.rs`) |
//! | any other | single copies by the kernel ([`isthmus_transfer`]) |
//! | any other, where these are refused | messages, which the target's progress serves |
//! | any on another node | long puts and gets by the network's RMA where it has some (`direct.rs`), else the same messages |
//!
//! But for the last two rows nothing needs the target to call anything, and an operation is over when its call comes back, unless it is left to
//! a target that will wait for it ([`Flow::deferred_put`]). What is with another node goes on, and is completed by [`Flow::flush`] or, for what one
//! call has started, by a [`Scope`] (docs/decisions/0217).
//!
//! # Atomicity
//! Accumulates, fetch-and-op and compare-and-swap are atomic for each element, whoever makes them, by one rule, which depends on
//! the region and the element only ([`Atomicity`]): the CPU's atomic instructions, where all who access the region have them for
//! this element and nobody has made a long accumulate yet, else a lock of the owner's table, which is chosen by the element's address in the
//! owner (`locks.rs`).
//! Puts and gets are atomic for naturally aligned elements up to 8 bytes where the memory is mapped, and promise nothing else.
//!
//! None of the functions here may be called by a thread that is inside the engine (has an [`Entered`](crate::Entered)).

mod accumulate;
mod active;
mod atomic;
mod both_ends;
mod bounce;
mod combine;
mod direct;
mod execute;
mod flow;
mod flow_id;
mod locks;
mod long;
mod mailbox;
mod notify;
mod progressing;
pub mod protocols;
mod region;
mod scope;
mod service;
mod shared;
mod target;

use std::sync::OnceLock;

use isthmus_shm::Segment;

use crate::membership::own;
use crate::memory::heap;
use crate::{Error, Result};

pub use active::{Handler, Layer, Served, ask, handle_active, tell};
pub use atomic::RowCombine;
pub use combine::{Class, Combine, Operator};
pub use direct::overtakes;
pub use flow::Flow;
pub use flow_id::Scope;
pub use mailbox::finish_left;
pub(crate) use mailbox::serve;
pub use notify::{look_briefly, notify, published, wait_for, wake};
pub(crate) use progressing::Progressing;
pub use region::{Atomicity, Region, RegionKey, deregister, register, register_as};
pub(crate) use service::{Asked, Call, Moving, Serving, Unanswered};
pub use service::{send_if_idle, send_kept, serve_others};
pub use shared::{give_shared, shared_at, take_shared};
pub use target::Target;

/// What never changes of this process in its job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessContext {
    pub segment: &'static Segment,
    pub me: u32,
    /// Fence between publishing something and looking whether its reader sleeps.
    pub fence_needed: bool,
}

static HOME: OnceLock<ProcessContext> = OnceLock::new();

#[inline]
pub(crate) fn home() -> Result<&'static ProcessContext> {
    match HOME.get() {
        Some(home) => Ok(home),
        None => find_home(),
    }
}

#[cold]
fn find_home() -> Result<&'static ProcessContext> {
    let (Some(world), Some(segment)) = (own::world(), heap::segment()) else {
        return Err(Error::Boot(
            "one-sided operations before the process has joined its job".into(),
        ));
    };
    Ok(HOME.get_or_init(|| ProcessContext {
        segment,
        me: world.rank,
        fence_needed: own::fence_needed(),
    }))
}

/// Which node a process is on; processes of one node have the same.
pub fn node_of(peer: crate::types::Peer) -> u32 {
    home().map_or(0, |home| match peer.0 < home.segment.ranks() {
        true => home.segment.node_of(peer.0),
        false => 0,
    })
}

/// Is this process declared dead? Does not enter the engine.
pub fn has_died(peer: crate::types::Peer) -> bool {
    home().is_ok_and(|home| is_dead(home.segment, peer.0))
}

/// Is this process declared dead?
pub(crate) fn is_dead(segment: &Segment, rank: u32) -> bool {
    (0..segment.failed()).any(|index| segment.failure(index).rank == rank)
}
