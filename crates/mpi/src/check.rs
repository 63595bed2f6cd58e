//! The checking mode: what `ISTHMUS_CHECK` asks for ([`Switch::Check`]), and where the program made what it holds (docs/checking.md).
//!
//! Each check stands where it belongs: calls that all members make in `coll/check.rs`, accesses to windows in `win/record.rs`, buffers and
//! types of messages in `ledger.rs`, and leftovers at the end in `environment/leftovers.rs`.

pub(crate) mod sites;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use isthmus_engine::tunables::CHECK;
use isthmus_os::switches::Switch;

/// Is each standard send synchronous, too?
static SYNCHRONOUS: AtomicBool = AtomicBool::new(false);

/// The process has joined its job: as the tunable `check` says from now on.
pub(crate) fn begin() {
    let level = CHECK.get();
    SYNCHRONOUS.store(level > 1, Ordering::Relaxed);
    Switch::Check.turn(level > 0);
}

/// Is each standard send to be synchronous, so that programs which need them to be buffered deadlock?
#[inline(always)]
pub(crate) fn is_synchronous() -> bool {
    SYNCHRONOUS.load(Ordering::Relaxed)
}

/// A table by numbers of our own: handles, addresses of calls.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<ByNumber>>;

/// Spreads numbers by a multiplication (Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4).
#[derive(Debug, Default)]
pub(crate) struct ByNumber(u64);

impl Hasher for ByNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes the place from the low bits, and a check from the high ones.
        self.0 = mixed ^ mixed >> 32;
    }
}
