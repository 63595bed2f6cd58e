//! The receiving half of a channel: the ring from one peer.

use isthmus_shm::ring::{Consumer, Mapped, Record};
use isthmus_shm::{Offset, Segment};
use isthmus_transfer::copy::Copying;

use crate::channel::hints;
use crate::channel::outbound::mapped;
use crate::channel::record::{Envelope, Fixed, Handler, Switch};
use crate::data_path::CostSample;
use crate::limits::CELL_FROM;

/// Where the pieces of a message go that came in several records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// Into the buffer of a receive.
    Receive(u32),
    /// Into an unexpected message, which a matched probe may have taken.
    Unexpected(u32),
}

/// The ring from one peer.
#[derive(Debug)]
pub struct Inbound {
    pub ring: Consumer<Mapped>,
    at: Offset,
    first_at: Offset,
    /// The pair's first ring, while another is in use.
    first: Option<Consumer<Mapped>>,
    /// The message whose pieces are arriving.
    pub incoming: Option<Incoming>,
    /// If it is one to learn from: what it cost so far, and how it is copied.
    pub timed: Option<(CostSample, Copying)>,
    /// How the peer is to copy: see [`hints::hint`].
    hints: u32,
    /// Records that came; of these, whole messages or beginnings of them, and announcements. They wrap.
    heard: u32,
    eager: u32,
    announced: u32,
    /// Messages of more than a few lines, and announcements. Wraps.
    longer: u32,
    /// Looked at in every round of progress.
    pub is_polled: bool,
    /// A record came since the last time somebody had to leave the polled ones.
    pub active: bool,
}

// SAFETY: a ring in the job segment, touched only by the thread inside the engine.
unsafe impl Send for Inbound {}

impl Inbound {
    /// The peer's first ring, at `at`.
    pub fn new(at: Offset, memory: Mapped) -> Self {
        Self {
            ring: Consumer::new(memory),
            at,
            first_at: at,
            first: None,
            incoming: None,
            timed: None,
            hints: 0,
            heard: 0,
            eager: 0,
            announced: 0,
            longer: 0,
            is_polled: false,
            active: false,
        }
    }

    /// A record came, with a body of so many bytes.
    #[inline]
    pub fn note(&mut self, handler: Option<Handler>, length: u32) {
        self.active = true;
        self.heard = self.heard.wrapping_add(1);
        let first = matches!(handler, Some(Handler::EagerFirst | Handler::FirstInCell));
        let whole = handler == Some(Handler::Eager);
        let announced = handler == Some(Handler::ReadyToSend);
        let longer = announced || first || whole && length as usize >= CELL_FROM + Envelope::SIZE as usize;
        self.longer = self.longer.wrapping_add(u32::from(longer));
        let eager = first || whole;
        self.eager = self.eager.wrapping_add(u32::from(eager));
        self.announced = self.announced.wrapping_add(u32::from(announced));
    }

    /// Records that came so far. Wraps.
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// Messages that came so far: at once, and announced. They wrap.
    pub fn messages(&self) -> (u32, u32) {
        (self.eager, self.announced)
    }

    /// Messages of more than a few lines, and announcements, that came so far. Wraps.
    pub fn longer(&self) -> u32 {
        self.longer
    }

    /// May part of the last `length` bytes have been written to memory of the ring that was new to one of the two sides? Its pages
    /// cost more than the bytes.
    pub fn came_through_new_memory(&self, length: u64) -> bool {
        use isthmus_shm::ring::RingMemory;
        let size = self.ring.memory().size();
        self.ring.taken() < size + length.min(size)
    }

    /// Is the peer told to announce only?
    pub fn announces_only(&self) -> bool {
        use isthmus_shm::ring::RingMemory;
        self.ring.memory().credit().announces_only()
    }

    /// Messages of `length` bytes are to be copied so from now on.
    pub fn hint(&mut self, length: u64, copying: Copying) {
        self.tell(hints::with_hint(self.hints, length, copying));
    }

    fn tell(&mut self, hints: u32) {
        if hints != self.hints {
            self.hints = hints;
            self.ring.set_hints(hints);
        }
    }

    /// The peer goes on in another ring; `last` is the record that says so. False: there is none where it says.
    pub fn switch(&mut self, segment: &Segment, last: Record, to: Switch, announce_only: bool) -> bool {
        let at = Offset(to.offset);
        let next = match self.first.take() {
            Some(first) if at == self.first_at => first,
            first => {
                self.first = first;
                let Some(memory) = mapped(segment, at, to.size) else {
                    return false;
                };
                Consumer::new(memory)
            }
        };
        next.set_polled(self.is_polled);
        next.set_announce_only(announce_only);
        next.set_hints(self.hints);
        // Everything in the old ring is taken; from now on it is its owner's.
        let left = std::mem::replace(&mut self.ring, next).leave(last);
        // Only the first ring is ever come back to; a large one that is met again was made anew for another pair between.
        if self.at == self.first_at {
            self.first = Some(left);
        }
        self.at = at;
        true
    }

    /// Its sender must ring from now on, also when it comes back to the first ring: that one's flag may be from when it was looked at.
    pub fn must_ring(&self) {
        self.ring.set_polled(false);
        if let Some(first) = &self.first {
            first.set_polled(false);
        }
    }
}
