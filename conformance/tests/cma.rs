//! Cross Memory Attach, between this process and children of it.
#![allow(unsafe_code)] // Children change what their memory allows.

use std::time::Duration;

use isthmus_conformance::transfer::{Child, Forked, Pair, Region, unprivileged};
use isthmus_conformance::transfer_kit;
use isthmus_transfer::cma::Refusal;
use isthmus_transfer::{Cause, Interrupted, Layout, Transfer};

transfer_kit!(Forked);

fn outcome(result: Result<(), Interrupted>) -> Result<(), (u64, Cause)> {
    result.map_err(|stopped| (stopped.done, stopped.cause()))
}

/// One system call moves at most 2 GiB.
#[test]
fn contiguous_and_longer_than_a_call_moves() {
    if std::env::var_os("ISTHMUS_TEST_FULL").is_none() {
        println!("not tried: takes seconds; set ISTHMUS_TEST_FULL=1");
        return;
    }
    const LENGTH: u64 = (4 << 30) + 12345;
    let (from, to) = (3 << 20, 5 << 20);
    let source = Region::repeated(from, LENGTH / from + 1);
    let target = Region::repeated(to, LENGTH / to + 1);
    (0..from as usize / 8).for_each(|word| {
        let address = source.address() as usize + 8 * word;
        // SAFETY: within the region, which is ours.
        unsafe {
            std::ptr::with_exposed_provenance_mut::<u64>(address)
                .write((word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
    });
    // A child has both at the same addresses.
    let child = Child::new(4096, |_| {});
    let cma = child.probe().expect("a parent may read its child");
    let (there, here) = (
        Layout::contiguous(source.address() + 1, LENGTH),
        Layout::contiguous(target.address() + 3, LENGTH),
    );
    let same = |at: u64| {
        let (from, to) = ((at + 1) % from, (at + 3) % to);
        source.bytes()[from as usize] == target.bytes()[to as usize]
    };
    // SAFETY: both regions are ours, and the child uses neither.
    assert_eq!(unsafe { cma.pull(&there, &here, 0..LENGTH) }, Ok(()));
    assert!((LENGTH - to..LENGTH).all(same), "pulled");
    // SAFETY: as above.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(target.address() as usize).write_bytes(0, to as usize) };
    // Now the target is the child's.
    // SAFETY: as above.
    let pushed = unsafe {
        cma.push(
            &Layout::contiguous(source.address() + 1, LENGTH),
            &Layout::contiguous(target.address() + 3, LENGTH),
            0..LENGTH,
        )
    };
    assert_eq!(pushed, Ok(()));
    assert!((LENGTH - to..LENGTH).all(same), "pushed");
}

/// What an ordinary user's process may not read says so, at the probe and later.
#[test]
fn refusal_is_an_error() {
    assert!(unprivileged(|| {
        let child = Child::new(4096, |_| {
            // SAFETY: prctl with integer arguments.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
        });
        matches!(child.probe(), Err(Refusal::Os(error)) if error.errno == libc::EPERM)
    }));
}

/// A peer that withdraws its permission after the probe.
#[test]
fn refusal_after_permission_is_an_error() {
    assert!(unprivileged(|| {
        // SAFETY: prctl with integer arguments. Changing the user took this away, and the child inherits it.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
        let switch = Region::new(4096);
        let turn = std::ptr::with_exposed_provenance_mut::<u32>(switch.address() as usize);
        let child = Child::watching(4096, || {
            // SAFETY: the region is shared with the parent, which writes it; prctl takes integers.
            unsafe {
                if turn.read_volatile() == 1 {
                    libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
                    turn.write_volatile(2);
                }
            }
        });
        let Ok(cma) = child.probe() else { return false };
        let local = Region::new(4096);
        let (here, there) = (
            Layout::contiguous(local.address(), 4096),
            Layout::contiguous(child.address(), 4096),
        );
        // SAFETY: the local region is ours, the remote one nobody's.
        let before = unsafe { cma.pull(&there, &here, 0..4096) };
        // SAFETY: the region is ours.
        unsafe {
            turn.write_volatile(1);
            while turn.read_volatile() != 2 {
                std::thread::yield_now();
            }
        }
        // SAFETY: as above.
        let after = unsafe { [cma.pull(&there, &here, 0..4096), cma.push(&here, &there, 5..4096)] };
        before == Ok(()) && after.map(outcome) == [Err((0, Cause::Refused)); 2]
    }));
}

/// The id of a peer that is gone and reaped is nobody's.
#[test]
fn a_peer_that_is_reaped_is_gone() {
    let child = Child::new(4096, |_| {});
    let cma = child.probe().expect("a parent may read its child");
    let (local, there) = (Region::new(4096), child.address());
    child.end();
    let (here, there) = (
        Layout::contiguous(local.address(), 4096),
        Layout::contiguous(there, 4096),
    );
    for pause in [Duration::ZERO, Duration::from_millis(150)] {
        // Later the mechanism asks for the secret again first.
        std::thread::sleep(pause);
        // SAFETY: the local region is ours.
        let gone = unsafe { [cma.pull(&there, &here, 0..4096), cma.push(&here, &there, 0..4096)] };
        assert_eq!(gone.map(outcome), [Err((0, Cause::Gone)); 2]);
    }
}

/// The id of a peer that is gone is another process's by now, one that may be read. Only root can have that quickly.
#[test]
fn a_recycled_id_is_not_the_peer() {
    const LAST_ID: &str = "/proc/sys/kernel/ns_last_pid";
    /// Others of this machine make processes, too.
    const TRIES: u32 = 200;
    /// Longer than a proof of identity holds.
    const LONG_AGO: Duration = Duration::from_millis(150);
    for _ in 0..TRIES {
        let first = Child::new(4096, |_| {});
        let (cma, id) = (first.probe().expect("a parent may read its child"), first.id());
        first.end();
        std::thread::sleep(LONG_AGO);
        if std::fs::write(LAST_ID, (id - 1).to_string()).is_err() {
            println!("not tried: {LAST_ID} cannot be written");
            return;
        }
        let second = Child::new(4096, |_| {});
        if second.id() != id {
            continue;
        }
        let local = Region::new(4096);
        local.paint(1);
        let (here, there) = (
            Layout::contiguous(local.address(), 4096),
            Layout::contiguous(second.address(), 4096),
        );
        // SAFETY: the local region is ours, the remote one is what must not be touched.
        let copied = unsafe { [cma.push(&here, &there, 0..4096), cma.pull(&there, &here, 0..4096)] };
        assert_eq!(copied.map(outcome), [Err((0, Cause::Gone)); 2]);
        let cma = second.probe().expect("it may be read");
        // SAFETY: as above.
        assert_eq!(unsafe { cma.pull(&there, &here, 0..4096) }, Ok(()));
        assert!(local.bytes().iter().all(|&byte| byte == 0), "never written there");
        return;
    }
    panic!("the id never came back");
}

/// Memory that the peer itself may only read is a hole for writers.
#[test]
fn what_is_read_only_there_is_not_written() {
    let child = Child::new(16384, |there| {
        let last = std::ptr::with_exposed_provenance_mut((there + 8192) as usize);
        // SAFETY: the child's own pages.
        unsafe { libc::mprotect(last, 8192, libc::PROT_READ) };
    });
    let cma = child.probe().expect("a parent may read its child");
    let local = Region::new(16384);
    local.paint(1);
    let (here, there) = (
        Layout::contiguous(local.address(), 16384),
        Layout::contiguous(child.address(), 16384),
    );
    // SAFETY: the local region is ours, and the child uses its own for nothing.
    unsafe {
        assert_eq!(outcome(cma.push(&here, &there, 100..16384)), Err((8092, Cause::Hole)));
        assert_eq!(cma.pull(&there, &here, 0..16384), Ok(()));
    }
    assert!(
        local.bytes()[8192..].iter().all(|&byte| byte == 0),
        "never written there"
    );
}

/// Wrappers that have nothing to do are what they wrap.
mod wrapped {
    use super::*;
    use isthmus_transfer::fault::{Fault, Plan};
    use isthmus_transfer::trace::Trace;

    struct Wrapped(Forked);

    impl Pair for Wrapped {
        const OUTLIVES: bool = false;

        fn new(length: u64) -> Self {
            static PLAN: std::sync::LazyLock<Plan> = std::sync::LazyLock::new(Plan::default);
            Self(Forked::wrapped(length, |cma| {
                Box::new(Trace::new(Fault::new(cma, &PLAN), |event| {
                    assert!(event.mechanism == "cma")
                }))
            }))
        }

        fn length(&self) -> u64 {
            self.0.length()
        }

        fn transfer(&self) -> &dyn Transfer {
            self.0.transfer()
        }

        fn remote(&self, at: u64) -> u64 {
            self.0.remote(at)
        }

        fn view(&self) -> &Region {
            self.0.view()
        }

        fn killer(&self) -> impl FnOnce() + Send + 'static {
            self.0.killer()
        }
    }

    transfer_kit!(Wrapped: every_form, holes_are_found, ranges_beyond_are_refused, death_is_an_error);
}
