//! Threads of the library's own, which a program must not notice.

use crate::signal;

/// Start a thread to which no signal of the program is delivered. False: the machine has no more threads.
pub fn start_quiet(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    // A thread is born with the mask of the one that makes it.
    let before = signal::block_all();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(128 << 10)
        .spawn(body);
    before.set();
    thread.is_ok()
}
