//! A thread that waits for the network while its rank sleeps, and rings the rank's doorbell.
//!
//! So there is one place to sleep, whatever is awaited, and whoever wakes a rank of its node knows nothing of networks. The thread
//! touches nothing but the doorbell; it is armed for one event before each sleep, and costs nothing while the rank is awake
//! (docs/decisions/0048).

use std::os::fd::AsFd;
use std::sync::Arc;

use isthmus_os::epoll::Once;
use isthmus_os::thread;
use isthmus_shm::Doorbell;

/// Watches one descriptor.
#[derive(Debug)]
pub struct Watch {
    once: Arc<Once>,
}

impl Watch {
    /// Ring this doorbell when the descriptor is readable and the watch is [armed](Self::arm). `None`: the machine has no more
    /// threads or descriptors; then who sleeps looks often.
    pub fn start(descriptor: impl AsFd, bell: &'static Doorbell) -> Option<Self> {
        let once = Arc::new(Once::new(descriptor).ok()?);
        let theirs = once.clone();
        let watch = move || {
            while theirs.wait().is_ok() {
                // SYNC: doorbell
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                if bell.ring() {
                    bell.wake();
                }
            }
        };
        thread::start_quiet("isthmus-network", watch).then_some(Self { once })
    }

    /// Ring at the next chance, once.
    pub fn arm(&self) -> bool {
        self.once.arm().is_ok()
    }
}
