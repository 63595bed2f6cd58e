//! How a partitioned message is cut into messages: groups of partitions that follow one another, each of which leaves when all of it is ready.

use std::ops::Range;

/// The most messages that a partitioned message is cut into. Up to so many partitions leave each by itself, so that none waits for another;
/// of more, several are one message, since a message has a cost whatever its length.
const MOST: i32 = 64;

/// The cut, which sender and receiver make alike of what the sender has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Of the sender; not negative.
    pub partitions: i32,
    /// In each of them.
    pub bytes: i64,
}

impl Groups {
    /// Partitions in each group but the last.
    fn each(self) -> i32 {
        ((self.partitions - 1) / MOST + 1).max(1)
    }

    /// How many groups there are.
    pub fn count(self) -> usize {
        (self.partitions as usize).div_ceil(self.each() as usize)
    }

    /// The group of a partition.
    pub fn of(self, partition: usize) -> usize {
        partition / self.each() as usize
    }

    /// How many partitions it has.
    pub fn partitions_of(self, group: usize) -> i32 {
        self.each().min(self.partitions - group as i32 * self.each())
    }

    /// Its bytes in the whole, counted as if they were packed.
    pub fn range(self, group: usize) -> Range<usize> {
        // A peer may have said anything.
        let start = (group as i64 * i64::from(self.each())).saturating_mul(self.bytes);
        let length = i64::from(self.partitions_of(group)).saturating_mul(self.bytes);
        start as usize..start.saturating_add(length) as usize
    }

    /// The groups that hold some of these bytes; all of them, if there are no bytes to tell by.
    pub fn that_hold(self, bytes: Range<usize>) -> Range<usize> {
        let each = self.range(0).len();
        if each == 0 || bytes.is_empty() {
            return 0..self.count();
        }
        bytes.start / each..bytes.end.div_ceil(each).min(self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_all_partitions_once() {
        for partitions in [0, 1, 2, 63, 64, 65, 100, 128, 129, 4097, i32::MAX] {
            let groups = Groups { partitions, bytes: 3 };
            assert!(groups.count() <= MOST as usize);
            let mut end = 0;
            for group in 0..groups.count() {
                let range = groups.range(group);
                assert_eq!(range.start, end, "{partitions}");
                assert!(groups.partitions_of(group) > 0);
                assert_eq!(groups.of(end / 3), group);
                end = range.end;
            }
            assert_eq!(end, partitions as usize * 3);
        }
    }

    #[test]
    fn few_partitions_leave_each_by_itself() {
        let groups = Groups {
            partitions: 64,
            bytes: 8,
        };
        assert_eq!((groups.count(), groups.range(63)), (64, 504..512));
    }

    #[test]
    fn groups_are_found_by_their_bytes() {
        let groups = Groups {
            partitions: 4,
            bytes: 6,
        };
        assert_eq!(groups.that_hold(0..6), 0..1);
        assert_eq!(groups.that_hold(5..7), 0..2);
        assert_eq!(groups.that_hold(18..30), 3..4);
        assert_eq!(groups.that_hold(0..0), 0..4);
        assert_eq!(
            Groups {
                partitions: 0,
                bytes: 1
            }
            .that_hold(0..4),
            0..0
        );
    }
}
