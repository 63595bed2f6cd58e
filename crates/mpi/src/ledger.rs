//! What operations under way do with buffers, where programs are checked ([`crate::check`]): a send's buffer stays as it is, a receive's is
//! nobody else's, until the operation is complete (MPI-5.0 §3.7.2, for collectives §6.12, for windows §12.3); and a receive takes elements of
//! the types that were sent (§3.3.1).

pub(crate) mod loans;
mod pieces;
pub(crate) mod types;

pub(crate) use pieces::{List, pieces_of};

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_collective::elements::Elements;
use isthmus_os::switches::Switch;
use smallvec::SmallVec;

use crate::check::{Map, sites};
use crate::completion::of_operation;
use crate::datatype::Type;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::status::Status;
use loans::Loan;
use pieces::{Piece, Pieces, Used};

/// What an operation does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is read.
    Sends,
    /// It is written.
    Receives,
}

/// A buffer that an operation is given.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub does: Use,
    pub buffer: *const c_void,
    pub count: i64,
    pub datatype: &'a Type,
}

impl<'a> Given<'a> {
    #[inline(always)]
    pub fn sends(buffer: *const c_void, count: i64, datatype: &'a Type) -> Self {
        Self {
            does: Use::Sends,
            buffer,
            count,
            datatype,
        }
    }

    #[inline(always)]
    pub fn receives(buffer: *mut c_void, count: i64, datatype: &'a Type) -> Self {
        Self {
            does: Use::Receives,
            buffer,
            count,
            datatype,
        }
    }
}

/// A buffer that an operation has.
pub(crate) struct Held {
    does: Use,
    /// `None`: it is not compared, since it has too many pieces.
    pieces: Option<List>,
    count: i64,
    datatype: Arc<Type>,
    /// Of what is to stay as it is: what is sent, from the beginning; what has been fetched from a window, once it is there.
    sum: Option<u64>,
}

/// Buffers of one operation.
type Buffers = SmallVec<[Held; 2]>;

/// What a request holds.
struct Holder {
    buffers: Buffers,
    /// Is it under way? A persistent one may not be.
    is_active: bool,
    /// Are its buffers partitions, which it gets one by one?
    is_partitioned: bool,
    /// The call that made the request.
    site: usize,
    /// Do [`sites`] know the request, too?
    is_listed: bool,
}

/// All operations under way, and persistent ones.
#[derive(Default)]
struct Ledger {
    /// By request, or by loan.
    holders: Map<u32, Holder>,
    pieces: Pieces,
    /// Of epochs of windows that are open.
    loans: Vec<Loan>,
    /// Loans so far.
    lent: u32,
}

static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);

fn ledger() -> MutexGuard<'static, Option<Ledger>> {
    LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Start an operation on these buffers, which its request holds from now on.
#[inline(always)]
pub(crate) fn hold<const N: usize, Q>(
    buffers: [Given<'_>; N],
    start: impl FnOnce() -> Result<Handle<Q>>,
) -> Result<Handle<Q>> {
    // `start` stands in one place, so that it is compiled as part of the call.
    let claimed = if Switch::Check.is_on() {
        Some(claim(&buffers)?)
    } else {
        None
    };
    let request = sites::kept_if(claimed.is_some(), start)?;
    if let Some(claimed) = claimed {
        hold_claimed(request.raw(), claimed);
    }
    Ok(request)
}

#[cold]
fn claim(buffers: &[Given<'_>]) -> Result<Buffers> {
    let buffers: Buffers = buffers.iter().map(Held::new).collect();
    ledger().get_or_insert_default().claim(&buffers)?;
    Ok(buffers)
}

#[cold]
fn hold_claimed(request: u32, buffers: Buffers) {
    let mut ledger = ledger();
    let ledger = ledger.get_or_insert_default();
    let mut holder = Holder::new(buffers, sites::of(request));
    holder.is_listed = false;
    ledger.begin(&mut holder, request);
    ledger.holders.insert(request, holder);
}

/// Requests that are known here only, each with the place that it is from.
pub(crate) fn left() -> Vec<(u32, usize)> {
    let ledger = ledger();
    let holders = ledger.iter().flat_map(|ledger| &ledger.holders);
    holders
        .filter(|(_, holder)| !holder.is_listed)
        .map(|(request, holder)| (*request, holder.site))
        .collect()
}

/// The place of the call that made a live request; 0: it is not known.
pub(crate) fn site_of<Q>(request: Handle<Q>) -> usize {
    let site = ledger()
        .as_ref()
        .and_then(|ledger| Some(ledger.holders.get(&request.raw())?.site));
    site.unwrap_or_else(|| sites::of(request.raw()))
}

/// The buffers of a collective call, which may have them now: what it sends, and what it receives into.
pub(crate) fn claim_for_collective(buffers: [Option<Held>; 2]) -> Result<Vec<Held>> {
    let mut buffers: Vec<Held> = buffers.into_iter().flatten().collect();
    // In place, what is received into is what was sent. Of a buffer in many pieces it is not known.
    if let [sent, received] = &buffers[..]
        && (received.pieces.is_none() || sent.meets(received))
    {
        buffers.remove(0);
    }
    let mut ledger = ledger();
    ledger.get_or_insert_default().claim(&buffers)?;
    Ok(buffers)
}

/// The request of a collective call has these buffers from now on; of a persistent one, whenever it is active.
pub(crate) fn hold_for_collective<Q>(request: Handle<Q>, buffers: Vec<Held>, is_active: bool) {
    let mut ledger = ledger();
    let ledger = ledger.get_or_insert_default();
    ledger.add(request.raw(), buffers.into());
    if is_active {
        ledger.start(request.raw());
    }
}

/// Make a persistent request of an operation on these buffers, which it holds whenever it is active.
#[inline(always)]
pub(crate) fn keep<const N: usize, Q>(
    buffers: [Given<'_>; N],
    make: impl FnOnce() -> Result<Handle<Q>>,
) -> Result<Handle<Q>> {
    let request = make()?;
    if Switch::Check.is_on() {
        let buffers = buffers.iter().map(Held::new).collect();
        ledger().get_or_insert_default().add(request.raw(), buffers);
    }
    Ok(request)
}

/// The request of a partitioned send, which is active, may send this part of its buffer from now on.
#[cold]
pub(crate) fn hold_part<Q>(request: Handle<Q>, given: &Given<'_>) {
    let mut held = Held::new(given);
    let Some(pieces) = &held.pieces else { return };
    held.sum = pieces::sum(pieces);
    let mut ledger = ledger();
    let ledger = ledger.get_or_insert_default();
    ledger.pieces.add(pieces, Use::Sends, request.raw());
    let holder = ledger.holders.entry(request.raw()).or_insert_with(|| Holder {
        is_active: true,
        is_partitioned: true,
        ..Holder::new(Buffers::new(), sites::of(request.raw()))
    });
    holder.buffers.push(held);
}

/// Run an operation on these buffers that is over when it returns.
#[inline(always)]
pub(crate) fn pass<const N: usize, R>(buffers: [Given<'_>; N], run: impl FnOnce() -> Result<R>) -> Result<R> {
    if Switch::Check.is_on() {
        admit(&buffers)?;
    }
    run()
}

/// As [`pass`], of a receive.
#[inline(always)]
pub(crate) fn pass_received<const N: usize>(
    buffers: [Given<'_>; N],
    run: impl FnOnce() -> Result<Status>,
) -> Result<Status> {
    let is_checked = Switch::Check.is_on();
    if is_checked {
        admit(&buffers)?;
    }
    // In one place, as in [`hold`].
    let status = run()?;
    if is_checked {
        return compare(&buffers, status);
    }
    Ok(status)
}

#[cold]
fn compare(buffers: &[Given<'_>], status: Status) -> Result<Status> {
    match buffers.iter().find(|given| given.does == Use::Receives) {
        Some(into) => types::compare(status, into.count, into.datatype),
        None => Ok(status),
    }
}

#[cold]
fn admit(buffers: &[Given<'_>]) -> Result<()> {
    // Two buffers of one call must be apart, too.
    let is_idle = ledger().as_ref().is_none_or(|ledger| ledger.pieces.is_empty());
    if is_idle && buffers.len() < 2 {
        return Ok(());
    }
    let buffers: Buffers = buffers.iter().map(Held::new).collect();
    ledger().get_or_insert_default().claim(&buffers)
}

/// A persistent request is about to be started.
#[cold]
pub(crate) fn restart<Q>(request: Handle<Q>) -> Result<()> {
    let mut ledger = ledger();
    let Some(ledger) = &mut *ledger else { return Ok(()) };
    let Some(holder) = ledger
        .holders
        .get_mut(&request.raw())
        .filter(|holder| !holder.is_active)
    else {
        return Ok(());
    };
    let buffers = std::mem::take(&mut holder.buffers);
    let claimed = ledger.claim(&buffers);
    if let Some(holder) = ledger.holders.get_mut(&request.raw()) {
        holder.buffers = buffers;
    }
    claimed?;
    ledger.start(request.raw());
    Ok(())
}

/// The request's operation is over; it was `result`. What comes of it, if its buffers are as they should be.
#[cold]
pub(crate) fn end<Q>(request: Handle<Q>, is_gone: bool, result: Result<Status>) -> Result<Status> {
    let mut ledger = ledger();
    let stopped = ledger.as_mut().and_then(|ledger| ledger.stop(request.raw()));
    if is_gone && stopped.as_ref().is_none_or(|(holder, _)| holder.is_listed) {
        sites::gone(request.raw());
    }
    let Some((holder, was_active)) = stopped else {
        return result.map(types::without_types);
    };
    // To wait for a persistent request that is not active is no error.
    let judged = if was_active { holder.judge(result) } else { result };
    if let Some(ledger) = ledger.as_mut().filter(|_| !is_gone && !holder.is_partitioned) {
        ledger.holders.insert(request.raw(), holder);
    }
    judged
}

/// The user has freed the request: what becomes of its buffers is not known any more.
#[cold]
pub(crate) fn forget<Q>(request: Handle<Q>) {
    if let Some(ledger) = &mut *ledger() {
        ledger.stop(request.raw());
    }
}

impl Ledger {
    fn add(&mut self, request: u32, buffers: Buffers) {
        self.holders.insert(request, Holder::new(buffers, sites::of(request)));
    }

    /// May an operation have these buffers now?
    fn claim(&self, buffers: &[Held]) -> Result<()> {
        for (at, held) in buffers.iter().enumerate() {
            let meets = held
                .pieces
                .as_ref()
                .and_then(|pieces| self.pieces.meets(pieces, held.does));
            if let Some((piece, request, theirs)) = meets {
                return Err(self.conflict(held.does, piece, request, theirs));
            }
            let before = &buffers[..at];
            if before.iter().any(|other| held.meets(other)) {
                return Err(fail!(Buffer, "the buffers that are sent and received overlap"));
            }
        }
        Ok(())
    }

    #[cold]
    fn conflict(&self, does: Use, piece: Piece, request: u32, theirs: Used) -> Error {
        let ((start, end), use_there) = theirs;
        let (first, last) = (piece.0.max(start), piece.1.min(end) - 1);
        let site = self.holders.get(&request).map_or(0, |holder| holder.site);
        fail!(
            Buffer,
            "bytes {first:#x} to {last:#x} of the buffer, which is to be {}, are being {} by {}, which is not complete",
            match does {
                Use::Sends => "sent",
                Use::Receives => "received into",
            },
            match use_there {
                Use::Sends => "sent",
                Use::Receives => "received into",
            },
            sites::describe(site)
        )
    }

    /// The request's operation begins.
    fn start(&mut self, request: u32) {
        if let Some(mut holder) = self.holders.remove(&request) {
            self.begin(&mut holder, request);
            self.holders.insert(request, holder);
        }
    }

    fn begin(&mut self, holder: &mut Holder, request: u32) {
        holder.is_active = true;
        for held in &mut holder.buffers {
            if let Some(pieces) = &held.pieces {
                held.sum = match held.does {
                    Use::Sends => pieces::sum(pieces),
                    Use::Receives => None,
                };
                self.pieces.add(pieces, held.does, request);
            }
        }
    }

    /// It ends; what it was, and whether it was active.
    fn stop(&mut self, request: u32) -> Option<(Holder, bool)> {
        let mut holder = self.holders.remove(&request)?;
        self.loans.retain(|loan| loan.number != request);
        let was_active = std::mem::take(&mut holder.is_active);
        if was_active {
            for pieces in holder.buffers.iter().filter_map(|held| held.pieces.as_ref()) {
                self.pieces.remove(pieces, request);
            }
        }
        Some((holder, was_active))
    }
}

impl Held {
    fn new(given: &Given<'_>) -> Self {
        Self {
            does: given.does,
            pieces: pieces::of(given),
            count: given.count,
            datatype: given.datatype.share(),
            sum: None,
        }
    }

    /// What elements of several blocks are, as one buffer; `None`: there is no block.
    pub fn joined<'a>(does: Use, blocks: impl Iterator<Item = Elements<'a>> + Clone) -> Option<Self> {
        let given = |elements: Elements<'a>| Given {
            does,
            buffer: elements.address.cast_const().cast(),
            count: elements.count,
            datatype: elements.datatype,
        };
        let datatype = blocks.clone().next()?.datatype.share();
        let pieces = pieces::of_all(blocks.map(given));
        let bytes: u64 = pieces.iter().flatten().map(|(start, end)| end - start).sum();
        Some(Self {
            does,
            pieces,
            count: bytes as i64 / datatype.size().max(1),
            datatype,
            sum: None,
        })
    }

    /// Do they share bytes of which some are written?
    fn meets(&self, other: &Self) -> bool {
        let (Some(ours), Some(theirs)) = (&self.pieces, &other.pieces) else {
            return false;
        };
        let is_read = self.does == Use::Sends && other.does == Use::Sends;
        !is_read && pieces::common(ours, theirs).is_some()
    }
}

impl Holder {
    fn new(buffers: Buffers, site: usize) -> Self {
        Self {
            buffers,
            is_active: false,
            is_partitioned: false,
            site,
            is_listed: true,
        }
    }

    fn judge(&self, result: Result<Status>) -> Result<Status> {
        let into = self.buffers.iter().find(|held| held.does == Use::Receives);
        let status = match into {
            Some(into) => types::compare(result?, into.count, &into.datatype)?,
            None => types::without_types(result?),
        };
        match self.changed() {
            Some(held) => {
                let error = fail!(
                    Buffer,
                    "the program has changed the buffer of {} elements of {} that {} sends, before the request was complete",
                    held.count,
                    held.datatype.label(),
                    sites::describe(self.site)
                );
                Err(of_operation(error, status))
            }
            None => Ok(status),
        }
    }

    /// A buffer that was to stay as it is, and has not.
    fn changed(&self) -> Option<&Held> {
        self.buffers.iter().find(|held| {
            let is_changed = |sum| {
                held.pieces
                    .as_deref()
                    .and_then(pieces::sum)
                    .is_some_and(|now| now != sum)
            };
            held.sum.is_some_and(is_changed)
        })
    }
}
