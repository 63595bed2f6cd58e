//! Transfers by the provider's RMA that were started and not waited for. What the network gives up is asked for by calls.

use std::sync::atomic::{AtomicUsize, Ordering};

use isthmus_transfer::{Direction, Layout};

use super::{Listed, PIECE, message_for, spans_of};
use crate::counters;
use crate::engine::Engine;
use crate::rma::execute::What;
use crate::rma::flow_id::FlowId;

/// One of them.
#[derive(Debug)]
pub(crate) struct Moving {
    pub peer: u32,
    /// Its place among the network's transfers.
    pub place: usize,
    pub region: u32,
    /// Where it begins in the region, and here.
    pub at: u64,
    pub here: *mut u8,
    pub length: u64,
    pub direction: Direction,
    pub flows: Vec<FlowId>,
}

// SAFETY: the bytes are the operation's until it is over, and only the thread inside the engine touches them.
unsafe impl Send for Moving {}

/// Puts among them.
static LONG_PUTS: AtomicUsize = AtomicUsize::new(0);

/// May there be puts among them?
#[inline]
pub(super) fn has_long_puts() -> bool {
    LONG_PUTS.load(Ordering::Relaxed) != 0
}

impl Engine {
    /// It has started, and its call returns.
    pub(in crate::rma) fn keep_moving(&mut self, moving: Moving) {
        LONG_PUTS.fetch_add(usize::from(moving.direction == Direction::Push), Ordering::Relaxed);
        self.moving.push(moving);
        self.count_unanswered();
    }

    /// Take what is over.
    pub(super) fn take_moved(&mut self) {
        let mut at = 0;
        while at < self.moving.len() {
            let Some(well) = self.one_sided_over(self.moving[at].place) else {
                at += 1;
                continue;
            };
            let moved = self.moving.swap_remove(at);
            LONG_PUTS.fetch_sub(usize::from(moved.direction == Direction::Push), Ordering::Relaxed);
            match well {
                true => counters::NETWORK_RMA_BYTES.add(moved.length),
                false if self.has_failed(moved.peer) => self.note_failed(moved.peer, moved.flows),
                false => self.move_by_calls(&moved),
            }
        }
    }

    /// Any part of it may have been moved.
    #[cold]
    fn move_by_calls(&mut self, moving: &Moving) {
        for done in (0..moving.length).step_by(PIECE as usize) {
            let bytes = (moving.length - done).min(PIECE);
            let there = Listed::of(&Layout::contiguous(moving.at + done, bytes), 0..bytes);
            let here = moving.here.wrapping_add(done as usize);
            let (what, data, results) = match moving.direction {
                Direction::Push => {
                    // SAFETY: the caller leaves the bytes as they are until the operation is over.
                    let data = unsafe { std::slice::from_raw_parts(here, bytes as usize) };
                    (What::Put, data, Vec::new())
                }
                Direction::Pull => (What::Get, &[][..], spans_of(&Layout::local(here, bytes), 0..bytes)),
            };
            let message = message_for(moving.region, what, &there, None, 0, data);
            self.queue_message(moving.peer, message, results, moving.flows.clone());
        }
    }
}
