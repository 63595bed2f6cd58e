//! An address for each rank, on the stack where ranks are few.

use std::ops::{Deref, DerefMut};

/// Ranks that are few.
const FEW: usize = 32;

/// So many addresses.
pub struct Places {
    count: usize,
    few: [*const u8; FEW],
    many: Vec<*const u8>,
}

impl Places {
    /// All the same at first.
    #[inline]
    pub fn new(count: usize, all: *const u8) -> Self {
        let many = match count {
            0..=FEW => Vec::new(),
            _ => vec![all; count],
        };
        Self {
            count,
            few: [all; FEW],
            many,
        }
    }
}

impl Deref for Places {
    type Target = [*const u8];

    #[inline]
    fn deref(&self) -> &[*const u8] {
        match self.count {
            0..=FEW => &self.few[..self.count],
            _ => &self.many,
        }
    }
}

impl DerefMut for Places {
    #[inline]
    fn deref_mut(&mut self) -> &mut [*const u8] {
        match self.count {
            0..=FEW => &mut self.few[..self.count],
            _ => &mut self.many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_are_kept_alike() {
        for count in [0, 1, FEW, FEW + 1, 1024] {
            let mut places = Places::new(count, std::ptr::null());
            assert_eq!(places.len(), count);
            for (at, place) in places.iter_mut().enumerate() {
                *place = std::ptr::without_provenance(at);
            }
            assert!(places.iter().enumerate().all(|(at, place)| place.addr() == at));
        }
    }
}
