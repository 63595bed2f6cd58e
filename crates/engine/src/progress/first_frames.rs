//! First frames of a connection to another node, which may be lost without a word until the peer has answered
//! ([`crate::channel::network`]), though the call that sent them is over: a thread that leaves the engine waits for the answer for a moment,
//! and where that does not come a thread of ours makes progress while the program computes (docs/decisions/0102).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use isthmus_os::switches::Switch;
use isthmus_shm::backoff::ShortWait;

use crate::limits::FLUSHED_WITHIN;
use crate::progress::gate::enter;
use crate::progress::thread;

/// A peer that makes progress has answered by then.
const LIMIT: Duration = Duration::from_micros(FLUSHED_WITHIN);

/// A thread waits for answers.
static IN_HAND: AtomicBool = AtomicBool::new(false);

/// The calling thread has left the engine.
#[cold]
pub fn flush() {
    if thread::flushes_first_frames() || IN_HAND.swap(true, Ordering::SeqCst) {
        return;
    }
    Switch::FirstFrames.turn_off();
    let begun = Instant::now();
    let mut wait = ShortWait::default();
    while !are_answered() {
        if begun.elapsed() >= LIMIT {
            thread::flush_first_frames();
            break;
        }
        wait.pause();
    }
    IN_HAND.store(false, Ordering::SeqCst);
}

/// After a round of progress.
fn are_answered() -> bool {
    let mut inside = enter();
    inside.engine().progress();
    !inside.engine().has_unanswered_first_frames()
}
