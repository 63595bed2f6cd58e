//! Which bytes of a piece were granted. Blocks of a symmetric heap share pages, and a page is granted, and given back, once.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that are disjoint and not adjacent: where each ends, by where it begins.
#[derive(Debug)]
pub struct Granted(BTreeMap<u64, u64>);

impl Granted {
    /// Nothing.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The parts of `range` that were not granted.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut from = range.start;
        let mut missing = Vec::new();
        for present in self.within(range.clone()) {
            if from < present.start {
                missing.push(from..present.start);
            }
            from = present.end;
        }
        if from < range.end {
            missing.push(from..range.end);
        }
        missing
    }

    /// The parts of `range` that were granted.
    pub fn within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let before = self.0.range(..range.start).next_back();
        let overlapping = before.into_iter().chain(self.0.range(range.clone()));
        overlapping
            .map(|(&start, &end)| start.max(range.start)..end.min(range.end))
            .filter(|part| part.start < part.end)
            .collect()
    }

    /// All of `range` is granted now.
    pub fn add(&mut self, range: Range<u64>) {
        let mut whole = range.clone();
        // Neighbours, too.
        while let Some((&start, &end)) = self.0.range(..=whole.end).next_back()
            && end >= whole.start
        {
            whole = start.min(whole.start)..end.max(whole.end);
            self.0.remove(&start);
        }
        self.0.insert(whole.start, whole.end);
    }

    /// Nothing of `range` is granted any more.
    pub fn remove(&mut self, range: Range<u64>) {
        self.add(range.clone());
        let (&start, &end) = (self.0.range(..=range.start).next_back()).expect("the range was added");
        self.0.remove(&start);
        for rest in [start..range.start, range.end..end] {
            if rest.start < rest.end {
                self.0.insert(rest.start, rest.end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of flags.
    #[test]
    fn any_order_gives_the_same_as_flags() {
        const PLACES: usize = 64;
        let (mut granted, mut flags) = (Granted::new(), [false; PLACES]);
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..5000 {
            let start = random(PLACES as u64 - 1);
            let range = start..start + 1 + random(PLACES as u64 - start);
            let places = range.start as usize..range.end as usize;
            let parts = |wanted: bool| {
                let is_wanted = |place: &usize| flags[*place] == wanted;
                places.clone().filter(is_wanted).collect::<Vec<_>>()
            };
            let listed = |parts: Vec<Range<u64>>| {
                assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start), "{parts:?}");
                parts
                    .into_iter()
                    .flatten()
                    .map(|place| place as usize)
                    .collect::<Vec<_>>()
            };
            assert_eq!(listed(granted.within(range.clone())), parts(true));
            assert_eq!(listed(granted.missing(range.clone())), parts(false));
            let adds = random(2) == 0;
            match adds {
                true => granted.add(range),
                false => granted.remove(range),
            }
            flags[places].fill(adds);
        }
    }
}
