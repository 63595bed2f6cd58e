//! How messages from and to memory of devices are copied, as a list of values: sender and receiver take the first that is for a message, as far
//! as they know it ([`plan`]), and `isthmus info --protocols` prints them.

use crate::limits::{DEVICE_EXPORTED_FROM, DEVICE_PUSHED_FROM};

/// What moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceMover {
    /// The receiver's driver.
    Pull,
    /// The sender's driver.
    Push,
    /// Drivers of both, in pieces, through the ring or the network.
    Pieces,
}

/// A message of which an end lies in memory of a device.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// Bytes.
    pub bytes: u64,
    /// Are sender and receiver two processes of one node?
    pub is_near: bool,
    /// Has the sender's memory an export? Asked only where it matters.
    pub sender_exports: &'a dyn Fn() -> bool,
    /// The same of the receiver's.
    pub receiver_exports: &'a dyn Fn() -> bool,
}

/// One way of sending it.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// What moves the bytes.
    pub by: DeviceMover,
    /// From so many bytes on.
    pub from: u64,
    /// What happens.
    pub how: &'static str,
    applies: fn(&Message<'_>) -> bool,
}

/// All of them, in the order in which they are asked.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        by: DeviceMover::Pull,
        from: DEVICE_EXPORTED_FROM,
        how: "announced with an export of the sender's memory, which the receiver maps: copied once, by the receiver's driver",
        applies: |message| message.is_near && (message.sender_exports)(),
    },
    Protocol {
        by: DeviceMover::Push,
        from: DEVICE_PUSHED_FROM,
        how: "out of host memory: announced, answered with an export of the receiver's memory, and copied once, by the sender's driver",
        applies: |message| message.is_near && (message.receiver_exports)(),
    },
    Protocol {
        by: DeviceMover::Pieces,
        from: 0,
        how: "what cannot be exported, and other nodes: in pieces through the ring or the network, packed and unpacked by both drivers",
        applies: |_| true,
    },
];

/// What a message takes.
pub fn plan(message: &Message<'_>) -> DeviceMover {
    let is_for = |protocol: &&Protocol| message.bytes >= protocol.from && (protocol.applies)(message);
    let first = PROTOCOLS.iter().find(is_for);
    first.expect("the last one is for all").by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the conditions written out, over all kinds of messages.
    #[test]
    fn the_first_protocol_that_applies_is_taken() {
        for bits in 0..8_u32 {
            let is = |bit: u32| bits & 1 << bit != 0;
            for bytes in [1, DEVICE_PUSHED_FROM - 1, DEVICE_PUSHED_FROM, 1 << 30] {
                let message = Message {
                    bytes,
                    is_near: is(0),
                    sender_exports: &|| is(1),
                    receiver_exports: &|| is(2),
                };
                let expected = match (is(0), is(1), is(2) && bytes >= DEVICE_PUSHED_FROM) {
                    (true, true, _) => DeviceMover::Pull,
                    (true, false, true) => DeviceMover::Push,
                    _ => DeviceMover::Pieces,
                };
                assert_eq!(plan(&message), expected, "{bytes} bytes, {bits:b}");
            }
        }
    }
}
