//! First frames of a connection to another node, which may be lost without a word until the peer has answered
//! ([`crate::channel::network`]), though the call that sent them is over: whoever leaves the engine waits for the answer for a moment, and
//! where that does not come a thread makes progress while the program computes (docs/decisions/0102).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use isthmus_shm::backoff::ShortWait;

use crate::duties::{self, Duties};
use crate::limits::FLUSHED_WITHIN;
use crate::progress::attend;
use crate::progress::gate::enter;

/// Who makes progress has answered by then.
const PATIENCE: Duration = Duration::from_micros(FLUSHED_WITHIN);

/// Somebody waits.
static IN_HAND: AtomicBool = AtomicBool::new(false);

/// The calling thread has left the engine.
#[cold]
pub fn first_frames() {
    if attend::attends_first_frames() || IN_HAND.swap(true, Ordering::SeqCst) {
        return;
    }
    duties::take(Duties::SEE_OFF);
    let begun = Instant::now();
    let mut wait = ShortWait::default();
    while !are_answered() {
        if begun.elapsed() >= PATIENCE {
            attend::attend_first_frames();
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
