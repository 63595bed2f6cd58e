//! Connections that break after they were made, and how that is found.
//!
//! Providers differ in what they say. `net` of libfabric 1.17 (and `tcp` since 1.18) fails what it still had to send, drops a
//! frame that came in part, and connects again at the next send; what the kernel had taken is lost without a word. [`super::replay`] sends
//! those frames again. A waiting rank asks ([`frame::ASKS`]) after a second for a frame back, if it has sent what the peer has not said to have
//! handled: that shows a loss at the end. So it does if the provider takes nothing of what is to be sent, read or written: what is busy may have
//! no connection. A peer that does not fill a gap is told of it again and again; if it does not fill it for `connect_timeout_ms` it has lost the
//! connection. And pieces of reads and writes that the provider has begun may be lost with it: a peer that answers meanwhile, while none of them
//! ends, has lost it, too.
//!
//! A connection over which nothing is answered for that long by the other machine is ended by the kernel, which is told so
//! of the provider's sockets ([`isthmus_os::network::limit_silence`]). Only time between rounds of progress counts.

use std::time::{Duration, Instant};

use isthmus_os::host;
use isthmus_shm::Segment;

use super::{Network, frame};
use crate::tunables;

/// How often links are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// As much counts between two looks, at most.
const STEP: Duration = Duration::from_millis(500);
/// Pieces have ended, or are lost: long enough for a short cut.
const PIECES: Duration = Duration::from_secs(20);
/// How long an answer may be missing before it is asked for; twice as long the next time, to a limit.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];
/// The same the first time, where no connection has proved good.
const FIRST_PAUSE: Duration = LOOK;
/// The provider may be too busy for what is to be sent, read or written for so long; then it may have no connection.
const STUCK: Duration = Duration::from_secs(2);
/// How often sockets are looked for that the kernel is to watch.
const SOCKETS: Duration = Duration::from_secs(10);
/// As long as there are new links.
const NEW_SOCKETS: Duration = Duration::from_secs(1);
/// The kernel ends a connection whose other end has not answered for so long.
const SILENCE: Duration = Duration::from_secs(30);
/// The same once a process there has failed, from which something is still read.
const LAST_SILENCE: Duration = Duration::from_secs(3);
/// Of the two ends the one with the smaller rank says so, if it can.
const TIE_BREAK: Duration = Duration::from_secs(1);

/// The state of a link beside its frames.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// The next frame asks.
    asks: bool,
    /// The peer is told that it counts as failed here.
    parts: bool,
    /// It has told us that.
    parted: bool,
    /// What the peer had handled at the last look, and for how long that has not changed.
    returned: u64,
    unanswered: Duration,
    pause: Duration,
    /// What the provider had begun at the last look, and for how long it has begun nothing though there was something.
    begun: u32,
    stuck: Duration,
    /// For how long pieces to be read or written there have waited for the provider, and none was under way.
    pieces_wait: Duration,
    /// If a later frame was there at the last look: frames that had come in turn, and for how long it is so.
    missing: Option<(u64, Duration)>,
    pieces: Pieces,
}

/// Pieces of reads and writes that the provider has under way.
#[derive(Debug, Default)]
struct Pieces {
    /// How many were over at the last look, and for how long none has ended since.
    ended: u32,
    stuck: Duration,
    /// Frames that had come in turn when the peer was asked.
    asked: Option<u64>,
}

impl Liveness {
    pub fn flags(&self) -> u32 {
        let asks = if self.asks { frame::ASKS } else { 0 };
        asks | if self.parts { frame::PARTED } else { 0 }
    }

    /// The next frame asks, if it is to.
    pub fn ask(&mut self, asks: bool) {
        self.asks |= asks;
    }

    pub fn asked(&mut self) {
        self.asks = false;
    }

    /// Time has passed in which the peer said to have handled so many bytes of so many. True: it is to be asked. `is_proved`: what is sent
    /// comes, as far as that was seen.
    fn wait_for_answer(&mut self, passed: Duration, returned: u64, sent: u64, is_proved: bool) -> bool {
        if returned != self.returned || returned == sent {
            self.returned = returned;
            self.unanswered = Duration::ZERO;
            self.pause = if is_proved { PAUSES[0] } else { FIRST_PAUSE };
            return false;
        }
        self.unanswered += passed;
        if self.unanswered < self.pause {
            return false;
        }
        self.unanswered = Duration::ZERO;
        self.pause = (self.pause * 2).min(PAUSES[1]);
        self.asks = true;
        true
    }

    /// Time has passed, the provider has begun so much until now, and there is something more that it is too busy for, or not. True: it
    /// has begun nothing for so long that it is to be seen whether there is a connection.
    fn wait_for_provider(&mut self, passed: Duration, begun: u32, has_more: bool) -> bool {
        if begun != self.begun || !has_more {
            self.begun = begun;
            self.stuck = Duration::ZERO;
            return false;
        }
        self.stuck += passed;
        let is_due = self.stuck >= STUCK;
        if is_due {
            self.stuck = Duration::ZERO;
            self.asks = true;
        }
        is_due
    }

    /// Time has passed, and pieces wait for the provider while none is under way, or not. True: for so long that they are to go in frames, which may
    /// have a connection of their own.
    fn wait_for_first_piece(&mut self, passed: Duration, waits: bool) -> bool {
        self.pieces_wait = if waits {
            self.pieces_wait + passed
        } else {
            Duration::ZERO
        };
        let is_due = self.pieces_wait >= STUCK;
        if is_due {
            self.pieces_wait = Duration::ZERO;
        }
        is_due
    }

    /// Time has passed, `ended` pieces are over, and some are under way or not; `come` frames have come in turn. True: the peer is to be asked.
    fn wait_for_pieces(&mut self, passed: Duration, ended: u32, under_way: bool, come: u64) -> bool {
        let pieces = &mut self.pieces;
        if ended != pieces.ended || !under_way {
            *pieces = Pieces {
                ended,
                ..Pieces::default()
            };
            return false;
        }
        pieces.stuck += passed;
        let asks = pieces.stuck >= STUCK && pieces.asked.is_none();
        if asks {
            pieces.asked = Some(come);
            self.asks = true;
        }
        asks
    }

    /// For how long none of the pieces has ended that are under way, if the peer has answered meanwhile.
    fn has_lost_pieces(&self, come: u64) -> Option<Duration> {
        let answered = self.pieces.asked.is_some_and(|asked| come > asked);
        answered.then_some(self.pieces.stuck)
    }

    /// Time has passed, `come` frames have come in turn, and others out of it or not. For how long one has been missing, of which the peer is
    /// to be told again: what it was told may be lost, and so may be what it has sent again since. `None`: for no time yet.
    pub(super) fn wait_for_missing(&mut self, passed: Duration, come: u64, is_ahead: bool) -> Option<Duration> {
        let same = self.missing.filter(|(before, _)| is_ahead && *before == come);
        let missing = same.map(|(_, missing)| missing + passed);
        self.missing = is_ahead.then_some((come, missing.unwrap_or_default()));
        missing
    }
}

impl Network {
    /// A frame has come, in its turn or not.
    pub fn hear_parting(&mut self, peer: u32, flags: u32) {
        if flags & frame::PARTED != 0 {
            self.link(peer).liveness.parted = true;
        }
    }

    /// The flags of a frame that has come in its turn. True: the peer wants to hear from us.
    pub fn heed(&mut self, peer: u32, flags: u32) -> bool {
        let link = self.link(peer);
        link.owes |= flags & frame::ASKS != 0;
        flags & frame::ASKS != 0
    }

    /// An unreachable peer, and a sentence that says why. Once per peer, until it is [parted](Self::part) from.
    pub fn gone(&mut self, segment: &'static Segment, me: u32) -> Option<(u32, String)> {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.looked_at);
        if passed >= LOOK {
            self.looked_at = now;
            let gone = self.stranger(segment, me);
            if let Some(gone) = gone.or_else(|| self.look(segment, me, passed.min(STEP))) {
                return Some(gone);
            }
        }
        self.unreachable(segment, me)
    }

    fn look(&mut self, segment: &'static Segment, me: u32, passed: Duration) -> Option<(u32, String)> {
        self.watch_sockets(segment, passed);
        self.say_what_was_given_up();
        let limit = Duration::from_millis(tunables::CONNECT_TIMEOUT_MS.get());
        for peer in self.linked.clone() {
            let link = self.link(peer);
            if link.lost {
                continue;
            }
            let (returned, sent, is_proved) = (link.returned, link.sent, link.replay.is_proved());
            // Also where it has broken, or nobody knows whether it was made: what was lost with it may be what is waited for.
            if link.liveness.wait_for_answer(passed, returned, sent, is_proved) && link.replay.sent() > 0 {
                link.owes = true;
                self.send(segment, me, peer);
            }
            let (is_busy, link) = (self.is_busy_for(peer), self.link(peer));
            let (begun, reached) = (link.begun, link.reached);
            if link.liveness.wait_for_provider(passed, begun, is_busy && reached) {
                self.break_off(peer);
                self.link(peer).owes = true;
                self.send(segment, me, peer);
            }
            let is_moving = self.moves_pieces(peer);
            let waits = !is_moving && self.has_waiting_pieces(peer);
            let link = self.link(peer);
            if link.liveness.wait_for_first_piece(passed, waits) {
                self.fail_waiting_pieces(peer);
            }
            let link = self.link(peer);
            let (ended, come) = (link.ended, link.arrivals.come());
            // Those of rails have a limit of their own.
            let is_moving = link.reading.0 + link.moving.0 > 0;
            if link.liveness.wait_for_pieces(passed, ended, is_moving, come) {
                link.owes = true;
                self.send(segment, me, peer);
            }
            if self.watch_rails(peer, passed) {
                let link = self.link(peer);
                link.liveness.ask(true);
                link.owes = true;
                self.send(segment, me, peer);
            }
            let tie_break = if me > peer { TIE_BREAK } else { Duration::ZERO };
            let link = self.link(peer);
            let (come, misses) = (link.arrivals.come(), link.arrivals.has_gap());
            let missing = link.liveness.wait_for_missing(passed, come, misses);
            if missing.is_some() {
                link.owes = true;
                self.send(segment, me, peer);
            }
            let link = self.link(peer);
            let lost = link.liveness.has_lost_pieces(come);
            let why = match link.liveness.parted {
                true => "it has found it broken",
                false if missing.is_some_and(|missing| missing >= limit + tie_break) => {
                    "what it sent before has not come"
                }
                false if lost.is_some_and(|lost| lost >= limit.min(PIECES) + tie_break) => {
                    "what is read or written there does not end"
                }
                false => continue,
            };
            let sentence = format!(
                "isthmus: rank {me} on host {}: the connection to {} broke: {why}: is the link up, and nothing between that resets \
                 connections?",
                host::name(),
                self.describe(segment, peer),
            );
            return Some((peer, sentence));
        }
        None
    }

    /// The peer counts as failed: tell it, if it is still there.
    pub fn part(&mut self, segment: &'static Segment, me: u32, peer: u32) {
        let link = self.link(peer);
        link.liveness.parts = true;
        link.owes = true;
        self.send(segment, me, peer);
        self.link(peer).lost = true;
        self.unreached.retain(|&other| other != peer);
    }

    /// The peer has failed: the kernel is to end connections with its host soon, if that does not answer.
    pub fn hurry_silence(&mut self, segment: &Segment, peer: u32) {
        let name = self.address(segment, peer);
        let address = name.and_then(|name| self.endpoint.tcp_address(&name));
        if let Some(address) = address {
            isthmus_os::network::limit_silence_of(address.ip(), LAST_SILENCE);
        }
    }

    /// The kernel is to end connections that nobody answers.
    fn watch_sockets(&mut self, segment: &Segment, passed: Duration) {
        self.since_sockets += passed;
        let pause = match self.watched == self.linked.len() {
            true => SOCKETS,
            false => NEW_SOCKETS,
        };
        if self.since_sockets < pause {
            return;
        }
        self.since_sockets = Duration::ZERO;
        self.watched = self.linked.len();
        let own = self.endpoint.tcp_address(self.endpoint.name());
        let address = |peer: &u32| {
            let name = self.address(segment, *peer)?;
            self.endpoint.tcp_address(&name)
        };
        let peers: Vec<_> = self.linked.iter().filter_map(address).collect();
        isthmus_os::network::limit_silence(own, &peers, SILENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_asked_for_ever_more_seldom() {
        let mut link = Liveness::default();
        assert!(!link.wait_for_answer(STEP, 0, 0, true), "nothing was sent");
        let mut asked = Vec::new();
        for look in 1..=50 {
            if link.wait_for_answer(STEP, 0, 10, true) {
                assert_eq!(link.flags(), frame::ASKS);
                link.asked();
                assert_eq!(link.flags(), 0);
                asked.push(look);
            }
        }
        assert_eq!(asked, [2, 6, 14, 30, 46]);
        assert!(!link.wait_for_answer(STEP, 10, 10, true) && !link.wait_for_answer(STEP, 10, 20, true));
        assert!(link.wait_for_answer(STEP, 10, 20, true), "a second again");
    }

    #[test]
    fn a_provider_that_begins_nothing_is_doubted() {
        let mut link = Liveness::default();
        let steps = [
            (1, true),
            (1, true),
            (1, true),
            (2, true),
            (2, false),
            (2, true),
            (2, true),
            (2, true),
            (2, true),
        ];
        let doubted = steps.map(|(begun, has_more)| link.wait_for_provider(STEP, begun, has_more));
        assert_eq!(doubted.iter().position(|doubted| *doubted), Some(8));
        assert_eq!(link.flags(), frame::ASKS);
    }

    #[test]
    fn pieces_that_never_begin_go_another_way() {
        let mut link = Liveness::default();
        let waits = [true, true, false, true, true, true, true, true];
        let due = waits.map(|waits| link.wait_for_first_piece(STEP, waits));
        assert_eq!(
            due.iter().position(|due| *due),
            Some(6),
            "two seconds after the last one was under way"
        );
    }

    #[test]
    fn pieces_are_lost_that_do_not_end_though_the_peer_answers() {
        let mut link = Liveness::default();
        assert!(
            (0..9).all(|_| !link.wait_for_pieces(STEP, 7, false, 3)),
            "nothing is under way"
        );
        let asks = (0..9)
            .map(|_| link.wait_for_pieces(STEP, 7, true, 3))
            .collect::<Vec<_>>();
        assert_eq!(asks.iter().position(|asks| *asks), Some(3));
        assert_eq!(asks.iter().filter(|asks| **asks).count(), 1, "once");
        assert_eq!(link.flags(), frame::ASKS);
        assert_eq!(link.has_lost_pieces(3), None, "it may be slow");
        assert_eq!(link.has_lost_pieces(4), Some(STEP * 9));
        assert!(!link.wait_for_pieces(STEP, 8, true, 4), "one has ended");
        assert_eq!(link.has_lost_pieces(4), None);
    }

    #[test]
    fn only_what_stays_away_is_missing() {
        let mut link = Liveness::default();
        assert_eq!(link.wait_for_missing(STEP, 3, true), None);
        assert_eq!(link.wait_for_missing(STEP, 3, true), Some(STEP));
        assert_eq!(link.wait_for_missing(STEP, 3, true), Some(STEP * 2));
        assert_eq!(link.wait_for_missing(STEP, 4, true), None, "one has come");
        assert_eq!(link.wait_for_missing(STEP, 4, true), Some(STEP));
        assert_eq!(link.wait_for_missing(STEP, 4, false), None);
    }
}
