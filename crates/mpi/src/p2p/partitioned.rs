//! Partitioned communication (MPI-5.0 §4.2): the user says piece by piece when a message may leave.
//!
//! Partitions leave in groups, each of which is a message of its own when all of it is ready (`groups`). Which send belongs to which receive is settled by the
//! order of the `init` calls with equal tags, not by the order in which they are started: each send opens a channel,
//! and announces it when it is made; the receiver pairs announcements and receives in order. All of this travels on the
//! collective context with negative tags, where nothing else does.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};

use isthmus_engine::{Cause, ContextId, Entered, Guarded, Mode, Peer, Posting, enter, fault_events};
use isthmus_os::switches::Switch;

use super::staging::{Arriving, Leaving};
use super::{Incoming, Outgoing, Source, buffered};
use crate::comm::Comm;
use crate::constants::ANY_TAG;
use crate::datatype::Datatype;
use crate::error::{Error, Result, room};
use crate::handle::Handle;
use crate::info::Info;
use crate::ledger::{self, Given};
use crate::request::{self, Look, Operation, REQUEST_NULL, Request, Work, prepare_again, try_now, with_work};
use crate::status::Status;
use crate::{fail, liveness};

mod groups;

use groups::Groups;

/// The tag of announcements; channels have those below, one for each of their groups.
const ANNOUNCEMENT: i32 = -1;
const FIRST_CHANNEL: i32 = -2;

/// What a send is announced by.
#[derive(Debug, Clone, Copy)]
struct Channel {
    /// Of its first group; the next ones have the tags below.
    tag: i32,
    groups: Groups,
}

/// What arrives from one process on one communicator.
#[derive(Default)]
struct Lane {
    /// The user's tag, and the channel, of sends whose receive has not been made.
    announced: Vec<(i32, Channel)>,
    /// The user's tag, and where to write the channel, of receives whose send has not been heard of. Those that were
    /// freed still stand for their send.
    waiting: Vec<(i32, Weak<OnceLock<Channel>>)>,
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
    fn announce(&mut self, tag: i32, channel: Channel) {
        match self.waiting.iter().position(|waiting| waiting.0 == tag) {
            None => self.announced.push((tag, channel)),
            Some(at) => {
                if let Some(place) = self.waiting.remove(at).1.upgrade() {
                    // Each receive waits for one send.
                    let _ = place.set(channel);
                }
            }
        }
    }

    /// A receive has been made.
    fn expect(&mut self, tag: i32, place: &Arc<OnceLock<Channel>>) {
        match self.announced.iter().position(|announced| announced.0 == tag) {
            None => self.waiting.push((tag, Arc::downgrade(place))),
            // It is new.
            Some(at) => drop(place.set(self.announced.remove(at).1)),
        }
    }
}

/// Take in the announcements that have arrived.
fn listen(inside: &mut Entered, context: ContextId, from: Peer) -> Result<()> {
    while inside.probe(Some(from), context, Some(ANNOUNCEMENT)).is_some() {
        let mut words = [0u8; 8 * 4];
        // SAFETY: the buffer outlives the operation, which is complete when the loop ends: so short a message travels
        // in one piece, and it is here.
        let op = unsafe { inside.receive(Some(from), context, Some(ANNOUNCEMENT), words.as_mut_ptr(), words.len()) }?;
        while inside.take(op).is_none() {
            inside.progress();
        }
        let mut numbers = words.as_chunks().0.iter().map(|number| i64::from_ne_bytes(*number));
        let mut next = || numbers.next().unwrap_or(0);
        let (user_tag, tag) = (next() as i32, next() as i32);
        let groups = Groups {
            // What a peer says is looked at: no partition is negative.
            partitions: (next() as i32).max(0),
            bytes: next().max(0),
        };
        let channel = Channel { tag, groups };
        PARTITIONED.get(inside).lane(context, from).announce(user_tag, channel);
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
    let all = whole(partitions, count)?;
    let mut outgoing = Outgoing::check(Mode::Standard, buf, all, datatype, dest, tag, comm)?
        .watched(all, datatype)
        .buffered();
    let groups = Groups {
        partitions,
        bytes: datatype.bytes(count)?,
    };
    let mut inside = enter();
    let tags = groups.count() as i32;
    let next = &mut PARTITIONED.get(&mut inside).next;
    let channel = if next.checked_sub(tags).is_some() {
        *next
    } else {
        FIRST_CHANNEL
    };
    *next = channel - tags;
    outgoing.posting = Posting {
        context: comm.collective_context(),
        source: comm.rank(),
        tag: channel,
    };
    let mut ready = room(partitions as usize, "partitions")?;
    ready.resize(partitions as usize, false);
    let sending = Sending {
        outgoing,
        groups,
        ready,
        parts: (0..groups.count()).map(|_| PartitionGroup::Missing(0)).collect(),
        count,
        datatype: datatype.share_object(),
    };
    let request = prepare_again(&mut inside, comm, sending)?;
    if let Some(to) = outgoing.to {
        let numbers = [tag.into(), channel.into(), partitions.into(), groups.bytes];
        let words = numbers.map(i64::to_ne_bytes).concat();
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
        Source::Any | Source::Matched(_) | Source::NoMessage => {
            return Err(fail!(Rank, "source=MPI_ANY_SOURCE in partitioned communication"));
        }
    };
    let channel = Arc::new(OnceLock::new());
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
    groups: Groups,
    /// By partition.
    ready: Vec<bool>,
    /// By group: how far it is.
    parts: Vec<PartitionGroup>,
    /// Elements of a partition.
    count: i64,
    datatype: Arc<Datatype>,
}

/// A group of a partitioned send.
enum PartitionGroup {
    /// So many of its partitions are not ready.
    Missing(i32),
    /// On its way; `None`: its buffer may be reused.
    Leaving(Option<Leaving>),
}

impl Sending {
    /// A partition, as the checking mode wants it.
    fn given(&self, partition: i32) -> Given<'_> {
        let distance = i64::from(partition) * self.count * self.datatype.extent();
        let first = self.outgoing.buf.wrapping_offset(distance as isize);
        Given::sends(first.cast(), self.count, &self.datatype)
    }

    fn mark(&mut self, inside: &mut Entered, partition: i32) -> Result<()> {
        let partitions = self.ready.len();
        let at = usize::try_from(partition).ok().filter(|at| *at < partitions);
        let at = at.ok_or_else(|| fail!(Arg, "partition={partition}, but there are {partitions}"))?;
        if std::mem::replace(&mut self.ready[at], true) {
            return Err(fail!(Arg, "partition={partition} is ready already"));
        }
        let group = self.groups.of(at);
        match &mut self.parts[group] {
            PartitionGroup::Missing(missing @ 2..) => {
                *missing -= 1;
                Ok(())
            }
            _ => self.start_send(inside, group),
        }
    }

    fn start_send(&mut self, inside: &mut Entered, group: usize) -> Result<()> {
        let mut part = self.outgoing;
        part.posting.tag -= group as i32;
        // SAFETY: the user keeps the buffer while the request is active.
        let started = unsafe { part.begin_part(inside, self.groups.range(group)) }?;
        self.parts[group] = PartitionGroup::Leaving(started.op.map(|op| Leaving::new(op, started.kept)));
        Ok(())
    }
}

impl Operation for Sending {
    fn restart(&mut self, inside: &mut Entered) -> Result<()> {
        liveness::check_revoked(inside, self.outgoing.posting.context)?;
        self.ready.fill(false);
        for (group, part) in self.parts.iter_mut().enumerate() {
            *part = PartitionGroup::Missing(self.groups.partitions_of(group));
        }
        Ok(())
    }

    fn advance(&mut self, inside: &mut Entered) -> Look {
        all(self.parts.iter_mut().map(|part| match part {
            PartitionGroup::Missing(_) => Look::Pending,
            PartitionGroup::Leaving(None) => Look::Complete,
            PartitionGroup::Leaving(Some(leaving)) => leaving.advance(inside),
        }))
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        match &mut self.parts[..] {
            [PartitionGroup::Leaving(Some(only))] => only.take_well(inside),
            _ => None,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        for part in &mut self.parts {
            if let PartitionGroup::Leaving(Some(leaving)) = part {
                leaving.outcome()?;
            }
        }
        Ok(Status::SENT)
    }

    fn is_not_cancellable(&self) -> bool {
        true
    }

    /// A partition that was never ready is never sent.
    fn blocks_finalize(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, PartitionGroup::Leaving(_)))
    }
}

/// How far all of several are: as far as the one that is least.
fn all(looks: impl Iterator<Item = Look>) -> Look {
    // Each is looked at, so that each moves on.
    looks.fold(Look::Complete, |all, look| match (all, look) {
        (Look::Pending, _) | (_, Look::Pending | Look::Disturbed) => Look::Pending,
        (Look::PeerFailed, _) => Look::PeerFailed,
        (_, look) => look,
    })
}

/// A partitioned receive.
struct Receiving {
    incoming: Incoming<'static>,
    /// `None`: from `MPI_PROC_NULL`.
    from: Option<Peer>,
    user_tag: i32,
    partitions: i32,
    channel: Arc<OnceLock<Channel>>,
    /// Once the channel is known: the groups that the sender makes.
    arriving: Option<Vec<Arriving>>,
    failed: Option<Error>,
    /// Keeps the layout alive.
    _datatype: Arc<Datatype>,
}

impl Receiving {
    /// Post the receives once it is known which channel to listen to.
    fn post(&mut self, inside: &mut Entered, from: Peer) -> Result<()> {
        if self.channel.get().is_none() {
            listen(inside, self.incoming.context, from)?;
        }
        let Some(Channel { tag, groups }) = self.channel.get().copied() else {
            return Ok(());
        };
        let arriving = self.arriving.insert(Vec::with_capacity(groups.count()));
        for group in 0..groups.count() {
            self.incoming.tag = Some(tag.wrapping_sub(group as i32));
            let range = groups.range(group);
            let here = range.start.min(self.incoming.bytes)..range.end.min(self.incoming.bytes);
            // SAFETY: the user keeps the buffer while the request is active.
            let started = unsafe { self.incoming.begin_part(inside, here) };
            match started {
                Ok(started) => arriving.extend(started.op.map(|op| Arriving::new(op, started.kept))),
                Err(error) => {
                    for posted in arriving {
                        posted.cancel(inside);
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Has all of this partition arrived, or failed to?
    fn has_arrived(&mut self, inside: &mut Entered, partition: usize) -> bool {
        if self.advance(inside) != Look::Pending {
            return true;
        }
        let (Some(Channel { groups, .. }), Some(arriving)) = (self.channel.get(), &mut self.arriving) else {
            return false;
        };
        let each = self.incoming.bytes / self.partitions as usize;
        let wanted = groups.that_hold(partition * each..(partition + 1) * each);
        let parts = arriving.get_mut(wanted).unwrap_or_default();
        all(parts.iter_mut().map(|part| part.advance(inside))) != Look::Pending
    }
}

impl Operation for Receiving {
    fn restart(&mut self, inside: &mut Entered) -> Result<()> {
        liveness::check_revoked(inside, self.incoming.context)?;
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
        if self.arriving.is_none() && self.failed.is_none() && fault_events() > 0 {
            let gone = inside.has_failed(from).then(|| liveness::failed(from));
            self.failed = gone.or_else(|| liveness::check_revoked(inside, self.incoming.context).err());
        }
        match &mut self.arriving {
            _ if self.failed.as_ref().is_some_and(Error::is_failure) => Look::PeerFailed,
            _ if self.failed.is_some() => Look::Complete,
            None => {
                let messages = self.incoming.context.0 & !1;
                inside.waits_for(Cause::Receives(Some(from.0), Some(self.user_tag), messages));
                Look::Pending
            }
            Some(arriving) => all(arriving.iter_mut().map(|part| part.advance(inside))),
        }
    }

    fn take_well(&mut self, inside: &mut Entered) -> Option<Status> {
        let tag = self.user_tag;
        match self.arriving.as_deref_mut() {
            Some([only]) if self.failed.is_none() => only.take_well(inside).map(|status| Status { tag, ..status }),
            _ => None,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.from.is_none() {
            return Ok(Status::NO_PROCESS);
        }
        let mut whole = None;
        for part in self.arriving.iter_mut().flatten() {
            let status = part.outcome()?;
            let before = whole.map_or(0, |before: Status| before.bytes);
            whole = Some(Status {
                tag: self.user_tag,
                bytes: before + status.bytes,
                ..status
            });
        }
        Ok(whole.unwrap_or(Status::EMPTY))
    }

    /// The sender waits until the receive is posted, whatever this process waits for meanwhile.
    fn is_autonomous(&self) -> bool {
        self.from.is_some() && self.arriving.is_none() && self.failed.is_none()
    }

    fn is_not_cancellable(&self) -> bool {
        true
    }

    fn blocks_finalize(&self) -> bool {
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
        Some(sending) => partitions.into_iter().try_for_each(|partition| {
            sending.mark(inside, partition)?;
            if Switch::Check.is_on() {
                ledger::hold_part(request, &sending.given(partition));
            }
            Ok(())
        }),
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

/// `MPI_Parrived`: has a partition arrived? It does with those of its group. True if the request is not active.
pub fn parrived(request: Handle<Request>, partition: i32) -> Result<bool> {
    if request == REQUEST_NULL {
        return Ok(true);
    }
    let look = |work: &mut Work, inside: &mut Entered| {
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
        // A failure is for the call that completes the request.
        Ok(receiving.has_arrived(inside, partition as usize))
    };
    let arrived = try_now(&mut enter(), |inside| {
        match with_work(inside, request, look).and_then(|arrived| arrived) {
            Ok(false) => None,
            arrived => Some(arrived),
        }
    });
    arrived.unwrap_or(Ok(false))
}
