//! Announced messages through streams: the sender feeds a pipe or a socket, the receiver drains it.
//!
//! The receiver asks for it by its answer to the announcement. The sender makes the stream at first use, and hands the other
//! end over through the receiver's listener, a socket that the receiver has opened before it asked. Each piece that is fed
//! is told of by a record, so the stream needs no frames, and whoever waits is woken as for any record. The send is over when
//! the receiver has everything, and says so: until then pages may be lent.
//!
//! Should either side fail, the receiver drains what was fed before, and asks for the rest through the ring; that kind of stream
//! between the two is then closed for good.
//!
//! Source: "Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis" (ICPP'09), section 3.1.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::os::fd::OwnedFd;

use isthmus_os::{Error, clock, socket};
use isthmus_transfer::Cause;
use isthmus_transfer::copy::Copying;
use isthmus_transfer::stream::{Drain, Feed, KINDS, PIECE, StreamKind};
use isthmus_transfer::{Interrupted, Layout};

use crate::channel::outbound::Answer;
use crate::channel::record::{ClearToSend, Fed, ReadyToSend};
use crate::counters;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::limits::{FED_PIECES, FED_RECORDS};
use crate::ops::Stage;
use crate::protocol::mechanism;
use crate::types::OpId;
use crate::warning::{Warning, warn};

/// The number of a kind in records; none has 0.
pub(crate) fn number(kind: StreamKind) -> u32 {
    kind as u32 + 1
}

fn kind_of(number: u32) -> Option<StreamKind> {
    StreamKind::ALL.into_iter().find(|&kind| self::number(kind) == number)
}

type Which = (u32, u32);

/// A message that we feed.
#[derive(Debug)]
struct Feeding {
    op: OpId,
    peer: u32,
    kind: StreamKind,
    receive_op: u32,
    next: u64,
    end: u64,
}

/// A message that we have asked for.
#[derive(Debug, Clone, Copy)]
struct Expected {
    op: OpId,
    peer: u32,
    kind: StreamKind,
    record: ReadyToSend,
}

/// Bytes that stand in a stream.
#[derive(Debug)]
struct Draining {
    peer: u32,
    kind: StreamKind,
    receive_op: u32,
    offset: u64,
    left: u64,
    /// The sender feeds no more of this message.
    is_last: bool,
}

/// All streams of this process.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    listener: Option<OwnedFd>,
    /// Connections to it whose first packet has not come yet, as many as there are ranks at most.
    unread: Vec<OwnedFd>,
    /// By peer and number.
    feeds: BTreeMap<Which, Box<dyn Feed>>,
    drains: BTreeMap<Which, Box<dyn Drain>>,
    /// Peers without streams from now on.
    closed_to: BTreeSet<Which>,
    closed_from: BTreeSet<Which>,
    feeding: Vec<Feeding>,
    expected: Vec<Expected>,
    draining: VecDeque<Draining>,
}

impl Streams {
    /// Is there something to feed or to drain?
    #[inline]
    pub fn is_busy(&self) -> bool {
        !self.feeding.is_empty() || !self.draining.is_empty()
    }

    /// Is there something to drain?
    #[inline]
    pub fn is_draining(&self) -> bool {
        !self.draining.is_empty()
    }

    /// The peer has died.
    pub fn forget(&mut self, peer: u32) {
        self.feeds.retain(|which, _| which.0 != peer);
        self.drains.retain(|which, _| which.0 != peer);
        self.feeding.retain(|feeding| feeding.peer != peer);
        self.expected.retain(|expected| expected.peer != peer);
        self.draining.retain(|draining| draining.peer != peer);
    }

    /// No more of this send goes through a stream.
    #[inline]
    pub fn stop_feeding(&mut self, op: OpId) {
        if !self.feeding.is_empty() {
            self.feeding.retain(|feeding| feeding.op != op);
        }
    }
}

/// The packet with a descriptor: the receiver's secret, the sender, the kind.
fn first_packet(secret: [u64; 2], from: u32, kind: StreamKind) -> [u8; 24] {
    let mut packet = [0; 24];
    for (at, word) in secret.into_iter().enumerate() {
        packet[at * 8..at * 8 + 8].copy_from_slice(&word.to_ne_bytes());
    }
    packet[16..20].copy_from_slice(&from.to_ne_bytes());
    packet[20..].copy_from_slice(&number(kind).to_ne_bytes());
    packet
}

/// The name of a rank's listener. It tells half of the secret at most, and first packets are checked by all of it.
fn socket_name(secret: [u64; 2], rank: u32) -> String {
    format!("isthmus-{:016x}-{rank}", secret[0] ^ secret[1])
}

impl Engine {
    // ---- the receiver ----

    /// The streams that a message from this peer may come by, by kind.
    pub(crate) fn open_streams(&self, peer: u32) -> [bool; KINDS] {
        let closed = &self.transfers.streams.closed_from;
        StreamKind::ALL.map(|kind| !closed.contains(&(peer, number(kind))))
    }

    /// The one that the user names, if a message from this peer may come by it.
    pub(crate) fn named_stream(&self, peer: u32) -> Option<DataPath> {
        let mut open = StreamKind::ALL.into_iter().zip(self.open_streams(peer));
        let named = open.find(|(kind, is_open)| *is_open && mechanism::is_forced(DataPath::Stream(*kind)));
        named.map(|(kind, _)| DataPath::Stream(kind))
    }

    /// If the receive `op` is to come by a stream, be ready for it. The stream's number; 0: it does not.
    pub(crate) fn expect_fed(&mut self, op: u32, peer: u32, record: ReadyToSend, missing: &Range<u64>) -> u32 {
        let DataPath::Stream(kind) = self.ops[op].path else {
            return 0;
        };
        let closed = self.transfers.streams.closed_from.contains(&(peer, number(kind)));
        if closed || missing.start != 0 || !self.ops[op].buffer.has_layout() {
            return 0;
        }
        if let Err(error) = self.open_listener() {
            report(kind, peer, "receive from", &error);
            self.transfers.streams.closed_from.insert((peer, number(kind)));
            return 0;
        }
        let id = self.ops.id(op);
        self.transfers.streams.expected.retain(|expected| expected.op != id);
        self.transfers.streams.expected.push(Expected {
            op: id,
            peer,
            kind,
            record,
        });
        number(kind)
    }

    fn open_listener(&mut self) -> Result<(), Error> {
        if self.transfers.streams.listener.is_none() {
            let identity = self.slot().identity();
            let secret = identity.map_or([0; 2], |identity| identity.nonce);
            self.transfers.streams.listener = Some(socket::listen(&socket_name(secret, self.me))?);
        }
        Ok(())
    }

    /// Take the descriptors that peers have handed over.
    fn take_first_packets(&mut self) {
        let Some(secret) = self.slot().identity().map(|identity| identity.nonce) else {
            return;
        };
        let Some(listener) = &self.transfers.streams.listener else {
            return;
        };
        let mut connections = std::mem::take(&mut self.transfers.streams.unread);
        // Any process of the machine can connect, again and again.
        let accepted = std::iter::from_fn(|| socket::accept(listener).ok().flatten());
        connections.extend(accepted.take(self.segment.ranks() as usize));
        for connection in connections {
            let mut packet = [0; 24];
            let descriptor = match socket::receive(&connection, &mut packet) {
                Ok(socket::Received::Packet(24, Some(descriptor))) => descriptor,
                // A connected sender may not have sent it yet.
                Ok(socket::Received::Nothing) => {
                    let unread = &mut self.transfers.streams.unread;
                    if unread.len() < self.segment.ranks() as usize {
                        unread.push(connection);
                    }
                    continue;
                }
                _ => continue,
            };
            let word = |at: usize| u32::from_ne_bytes(packet[at..at + 4].try_into().expect("four bytes"));
            let (from, kind) = (word(16), kind_of(word(20)));
            if let Some(kind) = kind
                && from < self.segment.ranks()
                && packet == first_packet(secret, from, kind)
            {
                let drain = mechanism::drain_stream(kind, descriptor);
                self.transfers.streams.drains.insert((from, number(kind)), drain);
            }
        }
    }

    /// Bytes of a message stand in a stream.
    pub(crate) fn on_fed(&mut self, peer: u32, fed: Fed) {
        let Some(kind) = kind_of(fed.stream) else { return };
        self.transfers.streams.draining.push_back(Draining {
            peer,
            kind,
            receive_op: fed.receive_op,
            offset: fed.offset,
            left: fed.length,
            is_last: fed.length == 0,
        });
        if let Some(expected) = self.expected(peer, kind, fed.receive_op)
            && let Some(op) = self.ops.find(expected.op)
            && let Some(sample) = &mut self.ops[op].sample
        {
            sample.add_sender(fed.ticks);
        }
        self.drain_on();
    }

    fn expected(&self, peer: u32, kind: StreamKind, receive_op: u32) -> Option<Expected> {
        let wanted = |expected: &&Expected| {
            expected.op.0 == receive_op && expected.peer == peer && expected.kind as u32 == kind as u32
        };
        self.transfers.streams.expected.iter().find(wanted).copied()
    }

    /// Feed and drain what can be. True: something moved.
    #[cold]
    pub(crate) fn stream_on(&mut self) -> bool {
        self.drain_on() | self.feed_on()
    }

    fn drain_on(&mut self) -> bool {
        let mut moved = false;
        let mut waiting = BTreeSet::new();
        let mut at = 0;
        while at < self.transfers.streams.draining.len() {
            let Some(mut draining) = self.transfers.streams.draining.remove(at) else {
                break;
            };
            let which = (draining.peer, number(draining.kind));
            if !waiting.contains(&which) {
                let before = draining.left;
                let over = self.drain(&mut draining);
                moved |= over || draining.left < before;
                if draining.left < before {
                    // The sender may sleep until there is room.
                    self.channels.order();
                    self.channels.wake(draining.peer);
                }
                if over {
                    continue;
                }
                waiting.insert(which);
            }
            self.transfers.streams.draining.insert(at, draining);
            at += 1;
        }
        moved
    }

    /// True: there is no more of this.
    fn drain(&mut self, draining: &mut Draining) -> bool {
        let which = (draining.peer, number(draining.kind));
        let expected = self.expected(draining.peer, draining.kind, draining.receive_op);
        if draining.is_last {
            self.close_from(which);
            if let Some(expected) = expected {
                self.ask_for_the_rest(expected);
            }
            return true;
        }
        if self.transfers.streams.closed_from.contains(&which) {
            return true;
        }
        if !self.transfers.streams.drains.contains_key(&which) {
            self.take_first_packets();
        }
        let receive = expected.and_then(|expected| {
            let op = self.ops.find(expected.op)?;
            let Stage::Receiving {
                received,
                expected: whole,
            } = self.ops[op].stage
            else {
                return None;
            };
            let end = draining.offset.checked_add(draining.left)?;
            (draining.offset == received && end <= whole).then_some((op, expected, whole))
        });
        let began = clock::ticks();
        let drained = match self.transfers.streams.drains.get_mut(&which) {
            None => Err(Interrupted::at_once("recvmsg", isthmus_os::errno::EPIPE)),
            Some(drain) => {
                let range = draining.offset..draining.offset.saturating_add(draining.left);
                match receive {
                    Some((op, _, whole)) => {
                        let into = |layout: &Layout<'_>| {
                            // SAFETY: the receive's pending buffer has room for the whole, which the range lies within.
                            unsafe { drain.drain(layout, range.clone()) }
                        };
                        let buffer = self.ops[op].buffer;
                        let (mut drained, mut into) = (None, into);
                        buffer.with_layout(whole, |layout| drained = Some(into(layout)));
                        drained.unwrap_or_else(|| Err(Interrupted::at_once("layout", isthmus_os::errno::EINVAL)))
                    }
                    // Nobody wants it any more; what is behind may be wanted.
                    None => waste(&mut **drain, draining.left),
                }
            }
        };
        let got = drained.unwrap_or_else(|stopped| stopped.done);
        draining.offset += got;
        draining.left -= got;
        count(draining.kind, got);
        if let Some((op, expected, whole)) = receive {
            if let Some(sample) = &mut self.ops[op].sample {
                sample.add_receiver(clock::ticks().wrapping_sub(began));
            }
            self.ops[op].stage = Stage::Receiving {
                received: draining.offset,
                expected: whole,
            };
            if draining.offset == whole {
                self.drained(op, expected, whole);
            }
        }
        if let Err(stopped) = drained {
            self.close_from(which);
            if draining.left > 0 || receive.is_none() {
                report_failure(draining.kind, draining.peer, "receive from", stopped);
            }
            // All that were to come by it.
            let (lost, kept) = std::mem::take(&mut self.transfers.streams.expected)
                .into_iter()
                .partition::<Vec<_>, _>(|expected| (expected.peer, number(expected.kind)) == which);
            self.transfers.streams.expected = kept;
            for expected in lost {
                self.ask_for_the_rest(expected);
            }
            return true;
        }
        draining.left == 0
    }

    fn close_from(&mut self, which: Which) {
        self.transfers.streams.closed_from.insert(which);
    }

    /// All of the receive `op` is here.
    fn drained(&mut self, op: u32, expected: Expected, whole: u64) {
        self.transfers.streams.expected.retain(|other| other.op != expected.op);
        let (sample, began, path) = (self.ops[op].sample, self.ops[op].began, self.ops[op].path);
        if let Some(sample) = sample {
            self.learn_from_announced(expected.peer, sample, path, whole);
        } else if let Some(began) = began {
            self.learn_from_scattered(expected.peer, path, began, whole);
        }
        self.fetched(op, expected.peer, expected.record, 0..0);
    }

    /// The rest of a failed stream.
    fn ask_for_the_rest(&mut self, expected: Expected) {
        self.transfers.streams.expected.retain(|other| other.op != expected.op);
        let Some(op) = self.ops.find(expected.op) else { return };
        let Stage::Receiving {
            received,
            expected: whole,
        } = self.ops[op].stage
        else {
            return;
        };
        self.ask(
            expected.peer,
            expected.record,
            expected.op.0,
            received..whole,
            (Copying::usual(), 0),
        );
    }

    // ---- the sender ----

    /// The receiver of the announced send `op` wants these bytes by a stream.
    pub(crate) fn start_feeding(&mut self, op: u32, peer: u32, record: ClearToSend, range: Range<u64>) {
        let Some(kind) = kind_of(record.stream) else { return };
        let which = (peer, number(kind));
        if !self.transfers.streams.feeds.contains_key(&which)
            && !self.transfers.streams.closed_to.contains(&which)
            && let Err(error) = self.hand_over(peer, kind)
        {
            report(kind, peer, "send to", &error);
            self.transfers.streams.closed_to.insert(which);
        }
        self.transfers.streams.feeding.push(Feeding {
            op: self.ops.id(op),
            peer,
            kind,
            receive_op: record.receive_op,
            next: range.start,
            end: range.end,
        });
        self.feed_on();
    }

    /// Make a stream and give the peer its end. Waits for nobody, unless the peer's listener is full.
    fn hand_over(&mut self, peer: u32, kind: StreamKind) -> Result<(), Error> {
        let identity = self.segment.slot(peer).identity().ok_or(Error {
            call: "slot",
            errno: isthmus_os::errno::ESRCH,
        })?;
        let (feed, descriptor) = mechanism::open_stream(kind)?;
        let connection = socket::connect(&socket_name(identity.nonce, peer))?;
        socket::send(
            &connection,
            &first_packet(identity.nonce, self.me, kind),
            Some(&descriptor),
        )?;
        self.transfers.streams.feeds.insert((peer, number(kind)), feed);
        Ok(())
    }

    fn feed_on(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.transfers.streams.feeding.len() {
            let mut feeding = self.transfers.streams.feeding.swap_remove(at);
            let before = feeding.next;
            let over = self.feed(&mut feeding);
            moved |= over || feeding.next > before;
            if !over {
                let last = self.transfers.streams.feeding.len();
                self.transfers.streams.feeding.push(feeding);
                self.transfers.streams.feeding.swap(at, last);
                at += 1;
            }
        }
        moved
    }

    /// True: no more of this is to be fed.
    fn feed(&mut self, feeding: &mut Feeding) -> bool {
        let which = (feeding.peer, number(feeding.kind));
        let open = self
            .ops
            .find(feeding.op)
            .filter(|&op| self.ops[op].stage == Stage::Offered && self.ops[op].to == feeding.peer);
        let Some(op) = open else { return true };
        let buffer = self.ops[op].buffer;
        for _ in 0..FED_PIECES {
            let untold = self.channels.outbound(feeding.peer);
            if feeding.next >= feeding.end {
                return true;
            }
            if untold.is_some_and(|outbound| outbound.unanswered() > FED_RECORDS) {
                return false;
            }
            let piece = feeding.next..feeding.end.min(feeding.next + PIECE);
            let began = clock::ticks();
            let closed = self.transfers.streams.closed_to.contains(&which);
            let fed = match self.transfers.streams.feeds.get_mut(&which).filter(|_| !closed) {
                None => Err(Interrupted::at_once("closed", isthmus_os::errno::EPIPE)),
                Some(feed) => {
                    let mut fed = None;
                    buffer.with_layout(feeding.end, |layout| {
                        // SAFETY: the send is pending, at least as long as that, and stays so until the receiver has drained
                        // everything and says so.
                        fed = Some(unsafe { feed.feed(layout, piece.clone()) });
                    });
                    fed.unwrap_or_else(|| Err(Interrupted::at_once("layout", isthmus_os::errno::EINVAL)))
                }
            };
            let length = fed.unwrap_or_else(|stopped| stopped.done);
            if length > 0 {
                let fed = Fed {
                    receive_op: feeding.receive_op,
                    stream: which.1,
                    offset: feeding.next,
                    length,
                    ticks: clock::ticks().wrapping_sub(began),
                };
                feeding.next += length;
                self.answer(feeding.peer, Answer::Fed(fed));
            }
            if let Err(stopped) = fed {
                if !closed {
                    report_failure(feeding.kind, feeding.peer, "send to", stopped);
                }
                self.transfers.streams.closed_to.insert(which);
                let over = Fed {
                    receive_op: feeding.receive_op,
                    stream: which.1,
                    offset: feeding.next,
                    length: 0,
                    ticks: 0,
                };
                self.answer(feeding.peer, Answer::Fed(over));
                return true;
            }
            if length == 0 {
                return false;
            }
        }
        feeding.next >= feeding.end
    }
}

/// Drain bytes that nobody wants.
fn waste(drain: &mut dyn Drain, left: u64) -> Result<u64, Interrupted> {
    let mut scratch = vec![0u8; left.min(PIECE) as usize];
    let length = scratch.len() as u64;
    // SAFETY: the scratch is ours and as long as we say.
    unsafe { drain.drain(&Layout::local(scratch.as_mut_ptr(), length), 0..length) }
}

fn count(kind: StreamKind, bytes: u64) {
    match kind {
        StreamKind::Vmsplice => counters::VMSPLICE_BYTES.add(bytes),
        StreamKind::Writev => counters::WRITEV_BYTES.add(bytes),
        StreamKind::Loopback => counters::LOOPBACK_BYTES.add(bytes),
    }
}

fn report_failure(kind: StreamKind, peer: u32, what: &str, stopped: Interrupted) {
    // The peer has died. The launcher reports that.
    if stopped.cause() != Cause::Gone {
        report(kind, peer, what, &stopped.error);
    }
}

/// One line, once per process: cause and cure.
fn report(kind: StreamKind, peer: u32, what: &str, error: &Error) {
    let cure = match kind {
        StreamKind::Vmsplice | StreamKind::Writev => {
            "free descriptors and pipe pages (ulimit -n, /proc/sys/fs/pipe-user-pages-soft)"
        }
        StreamKind::Loopback => "a loopback device that is up in this network namespace",
    };
    let name = kind.name();
    warn(
        Warning::NoStream,
        &format!(
            "isthmus: cannot {what} rank {peer} by {name} ({error}); large messages take the ring instead. \
             Cure: {cure}; or another ISTHMUS_MECHANISM."
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_kinds() {
        assert_eq!(kind_of(0), None);
        assert_eq!(kind_of(99), None);
        for kind in StreamKind::ALL {
            assert_eq!(kind_of(number(kind)), Some(kind));
        }
    }

    #[test]
    fn first_packets_tell_who_and_what() {
        let one = first_packet([1, 2], 3, StreamKind::Writev);
        assert_ne!(one, first_packet([1, 2], 4, StreamKind::Writev));
        assert_ne!(one, first_packet([1, 2], 3, StreamKind::Vmsplice));
        assert_ne!(one, first_packet([1, 3], 3, StreamKind::Writev));
    }
}
