//! What an algorithm sees of a communicator: ranks, bytes between them, and work on bytes.
//!
//! On an intercommunicator an algorithm sees its own group, so that those for intracommunicators serve there too; the
//! ranks of the other group follow ([`Link::across`]).
//!
//! Algorithms are generic over [`Link`], so that one text serves every form of a collective. A [`Call`] does what it is
//! asked for at once, blocking: one collective call on one communicator, with a tag of its own, so that what an erroneous
//! call leaves behind cannot be taken for a part of the next. A [`Recorder`](crate::schedule::Recorder) notes it down, to
//! be done step by step later. Tests run algorithms on threads, without an engine.

use std::cell::Cell;
use std::mem::MaybeUninit;

use isthmus_engine::{Entered, Mode, OpId, Outcome, Peer, Posting, enter, fault_events};

use crate::elements::Elements;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::operand::Operand;
use crate::shared::{self, Access};
use crate::team::Team;
use crate::{fail, failure};

/// Bytes to receive. `from` is a rank, or what [`Link::across`] says.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// Whom they come from.
    pub from: usize,
    /// Where they belong.
    pub into: *mut u8,
    /// How many.
    pub len: usize,
}

/// Bytes to send. `to` is a rank, or what [`Link::across`] says.
#[derive(Clone, Copy)]
pub struct Outgoing {
    /// Whom they go to.
    pub to: usize,
    /// Where they lie.
    pub data: *const u8,
    /// How many.
    pub len: usize,
}

/// Ordered messages between the ranks of a collective call, and what happens to their bytes in between.
///
/// What is asked for happens in that order, but perhaps only after the algorithm has returned. So an algorithm decides by
/// ranks, counts and types, never by data; it looks at no bytes itself; and memory of its own comes from
/// [`Link::memory`].
pub trait Link {
    /// The calling process's rank in its group.
    fn rank(&self) -> usize;

    /// Number of processes in its group.
    fn size(&self) -> usize;

    /// Number of processes in the other group of an intercommunicator, else 0.
    fn remote_size(&self) -> usize;

    /// Where messages to and from a rank of the other group go.
    fn across(&self, rank: usize) -> usize {
        self.size() + rank
    }

    /// The processes that blocks are for: the others of the group, or those of the other group if there is one. The rank of
    /// each, and where messages to and from it go.
    fn peers(&self) -> impl Iterator<Item = (usize, usize)> + use<Self>
    where
        Self: Sized,
    {
        let (rank, size, remote) = (self.rank(), self.size(), self.remote_size());
        let (first, last) = if remote > 0 { (size, size + remote) } else { (0, size) };
        (first..last)
            .filter(move |place| *place != rank)
            .map(move |place| (place - first, place))
    }

    /// The call will fail with this error, but goes on, since others depend on it. The first one counts.
    fn fault(&self, error: Error);

    /// A message of `got` bytes came from `from` where `expected` were due.
    fn mismatch(&self, from: usize, got: usize, expected: usize) {
        self.fault(mismatched(from, self.size(), got, expected));
    }

    /// The memory that all ranks share, if there is any, and it may be used now.
    #[inline]
    fn shared(&self) -> Option<&Access<'_>> {
        None
    }

    /// The memory that the ranks of the calling one's node share, of several nodes.
    fn shared_in_node(&self) -> Option<&Access<'_>> {
        None
    }

    /// Where the ranks are, if all of them know that of all.
    fn layout(&self) -> Option<&Layout> {
        None
    }

    /// [`Self::layout`], where the choice of an algorithm has made sure of it.
    ///
    /// # Panics
    /// Never where an algorithm that needs one has been chosen.
    fn map(&self) -> &Layout {
        self.layout()
            .expect("algorithms that need places are chosen where they are known")
    }

    /// [`Self::shared`], where the choice of an algorithm has made sure of it.
    ///
    /// # Panics
    /// Never where an algorithm that needs a board has been chosen.
    #[inline]
    fn board(&self) -> &Access<'_> {
        self.shared()
            .expect("algorithms that need a board are chosen where there is one")
    }

    /// Do all of it, in any order, before anything that is asked for later. Messages to oneself are not allowed.
    ///
    /// # Safety
    /// The regions to receive into must be writable and the others readable for their lengths.
    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()>;

    /// Write the packed form of elements.
    ///
    /// # Safety
    /// The elements must be readable and `to` writable for as many bytes; they must not overlap.
    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { from.pack(to) }
    }

    /// Take elements from their packed form, which has `len` bytes.
    ///
    /// # Safety
    /// `from` must be readable and the elements writable; they must not overlap.
    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        // SAFETY: the caller's promise.
        unsafe { to.unpack(from, len) }
    }

    /// `inout[i] = left[i] op inout[i]`.
    ///
    /// # Safety
    /// Both must hold `count` elements, and not overlap.
    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        unsafe { operand.combine(left, inout, count) };
    }

    /// Memory that can be used until it is dropped.
    fn memory(&self, len: usize) -> Result<Memory<'_>> {
        Memory::allocate(len)
    }
}

/// Memory for what an algorithm keeps in between. Holds nothing at first.
pub struct Memory<'a> {
    bytes: Vec<MaybeUninit<u8>>,
    /// Who gets it in the end, because what was asked for has not happened yet.
    heir: Option<&'a Pool>,
}

/// Memory that is kept.
pub type Pool = Cell<Vec<Vec<MaybeUninit<u8>>>>;

impl<'a> Memory<'a> {
    /// Memory for `len` bytes, or an error.
    pub fn allocate(len: usize) -> Result<Self> {
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(len)
            .map_err(|_| fail!(NoMem, "no memory for {len} bytes of intermediate results"))?;
        bytes.resize(len, MaybeUninit::uninit());
        Ok(Self { bytes, heir: None })
    }

    /// Memory for `len` bytes that goes back to `pool`, and comes from there if there is enough: what used it before will
    /// have happened by then.
    pub fn from_pool(len: usize, pool: &'a Pool) -> Result<Self> {
        let mut spare = pool.take();
        let found = spare.iter().position(|bytes| bytes.len() >= len);
        let reused = found.map(|at| spare.swap_remove(at));
        pool.set(spare);
        let mut memory = match reused {
            Some(bytes) => Self { bytes, heir: None },
            None => Self::allocate(len)?,
        };
        memory.heir = Some(pool);
        Ok(memory)
    }

    /// Its address.
    pub fn start(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().cast()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Drop for Memory<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(pool) = self.heir {
            let mut spare = pool.take();
            spare.push(std::mem::take(&mut self.bytes));
            pool.set(spare);
        }
    }
}

/// One collective call.
pub struct Call<'a> {
    lane: Lane<'a>,
    /// The first one. Boxed, since calls are handed about, and have none.
    fault: Cell<Option<Box<Error>>>,
    access: Option<Access<'a>>,
    /// Has it come to its end, well or not?
    is_over: Cell<bool>,
}

impl<'a> Call<'a> {
    /// Begin. Even a call whose arguments turn out to be wrong counts, so that this rank stays in step with those whose
    /// arguments are right.
    #[inline]
    pub fn new(team: &'a Team) -> Result<Self> {
        let mut call = Self {
            lane: Lane::new(team, team.next_collective()),
            fault: Cell::new(None),
            access: None,
            is_over: Cell::new(false),
        };
        call.access = shared::begin(team, &call)?;
        // Whether it is given up shows where it waits: if ranks are checked to call the same, that says more.
        team.check_whole(&mut enter())?;
        Ok(call)
    }

    /// How the call went, all in all.
    #[inline]
    pub fn finish(&self, result: Result<()>) -> Result<()> {
        self.is_over.set(true);
        let result = result.and_then(|()| self.access.as_ref().map_or(Ok(()), Access::settle));
        if result.is_err() {
            self.lane.fail(&mut enter());
        }
        result?;
        let of_board = || self.access.as_ref().and_then(Access::take_fault);
        let fault = self.fault.take().map(|fault| *fault);
        fault.or_else(of_board).map_or(Ok(()), Err)
    }
}

impl Drop for Call<'_> {
    /// Its arguments were refused, and others wait for this rank's part: on a board its mark tells them, elsewhere this does.
    #[inline]
    fn drop(&mut self) {
        if !self.is_over.get() {
            self.lane.fail(&mut enter());
        }
    }
}

/// A call that is given up unless it is launched.
pub struct Launching<'a> {
    lane: Lane<'a>,
    is_launched: Cell<bool>,
}

impl<'a> Launching<'a> {
    /// The call whose messages cross there.
    pub fn new(lane: Lane<'a>) -> Self {
        Self {
            lane,
            is_launched: Cell::new(false),
        }
    }

    /// It tells by itself from now on.
    pub fn launched(&self) {
        self.is_launched.set(true);
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        if !self.is_launched.get() {
            self.lane.fail(&mut enter());
        }
    }
}

/// Where the messages of one call cross: collective calls on `team`, told apart by `tag`.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    /// Between whom.
    pub team: &'a Team,
    /// Which call.
    pub tag: i32,
}

impl<'a> Lane<'a> {
    /// The lane of a new call.
    #[inline]
    pub fn new(team: &'a Team, tag: i32) -> Self {
        if fault_events() > 0 {
            // It was that of other calls, which may have been given up.
            enter().forget_failed_call(team.collective_context(), Team::opposite(tag));
        }
        Self { team, tag }
    }

    /// Fails if a member has failed, the communicator is revoked, or a member has given up the call.
    #[inline]
    pub fn check(self, inside: &mut Entered) -> Result<()> {
        self.team.check_call(inside, self.tag)
    }

    /// The calling process cannot do its part: tell the others, if that was not done.
    #[cold]
    pub fn fail(self, inside: &mut Entered) {
        self.team.fail_call(inside, self.tag);
    }

    /// A rank of the communicator's group, or of the other one behind it.
    fn peer(self, rank: usize) -> Option<Peer> {
        self.team.peer_at(rank)
    }

    /// # Safety
    /// The region must be writable until the operation is complete.
    unsafe fn post(self, inside: &mut Entered, receive: &Incoming) -> Result<OpId> {
        let from = self.peer(receive.from);
        let context = self.team.collective_context();
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.receive(from, context, Some(self.tag), receive.into, receive.len) }?)
    }

    /// # Safety
    /// The region must be readable until the operation is complete.
    unsafe fn start(self, inside: &mut Entered, send: &Outgoing) -> Result<Option<OpId>> {
        let to = self.peer(send.to);
        let to = to.ok_or_else(|| fail!(Intern, "a collective sent to rank {}", send.to))?;
        let posting = Posting {
            context: self.team.collective_context(),
            source: self.team.rank(),
            tag: self.tag,
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.send(Mode::Standard, to, posting, send.data, send.len) }?)
    }

    /// Start to receive and send; the operations come to `ops` in that order. If it fails, what was started is withdrawn
    /// where that can be; it must be waited for nonetheless.
    ///
    /// # Safety
    /// As for [`Link::transfer`], until the operations are complete.
    pub unsafe fn start_all(
        self,
        inside: &mut Entered,
        receives: &[Incoming],
        sends: &[Outgoing],
        ops: &mut [Option<OpId>],
    ) -> Result<()> {
        let (receiving, sending) = ops.split_at_mut(receives.len());
        let mut started = || {
            for (op, receive) in receiving.iter_mut().zip(receives) {
                // SAFETY: the caller's promise.
                *op = Some(unsafe { self.post(inside, receive) }?);
            }
            for (op, send) in sending.iter_mut().zip(sends) {
                // SAFETY: the caller's promise.
                *op = unsafe { self.start(inside, send) }?;
            }
            Ok(())
        };
        let result = started();
        if result.is_err() {
            for op in ops.iter().flatten() {
                inside.cancel(*op);
            }
        }
        result
    }
}

/// What the end of an operation means for the call; `receive` is what it was to receive, if anything. A message of the
/// wrong length is told to `mismatch`; what did not come of it reads as zeros.
pub fn check(outcome: &Outcome, receive: Option<&Incoming>, mismatch: impl FnOnce(usize, usize, usize)) -> Result<()> {
    if outcome.peer_failed {
        return Err(failure::error_of(
            outcome,
            "a process of the communicator died in the call",
        ));
    }
    if let Some(receive) = receive {
        let got = outcome.arrival.bytes as usize;
        if (outcome.truncated || got != receive.len) && !outcome.cancelled {
            if got < receive.len {
                // SAFETY: the region was given to be written to, and the operation is complete.
                unsafe { receive.into.add(got).write_bytes(0, receive.len - got) };
            }
            mismatch(receive.from, got, receive.len);
        }
    }
    Ok(())
}

/// The error of a message of the wrong length; `size` is that of the calling process's group.
#[cold]
pub fn mismatched(from: usize, size: usize, got: usize, expected: usize) -> Error {
    let whose = if from < size { "" } else { " of the other group" };
    let from = from.checked_sub(size).unwrap_or(from);
    if got >= expected {
        fail!(
            Truncate,
            "rank {from}{whose} sent more than the {expected} bytes that this rank expects"
        )
    } else {
        fail!(
            Count,
            "rank {from}{whose} sent {got} bytes where this rank expects {expected}"
        )
    }
}

impl Link for Call<'_> {
    fn rank(&self) -> usize {
        self.lane.team.rank() as usize
    }

    fn size(&self) -> usize {
        self.lane.team.size() as usize
    }

    fn remote_size(&self) -> usize {
        self.lane.team.remote_size() as usize
    }

    #[inline]
    fn shared(&self) -> Option<&Access<'_>> {
        self.access.as_ref().filter(|access| !access.is_of_node())
    }

    fn shared_in_node(&self) -> Option<&Access<'_>> {
        self.access.as_ref().filter(|access| access.is_of_node())
    }

    #[inline]
    fn layout(&self) -> Option<&Layout> {
        let team = self.lane.team;
        team.shared.layout(team)
    }

    #[cold]
    fn fault(&self, error: Error) {
        let first = self.fault.take();
        self.fault.set(Some(first.unwrap_or_else(|| Box::new(error))));
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
        let lane = self.lane;
        let mut inside = enter();
        // SAFETY: the caller's promise; all that was started is over when this returns.
        let started = unsafe { lane.start_all(&mut inside, receives, sends, ops) };
        let check_outcome = |i, outcome: &Outcome| {
            check(outcome, receives.get(i), |from, got, expected| {
                self.mismatch(from, got, expected);
            })
        };
        let team = lane.team;
        let settled = team.settle_while(&mut inside, ops, |inside| lane.check(inside), check_outcome);
        started.and(settled)
    }
}
