//! The one way to wait: spin while it pays, yield, then sleep on the rank's one doorbell.
//!
//! How long comes from the ranks of this node against the CPUs that they may use, not from a flag the user must find.
//! With a CPU for every rank a message is a fraction of a microsecond away, so spinning pays; with more ranks than CPUs
//! the peer may need *our* CPU to make progress, so it is given away after a few looks.
//!
//! Here stands how a thread waits that is the only one inside MPI; how several do, in [`crate::waiters`].

use std::time::Duration;

use isthmus_os::{clock, cpu};

use crate::{Entered, Result, allows_threads, boot, counters, enter, tunables, waiters};

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;
/// Looks before the CPU is given away, when there are more ranks than CPUs.
const LOOKS_CROWDED: u32 = 4;
/// A sleep is never longer: a waker that died between two instructions must not hang us, nor a launcher that is gone.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// As long as one where the kernel refuses membarrier: a sender that does not fence may then miss that we sleep.
pub(crate) const SHORT_SLEEP: Duration = Duration::from_millis(1);

/// Enter, and [wait](Entered::wait). Blocks.
pub fn wait_until<T: Send>(ready: impl FnMut(&mut Entered) -> Option<T> + Send) -> Result<T> {
    enter().wait(ready)
}

impl Entered {
    /// Make progress until `ready` answers. Lets other threads in meanwhile, which may call `ready` for us: it must not
    /// leave the engine, nor call user code; what is under way in the background may. Blocks.
    #[inline]
    pub fn wait<T: Send>(&mut self, mut ready: impl FnMut(&mut Self) -> Option<T> + Send) -> Result<T> {
        loop {
            if let Some(value) = ready(self) {
                return Ok(value);
            }
            if !self.engine().progress() || self.has_background() {
                break;
            }
        }
        Ok(wait_patiently(self, &mut ready))
    }
}

#[inline(never)]
fn wait_patiently<T: Send>(inside: &mut Entered, ready: &mut (dyn FnMut(&mut Entered) -> Option<T> + Send)) -> T {
    if allows_threads() {
        let mut value = None;
        waiters::wait(inside, &mut |inside| {
            value = ready(inside);
            value.is_some()
        });
        return value.expect("the wait ends when there is a value");
    }
    let crowded = boot::is_crowded();
    let mut patience = Patience::default();
    loop {
        let mut moved = inside.engine().progress();
        if let Some(call_out) = inside.advance_background() {
            inside.outside(call_out);
            moved = true;
        }
        if let Some(value) = ready(inside) {
            return value;
        }
        if moved {
            patience.renew();
            continue;
        }
        match patience.lose(crowded) {
            Next::Look => std::hint::spin_loop(),
            Next::Yield => cpu::yield_now(),
            Next::Sleep => {
                if let Some(value) = sleep(inside, ready) {
                    return value;
                }
            }
        }
    }
}

/// What to do when there was nothing to see.
pub(crate) enum Next {
    /// Look again.
    Look,
    /// Give the CPU away, then look again.
    Yield,
    /// Sleep.
    Sleep,
}

/// How long a thread has looked in vain.
#[derive(Default)]
pub(crate) struct Patience {
    looks: u32,
    since: Option<Duration>,
}

impl Patience {
    /// Something has moved.
    #[inline]
    pub fn renew(&mut self) {
        *self = Self::default();
    }

    /// Nothing has moved.
    #[inline]
    pub fn lose(&mut self, crowded: bool) -> Next {
        self.looks = self.looks.wrapping_add(1);
        if crowded {
            if self.looks < LOOKS_CROWDED {
                return Next::Look;
            }
        } else if !self.looks.is_multiple_of(LOOKS) {
            return Next::Look;
        }
        let now = clock::now();
        let idle = now - *self.since.get_or_insert(now);
        if !crowded && idle < Duration::from_micros(tunables::SPIN_US.get()) {
            Next::Look
        } else if idle < Duration::from_micros(tunables::YIELD_US.get()) {
            Next::Yield
        } else {
            Next::Sleep
        }
    }
}

/// Sleep on the doorbell, unless what is awaited, or anything else, came meanwhile. What is awaited, if it came.
#[cold]
fn sleep<T>(inside: &mut Entered, ready: &mut dyn FnMut(&mut Entered) -> Option<T>) -> Option<T> {
    let engine = inside.engine();
    boot::check_lifeline(engine);
    let doorbell = engine.segment.slot(engine.me).doorbell();
    let ordered = doorbell.prepare_to_sleep();
    let value = ready(inside);
    if value.is_some() || inside.engine().has_work() || inside.engine().flush_backlog() {
        doorbell.stay_awake();
        return value;
    }
    counters::SLEEPS.add(1);
    let limit = if ordered { LONGEST_SLEEP } else { SHORT_SLEEP };
    let timed_out = inside.outside(|| doorbell.sleep(limit));
    if timed_out && inside.engine().has_work() {
        counters::LOST_WAKES.add(1);
    }
    None
}
