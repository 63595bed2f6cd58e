//! Data that is not contiguous: packed before it leaves, unpacked after it has arrived.

use std::sync::Arc;

use isthmus_engine::{Entered, OpId, Outcome};

use super::{Flight, Incoming, Outgoing, received, sent};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::request::{Look, Operation, UserCode, Work};
use crate::status::Status;

/// An empty buffer with room for `bytes`; counts come from users, so there may be none.
fn room(bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    match buffer.try_reserve_exact(bytes) {
        Ok(()) => Ok(buffer),
        Err(_) => Err(fail!(NoMem, "no room to pack {bytes} bytes")),
    }
}

impl Outgoing<'_> {
    /// The message as contiguous bytes.
    ///
    /// # Safety
    /// The buffer must be readable where the layout says.
    #[inline(never)]
    pub(super) unsafe fn copy(&self) -> Result<Vec<u8>> {
        let mut copy = room(self.bytes)?;
        // SAFETY: the caller's promise.
        unsafe {
            match self.layout {
                _ if self.bytes == 0 => {}
                None => copy.extend_from_slice(std::slice::from_raw_parts(self.buf, self.bytes)),
                Some(layout) => layout.pack(self.buf, self.count, &mut copy),
            }
        }
        Ok(copy)
    }

    /// Start to send what [`Self::copy`] made.
    #[inline(never)]
    pub(super) fn begin_copy(&self, inside: &mut Entered, copy: Vec<u8>) -> Result<Flight> {
        let Some(to) = self.to else {
            return Ok(Flight::NONE);
        };
        // SAFETY: the flight owns the copy, and keeps it until the operation is complete.
        let op = unsafe { inside.send(self.mode, to, self.posting, copy.as_ptr(), copy.len()) }?;
        Ok(Flight { op, staging: copy })
    }

    /// Start on behalf of a request.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says until the work is complete.
    #[inline(never)]
    pub(super) unsafe fn start(&self, inside: &mut Entered) -> Result<Work> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.begin(inside) }?.into_send())
    }
}

impl Flight {
    /// The work of a request that sends.
    pub(super) fn into_send(self) -> Work {
        match self.op {
            None => Work::Complete,
            Some(op) if self.staging.capacity() == 0 => Work::Send(op),
            Some(op) => Work::Other(Box::new(Leaving::new(op, self.staging))),
        }
    }
}

impl Incoming<'_> {
    /// Start to receive into a staging buffer.
    #[inline(never)]
    pub(super) fn begin_staged(&self, inside: &mut Entered) -> Result<Flight> {
        let mut staging = room(self.bytes)?;
        // SAFETY: the flight owns the staging buffer, and keeps it until the operation is complete.
        let op = unsafe { self.post(inside, staging.as_mut_ptr()) }?;
        Ok(Flight { op, staging })
    }

    /// Put what has arrived where it belongs.
    ///
    /// # Safety
    /// The buffer must be writable where the layout says. `staging` must be what [`Self::begin_staged`] made, and the
    /// operation complete.
    #[inline(never)]
    pub(super) unsafe fn unpack(&self, layout: &Datatype, staging: &Vec<u8>, outcome: &Outcome) {
        let length = (outcome.arrival.bytes as usize).min(staging.capacity());
        if length == 0 || outcome.cancelled || outcome.peer_failed {
            return;
        }
        // SAFETY: the receive is complete, so that the engine has written that many bytes into the capacity.
        let arrived = unsafe { std::slice::from_raw_parts(staging.as_ptr(), length) };
        // SAFETY: the caller's promise.
        unsafe { layout.unpack(arrived, self.buf, self.count) };
    }
}

impl Incoming<'static> {
    /// Start on behalf of a request.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says until the work is complete.
    #[inline(never)]
    pub(super) unsafe fn start(&self, inside: &mut Entered) -> Result<Work> {
        // SAFETY: the caller's promise.
        Ok(self.into_work(unsafe { self.begin(inside) }?))
    }

    /// The work of a request that receives.
    pub(super) fn into_work(self, flight: Flight) -> Work {
        match (flight.op, self.layout) {
            (None, _) => Work::NoProcess,
            (Some(op), None) => Work::Receive(op),
            (Some(op), Some(_)) => Work::Other(Box::new(Arriving::new(&self, op, flight.staging))),
        }
    }
}

/// An engine operation, and how it ended.
struct Leg {
    op: OpId,
    outcome: Option<Outcome>,
}

impl Leg {
    fn new(op: OpId) -> Self {
        Self { op, outcome: None }
    }

    fn advance(&mut self, inside: &mut Entered) -> Look {
        if self.outcome.is_none() {
            self.outcome = inside.take(self.op);
        }
        match &self.outcome {
            None => Look::at_receive(inside, self.op),
            outcome => Look::at(outcome.as_ref()),
        }
    }

    fn cancel(&self, inside: &mut Entered) {
        if self.outcome.is_none() {
            inside.cancel(self.op);
        }
    }

    fn outcome(&self) -> &Outcome {
        self.outcome.as_ref().expect("asked only of complete operations")
    }
}

/// A send that is more than its [`OpId`].
pub(super) struct Leaving {
    leg: Leg,
    _staging: Vec<u8>,
}

impl Leaving {
    pub(super) fn new(op: OpId, staging: Vec<u8>) -> Self {
        Self {
            leg: Leg::new(op),
            _staging: staging,
        }
    }
}

impl Operation for Leaving {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.leg.advance(inside)
    }

    fn outcome(&mut self) -> Result<Status> {
        sent(self.leg.outcome())
    }

    fn cancel(&mut self, inside: &mut Entered) -> Option<UserCode> {
        self.leg.cancel(inside);
        None
    }
}

/// A receive that is more than its [`OpId`].
pub(super) struct Arriving {
    leg: Leg,
    staging: Vec<u8>,
    incoming: Incoming<'static>,
    /// Lives as long as the operation, whatever becomes of its handle.
    _layout: Option<Arc<Datatype>>,
    unpacked: bool,
}

impl Arriving {
    pub(super) fn new(incoming: &Incoming<'static>, op: OpId, staging: Vec<u8>) -> Self {
        Self {
            leg: Leg::new(op),
            staging,
            incoming: *incoming,
            _layout: incoming.layout.map(Datatype::share),
            unpacked: false,
        }
    }
}

impl Operation for Arriving {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.leg.advance(inside)
    }

    fn outcome(&mut self) -> Result<Status> {
        let outcome = self.leg.outcome();
        if let Some(layout) = self.incoming.layout
            && !self.unpacked
        {
            // SAFETY: the user's buffer is ours until the user has seen the outcome, and the receive is complete.
            unsafe { self.incoming.unpack(layout, &self.staging, outcome) };
            self.unpacked = true;
        }
        received(outcome)
    }

    fn cancel(&mut self, inside: &mut Entered) -> Option<UserCode> {
        self.leg.cancel(inside);
        None
    }

    fn is_owed(&self) -> bool {
        false
    }
}
