//! The one way to wait: spin while it pays, yield, then sleep on the rank's one doorbell.
//!
//! How long comes from the ranks of this node against the CPUs that they may use, not from a flag the user must find.
//! With a CPU for every rank a message is a fraction of a microsecond away, so spinning pays, and a rank leaves a CPU that another rank is on
//! ([`crate::progress::placement`]); with more ranks than CPUs
//! the peer may need *our* CPU to make progress, so it is given away after a few looks: after one if a rank that is awaited shows
//! that it has none, after many if all have one. See [`isthmus_shm::backoff`].
//!
//! Here stands how a thread waits that is the only one inside MPI; how several do, in [`crate::progress::waiters`].

use std::sync::atomic::{Ordering, fence};

use isthmus_os::clock;
use isthmus_shm::backoff::{Backoff, LATE_WAKE, Next, UNORDERED_SLEEP};
use isthmus_shm::occupancy;
use isthmus_shm::slot::Cause;

use crate::channel::network;
use crate::membership::launcher;
use crate::memory::heap;
use crate::progress::awaited::{self, Showing};
use crate::progress::beside_others;
use crate::progress::placement;
use crate::progress::waiters;
use crate::progress::wakes::{learn_wake, yield_cpu};
use crate::rma::Progressing;
use crate::watches::{self, longest_sleep};
use crate::{ContextId, Entered, Peer, Result, allows_threads, counters, enter};

/// Enter, and [wait](Entered::wait). Blocks.
pub fn wait_until<T: Send>(ready: impl FnMut(&mut Entered) -> Option<T> + Send) -> Result<T> {
    enter().wait(ready)
}

/// Wake `peer` if it sleeps in a [wait](Entered::wait): a word in shared memory that it waits for has changed. Does not block.
pub fn ring(peer: Peer) {
    let Some(segment) = heap::segment() else { return };
    if peer.0 < segment.ranks() {
        // SYNC: doorbell
        fence(Ordering::SeqCst);
        if segment.slot(peer.0).doorbell().alert() {
            counters::WAKES.add_anywhere(1);
        }
    }
}

impl Entered {
    /// The wait that is under way is for what is no message, in a collective call of this message space: for people who ask.
    pub fn waits_in_collective(&mut self, context: ContextId) {
        let peer = match self.engine().cause {
            Cause::Comes(peer) | Cause::Collective(Some(peer), _) => Some(peer),
            _ => None,
        };
        self.engine().cause = Cause::Collective(peer, context.0);
    }

    /// As [`waits_for`](Self::waits_for), in a routine of this name, whose entry may not be on the stack.
    #[inline]
    pub fn waits_in(&mut self, routine: &'static str, cause: Cause) {
        self.engine().routine = routine;
        self.engine().cause = cause;
    }

    /// The wait that is under way is for this: for people who ask. Said by `ready` whenever it has no answer.
    #[inline]
    pub fn waits_for(&mut self, cause: Cause) {
        self.engine().cause = cause;
    }

    /// Make progress until `ready` answers. Lets other threads in meanwhile, which may call `ready` for us: it must not
    /// leave the engine, nor call user code; what is under way in the background may. Blocks.
    #[inline]
    pub fn wait<T: Send>(&mut self, ready: impl FnMut(&mut Self) -> Option<T> + Send) -> Result<T> {
        self.wait_asking(Asks::Always, ready)
    }

    /// As [`wait`](Self::wait), for what the engine's operations tell: `ready` is seldom asked while nothing moves.
    #[inline]
    pub fn wait_for_operations<T: Send>(&mut self, ready: impl FnMut(&mut Self) -> Option<T> + Send) -> Result<T> {
        self.wait_asking(Asks::WhenMoved, ready)
    }

    #[inline]
    fn wait_asking<T: Send>(&mut self, asks: Asks, mut ready: impl FnMut(&mut Self) -> Option<T> + Send) -> Result<T> {
        loop {
            if let Some(value) = ready(self) {
                return Ok(value);
            }
            if !self.engine().progress() || self.has_background() {
                break;
            }
        }
        Ok(wait_long(self, asks, &mut ready))
    }
}

/// When it is asked whether what is awaited has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// In every round: it may show in shared memory only.
    Always,
    /// When something has moved, and every so often.
    WhenMoved,
}

/// So many rounds in which nothing moved may pass before it is asked anyway. A power of two.
const SELDOM: u32 = 8;

#[inline(never)]
fn wait_long<T: Send>(
    inside: &mut Entered,
    asks: Asks,
    ready: &mut (dyn FnMut(&mut Entered) -> Option<T> + Send),
) -> T {
    if allows_threads() {
        let mut value = None;
        waiters::wait(inside, &mut |inside| {
            value = ready(inside);
            value.is_some()
        });
        return value.expect("the wait ends when there is a value");
    }
    let mut oversubscribed = shares_cpu(inside);
    let mut backoff = Backoff::new(network::looks());
    let mut showing = Showing::default();
    let mut progressing = Progressing::begin();
    let mut rounds = 0_u32;
    loop {
        let mut moved = inside.engine().progress();
        rounds = rounds.wrapping_add(1);
        let due = asks == Asks::Always || inside.has_background() || rounds.is_multiple_of(SELDOM);
        if let Some(call_out) = inside.advance_background() {
            inside.outside(call_out);
            moved = true;
        }
        if (moved || due)
            && let Some(value) = ready(inside)
        {
            showing.end(inside);
            return value;
        }
        if moved {
            backoff.on_progress(network::looks());
            continue;
        }
        match step(inside, &mut backoff, oversubscribed) {
            Next::Look | Next::Spin => std::hint::spin_loop(),
            Next::CompareCpus => {
                placement::leave_shared_cpu(inside.engine());
                oversubscribed = shares_cpu(inside);
            }
            // Beside looks at the network only.
            Next::Yield if !oversubscribed => yield_cpu(inside.engine().slot()),
            Next::Yield => {
                let slot = inside.engine().slot();
                let yielded = progressing.pause(|| beside_others::yield_cpu(slot));
                beside_others::after(inside.engine(), yielded);
                oversubscribed = shares_cpu(inside);
            }
            Next::Sleep => {
                if showing.is_due(inside) {
                    let behind = awaited::take_said(inside);
                    if let Some(value) = ready(inside) {
                        return value;
                    }
                    showing.show(inside, behind);
                }
                if let Some(value) = progressing.pause(|| sleep(inside, ready, oversubscribed.then_some(&mut backoff)))
                {
                    showing.end(inside);
                    return value;
                }
                oversubscribed = shares_cpu(inside);
            }
        }
    }
}

/// Does another rank need the CPU of this one?
#[inline]
fn shares_cpu(inside: &mut Entered) -> bool {
    occupancy::is_oversubscribed() && !beside_others::has_own_cpu(inside.engine())
}

/// What to do after a round of progress in which nothing moved, counted.
#[inline(always)]
pub(super) fn step(inside: &mut Entered, backoff: &mut Backoff, oversubscribed: bool) -> Next {
    if backoff.looks_again(oversubscribed, network::looks()) {
        return Next::Look;
    }
    long_idle(inside, backoff, oversubscribed)
}

#[inline(never)]
fn long_idle(inside: &mut Entered, backoff: &mut Backoff, oversubscribed: bool) -> Next {
    let engine = inside.engine();
    let activity = || engine.activity_of_awaited();
    let facts = || beside_others::facts(engine, oversubscribed);
    let next = backoff.on_long_idle(oversubscribed, network::looks(), activity, facts, clock::now);
    let off_cpu = backoff.take_off_cpu();
    if !off_cpu.is_zero() {
        counters::OFF_CPU_US.add(off_cpu.as_micros() as u64);
    }
    let is_new = matches!(next, Next::CompareCpus | Next::Sleep) && !oversubscribed && find_others(inside);
    match next {
        // The awaited rank may be off its CPU.
        Next::Sleep if is_new => return Next::Spin,
        Next::Look | Next::Sleep => {}
        Next::Spin | Next::CompareCpus => counters::SPINS.add(1),
        Next::Yield => counters::YIELDS.add(1),
    }
    next
}

/// Is it new that other processes take CPUs of ranks now and then? What this thread knows of that is shown to other ranks.
#[cold]
fn find_others(inside: &mut Entered) -> bool {
    let engine = inside.engine();
    occupancy::find_others(|taken, now| {
        engine.slot().show_taken(taken, now);
        let segment = engine.segment;
        (0..segment.ranks()).filter_map(move |rank| segment.slot(rank).taken(now))
    })
}

/// Sleep on the doorbell, unless what is awaited, or anything else, came meanwhile. What is awaited, if it came. `backoff` learns that somebody
/// has woken it.
#[cold]
fn sleep<T>(
    inside: &mut Entered,
    ready: &mut dyn FnMut(&mut Entered) -> Option<T>,
    backoff: Option<&mut Backoff>,
) -> Option<T> {
    let engine = inside.engine();
    launcher::check_lifeline(engine.membership.lifeline(), engine.me);
    let doorbell = engine.slot().doorbell();
    let ordered = doorbell.prepare_to_sleep();
    counters::FENCES.add(1);
    let value = ready(inside);
    if value.is_some() || inside.engine().has_work() || inside.engine().flush_backlog() {
        doorbell.stay_awake();
        return value;
    }
    counters::SLEEPS.add(1);
    let limit = if ordered {
        longest_sleep()
    } else {
        UNORDERED_SLEEP.time()
    };
    placement::show(inside.engine().slot());
    let slept = inside.outside(|| doorbell.sleep(limit));
    placement::show(inside.engine().slot());
    if let Some(took) = slept.woken_after {
        if took >= LATE_WAKE.time() {
            counters::LATE_WAKES.add(1);
        }
        learn_wake(took);
    }
    match backoff {
        _ if slept.timed_out && !watches::are_there() && inside.engine().has_work() => counters::LOST_WAKES.add(1),
        Some(backoff) if !slept.timed_out => backoff.on_wake(),
        _ => {}
    }
    None
}
