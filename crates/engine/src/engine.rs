//! The engine's state, and what it does with records that arrive.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use isthmus_os::clock;
use isthmus_shm::ring::Header;
use isthmus_shm::{Offset, Segment, doorbell};
use isthmus_transfer::copy::Copying;

use crate::advertise::{Adverts, Claim};
use crate::arena::{self, Arena};
use crate::counters;
use crate::inbound::{Inbound, Incoming};
use crate::liveness::Wounds;
use crate::matching::{Key, Pattern, Posted, Unexpected};
use crate::ops::{Ops, Stage};
use crate::outbound::{self, Leases, Outbound};
use crate::payload::Payload;
use crate::reach::Reach;
use crate::record::{
    Advertised, Body, ClearToSend, Data, EagerFirst, EagerMore, Envelope, Finished, FullLine, Handler, Help,
    ReadyToSend, Switch,
};
use crate::rendezvous::Question;
use crate::select::{self, Effort, Lessons, Way};
use crate::single_copy::{Pull, Push};
use crate::spare::Spare;
use crate::staging::Staging;
use crate::tunables;
use crate::types::ContextId;

/// Rings that are looked at in every round of progress; the others ring the doorbell.
const MAX_HOT: usize = 16;
/// From this length on, reading and writing of a message overlap enough for the whole of it to be timed; of shorter ones,
/// both copies of the first record are.
const STREAMED: u64 = 16 << 10;
/// Records taken from one ring before the next gets its turn.
const BURST: usize = 32;
/// Unmatched messages from this length on stay in their rings while other things move...
const DEFERRED: u64 = 4 << 10;
/// ...for so many rounds of progress.
const PATIENCE: u32 = 64;

/// A message that came before its receive.
#[derive(Debug)]
pub(crate) enum Early {
    /// Bytes that have arrived, of `total`.
    Payload { source: i32, bytes: Payload, total: u64 },
    /// An announcement.
    Announced(ReadyToSend),
    /// An announcement whose offer a matched probe has taken.
    Taken(ReadyToSend),
    /// A message of our own to ourselves; the send operation, which holds the buffer, or the payload.
    Loopback { source: i32, op: u32 },
    /// A message that a matched probe has taken and whose sender died before all of it was here.
    Lost { source: i32 },
}

/// What keeping a message costs beside its payload, in bytes.
const ENTRY: u64 = 128;

impl Early {
    /// Bytes that it takes here.
    fn weight(&self) -> u64 {
        match self {
            Self::Payload { total, .. } => total.saturating_add(ENTRY),
            _ => ENTRY,
        }
    }

    pub fn source(&self) -> i32 {
        match self {
            Self::Payload { source, .. } | Self::Loopback { source, .. } | Self::Lost { source } => *source,
            Self::Announced(record) | Self::Taken(record) => record.envelope.source,
        }
    }
}

/// Longer messages that came before their receives. They stay in their rings for a while: often the receive is about to be
/// posted, and then the bytes are copied once less.
#[derive(Debug, Default)]
struct EarlyOnes {
    /// Leave them now.
    patient: bool,
    /// One was left.
    seen: bool,
    /// Rounds of progress in which some were left while other things moved.
    rounds: u32,
}

/// The engine.
pub(crate) struct Engine {
    pub segment: &'static Segment,
    pub me: u32,
    /// Our process is not registered with membarrier: fence after every record.
    fence_needed: bool,
    pub ops: Ops,
    pub posted: Posted,
    pub unexpected: Unexpected<Early>,
    /// Messages taken by matched probes.
    pub taken: Vec<Option<(Key, Early)>>,
    pub out: Vec<Option<Box<Outbound>>>,
    pub inbound: Vec<Option<Box<Inbound>>>,
    pub hot: Vec<u32>,
    /// Peers with something queued.
    pub backlog: Vec<u32>,
    pub arena: Arena,
    pub staging: Staging,
    pub leases: Leases,
    /// Descriptors of sends that were withdrawn, until their receivers have seen it.
    pub withdrawn: Vec<Offset>,
    /// What is known of each peer's memory.
    pub reach: Vec<Reach>,
    /// What large messages from each peer taught us.
    pub learned: Vec<Option<Box<Lessons>>>,
    early: EarlyOnes,
    /// Memory for unmatched payload.
    pub spare: Spare,
    /// Unmatched payload kept here, in bytes.
    unexpected_bytes: u64,
    announce_only: bool,
    /// Single copies that are under way.
    pub pulls: Vec<Pull>,
    /// Help that receivers asked for.
    pub pushes: Vec<Push>,
    /// Receives that we have advertised, and peers' receives that we may claim.
    pub adverts: Adverts,
    pub claims: Vec<Claim>,
    /// What we have asked senders to stream.
    pub questions: Vec<Question>,
    pub asked: u32,
    fruitless: u16,
    pub wounds: Wounds,
    /// The connection to the launcher.
    pub lifeline: Option<OwnedFd>,
    /// Scratch of `flush`.
    done: Vec<u32>,
    pub eager_limit: usize,
    unexpected_limit: u64,
}

impl Engine {
    pub fn new(segment: &'static Segment, me: u32, fence_needed: bool, lifeline: Option<OwnedFd>) -> Self {
        let ranks = segment.ranks() as usize;
        Self {
            segment,
            me,
            fence_needed,
            ops: Ops::default(),
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            taken: Vec::new(),
            out: (0..ranks).map(|_| None).collect(),
            inbound: (0..ranks).map(|_| None).collect(),
            hot: Vec::new(),
            backlog: Vec::new(),
            arena: Arena::default(),
            staging: Staging::default(),
            leases: Leases::default(),
            withdrawn: Vec::new(),
            reach: vec![Reach::default(); ranks],
            learned: (0..ranks).map(|_| None).collect(),
            early: EarlyOnes::default(),
            spare: Spare::default(),
            unexpected_bytes: 0,
            announce_only: false,
            pulls: Vec::new(),
            pushes: Vec::new(),
            adverts: Adverts::default(),
            claims: Vec::new(),
            questions: Vec::new(),
            asked: 0,
            fruitless: 0,
            wounds: Wounds::default(),
            lifeline,
            done: Vec::new(),
            eager_limit: tunables::EAGER_LIMIT.get() as usize,
            unexpected_limit: tunables::UNEXPECTED_LIMIT.get(),
        }
    }

    /// Move whatever can move. True: something did.
    #[inline]
    pub fn progress(&mut self) -> bool {
        self.early.patient = self.early.rounds < PATIENCE;
        if !self.early.patient {
            self.early.rounds = 0;
        }
        let mut moved = self.poll_hot();
        for (index, word) in self.segment.bitmap(self.me).iter().enumerate() {
            let mut bits = doorbell::take_word(word);
            while bits != 0 {
                moved |= self.answer_doorbell(index as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        if self.segment.attention(self.me).load(Ordering::Relaxed) != 0 {
            moved |= self.attend();
        }
        if !self.backlog.is_empty() {
            moved |= self.flush();
        }
        if !self.pulls.is_empty() {
            moved |= self.pull_on();
        }
        if !self.pushes.is_empty() {
            moved |= self.push_on();
        }
        if !self.claims.is_empty() {
            moved |= self.claim_on();
        }
        if !self.questions.is_empty() {
            moved |= self.question_on();
        }
        self.early.patient = false;
        if self.early.seen {
            moved |= self.take_early_ones(moved);
        }
        if !moved {
            self.fruitless = self.fruitless.wrapping_add(1);
            if self.fruitless == 0 {
                crate::boot::check_lifeline(self);
            }
        }
        moved
    }

    #[inline]
    fn poll_hot(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.hot.len() {
            moved |= self.poll(self.hot[at]);
            at += 1;
        }
        moved
    }

    /// Messages were left in their rings for their receives to come. If nothing else moves, or they have waited for
    /// long, take them: what is awaited may be behind.
    #[cold]
    fn take_early_ones(&mut self, moved: bool) -> bool {
        self.early.seen = false;
        if moved {
            self.early.rounds += 1;
            return false;
        }
        self.early.rounds = 0;
        self.poll_hot()
    }

    /// Is this a longer message that no receive waits for?
    fn is_early(&self, peer: u32, header: Header, body: Body) -> bool {
        if Handler::of(header) != Some(Handler::EagerFirst) {
            return false;
        }
        let Some((first, _)) = body.split::<FullLine<EagerFirst>>() else {
            return false;
        };
        let key = Key {
            context: ContextId(header.context),
            from: peer,
            tag: first.fixed.envelope.tag,
        };
        first.fixed.total >= DEFERRED && self.posted.find(&self.ops, key).is_none()
    }

    /// Must this process fence between publishing something and looking whether a peer sleeps?
    pub fn fence_needed(&self) -> bool {
        self.fence_needed
    }

    /// Rounds of progress in a row that moved nothing, roughly: it wraps.
    pub fn fruitless(&self) -> u16 {
        self.fruitless
    }

    /// Has something happened since the last call that a thread may wait for?
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.ops.news)
    }

    /// End the job: see [`crate::abort`].
    pub fn abort(&self, code: i32, message: &str) -> ! {
        crate::boot::end_job(self.lifeline.as_ref(), code, message)
    }

    /// Is there a record to take, or a doorbell bit? Takes nothing.
    pub fn has_work(&self) -> bool {
        self.hot.iter().any(|&peer| {
            self.inbound[peer as usize]
                .as_ref()
                .is_some_and(|inbound| inbound.ring.is_ready())
        }) || self
            .segment
            .bitmap(self.me)
            .iter()
            .any(|word| word.load(Ordering::Acquire) != 0)
            || self.has_copies_to_do()
            || !self.claims.is_empty()
            || !self.questions.is_empty()
            || self.segment.attention(self.me).load(Ordering::Acquire) != 0
            || self.is_behind()
    }

    /// Write what there is room for by now. True: something was written.
    pub fn flush_backlog(&mut self) -> bool {
        !self.backlog.is_empty() && self.flush()
    }

    /// Has everything that was to be sent left this process?
    pub fn is_quiet(&self) -> bool {
        self.backlog.is_empty()
    }

    // ---- receiving records ----

    /// Take records from one ring.
    #[inline]
    pub fn poll(&mut self, peer: u32) -> bool {
        let mut taken = 0;
        let mut credited = false;
        while taken < BURST {
            let Some(inbound) = self.inbound[peer as usize].as_mut() else {
                return false;
            };
            let Some(record) = inbound.ring.peek() else { break };
            if taken > 0 {
                inbound.ring.look_ahead();
            }
            // SAFETY: `peek` checked that the body lies within the ring; it stays until `release`.
            let body = unsafe { Body::new(inbound.ring.memory().body(record.at), record.header.length) };
            if self.early.patient && self.is_early(peer, record.header, body) {
                self.early.seen = true;
                break;
            }
            let handler = Handler::of(record.header);
            let inbound = self.inbound[peer as usize].as_mut().expect("just looked at");
            inbound.note(handler);
            if handler == Some(Handler::Switch) {
                let to = body.split::<Switch>().map(|(to, _)| to);
                let announce_only = self.announce_only;
                let inbound = self.inbound[peer as usize].as_mut().expect("a ring does not go away");
                if !to.is_some_and(|to| inbound.switch(self.segment, record, to, announce_only)) {
                    // Nothing can come from this peer any more; somebody would wait for it for ever.
                    let why = format!(
                        "isthmus: rank {}: rank {peer} goes on in a ring that is not there",
                        self.me
                    );
                    self.abort(1, &why);
                }
                credited = true;
            } else {
                self.dispatch(peer, record.header, body);
                let inbound = self.inbound[peer as usize].as_mut().expect("a ring does not go away");
                credited |= inbound.ring.release(record);
            }
            taken += 1;
        }
        if credited {
            // The sender may sleep until there is room.
            self.order();
            self.wake(peer);
        }
        taken > 0
    }

    /// A peer whose ring we do not look at has something for us.
    #[cold]
    fn answer_doorbell(&mut self, peer: u32) -> bool {
        if peer >= self.segment.ranks() || !self.open(peer) {
            return false;
        }
        self.make_hot(peer);
        self.poll(peer)
    }

    /// Find the ring from `peer`. False: there is none yet.
    pub fn open(&mut self, peer: u32) -> bool {
        if self.inbound[peer as usize].is_none() {
            // SYNC: inbox
            let at = self.segment.inbox(self.me, peer).load(Ordering::Acquire);
            let Some(memory) = outbound::first_ring(self.segment, at) else {
                return false;
            };
            self.inbound[peer as usize] = Some(Box::new(Inbound::new(Offset(at), memory)));
            if let Some(inbound) = &self.inbound[peer as usize] {
                inbound.ring.set_announce_only(self.announce_only);
            }
        }
        true
    }

    /// Look at this peer's ring from now on; somebody who was silent for long makes room.
    fn make_hot(&mut self, peer: u32) {
        if self.hot.len() == MAX_HOT {
            let silent = self.hot.iter().position(|&other| {
                let inbound = self.inbound[other as usize].as_mut().expect("hot rings exist");
                !std::mem::take(&mut inbound.active)
            });
            let other = self.hot.swap_remove(silent.unwrap_or(0));
            let inbound = self.inbound[other as usize].as_mut().expect("hot rings exist");
            inbound.hot = false;
            inbound.ring.set_polled(false);
            // The sender may have published, and not yet seen that it must ring: order its view, look once more.
            // SYNC: ring-polled
            isthmus_os::membarrier::fence_everyone();
            std::sync::atomic::fence(Ordering::SeqCst);
            if inbound.ring.is_ready() {
                doorbell::set_bit(self.segment.bitmap(self.me), other);
            }
        }
        let inbound = self.inbound[peer as usize].as_mut().expect("connected");
        if !inbound.hot {
            inbound.hot = true;
            inbound.active = true;
            inbound.ring.set_polled(true);
            self.hot.push(peer);
        }
    }

    /// Hand a record to its handler. Records that make no sense are dropped: what a peer wrote is data, not truth.
    #[inline]
    fn dispatch(&mut self, peer: u32, header: Header, body: Body) -> Option<()> {
        match Handler::of(header)? {
            Handler::Eager => {
                let (envelope, payload) = body.split::<Envelope>()?;
                self.on_eager(peer, ContextId(header.context), envelope, payload);
            }
            Handler::EagerFirst => {
                let (first, payload) = body.split::<FullLine<EagerFirst>>()?;
                self.on_eager_first(peer, ContextId(header.context), first.fixed, payload);
            }
            Handler::EagerMore => {
                let (more, payload) = body.split::<FullLine<EagerMore>>()?;
                self.on_eager_more(peer, more.fixed.ticks, payload);
            }
            Handler::ReadyToSend => {
                let (record, _) = body.split::<ReadyToSend>()?;
                self.on_ready_to_send(peer, ContextId(header.context), record);
            }
            Handler::ClearToSend => self.on_clear_to_send(peer, body.split::<ClearToSend>()?.0),
            Handler::Finished => self.on_finished(peer, body.split::<Finished>()?.0),
            Handler::Data => {
                let (data, payload) = body.split::<FullLine<Data>>()?;
                self.on_data(peer, data.fixed, payload);
            }
            Handler::Advertised => {
                let (record, _) = body.split::<Advertised>()?;
                self.on_advertised(peer, ContextId(header.context), record);
            }
            Handler::Help => self.on_help(peer, body.split::<Help>()?.0),
            Handler::Switch => {}
        }
        Some(())
    }

    /// A whole message.
    #[inline]
    fn on_eager(&mut self, peer: u32, context: ContextId, envelope: Envelope, payload: Body) {
        let key = Key {
            context,
            from: peer,
            tag: envelope.tag,
        };
        let total = payload.len() as u64;
        match self.posted.take(&mut self.ops, key) {
            Some(op) => {
                self.drop_advert(op);
                let expected = self.ops.matched(op, envelope.source, envelope.tag, total);
                // SAFETY: `matched` limits the length to the receive's buffer, which is pending.
                unsafe { payload.store(self.ops[op].buffer, 0, expected as usize) };
                self.ops.complete_as_is(op);
            }
            None => {
                self.keep(
                    key,
                    Early::Payload {
                        source: envelope.source,
                        bytes: payload.keep(),
                        total,
                    },
                );
            }
        }
    }

    /// The beginning of a longer message.
    fn on_eager_first(&mut self, peer: u32, context: ContextId, first: EagerFirst, payload: Body) {
        let key = Key {
            context,
            from: peer,
            tag: first.envelope.tag,
        };
        let incoming = match self.posted.take(&mut self.ops, key) {
            Some(op) => {
                self.drop_advert(op);
                self.ops
                    .matched(op, first.envelope.source, first.envelope.tag, first.total);
                self.ops[op].to = peer;
                Incoming::Receive(op)
            }
            None => {
                let early = Early::Payload {
                    source: first.envelope.source,
                    bytes: Payload::Long(self.spare.take(first.total as usize)),
                    total: first.total,
                };
                Incoming::Unexpected(self.keep(key, early))
            }
        };
        self.set_incoming(peer, Some(incoming));
        if first.ticks == 0 {
            self.on_eager_more(peer, 0, payload);
            return;
        }
        let (began, copying) = (clock::ticks(), Copying::of(first.copying));
        let is_streamed = first.total >= STREAMED && (payload.len() as u64) < first.total;
        if is_streamed && let Some(inbound) = self.inbound[peer as usize].as_mut() {
            inbound.timed = Some((Effort::default(), copying));
        }
        self.on_eager_more(peer, first.ticks.into(), payload);
        if !is_streamed
            && let Incoming::Receive(op) = incoming
            && self.ops[op].buffer.row().is_some()
        {
            let took = clock::ticks()
                .wrapping_sub(began)
                .saturating_add(u64::from(first.ticks));
            self.learn_from_eager(peer, copying, first.total, payload.len() as u64, took);
        }
    }

    /// The next piece of a longer message, which took the sender so long to write.
    fn on_eager_more(&mut self, peer: u32, ticks: u64, payload: Body) {
        let Some(inbound) = self.inbound[peer as usize].as_ref() else {
            return;
        };
        let incoming = inbound.incoming;
        let began = inbound.timed.is_some().then(clock::ticks);
        let whole = match incoming {
            Some(Incoming::Receive(op)) => {
                let Stage::Receiving { received, .. } = self.ops[op].stage else {
                    return;
                };
                self.store(op, received, payload)
            }
            Some(Incoming::Unexpected(entry)) => append(self.unexpected.get_mut(entry).1, payload),
            Some(Incoming::Taken(index)) => self.taken[index as usize]
                .as_mut()
                .is_none_or(|(_, early)| append(early, payload)),
            None => return,
        };
        let Some(inbound) = self.inbound[peer as usize].as_mut() else {
            return;
        };
        if let (Some((effort, _)), Some(began)) = (&mut inbound.timed, began) {
            effort.sender = effort.sender.saturating_add(ticks);
            effort.receiver += clock::ticks().wrapping_sub(began);
        }
        if !whole {
            return;
        }
        inbound.incoming = None;
        if let (Some((effort, copying)), Some(Incoming::Receive(op))) = (inbound.timed.take(), incoming)
            && self.ops[op].buffer.row().is_some()
        {
            let total = self.ops[op].wire;
            self.learn_from_eager(peer, copying, total, total, effort.cost());
        }
    }

    /// `bytes` of a message of `total` bytes came so, and took so long to copy in and out: learn from it, and say how
    /// the next ones of its size are to be copied.
    #[cold]
    fn learn_from_eager(&mut self, peer: u32, copying: Copying, total: u64, bytes: u64, took: u64) {
        let eager = &mut self.learned(peer).eager;
        eager.learn(Way::Ring(copying), total, bytes, took);
        let Way::Ring(best) = eager.choose(total, select::ring_ways()) else {
            return;
        };
        if let Some(inbound) = self.inbound[peer as usize].as_mut() {
            inbound.wish(total, best);
        }
    }

    /// A piece of a streamed message.
    fn on_data(&mut self, peer: u32, data: Data, payload: Body) {
        let Some(op) = self.ops.find(crate::types::OpId(data.receive_op)) else {
            return;
        };
        if self.ops[op].to != peer {
            return;
        }
        let (mut effort, way, length) = (self.ops[op].effort, self.ops[op].way, self.ops[op].wire);
        let began = clock::ticks();
        let whole = self.store(op, data.offset, payload);
        if let Some(effort) = &mut effort {
            effort.sender += u64::from(data.ticks);
            effort.receiver += clock::ticks().wrapping_sub(began);
            match whole {
                true => self.learn_from_announced(peer, *effort, way, length),
                false => self.ops[op].effort = Some(*effort),
            }
        } else if let Some(began) = self.ops[op].began
            && whole
        {
            self.learn_from_scattered(peer, way, began, length);
        }
    }

    /// Put a piece into a receive's buffer, as far as it fits; true if the message is whole now (the operation is then
    /// complete). Bytes beyond the buffer are counted, and dropped.
    fn store(&mut self, op: u32, offset: u64, payload: Body) -> bool {
        let Stage::Receiving { received, expected } = self.ops[op].stage else {
            return true;
        };
        let length = payload.len() as u64;
        if offset < expected {
            let fits = length.min(expected - offset);
            let (buffer, at, fits) = (self.ops[op].buffer, offset as usize, fits as usize);
            // SAFETY: `offset + fits` is at most `expected`, which `matched` limited to the pending buffer.
            unsafe {
                match select::passes_caches(expected) {
                    false => payload.store(buffer, at, fits),
                    true => payload.store_by(Copying::Streaming, buffer, at, fits),
                }
            }
        }
        let received = received + length;
        self.ops[op].stage = Stage::Receiving { received, expected };
        let whole = received >= self.ops[op].wire;
        if whole {
            self.ops.complete_as_is(op);
        }
        whole
    }

    /// Keep a message until its receive comes; where.
    pub fn keep(&mut self, key: Key, early: Early) -> u32 {
        counters::UNEXPECTED.add(1);
        self.ops.news = true;
        self.account(self.unexpected_bytes.saturating_add(early.weight()));
        self.unexpected.push(key, early)
    }

    /// A kept message has found its receive.
    pub fn forget(&mut self, early: &Early) {
        self.account(self.unexpected_bytes.saturating_sub(early.weight()));
    }

    /// So much unmatched payload is kept; tell senders when it becomes too much, and when it is fine again.
    fn account(&mut self, bytes: u64) {
        self.unexpected_bytes = bytes;
        let limit = if self.announce_only {
            self.unexpected_limit / 2
        } else {
            self.unexpected_limit
        };
        let announce_only = self.unexpected_bytes > limit;
        if announce_only != self.announce_only {
            self.announce_only = announce_only;
            for inbound in self.inbound.iter().flatten() {
                inbound.ring.set_announce_only(announce_only);
            }
        }
    }

    pub fn set_incoming(&mut self, peer: u32, incoming: Option<Incoming>) {
        if let Some(inbound) = self.inbound[peer as usize].as_mut() {
            inbound.incoming = incoming;
        }
    }

    /// If the pieces of a message from `peer` are on their way to `from`, let them go to `to`.
    pub fn redirect(&mut self, peer: u32, from: Incoming, to: Incoming) {
        if let Some(inbound) = self.inbound[peer as usize].as_mut()
            && inbound.incoming == Some(from)
        {
            inbound.incoming = Some(to);
        }
    }

    /// The first message that a receive would take.
    pub fn find_early(&mut self, pattern: Pattern) -> Option<u32> {
        self.unexpected.find(pattern)
    }

    // ---- sending records ----

    /// The channel to `peer`, made at first use.
    #[inline]
    pub fn outbound(&mut self, peer: u32) -> crate::Result<&mut Outbound> {
        if self.out[peer as usize].is_none() {
            self.connect(peer)?;
        }
        Ok(self.out[peer as usize].as_mut().expect("just connected"))
    }

    #[cold]
    fn connect(&mut self, peer: u32) -> crate::Result<()> {
        let outbound = Outbound::connect(self.segment, &mut self.arena, self.me, peer)?;
        self.out[peer as usize] = Some(Box::new(outbound));
        Ok(())
    }

    /// Tell `peer` that there is a record for it, if it does not look by itself or sleeps.
    #[inline]
    pub fn ring(&self, peer: u32) {
        self.order();
        if self.out[peer as usize]
            .as_ref()
            .is_none_or(|outbound| !outbound.is_polled())
        {
            doorbell::set_bit(self.segment.bitmap(peer), self.me);
        }
        self.wake(peer);
    }

    /// Between publishing something and looking whether a peer must be told.
    #[inline]
    pub fn order(&self) {
        doorbell::order(self.fence_needed);
    }

    /// Wake `peer` if it sleeps. After [`Self::order`].
    #[inline]
    pub fn wake(&self, peer: u32) {
        let bell = self.segment.slot(peer).doorbell();
        if bell.ring() {
            counters::WAKES.add_anywhere(1);
            bell.wake();
        }
    }

    /// Something waits for room in the ring to `peer`: write what fits, remember the rest.
    pub fn kick(&mut self, peer: u32) {
        if !self.backlog.contains(&peer) {
            self.backlog.push(peer);
        }
        self.flush();
    }

    /// Write what there is room for, to everybody.
    #[cold]
    fn flush(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.backlog.len() {
            let peer = self.backlog[at];
            let (wrote, idle) = self.flush_to(peer);
            moved |= wrote;
            if idle {
                self.backlog.swap_remove(at);
            } else {
                at += 1;
            }
        }
        self.ops.news |= moved;
        moved
    }

    /// (whether something was written, whether nothing is left)
    fn flush_to(&mut self, peer: u32) -> (bool, bool) {
        let mut wrote = false;
        let mut done = std::mem::take(&mut self.done);
        loop {
            let outbound = self.out[peer as usize].as_mut().expect("a queue has its channel");
            let hold = outbound.announce_only();
            wrote |= outbound.flush(&mut done, hold);
            let may_pair = outbound.orders.may_pair();
            let more = hold && outbound.first_unbegun().is_some() && self.announce_first(peer);
            if may_pair {
                self.pair(peer);
            }
            if !more {
                break;
            }
        }
        if wrote {
            self.ring(peer);
        }
        for op in done.drain(..) {
            self.ops.complete_as_is(op);
        }
        self.done = done;
        (
            wrote,
            self.out[peer as usize]
                .as_ref()
                .is_none_or(|outbound| outbound.is_idle()),
        )
    }

    /// The descriptor that a peer named.
    pub fn descriptor(&self, offset: u64) -> Option<&'static isthmus_shm::Descriptor> {
        arena::descriptor(self.segment, Offset(offset))
    }
}

/// Add a piece to a message that is kept; true if it is whole now.
fn append(early: &mut Early, payload: Body) -> bool {
    let Early::Payload { bytes, total, .. } = early else {
        return true;
    };
    let fits = (*total as usize).saturating_sub(bytes.len()).min(payload.len());
    // SAFETY: `append` gives room for `fits` bytes, which the piece has.
    bytes.append(fits, |to| unsafe { payload.copy_to(to, fits) });
    bytes.len() as u64 >= *total
}
