//! The communication engine of one process, free of any API.
//!
//! One [`Engine`] lives per process, from [`boot`] until the process exits (initialising again after
//! finalizing just works). The API layers reach it through [`enter`], whose [`Entered`] token proves
//! that no other thread is inside; the token is never held across a user callback.
//!
//! Nothing here blocks except [`wait_until`].
#![allow(unsafe_code)] // The engine reads and writes user buffers and shared memory; each site argues its case.

mod boot;
pub mod control;
pub mod counters;
mod error;
pub mod tunables;
mod types;

pub use boot::{State, boot, leave, state};
pub use error::{Error, Result};
pub use types::{Arrival, ContextId, MessageId, Mode, OpId, Outcome, Peer, Posting, World};

/// Proof that the calling thread is the only one inside the engine.
///
/// Free below `MPI_THREAD_MULTIPLE`; a lock there. Never hold one across a user callback.
pub struct Entered(());

/// Enter the engine. Does not wait below thread-multiple.
pub fn enter() -> Entered {
    todo!()
}

/// A value that only the thread inside the engine touches.
pub struct Guarded<T>(std::cell::UnsafeCell<T>);

// SAFETY: every access goes through `get`, which needs the `Entered` token.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Wrap a value.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// The value; the token proves that the access is exclusive.
    pub fn get<'a>(&'a self, _token: &'a mut Entered) -> &'a mut T {
        // SAFETY: the token is unique while its thread is inside, and borrowed mutably here.
        unsafe { &mut *self.0.get() }
    }
}

impl Entered {
    /// Who we are. Valid after [`boot`].
    pub fn world(&self) -> &'static World {
        todo!()
    }

    /// Start sending `len` bytes at `buf` to `to`. `None`: the buffer may be reused already.
    /// Does not block.
    ///
    /// # Safety
    /// `buf` must be readable for `len` bytes until the operation completes.
    pub unsafe fn send(
        &mut self,
        _mode: Mode,
        _to: Peer,
        _envelope: Posting,
        _buf: *const u8,
        _len: usize,
    ) -> Result<Option<OpId>> {
        todo!()
    }

    /// Post a receive. `from` and `tag` are `None` for wildcards. Does not block.
    ///
    /// # Safety
    /// `buf` must be writable for `capacity` bytes until the operation completes.
    pub unsafe fn receive(
        &mut self,
        _from: Option<Peer>,
        _context: ContextId,
        _tag: Option<i32>,
        _buf: *mut u8,
        _capacity: usize,
    ) -> Result<OpId> {
        todo!()
    }

    /// If the operation is complete, retire it and say how it went.
    pub fn take(&mut self, _op: OpId) -> Option<Outcome> {
        todo!()
    }

    /// How the operation went, if it is complete, without retiring it.
    pub fn peek(&mut self, _op: OpId) -> Option<&Outcome> {
        todo!()
    }

    /// The operation will never be waited for: forget it when it completes (`MPI_Request_free`).
    pub fn detach(&mut self, _op: OpId) {
        todo!()
    }

    /// Withdraw a receive that has not matched. `false`: too late, it will complete.
    pub fn cancel(&mut self, _op: OpId) -> bool {
        todo!()
    }

    /// The first message that a receive with these arguments would match, if it has arrived.
    pub fn probe(&mut self, _from: Option<Peer>, _context: ContextId, _tag: Option<i32>) -> Option<Arrival> {
        todo!()
    }

    /// As [`Self::probe`], and take the message out of matching (`MPI_Mprobe`).
    pub fn matched_probe(
        &mut self,
        _from: Option<Peer>,
        _context: ContextId,
        _tag: Option<i32>,
    ) -> Option<(MessageId, Arrival)> {
        todo!()
    }

    /// Receive a message taken by [`Self::matched_probe`].
    ///
    /// # Safety
    /// As for [`Self::receive`].
    pub unsafe fn receive_matched(&mut self, _message: MessageId, _buf: *mut u8, _capacity: usize) -> Result<OpId> {
        todo!()
    }

    /// Move whatever can move. Never blocks.
    pub fn progress(&mut self) {
        todo!()
    }
}

/// Make progress until `ready` answers. Spins, yields, then sleeps; enters and leaves the engine for each look,
/// so other threads get their turn. `ready` must not call user code.
pub fn wait_until<T>(mut ready: impl FnMut(&mut Entered) -> Option<T>) -> Result<T> {
    let mut inside = enter();
    loop {
        if let Some(value) = ready(&mut inside) {
            return Ok(value);
        }
        inside.progress();
    }
}
