//! By what puts and gets go, as a list of values: the first that is for an operation is taken ([`plan`]), and `isthmus info --protocols` prints them.
//!
//! Short operations on mapped memory do not come here: they are loads and stores of the caller ([`Target::mapped_at`](super::Target::mapped_at)).
//! Nor do short ones on a row of ordinary memory, which are asked of the target at once ([`Flow::put_bytes`](super::Flow::put_bytes)).

use crate::limits::{BOX_BYTES, BOX_ROWS};

/// What moves the bytes of a put or get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RmaMover {
    /// Loads and stores of memory that both map.
    Mapped,
    /// The provider's own remote memory access; calls, should it refuse.
    Provider,
    /// Calls that the target serves.
    Calls,
    /// The device's driver; calls, should it not reach the memory.
    Driver,
    /// Copies by the kernel; calls, should it refuse.
    SingleCopy,
    /// The target, if it waits inside the library; else copies by the kernel.
    Mailbox,
    /// The same, on rows.
    Rows,
    /// Either the target, through bounce buffers, or copies by the kernel from both ends: whichever was measured to be faster.
    Learned,
}

/// A put or get, as far as its origin knows it.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Bytes.
    pub bytes: u64,
    /// Is the target's memory mapped here?
    pub is_mapped: bool,
    /// Is the target on another node?
    pub is_remote: bool,
    /// Is the target's memory that of a device of this node?
    pub is_on_device: bool,
    /// Do the bytes lie in a row at the target, and at the origin?
    pub rows: (bool, bool),
    /// A put on rows of one length, at a constant distance, at the target: how long are they?
    pub put_on: Option<u64>,
    /// Does the provider's remote memory access pay?
    pub provider_pays: bool,
}

/// One way of moving the bytes of a put or get.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// What moves them.
    pub by: RmaMover,
    /// When it is taken, and what happens.
    pub how: &'static str,
    /// Is it for this operation, if those before it are not?
    pub applies: fn(&Operation) -> bool,
}

/// All of them, in the order in which they are asked.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        by: RmaMover::Mapped,
        how: "memory that both map: loads and stores",
        applies: |operation| operation.is_mapped,
    },
    Protocol {
        by: RmaMover::Provider,
        how: "another node, in a row at both sides, from network_rma on: the provider's remote memory access",
        applies: |operation| operation.is_remote && operation.provider_pays && operation.rows == (true, true),
    },
    Protocol {
        by: RmaMover::Calls,
        how: "another node: calls that the target serves, short ones together",
        applies: |operation| operation.is_remote,
    },
    Protocol {
        by: RmaMover::Driver,
        how: "memory of a device: the device's driver, or calls where it is not mapped here",
        applies: |operation| operation.is_on_device,
    },
    Protocol {
        by: RmaMover::Rows,
        how: "a put on short rows of one length at the target: the target, if it waits inside the library, else copies by the kernel",
        applies: |operation| operation.put_on.is_some_and(|row| row <= BOX_ROWS),
    },
    Protocol {
        by: RmaMover::SingleCopy,
        how: "not in a row at the target: copies by the kernel",
        applies: |operation| !operation.rows.0,
    },
    Protocol {
        by: RmaMover::Mailbox,
        how: "short: the target, if it waits inside the library, else copies by the kernel",
        applies: |operation| is_short(operation.bytes as usize),
    },
    Protocol {
        by: RmaMover::Learned,
        how: "long: the target through bounce buffers, or copies by the kernel from both ends, whichever is found faster",
        applies: |_| true,
    },
];

/// Does an operation on so many bytes fit into one mailbox?
#[inline]
pub(super) fn is_short(bytes: usize) -> bool {
    bytes <= BOX_BYTES / 2
}

/// What an operation takes.
pub fn plan(operation: &Operation) -> RmaMover {
    let first = PROTOCOLS.iter().find(|protocol| (protocol.applies)(operation));
    first.expect("the last one is for all").by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the conditions written out, over all kinds of operations.
    #[test]
    fn the_first_protocol_that_applies_is_taken() {
        let short = crate::limits::BOX_BYTES as u64 / 2;
        for bits in 0..128_u32 {
            let is = |bit: u32| bits & 1 << bit != 0;
            for bytes in [1, short, short + 1, 1 << 20] {
                let operation = Operation {
                    bytes,
                    is_mapped: is(0),
                    is_remote: is(1),
                    rows: (is(2), is(3)),
                    put_on: (is(5) && !is(2)).then_some(crate::limits::BOX_ROWS + u64::from(is(3))),
                    provider_pays: is(4),
                    is_on_device: is(6),
                };
                let expected = if is(0) {
                    RmaMover::Mapped
                } else if is(1) {
                    if is(4) && is(2) && is(3) {
                        RmaMover::Provider
                    } else {
                        RmaMover::Calls
                    }
                } else if is(6) {
                    RmaMover::Driver
                } else if !is(2) {
                    if is(5) && !is(3) {
                        RmaMover::Rows
                    } else {
                        RmaMover::SingleCopy
                    }
                } else if bytes <= short {
                    RmaMover::Mailbox
                } else {
                    RmaMover::Learned
                };
                assert_eq!(plan(&operation), expected, "{operation:?}");
            }
        }
    }
}
