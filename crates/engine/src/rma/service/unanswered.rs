//! Calls to other nodes that are not waited for when they are made: short ones are batched, and a [flush](finish_calls) waits for the answers
//! and puts the results where they go (docs/decisions/0072), unless the progress thread has. Where too many are without an answer, gets are
//! queued, and their calls return (docs/decisions/0217).

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use isthmus_shm::occupancy;
use isthmus_shm::slot::Cause;
use isthmus_transfer::{Direction, Span};

use super::moving::{Moving, has_long_puts};
use super::{ANSWERS, CALLS, Header, buffers, exchange, no_such_region, refused, what_of};
use crate::channel::hurry;
use crate::engine::Engine;
use crate::limits::{BATCH, BATCHED_MOST, HURRIED_FROM, UNANSWERED_BYTES, UNANSWERED_CALLS};
use crate::matching::queues::Pattern;
use crate::memory::buffer::Buffer;
use crate::ops::Stage;
use crate::rma::execute::What;
use crate::rma::flow_id::{CompletedBy, FlowId};
use crate::rma::target::Target;
use crate::types::Peer;
use crate::{Entered, Error, Result, counters, enter};

/// A call of ours, or a batch of several.
#[derive(Debug)]
pub(crate) struct Call {
    message: Vec<u8>,
    /// Where the results go that come with the answer: addresses of this process, in their order. 0: nowhere.
    results: Vec<Span>,
    /// Bytes of the results.
    result_bytes: usize,
    /// Nothing but gets: no operands, and memory of the target stays as it is.
    only_gets: bool,
    /// The flows of these operations, and their scopes.
    flows: Vec<FlowId>,
}

impl Call {
    fn new(message: Vec<u8>, results: Vec<Span>, flows: Vec<FlowId>) -> Self {
        Self {
            result_bytes: results.iter().map(|span| span.length as usize).sum(),
            only_gets: matches!(what_of(&message), Some((What::Get | What::Batch, _))),
            message,
            results,
            flows,
        }
    }

    /// What it takes of this process's memory until it is answered.
    fn bytes(&self) -> usize {
        self.message.len() + self.result_bytes + size_of_val(&self.results[..])
    }

    /// Add a call to a batch.
    fn join(&mut self, call: Self) {
        self.message.extend((call.message.len() as u64).to_ne_bytes());
        self.message.extend(call.message);
        self.results.extend(call.results);
        self.result_bytes += call.result_bytes;
        self.only_gets &= call.only_gets;
        for flow in call.flows {
            if !self.flows.contains(&flow) {
                self.flows.push(flow);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.message.len().max(self.result_bytes) >= BATCH
    }
}

/// A call whose answer is still to come, or has come and was a failure that nobody has been told of.
#[derive(Debug)]
pub(crate) struct Unanswered {
    peer: u32,
    /// The receive of the answer; `None`: it is over.
    op: Option<u32>,
    /// Whether it was done, and the results.
    answer: Vec<u8>,
    results: Vec<Span>,
    /// Of the call and its answer.
    bytes: usize,
    only_gets: bool,
    /// Flows and scopes that wait for it, or have not been told of its failure.
    flows: Vec<FlowId>,
    failure: Option<Failure>,
}

/// Why a call came to nothing.
#[derive(Debug)]
enum Failure {
    PeerFailed,
    Refused,
    NotSent(String),
}

impl Failure {
    fn of(error: &Error) -> Self {
        match error {
            Error::PeerFailed { .. } => Self::PeerFailed,
            other => Self::NotSent(other.to_string()),
        }
    }

    fn error(&self, peer: u32) -> Error {
        match self {
            Self::PeerFailed => Error::PeerFailed { peer },
            Self::Refused => no_such_region(peer),
            Self::NotSent(why) => Error::Unreachable { peer, why: why.clone() },
        }
    }
}

/// How many there are, calls that have not gone, and transfers by the provider's RMA, for flushes.
static UNANSWERED: AtomicUsize = AtomicUsize::new(0);

/// Is there something with other nodes that was started and not waited for?
#[inline]
pub(in crate::rma) fn has_some() -> bool {
    UNANSWERED.load(Ordering::Relaxed) != 0
}

impl Engine {
    /// Go on with what was started and not waited for, while the program computes: results go where they belong, and what is queued is sent.
    pub(crate) fn go_on_with_calls(&mut self) {
        if has_some() {
            self.take_answers();
            self.send_batches();
        }
    }

    /// Take what has come of answers to calls that nobody waited for, and transfers that are over.
    fn take_answers(&mut self) {
        self.take_moved();
        for at in 0..self.unanswered.len() {
            let Some(op) = self.unanswered[at]
                .op
                .filter(|op| self.ops[*op].stage == Stage::Complete)
            else {
                continue;
            };
            let outcome = self.ops[op].outcome;
            self.ops.release(op);
            let call = &mut self.unanswered[at];
            call.op = None;
            let failure = match outcome.arrival.bytes {
                _ if outcome.peer_failed || outcome.cancelled => Some(Failure::PeerFailed),
                came if came == call.answer.len() as u64 && call.answer[0] == true.into() => {
                    // SAFETY: the caller leaves the places alone until it has finished it.
                    unsafe { deliver(&call.answer[1..], &call.results) };
                    None
                }
                _ => Some(Failure::Refused),
            };
            call.failure = call.failure.take().or(failure);
            buffers::keep(std::mem::take(&mut call.answer));
        }
        self.unanswered
            .retain(|call| call.op.is_some() || call.failure.is_some());
        self.count_unanswered();
    }

    pub(super) fn count_unanswered(&self) {
        let count = self.unanswered.len() + self.batches.len() + self.queued.len() + self.moving.len();
        UNANSWERED.store(count, Ordering::Relaxed);
    }

    /// The first failure of a flow's that are over, at one peer or at all; it is told of none of them again.
    fn take_failure(&mut self, flow: FlowId, peer: Option<Peer>) -> Option<Error> {
        let mut error = None;
        for call in &mut self.unanswered {
            if call.op.is_none() && peer.is_none_or(|peer| peer.0 == call.peer) && call.flows.contains(&flow) {
                call.flows.retain(|other| *other != flow);
                error = error.or_else(|| call.failure.as_ref().map(|failure| failure.error(call.peer)));
            }
        }
        self.unanswered
            .retain(|call| call.op.is_some() || !call.flows.is_empty());
        self.count_unanswered();
        error
    }

    /// Are there calls to this peer that others must not overtake?
    fn has_queued(&self, peer: u32) -> bool {
        self.queued.iter().any(|(to, _)| *to == peer)
    }

    /// May another call of so many bytes go to this peer? None may that would overtake a queued one.
    fn has_room_for(&mut self, peer: u32, bytes: usize) -> bool {
        self.take_answers();
        !self.has_queued(peer) && self.has_room(peer, bytes)
    }

    fn has_room(&self, peer: u32, bytes: usize) -> bool {
        let under_way = self
            .unanswered
            .iter()
            .filter(|call| call.op.is_some() && call.peer == peer);
        let (calls, sum) = under_way.fold((0, bytes), |(calls, sum), call| (calls + 1, sum + call.bytes));
        calls == 0 || calls < UNANSWERED_CALLS && sum <= UNANSWERED_BYTES
    }

    /// Send what is queued and the batch to a peer now, whether there is room or not.
    pub(super) fn launch_batch(&mut self, peer: u32) {
        while let Some(at) = self.queued.iter().position(|(to, _)| *to == peer)
            && let Some((_, call)) = self.queued.remove(at)
        {
            self.launch_call(peer, call);
        }
        if let Some(batch) = self.batches.remove(&peer) {
            self.launch_call(peer, batch);
        }
    }

    /// Send the batch to a peer, or queue it if it may. False: there is no room for it.
    fn pass_batch(&mut self, peer: u32) -> bool {
        let Some(batch) = self.batches.get(&peer) else {
            return true;
        };
        let (only_gets, bytes) = (batch.only_gets, batch.bytes());
        if self.has_room_for(peer, bytes) {
            self.launch_batch(peer);
            return true;
        }
        if let Some(batch) = only_gets.then(|| self.batches.remove(&peer)).flatten() {
            self.queue_call(peer, batch);
        }
        only_gets
    }

    /// It goes when there is room.
    fn queue_call(&mut self, peer: u32, call: Call) {
        self.queued.push_back((peer, call));
        self.count_unanswered();
    }

    /// The same, of a call whose results go to these places.
    pub(super) fn queue_message(&mut self, peer: u32, message: Vec<u8>, results: Vec<Span>, flows: Vec<FlowId>) {
        self.queue_call(peer, Call::new(message, results, flows));
    }

    /// Send a call whose answer is waited for by [`finish_calls`], which also tells if it could not be sent.
    fn launch_call(&mut self, peer: u32, call: Call) {
        let (length, tag, bytes) = (1 + call.result_bytes, self.next_call(), call.bytes());
        let Call {
            message,
            results,
            only_gets,
            flows,
            ..
        } = call;
        let mut answer = buffers::take(length);
        let pattern = Pattern {
            context: ANSWERS,
            from: Some(peer),
            tag: Some(tag),
        };
        counters::RMA_CALLS.add(1);
        // SAFETY: the bytes stay where they are until the receive is over: `unanswered` keeps them.
        let received = unsafe { self.receive(pattern, Buffer::target(answer.as_mut_ptr()), length) };
        let (op, mut failure) = match received {
            Ok(op) => (Some(op), None),
            Err(error) => (None, Some(Failure::of(&error))),
        };
        if let Some(op) = op
            && let Err(refused) = self.post(peer, CALLS, tag, message)
        {
            self.cancel(op);
            failure = Some(Failure::of(&refused));
        }
        self.unanswered.push(Unanswered {
            peer,
            op,
            answer,
            results,
            bytes,
            only_gets,
            flows,
            failure,
        });
        self.count_unanswered();
    }

    /// An operation with a peer that has failed is over: threads that wait for it are told.
    pub(super) fn note_failed(&mut self, peer: u32, flows: Vec<FlowId>) {
        self.unanswered.push(Unanswered {
            peer,
            op: None,
            answer: Vec::new(),
            results: Vec::new(),
            bytes: 0,
            only_gets: true,
            flows,
            failure: Some(Failure::PeerFailed),
        });
        self.count_unanswered();
    }

    /// Is something of a flow or a scope under way, or has it failed and nobody was told? Takes nothing.
    pub(in crate::rma) fn has_of(&self, flow: FlowId) -> bool {
        self.is_to_go(flow) || self.unanswered.iter().any(|call| call.flows.contains(&flow))
    }

    /// Is all of a flow or a scope over, well or not? Takes what has come.
    pub(in crate::rma) fn is_over(&mut self, flow: FlowId) -> bool {
        self.take_answers();
        let is_awaited = |call: &Unanswered| call.op.is_some() && call.flows.contains(&flow);
        !self.is_to_go(flow) && !self.unanswered.iter().any(is_awaited)
    }

    /// Is something of it not sent yet, or on its way by the provider's RMA?
    fn is_to_go(&self, flow: FlowId) -> bool {
        let mut queued = self.queued.iter().map(|(_, call)| call).chain(self.batches.values());
        queued.any(|call| call.flows.contains(&flow)) || self.moving.iter().any(|moving| moving.flows.contains(&flow))
    }

    /// Send what is queued, and what waits for company, if there is room: others may wait for it, and this process does not go on just now. True:
    /// something went.
    #[cold]
    pub(crate) fn send_batches(&mut self) -> bool {
        let mut any = false;
        if !self.queued.is_empty() {
            self.take_answers();
            let (mut at, mut full) = (0, HashSet::new());
            while let Some((peer, call)) = self.queued.get(at) {
                let peer = *peer;
                if full.contains(&peer) || !self.has_room(peer, call.bytes()) {
                    full.insert(peer);
                    at += 1;
                } else if let Some((_, call)) = self.queued.remove(at) {
                    self.launch_call(peer, call);
                    any = true;
                }
            }
        }
        for peer in self.batches.keys().copied().collect::<Vec<u32>>() {
            if self.has_room_for(peer, self.batches[&peer].bytes()) {
                self.launch_batch(peer);
                any = true;
            }
        }
        any
    }
}

/// Put results where they go.
///
/// # Safety
/// The places must be writable.
unsafe fn deliver(mut bytes: &[u8], places: &[Span]) {
    for place in places {
        let (result, rest) = bytes.split_at(place.length as usize);
        let to: *mut u8 = std::ptr::with_exposed_provenance_mut(place.address as usize);
        if !to.is_null() {
            // SAFETY: the caller's promise.
            unsafe { to.copy_from_nonoverlapping(result.as_ptr(), result.len()) };
        }
        bytes = rest;
    }
}

/// Have a target asked for an operation whose results go to these places. On another node it is not waited for, but by [`finish_calls`];
/// else this blocks, and makes progress.
///
/// # Safety
/// The places must be writable until it is over.
pub(super) unsafe fn ask(
    completed_by: CompletedBy,
    target: &Target,
    message: Vec<u8>,
    results: Vec<Span>,
) -> Result<()> {
    // Without results an operation is over locally when it is asked.
    let flows = match results.is_empty() {
        true => vec![completed_by.flow],
        false => completed_by.numbers(),
    };
    let (peer, call) = (target.peer(), Call::new(message, results, flows));
    if !target.is_elsewhere() {
        // By other means such an operation is over when its function comes back, and what comes later must not overtake it.
        let answer = exchange(peer, &call.message, call.result_bytes)?;
        let Some(came) = answer.filter(|came| came.len() == call.result_bytes) else {
            return Err(refused(target));
        };
        // SAFETY: the caller's promise.
        unsafe { deliver(&came, &call.results) };
        return Ok(());
    }
    let mut inside = enter();
    if call.message.len().max(call.result_bytes) > BATCHED_MOST {
        send_batch(&mut inside, peer)?;
        let bytes = call.bytes();
        if call.only_gets && !inside.engine().has_room_for(peer.0, bytes) {
            inside.engine().queue_call(peer.0, call);
            return Ok(());
        }
        inside.wait(|inside| inside.engine().has_room_for(peer.0, bytes).then_some(()))?;
        inside.engine().launch_call(peer.0, call);
        return Ok(());
    }
    // Other threads fill it, too.
    while inside.engine().batches.get(&peer.0).is_some_and(Call::is_full) {
        send_batch(&mut inside, peer)?;
    }
    let engine = inside.engine();
    let empty = || {
        Call::new(
            super::message(&Header::of(What::Batch, 0), &[], &[]),
            Vec::new(),
            Vec::new(),
        )
    };
    let batch = engine.batches.entry(peer.0).or_insert_with(empty);
    batch.join(call);
    let is_full = batch.is_full();
    engine.count_unanswered();
    match is_full {
        true => send_batch(&mut inside, peer),
        false => Ok(()),
    }
}

/// Send the batch to a peer, or queue it. Blocks while too many are without an answer, unless it has nothing but gets; until it goes it
/// stays where waiting threads look.
pub(super) fn send_batch(inside: &mut Entered, peer: Peer) -> Result<()> {
    inside.wait(|inside| inside.engine().pass_batch(peer.0).then_some(()))
}

/// The operations to await.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rma) enum Completion {
    All,
    /// That of which something comes back, or whose source is in use.
    Local,
    /// That which changes memory of the target.
    Changes,
    /// Puts by the provider's RMA.
    LongPuts,
}

impl Completion {
    /// Is a call awaited?
    fn awaits_call(self, has_results: bool, only_gets: bool) -> bool {
        match self {
            Self::All => true,
            Self::Local => has_results,
            Self::Changes => !only_gets,
            Self::LongPuts => false,
        }
    }

    /// Is a transfer by the provider's RMA awaited?
    fn awaits_moving(self, direction: Direction) -> bool {
        match self {
            Self::All | Self::Local => true,
            Self::Changes | Self::LongPuts => direction == Direction::Push,
        }
    }
}

/// Wait until what a flow has started by calls is over at a peer, or at all. Fails if one has failed. Blocks while there is some, and makes
/// progress.
#[inline]
pub(in crate::rma) fn finish_calls(
    completion: Completion,
    flow: impl FnOnce() -> FlowId,
    peer: impl FnOnce() -> Option<Peer>,
) -> Result<()> {
    let has_such = match completion {
        Completion::LongPuts => has_long_puts(),
        _ => has_some(),
    };
    match has_such {
        false => Ok(()),
        true => finish_those(completion, flow(), peer()),
    }
}

/// Send all batches now: this process may wait for their effects without making progress. Does not block.
#[inline]
pub fn send_kept() {
    if has_some() {
        enter().engine().send_batches();
    }
}

/// Send the batch to a peer now, if no call to it is without an answer; else the progress that takes that answer sends it. So an operation
/// goes on though this process calls nothing more. Does not block.
#[inline]
pub fn send_if_idle(peer: Peer) {
    if has_some() {
        send_to_idle(peer);
    }
}

#[cold]
fn send_to_idle(peer: Peer) {
    let mut inside = enter();
    let hurries = has_long_under_way(inside.engine(), peer.0) && !occupancy::is_oversubscribed_by(2);
    send_to_peer(&mut inside, peer);
    drop(inside);
    if hurries {
        hurry::hurry();
    }
}

/// Is so much under way to this peer, or asked of it, that it is not over at once?
fn has_long_under_way(engine: &Engine, peer: u32) -> bool {
    let calls = engine
        .unanswered
        .iter()
        .filter(|call| call.peer == peer && call.op.is_some());
    let moving = engine.moving.iter().filter(|moving| moving.peer == peer);
    let bytes = calls.map(|call| call.bytes).sum::<usize>() as u64 + moving.map(|moving| moving.length).sum::<u64>();
    bytes >= HURRIED_FROM
}

fn send_to_peer(inside: &mut Entered, peer: Peer) {
    let engine = inside.engine();
    engine.take_answers();
    let is_under_way = |call: &Unanswered| call.op.is_some() && call.peer == peer.0;
    match engine.unanswered.iter().any(is_under_way) {
        true => {}
        false if engine.has_queued(peer.0) => drop(engine.send_batches()),
        false => engine.launch_batch(peer.0),
    }
}

#[cold]
fn finish_those(completion: Completion, flow: FlowId, peer: Option<Peer>) -> Result<()> {
    let is_of = |to: u32, flows: &[FlowId]| peer.is_none_or(|peer| peer.0 == to) && flows.contains(&flow);
    let is_meant = |to: u32, flows: &[FlowId], results: &[Span], only_gets: bool| {
        is_of(to, flows) && completion.awaits_call(!results.is_empty(), only_gets)
    };
    let mut inside = enter();
    let batches = inside.engine().batches.iter();
    let waiting = batches.filter(|(to, batch)| is_meant(**to, &batch.flows, &batch.results, batch.only_gets));
    for to in waiting.map(|(to, _)| *to).collect::<Vec<u32>>() {
        send_batch(&mut inside, Peer(to))?;
    }
    let failure = inside.wait(|inside| {
        let engine = inside.engine();
        engine.take_answers();
        let asked = engine.unanswered.iter().filter(|call| call.op.is_some());
        let mut asked = asked.map(|call| {
            (
                call.peer,
                is_meant(call.peer, &call.flows, &call.results, call.only_gets),
            )
        });
        let queued = engine.queued.iter();
        let mut queued = queued.map(|(to, call)| (*to, is_meant(*to, &call.flows, &call.results, call.only_gets)));
        let is_awaited =
            |moving: &Moving| is_of(moving.peer, &moving.flows) && completion.awaits_moving(moving.direction);
        let mut moving = engine.moving.iter().map(|moving| (moving.peer, is_awaited(moving)));
        let awaited = asked.find(|call| call.1).or_else(|| queued.find(|call| call.1));
        if let Some((peer, _)) = awaited.or_else(|| moving.find(|moving| moving.1)) {
            engine.cause = Cause::Answers(peer);
            return None;
        }
        Some(engine.take_failure(flow, peer))
    })?;
    failure.map_or(Ok(()), Err)
}
