use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::frame::HEADER;
use super::super::liveness::Liveness;
use super::*;

/// A wire between one sender and one receiver, which loses, repeats and reorders frames; answers are lost, too.
struct Wire {
    replay: Replay<Vec<u8>>,
    arrivals: Arrivals,
    /// Under way: numbers and bytes.
    frames: VecDeque<(u64, Vec<u8>)>,
    /// What the receiver has handled.
    handled: Vec<Vec<u8>>,
    /// By which it tells of a gap.
    liveness: Liveness,
    now: Instant,
}

impl Wire {
    /// Of a connection over which `before` frames have come.
    fn after(before: u64) -> Self {
        Self {
            replay: Replay {
                first: before,
                ..Replay::default()
            },
            arrivals: Arrivals {
                come: before,
                ..Arrivals::default()
            },
            frames: VecDeque::new(),
            handled: Vec::new(),
            liveness: Liveness::default(),
            now: Instant::now(),
        }
    }

    fn send(&mut self, frame: Vec<u8>) {
        let number = self.replay.sent();
        let is_long = frame.len() > HEADER + 20;
        self.replay.keep(&frame, is_long.then(|| frame.clone()));
        self.frames.push_back((number, frame));
    }

    fn send_again(&mut self) {
        while let Some(number) = self.replay.again {
            let bytes = match self.replay.next().expect("what goes again is kept") {
                Again::Copy(one, other) => [one, other].concat(),
                Again::Buffer(buffer, length) => buffer[..length].to_vec(),
            };
            self.frames.push_back((number, bytes));
            self.replay.went();
        }
    }

    fn receive(&mut self) {
        let Some((number, bytes)) = self.frames.pop_front() else {
            return;
        };
        match self.arrivals.order(number) {
            FrameOrder::Seen => {}
            FrameOrder::Ahead => drop(self.arrivals.keep(number, &bytes)),
            FrameOrder::Now => {
                self.handled.push(bytes);
                self.arrivals.take_turn(true);
                while let Some(bytes) = self.arrivals.next_early() {
                    self.handled.push(bytes);
                    self.arrivals.take_turn(true);
                }
            }
        }
    }

    /// The receiver looks at the link. True: it answers, since a frame is missing.
    fn look(&mut self) -> bool {
        let (come, misses) = (self.arrivals.come(), self.arrivals.has_gap());
        self.liveness.wait_for_missing(PAUSE, come, misses).is_some()
    }

    /// The sender hears from the receiver.
    fn answer(&mut self) {
        self.arrivals.tell();
        let come = self.arrivals.come();
        assert_eq!(self.replay.acknowledge(come as u32, drop), Some(come));
        if self.arrivals.has_gap() {
            self.now += PAUSE;
            self.replay.repeat_missing(self.now);
            self.send_again();
        }
    }
}

fn frame(at: usize) -> Vec<u8> {
    let length = HEADER + at * 7 % 50;
    (0..length).map(|byte| (at * 31 + byte) as u8).collect()
}

proptest! {
    #[test]
    fn each_frame_is_handled_once_and_in_order(
        before in prop_oneof![Just(0), Just(u64::from(u32::MAX) - 3), Just(1 << 40), any::<u32>().prop_map(u64::from)],
        steps in prop::collection::vec((0..8_u8, any::<prop::sample::Index>()), 1..200),
    ) {
        let mut wire = Wire::after(before);
        let mut sent = Vec::new();
        for (step, at) in steps {
            let under_way = wire.frames.len();
            match step {
                0 | 1 => {
                    sent.push(frame(sent.len()));
                    wire.send(sent[sent.len() - 1].clone());
                }
                2 => wire.receive(),
                3 => wire.answer(),
                4 if under_way > 0 => drop(wire.frames.remove(at.index(under_way))),
                5 if under_way > 0 => wire.frames.swap(0, at.index(under_way)),
                6 if under_way > 0 => {
                    let frame = wire.frames[at.index(under_way)].clone();
                    wire.frames.push_back(frame);
                }
                // The connection breaks: all that is under way is lost, of which the sender hears.
                7 => {
                    wire.frames.clear();
                    wire.replay.doubt();
                    wire.replay.repeat();
                    wire.send_again();
                }
                _ => {}
            }
            prop_assert!(wire.handled.len() <= sent.len());
        }
        // The sender asks, and the answer comes at last.
        let mut rounds = 0;
        while wire.handled.len() < sent.len() {
            wire.replay.repeat();
            wire.send_again();
            (0..wire.frames.len()).for_each(|_| wire.receive());
            rounds += 1;
            prop_assert!(rounds < 3, "{} of {}", wire.handled.len(), sent.len());
        }
        wire.answer();
        prop_assert_eq!(&wire.handled, &sent);
        prop_assert!(wire.replay.frames.is_empty() && wire.replay.copies.is_empty() && wire.replay.again.is_none());
        prop_assert_eq!(wire.replay.sent(), before + sent.len() as u64);
        prop_assert!(wire.replay.is_proved() || sent.is_empty());
    }
}

#[test]
fn only_what_was_sent_can_have_come() {
    for before in [0, u64::from(u32::MAX), 1 << 33] {
        let mut replay = Wire::after(before).replay;
        replay.keep(&frame(1), None);
        // What wraps may be old.
        let old = (before + 2).checked_sub(1 << 32);
        assert_eq!(replay.acknowledge((before + 2) as u32, drop), old);
        assert_eq!(replay.sent(), before + 1, "what is not true changes nothing");
        assert!(replay.has_records() && !replay.is_proved());
        assert_eq!(replay.acknowledge((before + 1) as u32, drop), Some(before + 1));
        assert!(!replay.has_records() && replay.is_proved());
    }
}

#[test]
fn a_gap_is_told_once_and_missing_frames_go_again_after_a_pause() {
    let mut arrivals = Arrivals::default();
    assert_eq!(
        (arrivals.keep(2, b"c"), arrivals.keep(1, b"b")),
        ((true, 1), (false, 2))
    );
    assert_eq!(arrivals.keep(2, b"other"), (false, 2), "it is there");
    let mut replay = Replay::<()>::default();
    let now = Instant::now();
    assert!(!replay.repeat_missing(now), "nothing is kept");
    replay.keep(b"a", None);
    assert!(replay.repeat_missing(now) && replay.repeats());
    replay.went();
    assert!(!replay.repeats() && !replay.repeat_missing(now), "not again at once");
    assert!(replay.repeat_missing(now + PAUSE));
}

/// What the receiver has told at once is lost, and so is what goes again; neither end is told of that, and the sender has no more to send.
#[test]
fn a_gap_is_told_until_it_is_filled() {
    let mut wire = Wire::after(0);
    wire.send(frame(1));
    wire.frames.clear();
    wire.send(frame(2));
    wire.receive();
    assert!(!wire.look(), "it was told at once");
    for is_lost in [true, true, false] {
        assert!(wire.look(), "it is to be told again");
        wire.answer();
        if is_lost {
            wire.frames.clear();
        }
        (0..wire.frames.len()).for_each(|_| wire.receive());
    }
    assert_eq!(wire.handled, [frame(1), frame(2)]);
    assert!(!wire.look() && !wire.look(), "nothing is missing");
}

#[test]
fn credit_alone_need_not_go_again() {
    let mut replay = Replay::default();
    replay.keep(&[0; HEADER], None);
    replay.repeat();
    assert!(replay.repeats() && !replay.repeats_records() && !replay.has_records());
    replay.keep(&[0; HEADER + 8], Some("its buffer"));
    assert!(replay.repeats_records() && replay.has_records());
    let mut released = Vec::new();
    replay.forget(|buffer| released.push(buffer));
    assert_eq!((released.len(), replay.repeats(), replay.sent()), (1, false, 2));
}

#[test]
fn a_peer_that_sends_nothing_is_asked_now_and_then() {
    let mut replay = Replay::<()>::default();
    let mut asked = Vec::new();
    for number in 0..2 * ASKED_AFTER as u32 + 2 {
        asked.extend(replay.asks().then_some(number));
        replay.keep(&[0; HEADER], None);
    }
    assert_eq!(asked, [ASKED_AFTER as u32, 2 * ASKED_AFTER as u32]);
    let sent = replay.sent();
    assert_eq!(replay.acknowledge(sent as u32, |()| {}), Some(sent));
    assert!(!replay.asks());
}
