//! How large the rings are that long messages and what is shown to all go through: by the caches.

use isthmus_shm::occupancy::is_oversubscribed;

use crate::limits::NEAR_CACHE_MOST;
use crate::membership::own::{SecondCache, caches, known_cpus};
use crate::rules::Rule;

/// Bytes of a ring in a job of so many ranks.
pub fn suitable(ranks: u32) -> u64 {
    let caches = caches();
    let second = caches.second;
    match caches.last {
        Some(last) if is_oversubscribed() && Rule::SharedStaging.holds() => {
            let cpus = known_cpus().unwrap_or(1);
            oversubscribed_share(by_second(second, false), last, ranks, cpus)
        }
        last => by_second(second, last.is_some_and(is_far)),
    }
}

fn is_far(last: u64) -> bool {
    last > NEAR_CACHE_MOST
}

/// Where ranks take turns on the CPUs, at most so much that all rings together have a quarter of the last cache: what is shown
/// then still lies there when the reader's turn comes (docs/decisions/0009). With more than two to a CPU half of what a rank alone
/// has: the rings of all that take turns there go through its own cache (measured in docs/numbers/).
fn oversubscribed_share(alone: u64, last_cache: u64, ranks: u32, cpus: u32) -> u64 {
    let share = last_cache / 4 / u64::from(ranks.max(1));
    let most = if ranks > cpus.saturating_mul(2) {
        alone / 2
    } else {
        alone
    };
    most.min(1 << share.max(1).ilog2())
}

/// Twice the second-level cache: when the writer comes round, the lines that the reader took have left the reader's
/// cache for the one behind it, from where they are had in half the time (docs/decisions/0009). A quarter of it where
/// reader and writer may share it, half where the one behind it is far: nothing is nearer there than what stays in both (0031).
fn by_second(second: Option<SecondCache>, is_last_far: bool) -> u64 {
    match second {
        Some(cache) if cache.cpus > 1 => cache.bytes / 4,
        Some(cache) if is_last_far => cache.bytes / 2,
        Some(cache) => 2 * cache.bytes,
        None => 2 << 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_go_by_the_second_cache_and_by_how_far_the_last_is() {
        assert!(!is_far(96 << 20) && is_far(300 << 20));
        let cache = |cpus| Some(SecondCache { bytes: 2 << 20, cpus });
        assert_eq!(by_second(cache(1), false), 4 << 20);
        assert_eq!(by_second(cache(1), true), 1 << 20);
        assert_eq!(by_second(cache(2), true), 512 << 10);
        assert_eq!(by_second(None, false), 2 << 20);
    }

    #[test]
    fn rings_of_ranks_that_take_turns_share_the_last_cache() {
        let share = |ranks| oversubscribed_share(2 << 20, 32 << 20, ranks, 2);
        assert_eq!(
            [3, 4, 5, 8, 16].map(share),
            [2 << 20, 2 << 20, 1 << 20, 1 << 20, 512 << 10]
        );
        let large = |ranks| oversubscribed_share(4 << 20, 256 << 20, ranks, 2);
        assert_eq!([3, 4, 5, 8].map(large), [4 << 20, 4 << 20, 2 << 20, 2 << 20]);
        assert_eq!(
            oversubscribed_share(2 << 20, 0, 8, 2),
            1,
            "the smallest ring is seen to where it is made"
        );
    }
}
