//! Copies of the first frames of a connection, until it has proved good.
//!
//! Where two ranks connect to each other at the same time the provider keeps one connection, and what the kernel has taken for the other is
//! lost without a word (seen with libfabric 1.17, `net`, in one of ten jobs whose 8 ranks on 8 nodes all meet at once). A frame is kept
//! until a frame of the peer's confirms it ([`super::frame::Prefix::come`]). Once all frames have come, none is kept unless the connection breaks. A rank that has got a later frame
//! says that one is missing ([`super::frame::MISSES`]), and gets all that is kept once more: the numbers make that harmless. The sender may
//! compute by then: so it asks for an answer ([`super::frame::ASKS`]), and sees to that on its way out of the engine ([`ExitHooks::FLUSH_FIRST_FRAMES`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Network, frame};
use crate::exit_hooks::{self, ExitHooks};

/// So long nothing is sent again that was: the peer goes on to say that it misses frames until they have come.
const PAUSE: Duration = Duration::from_millis(50);

/// The kept frames of one peer.
#[derive(Debug, Default)]
pub(crate) struct Unproven {
    is_proved: bool,
    frames: BTreeMap<u64, Box<[u8]>>,
    /// When all of it was sent again.
    repeated: Option<Instant>,
    /// The gap that the peer was told of at once, by the frames that had come before it.
    told: Option<u64>,
}

impl Unproven {
    /// A frame goes.
    #[inline]
    pub fn keep(&mut self, sequence: u64, frame: &[u8]) {
        if !self.is_proved {
            if self.frames.is_empty() {
                exit_hooks::set(ExitHooks::FLUSH_FIRST_FRAMES);
            }
            self.frames.insert(sequence, frame.into());
        }
    }

    /// It did not go.
    pub fn forget(&mut self, sequence: u64) {
        self.frames.remove(&sequence);
    }

    /// So many frames have come to the peer, of so many that were sent.
    #[inline]
    pub fn have_come(&mut self, come: u64, sent: u64) {
        if !self.is_proved {
            self.is_proved = come == sent && sent > 0;
            self.frames = self.frames.split_off(&come);
        }
    }

    /// The connection has ended: the next one may lose frames, too.
    pub fn doubt(&mut self) {
        self.is_proved = false;
    }

    /// Is it proved that what is sent comes?
    pub fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// The frames to send again, if it is time for that.
    fn repeat(&mut self, now: Instant) -> impl Iterator<Item = (u64, Box<[u8]>)> {
        let is_due = self
            .repeated
            .is_none_or(|last| now.saturating_duration_since(last) >= PAUSE);
        if is_due && !self.frames.is_empty() {
            self.repeated = Some(now);
        }
        let frames = self.frames.iter().filter(move |_| is_due);
        frames.map(|(sequence, frame)| (*sequence, frame.clone()))
    }

    /// Is this frame kept?
    fn keeps(&self, sequence: u64) -> bool {
        self.frames.contains_key(&sequence)
    }

    /// Is a gap after so many frames new?
    pub fn is_new_gap(&mut self, come: u64) -> bool {
        self.told.replace(come) != Some(come)
    }
}

impl Network {
    /// Is there a peer that has not answered to records, sent or still to go over a connection that has not proved good?
    pub fn has_unanswered_first_frames(&self) -> bool {
        self.linked.iter().any(|peer| {
            let link = self.links[*peer as usize].as_ref();
            link.is_some_and(|link| {
                !link.lost && !link.unproven.is_proved && (!link.is_answered() || link.is_written())
            })
        })
    }

    /// A frame has come, in its turn or not, whose sender may miss some of ours: they go again, or are known to be lost.
    pub fn repeat_missing(&mut self, peer: u32, prefix: &frame::Prefix) {
        let link = self.link(peer);
        // It wraps in the frame.
        let not_come = (link.frames_sent as u32).wrapping_sub(prefix.come);
        let misses = prefix.flags & frame::MISSES != 0;
        if let Some(come) = link.frames_sent.checked_sub(not_come.into()) {
            let is_missed =
                misses && come < link.frames_sent && !link.unproven.keeps(come) && !link.again.contains_key(&come);
            let is_under_way = link.to.is_some_and(|to| self.endpoint.has_under_way(to));
            self.link(peer).liveness.hear_of_gap(come, is_missed && !is_under_way);
        }
        let link = self.link(peer);
        if !misses || link.lost || !link.again.is_empty() {
            return;
        }
        link.again = link.unproven.repeat(Instant::now()).collect();
        if !link.again.is_empty() && !self.waiting.contains(&peer) {
            self.waiting.push(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_kept_until_all_were_handled() {
        let mut kept = Unproven::default();
        kept.keep(0, b"a");
        kept.keep(1, b"b");
        kept.forget(1);
        let now = Instant::now();
        let sequences = |kept: &mut Unproven, now| kept.repeat(now).map(|(sequence, _)| sequence).collect::<Vec<_>>();
        assert_eq!(sequences(&mut kept, now), [0]);
        assert!(sequences(&mut kept, now).is_empty(), "not again at once");
        assert_eq!(sequences(&mut kept, now + PAUSE), [0]);
        kept.keep(1, b"b");
        kept.have_come(1, 2);
        assert_eq!(sequences(&mut kept, now + 2 * PAUSE), [1], "the first has come");
        kept.have_come(2, 2);
        kept.keep(2, b"c");
        assert!(sequences(&mut kept, now + 3 * PAUSE).is_empty());
        kept.doubt();
        kept.keep(3, b"d");
        assert_eq!(sequences(&mut kept, now + 3 * PAUSE), [3]);
    }

    #[test]
    fn each_gap_is_new_once() {
        let mut kept = Unproven::default();
        assert!(kept.is_new_gap(0) && !kept.is_new_gap(0) && kept.is_new_gap(3));
    }
}
