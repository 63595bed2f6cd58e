//! What an algorithm sees of a communicator: ranks, and bytes between them.
//!
//! Algorithms are generic over [`Link`], so that they can be tested on threads, without an engine. In a program the link
//! is a [`Call`]: one collective call on one communicator, with a tag of its own, so that what an erroneous call leaves
//! behind cannot be taken for a part of the next.

use std::cell::RefCell;

use isthmus_engine::{Entered, Mode, OpId, Outcome, Posting, enter, wait_until};

use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::fail;

/// Bytes to receive.
#[derive(Clone, Copy)]
pub(super) struct Incoming {
    pub from: usize,
    pub into: *mut u8,
    pub len: usize,
}

/// Bytes to send.
#[derive(Clone, Copy)]
pub(super) struct Outgoing {
    pub to: usize,
    pub data: *const u8,
    pub len: usize,
}

/// Ordered messages between the ranks of a collective call.
pub(super) trait Link {
    /// The calling process.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// A message of `got` bytes came from `from` where `expected` were due: the call will fail, but goes on, since others
    /// depend on it.
    fn mismatch(&self, from: usize, got: usize, expected: usize);

    /// Do all of it, in any order; blocks until all is done. Messages to oneself are not allowed.
    ///
    /// # Safety
    /// The regions to receive into must be writable and the others readable for their lengths.
    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()>;

    /// Send one message.
    fn send(&self, to: usize, data: &[u8]) -> Result<()> {
        // SAFETY: the slice is borrowed until the call returns, which is when the transfer is over.
        unsafe { self.transfer(&[], &[outgoing(to, data)]) }
    }

    /// Receive one message.
    fn receive(&self, from: usize, into: &mut [u8]) -> Result<()> {
        // SAFETY: as in `send`.
        unsafe { self.transfer(&[incoming(from, into)], &[]) }
    }

    /// Send one message and receive one, at once.
    fn exchange(&self, to: usize, data: &[u8], from: usize, into: &mut [u8]) -> Result<()> {
        // SAFETY: as in `send`.
        unsafe { self.transfer(&[incoming(from, into)], &[outgoing(to, data)]) }
    }
}

/// A slice to send.
pub(super) fn outgoing(to: usize, data: &[u8]) -> Outgoing {
    Outgoing {
        to,
        data: data.as_ptr(),
        len: data.len(),
    }
}

/// A slice to receive into.
pub(super) fn incoming(from: usize, into: &mut [u8]) -> Incoming {
    Incoming {
        from,
        into: into.as_mut_ptr(),
        len: into.len(),
    }
}

/// One collective call.
pub(super) struct Call<'a> {
    comm: &'a Comm,
    tag: i32,
    /// The first mismatch.
    mismatch: RefCell<Option<Error>>,
}

impl<'a> Call<'a> {
    /// Begin. Even a call whose arguments turn out to be wrong counts, so that this rank stays in step with those whose
    /// arguments are right. Intercommunicators are refused.
    pub fn new(comm: &'a Comm) -> Result<Self> {
        let tag = comm.next_collective();
        if comm.is_inter() {
            return Err(fail!(
                UnsupportedOperation,
                "comm is an intercommunicator, on which collectives do not work yet"
            ));
        }
        Ok(Self {
            comm,
            tag,
            mismatch: RefCell::new(None),
        })
    }

    /// How the call went, all in all.
    pub fn finish(self, result: Result<()>) -> Result<()> {
        result?;
        self.mismatch.into_inner().map_or(Ok(()), Err)
    }

    /// # Safety
    /// The region must be writable until the operation is complete.
    unsafe fn post(&self, inside: &mut Entered, receive: &Incoming) -> Result<OpId> {
        let from = self.comm.peer(receive.from as i32);
        let context = self.comm.collective_context();
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.receive(from, context, Some(self.tag), receive.into, receive.len) }?)
    }

    /// # Safety
    /// The region must be readable until the operation is complete.
    unsafe fn start(&self, inside: &mut Entered, send: &Outgoing) -> Result<Option<OpId>> {
        let to = self.comm.peer(send.to as i32);
        let to = to.ok_or_else(|| fail!(Intern, "a collective sent to rank {}", send.to))?;
        let posting = Posting {
            context: self.comm.collective_context(),
            source: self.comm.rank(),
            tag: self.tag,
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.send(Mode::Standard, to, posting, send.data, send.len) }?)
    }

    /// # Safety
    /// As for [`Link::transfer`]; the operations that were started are in `ops`.
    unsafe fn start_all(&self, receives: &[Incoming], sends: &[Outgoing], ops: &mut [Option<OpId>]) -> Result<()> {
        let (receiving, sending) = ops.split_at_mut(receives.len());
        let mut inside = enter();
        for (op, receive) in receiving.iter_mut().zip(receives) {
            // SAFETY: the caller's promise.
            *op = Some(unsafe { self.post(&mut inside, receive) }?);
        }
        for (op, send) in sending.iter_mut().zip(sends) {
            // SAFETY: the caller's promise.
            *op = unsafe { self.start(&mut inside, send) }?;
        }
        Ok(())
    }
}

impl Link for Call<'_> {
    fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    fn size(&self) -> usize {
        self.comm.size() as usize
    }

    #[cold]
    fn mismatch(&self, from: usize, got: usize, expected: usize) {
        let mut first = self.mismatch.borrow_mut();
        first.get_or_insert_with(|| {
            if got >= expected {
                fail!(
                    Truncate,
                    "rank {from} sent more than the {expected} bytes that this rank expects"
                )
            } else {
                fail!(Count, "rank {from} sent {got} bytes where this rank expects {expected}")
            }
        });
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        const FEW: usize = 8;
        let mut few = [None; FEW];
        let mut many = Vec::new();
        let total = receives.len() + sends.len();
        let ops = if total <= FEW {
            &mut few[..total]
        } else {
            many.resize(total, None);
            &mut many[..]
        };
        // SAFETY: the caller's promise; all that was started is over when this returns.
        let mut result = unsafe { self.start_all(receives, sends, ops) };
        if result.is_err() {
            let mut inside = enter();
            for op in ops.iter().flatten() {
                inside.cancel(*op);
            }
        }
        for (i, op) in ops.iter().enumerate() {
            let Some(op) = *op else { continue };
            let outcome: Outcome = wait_until(|inside| inside.take(op))?;
            if outcome.peer_failed {
                result = result.and(Err(fail!(
                    ProcAborted,
                    "a process of the communicator died in the call"
                )));
            } else if let Some(receive) = receives.get(i) {
                let got = outcome.arrival.bytes as usize;
                if (outcome.truncated || got != receive.len) && !outcome.cancelled {
                    self.mismatch(receive.from, got, receive.len);
                }
            }
        }
        result
    }
}
