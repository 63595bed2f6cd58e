//! How ranks on other nodes are found: a table in the job segment of each node, with a *business card* for every rank of the job.
//!
//! # Layout
//! Two lines a rank: its node, then the length of its name on the network and the name itself.
//!
//! # Fields
//! Written by the node's launcher: the node before anybody maps the segment, the name once, when its owner has told it.
//!
//! # Ordering
//! The length is stored last, with release; it is 0 while there is no name.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Bytes of the longest name.
pub const MAX_NAME: usize = 112;

/// The business card of one rank.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Card {
    node: AtomicU32,
    length: AtomicU32,
    name: [AtomicU64; MAX_NAME / 8],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Card>() == 128);

impl Card {
    /// The node that the rank is on, by number.
    pub fn node(&self) -> u32 {
        self.node.load(Ordering::Relaxed)
    }

    /// Say which node it is on. Before anybody else maps the segment.
    pub(crate) fn set_node(&self, node: u32) {
        self.node.store(node, Ordering::Relaxed);
    }

    /// What the rank is reached by, once it is known.
    pub fn name(&self) -> Option<Vec<u8>> {
        // SYNC: card
        let length = self.length.load(Ordering::Acquire) as usize;
        let words = self
            .name
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        (1..=MAX_NAME).contains(&length).then(|| words.take(length).collect())
    }

    /// What the rank is reached by; the first one stays. False: it is empty, or longer than [`MAX_NAME`].
    pub fn write(&self, name: &[u8]) -> bool {
        if name.is_empty() || name.len() > MAX_NAME {
            return false;
        }
        if self.length.load(Ordering::Relaxed) == 0 {
            for (word, bytes) in self.name.iter().zip(name.chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
            }
            // SYNC: card
            self.length.store(name.len() as u32, Ordering::Release);
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_once() {
        let card = Card::default();
        assert_eq!(card.name(), None);
        assert!(!card.write(&[]) && !card.write(&[1; MAX_NAME + 1]));
        let name: Vec<u8> = (0..21).collect();
        assert!(card.write(&name) && card.write(&[7; 16]));
        assert_eq!(card.name(), Some(name));
        assert!(Card::default().write(&[9; MAX_NAME]));
    }
}
