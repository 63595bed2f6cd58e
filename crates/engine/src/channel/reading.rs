//! How far a look at a ring goes on with the records of one message (the tunable `reading`): the reading schemes of SHIBA, §3.
//!
//! | scheme | a look ends |
//! |---|---|
//! | `single` | behind each record of a message of several: so did the device that the paper began with |
//! | `contiguous` | behind the first record of such a message; the next look takes all of the others that are there |
//! | `progress_post` | the same, unless the message is longer than the ring |
//! | `immediate` | never because of the message: the default |
//!
//! F. Mietke and others: SHIBA - shared memory support for the InfiniBand MPICH2 device.

use crate::channel::record::{Body, EagerFirst, Handler};
use crate::tunables;

/// The value of the tunable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    Single,
    Contiguous,
    ProgressPost,
    Immediate,
}

impl Reading {
    /// What the tunable says.
    pub fn chosen() -> Self {
        match tunables::READING.get() {
            Some("single") => Self::Single,
            Some("contiguous") => Self::Contiguous,
            Some("progress_post") => Self::ProgressPost,
            _ => Self::Immediate,
        }
    }

    /// Does the look at a ring of so many bytes end behind this record?
    #[inline]
    pub fn ends(self, handler: Option<Handler>, body: Body, ring: u64) -> bool {
        self != Self::Immediate && self.ends_here(handler, body, ring)
    }

    #[cold]
    fn ends_here(self, handler: Option<Handler>, body: Body, ring: u64) -> bool {
        let is_first = matches!(handler, Some(Handler::EagerFirst | Handler::FirstInCell));
        let is_more = matches!(handler, Some(Handler::EagerMore | Handler::MoreInCell | Handler::Data));
        match self {
            Self::Single => is_first || is_more,
            Self::Contiguous => is_first,
            // Payload in a cell does not fill the ring.
            Self::ProgressPost => {
                handler == Some(Handler::EagerFirst)
                    && body.split::<EagerFirst>().is_none_or(|(first, _)| first.total <= ring)
            }
            Self::Immediate => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::record::{Envelope, Fixed};

    #[test]
    fn what_ends_a_look() {
        let first = EagerFirst {
            envelope: Envelope { tag: 1, source: 0 },
            total: 100,
            copying: 0,
            ticks: 0,
        };
        // SAFETY: as many bytes, which live as long as the test.
        let body = unsafe { Body::new((&raw const first).cast(), EagerFirst::SIZE) };
        let ends = |reading: Reading, handler, ring| reading.ends(Some(handler), body, ring);
        let (first, more) = (Handler::EagerFirst, Handler::EagerMore);
        assert!(ends(Reading::Single, first, 1000) && ends(Reading::Single, more, 1000));
        assert!(ends(Reading::Contiguous, first, 10) && !ends(Reading::Contiguous, more, 10));
        assert!(ends(Reading::ProgressPost, first, 1000) && !ends(Reading::ProgressPost, first, 10));
        let (first_in_cell, more_in_cell) = (Handler::FirstInCell, Handler::MoreInCell);
        assert!(ends(Reading::Single, more_in_cell, 10) && !ends(Reading::ProgressPost, first_in_cell, 1000));
        assert!(ends(Reading::Contiguous, first_in_cell, 10) && !ends(Reading::Contiguous, more_in_cell, 10));
        assert!(!ends(Reading::Immediate, first, 1000) && !ends(Reading::Single, Handler::Eager, 1000));
    }
}
