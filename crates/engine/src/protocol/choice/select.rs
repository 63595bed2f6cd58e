//! Which way a longer message takes: a single copy, or two through the ring, and with which instructions.
//!
//! No table is right everywhere: `process_vm_readv` beats the ring by three on one machine and loses by four on the
//! next, stores that pass the caches win on one processor and lose on its successor, and whether buffers are in a cache
//! changes the answer again. So each receiver learns ([`crate::learning`]), per peer and size class, from the transfers it really makes. It is the receiver's own choice, so nobody
//! needs to agree (law 4): a sender does as it is told, by the answer to its announcement or by a word beside the ring's
//! credit. Where single copies are cheap they are what large messages take.

use std::sync::OnceLock;

use isthmus_transfer::copy::Copying;

use crate::channel::hints::{CLASSES, class};
use crate::data_path::{DATA_PATHS, DataPath};
use crate::learning::{Exploration, Learner};
use crate::limits::{FIRST_RETRY, NOT_TRIED_AGAIN, PAST_CACHES_FROM, PATH_COST_RISES, RETRY, TRIALS, TRIED_AGAIN};
use crate::membership::own;

/// Is a message of `length` bytes stored past the caches? A quarter of the last-level cache: with the buffers of both
/// sides it is full, so what is stored has left it before somebody reads it, and its lines would have been read for
/// nothing. Measured in docs/numbers/.
#[inline]
pub fn passes_caches(length: u64) -> bool {
    length >= PAST_CACHES_FROM && length >= last_quarter()
}

#[cold]
fn last_quarter() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let last = own::caches().last.filter(|_| Copying::Streaming.is_sensible());
        last.map_or(u64::MAX, |bytes| bytes / 4)
    })
}

/// How receivers explore the data paths of long messages.
const EXPLORATION: Exploration = Exploration {
    trials: TRIALS,
    first_retry: FIRST_RETRY,
    retry: RETRY,
    retry_slower: 0,
    in_a_row: TRIED_AGAIN,
    not_tried_from: NOT_TRIED_AGAIN,
    rise: PATH_COST_RISES,
};

/// Measurements of one peer, by size: thousandths of the unit of time per byte.
#[derive(Debug, Default)]
pub struct Learned([Learner<DATA_PATHS>; CLASSES]);

/// Measurements of one peer, by announced and by eager messages.
#[derive(Debug, Default)]
pub struct Measurements {
    /// When the last announced one was here, in [`isthmus_os::clock::ticks`].
    pub last: u64,
    pub announced: Learned,
    /// Announced, and not in a row at one end.
    pub scattered: Learned,
    pub eager: Learned,
}

impl Learned {
    /// The path to take for a message of `bytes`, of the open ones; there is at least one.
    pub fn choose(&self, bytes: u64, open: impl Iterator<Item = DataPath> + Clone) -> DataPath {
        self.0[class(bytes)].choose(open, &EXPLORATION)
    }

    /// `bytes` of a message of `total` took this path and so long, in any unit that is always the same.
    pub fn learn(&self, path: DataPath, total: u64, bytes: u64, took: u64) {
        let cost = took.saturating_mul(1000) / bytes.max(1);
        self.0[class(total)].learn(path, cost, &EXPLORATION);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: DataPath = DataPath::Ring(Copying::Vector);

    fn both() -> impl Iterator<Item = DataPath> + Clone {
        [DataPath::SingleCopy, RING].into_iter()
    }

    #[test]
    fn a_way_that_was_slow_at_first_is_found() {
        let learned = Learned::default();
        let mut rings = 0;
        for _ in 0..200 {
            let path = learned.choose(100_000, both());
            rings += u64::from(path == RING);
            // The ring's memory is new until it was passed once.
            let took = match path {
                RING if rings <= 4 => 40_000,
                RING => 10_000,
                _ => 20_000,
            };
            learned.learn(path, 100_000, 100_000, took);
        }
        assert!(rings > 100, "{rings}");
    }

    #[test]
    fn a_way_that_pays_only_in_a_row_is_found() {
        let learned = Learned::default();
        let (mut last, mut singles) = (RING, 0);
        for round in 0..2000 {
            let path = learned.choose(100_000, both());
            // A side that copies alone waits for the other, which is busy with the ring.
            let took = match path {
                DataPath::SingleCopy if last == path && round > 20 => 5_000,
                DataPath::SingleCopy => 20_000,
                _ => 10_000,
            };
            learned.learn(path, 100_000, 100_000, took);
            singles += u32::from(path == DataPath::SingleCopy);
            last = path;
        }
        assert!(singles > 1500, "{singles}");
    }

    #[test]
    fn sizes_learn_apart() {
        let learned = Learned::default();
        for _ in 0..TRIALS {
            learned.learn(DataPath::SingleCopy, 1 << 20, 1 << 20, 100_000);
            learned.learn(RING, 1 << 20, 1 << 20, 200_000);
            learned.learn(DataPath::SingleCopy, 1 << 14, 1 << 14, 2_000);
            learned.learn(RING, 1 << 14, 1 << 14, 1_000);
        }
        assert_eq!(learned.choose(1 << 20, both()), DataPath::SingleCopy);
        assert_eq!(learned.choose(1 << 14, both()), RING);
        assert_eq!(class(u64::MAX), CLASSES - 1);
        assert_eq!(class(0), 0);
    }
}
