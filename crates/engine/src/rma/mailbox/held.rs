//! Short puts that wait at their origin until something completes them: then the target is asked once for all of them (docs/decisions/0070).
//!
//! A put that is *held* is copied behind others of its flow to the same region. What would fill a box, or is there when the flow is flushed, is copied
//! into one. If the target is away by then, the origin makes a single copy for each.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_shm::backoff::LOOKS_AT_ANSWER;
use isthmus_shm::mailbox::Turn;

use super::{Asked, BESIDE, End, FIXED, Mailboxes, PeerRequest, Request, execute};
use crate::limits::{BOX_BYTES, BOX_HELD, BOXES_AT_A_TIME};
use crate::rma::execute::What;
use crate::rma::flow::{copy_short, put_alone};
use crate::rma::flow_id::FlowId;
use crate::rma::target::Target;
use crate::rma::{ProcessContext, home};
use crate::types::Peer;
use crate::{Result, allows_threads, counters};

/// Where the bytes of a put go. That of the first one lies behind the request, so that one alone is a request like others; that of each other before
/// its bytes. Bytes end at a multiple of eight.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Entry {
    at: u64,
    length: u64,
}

const ENTRY: usize = size_of::<Entry>();

const _: () = assert!(ENTRY <= BESIDE);

/// Puts of a flow to one region, or none now.
#[derive(Debug)]
struct HeldPuts {
    flow: FlowId,
    /// Of its own: the one that the puts were made with may be gone before they are.
    target: Target,
    boxes: &'static Mailboxes,
    first: Entry,
    count: usize,
    /// The other entries, and the bytes.
    bytes: Vec<u8>,
    /// The box where they are asked for.
    asked: Option<(usize, Turn)>,
}

static HELD: Mutex<Vec<HeldPuts>> = Mutex::new(Vec::new());
/// Some may be held, or puts were counted since the last flush.
static ANY: AtomicBool = AtomicBool::new(false);

fn all() -> MutexGuard<'static, Vec<HeldPuts>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hold a put of `length` bytes at `at` until [`finish_held`] of this flow. False: nothing was done. Where threads are allowed none is held: a flush
/// of one would have to wait for puts that another one is completing.
///
/// # Errors
/// A put that was held before has failed.
///
/// # Safety
/// `from` must be readable for as many bytes.
pub(in crate::rma) unsafe fn hold_put(
    flow: FlowId,
    target: &Target,
    at: u64,
    (from, length): (*const u8, usize),
) -> Result<bool> {
    if length > BOX_HELD || allows_threads() {
        return Ok(false);
    }
    let Some(boxes) = target.mailboxes().filter(|boxes| boxes.is_progressing()) else {
        return Ok(false);
    };
    let entry = Entry {
        at,
        length: length as u64,
    };
    let mut full = {
        let mut all = all();
        let Some(place) = place_for(&mut all, flow, target, boxes) else {
            return Ok(false);
        };
        let held = &mut all[place];
        // After one that did not answer, operations go alone for a while, as they do without being held.
        if held.count == 0 && !held.target.is_trusted(1) {
            return Ok(false);
        }
        if held.bytes.len() + ENTRY + length <= BOX_BYTES {
            // SAFETY: the caller's promise.
            unsafe { held.add(entry, from) };
            ANY.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        all.swap_remove(place)
    };
    let home = home()?;
    full.ask(home);
    let earlier = full.settle(home);
    // SAFETY: the caller's promise.
    unsafe { full.add(entry, from) };
    keep([full]);
    earlier.map(|()| true)
}

/// Their places serve the next puts. A wait for a target may call the user's code, which may put and flush: places are out of the list meanwhile.
fn keep(places: impl IntoIterator<Item = HeldPuts>) {
    let mut all = all();
    for held in places {
        if held.count > 0 || all.len() < BOXES_AT_A_TIME {
            all.push(held);
        }
    }
    ANY.store(all.iter().any(|held| held.count > 0), Ordering::Relaxed);
}

/// The place where puts to a region are held; `None`: there are too many such places.
fn place_for(all: &mut Vec<HeldPuts>, flow: FlowId, target: &Target, boxes: &'static Mailboxes) -> Option<usize> {
    let found = all
        .iter()
        .position(|held| held.flow == flow && held.target.is_alike(target));
    if found.is_some() {
        return found;
    }
    // An idle place knows whether its target answered: it serves another one only where there are no more.
    if all.len() >= BOXES_AT_A_TIME {
        let idle = all.iter().position(|held| held.count == 0)?;
        all.swap_remove(idle);
    }
    all.push(HeldPuts {
        flow,
        target: target.twin(),
        boxes,
        first: Entry { at: 0, length: 0 },
        count: 0,
        bytes: Vec::with_capacity(BOX_BYTES),
        asked: None,
    });
    Some(all.len() - 1)
}

/// Puts since the last flush, of all flows, and whether there were several before it: a guess at whether others will follow.
static PUTS: AtomicU32 = AtomicU32::new(0);
static WERE_SEVERAL: AtomicBool = AtomicBool::new(false);

/// A put begins: is it likely to be one of several? One alone is asked for at once, which costs less.
#[inline]
pub(in crate::rma) fn is_one_of_several() -> bool {
    let before = PUTS.load(Ordering::Relaxed);
    PUTS.store(before.saturating_add(1), Ordering::Relaxed);
    ANY.store(true, Ordering::Relaxed);
    before > 0 || WERE_SEVERAL.load(Ordering::Relaxed)
}

/// A flow is flushed. False: nothing is held.
#[inline(always)] // One load in each flush.
pub(in crate::rma) fn may_hold_some() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Complete what is held of a flow, to one target or all. Blocks.
///
/// # Errors
/// One of them has failed.
#[cold]
#[inline(never)]
pub(in crate::rma) fn finish_held(flow: FlowId, peer: Option<Peer>) -> Result<()> {
    let puts = PUTS.swap(0, Ordering::Relaxed);
    if puts != 0 {
        WERE_SEVERAL.store(puts > 1, Ordering::Relaxed);
    }
    let home = home()?;
    let is_meant =
        |held: &mut HeldPuts| held.count > 0 && held.flow == flow && peer.is_none_or(|peer| peer == held.target.peer());
    let mut meant: Vec<HeldPuts> = all().extract_if(.., is_meant).collect();
    meant.iter_mut().for_each(|held| held.ask(home));
    let mut done = Ok(());
    for held in &mut meant {
        done = done.and(held.settle(home));
    }
    keep(meant);
    done
}

impl HeldPuts {
    /// # Safety
    /// The bytes must be readable at `from`.
    unsafe fn add(&mut self, entry: Entry, from: *const u8) {
        let length = entry.length as usize;
        let before = self.bytes.len();
        let header = if self.count == 0 { 0 } else { ENTRY };
        let end = before + header + length.next_multiple_of(8);
        debug_assert!(end <= self.bytes.capacity());
        // SAFETY: the caller has seen to the room; what lies between the bytes and the next entry means nothing, and is written for all that.
        unsafe {
            let to = self.bytes.as_mut_ptr().add(before);
            match header {
                0 => self.first = entry,
                _ => to.cast::<Entry>().write_unaligned(entry),
            }
            if length < end - before - header {
                to.add(end - before - 8).cast::<u64>().write_unaligned(0);
            }
            copy_short(from, to.add(header), length);
            self.bytes.set_len(end);
        }
        self.count += 1;
    }

    /// Ask for what is held, if there is a box.
    fn ask(&mut self, home: &ProcessContext) {
        if self.count == 0 {
            return;
        }
        let Some((index, turn)) = self.boxes.claim_soon(home) else {
            return;
        };
        let (mailbox, from) = (&self.boxes.boxes[index], self.bytes.as_ptr());
        // SAFETY: the box is ours, and has room for the operands, and for the first entry behind the request.
        unsafe {
            if self.count == 1 {
                let (at, given) = (self.first.at, self.first.length as usize);
                let request = Asked::plain(What::Put).request(&self.target, at, given, given);
                mailbox.request().cast::<Request>().write(request);
                copy_short(from, self.boxes.operands(index, &request), given);
            } else {
                let given = self.bytes.len();
                let request = Asked::plain(What::Batch).request(&self.target, 0, given, given);
                mailbox.request().cast::<Request>().write(request);
                mailbox.request().add(FIXED).cast::<Entry>().write(self.first);
                copy_short(from, self.boxes.room(index), given);
            }
        }
        mailbox.post(&turn);
        self.asked = Some((index, turn));
    }

    /// Wait until what was asked for is done, or do it.
    fn settle(&mut self, home: &ProcessContext) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut done = Ok(());
        let mut end = End::Away;
        if let Some((index, turn)) = self.asked.take() {
            let looks = LOOKS_AT_ANSWER.count();
            end = self.boxes.settle(home, &self.target, index, &turn, looks);
            self.target.note(end);
            self.boxes.leave(index, turn, end);
        }
        if end == End::Away {
            let target = &self.target;
            // SAFETY: the bytes are as they were written.
            unsafe {
                each(self.first, self.bytes.as_ptr(), self.bytes.len(), |at, from, length| {
                    let one = put_alone(target, at, from, length);
                    done = std::mem::replace(&mut done, Ok(())).and(one);
                    true
                })
            };
        }
        self.count = 0;
        self.bytes.clear();
        done.and_then(|()| end.into_result(&self.target).map(|_| ()))
    }
}

/// Do something with each of the puts in so many bytes: offset, bytes, length. True: all made sense, and were done.
///
/// # Safety
/// The bytes must be readable.
unsafe fn each(first: Entry, room: *const u8, used: usize, mut f: impl FnMut(u64, *const u8, usize) -> bool) -> bool {
    let (mut next, Entry { mut at, mut length }) = (0, first);
    loop {
        if length > (used - next) as u64 {
            return false;
        }
        // SAFETY: so many bytes are left.
        if !f(at, unsafe { room.add(next) }, length as usize) {
            return false;
        }
        next += (length as usize).next_multiple_of(8);
        if next >= used {
            return true;
        }
        if used - next < ENTRY {
            return false;
        }
        // SAFETY: as above.
        Entry { at, length } = unsafe { room.add(next).cast::<Entry>().read_unaligned() };
        next += ENTRY;
    }
}

/// Do the puts of a peer's request that lie in so many bytes of this process's box. False: they make no sense.
///
/// # Safety
/// The bytes must be readable.
pub(super) unsafe fn put_all(region: u32, first: Entry, room: *const u8, given: usize) -> bool {
    let wanted = PeerRequest {
        what: What::Put as u32,
        region,
        class: 0,
        operator: 0,
        width: 0,
        number: 0,
    };
    let mut puts = 0;
    // SAFETY: the caller's promise; offsets and lengths are checked.
    let done = unsafe {
        each(first, room, given, |at, from, length| {
            puts += 1;
            execute::do_at(wanted, at, length as u64, from, length, std::ptr::null_mut())
        })
    };
    counters::RMA_HELD.add_anywhere(puts);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Entry = Entry { at: 0, length: 8 };

    /// As they lie behind [`FIRST`].
    fn entries(lengths: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (at, length) in lengths.iter().enumerate() {
            if at > 0 {
                bytes.extend((at as u64).to_ne_bytes());
                bytes.extend((*length as u64).to_ne_bytes());
            }
            bytes.extend(vec![at as u8; length.next_multiple_of(8)]);
        }
        bytes
    }

    #[test]
    fn puts_lie_one_after_the_other() {
        let (lengths, mut found) = ([8, 1, 0, 17], Vec::new());
        let bytes = entries(&lengths);
        let mut take = |at: u64, _: *const u8, length: usize| {
            found.push((at as usize, length));
            true
        };
        // SAFETY: the bytes are there.
        assert!(unsafe { each(FIRST, bytes.as_ptr(), bytes.len(), &mut take) });
        let expected: Vec<_> = lengths.into_iter().enumerate().collect();
        assert_eq!(found, expected);
    }

    /// A peer may write anything.
    #[test]
    fn what_is_cut_off_or_too_long_makes_no_sense() {
        let mut bytes = entries(&[8, 8]);
        let all = bytes.len();
        // SAFETY: the bytes are there.
        let is_sense = |bytes: &[u8], used| unsafe { each(FIRST, bytes.as_ptr(), used, |_, _, length| length <= all) };
        assert!(is_sense(&bytes, all) && is_sense(&bytes, 8), "two, or the first alone");
        assert!(!is_sense(&bytes, all - 8) && !is_sense(&bytes, 16) && !is_sense(&bytes, 0));
        bytes[16..24].fill(0xff);
        assert!(!is_sense(&bytes, all));
    }
}
