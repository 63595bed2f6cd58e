//! The pause of the thread that makes progress while the program computes, which ends early where the program has started something long
//! (docs/decisions/0228).

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Something long was started since the thread has seen that last.
static HURRIED: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Something long was started that the program may compute beside: the thread goes on with it at once, not after the rest of its pause. Costs a
/// call of the system where the thread pauses.
#[cold]
pub(crate) fn hurry() {
    let mut hurried = HURRIED.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut *hurried, true) {
        HURRIED.1.notify_one();
    }
}

/// Sleep so long, or until the thread is to [`hurry`]: true.
pub(crate) fn pause(most: Duration) -> bool {
    let hurried = HURRIED.0.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = HURRIED.1.wait_timeout_while(hurried, most, |hurried| !*hurried);
    let (mut hurried, _) = ended.unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *hurried)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also one that came before the pause began, once.
    #[test]
    fn a_pause_ends_when_something_long_is_started() {
        hurry();
        assert!(pause(Duration::from_secs(60)));
        assert!(!pause(Duration::from_millis(1)));
        let other = std::thread::spawn(|| pause(Duration::from_secs(60)));
        hurry();
        assert!(other.join().expect("it does not panic"));
    }
}
