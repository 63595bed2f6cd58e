//! Which way a longer message takes: a single copy, or two through the ring, and with which instructions.
//!
//! No table is right everywhere: `process_vm_readv` beats the ring by three on one machine and loses by four on the
//! next, stores that pass the caches win on one processor and lose on its successor, and whether buffers are in a cache
//! changes the answer again. So each receiver learns, per peer and size class, from the transfers it really makes: a few
//! by each way, then the fastest one, and the others again now and then. It is the receiver's own choice, so nobody
//! needs to agree (law 4): a sender does as it is told, by the answer to its announcement or by a word beside the ring's
//! credit. Where single copies are cheap they are what large messages take.

use std::sync::OnceLock;

use isthmus_os::topology;
use isthmus_transfer::copy::Copying;

use crate::channel::wishes::{CLASSES, class};
use crate::data_path::{DATA_PATHS, DataPath};
use crate::limits::{FIRST_RETRY, NOT_TRIED_AGAIN, PAST_CACHES_FROM, RETRY, TRIALS, TRIED_AGAIN};

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
        let caches = topology::own_caches();
        let last = caches.last().filter(|_| Copying::Streaming.is_sensible());
        last.map_or(u64::MAX, |cache| cache.bytes / 4)
    })
}

#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    /// Thousandths of the unit of time per byte, smoothed; the first trials keep the best, since they also pay for set-up.
    cost: u64,
    seen: u32,
}

impl Estimate {
    fn add(&mut self, bytes: u64, took: u64) {
        let cost = took.saturating_mul(1000) / bytes.max(1);
        self.cost = match self.seen {
            0 => cost,
            seen if seen < TRIALS => self.cost.min(cost),
            // It can do that: what was slower before had another reason.
            _ if cost < self.cost => (self.cost + cost) / 2,
            // A transfer that waited for a descheduled peer says little about the way.
            _ => (self.cost * 7 + cost.min(self.cost * 2)) / 8,
        };
        self.seen = self.seen.saturating_add(1);
    }
}

/// Measurements of one peer.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    classes: [Class; CLASSES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    paths: [Estimate; DATA_PATHS],
    turns: u32,
    /// Chances that slower ways have had.
    retries: u32,
    /// The one that has its chance, for so many transfers more.
    chance: Option<(DataPath, u64)>,
}

/// Measurements of one peer, by announced and by eager messages.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    /// When the last announced one was here, in [`isthmus_os::clock::ticks`].
    pub last: u64,
    pub announced: Learned,
    /// Announced, and not in a row at one end.
    pub scattered: Learned,
    pub eager: Learned,
}

impl Learned {
    /// The way to take for a message of `bytes`, of the open ones; there is at least one.
    pub fn choose(&mut self, bytes: u64, open: impl Iterator<Item = DataPath> + Clone) -> DataPath {
        let class = &mut self.classes[class(bytes)];
        let untried = open.clone().find(|path| class.paths[path.index()].seen < TRIALS);
        if let Some(path) = untried {
            return path;
        }
        if let Some((path, left)) = class.chance.take_if(|(path, _)| open.clone().any(|open| open == *path)) {
            class.chance = (left > 1).then_some((path, left - 1));
            return path;
        }
        let cost = |path: &DataPath| class.paths[path.index()].cost;
        let best = open.clone().min_by_key(cost).expect("one path is always open");
        class.turns += 1;
        if class.turns < (FIRST_RETRY << class.retries.min(8)).min(RETRY) {
            return best;
        }
        class.turns = 0;
        class.retries += 1;
        // The one that was not heard of for longest: whatever it was, the machine may have changed.
        let limit = cost(&best).saturating_mul(NOT_TRIED_AGAIN);
        let others = open.filter(|path| *path != best && class.paths[path.index()].cost < limit);
        let Some(other) = others.min_by_key(|path| class.paths[path.index()].seen) else {
            return best;
        };
        let row = 2 * TRIED_AGAIN * cost(&best) / cost(&other).max(1);
        class.chance = (row > 1).then_some((other, row.min(TRIED_AGAIN) - 1));
        other
    }

    /// `bytes` of a message of `total` went this way and took so long, in any unit that is always the same.
    pub fn learn(&mut self, path: DataPath, total: u64, bytes: u64, took: u64) {
        self.classes[class(total)].paths[path.index()].add(bytes, took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: DataPath = DataPath::Ring(Copying::Vector);

    fn both() -> impl Iterator<Item = DataPath> + Clone {
        [DataPath::SingleCopy, RING].into_iter()
    }

    fn run(single: u64, ring: u64, rounds: u32) -> (DataPath, u32) {
        let mut learned = Learned::default();
        let mut singles = 0;
        for _ in 0..rounds {
            let path = learned.choose(100_000, both());
            let took = if path == DataPath::SingleCopy { single } else { ring };
            singles += u32::from(path == DataPath::SingleCopy);
            learned.learn(path, 100_000, 100_000, took);
        }
        (learned.choose(100_000, both()), singles)
    }

    #[test]
    fn the_faster_way_wins_and_the_other_is_tried_again() {
        let (path, single) = run(10_000, 20_000, 1000);
        assert_eq!(path, DataPath::SingleCopy);
        assert!((950..990).contains(&single), "{single}");
        let (path, single) = run(20_000, 10_000, 1000);
        assert_eq!(path, RING);
        assert!((10..50).contains(&single), "{single}");
    }

    #[test]
    fn a_way_that_was_slow_at_first_is_found() {
        let mut learned = Learned::default();
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
        let mut learned = Learned::default();
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
    fn a_slower_way_has_a_shorter_chance() {
        let mut learned = Learned::default();
        let mut rows = Vec::new();
        for _ in 0..600 {
            let path = learned.choose(100_000, both());
            let took = if path == DataPath::SingleCopy { 80_000 } else { 10_000 };
            learned.learn(path, 100_000, 100_000, took);
            rows.push(path == DataPath::SingleCopy);
        }
        let longest = rows[TRIALS as usize..].split(|single| !single).map(<[bool]>::len).max();
        assert_eq!(longest, Some(2));
    }

    #[test]
    fn a_hopeless_way_is_left_alone() {
        assert_eq!(run(100_000, 1_000, 2000), (RING, TRIALS));
    }

    #[test]
    fn sizes_learn_apart() {
        let mut learned = Learned::default();
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
