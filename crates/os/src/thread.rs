//! Threads of the library's own, which a program must not notice.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::signal;

/// How many run.
static QUIET: AtomicUsize = AtomicUsize::new(0);

/// Threads of the library's own that run, or are about to.
pub fn quiet() -> usize {
    QUIET.load(Ordering::SeqCst)
}

thread_local! {
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Is the calling thread the library's own?
pub fn is_own() -> bool {
    OWN.get()
}

/// Start a thread to which no signal of the program is delivered. False: the machine has no more threads.
pub fn start_quiet(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    // A thread is born with the mask of the one that makes it.
    let before = signal::block_all();
    QUIET.fetch_add(1, Ordering::SeqCst);
    let body = move || {
        OWN.set(true);
        body();
        QUIET.fetch_sub(1, Ordering::SeqCst);
    };
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(128 << 10)
        .spawn(body);
    before.set();
    if thread.is_err() {
        QUIET.fetch_sub(1, Ordering::SeqCst);
    }
    thread.is_ok()
}
