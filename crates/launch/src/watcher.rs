//! Cleans up a job whose `mpiexec` was killed by SIGKILL: the kernel kills the ranks with it, but not their children.
//! A process beside `mpiexec` that waits for its end kills whoever has the job's name in its environment.
#![allow(unsafe_code)] // A process made without a program of its own.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use isthmus_engine::control::Nonce;
use isthmus_os::{child, signal};

use crate::process_tree;

/// How often it looks for more once it has found none, and how long it waits in between.
const ROUNDS: usize = 3;
const PAUSE: Duration = Duration::from_millis(10);
/// A process that lives on after so many rounds hangs in the kernel, or is another user's.
const MOST_ROUNDS: usize = 100;
/// How long `mpiexec` waits for its end. It takes no time, unless somebody has stopped it.
const LEAVE: Duration = Duration::from_secs(1);

/// Tells the watcher, when dropped, that the job has ended as it should, and waits until it has gone.
#[derive(Debug)]
pub struct Watcher {
    watcher: UnixStream,
}

impl Watcher {
    /// Begin to watch over the job. `None` where there are no more processes or descriptors: then nobody does. To be called while this
    /// process has one thread.
    pub fn begin(nonce: &Nonce) -> Option<Self> {
        let (watcher, mpiexec) = UnixStream::pair().ok()?;
        // SAFETY: there is one thread, so no lock is held; the child does what is safe anywhere, and never returns.
        match unsafe { child::fork_away(mpiexec.as_raw_fd()) } {
            Ok(true) => {
                watch(mpiexec, &nonce.to_string());
                isthmus_os::process::exit_now(0)
            }
            Ok(false) => Some(Self { watcher }),
            Err(_) => None,
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It has gone before only if somebody killed it.
        if self.watcher.write_all(b"done").is_ok() && self.watcher.set_read_timeout(Some(LEAVE)).is_ok() {
            let _ = self.watcher.read(&mut [0; 1]);
        }
    }
}

fn watch(mut mpiexec: UnixStream, job: &str) {
    // An error is an end, too.
    if mpiexec.read(&mut [0; 4]).is_ok_and(|said| said > 0) {
        return;
    }
    let mut empty = 0;
    for _ in 0..MOST_ROUNDS {
        let left = process_tree::with_variable("ISTHMUS_JOB", job);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty == ROUNDS {
            return;
        }
        for pid in left {
            let _ = signal::send(pid, libc::SIGKILL); // It may end at any moment.
        }
        std::thread::sleep(PAUSE);
    }
}
