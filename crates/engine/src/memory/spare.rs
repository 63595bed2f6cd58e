//! Memory for unmatched payload, kept for the next message.
//!
//! Where ranks share CPUs, messages come before their receives all the time. The C library gives long blocks back to
//! the kernel as soon as they are free, and then each such message pays for its pages again.

use crate::limits::{BELIEVED, SPARE_FROM, SPARE_KEPT};

/// Blocks that held payload, by the power of two of their size.
#[derive(Debug, Default)]
pub struct Spare {
    blocks: [Vec<Vec<u8>>; 32],
    kept: usize,
}

impl Spare {
    /// An empty vector with room for `bytes`, or for what is believed of them.
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        let bytes = bytes.min(BELIEVED);
        if bytes < SPARE_FROM {
            return Vec::with_capacity(bytes);
        }
        let room = bytes.next_power_of_two();
        match self.blocks[room.ilog2() as usize].pop() {
            Some(block) => {
                self.kept -= block.capacity();
                block
            }
            None => Vec::with_capacity(room),
        }
    }

    /// See to it that there is one. False: there is no memory for it.
    pub fn provide(&mut self, bytes: usize) -> bool {
        let room = bytes.min(BELIEVED).next_power_of_two();
        if room <= SPARE_FROM || !self.blocks[room.ilog2() as usize].is_empty() {
            return true;
        }
        let mut block = Vec::new();
        if block.try_reserve_exact(room).is_err() {
            return false;
        }
        self.kept += block.capacity();
        self.blocks[room.ilog2() as usize].push(block);
        true
    }

    /// Done with a vector.
    pub fn give(&mut self, mut block: Vec<u8>) {
        let room = block.capacity();
        if room < SPARE_FROM || self.kept + room > SPARE_KEPT {
            return;
        }
        block.clear();
        self.kept += room;
        self.blocks[room.ilog2() as usize].push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back() {
        let mut spare = Spare::default();
        let block = spare.take(100_000);
        assert!(block.capacity() >= 100_000);
        let at = block.as_ptr();
        spare.give(block);
        let again = spare.take(90_000);
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
        assert_eq!(spare.kept, 0);
    }

    #[test]
    fn what_was_provided_is_taken() {
        let mut spare = Spare::default();
        assert!(spare.provide(100_000) && spare.provide(100_001));
        let at = spare.blocks[17][0].as_ptr();
        let block = spare.take(100_000);
        assert_eq!((block.as_ptr(), spare.kept), (at, 0));
        assert!(spare.provide(usize::MAX / 4), "no more than is believed");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut spare = Spare::default();
        let blocks: Vec<_> = (0..100).map(|_| spare.take(1 << 20)).collect();
        blocks.into_iter().for_each(|block| spare.give(block));
        assert!(spare.kept <= SPARE_KEPT);
        assert!(spare.take(usize::MAX).capacity() <= 2 * BELIEVED);
    }
}
