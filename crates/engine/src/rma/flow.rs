//! Puts and gets, and what completes them.
//!
//! A put is a copy: of our own where the target's memory is mapped; where it is not, by a target that waits inside the library, or by the
//! kernel. All are over when they come back, but for what is left to the target ([`Flow::deferred_put`]), and what is with another node
//! (`service.rs`, `direct.rs`); so what is counted here is only whether stores are still on their way out of this CPU.

use std::ops::Range;
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use isthmus_transfer::copy::copy;
use isthmus_transfer::rows::copy_alike;
use isthmus_transfer::{Direction, Layout, Level, Span, local};

use super::flow_id::{self, CompletedBy, Scope};
use super::mailbox::{Asked, Outcome, Rows, Sides};
use super::protocols::{self, Operation, RmaMover};
use super::service::{self, Completion, FlowId, What};
use super::target::Target;
use super::{both_ends, direct, home, long, mailbox};
use crate::limits::BOTH_FROM;
use crate::types::Peer;
use crate::{Error, Result, allows_threads, counters, enter, fault_events};

/// A scope of completion: the origin's side of a window, a context, what an implicit handle stands for. Several threads may use one.
#[derive(Debug, Default)]
pub struct Flow {
    /// Something was stored since the last flush.
    stored: AtomicBool,
    /// What tells it from others, those before it at the same address among them; 0: nobody has asked yet.
    number: AtomicU32,
}

impl Flow {
    /// Nothing is under way.
    pub const fn new() -> Self {
        Self {
            stored: AtomicBool::new(false),
            number: AtomicU32::new(0),
        }
    }

    /// Copy `length` bytes to the address that [`Target::mapped_at`] gives. Does not block.
    ///
    /// # Safety
    /// `from` must be readable, and `to` as `mapped_at` has said, for as many bytes.
    #[inline(always)]
    pub unsafe fn store(&self, to: *mut u8, from: *const u8, length: usize) {
        self.stored.store(true, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { copy_short(from, to, length) };
    }

    /// Copy `length` bytes from the address that [`Target::mapped_at`] gives. Does not block.
    ///
    /// # Safety
    /// `into` must be writable, and `from` as `mapped_at` has said, for as many bytes.
    #[inline(always)]
    pub unsafe fn load(&self, from: *const u8, into: *mut u8, length: usize) {
        settle();
        // SAFETY: the caller's promise.
        unsafe { copy_short(from, into, length) };
    }

    /// Copy `length` bytes to offset `at` of the target. Does not wait for anybody where the memory can be reached.
    ///
    /// # Errors
    /// The bytes are outside the region (then nothing is written), the target has failed, or its memory cannot be reached.
    ///
    /// # Safety
    /// `from` must be readable for as many bytes, until the operation is over locally.
    #[inline]
    pub unsafe fn put_bytes(&self, target: &Target, at: u64, from: *const u8, length: usize) -> Result<()> {
        if let Some(to) = target.mapped_at(at, length as u64) {
            // SAFETY: the caller vouches for the source; the target's bytes are in its region, which its owner exposes.
            unsafe { self.store(to, from, length) };
            return Ok(());
        }
        target.check(at, length as u64)?;
        if target.shift().is_none() && protocols::is_short(length) && fault_events() == 0 {
            self.stored.store(true, Ordering::Relaxed);
            let asked = Asked::plain(What::Put);
            // SAFETY: the caller's promise.
            if unsafe { mailbox::ask(target, asked, at, length, (from, length), (null_mut(), 0)) }? {
                return Ok(());
            }
        }
        let (to, from) = (
            Layout::contiguous(at, length as u64),
            Layout::local(from, length as u64),
        );
        // SAFETY: the caller's promise.
        unsafe { self.put(target, &to, &from) }
    }

    /// As [`Self::put_bytes`], but short bytes that only the target's process can store may stay with this one until the flow is flushed or
    /// [published](Self::publish): then the target is asked once for all of them.
    ///
    /// # Errors
    /// As for [`Self::put_bytes`].
    ///
    /// # Safety
    /// As for [`Self::put_bytes`].
    #[inline]
    pub unsafe fn held_put(&self, target: &Target, at: u64, from: *const u8, length: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            if target.shift().is_none() && self.hold(target, at, from, length)? {
                return Ok(());
            }
            self.put_bytes(target, at, from, length)
        }
    }

    /// # Safety
    /// As for [`Self::put_bytes`].
    #[inline(never)] // It would be in the way of puts to memory that is mapped.
    unsafe fn hold(&self, target: &Target, at: u64, from: *const u8, length: usize) -> Result<bool> {
        if fault_events() != 0 || !mailbox::is_one_of_several() {
            return Ok(false);
        }
        target.check(at, length as u64)?;
        self.stored.store(true, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { mailbox::hold_put(self.id(), target, at, (from, length)) }
    }

    /// As [`Self::put_bytes`], but short bytes that only the target's process can store may be left to it: they are there when it has called
    /// [`finish_left`](super::finish_left), after having been told so by us. The caller ensures that they are not needed before.
    ///
    /// # Errors
    /// As for [`Self::put_bytes`].
    ///
    /// # Safety
    /// As for [`Self::put_bytes`].
    #[inline]
    pub unsafe fn deferred_put(&self, target: &Target, at: u64, from: *const u8, length: usize) -> Result<()> {
        if target.shift().is_none() && fault_events() == 0 {
            target.check(at, length as u64)?;
            // SAFETY: the caller's promise.
            if unsafe { mailbox::leave_put(target, at, from, length) }? {
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.put_bytes(target, at, from, length) }
    }

    /// Copy `length` bytes from offset `at` of the target. As [`Self::put_bytes`] otherwise.
    ///
    /// # Errors
    /// As for [`Self::put_bytes`].
    ///
    /// # Safety
    /// `into` must be writable for as many bytes, until the operation is over locally.
    #[inline]
    pub unsafe fn get_bytes(&self, target: &Target, at: u64, into: *mut u8, length: usize) -> Result<()> {
        if let Some(from) = target.mapped_at(at, length as u64) {
            // SAFETY: as in `put_bytes`.
            unsafe { self.load(from, into, length) };
            return Ok(());
        }
        target.check(at, length as u64)?;
        settle();
        if target.shift().is_none() && protocols::is_short(length) && fault_events() == 0 {
            let asked = Asked::plain(What::Get);
            // SAFETY: the caller's promise.
            if unsafe { mailbox::ask(target, asked, at, length, (null(), 0), (into, length)) }? {
                return Ok(());
            }
        }
        let (from, into) = (
            Layout::contiguous(at, length as u64),
            Layout::local(into, length as u64),
        );
        // SAFETY: the caller's promise.
        unsafe { self.get(target, &from, &into) }
    }

    /// Copy the bytes of `from`, addresses here, to those of `at`, offsets in the region, in the order of both layouts.
    ///
    /// # Errors
    /// As for [`Self::put_bytes`]; the layouts differ in length.
    ///
    /// # Safety
    /// The bytes of `from` must be readable until the operation is over locally.
    #[inline]
    pub unsafe fn put(&self, target: &Target, at: &Layout<'_>, from: &Layout<'_>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.put_in(None, target, at, from) }
    }

    /// As [`Self::put`], of a scope.
    ///
    /// # Errors
    /// As for [`Self::put`].
    ///
    /// # Safety
    /// As for [`Self::put`].
    pub unsafe fn put_in(
        &self,
        scope: Option<Scope>,
        target: &Target,
        at: &Layout<'_>,
        from: &Layout<'_>,
    ) -> Result<()> {
        self.stored.store(true, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { moves(self.completes_with(scope), target, at, from, Direction::Push) }
    }

    /// Copy the bytes of `at`, offsets in the region, to those of `into`, addresses here.
    ///
    /// # Errors
    /// As for [`Self::put`].
    ///
    /// # Safety
    /// The bytes of `into` must be writable until the operation is over locally.
    #[inline]
    pub unsafe fn get(&self, target: &Target, at: &Layout<'_>, into: &Layout<'_>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.get_in(None, target, at, into) }
    }

    /// As [`Self::get`], of a scope.
    ///
    /// # Errors
    /// As for [`Self::get`].
    ///
    /// # Safety
    /// As for [`Self::get`].
    pub unsafe fn get_in(
        &self,
        scope: Option<Scope>,
        target: &Target,
        at: &Layout<'_>,
        into: &Layout<'_>,
    ) -> Result<()> {
        settle();
        // SAFETY: the caller's promise.
        unsafe { moves(self.completes_with(scope), target, at, into, Direction::Pull) }
    }

    fn completes_with(&self, scope: Option<Scope>) -> CompletedBy {
        let flow = self.id();
        CompletedBy { flow, scope }
    }

    /// Wait until operations to one target have completed there: a process that is told so from now on sees them, and all that this process reads by
    /// operations from now on is read after it (docs/decisions/0101). Loads of its own come after it once it has fenced. Blocks.
    #[inline]
    pub fn flush(&self, peer: impl FnOnce() -> Peer) -> Result<()> {
        if mailbox::may_hold_some() {
            return self.flush_held(Some(peer()));
        }
        self.flush_stores();
        service::finish_calls(Completion::All, || self.id(), || Some(peer()))
    }

    /// As [`Self::flush`], of everything that was started. Blocks.
    #[inline]
    pub fn flush_all(&self) -> Result<()> {
        if mailbox::may_hold_some() {
            return self.flush_held(None);
        }
        self.flush_stores();
        service::finish_calls(Completion::All, || self.id(), || None)
    }

    /// Wait until the buffers of what was started to one target may be used again, and the results are there. Blocks while some are to
    /// come from another node.
    #[inline]
    pub fn flush_local(&self, peer: impl FnOnce() -> Peer) -> Result<()> {
        service::finish_calls(Completion::Local, || self.id(), || Some(peer()))
    }

    /// As [`Self::flush_local`], of everything that was started.
    #[inline]
    pub fn flush_local_all(&self) -> Result<()> {
        service::finish_calls(Completion::Local, || self.id(), || None)
    }

    /// Wait until what was started to one target, and changes its memory, has completed there: what overtakes messages comes after it then. Gets
    /// go on. Blocks while there is such to another node.
    #[inline]
    pub fn flush_changes(&self, peer: impl FnOnce() -> Peer) -> Result<()> {
        service::finish_calls(Completion::Changes, || self.id(), || Some(peer()))
    }

    /// Wait until the long puts that were started to one target, and may be overtaken by messages, have completed: their sources may change.
    /// Blocks while there are some to another node.
    #[inline]
    pub fn flush_long_puts(&self, peer: impl FnOnce() -> Peer) -> Result<()> {
        service::finish_calls(Completion::LongPuts, || self.id(), || Some(peer()))
    }

    /// As [`Self::flush_long_puts`], to all targets.
    #[inline]
    pub fn flush_all_long_puts(&self) -> Result<()> {
        service::finish_calls(Completion::LongPuts, || self.id(), || None)
    }

    /// Whatever becomes of held puts, all others are completed.
    #[cold]
    #[inline(never)]
    fn flush_held(&self, peer: Option<Peer>) -> Result<()> {
        let held = mailbox::finish_held(self.id(), peer);
        self.flush_stores();
        held.and(service::finish_calls(Completion::All, || self.id(), || peer))
    }

    #[inline]
    fn flush_stores(&self) {
        if allows_threads() {
            // What another thread's flush has drained is what its CPU had stored, not what ours has.
            drain();
        } else if self.stored.load(Ordering::Relaxed) {
            self.stored.store(false, Ordering::Relaxed);
            UNDRAINED.store(true, Ordering::Relaxed);
            fence(Ordering::Release);
        }
    }

    /// Later operations to a target come after earlier ones to the same target. Does not block.
    #[inline]
    pub fn order(&self) {
        fence(Ordering::Release);
    }

    /// A process that [acquires](Ordering::Acquire) a later store sees all earlier operations. As [`Self::flush_all`] for processes
    /// that are told so by a store of ours, and cheaper. Blocks while something is under way to another node.
    #[inline]
    pub fn publish(&self) -> Result<()> {
        let held = match mailbox::may_hold_some() {
            true => mailbox::finish_held(self.id(), None),
            false => Ok(()),
        };
        self.stored.store(false, Ordering::Relaxed);
        fence(Ordering::Release);
        held.and(service::finish_calls(Completion::All, || self.id(), || None))
    }

    /// What tells it from others.
    pub(super) fn id(&self) -> FlowId {
        match self.number.load(Ordering::Relaxed) {
            0 => self.take_number(),
            number => number,
        }
    }

    #[cold]
    fn take_number(&self) -> FlowId {
        let next = flow_id::new_number();
        let swapped = self
            .number
            .compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
        swapped.map_or_else(|another| another, |_| next)
    }

    pub(super) fn stores(&self) {
        self.stored.store(true, Ordering::Relaxed);
    }
}

/// Something was flushed whose stores may still be on their way out of this CPU. They leave it in their order, before whatever this process
/// stores later; only what it loads may come before them, and so whoever loads from others [settles](settle) this first. Used while the
/// process has one thread that makes operations: another one's loads would not know whose stores they are to come after.
static UNDRAINED: AtomicBool = AtomicBool::new(false);

/// Before memory of others is read: what was flushed is visible to all.
#[inline]
pub(super) fn settle() {
    if UNDRAINED.load(Ordering::Relaxed) {
        UNDRAINED.store(false, Ordering::Relaxed);
        drain();
    }
}

/// Stores of this CPU are visible to all. What `fence` does, in half the time on x86: a locked instruction on a line that is here.
#[inline]
fn drain() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: adds nothing to a word of our own stack.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp - 8], 0", options(nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fence(Ordering::SeqCst);
}

/// # Safety
/// As for [`copy`].
#[inline(always)]
pub(super) unsafe fn copy_short(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise, in each case. Elements of these sizes that are aligned are stored as a whole.
    unsafe {
        match length {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            1 => to.write(from.read()),
            _ => copy(from, to, length),
        }
    }
}

/// # Safety
/// The bytes of `here` must be readable, or if they are pulled writable.
unsafe fn moves(
    completed_by: CompletedBy,
    target: &Target,
    at: &Layout<'_>,
    here: &Layout<'_>,
    direction: Direction,
) -> Result<()> {
    let length = at.length();
    if length != here.length() {
        return Err(Error::Mismatch("origin and target differ in length"));
    }
    if length == 0 {
        return Ok(());
    }
    target.check_layout(at)?;
    check_alive(target.peer())?;
    let is_row = |layout: &Layout<'_>| matches!(layout, Layout::Contiguous(_));
    let by = protocols::plan(&Operation {
        bytes: length,
        is_mapped: target.shift().is_some(),
        is_remote: target.is_elsewhere(),
        is_on_device: target.is_on_device(),
        rows: (is_row(at), is_row(here)),
        put_on: match (*at, direction) {
            (Layout::Strided { block, levels: [_], .. }, Direction::Push) => Some(block),
            _ => None,
        },
        provider_pays: direct::pays(target, length),
    });
    // SAFETY: the caller's promise; what is neither in a row nor in short rows at the target goes by single copies.
    unsafe {
        match (by, *at) {
            (RmaMover::Mapped, _) => by_stores(target, at, here, direction),
            (RmaMover::Provider, _) => by_provider(completed_by, target, at, here, direction)?,
            (RmaMover::Calls, _) => service::moves(completed_by, target, what_of(direction), at, here, 0..length)?,
            (RmaMover::Mailbox | RmaMover::Rows, _) => {
                if by_mailbox(target, at, here, direction)? == Outcome::Not {
                    by_single_copy(target, at, here, direction, 0..length)?;
                }
            }
            (RmaMover::Learned, Layout::Contiguous(span)) => long::of(target.peer())?.copies.go(
                length,
                || by_mailbox(target, at, here, direction),
                || by_both(target, span, here, direction),
            )?,
            _ => by_single_copy(target, at, here, direction, 0..length)?,
        }
    }
    Ok(())
}

/// By loads and stores of memory that both map.
///
/// # Safety
/// As for [`moves`]; `at` must be in the region.
unsafe fn by_stores(target: &Target, at: &Layout<'_>, here: &Layout<'_>, direction: Direction) {
    if let Some(shift) = target.shift() {
        let length = at.length();
        let (own, other) = ((here, 0), (at, shift as u64));
        // SAFETY: the caller vouches for the layout here; the other one is in the region.
        let is_done = unsafe {
            match direction {
                Direction::Push => copy_alike(own, other),
                Direction::Pull => copy_alike(other, own),
            }
        };
        if is_done {
            return;
        }
        let (mut there, mut here) = (at.cursor(0), here.cursor(0));
        there.shift(shift as u64);
        // SAFETY: the caller vouches for the layout here; the other one is in the region.
        unsafe {
            match direction {
                Direction::Push => local::copy_on(&mut here, &mut there, length),
                Direction::Pull => local::copy_on(&mut there, &mut here, length),
            };
        }
    }
}

/// By the provider's RMA, or by calls.
///
/// # Safety
/// As for [`moves`]; `at` must be in the region.
unsafe fn by_provider(
    completed_by: CompletedBy,
    target: &Target,
    at: &Layout<'_>,
    here: &Layout<'_>,
    direction: Direction,
) -> Result<()> {
    let length = at.length();
    // SAFETY: the caller's promise.
    unsafe {
        if let (Layout::Contiguous(there), Layout::Contiguous(own)) = (*at, *here)
            && direct::moves(
                completed_by,
                target,
                there.address,
                (with_exposed_provenance_mut(own.address as usize), length),
                direction,
            )?
        {
            return Ok(());
        }
        service::moves(completed_by, target, what_of(direction), at, here, 0..length)?;
    }
    Ok(())
}

fn what_of(direction: Direction) -> What {
    match direction {
        Direction::Push => What::Put,
        Direction::Pull => What::Get,
    }
}

fn plain(direction: Direction) -> Asked<'static> {
    Asked::plain(what_of(direction))
}

/// Have the target do it, if it waits inside the library.
///
/// # Safety
/// As for [`moves`]; `at`, a span or rows of one length, must be in the region.
unsafe fn by_mailbox(target: &Target, at: &Layout<'_>, here: &Layout<'_>, direction: Direction) -> Result<Outcome> {
    let (first, rows) = match *at {
        Layout::Contiguous(span) => (span.address, None),
        Layout::Strided {
            base,
            block,
            levels: &[Level { stride, .. }],
        } => (base, Some(Rows { block, stride })),
        _ => return Ok(Outcome::Not),
    };
    let asked = Asked {
        rows,
        ..plain(direction)
    };
    let bytes = |range: &Range<u64>| range.end - range.start;
    let mut sides = Sides {
        // SAFETY: the caller vouches for the layout here; the box has room for as many bytes.
        fill: &mut |range, room| unsafe {
            let packed = Layout::local(room, bytes(&range));
            local::copy_on(&mut here.cursor(range.start), &mut packed.cursor(0), bytes(&range));
        },
        // SAFETY: as above.
        read: &mut |range, room| unsafe {
            let packed = Layout::local(room, bytes(&range));
            local::copy_on(&mut packed.cursor(0), &mut here.cursor(range.start), bytes(&range));
        },
        // SAFETY: the caller's promise.
        otherwise: &mut |range| unsafe { by_single_copy(target, at, here, direction, range) },
    };
    let width = rows.map_or(1, |rows| rows.block);
    mailbox::ask_in_pieces(target, asked, first, 0..at.length(), width, &mut sides)
}

/// By single copies, of which the target makes half if it waits inside the library.
///
/// # Safety
/// As for [`moves`]; the span must be in the region.
unsafe fn by_both(target: &Target, span: Span, here: &Layout<'_>, direction: Direction) -> Result<()> {
    let there = Layout::Contiguous(span);
    // SAFETY: the caller's promise.
    let mut alone = |range| unsafe { by_single_copy(target, &there, here, direction, range).map(|_| ()) };
    if span.length >= BOTH_FROM
        && let Layout::Contiguous(own) = *here
    {
        let places = (span.address, own.address);
        // SAFETY: the caller's promise.
        if unsafe { both_ends::ask(target, plain(direction), places, (span.length, 1), true, &mut alone) }?
            != Outcome::Not
        {
            return Ok(());
        }
    }
    alone(0..span.length)
}

/// # Safety
/// As for [`moves`]; `at` must be in the region.
unsafe fn by_single_copy(
    target: &Target,
    at: &Layout<'_>,
    here: &Layout<'_>,
    direction: Direction,
    range: Range<u64>,
) -> Result<()> {
    let Range {
        start: mut done,
        end: length,
    } = range;
    while let Some(transfer) = target.transfer(direction) {
        let moved = with_address(target, at, |there| {
            // SAFETY: the caller's promise; the peer exposes its region.
            unsafe {
                match direction {
                    Direction::Push => transfer.push(here, there, done..length),
                    Direction::Pull => transfer.pull(there, here, done..length),
                }
            }
        });
        match moved {
            Ok(()) => {
                counters::CMA_BYTES.add_anywhere(length - done);
                return Ok(());
            }
            Err(stopped) => {
                done += stopped.done;
                check_alive(target.peer())?;
                if let Some(error) = target.device_failure() {
                    return Err(error);
                }
                if !target.failed(direction, stopped) {
                    break;
                }
            }
        }
    }
    let what = what_of(direction);
    // SAFETY: the caller's promise.
    unsafe { service::moves(service::OF_NODE.into(), target, what, at, here, done..length) }?;
    Ok(())
}

/// A put that the target's process did not do.
///
/// # Safety
/// So many bytes must be readable at `from`; those from `at` on must be in the region.
pub(super) unsafe fn put_alone(target: &Target, at: u64, from: *const u8, length: usize) -> Result<()> {
    check_alive(target.peer())?;
    let length = length as u64;
    let (at, from) = (Layout::contiguous(at, length), Layout::local(from, length));
    // SAFETY: the caller's promise.
    unsafe { by_single_copy(target, &at, &from, Direction::Push, 0..length) }
}

/// The layout of the peer's addresses.
fn with_address<R>(target: &Target, at: &Layout<'_>, f: impl FnOnce(&Layout<'_>) -> R) -> R {
    let base = target.base();
    match *at {
        Layout::Contiguous(span) => f(&Layout::contiguous(base.wrapping_add(span.address), span.length)),
        Layout::Strided {
            base: first,
            block,
            levels,
        } => f(&Layout::Strided {
            base: base.wrapping_add(first),
            block,
            levels,
        }),
        Layout::Spans(spans) => {
            let moved: Vec<Span> = spans
                .iter()
                .map(|span| Span {
                    address: base.wrapping_add(span.address),
                    length: span.length,
                })
                .collect();
            f(&Layout::Spans(&moved))
        }
    }
}

/// # Errors
/// The process is known to have failed.
#[inline]
pub(super) fn check_alive(peer: Peer) -> Result<()> {
    // The server of calls is inside the engine, and is the target itself.
    if fault_events() == 0 || home()?.me == peer.0 {
        return Ok(());
    }
    if enter().has_failed(peer) {
        return Err(Error::PeerFailed { peer: peer.0 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call is told of that a flow made, another is not told of that lies where that one lay.
    #[test]
    fn flows_at_one_address_are_told_apart() {
        let mut flow = Box::new(Flow::new());
        let (first, place) = (flow.id(), std::ptr::from_ref(&*flow));
        assert_eq!(flow.id(), first);
        *flow = Flow::new();
        assert_eq!(std::ptr::from_ref(&*flow), place);
        assert_ne!(flow.id(), first);
        assert_ne!(flow.id(), service::OF_NODE);
    }
}
