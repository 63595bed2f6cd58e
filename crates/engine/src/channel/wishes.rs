//! What a receiver wishes of its sender: a word beside the ring's credit, with a field for each size class. How longer messages are to
//! be copied into the ring, and whether those that could go at once are to be announced.

use isthmus_transfer::copy::Copying;

/// Size classes: powers of two from 1 KiB.
pub const CLASSES: usize = 20;

/// Size classes, from the first, for which a way through the ring can be wished; longer messages are as the last one's.
const WISHED: usize = 12;
/// Size classes whose messages may be announced though they could go at once, if their receiver wishes: from 16 KiB on (a single
/// copy of less never wins) up to the usual limit of what goes at once, 128 KiB, and what more of its class may.
const COMPARED: std::ops::RangeInclusive<usize> = 4..=7;
/// How many these are.
pub const COMPARISONS: usize = *COMPARED.end() - *COMPARED.start() + 1;
const _: () = assert!(2 * WISHED + COMPARISONS <= u32::BITS as usize);
/// The shortest of these messages.
pub const COMPARED_FROM: usize = 16 << 10;

/// The number of the compared size class of a message, if it is in one.
#[inline]
pub fn compared(length: u64) -> Option<usize> {
    let class = class(length);
    COMPARED.contains(&class).then(|| class - COMPARED.start())
}

/// What the receiver wishes for a message of `length` bytes, by the word that it wrote.
pub fn wish(wishes: u32, length: usize) -> Copying {
    match wishes >> wish_shift(length as u64) & 3 {
        0 => Copying::usual(),
        number => Copying::of(number - 1),
    }
}

/// `wishes` with another one for messages of `length` bytes.
pub fn with_wish(wishes: u32, length: u64, copying: Copying) -> u32 {
    let shift = wish_shift(length);
    wishes & !(3 << shift) | (copying as u32 + 1) << shift
}

fn wish_shift(length: u64) -> u32 {
    2 * class(length).min(WISHED - 1) as u32
}

/// What of `wishes` is about ways through the ring.
pub fn ring_wishes(wishes: u32) -> u32 {
    wishes & ((1 << (2 * WISHED)) - 1)
}

/// Does the receiver wish a message of `length` bytes to be announced, though it could go at once?
pub fn is_wished_announced(wishes: u32, length: u64) -> bool {
    compared(length).is_some_and(|at| wishes >> (2 * WISHED + at) & 1 != 0)
}

/// `wishes` with another answer to [`is_wished_announced`], for `length` bytes.
pub fn with_announced(wishes: u32, length: u64, announced: bool) -> u32 {
    match compared(length) {
        Some(at) => wishes & !(1 << (2 * WISHED + at)) | u32::from(announced) << (2 * WISHED + at),
        None => wishes,
    }
}

/// The size class of a message.
pub fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(10) as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_kept_by_size() {
        let wishes = with_wish(0, 20_000, Copying::Streaming);
        assert_eq!(wish(wishes, 20_000), Copying::Streaming);
        assert_eq!(wish(wishes, 100_000), Copying::usual());
        let wishes = with_wish(with_wish(wishes, 100_000, Copying::String), 20_000, Copying::Vector);
        assert_eq!(wish(wishes, 20_000), Copying::Vector);
        assert_eq!(wish(wishes, 100_000), Copying::String);
    }

    #[test]
    fn announcements_are_wished_by_size() {
        let wishes = with_announced(with_wish(0, 100_000, Copying::String), 100_000, true);
        let announced = [8 << 10, 16 << 10, 65_536, 100_000, 128 << 10, 256 << 10]
            .map(|length| is_wished_announced(wishes, length));
        assert_eq!(announced, [false, false, true, true, false, false]);
        assert_eq!(wish(wishes, 100_000), Copying::String);
        assert_eq!(wish(wishes, 1 << 30), Copying::usual());
        assert!(!is_wished_announced(with_announced(wishes, 70_000, false), 70_000));
    }
}
