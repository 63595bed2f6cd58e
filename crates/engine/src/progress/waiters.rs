//! Several threads that wait.
//!
//! One of them *polls*: it makes progress, and looks whether what it waits for has come, as a thread that is alone does
//! ([`crate::progress::wait`]). The others *rest*: they sleep on the rank's doorbell, and have left behind how to see whether what
//! they wait for has come. A thread that has been inside and has changed something looks for them on its way out, and wakes
//! exactly the threads whose condition holds: no thread wakes needlessly, and none waits for a bound.
//!
//! A polling thread whose wait has ended leaves without a successor. It arms the doorbell instead, so that the next
//! sender wakes one of the resting threads, which then polls. That costs a fence, and no change of threads as long as nothing
//! comes; a needless wake of a thread would cost more.
//!
//! The rule that all of it keeps: *when nobody is inside and somebody rests, then somebody polls, or the doorbell is
//! armed and was armed before the last look, or one resting thread is awake and on its way inside.*

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use isthmus_os::switches::Switch;
use isthmus_os::{clock, cpu};
use isthmus_shm::Doorbell;
use isthmus_shm::backoff::{Backoff, LOOKS_AT_QUEUE, Next, ROUNDS_FOR_OTHERS, UNORDERED_SLEEP};
use isthmus_shm::occupancy;

use crate::channel::network;
use crate::membership::launcher;
use crate::progress::awaited::{self, Showing};
use crate::progress::beside_others;
use crate::progress::first_frames;
use crate::progress::gate;
use crate::progress::placement;
use crate::progress::wait::step;
use crate::progress::wakes::{self, yield_cpu};
use crate::rma::Progressing;
use crate::watches::{self, longest_sleep};
use crate::{Entered, Guarded, counters};

/// Sees whether what a thread waits for has come, and takes it.
pub(crate) type Look<'a> = &'a mut (dyn FnMut(&mut Entered) -> bool + Send);

/// A thread that rests, or is about to.
struct Resting {
    /// Its [`Look`], which it does not touch before `done` or before it has taken this entry away itself.
    look: NonNull<dyn FnMut(&mut Entered) -> bool + Send>,
    /// Raised once it has got what it waited for, when the entry is gone.
    done: NonNull<AtomicBool>,
    /// Under which it rests on the doorbell: its own, unless there are very many.
    bit: u32,
}

// SAFETY: what the pointers name is made for use by other threads (`Send`, an atomic), and lives on the stack of a thread
// that does not return before it has seen `done`, or has taken the entry away.
unsafe impl Send for Resting {}

struct Waiters {
    /// Longest first.
    resting: Vec<Resting>,
    /// Does a thread poll?
    polling: bool,
    /// This sleep must be short: the kernel has begun to refuse membarrier.
    unordered: bool,
}

static WAITERS: Guarded<Waiters> = Guarded::new(Waiters {
    resting: Vec::new(),
    polling: false,
    unordered: false,
});

/// Does a thread poll? For those who rest.
static POLLED: AtomicBool = AtomicBool::new(false);
/// Threads that will look at [`POLLED`] once more before they sleep.
static LINGERING: AtomicU32 = AtomicU32::new(0);

/// The threads to wake once the lock is free.
#[must_use]
pub(crate) struct Wake {
    bits: u32,
    /// One of the resting threads shall poll.
    someone: bool,
    /// `None`: nobody.
    bell: Option<&'static Doorbell>,
}

impl Wake {
    pub(crate) fn now(self) {
        if let Some(bell) = self.bell {
            bell.call(self.bits, self.someone);
        }
    }
}

/// What a thread does on its way out, beyond what [`gate`] does.
impl Entered {
    /// As it is dropped, where there is something to be done.
    #[inline(never)]
    pub(super) fn leave(&mut self) {
        self.release_if_locked();
        if Switch::FirstFrames.is_on() {
            first_frames::flush();
        }
    }

    #[inline(never)]
    pub(super) fn unlock(&mut self) {
        let wake = settle(self);
        self.release();
        wake.now();
    }
}

/// On the way out: look for resting threads, or make another thread do so.
#[inline]
pub(crate) fn settle(inside: &mut Entered) -> Wake {
    if WAITERS.get(inside).resting.is_empty() {
        return Wake {
            bits: 0,
            someone: false,
            bell: None,
        };
    }
    settle_for_others(inside)
}

#[inline(never)]
fn settle_for_others(inside: &mut Entered) -> Wake {
    let bell = bell(inside);
    let (mut bits, mut someone) = (0, false);
    if inside.engine().take_events() {
        bits |= look_for_all(inside);
        someone = inside.advance_background().is_some();
    }
    let waiters = WAITERS.get(inside);
    if waiters.resting.is_empty() {
        // The next thread arms it.
        bell.stay_awake();
        someone = false;
    } else if waiters.polling {
        someone = false;
    } else {
        // SYNC: waiters-polled
        POLLED.store(false, Ordering::SeqCst);
        if !someone && !bell.is_armed() && LINGERING.load(Ordering::SeqCst) == 0 {
            let (more, quiet) = arm(inside, bell);
            bits |= more;
            someone = !quiet;
        }
        if someone {
            bell.stay_awake();
        }
    }
    Wake {
        bits,
        someone,
        bell: (someone || bits != 0).then_some(bell),
    }
}

/// Arm the doorbell, and look once more. The threads to wake, and whether there is nothing left to do.
fn arm(inside: &mut Entered, bell: &Doorbell) -> (u32, bool) {
    WAITERS.get(inside).unordered = !bell.prepare_to_sleep();
    counters::FENCES.add(1);
    let mut bits = 0;
    for _ in 0..ROUNDS_FOR_OTHERS.count() {
        let moved = inside.engine().progress();
        let due = inside.advance_background().is_some();
        // In any case: some wait for changes of shared memory only.
        inside.engine().take_events();
        bits |= look_for_all(inside);
        if due {
            return (bits, false);
        }
        if !moved {
            // Not every round of progress looks at the network. This one does, or has it ring the bell.
            return (bits, !inside.engine().has_work());
        }
    }
    (bits, false)
}

/// The threads to wake, because their conditions hold.
fn look_for_all(inside: &mut Entered) -> u32 {
    let mut bits = 0;
    let mut resting = std::mem::take(&mut WAITERS.get(inside).resting);
    resting.retain_mut(|waiter| {
        // SAFETY: the entry is there, so its thread leaves what it names alone, and alive; we are inside, so nobody else
        // looks.
        let ready = unsafe { waiter.look.as_mut()(inside) };
        if ready {
            bits |= waiter.bit;
            // SAFETY: as above. From here on the thread may return, and the entry is gone.
            // SYNC: waiters-done
            unsafe { waiter.done.as_ref() }.store(true, Ordering::Release);
        }
        !ready
    });
    WAITERS.get(inside).resting = resting;
    bits
}

fn bell(inside: &mut Entered) -> &'static Doorbell {
    let engine = inside.engine();
    engine.slot().doorbell()
}

/// Wait until `look` sees what it looks for. Blocks.
#[inline(never)]
pub(crate) fn wait(inside: &mut Entered, look: Look<'_>) {
    let mut backoff = Backoff::new(network::looks());
    let mut showing = Showing::default();
    loop {
        if !WAITERS.get(inside).polling && poll(inside, look, &mut backoff) {
            break;
        }
        if showing.is_due(inside) {
            let behind = awaited::take_said(inside);
            if look(inside) {
                break;
            }
            showing.show(inside, behind);
        }
        if rest(inside, look) {
            break;
        }
    }
    showing.end(inside);
}

/// Poll, until what `look` looks for has come (true), the limits are reached, or somebody else polls.
fn poll(inside: &mut Entered, look: Look<'_>, backoff: &mut Backoff) -> bool {
    start_polling(inside);
    if !WAITERS.get(inside).resting.is_empty() {
        // What woke us may be for others, and show in shared memory only.
        inside.notice();
        inside.outside(|| {});
    }
    let mut progressing = Progressing::begin();
    let mut has_own_cpu = beside_others::has_own_cpu(inside.engine());
    loop {
        let moved = inside.engine().progress();
        if let Some(call_out) = inside.advance_background() {
            // User code may take its time, and wait itself.
            WAITERS.get(inside).polling = false;
            inside.outside(call_out);
            if look(inside) {
                return true;
            }
            if WAITERS.get(inside).polling {
                return false;
            }
            start_polling(inside);
            backoff.on_progress(network::looks());
            continue;
        }
        if look(inside) {
            WAITERS.get(inside).polling = false;
            return true;
        }
        if moved {
            backoff.on_progress(network::looks());
            if inside.is_wanted() || !WAITERS.get(inside).resting.is_empty() {
                inside.outside(be_courteous);
            }
            continue;
        }
        let oversubscribed = is_oversubscribed(inside) && !has_own_cpu;
        match step(inside, backoff, oversubscribed) {
            Next::Look | Next::Spin if inside.is_wanted() => inside.outside(be_courteous),
            Next::Look | Next::Spin => std::hint::spin_loop(),
            Next::CompareCpus => {
                placement::leave_shared_cpu(inside.engine());
                has_own_cpu = beside_others::has_own_cpu(inside.engine());
            }
            Next::Yield => {
                // Some wait for what only shared memory shows.
                inside.notice();
                let slot = inside.engine().slot();
                if !oversubscribed {
                    inside.outside(|| yield_cpu(slot));
                } else {
                    let yielded = progressing.pause(|| inside.outside(|| beside_others::yield_cpu(slot)));
                    beside_others::after(inside.engine(), yielded);
                    has_own_cpu = beside_others::has_own_cpu(inside.engine());
                }
            }
            Next::Sleep => {
                WAITERS.get(inside).polling = false;
                return false;
            }
        }
    }
}

fn start_polling(inside: &mut Entered) {
    WAITERS.get(inside).polling = true;
    POLLED.store(true, Ordering::Relaxed);
    if !WAITERS.get(inside).resting.is_empty() {
        bell(inside).stay_awake();
    }
}

/// Threads that waited for the lock get it before us.
fn be_courteous() {
    for _ in 0..LOOKS_AT_QUEUE.count() {
        if gate::queued() == 0 {
            return;
        }
        std::hint::spin_loop();
    }
    cpu::yield_now();
}

/// Would spinning take the CPU from a rank that could use it? If every rank has as many threads here as we.
fn is_oversubscribed(inside: &mut Entered) -> bool {
    let threads = 1 + WAITERS.get(inside).resting.len() as u32 + gate::queued();
    occupancy::is_oversubscribed_by(threads)
}

/// Rest until what `look` looks for has come (true), or it is our turn to poll.
fn rest(inside: &mut Entered, look: Look<'_>) -> bool {
    let lingers = WAITERS.get(inside).polling && !is_oversubscribed(inside);
    let waiters = WAITERS.get(inside);
    let taken = waiters.resting.iter().fold(0, |bits, other| bits | other.bit);
    let bit = 1 << (!taken).trailing_zeros().min(u32::BITS - 1);
    let limit = if waiters.unordered {
        UNORDERED_SLEEP.time()
    } else {
        longest_sleep()
    };
    let done = AtomicBool::new(false);
    let address = NonNull::from(&done);
    // SAFETY: only the lifetime changes, and the entry is gone when this returns.
    let lasting = unsafe {
        std::mem::transmute::<
            NonNull<dyn FnMut(&mut Entered) -> bool + Send + '_>,
            NonNull<dyn FnMut(&mut Entered) -> bool + Send + 'static>,
        >(NonNull::from(&mut *look))
    };
    waiters.resting.push(Resting {
        look: lasting,
        done: address,
        bit,
    });
    counters::SLEEPS.add(1);
    let bell = bell(inside);
    if lingers {
        LINGERING.fetch_add(1, Ordering::SeqCst);
    }
    let timed_out = inside.outside(|| {
        if lingers {
            linger(&done);
            // SYNC: waiters-polled
            LINGERING.fetch_sub(1, Ordering::SeqCst);
        }
        bell.rest(bit, &done, &POLLED, clock::now() + limit)
    });
    // SYNC: waiters-done
    if done.load(Ordering::Acquire) {
        return true;
    }
    let waiters = WAITERS.get(inside);
    waiters.resting.retain(|waiter| waiter.done != address);
    if timed_out {
        let nobody_polls = !waiters.polling;
        let engine = inside.engine();
        launcher::check_lifeline(engine.membership.lifeline(), engine.me);
        // In this order: once the bell has been rung, the thread that it woke is on its way.
        if nobody_polls && !watches::are_there() && engine.has_work() && bell.is_armed() {
            counters::LOST_WAKES.add(1);
        }
    }
    look(inside)
}

/// With a CPU for everybody, what comes is seen by the thread that polls, and told, in a fraction of the time that a sleep
/// takes.
fn linger(done: &AtomicBool) {
    let until = clock::now() + wakes::spin();
    while clock::now() < until {
        for _ in 0..64 {
            if done.load(Ordering::Relaxed) || !POLLED.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
    }
}
