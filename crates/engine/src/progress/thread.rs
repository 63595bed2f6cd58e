//! A thread that makes progress while the program computes, so that ranks on other nodes are served (docs/decisions/0071).
//!
//! It waits for the network's descriptor, as [`crate::channel::network`]'s watch does for sleepers, and takes what has come if nobody else
//! looks at the network. While the program itself looks, the thread sleeps for [`PAUSE`] at a time; while nothing comes it sleeps for good. It
//! [hurries](crate::channel::hurry) where the program has started something long and a CPU is free for it.
//!
//! There is one while it is asked for ([`ProgressThread`]), with the lock that several threads need. Where first frames ask for it
//! ([`super::first_frames`]) that ends as soon as they are answered.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, Once as Start, PoisonError};
use std::time::Duration;

use isthmus_os::epoll::Once;
use isthmus_os::thread;

use crate::channel::{hurry, network};
use crate::progress::gate::{Entered, allow_threads, enter};
use crate::tunables;

/// So long after somebody else has looked at the network nobody is awaited.
const PAUSE: Duration = Duration::from_millis(1);
/// As long as first frames are unanswered there may be something to ask though nothing comes.
const UNANSWERED: Duration = Duration::from_millis(200);
/// Rounds of progress in a row, at most: an entering thread waits as long.
const ROUNDS: u32 = 64;

/// How many ask for it. Falls to 0 only with the engine's lock held.
static ASKED: AtomicU32 = AtomicU32::new(0);
/// First frames are among them.
static FIRST_FRAMES: AtomicBool = AtomicBool::new(false);
static PARKED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

/// As long as there is one, ranks on other nodes are served also while the program calls nothing.
#[derive(Debug)]
pub struct ProgressThread(());

impl ProgressThread {
    /// From now on. `None`: the job is on one node, the tunable `progress_thread` says no, or the machine has no more threads. The calling
    /// thread must not be inside the engine, nor any other.
    pub fn begin() -> Option<Self> {
        static START: Start = Start::new();
        static RUNS: AtomicU32 = AtomicU32::new(0);
        if tunables::PROGRESS_THREAD.get() == 0 {
            return None;
        }
        START.call_once(|| {
            let Some(once) = enter().engine().watch_network() else {
                return;
            };
            allow_threads();
            let runs = thread::start_quiet("isthmus-progress", move || run(&once));
            RUNS.store(u32::from(runs), Ordering::Relaxed);
        });
        (RUNS.load(Ordering::Relaxed) != 0).then(|| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            let _parked = PARKED.0.lock().unwrap_or_else(PoisonError::into_inner);
            PARKED.1.notify_all();
            Self(())
        })
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        // With the lock: from now on the thread does not touch the network, which may end.
        let _inside = enter();
        ASKED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Make progress until those who were sent first frames have answered. The calling thread must not be inside the engine.
pub(super) fn flush_first_frames() {
    if FIRST_FRAMES.swap(true, Ordering::SeqCst) {
        return;
    }
    match ProgressThread::begin() {
        Some(asked) => std::mem::forget(asked),
        None => FIRST_FRAMES.store(false, Ordering::SeqCst),
    }
}

/// Does the thread do that?
pub(super) fn flushes_first_frames() -> bool {
    FIRST_FRAMES.load(Ordering::SeqCst)
}

/// No longer: they are answered, or this process leaves the job.
pub(crate) fn leave_first_frames(_inside: &mut Entered) {
    if FIRST_FRAMES.swap(false, Ordering::SeqCst) {
        ASKED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does anybody still ask for the thread?
fn is_asked(inside: &mut Entered) -> bool {
    if flushes_first_frames() && !inside.engine().has_unanswered_first_frames() {
        leave_first_frames(inside);
    }
    ASKED.load(Ordering::SeqCst) != 0
}

fn run(once: &Once) {
    let mut seen = network::looks();
    loop {
        park();
        let now = network::looks();
        if now != seen {
            seen = now;
            if !hurry::pause(PAUSE) {
                continue;
            }
            // What the program has looked at until it started that is no sign that it still looks.
            seen = network::looks();
        }
        {
            let mut inside = enter();
            if !is_asked(&mut inside) {
                continue;
            }
            if inside.engine().has_asked() {
                // A pending answer may become possible without input from the network: a lock that is given back here.
                drop(inside);
                std::thread::sleep(PAUSE);
            } else if inside.engine().network_may_sleep() && once.arm().is_ok() {
                drop(inside);
                let limit = flushes_first_frames().then_some(UNANSWERED);
                if once.wait_for(limit).is_err() {
                    return;
                }
            }
        }
        if network::looks() != seen {
            continue;
        }
        let mut inside = enter();
        if !is_asked(&mut inside) {
            continue;
        }
        for _ in 0..ROUNDS {
            // That nothing moved says little: the network is not looked at in every round.
            inside.engine().progress();
            if inside.is_wanted() {
                break;
            }
        }
        inside.engine().go_on_with_calls();
        // What we have done ourselves is no sign of the program.
        seen = network::looks();
    }
}

/// Wait until somebody asks for us.
fn park() {
    let mut parked = PARKED.0.lock().unwrap_or_else(PoisonError::into_inner);
    while ASKED.load(Ordering::SeqCst) == 0 {
        parked = PARKED.1.wait(parked).unwrap_or_else(PoisonError::into_inner);
    }
}
