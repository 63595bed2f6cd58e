//! The communication engine of one process, free of any API.
//!
//! One `Engine` lives per process, from [`boot`] until the process exits (initialising again after
//! finalizing just works). The API layers reach it through [`enter`], whose [`Entered`] token proves
//! that no other thread is inside; the token is never held across a user callback.
//!
//! Nothing here blocks except [`wait_until`], [`Entered::wait`], [`boot`] (for the launcher's answer) and [`abort`]; and
//! with several threads [`enter`], for as long as the thread inside stays.
#![allow(unsafe_code)] // The engine reads and writes user buffers and shared memory; each site argues its case.

#[cfg(any(test, fuzzing))]
pub mod adversarial_peer;
mod channel;
pub mod counters;
mod data_path;
mod engine;
mod error;
mod fault;
mod learning;
pub mod limits;
mod matching;
mod membership;
mod memory;
mod ops;
pub mod other_mpi;
mod progress;
mod protocol;
pub mod rma;
pub mod rules;
pub mod tunables;
mod types;
pub mod warning;
mod watches;

use isthmus_os::switches::Switch;

use engine::{ENGINE, Engine};
use matching::queues::{Key, Pattern};
use matching::unexpected::Unexpected;
use memory::buffer::Buffer;
use ops::Owner;

pub use isthmus_shm::occupancy::is_oversubscribed;
pub use isthmus_shm::slot::Cause;
pub use isthmus_shm::{backoff, occupancy};
pub use membership::boot::{boot, expected_size, join, part};
pub use membership::consensus::{Agreed, Consensus};
pub use membership::launcher::{abort, abort_members};
pub use membership::{control, job};
pub use memory::board::{Board, INLINE, MOST_MEMBERS, MOST_STEPS, Posted, Step};
pub use memory::buffer::Scattered;
pub use memory::devices::{refused, supports_devices};
pub use memory::{heap, symmetric};
pub use progress::background::Background;
pub use progress::wakes;
pub use protocol::choice::devices::PROTOCOLS as DEVICE_PROTOCOLS;
pub use protocol::choice::protocols;

pub use channel::network::version as version_between_nodes;
pub use error::{Error, Result};
pub use isthmus_os::stdio::write_c_output_by_lines;
pub use isthmus_os::topology::{Level, Locality, MadeUp};
pub use isthmus_transfer::copy::copy;
pub use isthmus_transfer::device;
pub use membership::failures::fault_events;
pub use membership::locality::{declared, hardware, own_locality};
pub use membership::pmi::abort_by_launcher;
pub use memory::staging::{LONGEST, Staged, copy_for_others, copy_from_others, copy_past_caches};
pub use progress::gate::{
    Entered, Guarded, State, allow_threads, allows_threads, enter, expect_one_thread, expect_threads, is_in_use, state,
};
pub use progress::thread::ProgressThread;
pub use progress::wait::{ring, wait_until};
pub use protocol::choice::price::{single_copies_pay, single_copies_pay_beyond_caches, single_copy_price};
pub use protocol::choice::remote::Remote;
pub use protocol::choice::select::passes_caches;
pub use types::{Arrival, ContextId, MessageId, Mode, OpId, Outcome, Peer, Posting, World};
pub use watches::Watch;

/// How places of bytes are told: see [`Scattered::with_layout`].
pub mod layout {
    pub use crate::memory::buffer::PieceVisitor;
    pub use isthmus_transfer::{Layout, Level, Span};
}

/// Have addresses asked about from now on, whether they are memory of devices, if there may be such. The engine has booted.
pub fn watch_devices() {
    enter().watch_devices(supports_devices());
}

/// This process. Valid after [`boot`].
pub fn world() -> &'static World {
    membership::own::world().expect("MPI procedures check that the engine has booted")
}

impl Entered {
    /// The engine. Everything that gets here has booted: the entry points check.
    #[inline]
    pub(crate) fn engine(&mut self) -> &mut Engine {
        ENGINE
            .get(self)
            .as_mut()
            .expect("MPI procedures check that the engine has booted")
    }

    /// Start sending `len` bytes at `buf` to `to`. `None`: the buffer may be reused already.
    /// Does not block.
    ///
    /// # Safety
    /// `buf` must be readable for `len` bytes until the operation completes.
    #[inline]
    pub unsafe fn send(
        &mut self,
        mode: Mode,
        to: Peer,
        envelope: Posting,
        buf: *const u8,
        len: usize,
    ) -> Result<Option<OpId>> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe { engine.send(mode, to.0, envelope, Buffer::source(buf), len) }?;
        Ok(op.map(|op| engine.ops.id(op)))
    }

    /// As [`Self::send`], of `len` bytes that lie here and there.
    ///
    /// # Safety
    /// `data` must stay where it is, and readable for `len` bytes, until the operation completes.
    pub unsafe fn send_scattered(
        &mut self,
        mode: Mode,
        to: Peer,
        envelope: Posting,
        data: &impl Scattered,
        len: usize,
    ) -> Result<Option<OpId>> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe {
            match data.is_on_device() {
                false => engine.send(mode, to.0, envelope, Buffer::scattered(data), len),
                true => engine.send_from_device(mode, to.0, envelope, Buffer::scattered(data), len),
            }
        }?;
        Ok(op.map(|op| engine.ops.id(op)))
    }

    /// Post a receive. `from` and `tag` are `None` for wildcards. Does not block.
    ///
    /// # Safety
    /// `buf` must be writable for `capacity` bytes until the operation completes.
    #[inline]
    pub unsafe fn receive(
        &mut self,
        from: Option<Peer>,
        context: ContextId,
        tag: Option<i32>,
        buf: *mut u8,
        capacity: usize,
    ) -> Result<OpId> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe { engine.receive(pattern(from, context, tag), Buffer::target(buf), capacity) }?;
        Ok(engine.ops.id(op))
    }

    /// The caller will be busy elsewhere while the receive waits: let its sender write into the buffer meanwhile, if the
    /// receive is a large one from a particular peer. Does not block.
    pub fn advertise(&mut self, op: OpId) {
        let engine = self.engine();
        if let Some(op) = engine.ops.find(op) {
            engine.advertise(op);
        }
    }

    /// Receive a message that has arrived already; nothing is left to complete. `None`: [`Self::receive`] it.
    ///
    /// # Safety
    /// `buf` must be writable for `capacity` bytes.
    #[inline]
    pub unsafe fn receive_at_once(
        &mut self,
        from: Option<Peer>,
        context: ContextId,
        tag: Option<i32>,
        buf: *mut u8,
        capacity: usize,
    ) -> Option<Arrival> {
        // SAFETY: the caller's promise.
        unsafe {
            self.engine()
                .receive_at_once(pattern(from, context, tag), buf, capacity)
        }
    }

    /// As [`Self::receive`], of up to `capacity` bytes that belong here and there.
    ///
    /// # Safety
    /// `data` must stay where it is, and writable for `capacity` bytes, until the operation completes.
    pub unsafe fn receive_scattered(
        &mut self,
        from: Option<Peer>,
        context: ContextId,
        tag: Option<i32>,
        data: &impl Scattered,
        capacity: usize,
    ) -> Result<OpId> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe { engine.receive(pattern(from, context, tag), Buffer::scattered(data), capacity) }?;
        Ok(engine.ops.id(op))
    }

    /// If the operation is complete, retire it and say how it went. `None` also for names that are stale.
    #[inline]
    pub fn take(&mut self, op: OpId) -> Option<Outcome> {
        let engine = self.engine();
        let index = engine.ops.find(op)?;
        if engine.ops[index].stage != ops::Stage::Complete {
            self.note_pending(op);
            return None;
        }
        let outcome = engine.ops[index].outcome;
        engine.ops.release(index);
        Some(outcome)
    }

    /// Give the operation, which is live, to the user: from now on [`Self::users`] and [`Self::take_users`] find it.
    #[inline]
    pub fn give_to_user(&mut self, op: OpId) {
        self.engine().ops.set_owner(op, Owner::User);
    }

    /// The user has no name for the operation any more, but somebody asks how it went.
    pub fn take_from_user(&mut self, op: OpId) {
        self.engine().ops.set_owner(op, Owner::Library);
    }

    /// An operation of the user's that is complete from the start, and reports no bytes from `source` with `tag`. There must be
    /// room: [`Self::reserve`].
    ///
    /// Not an `Arrival`, which would be put together on the stack and then read as a whole: that waits for all stores before it, also
    /// for the one into a ring, whose line the peer holds (half of a sender's time in a window of 8 bytes).
    #[inline]
    pub fn completed(&mut self, context: ContextId, source: i32, tag: i32) -> OpId {
        let ops = &mut self.engine().ops;
        let index = ops
            .allocate(ops::Stage::Complete, Buffer::NOWHERE, 0)
            .expect("there is room");
        let op = &mut ops[index];
        op.context = context;
        op.owner = Owner::User;
        op.outcome = Outcome {
            arrival: Arrival { source, tag, bytes: 0 },
            ..Outcome::default()
        };
        ops.has_events = true;
        ops.id(index)
    }

    /// See to it that there is room for one more operation.
    #[inline]
    pub fn reserve(&mut self) -> Result<()> {
        self.engine().ops.reserve()
    }

    /// How the operation went that the user may have by this name, if it is complete. `None`: the user has no such operation.
    #[inline]
    pub fn users(&mut self, op: OpId) -> Option<Option<&Outcome>> {
        let engine = self.engine();
        let index = engine.ops.find(op)?;
        let (owner, stage) = (engine.ops[index].owner, engine.ops[index].stage);
        if owner != Owner::User {
            return None;
        }
        if stage != ops::Stage::Complete {
            self.note_pending(op);
            return Some(None);
        }
        Some(Some(&self.engine().ops[index].outcome))
    }

    /// Wait for these operations, as far as they are not complete: their peers will probably be heard next. Only where
    /// ranks share CPUs does that matter.
    #[inline]
    pub fn await_operations(&mut self, ops: impl IntoIterator<Item = OpId>) {
        if is_oversubscribed() {
            self.engine().expect_all(ops);
        }
    }

    /// The message space of an operation.
    pub fn context_of(&mut self, op: OpId) -> Option<ContextId> {
        let engine = self.engine();
        Some(engine.ops[engine.ops.find(op)?].context)
    }

    /// Has the user operations in this message space that are not retired, or messages that are not received?
    pub fn has_users(&mut self, context: ContextId) -> bool {
        let engine = self.engine();
        let mut live = engine.ops.live();
        live.any(|op| op.owner == Owner::User && op.context == context)
            || engine.matching.all_taken().any(|(_, key, _)| key.context == context)
    }

    /// The messages in this message space that no receive has taken, and those that a matched probe has.
    pub fn unreceived(&mut self, context: ContextId) -> Vec<Arrival> {
        let engine = self.engine();
        let mut found = Vec::new();
        let mut visit = |key: Key, message: &Unexpected| {
            if key.context == context {
                let (source, tag, bytes) = (message.source(), key.tag, message.length(&engine.ops));
                found.push(Arrival { source, tag, bytes });
            }
        };
        engine.matching.visit_unexpected(&mut visit);
        engine
            .matching
            .all_taken()
            .for_each(|(_, key, message)| visit(key, message));
        found
    }

    /// Retire an operation of the user's that is complete and went well: neither truncated nor ended by a failure. What it says
    /// must be read at once: the next operation may take its place.
    #[inline]
    pub fn take_users(&mut self, op: OpId) -> Option<&Outcome> {
        self.take_of(Owner::User, op)
    }

    /// As [`Self::take_users`], of an operation that the library has started and kept to itself.
    #[inline]
    pub fn take_well(&mut self, op: OpId) -> Option<&Outcome> {
        self.take_of(Owner::Library, op)
    }

    #[inline(always)]
    fn take_of(&mut self, owner: Owner, op: OpId) -> Option<&Outcome> {
        let engine = self.engine();
        let index = engine.ops.find(op)?;
        let op = &engine.ops[index];
        let well = !(op.outcome.truncated | op.outcome.peer_failed);
        if op.stage != ops::Stage::Complete || op.owner != owner || !well {
            return None;
        }
        engine.ops.release(index);
        Some(&engine.ops[index].outcome)
    }

    /// How the operation went, if it is complete, without retiring it.
    pub fn peek(&mut self, op: OpId) -> Option<&Outcome> {
        let engine = self.engine();
        let index = engine.ops.find(op)?;
        if engine.ops[index].stage != ops::Stage::Complete {
            self.note_pending(op);
            return None;
        }
        Some(&self.engine().ops[index].outcome)
    }

    /// The operation will never be waited for: forget it when it completes (`MPI_Request_free`).
    pub fn detach(&mut self, op: OpId) {
        let engine = self.engine();
        let Some(index) = engine.ops.find(op) else { return };
        if engine.ops[index].stage == ops::Stage::Complete {
            engine.ops.release(index);
        } else {
            engine.ops[index].owner = Owner::Nobody;
        }
    }

    /// Withdraw a receive that has not matched, or a send that is announced and not taken; it then completes as
    /// cancelled. `false`: too late, it will complete.
    pub fn cancel(&mut self, op: OpId) -> bool {
        let engine = self.engine();
        engine.ops.find(op).is_some_and(|index| engine.cancel(index))
    }

    /// The first message that a receive with these arguments would match, if it has arrived.
    pub fn probe(&mut self, from: Option<Peer>, context: ContextId, tag: Option<i32>) -> Option<Arrival> {
        self.engine().probe(pattern(from, context, tag))
    }

    /// As [`Self::probe`], and take the message out of matching (`MPI_Mprobe`).
    ///
    /// # Errors
    /// If too many are taken and not received.
    #[inline]
    pub fn matched_probe(
        &mut self,
        from: Option<Peer>,
        context: ContextId,
        tag: Option<i32>,
    ) -> Result<Option<(MessageId, Arrival)>> {
        self.engine().matched_probe(pattern(from, context, tag))
    }

    /// The message space of a message taken by [`Self::matched_probe`]; `None`: it is received, or there was none.
    #[inline]
    pub fn context_of_message(&mut self, message: MessageId) -> Option<ContextId> {
        let matching = &mut self.engine().matching;
        let (key, _) = matching.unexpected_mut(matching.taken(message)?);
        Some(key.context)
    }

    /// Receive a message taken by [`Self::matched_probe`] that is here whole; nothing is left to complete. `None`: [`Self::receive_matched`]
    /// it.
    ///
    /// # Safety
    /// `buf` must be writable for `capacity` bytes.
    #[inline]
    pub unsafe fn receive_matched_at_once(
        &mut self,
        message: MessageId,
        buf: *mut u8,
        capacity: usize,
    ) -> Option<Arrival> {
        // SAFETY: the caller's promise.
        unsafe { self.engine().receive_matched_at_once(message, buf, capacity) }
    }

    /// Receive a message taken by [`Self::matched_probe`].
    ///
    /// # Safety
    /// As for [`Self::receive`].
    pub unsafe fn receive_matched(&mut self, message: MessageId, buf: *mut u8, capacity: usize) -> Result<OpId> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe { engine.receive_matched(message, Buffer::target(buf), capacity) }?;
        Ok(engine.ops.id(op))
    }

    /// As [`Self::receive_matched`], of up to `capacity` bytes that belong here and there.
    ///
    /// # Safety
    /// As for [`Self::receive_scattered`].
    pub unsafe fn receive_matched_scattered(
        &mut self,
        message: MessageId,
        data: &impl Scattered,
        capacity: usize,
    ) -> Result<OpId> {
        let engine = self.engine();
        // SAFETY: the caller's promise.
        let op = unsafe { engine.receive_matched(message, Buffer::scattered(data), capacity) }?;
        Ok(engine.ops.id(op))
    }

    /// Move whatever can move, except user code. Never blocks. For callers that wait for earlier events; others
    /// [`poll`](Self::poll).
    pub fn progress(&mut self) {
        self.engine().progress();
        let _ = self.advance_background();
    }

    /// Something has changed that other threads may wait for, other than by an operation of the engine or a message.
    #[inline]
    pub fn notice(&mut self) {
        self.engine().ops.has_events = true;
    }

    /// The doorbells of all ranks, to be rung from outside.
    pub fn bells(&mut self) -> symmetric::Bells {
        let engine = self.engine();
        symmetric::Bells::new(engine.segment, engine.channels.fence_needed())
    }

    /// `count` neighbouring numbers that no other process of the job gets, ever: the first. They begin at 0.
    pub fn take_numbers(&mut self, count: u32) -> u64 {
        let segment = self.engine().segment;
        // Each node counts in a part of its own, which begins with an even number.
        let part = (u64::from(u32::MAX) / u64::from(segment.nodes())) & !1;
        part * u64::from(segment.node()) + segment.take_numbers(count)
    }

    /// From now on memory of devices is looked for, if the first rank of the job has `wanted` that. What the job shares is host memory without
    /// a query of the driver.
    fn watch_devices(&mut self, wanted: bool) {
        let segment = self.engine().segment;
        if segment.looks_for_devices(wanted) {
            isthmus_mem::host_range(segment.base().as_ptr(), segment.mapped());
            Switch::Devices.turn_on();
        }
    }

    /// Has everything that was to be sent left this process?
    pub fn is_quiet(&mut self) -> bool {
        self.engine().is_quiet()
    }
}

fn pattern(from: Option<Peer>, context: ContextId, tag: Option<i32>) -> Pattern {
    Pattern {
        context,
        from: from.map(|peer| peer.0),
        tag,
    }
}
