//! Elements cut into slices, which the ranks of each unit of the machine share among them.
//!
//! Slices are the same in all units, so that a rank finds what another unit has for its slices, however many ranks are
//! there. Those of one rank follow each other.

use std::ops::Range;

/// `count` elements from `first` on, as `number` slices.
#[derive(Debug, Clone, Copy)]
pub struct Slices {
    pub first: i64,
    pub count: i64,
    pub number: usize,
}

impl Slices {
    fn start(&self, slice: usize) -> i64 {
        self.first + self.count * slice as i64 / self.number as i64
    }

    /// The elements of a slice.
    pub fn slice(&self, slice: usize) -> Range<i64> {
        self.start(slice)..self.start(slice + 1)
    }

    /// Which slices the rank at `place` of `ranks` has.
    pub fn of(&self, place: usize, ranks: usize) -> Range<usize> {
        let first = |place: usize| (place * self.number).div_ceil(ranks);
        first(place)..first(place + 1)
    }

    /// The place of the rank of `ranks` that has a slice.
    pub fn owner(&self, slice: usize, ranks: usize) -> usize {
        slice * ranks / self.number
    }

    /// The elements that the rank at `place` of `ranks` has.
    pub fn share(&self, place: usize, ranks: usize) -> Range<i64> {
        let slices = self.of(place, ranks);
        self.start(slices.start)..self.start(slices.end)
    }
}

/// How many elements.
pub fn length(elements: &Range<i64>) -> i64 {
    elements.end - elements.start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_one_ranks_in_every_unit() {
        for (number, count) in [(1, 5), (3, 3), (4, 2), (5, 1000), (8, 1001), (32, 77)] {
            let slices = Slices {
                first: 40,
                count,
                number,
            };
            for ranks in (1..=33).chain([64, 100]) {
                let mut next = slices.first;
                for place in 0..ranks {
                    let share = slices.share(place, ranks);
                    assert_eq!(share.start, next, "{slices:?}, {place} of {ranks}");
                    next = share.end;
                    for slice in slices.of(place, ranks) {
                        assert_eq!(slices.owner(slice, ranks), place, "{slices:?}, {slice} among {ranks}");
                        let elements = slices.slice(slice);
                        assert!(share.start <= elements.start && elements.end <= share.end);
                    }
                }
                assert_eq!(next, slices.first + count);
            }
        }
    }
}
