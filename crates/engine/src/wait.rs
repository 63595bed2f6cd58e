//! The one way to wait: spin while it pays, yield, then sleep on the rank's doorbell.
//!
//! How long comes from the ranks of this node against the CPUs that they may use, not from a flag the user must find.
//! With a CPU for every rank a message is a fraction of a microsecond away, so spinning pays; with more ranks than CPUs
//! the peer may need *our* CPU to make progress, so it is given away after a few looks.

use std::time::Duration;

use isthmus_os::{clock, cpu};

use crate::{Entered, Result, counters, enter, tunables};

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;
/// Looks before the CPU is given away, when there are more ranks than CPUs.
const LOOKS_CROWDED: u32 = 4;
/// A sleep is never longer: a waker that died between two instructions must not hang us, nor a launcher that is gone.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// As long as one where the kernel refuses membarrier: a sender that does not fence may then miss that we sleep.
const SHORT_SLEEP: Duration = Duration::from_millis(1);

/// Make progress until `ready` answers. Enters and leaves the engine for each look, so other threads get their turn.
/// `ready` must not call user code; what is under way in the background may. Blocks.
pub fn wait_until<T>(mut ready: impl FnMut(&mut Entered) -> Option<T>) -> Result<T> {
    let mut inside = enter();
    loop {
        if let Some(value) = ready(&mut inside) {
            return Ok(value);
        }
        if !inside.engine().progress() || inside.has_background() {
            break;
        }
    }
    wait_patiently(inside, &mut ready)
}

fn wait_patiently<T>(mut inside: Entered, ready: &mut dyn FnMut(&mut Entered) -> Option<T>) -> Result<T> {
    let crowded = crate::boot::is_crowded();
    let mut idle_since = None;
    let mut looks = 0u32;
    loop {
        let mut moved = inside.engine().progress();
        if let Some(call_out) = inside.advance_background() {
            inside.leave();
            call_out();
            inside = enter();
            moved = true;
        }
        if let Some(value) = ready(&mut inside) {
            return Ok(value);
        }
        if moved {
            idle_since = None;
            looks = 0;
            continue;
        }
        looks += 1;
        if crowded {
            if looks < LOOKS_CROWDED {
                std::hint::spin_loop();
                continue;
            }
        } else if !looks.is_multiple_of(LOOKS) {
            std::hint::spin_loop();
            continue;
        }
        let now = clock::now();
        let idle = now - *idle_since.get_or_insert(now);
        if idle < Duration::from_micros(tunables::SPIN_US.get()) && !crowded {
            continue;
        }
        if idle < Duration::from_micros(tunables::YIELD_US.get()) {
            cpu::yield_now();
            continue;
        }
        match sleep(inside, ready) {
            Ok(value) => return Ok(value),
            Err(token) => inside = token,
        }
    }
}

/// Sleep on the doorbell, unless what is awaited, or anything else, came meanwhile. `Ok`: it is ready.
#[cold]
fn sleep<T>(mut inside: Entered, ready: &mut dyn FnMut(&mut Entered) -> Option<T>) -> std::result::Result<T, Entered> {
    let engine = inside.engine();
    crate::boot::check_lifeline(engine);
    let doorbell = engine.segment.slot(engine.me).doorbell();
    let ordered = doorbell.prepare_to_sleep();
    let value = ready(&mut inside);
    if value.is_some() || inside.engine().has_work() || inside.engine().flush_backlog() {
        doorbell.stay_awake();
        return value.ok_or(inside);
    }
    counters::SLEEPS.add(1);
    inside.leave();
    let timed_out = doorbell.sleep(if ordered { LONGEST_SLEEP } else { SHORT_SLEEP });
    let mut inside = enter();
    if timed_out && inside.engine().has_work() {
        counters::LOST_WAKES.add(1);
    }
    Err(inside)
}
