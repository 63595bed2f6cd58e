//! One-sided operations by messages, where the kernel refuses single copies: the target's progress serves them.
//!
//! A *call* is a message in a space of its own: what to do, where, and the origin's bytes. A thread that makes progress at the target receives
//! calls like any message, does what they ask by the same functions that the target uses on its own memory, under the same locks, and
//! answers. The origin waits for the answer, so an operation is over when its function comes back, as it is by other means. But between
//! nodes, where an answer is a round trip away, it goes on: short calls to one peer are batched, and the origin waits for the answers, and
//! for the results that come with them, when it [flushes](finish_calls). Calls of one origin are served in their order, so accumulates on
//! an element stay in theirs.
//!
//! The layers above have calls of their own ([`super::active`]), which come the same way.
//!
//! # Safety
//! A call comes from a peer: region, offsets, lengths and the kernel's number are checked before anything is touched.

mod buffers;
mod moving;
mod unanswered;

use std::collections::HashSet;
use std::hash::Hash;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_shm::slot::Cause;
use isthmus_transfer::{Layout, Level, Span, local};

use super::active::{self, Layer, Served};
use super::combine::Combine;
pub(super) use super::execute::What;
use super::execute::{PeerRequest, execute_on, with_own};
use super::flow_id::CompletedBy;
pub(super) use super::flow_id::{FlowId, OF_NODE};
use super::region;
use super::target::Target;
use crate::engine::Engine;
use crate::limits::{BATCH, BATCHED_MOST};
use crate::matching::queues::Pattern;
use crate::memory::buffer::Buffer;
use crate::ops::Stage;
use crate::types::{ContextId, Mode, OpId, Peer, Posting};
use crate::{Entered, Error, Result, counters, enter};
pub(crate) use moving::Moving;
pub(crate) use unanswered::{Call, Unanswered};
pub(super) use unanswered::{Completion, finish_calls, has_some};
use unanswered::{ask, send_batch};
pub use unanswered::{send_if_idle, send_kept};

const CALLS: ContextId = ContextId::CALLS;
const ANSWERS: ContextId = ContextId::ANSWERS;

/// Bytes of data in one call, at most: a multiple of every width of elements.
const PIECE: u64 = 64 * 9 * 5 * 7 * 11 * 13;

/// In a call's number of spans: they are a strided layout, the first block and then a count and a stride for each level.
const STRIDED: u64 = 1 << 63;
/// Levels of such a layout, at most.
const MOST_LEVELS: usize = 16;

/// The tag of a call that nobody waits for an answer to.
const ONE_WAY: i32 = 0;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Header {
    wanted: PeerRequest,
    /// How many entries the list has that says where; with [`STRIDED`], of what.
    spans: u64,
    /// Bytes of the region that are meant.
    bytes: u64,
}

const HEADER: usize = size_of::<Header>();
const SPAN: usize = size_of::<Span>();

/// A call that is being received, or something that is on its way to `from`.
#[derive(Debug)]
pub(crate) struct Serving {
    op: u32,
    from: u32,
    tag: i32,
    bytes: Vec<u8>,
    is_sent: bool,
}

/// Calls of one origin are served in their order, though a short one may have come whole before a long one. It is known of each origin whether an
/// earlier call of it waits, so one pass over all calls is enough, whatever their number.
#[derive(Debug)]
struct Order<Origin>(HashSet<Origin>);

impl<Origin> Default for Order<Origin> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<Origin: Eq + Hash> Order<Origin> {
    /// May the next call be served, which is whole or not? Asked in the order in which they came.
    fn is_next(&mut self, from: Origin, is_whole: bool) -> bool {
        let is_next = is_whole && (self.0.is_empty() || !self.0.contains(&from));
        if !is_next {
            self.0.insert(from);
        }
        is_next
    }
}

/// A call that a layer above cannot answer yet. It is asked again in every round of progress.
#[derive(Debug)]
pub(crate) struct Asked {
    from: u32,
    tag: i32,
    bytes: Vec<u8>,
}

impl Asked {
    /// Does this peer wait for the answer?
    pub fn is_from(&self, peer: u32) -> bool {
        self.from == peer
    }
}

impl Engine {
    /// Take the calls that have come, and do what those ask that are here. True: something moved.
    #[cold]
    pub(crate) fn serve(&mut self) -> bool {
        let before = self.serving.len();
        let anybody = Pattern {
            context: CALLS,
            from: None,
            tag: None,
        };
        while let Ok(Some((message, arrival))) = self.matched_probe(anybody) {
            let mut bytes = buffers::take(arrival.bytes as usize);
            let room = Buffer::target(bytes.as_mut_ptr());
            // SAFETY: the bytes stay where they are until the receive is over: `serving` keeps them.
            let Ok(op) = (unsafe { self.receive_matched(message, room, bytes.len()) }) else {
                continue;
            };
            self.serving.push(Serving {
                op,
                from: arrival.source as u32,
                tag: arrival.tag,
                bytes,
                is_sent: false,
            });
        }
        self.matching.calls_taken();
        let mut moved = self.serving.len() != before;
        let mut order = Order::default();
        let mut left = Vec::new();
        for serving in std::mem::take(&mut self.serving) {
            let Serving { op, from, is_sent, .. } = serving;
            let is_over = self.ops[op].stage == Stage::Complete;
            let is_next = if is_sent { is_over } else { order.is_next(from, is_over) };
            if !is_next {
                left.push(serving);
                continue;
            }
            moved = true;
            let outcome = self.ops[op].outcome;
            self.ops.release(op);
            let Serving { tag, bytes, .. } = serving;
            if is_sent || outcome.peer_failed || from >= self.segment.ranks() {
                buffers::keep(bytes);
                continue;
            }
            counters::RMA_SERVED.add(1);
            match what_of(&bytes) {
                Some((What::Active, _)) => moved |= self.ask_above(Asked { from, tag, bytes }),
                what => {
                    let result = match what {
                        Some((What::Expose, region)) => Some(answered(&self.expose_region(region))),
                        Some((What::Batch, _)) => execute_batch(&bytes),
                        _ => execute(&bytes),
                    };
                    self.answer_call(from, tag, result);
                    buffers::keep(bytes);
                }
            }
            // Threads may wait for what was written.
            self.ops.has_events = true;
        }
        // Behind what is on its way there may be answers now.
        left.append(&mut self.serving);
        self.serving = left;
        for asked in std::mem::take(&mut self.asked) {
            moved |= self.ask_above(asked);
        }
        moved
    }

    /// Are there calls that the layer above could not answer yet?
    pub(crate) fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Ask the layer above, now or again. True: it has answered.
    fn ask_above(&mut self, asked: Asked) -> bool {
        let handled = active_call(&asked.bytes).map(|(layer, data)| active::handle(layer, asked.from, data));
        let answer = match handled.unwrap_or(Served::Refused) {
            Served::Later => {
                self.asked.push(asked);
                return false;
            }
            Served::Done(answer) => Some(answered(&answer)),
            Served::Refused => None,
        };
        self.answer_call(asked.from, asked.tag, answer);
        // Threads may wait for what the layer has changed.
        self.ops.has_events = true;
        true
    }

    /// `answer`: its first byte says that the call is done, and the result follows; `None`: the call is refused.
    fn answer_call(&mut self, to: u32, tag: i32, answer: Option<Vec<u8>>) {
        if tag == ONE_WAY {
            return;
        }
        // A failed peer waits for nothing.
        let _ = self.post(to, ANSWERS, tag, answer.unwrap_or_else(|| vec![false.into()]));
    }

    /// Send bytes, which are kept until they have gone.
    fn post(&mut self, to: u32, context: ContextId, tag: i32, bytes: Vec<u8>) -> Result<()> {
        let posting = Posting {
            context,
            source: self.me as i32,
            tag,
        };
        let (from, length) = (Buffer::source(bytes.as_ptr()), bytes.len());
        // SAFETY: the bytes stay where they are until the send is over: `serving` keeps them.
        match unsafe { self.send(Mode::Standard, to, posting, from, length) }? {
            Some(op) => self.serving.push(Serving {
                op,
                from: to,
                tag,
                bytes,
                is_sent: true,
            }),
            None => buffers::keep(bytes),
        }
        Ok(())
    }
}

/// A share of these calls makes progress, so that calls that others make on this process's ordinary memory are served, whatever else it
/// does with its own. For the synchronisation of models that does not enter the engine otherwise. Does not block.
#[inline]
pub fn serve_others() {
    if region::has_callable() {
        serve_now_and_then();
    }
}

#[inline(never)]
fn serve_now_and_then() {
    /// One of so many makes progress.
    const SHARE: u32 = 16;
    static TURNS: AtomicU32 = AtomicU32::new(0);
    let turn = TURNS.load(Ordering::Relaxed).wrapping_add(1);
    TURNS.store(turn, Ordering::Relaxed);
    if turn.is_multiple_of(SHARE) {
        enter().poll();
    }
}

/// What a call asks for, and of which region.
fn what_of(call: &[u8]) -> Option<(What, u32)> {
    let (header, _) = call.split_at_checked(HEADER)?;
    // SAFETY: as many bytes; any bits are numbers.
    let header = unsafe { header.as_ptr().cast::<Header>().read_unaligned() };
    Some((What::of(header.wanted.what)?, header.wanted.region))
}

/// What an active message says, and to which layer; `None`: the call is another one.
fn active_call(call: &[u8]) -> Option<(u32, &[u8])> {
    let (header, rest) = call.split_at_checked(HEADER)?;
    // SAFETY: as many bytes; any bits are numbers.
    let header = unsafe { header.as_ptr().cast::<Header>().read_unaligned() };
    (header.wanted.what == What::Active as u32).then_some((header.wanted.region, rest))
}

/// An answer with this result.
fn answered(result: &[u8]) -> Vec<u8> {
    let mut answer = buffers::with_room(1 + result.len());
    answer.push(true.into());
    answer.extend_from_slice(result);
    answer
}

/// Do what a call asks, and answer it; `None`: it makes no sense.
fn execute(call: &[u8]) -> Option<Vec<u8>> {
    let (header, rest) = call.split_at_checked(HEADER)?;
    // SAFETY: as many bytes; any bits are numbers.
    let header = unsafe { header.as_ptr().cast::<Header>().read_unaligned() };
    let spans = usize::try_from(header.spans & !STRIDED).ok()?;
    let (listed, data) = rest.split_at_checked(spans.checked_mul(SPAN)?)?;
    let spans: Vec<Span> = (0..spans)
        // SAFETY: as above.
        .map(|index| unsafe { listed.as_ptr().cast::<Span>().add(index).read_unaligned() })
        .collect();
    let levels: Vec<Level>;
    let at = match header.spans & STRIDED {
        0 => Layout::Spans(&spans),
        _ => {
            let (first, rest) = spans.split_first()?;
            (rest.len() <= MOST_LEVELS).then_some(())?;
            let level = |entry: &Span| Level {
                count: entry.address,
                stride: entry.length.cast_signed(),
            };
            levels = rest.iter().map(level).collect();
            Layout::Strided {
                base: first.address,
                block: first.length,
                levels: &levels,
            }
        }
    };
    let bytes = at.length();
    (bytes == header.bytes && bytes <= 16 * PIECE).then_some(())?;
    let wanted = header.wanted;
    let has_result = !matches!(What::of(wanted.what)?, What::Put | What::Accumulate);
    let mut answer = buffers::take(1 + if has_result { bytes as usize } else { 0 });
    answer[0] = true.into();
    // SAFETY: the data is as long as is said, and the answer has room for all bytes, if there is a result.
    let done = with_own(wanted.region, |target| unsafe {
        execute_on(
            target,
            wanted,
            &at,
            data.as_ptr(),
            data.len(),
            answer.as_mut_ptr().add(1),
        )
    });
    done.map(|()| answer)
}

/// Do what the calls of a batch ask, in their order, and answer them; `None`: one of them makes no sense, and those after it are not done.
fn execute_batch(batch: &[u8]) -> Option<Vec<u8>> {
    let (_, mut rest) = batch.split_at_checked(HEADER)?;
    let mut results = vec![true.into()];
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_ne_bytes(*length)).ok()?;
        let (call, after) = after.split_at_checked(length)?;
        let (what, _) = what_of(call)?;
        (!matches!(what, What::Active | What::Expose | What::Batch)).then_some(())?;
        results.extend_from_slice(&execute(call)?[1..]);
        // An origin that asks for more breaks the protocol.
        (results.len() <= 1 + BATCH + BATCHED_MOST).then_some(())?;
        rest = after;
    }
    rest.is_empty().then_some(results)
}

/// Move the bytes `range` of both layouts by calls.
///
/// # Safety
/// `here` must be readable for a put, and writable for a get.
pub(super) unsafe fn moves(
    completed_by: CompletedBy,
    target: &Target,
    what: What,
    at: &Layout<'_>,
    here: &Layout<'_>,
    range: Range<u64>,
) -> Result<()> {
    let mut done = range.start;
    while done < range.end {
        let end = range.end.min(done + PIECE);
        let there = Listed::of(at, done..end);
        // SAFETY: the caller vouches for `here`; the copy is ours.
        unsafe {
            match what {
                What::Put => {
                    let header = header_for(target.id(), what, &there, None, 0);
                    let message = message_of(&header, &there.entries, (end - done) as usize, |data| {
                        let packed = Layout::local(data.as_mut_ptr(), end - done);
                        local::copy_on(&mut here.cursor(done), &mut packed.cursor(0), end - done);
                    });
                    ask(completed_by, target, message, Vec::new())?;
                }
                _ => {
                    let results = spans_of(here, done..end);
                    let message = message_for(target.id(), what, &there, None, 0, &[]);
                    ask(completed_by, target, message, results)?;
                }
            }
        }
        done = end;
    }
    Ok(())
}

/// Combine the elements `range` (in bytes) of the layouts by calls.
///
/// # Safety
/// `from` must be readable, unless it is none, and `result` writable.
pub(super) unsafe fn accumulates(
    flow: FlowId,
    target: &Target,
    at: &Layout<'_>,
    from: Option<&Layout<'_>>,
    result: Option<&Layout<'_>>,
    combine: &Combine,
    range: Range<u64>,
) -> Result<()> {
    let what = match result {
        Some(_) => What::GetAccumulate,
        None => What::Accumulate,
    };
    let piece = PIECE / u64::from(combine.width) * u64::from(combine.width);
    let mut done = range.start;
    while done < range.end {
        let end = range.end.min(done + piece);
        let there = Listed::of(at, done..end);
        let header = header_for(target.id(), what, &there, Some(combine), combine.width);
        // A no-op has no operands.
        let given = from.map_or(0, |_| (end - done) as usize);
        let message = message_of(&header, &there.entries, given, |data| {
            let packed = Layout::local(data.as_mut_ptr(), given as u64);
            if let Some(from) = from {
                // SAFETY: the caller vouches for `from`; the copy is ours.
                unsafe { local::copy_on(&mut from.cursor(done), &mut packed.cursor(0), given as u64) };
            }
        });
        let results = result.map_or_else(Vec::new, |result| spans_of(result, done..end));
        // SAFETY: the caller vouches for `result`.
        unsafe { ask(flow.into(), target, message, results) }?;
        done = end;
    }
    Ok(())
}

/// Compare and swap an element by a call.
///
/// # Safety
/// `compare` and `swap` must be readable, and `result` writable, for `width` bytes.
pub(super) unsafe fn compares(
    flow: FlowId,
    target: &Target,
    at: u64,
    width: u32,
    compare: *const u8,
    swap: *const u8,
    result: *mut u8,
) -> Result<()> {
    let length = width as usize;
    let mut data = Vec::with_capacity(2 * length);
    // SAFETY: the caller's promise.
    unsafe {
        data.extend_from_slice(std::slice::from_raw_parts(compare, length));
        data.extend_from_slice(std::slice::from_raw_parts(swap, length));
    }
    let there = Listed::of(&Layout::contiguous(at, u64::from(width)), 0..u64::from(width));
    let results = vec![Span {
        address: result.expose_provenance() as u64,
        length: u64::from(width),
    }];
    // SAFETY: the caller's promise.
    unsafe {
        ask(
            flow.into(),
            target,
            message_for(target.id(), What::CompareSwap, &there, None, width, &data),
            results,
        )
    }
}

/// Where bytes of a region lie, as a call says it.
struct Listed {
    /// See [`Header::spans`].
    number: u64,
    entries: Vec<Span>,
    bytes: u64,
}

impl Listed {
    /// The bytes `range` of a layout.
    fn of(at: &Layout<'_>, range: Range<u64>) -> Self {
        let bytes = range.end - range.start;
        if let Layout::Strided { base, block, levels } = *at
            && bytes == at.length()
            && levels.len() <= MOST_LEVELS
            && at.blocks() > levels.len() as u64 + 1
        {
            let first = Span {
                address: base,
                length: block,
            };
            let level = |level: &Level| Span {
                address: level.count,
                length: level.stride.cast_unsigned(),
            };
            let entries: Vec<Span> = std::iter::once(first).chain(levels.iter().map(level)).collect();
            return Self {
                number: STRIDED | entries.len() as u64,
                entries,
                bytes,
            };
        }
        let entries = spans_of(at, range);
        Self {
            number: entries.len() as u64,
            entries,
            bytes,
        }
    }
}

/// Where the bytes `range` of a layout lie.
fn spans_of(at: &Layout<'_>, range: Range<u64>) -> Vec<Span> {
    let mut cursor = at.cursor(range.start);
    let mut left = range.end - range.start;
    let mut spans = Vec::new();
    while left > 0 {
        let Span { address, length } = cursor.block();
        let length = length.min(left);
        if length == 0 {
            break;
        }
        spans.push(Span { address, length });
        cursor.advance(length);
        left -= length;
    }
    spans
}

#[cold]
pub(super) fn refused(target: &Target) -> Error {
    no_such_region(target.peer().0)
}

fn no_such_region(peer: u32) -> Error {
    Error::BadKey {
        peer,
        why: "it has no such region any more, or refuses the operation",
    }
}

impl Header {
    fn of(what: What, region: u32) -> Self {
        Self {
            wanted: PeerRequest {
                what: what as u32,
                region,
                class: 0,
                operator: 0,
                width: 0,
                number: 0,
            },
            spans: 0,
            bytes: 0,
        }
    }
}

/// A call, as it is sent.
fn message(header: &Header, spans: &[Span], data: &[u8]) -> Vec<u8> {
    message_of(header, spans, data.len(), |room| room.copy_from_slice(data))
}

/// The same, with so many bytes of data, which are written where they lie in it.
fn message_of(header: &Header, spans: &[Span], bytes: usize, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let spans_end = HEADER + size_of_val(spans);
    let mut message = buffers::take(spans_end + bytes);
    // SAFETY: plain numbers without holes, read as bytes.
    unsafe {
        message[..HEADER].copy_from_slice(std::slice::from_raw_parts(std::ptr::from_ref(header).cast(), HEADER));
        let listed = std::slice::from_raw_parts(spans.as_ptr().cast(), size_of_val(spans));
        message[HEADER..spans_end].copy_from_slice(listed);
    }
    fill(&mut message[spans_end..]);
    message
}

/// What asks for it.
fn message_for(region: u32, what: What, there: &Listed, combine: Option<&Combine>, width: u32, data: &[u8]) -> Vec<u8> {
    message(&header_for(region, what, there, combine, width), &there.entries, data)
}

fn header_for(region: u32, what: What, there: &Listed, combine: Option<&Combine>, width: u32) -> Header {
    Header {
        wanted: PeerRequest {
            what: what as u32,
            region,
            class: combine.map_or(0, |combine| combine.class as u32),
            operator: combine.map_or(0, |combine| combine.operator as u32),
            width,
            number: combine.map_or(0, |combine| combine.number),
        },
        spans: there.number,
        bytes: there.bytes,
    }
}

/// Send the layer above at a peer what nobody waits for. Does not block.
pub(super) fn tell_above(layer: Layer, peer: Peer, data: &[u8]) -> Result<()> {
    let message = message(&Header::of(What::Active, layer as u32), &[], data);
    let mut inside = enter();
    let engine = inside.engine();
    engine.launch_batch(peer.0);
    engine.post(peer.0, CALLS, ONE_WAY, message)
}

/// Ask the layer above at a peer, and wait for its answer, of so many bytes at most; `None`: it refuses.
pub(super) fn ask_above(layer: Layer, peer: Peer, data: &[u8], longest: usize) -> Result<Option<Vec<u8>>> {
    exchange(
        peer,
        &message(&Header::of(What::Active, layer as u32), &[], data),
        longest,
    )
}

/// Ask the owner of a region for a key of 8 bytes to it; `None`: it refuses.
pub(super) fn ask_for_key(peer: Peer, what: What, region: u32) -> Result<Option<Vec<u8>>> {
    exchange(peer, &message(&Header::of(what, region), &[], &[]), 8)
}

/// Send a call, and wait for its answer, of so many bytes at most; `None`: it was refused. Blocks, and makes progress.
fn exchange(peer: Peer, message: &[u8], longest: usize) -> Result<Option<Vec<u8>>> {
    let mut answer = vec![0u8; 1 + longest];
    let mut inside = enter();
    // Earlier requests are done before.
    send_batch(&mut inside, peer)?;
    inside.engine().launch_batch(peer.0);
    let posting = Posting {
        context: CALLS,
        source: super::home()?.me as i32,
        tag: inside.engine().next_call(),
    };
    counters::RMA_CALLS.add(1);
    // SAFETY: both buffers live until both operations are over, which `settle` waits for.
    let (receive, send) = unsafe {
        let receive = inside.receive(
            Some(peer),
            ANSWERS,
            Some(posting.tag),
            answer.as_mut_ptr(),
            answer.len(),
        )?;
        let send = inside.send(Mode::Standard, peer, posting, message.as_ptr(), message.len());
        (receive, send)
    };
    let send = match send {
        Ok(send) => send,
        Err(error) => {
            inside.cancel(receive);
            let _ = settle(&mut inside, peer, receive);
            return Err(error);
        }
    };
    let sent = send.map_or(Ok(true), |send| {
        settle(&mut inside, peer, send).map(|outcome| outcome.is_some())
    })?;
    let came = settle(&mut inside, peer, receive)?;
    drop(inside);
    match came {
        Some(length) if sent && length > 0 && length as usize <= answer.len() && answer[0] == true.into() => {
            answer.truncate(length as usize);
            answer.remove(0);
            Ok(Some(answer))
        }
        Some(_) if sent => Ok(None),
        _ => Err(Error::PeerFailed { peer: peer.0 }),
    }
}

/// Wait until an operation is over: the bytes that it moved; `None`: its peer has failed.
fn settle(inside: &mut Entered, peer: Peer, op: OpId) -> Result<Option<u64>> {
    let outcome = inside.wait(|inside| {
        let outcome = inside.take(op);
        if outcome.is_none() {
            inside.waits_for(Cause::Answers(peer.0));
        }
        outcome
    })?;
    Ok((!outcome.peer_failed).then_some(outcome.arrival.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An origin that counts how often it is looked at.
    #[derive(Debug, Clone, Copy)]
    struct Counted<'a>(u32, &'a std::cell::Cell<u32>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn a_call_waits_for_earlier_ones_of_its_origin_only() {
        let mut order = Order::default();
        assert!(order.is_next(1, true) && !order.is_next(1, false));
        assert!(!order.is_next(1, true), "the one before is not whole");
        assert!(order.is_next(2, true) && !order.is_next(3, false) && order.is_next(2, true));
    }

    /// The looks at other calls grow as the calls do: half of the calls of many origins are long, and come in parts.
    #[test]
    fn calls_are_served_in_one_pass() {
        const ORIGINS: u32 = 4096;
        let looks = std::cell::Cell::new(0);
        let mut order = Order::default();
        let from = |call: u32| Counted(call % ORIGINS, &looks);
        let served = (0..4 * ORIGINS)
            .filter(|&call| order.is_next(from(call), call % 2 == 0))
            .count();
        assert_eq!(served as u32, 2 * ORIGINS);
        assert!(
            looks.get() <= 8 * ORIGINS,
            "{} looks at {} calls",
            looks.get(),
            4 * ORIGINS
        );
    }

    fn batch(calls: &[Vec<u8>]) -> Vec<u8> {
        let mut batch = message(&Header::of(What::Batch, 0), &[], &[]);
        for call in calls {
            batch.extend((call.len() as u64).to_ne_bytes());
            batch.extend(call);
        }
        batch
    }

    /// A strided layout is told by its levels, and a part of one, or one of few blocks, by its blocks.
    #[test]
    fn rows_are_listed_only_where_levels_do_not_say_it_shorter() {
        let levels = [Level { count: 5, stride: 16 }, Level { count: 3, stride: -200 }];
        let at = Layout::Strided {
            base: 1000,
            block: 8,
            levels: &levels,
        };
        let whole = Listed::of(&at, 0..120);
        assert_eq!((whole.number, whole.bytes), (STRIDED | 3, 120));
        assert_eq!(
            whole.entries,
            [(1000, 8), (5, 16), (3, (-200_i64).cast_unsigned())].map(|(address, length)| Span { address, length })
        );
        let part = Listed::of(&at, 8..120);
        assert_eq!((part.number, part.entries.len(), part.bytes), (14, 14, 112));
        let few = Layout::Strided {
            base: 0,
            block: 8,
            levels: &levels[..1],
        };
        assert_eq!(Listed::of(&few, 0..40).number, STRIDED | 2);
        let two = [Level { count: 2, stride: 16 }];
        let two = Layout::Strided {
            base: 0,
            block: 8,
            levels: &two,
        };
        assert_eq!(Listed::of(&two, 0..16).number, 2);
    }

    #[test]
    fn batches_that_make_no_sense_are_refused() {
        let call = |what| message(&Header::of(what, u32::MAX), &[], &[]);
        assert_eq!(execute_batch(&batch(&[])), Some(vec![true.into()]));
        // No region has that number.
        assert_eq!(execute_batch(&batch(&[call(What::Put)])), None);
        for what in [What::Active, What::Expose, What::Batch] {
            assert_eq!(execute_batch(&batch(&[call(what)])), None, "{what:?}");
        }
        let whole = batch(&[call(What::Put)]);
        for length in 0..whole.len() {
            let is_empty = length == HEADER;
            assert_eq!(execute_batch(&whole[..length]).is_some(), is_empty, "cut to {length}");
        }
        let mut endless = batch(&[]);
        endless.extend(u64::MAX.to_ne_bytes());
        assert_eq!(execute_batch(&endless), None);
    }
}
