//! Frames arrive in order, once, over whatever connections: they are numbered, a sender keeps each until its peer has it ([`Replay`]), and a
//! receiver drops what it has seen ([`Arrivals`]).
//!
//! A connection that breaks loses what the kernel had taken, without a word. So does one that the provider gives up, where two ranks connect to
//! each other at the same time (seen with libfabric 1.17, `net`, in one of ten jobs whose 8 ranks on 8 nodes all meet at once). Every frame tells
//! how many of the peer's have come ([`super::frame::Prefix::come`]); those need not be kept any more. Kept frames go again when the provider
//! reports that a frame could not be delivered, and when the peer says that one is missing ([`super::frame::MISSES`]): numbers make that
//! harmless. A loss at the end shows when the sender asks for an answer ([`super::frame::ASKS`]): after a while, and at once over a connection
//! that has not proved good. Then it also sees to the answer on its way out of the engine ([`Switch::FirstFrames`]), for it may
//! compute after that (docs/decisions/0208).

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use isthmus_fabric::Frame;
use isthmus_os::switches::Switch;

use super::{Network, frame};
use crate::counters;
use crate::limits::ASKED_AFTER;

/// So long nothing is sent again that was: the peer goes on to say that it misses frames until they have come.
const PAUSE: Duration = Duration::from_millis(50);

/// The frames of this process that a peer may not have: numbered from 0 on, kept in order. `B`: the buffer of a long one.
#[derive(Debug)]
pub(crate) struct Replay<B = Frame> {
    /// All that was sent has come, and no connection has broken since.
    is_proved: bool,
    /// The number of the first that is kept.
    first: u64,
    frames: VecDeque<KeptFrame<B>>,
    /// The short ones, one after the other.
    copies: VecDeque<u8>,
    /// Bytes that were among the copies before those.
    dropped: u64,
    /// The number of the next frame to go again.
    again: Option<u64>,
    /// When the peer last made frames go again.
    repeated: Option<Instant>,
    /// The peer has said that it misses the first of them, and they have not all gone since.
    is_missed: bool,
}

/// One frame.
#[derive(Debug)]
struct KeptFrame<B> {
    length: usize,
    storage: Storage<B>,
}

/// Where its bytes are.
#[derive(Debug)]
enum Storage<B> {
    /// Among the copies, from there on.
    Copies(u64),
    Buffer(B),
}

/// The bytes of a frame that goes again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Again<'a, B> {
    /// One part after the other.
    Copy(&'a [u8], &'a [u8]),
    /// So many of this buffer.
    Buffer(&'a B, usize),
}

impl<B> Default for Replay<B> {
    fn default() -> Self {
        Self {
            is_proved: false,
            first: 0,
            frames: VecDeque::new(),
            copies: VecDeque::new(),
            dropped: 0,
            again: None,
            repeated: None,
            is_missed: false,
        }
    }
}

impl<B> Replay<B> {
    /// Frames that were sent: the number of the next one.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// The next frame goes. It is kept in `buffer`; `None`: by a copy.
    #[inline]
    pub fn keep(&mut self, frame: &[u8], buffer: Option<B>) {
        // Once for all that is under way: each flush may take its whole time.
        if !self.is_proved && frame.len() > frame::HEADER && !self.has_records() {
            Switch::FirstFrames.turn_on();
        }
        let storage = match buffer {
            Some(buffer) => Storage::Buffer(buffer),
            None => {
                let at = self.dropped + self.copies.len() as u64;
                self.copies.extend(frame);
                Storage::Copies(at)
            }
        };
        let length = frame.len();
        self.frames.push_back(KeptFrame { length, storage });
    }

    /// The peer says that `come` frames have come to it in their turn; that wraps. How many; `None`: more than were sent. `release` gets the
    /// buffers of frames that need not be kept.
    #[inline]
    pub fn acknowledge(&mut self, come: u32, mut release: impl FnMut(B)) -> Option<u64> {
        let sent = self.sent();
        let come = sent.checked_sub(u64::from((sent as u32).wrapping_sub(come)))?;
        self.is_missed &= come <= self.first;
        // A frame that came late says less than one before it.
        while self.first < come {
            self.drop_first(&mut release);
        }
        self.is_proved |= come == sent && sent > 0;
        if self.again.is_some_and(|again| again < self.first) {
            self.again = (self.first < sent).then_some(self.first);
        }
        Some(come)
    }

    fn drop_first(&mut self, release: &mut impl FnMut(B)) {
        let Some(KeptFrame { length, storage }) = self.frames.pop_front() else {
            return;
        };
        self.first += 1;
        match storage {
            Storage::Buffer(buffer) => release(buffer),
            Storage::Copies(_) => {
                self.copies.drain(..length);
                self.dropped += length as u64;
            }
        }
    }

    /// The peer has failed: nothing is kept for it.
    pub fn forget(&mut self, mut release: impl FnMut(B)) {
        while !self.frames.is_empty() {
            self.drop_first(&mut release);
        }
        self.again = None;
        self.is_missed = false;
    }

    /// The connection has ended: the next one may lose frames, too.
    pub fn doubt(&mut self) {
        self.is_proved = false;
        if !self.frames.is_empty() {
            Switch::FirstFrames.turn_on();
        }
    }

    /// Is it proved that what is sent comes?
    pub fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// Are so many kept that the peer is to say which have come? Those without records are no reason for it to send anything.
    #[inline]
    pub fn asks(&self) -> bool {
        !self.frames.is_empty() && self.frames.len().is_multiple_of(ASKED_AFTER)
    }

    /// All that is kept goes again.
    pub fn repeat(&mut self) {
        self.again = (!self.frames.is_empty()).then_some(self.first);
    }

    /// The peer misses the first of what is kept, which goes again if it is time for that. True: it does, or is still to go.
    pub fn repeat_missing(&mut self, now: Instant) -> bool {
        let is_due = self
            .repeated
            .is_none_or(|last| now.saturating_duration_since(last) >= PAUSE);
        if is_due && self.again.is_none() && !self.frames.is_empty() {
            self.repeated = Some(now);
            self.repeat();
        }
        self.is_missed = self.again.is_some();
        self.is_missed
    }

    /// Does the peer wait for what is to go again?
    pub fn is_missed(&self) -> bool {
        self.is_missed
    }

    /// Is there something to go again?
    #[inline]
    pub fn repeats(&self) -> bool {
        self.again.is_some()
    }

    /// Are there records in what is to go again?
    pub fn repeats_records(&self) -> bool {
        let again = self.again.map(|again| (again - self.first) as usize);
        again.is_some_and(|skip| self.frames.iter().skip(skip).any(|kept| kept.length > frame::HEADER))
    }

    /// Are there records that the peer may not have?
    pub fn has_records(&self) -> bool {
        self.frames.iter().any(|kept| kept.length > frame::HEADER)
    }

    /// The next frame to go again.
    pub fn next(&self) -> Option<Again<'_, B>> {
        let kept = self.frames.get((self.again? - self.first) as usize)?;
        Some(match &kept.storage {
            Storage::Buffer(buffer) => Again::Buffer(buffer, kept.length),
            Storage::Copies(at) => {
                let begin = (at - self.dropped) as usize;
                let end = begin + kept.length;
                let (one, other) = self.copies.as_slices();
                let middle = one.len();
                let first = &one[begin.min(middle)..end.min(middle)];
                Again::Copy(first, &other[begin.saturating_sub(middle)..end.saturating_sub(middle)])
            }
        })
    }

    /// It goes.
    pub fn went(&mut self) {
        let sent = self.sent();
        self.again = self.again.map(|again| again + 1).filter(|again| *again < sent);
        self.is_missed &= self.again.is_some();
    }
}

/// Which frames of a peer have come.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Those in their turn.
    come: u64,
    /// Those before it.
    ahead: BTreeMap<u64, Vec<u8>>,
    /// Records have come, of which the peer was not told.
    is_untold: bool,
    /// The gap that it was told of at once, by the frames before it.
    gap: Option<u64>,
}

/// When a frame comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameOrder {
    /// It has come before.
    Seen,
    /// It is the next.
    Now,
    /// Others are missing before it.
    Ahead,
}

impl Arrivals {
    /// Frames that have come in their turn.
    #[inline]
    pub fn come(&self) -> u64 {
        self.come
    }

    /// Frames that have come before their turn.
    pub fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Is a frame missing before others that have come?
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// A frame with this number has come.
    #[inline]
    pub fn order(&self, number: u64) -> FrameOrder {
        match number.cmp(&self.come) {
            std::cmp::Ordering::Less => FrameOrder::Seen,
            std::cmp::Ordering::Equal => FrameOrder::Now,
            std::cmp::Ordering::Greater => FrameOrder::Ahead,
        }
    }

    /// The next one is handled, with records or without.
    #[inline]
    pub fn take_turn(&mut self, has_records: bool) {
        self.come += 1;
        self.is_untold |= has_records;
    }

    /// Keep one that is early. True: the peer does not know yet that one is missing. The bytes that are kept now.
    pub fn keep(&mut self, number: u64, frame: &[u8]) -> (bool, usize) {
        self.ahead.entry(number).or_insert_with(|| frame.to_vec());
        let is_new = self.gap.replace(self.come) != Some(self.come);
        (is_new, self.ahead.values().map(Vec::len).sum())
    }

    /// The next one, if it has come early.
    pub fn next_early(&mut self) -> Option<Vec<u8>> {
        self.ahead.remove(&self.come)
    }

    /// The peer is told how many have come.
    #[inline]
    pub fn tell(&mut self) {
        self.is_untold = false;
    }

    /// Was the peer told of all records that have come?
    pub fn is_told(&self) -> bool {
        !self.is_untold
    }

    /// The peer has failed.
    pub fn forget(&mut self) {
        self.ahead.clear();
    }
}

impl Network {
    /// Is there a peer that has not answered to records, sent or still to go over a connection that has not proved good?
    pub fn has_unanswered_first_frames(&self) -> bool {
        self.linked.iter().any(|peer| {
            let link = self.links[*peer as usize].as_ref();
            link.is_some_and(|link| {
                !link.lost && !link.replay.is_proved() && (!link.is_answered() || link.is_written())
            })
        })
    }

    /// A frame has come, in its turn or not, and says which of ours have. False: that cannot be.
    pub fn hear_come(&mut self, peer: u32, prefix: &frame::Prefix) -> bool {
        self.link(peer);
        let Some(link) = self.links[peer as usize].as_mut() else {
            return true;
        };
        let endpoint = &mut self.endpoint;
        let come = link.replay.acknowledge(prefix.come, |buffer| endpoint.let_go(buffer));
        let misses = prefix.flags & frame::MISSES != 0 && !link.lost;
        if misses && link.replay.repeat_missing(Instant::now()) && !self.waiting.contains(&peer) {
            self.waiting.push(peer);
        }
        come.is_some()
    }

    /// Send the first of the frames that go again, as it was: its number tells the peer where it belongs. True: it goes.
    pub(super) fn send_again(&mut self, peer: u32) -> bool {
        let Some(link) = self.links[peer as usize].as_mut() else {
            return false;
        };
        let (Some(to), Some(again)) = (link.to, link.replay.next()) else {
            return false;
        };
        let Some(frame) = self.endpoint.take(to) else {
            return false;
        };
        let length = match again {
            Again::Copy(one, other) => {
                let bytes = self.endpoint.bytes(frame);
                bytes[..one.len()].copy_from_slice(one);
                bytes[one.len()..][..other.len()].copy_from_slice(other);
                one.len() + other.len()
            }
            Again::Buffer(kept, length) => {
                self.endpoint.copy(*kept, frame, length);
                length
            }
        };
        match self.endpoint.send(frame, length, to) {
            Ok(isthmus_fabric::Sent::Going) => {
                link.replay.went();
                link.begun = link.begun.wrapping_add(1);
                counters::FRAMES_AGAIN.add(1);
                return true;
            }
            Ok(isthmus_fabric::Sent::Busy) => self.endpoint.put_back(frame),
            Err(error) => {
                self.endpoint.put_back(frame);
                self.has_failed(peer, &error);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
