//! A receiver's hints to its sender: a word beside the ring's credit, with a field for each size class: how longer messages are to
//! be copied into the ring.

use crate::limits::{ASKED_CLASSES, LEARNED_CLASSES};
use isthmus_transfer::copy::Copying;

/// Size classes: powers of two from 1 KiB.
pub const CLASSES: usize = LEARNED_CLASSES;

/// Size classes, from the first, for which a way through the ring can be asked for; longer messages are as the last one's.
const HINTED: usize = ASKED_CLASSES;
const _: () = assert!(2 * HINTED <= u32::BITS as usize);

/// The receiver's hint for a message of `length` bytes, by the word that it wrote.
pub fn hint(hints: u32, length: usize) -> Copying {
    match hints >> hint_shift(length as u64) & 3 {
        0 => Copying::usual(),
        number => Copying::of(number - 1),
    }
}

/// The word with another hint for messages of `length` bytes.
pub fn with_hint(hints: u32, length: u64, copying: Copying) -> u32 {
    let shift = hint_shift(length);
    hints & !(3 << shift) | (copying as u32 + 1) << shift
}

fn hint_shift(length: u64) -> u32 {
    2 * class(length).min(HINTED - 1) as u32
}

/// The hints about ways through the ring.
pub fn ring_hints(hints: u32) -> u32 {
    hints & ((1 << (2 * HINTED)) - 1)
}

/// The size class of a message.
pub fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(10) as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_kept_by_size() {
        let hints = with_hint(0, 20_000, Copying::Streaming);
        assert_eq!(hint(hints, 20_000), Copying::Streaming);
        assert_eq!(hint(hints, 100_000), Copying::usual());
        let hints = with_hint(with_hint(hints, 100_000, Copying::RepMovsb), 20_000, Copying::Vector);
        assert_eq!(hint(hints, 20_000), Copying::Vector);
        assert_eq!(hint(hints, 100_000), Copying::RepMovsb);
    }
}
