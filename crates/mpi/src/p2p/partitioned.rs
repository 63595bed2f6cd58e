//! Partitioned communication (MPI-5.0 §4.2): the user says piece by piece when a message may leave.
//!
//! The message leaves as a whole when its last partition is ready. Which send belongs to which receive is settled by the
//! order of the `init` calls with equal tags, not by the order in which they are started: each send opens a channel,
//! and announces it when it is made; the receiver pairs announcements and receives in order. All of this travels on the
//! collective context with negative tags, where nothing else does.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};

use isthmus_engine::{ContextId, Entered, Guarded, Mode, Peer, Posting, enter, fault_events};

use super::staging::{Arriving, Leaving};
use super::{Incoming, Outgoing, Source, buffered};
use crate::comm::Comm;
use crate::constants::ANY_TAG;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::info::Info;
use crate::request::{self, Look, Operation, REQUEST_NULL, Request, Work, prepare_again, with_work};
use crate::status::Status;
use crate::{fail, liveness};

/// The tag of announcements; the messages of channel `n` have the tag `FIRST_CHANNEL - n`.
const ANNOUNCEMENT: i32 = -1;
const FIRST_CHANNEL: i32 = -2;
/// No channel yet.
const UNKNOWN: i32 = 0;

/// What arrives from one process on one communicator.
#[derive(Default)]
struct Lane {
    /// (the user's tag, the channel's) of sends whose receive has not been made.
    announced: Vec<(i32, i32)>,
    /// The user's tag, and where to write the channel's, of receives whose send has not been heard of. Those that were
    /// freed still stand for their send.
    waiting: Vec<(i32, Weak<AtomicI32>)>,
}

struct Partitioned {
    /// Tags for channels, counting down.
    next: i32,
    lanes: Option<HashMap<(ContextId, Peer), Lane>>,
}

static PARTITIONED: Guarded<Partitioned> = Guarded::new(Partitioned {
    next: FIRST_CHANNEL,
    lanes: None,
});

impl Partitioned {
    fn lane(&mut self, context: ContextId, from: Peer) -> &mut Lane {
        self.lanes.get_or_insert_default().entry((context, from)).or_default()
    }
}

impl Lane {
    /// A send has been announced.
    fn announce(&mut self, tag: i32, channel: i32) {
        match self.waiting.iter().position(|waiting| waiting.0 == tag) {
            None => self.announced.push((tag, channel)),
            Some(at) => {
                if let Some(place) = self.waiting.remove(at).1.upgrade() {
                    place.store(channel, Ordering::Relaxed);
                }
            }
        }
    }

    /// A receive has been made.
    fn expect(&mut self, tag: i32, place: &Arc<AtomicI32>) {
        match self.announced.iter().position(|announced| announced.0 == tag) {
            None => self.waiting.push((tag, Arc::downgrade(place))),
            Some(at) => place.store(self.announced.remove(at).1, Ordering::Relaxed),
        }
    }
}

/// Take in the announcements that have arrived.
fn listen(inside: &mut Entered, context: ContextId, from: Peer) -> Result<()> {
    while inside.probe(Some(from), context, Some(ANNOUNCEMENT)).is_some() {
        let mut words = [0u8; 8];
        // SAFETY: the buffer outlives the operation, which is complete when the loop ends: so short a message travels
        // in one piece, and it is here.
        let op = unsafe { inside.receive(Some(from), context, Some(ANNOUNCEMENT), words.as_mut_ptr(), words.len()) }?;
        while inside.take(op).is_none() {
            inside.progress();
        }
        let [tag, channel] =
            [0, 4].map(|at| i32::from_ne_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]));
        PARTITIONED.get(inside).lane(context, from).announce(tag, channel);
    }
    Ok(())
}

/// A communicator goes, and its channels with it.
pub(crate) fn forget_channels(context: ContextId) {
    let mut inside = enter();
    if let Some(lanes) = &mut PARTITIONED.get(&mut inside).lanes {
        lanes.retain(|(of, _), _| *of != context);
    }
}

/// Elements of all partitions.
fn whole(partitions: i32, count: i64) -> Result<i64> {
    if partitions < 0 {
        return Err(fail!(Arg, "partitions={partitions} is negative"));
    }
    let all = count.checked_mul(partitions.into());
    all.ok_or_else(|| {
        fail!(
            Count,
            "partitions={partitions} of count={count} elements exceed 64 bits"
        )
    })
}

/// `MPI_Psend_init`.
///
/// # Safety
/// `buf` must be readable where `partitions * count` elements of `datatype` say, whenever the request is active.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn psend_init(
    buf: *const c_void,
    partitions: i32,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
    _info: Option<&Info>,
) -> Result<Handle<Request>> {
    let count = whole(partitions, count)?;
    let mut outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, tag, comm)?
        .watched(count, datatype)
        .buffered();
    let mut inside = enter();
    let channel = PARTITIONED.get(&mut inside).next;
    PARTITIONED.get(&mut inside).next = channel.checked_sub(1).unwrap_or(FIRST_CHANNEL);
    outgoing.posting = Posting {
        context: comm.collective_context(),
        source: comm.rank(),
        tag: channel,
    };
    let sending = Sending {
        outgoing,
        ready: vec![false; partitions as usize],
        missing: partitions,
        leaving: None,
        _datatype: datatype.share_object(),
    };
    let request = prepare_again(&mut inside, comm, sending)?;
    if let Some(to) = outgoing.to {
        let words = [tag, channel].map(i32::to_ne_bytes).concat();
        let posting = Posting {
            tag: ANNOUNCEMENT,
            ..outgoing.posting
        };
        if let Err(error) = buffered::send_for_library(&mut inside, to, posting, words) {
            drop(inside);
            request::request_free(request)?;
            return Err(error);
        }
    }
    Ok(request)
}

/// `MPI_Precv_init`.
///
/// # Safety
/// `buf` must be writable where `partitions * count` elements of `datatype` say, whenever the request is active.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn precv_init(
    buf: *mut c_void,
    partitions: i32,
    count: i64,
    datatype: &'static Datatype,
    source: i32,
    tag: i32,
    comm: &'static Comm,
    _info: Option<&Info>,
) -> Result<Handle<Request>> {
    let count = whole(partitions, count)?;
    let mut incoming = Incoming::check(buf, count, datatype, source, tag, comm)?;
    incoming.context = comm.collective_context();
    if tag == ANY_TAG {
        return Err(fail!(Tag, "tag=MPI_ANY_TAG in partitioned communication"));
    }
    let from = match incoming.from {
        Source::Peer(peer) => Some(peer),
        Source::Nobody => None,
        Source::Any | Source::Matched(_) => {
            return Err(fail!(Rank, "source=MPI_ANY_SOURCE in partitioned communication"));
        }
    };
    let channel = Arc::new(AtomicI32::new(UNKNOWN));
    let mut inside = enter();
    if let Some(from) = from {
        PARTITIONED
            .get(&mut inside)
            .lane(incoming.context, from)
            .expect(tag, &channel);
    }
    let receiving = Receiving {
        incoming,
        from,
        user_tag: tag,
        partitions,
        channel,
        arriving: None,
        failed: None,
        _datatype: datatype.share_object(),
    };
    prepare_again(&mut inside, comm, receiving)
}

/// A partitioned send.
struct Sending {
    outgoing: Outgoing<'static>,
    /// By partition.
    ready: Vec<bool>,
    /// Partitions that are not ready.
    missing: i32,
    /// Once all are: the message on its way.
    leaving: Option<Option<Leaving>>,
    /// Keeps the layout alive.
    _datatype: Arc<Datatype>,
}

impl Sending {
    fn mark(&mut self, inside: &mut Entered, partition: i32) -> Result<()> {
        let partitions = self.ready.len();
        match usize::try_from(partition).ok().and_then(|at| self.ready.get_mut(at)) {
            None => Err(fail!(Arg, "partition={partition}, but there are {partitions}")),
            Some(true) => Err(fail!(Arg, "partition={partition} is ready already")),
            Some(ready) => {
                *ready = true;
                self.missing -= 1;
                if self.missing == 0 { self.depart(inside) } else { Ok(()) }
            }
        }
    }

    fn depart(&mut self, inside: &mut Entered) -> Result<()> {
        // SAFETY: the user keeps the buffer while the request is active.
        let flight = unsafe { self.outgoing.begin(inside) }?;
        self.leaving = Some(flight.op.map(|op| Leaving::new(op, flight.kept)));
        Ok(())
    }
}

impl Operation for Sending {
    fn restart(&mut self, inside: &mut Entered) -> Result<()> {
        self.ready.fill(false);
        self.missing = self.ready.len() as i32;
        self.leaving = None;
        if self.missing == 0 { self.depart(inside) } else { Ok(()) }
    }

    fn advance(&mut self, inside: &mut Entered) -> Look {
        match &mut self.leaving {
            None => Look::Pending,
            Some(None) => Look::Complete,
            Some(Some(leaving)) => leaving.advance(inside),
        }
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        match self.leaving.as_mut()? {
            None => Some(Status::SENT),
            Some(leaving) => leaving.take_well(inside),
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        match &mut self.leaving {
            Some(Some(leaving)) => leaving.outcome(),
            _ => Ok(Status::SENT),
        }
    }

    fn is_binding(&self) -> bool {
        true
    }

    /// What was never ready never leaves.
    fn is_owed(&self) -> bool {
        self.leaving.is_some()
    }
}

/// A partitioned receive.
struct Receiving {
    incoming: Incoming<'static>,
    /// `None`: from `MPI_PROC_NULL`.
    from: Option<Peer>,
    user_tag: i32,
    partitions: i32,
    channel: Arc<AtomicI32>,
    /// Once the channel is known.
    arriving: Option<Arriving>,
    failed: Option<Error>,
    /// Keeps the layout alive.
    _datatype: Arc<Datatype>,
}

impl Receiving {
    /// Post the receive once it is known which channel to listen to.
    fn post(&mut self, inside: &mut Entered, from: Peer) -> Result<()> {
        if self.channel.load(Ordering::Relaxed) == UNKNOWN {
            listen(inside, self.incoming.context, from)?;
        }
        let channel = self.channel.load(Ordering::Relaxed);
        if channel != UNKNOWN {
            self.incoming.tag = Some(channel);
            // SAFETY: the user keeps the buffer while the request is active.
            let flight = unsafe { self.incoming.begin(inside) }?;
            self.arriving = flight.op.map(|op| Arriving::new(op, flight.kept));
        }
        Ok(())
    }
}

impl Operation for Receiving {
    fn restart(&mut self, inside: &mut Entered) -> Result<()> {
        self.arriving = None;
        self.failed = None;
        self.advance(inside);
        Ok(())
    }

    fn advance(&mut self, inside: &mut Entered) -> Look {
        let Some(from) = self.from else {
            return Look::Complete;
        };
        if self.arriving.is_none()
            && self.failed.is_none()
            && let Err(error) = self.post(inside, from)
        {
            self.failed = Some(error);
        }
        if self.arriving.is_none() && fault_events() > 0 && inside.has_failed(from) {
            self.failed = Some(liveness::failed(from));
        }
        match &mut self.arriving {
            _ if self.failed.as_ref().is_some_and(Error::is_failure) => Look::PeerFailed,
            _ if self.failed.is_some() => Look::Complete,
            None => Look::Pending,
            Some(arriving) => arriving.advance(inside),
        }
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        let tag = self.user_tag;
        match &mut self.arriving {
            Some(arriving) if self.failed.is_none() => {
                arriving.take_well(inside).map(|status| Status { tag, ..status })
            }
            _ => None,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match &mut self.arriving {
            None => Ok(Status::NO_PROCESS),
            Some(arriving) => Ok(Status {
                tag: self.user_tag,
                ..arriving.outcome()?
            }),
        }
    }

    /// The sender waits until the receive is posted, whatever this process waits for meanwhile.
    fn is_autonomous(&self) -> bool {
        self.from.is_some() && self.arriving.is_none() && self.failed.is_none()
    }

    fn is_binding(&self) -> bool {
        true
    }

    fn is_owed(&self) -> bool {
        false
    }
}

/// The active operation of type `T` that a request stands for.
fn active<T: Operation>(work: &mut Work) -> Option<&mut T> {
    let Work::Persistent(persistent) = work else {
        return None;
    };
    let Some(Work::Other(operation)) = &mut persistent.current else {
        return None;
    };
    let any: &mut dyn Any = &mut **operation;
    any.downcast_mut()
}

fn mark(request: Handle<Request>, partitions: impl Iterator<Item = i32>) -> Result<()> {
    with_work(&mut enter(), request, |work, inside| match active::<Sending>(work) {
        Some(sending) => partitions
            .into_iter()
            .try_for_each(|partition| sending.mark(inside, partition)),
        None => Err(fail!(Request, "request={request:?} is no active partitioned send")),
    })?
}

/// `MPI_Pready`: a partition may leave.
pub fn pready(partition: i32, request: Handle<Request>) -> Result<()> {
    mark(request, std::iter::once(partition))
}

/// `MPI_Pready_range`: those from `partition_low` to `partition_high`, both included, may leave.
pub fn pready_range(partition_low: i32, partition_high: i32, request: Handle<Request>) -> Result<()> {
    if partition_low > partition_high {
        return Err(fail!(
            Arg,
            "partition_low={partition_low} is above partition_high={partition_high}"
        ));
    }
    mark(request, partition_low..=partition_high)
}

/// `MPI_Pready_list`: these may leave.
pub fn pready_list(array_of_partitions: &[i32], request: Handle<Request>) -> Result<()> {
    mark(request, array_of_partitions.iter().copied())
}

/// `MPI_Parrived`: has a partition arrived? They arrive together. True if the request is not active.
pub fn parrived(request: Handle<Request>, partition: i32) -> Result<bool> {
    if request == REQUEST_NULL {
        return Ok(true);
    }
    let mut inside = enter();
    inside.poll();
    with_work(&mut inside, request, |work, inside| {
        if let Work::Persistent(persistent) = work
            && persistent.current.is_none()
        {
            return Ok(true);
        }
        let Some(receiving) = active::<Receiving>(work) else {
            return Err(fail!(Request, "request={request:?} is no partitioned receive"));
        };
        if partition < 0 || partition >= receiving.partitions {
            return Err(fail!(
                Arg,
                "partition={partition}, but there are {}",
                receiving.partitions
            ));
        }
        if receiving.advance(inside) == Look::Pending {
            return Ok(false);
        }
        // What is not contiguous is unpacked here. A failure is for the call that completes the request.
        let _ = receiving.outcome();
        Ok(true)
    })?
}
