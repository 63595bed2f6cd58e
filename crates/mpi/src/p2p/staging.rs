//! Data that is not contiguous. The engine packs and unpacks it piece by piece, and is told here which bytes those are;
//! a copy of the whole is made only where the user may touch the buffer before it has left.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use isthmus_engine::layout::Layout;
use isthmus_engine::{Entered, OpId, Outcome, Scattered, enter};
use isthmus_mem::{Kind, Scratch};

use super::{Incoming, Outgoing, Source, Started, await_anybody, await_receive, await_send};
use crate::completion::{received, sent};
use crate::datatype::Datatype;
use crate::device;
use crate::error::{Error, Result};
use crate::fail;
use crate::liveness::check_revoked;
use crate::request::{Look, Operation, Plain, UserCode, Work};
use crate::status::Status;

/// Elements in the user's buffer, whose datatype is borrowed or shared.
pub(super) struct Elements<D> {
    buf: *mut u8,
    count: i64,
    datatype: D,
    /// Of a part of them: bytes before it, counted as if all were packed.
    before: Option<i64>,
    /// Are they in memory of a device?
    on_device: bool,
    /// The first copy to or from the device that went wrong.
    failure: OnceLock<Error>,
    /// Their packed form in memory of the same device, once a receiver is to copy it.
    packed: OnceLock<Option<Scratch>>,
}

/// Elements that may outlive the handle of their datatype.
pub(super) type Lasting = Elements<Arc<Datatype>>;

// SAFETY: the memory is the user's, and followed only from inside the engine while an operation is pending; MPI lets any
// thread complete it.
unsafe impl<D: Send> Send for Elements<D> {}
// SAFETY: as above.
unsafe impl<D: Sync> Sync for Elements<D> {}

impl<D: Deref<Target = Datatype>> fmt::Debug for Elements<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {:?}", self.count, self.datatype.label(), self.buf)
    }
}

impl<D> Elements<D> {
    fn new(buf: *mut u8, count: i64, datatype: D, on_device: bool) -> Self {
        Self {
            buf,
            count,
            datatype,
            before: None,
            on_device,
            failure: OnceLock::new(),
            packed: OnceLock::new(),
        }
    }

    /// Has everything been copied that had to be?
    pub(super) fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Where bytes of the message lie among those of all elements.
    fn in_all(&self, range: Range<usize>) -> (i64, i64) {
        let before = self.before.unwrap_or(0);
        (before + range.start as i64, before + range.end as i64)
    }
}

impl Lasting {
    /// These bytes of `count` elements at `buf`, counted as if all were packed.
    fn part(buf: *mut u8, count: i64, datatype: &Datatype, bytes: &Range<usize>, on_device: bool) -> Self {
        let (start, length, size) = (bytes.start as i64, bytes.len() as i64, datatype.size().max(1));
        let shared = datatype.share_object();
        if start % size == 0 && length % size == 0 {
            let skipped = (start / size).wrapping_mul(datatype.extent());
            return Self::new(buf.wrapping_offset(skipped as isize), length / size, shared, on_device);
        }
        Self {
            before: Some(start),
            ..Self::new(buf, count, shared, on_device)
        }
    }
}

impl<D: Deref<Target = Datatype> + Sync> Scattered for Elements<D> {
    unsafe fn pack(&self, range: Range<usize>, to: *mut u8) {
        if self.on_device {
            // SAFETY: the caller's promise.
            return unsafe { self.pack_from_device(range, to) };
        }
        let (start, end) = self.in_all(range);
        // SAFETY: the caller's promise: the operation is pending, so that the user keeps the buffer.
        unsafe { self.datatype.pack_range(self.buf, self.count, start, end, to) }
    }

    unsafe fn unpack(&self, range: Range<usize>, from: *const u8) {
        if self.on_device {
            // SAFETY: as above.
            return unsafe { self.unpack_to_device(range, from) };
        }
        let (start, end) = self.in_all(range);
        // SAFETY: as above.
        unsafe { self.datatype.unpack_range(from, self.buf, self.count, start, end) }
    }

    fn with_layout(&self, f: &mut dyn FnMut(&Layout<'_>)) -> bool {
        self.has_layout() && self.datatype.with_spans(self.buf, self.count, f)
    }

    fn has_layout(&self) -> bool {
        !self.on_device && self.before.is_none() && self.datatype.has_spans(self.count)
    }

    fn is_on_device(&self) -> bool {
        self.on_device
    }

    fn device_row(&self, sends: bool) -> Option<*mut u8> {
        if !self.on_device {
            return None;
        }
        if self.datatype.is_contiguous() {
            let before = self.before.unwrap_or(0) as usize;
            return Some(self.buf.wrapping_add(before));
        }
        if sends { self.packed_on_device() } else { None }
    }
}

impl<D: Deref<Target = Datatype>> Elements<D> {
    /// The packed form of elements that are sent, beside them on the device. `None`: there is no room, or they are a part that begins within an element.
    #[cold]
    fn packed_on_device(&self) -> Option<*mut u8> {
        let pack = || {
            let first = self.buf.wrapping_offset(self.datatype.true_lb() as isize);
            let Ok(Kind::Device(device)) = isthmus_mem::kind_of(first) else {
                return None;
            };
            let bytes = u64::try_from(self.datatype.bytes(self.count).ok()?).ok()?;
            let scratch = Scratch::on(device, bytes as usize).ok()?;
            // SAFETY: the operation is pending, so that the user keeps the buffer; there is room.
            let packed = unsafe { device::pack(&self.datatype, self.buf, self.count, 0..bytes, scratch.start()) };
            packed.is_ok().then_some(scratch)
        };
        if self.before.is_some() {
            return None;
        }
        self.packed.get_or_init(pack).as_ref().map(Scratch::start)
    }

    /// # Safety
    /// As for [`Scattered::pack`].
    #[cold]
    unsafe fn pack_from_device(&self, range: Range<usize>, to: *mut u8) {
        let length = range.len();
        let (start, end) = self.in_all(range);
        // SAFETY: the caller's promise: the operation is pending, so that the user keeps the buffer.
        let packed = unsafe { device::pack(&self.datatype, self.buf, self.count, start as u64..end as u64, to) };
        if let Err(error) = packed {
            // Bytes that were there before do not leave this process.
            // SAFETY: the caller's promise.
            unsafe { to.write_bytes(0, length) };
            let _ = self.failure.set(device::failed(&error));
        }
    }

    /// # Safety
    /// As for [`Scattered::unpack`].
    #[cold]
    unsafe fn unpack_to_device(&self, range: Range<usize>, from: *const u8) {
        let (start, end) = self.in_all(range);
        // SAFETY: as above.
        let unpacked = unsafe { device::unpack(&self.datatype, self.buf, self.count, start as u64..end as u64, from) };
        if let Err(error) = unpacked {
            let _ = self.failure.set(device::failed(&error));
        }
    }
}

/// What must stay until a transfer is over, beside the user's buffer.
#[derive(Default)]
pub(super) enum Kept {
    /// Nothing.
    #[default]
    Nothing,
    /// The message itself.
    Copy(Vec<u8>),
    /// Where it lies.
    Elements(Arc<Lasting>),
}

impl Kept {
    /// Has everything been copied that had to be?
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Elements(elements) => elements.check(),
            Self::Nothing | Self::Copy(_) => Ok(()),
        }
    }

    /// The copy, if it is one.
    pub fn into_copy(self) -> Vec<u8> {
        match self {
            Self::Copy(copy) => copy,
            _ => Vec::new(),
        }
    }
}

impl<'a> Outgoing<'a> {
    fn elements(&self, datatype: &'a Datatype) -> Elements<&'a Datatype> {
        Elements::new(self.buf.cast_mut(), self.count, datatype, self.on_device)
    }

    /// Send elements that lie here and there, and wait until the buffer may be reused.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says.
    #[inline(never)]
    pub(super) unsafe fn deliver_elements(&self, datatype: &'a Datatype) -> Result<()> {
        let elements = self.elements(datatype);
        let mut inside = enter();
        // SAFETY: the caller's promise; the operation is complete when this returns.
        match unsafe { self.post_elements(&mut inside, &elements) }? {
            None => Ok(()),
            Some(op) => await_send(&mut inside, op),
        }?;
        elements.check()
    }

    /// The message as contiguous bytes.
    ///
    /// # Safety
    /// The buffer must be readable where the layout says.
    #[inline(never)]
    pub(super) unsafe fn copy(&self) -> Result<Vec<u8>> {
        let mut copy = Vec::new();
        // Counts come from users, so there may be no room.
        if copy.try_reserve_exact(self.bytes).is_err() {
            return Err(fail!(NoMem, "no room to pack {} bytes", self.bytes));
        }
        if self.on_device {
            copy.resize(self.bytes, 0);
            if let Some(datatype) = self.layout {
                let elements = self.elements(datatype);
                // SAFETY: the caller's promise; there is room.
                unsafe { elements.pack(0..self.bytes, copy.as_mut_ptr()) };
                elements.check()?;
            }
            return Ok(copy);
        }
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
    pub(super) fn begin_copy(&self, inside: &mut Entered, copy: Vec<u8>) -> Result<Started> {
        let Some(to) = self.to else {
            return check_revoked(inside, self.posting.context).map(|()| Started::NONE);
        };
        // SAFETY: the transfer owns the copy, and keeps it until the operation is complete.
        let op = unsafe { inside.send(self.mode, to, self.posting, copy.as_ptr(), copy.len()) }?;
        let kept = Kept::Copy(copy);
        Ok(Started { op, kept })
    }

    /// Start to send elements that lie here and there.
    ///
    /// # Safety
    /// The buffer must be readable where the layout says until the transfer is over.
    #[inline(never)]
    pub(super) unsafe fn begin_packing(&self, inside: &mut Entered, datatype: &Datatype) -> Result<Started> {
        let (buf, shared) = (self.buf.cast_mut(), datatype.share_object());
        let lasting = Elements::new(buf, self.count, shared, self.on_device);
        // SAFETY: the transfer keeps the elements, and the caller the buffer, until the operation is complete.
        Started::keeping(lasting, |elements| unsafe { self.post_elements(inside, elements) })
    }

    /// Start to send these bytes of the message.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says until the started is over.
    pub(super) unsafe fn begin_part(&self, inside: &mut Entered, bytes: Range<usize>) -> Result<Started> {
        let mut part = *self;
        part.bytes = bytes.len();
        let Some(datatype) = self.layout else {
            part.buf = self.buf.wrapping_add(bytes.start);
            // SAFETY: the caller's promise.
            return unsafe { part.begin(inside) };
        };
        let lasting = Elements::part(self.buf.cast_mut(), self.count, datatype, &bytes, self.on_device);
        // SAFETY: the started keeps the elements, and the caller the buffer, until the operation is complete.
        Started::keeping(lasting, |elements| unsafe { part.post_elements(inside, elements) })
    }

    /// `None`: the buffer may be reused already.
    ///
    /// # Safety
    /// The elements must stay where they are, and the buffer readable, until the operation is complete.
    pub(super) unsafe fn post_elements(&self, inside: &mut Entered, elements: &impl Scattered) -> Result<Option<OpId>> {
        match self.to {
            // SAFETY: the caller's promise.
            Some(to) => Ok(unsafe { inside.send_scattered(self.mode, to, self.posting, elements, self.bytes) }?),
            None => check_revoked(inside, self.posting.context).map(|()| None),
        }
    }

    /// Start on behalf of a request.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says until the work is complete.
    #[inline(never)]
    pub(super) unsafe fn start(&self, inside: &mut Entered) -> Result<Work> {
        if self.layout.is_none() {
            // SAFETY: the caller's promise.
            let op = unsafe { self.post(inside) }?;
            return Ok(op.map_or(Work::Complete, |op| Work::Plain(Plain::Send(op))));
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { self.begin(inside) }?.into_send())
    }
}

impl Started {
    /// What `post` starts on elements, which are kept until it is over.
    fn keeping(lasting: Lasting, post: impl FnOnce(&Lasting) -> Result<Option<OpId>>) -> Result<Self> {
        let lasting = Arc::new(lasting);
        let op = post(&lasting)?;
        let kept = Kept::Elements(lasting);
        Ok(Self { op, kept })
    }

    /// The work of a request that sends.
    pub(super) fn into_send(self) -> Work {
        match (self.op, self.kept) {
            (None, _) => Work::Complete,
            (Some(op), Kept::Nothing) => Work::Plain(Plain::Send(op)),
            (Some(op), kept) => Work::Other(Box::new(Leaving::new(op, kept))),
        }
    }

    /// The work of a request that receives.
    pub(super) fn into_receive(self) -> Work {
        match (self.op, self.kept) {
            (None, _) => Work::NoProcess,
            (Some(op), Kept::Nothing) => Work::Plain(Plain::Receive(op)),
            (Some(op), kept) => Work::Other(Box::new(Arriving::new(op, kept))),
        }
    }
}

impl<'a> Incoming<'a> {
    /// Receive elements that belong here and there, and wait for them.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says.
    #[inline(never)]
    pub(super) unsafe fn accept_elements(&self, datatype: &'a Datatype) -> Result<Status> {
        let elements = Elements::new(self.buf, self.count, datatype, self.on_device);
        let mut inside = enter();
        // SAFETY: the caller's promise; the operation is complete when this returns.
        let status = match unsafe { self.post_elements(&mut inside, &elements) }? {
            None => Ok(Status::NO_PROCESS),
            Some(op) if self.from == Source::Any => await_anybody(&mut inside, op),
            Some(op) => await_receive(&mut inside, op),
        }?;
        elements.check().map(|()| status)
    }

    /// Start to receive elements that belong here and there.
    ///
    /// # Safety
    /// The buffer must be writable where the layout says until the transfer is over.
    #[inline(never)]
    pub(super) unsafe fn begin_unpacking(&self, inside: &mut Entered, datatype: &Datatype) -> Result<Started> {
        let lasting = Elements::new(self.buf, self.count, datatype.share_object(), self.on_device);
        // SAFETY: the transfer keeps the elements, and the caller the buffer, until the operation is complete.
        Started::keeping(lasting, |elements| unsafe { self.post_elements(inside, elements) })
    }

    /// Start to receive what belongs to these bytes of the whole.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says until the started is over.
    pub(super) unsafe fn begin_part(&self, inside: &mut Entered, bytes: Range<usize>) -> Result<Started> {
        let mut part = *self;
        part.bytes = bytes.len();
        let Some(datatype) = self.layout else {
            part.buf = self.buf.wrapping_add(bytes.start);
            // SAFETY: the caller's promise.
            return unsafe { part.begin(inside) };
        };
        let lasting = Elements::part(self.buf, self.count, datatype, &bytes, self.on_device);
        // SAFETY: the started keeps the elements, and the caller the buffer, until the operation is complete.
        Started::keeping(lasting, |elements| unsafe { part.post_elements(inside, elements) })
    }

    /// `None`: there is nothing to wait for.
    ///
    /// # Safety
    /// The elements must stay where they are, and the buffer writable, until the operation is complete.
    pub(super) unsafe fn post_elements(&self, inside: &mut Entered, elements: &impl Scattered) -> Result<Option<OpId>> {
        let from = match self.from {
            Source::Peer(peer) => Some(peer),
            Source::Any => None,
            Source::Nobody => return check_revoked(inside, self.context).map(|()| None),
            Source::NoMessage => return Ok(None),
            // SAFETY: the caller's promise.
            Source::Matched(message) => unsafe {
                return Ok(Some(inside.receive_matched_scattered(message, elements, self.bytes)?));
            },
        };
        // SAFETY: the caller's promise.
        Ok(Some(unsafe {
            inside.receive_scattered(from, self.context, self.tag, elements, self.bytes)
        }?))
    }
}

impl Incoming<'_> {
    /// Start on behalf of a request.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says until the work is complete.
    #[inline(never)]
    pub(super) unsafe fn start(&self, inside: &mut Entered) -> Result<Work> {
        if self.layout.is_none() {
            // SAFETY: the caller's promise.
            let op = unsafe { self.post(inside, self.buf) }?;
            self.advertise(inside, op);
            return Ok(op.map_or(Work::NoProcess, |op| Work::Plain(Plain::Receive(op))));
        }
        // SAFETY: the caller's promise.
        let started = unsafe { self.begin(inside) }?;
        self.advertise(inside, started.op);
        Ok(started.into_receive())
    }
}

/// An engine operation, and how it ended.
struct Leg {
    op: OpId,
    outcome: Option<Outcome>,
    /// Until it has.
    kept: Kept,
}

impl Leg {
    fn new(op: OpId, kept: Kept) -> Self {
        Self {
            op,
            outcome: None,
            kept,
        }
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

    /// If it is complete and went well: how.
    fn take_well<'a>(&'a mut self, inside: &'a mut Entered) -> Option<&'a Outcome> {
        match &self.outcome {
            None => inside.take_well(self.op),
            Some(outcome) => (!(outcome.truncated | outcome.peer_failed)).then_some(outcome),
        }
        .filter(|_| self.kept.check().is_ok())
    }

    fn cancel(&self, inside: &mut Entered) {
        if self.outcome.is_none() {
            inside.cancel(self.op);
        }
    }

    fn outcome(&self) -> Result<&Outcome> {
        self.kept.check()?;
        Ok(self.outcome.as_ref().expect("asked only of complete operations"))
    }
}

/// A send that is more than its [`OpId`].
pub(super) struct Leaving(Leg);

impl Leaving {
    pub(super) fn new(op: OpId, kept: Kept) -> Self {
        Self(Leg::new(op, kept))
    }
}

impl Operation for Leaving {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.0.advance(inside)
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        self.0.take_well(inside).map(|_| Status::SENT)
    }

    fn outcome(&mut self) -> Result<Status> {
        sent(self.0.outcome()?)
    }

    fn cancel(&mut self, inside: &mut Entered) -> Option<UserCode> {
        self.0.cancel(inside);
        None
    }
}

/// A receive that is more than its [`OpId`].
pub(super) struct Arriving(Leg);

impl Arriving {
    pub(super) fn new(op: OpId, kept: Kept) -> Self {
        Self(Leg::new(op, kept))
    }
}

impl Operation for Arriving {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.0.advance(inside)
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        self.0.take_well(inside).map(Status::from)
    }

    fn outcome(&mut self) -> Result<Status> {
        received(self.0.outcome()?)
    }

    fn cancel(&mut self, inside: &mut Entered) -> Option<UserCode> {
        self.0.cancel(inside);
        None
    }

    fn blocks_finalize(&self) -> bool {
        false
    }
}
