//! Two ranks of a job that could have a CPU each do not share one.
//!
//! Beside other processes the kernel puts two ranks on one CPU now and then: a rank that is woken starts on the CPU of the rank that woke it,
//! and a rank that waits for its turn is pulled to a CPU on which a peer has just gone to sleep. Then one polls for what the other could only
//! send from the same CPU, until it sleeps, for each message. So a rank that has polled for some microseconds compares its CPU with those that
//! the others show in their slots, and moves if one that does not sleep shows the same (docs/decisions/0112). The affinity mask is what it was
//! afterwards: the kernel may move the rank, and threads that the program starts inherit nothing.

use isthmus_os::cpu;
use isthmus_shm::Slot;

use crate::counters;
use crate::engine::Engine;

/// Show on which CPU the calling thread runs. Does not block.
pub(super) fn show(slot: &Slot) {
    if let Some(cpu) = cpu::current() {
        slot.set_cpu(cpu as u32);
    }
}

/// Move to a CPU that no rank shows, if another rank that does not sleep shows the one on which the calling thread runs. Does not block.
#[cold]
pub(super) fn leave_shared_cpu(engine: &mut Engine) {
    let slot = engine.slot();
    show(slot);
    let Some(here) = slot.cpu() else { return };
    let (me, segment) = (engine.me, engine.segment);
    let others = || {
        (0..segment.ranks())
            .filter(|rank| *rank != me)
            .map(|rank| segment.slot(rank))
    };
    let awake = || {
        others()
            .filter(|other| !other.doorbell().is_armed())
            .filter_map(Slot::cpu)
    };
    if !awake().any(|cpu| cpu == here) {
        return;
    }
    let taken: Vec<usize> = awake().map(|cpu| cpu as usize).collect();
    let usable = cpu::affinity();
    let free: Vec<usize> = usable
        .iter()
        .copied()
        .filter(|cpu| *cpu != here as usize && !taken.contains(cpu))
        .collect();
    if !free.is_empty() && cpu::bind(&free).is_ok() {
        // The mask was in force a moment ago.
        let _ = cpu::bind(&usable);
        counters::MOVES.add(1);
        show(slot);
    }
}
