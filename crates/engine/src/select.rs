//! Which way a large message takes: a single copy by the receiver, or two through the ring.
//!
//! No table is right everywhere: `process_vm_readv` beats the ring by three on one machine and loses by four on the
//! next, and whether buffers are in a cache changes the answer again. So each receiver learns, per peer and size class,
//! from the transfers it really makes: a few by each way, then the faster one, and the other again now and then. It is
//! the receiver's own choice, so nobody needs to agree (law 4).

use std::time::Duration;

/// How the bytes of an announced message get here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The receiver pulls them from the sender's buffer.
    SingleCopy,
    /// The sender streams them through the ring.
    Ring,
}

/// Transfers by each way before the first judgement.
const TRIALS: u32 = 3;
/// After so many transfers the slower way gets another chance...
const RETRY: u32 = 128;
/// ...unless it was slower by more than this factor.
const HOPELESS: u64 = 4;
/// Size classes: powers of two from 1 KiB.
const CLASSES: usize = 20;

#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    /// Picoseconds per byte, smoothed; the first trials keep the best, since they also pay for set-up.
    cost: u64,
    seen: u32,
}

impl Estimate {
    fn add(&mut self, bytes: u64, took: Duration) {
        let cost = (took.as_nanos() as u64).saturating_mul(1000) / bytes.max(1);
        self.cost = match self.seen {
            0 => cost,
            seen if seen < TRIALS => self.cost.min(cost),
            // A transfer that waited for a descheduled peer says little about the way.
            _ => (self.cost * 7 + cost.min(self.cost * 2)) / 8,
        };
        self.seen = self.seen.saturating_add(1);
    }
}

/// What was learned of one peer.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    classes: [[Estimate; 2]; CLASSES],
    turns: [u32; CLASSES],
}

fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(10) as usize).min(CLASSES - 1)
}

impl Learned {
    /// The way to take for a message of `bytes`.
    pub fn choose(&mut self, bytes: u64) -> Way {
        let class = class(bytes);
        let [single, ring] = self.classes[class];
        if single.seen < TRIALS {
            return Way::SingleCopy;
        }
        if ring.seen < TRIALS {
            return Way::Ring;
        }
        let (best, other, cost, other_cost) = if single.cost <= ring.cost {
            (Way::SingleCopy, Way::Ring, single.cost, ring.cost)
        } else {
            (Way::Ring, Way::SingleCopy, ring.cost, single.cost)
        };
        self.turns[class] += 1;
        if self.turns[class] >= RETRY {
            self.turns[class] = 0;
            if other_cost < cost.saturating_mul(HOPELESS) {
                return other;
            }
        }
        best
    }

    /// A message of `bytes` went this way and took so long, from the match to the last byte.
    pub fn learn(&mut self, way: Way, bytes: u64, took: Duration) {
        self.classes[class(bytes)][way as usize].add(bytes, took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(single_us: u64, ring_us: u64, rounds: u32) -> (Way, u32) {
        let mut learned = Learned::default();
        let mut single = 0;
        for _ in 0..rounds {
            let way = learned.choose(100_000);
            let took = if way == Way::SingleCopy { single_us } else { ring_us };
            single += u32::from(way == Way::SingleCopy);
            learned.learn(way, 100_000, Duration::from_micros(took));
        }
        (learned.choose(100_000), single)
    }

    #[test]
    fn the_faster_way_wins_and_the_other_is_tried_again() {
        let (way, single) = run(10, 20, 1000);
        assert_eq!(way, Way::SingleCopy);
        assert!((980..997).contains(&single), "{single}");
        let (way, single) = run(20, 10, 1000);
        assert_eq!(way, Way::Ring);
        assert!((4..20).contains(&single), "{single}");
    }

    #[test]
    fn a_hopeless_way_is_left_alone() {
        assert_eq!(run(100, 10, 2000), (Way::Ring, TRIALS));
    }

    #[test]
    fn sizes_learn_apart() {
        let mut learned = Learned::default();
        for _ in 0..TRIALS {
            learned.learn(Way::SingleCopy, 1 << 20, Duration::from_micros(1));
            learned.learn(Way::Ring, 1 << 20, Duration::from_micros(2));
            learned.learn(Way::SingleCopy, 1 << 14, Duration::from_micros(2));
            learned.learn(Way::Ring, 1 << 14, Duration::from_micros(1));
        }
        assert_eq!(learned.choose(1 << 20), Way::SingleCopy);
        assert_eq!(learned.choose(1 << 14), Way::Ring);
        assert_eq!(class(u64::MAX), CLASSES - 1);
        assert_eq!(class(0), 0);
    }
}
