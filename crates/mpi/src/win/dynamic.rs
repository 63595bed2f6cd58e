//! Windows whose memory comes and goes (MPI-5.0 §12.2.4). Each member keeps a directory of what it has attached, in memory that all
//! of its node map; an origin copies it, and looks again when its sequence number has changed. Origins on other nodes ask for it.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use isthmus_engine::enter;
use isthmus_engine::rma::{self, Atomicity, RegionKey, Target};

use super::Win;
use super::control::MemberPart;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::fail;

/// What a member has attached, as we have copied it.
type Copied = (u32, Vec<Arc<Target>>);

/// Attached memory.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    own: Mutex<Directory>,
    others: RwLock<HashMap<usize, Copied>>,
}

#[derive(Debug, Default)]
struct Directory {
    entries: Vec<RegionKey>,
    /// Regions over several entries each that lie one behind the other, as long as possible: an access may reach across them.
    runs: Vec<RegionKey>,
    /// The latest former runs: an access that began before the directory changed may still name them.
    former: VecDeque<RegionKey>,
    /// Where the shared copy lies, and for how many entries there is room.
    offset: u64,
    room: usize,
}

/// How many former runs are kept.
const FORMER: usize = 64;

const ENTRY: usize = size_of::<RegionKey>();

fn bytes(entries: usize) -> u64 {
    (entries * ENTRY) as u64
}

/// `MPI_Win_attach`: from now on others may access these bytes by their addresses.
pub fn win_attach(win: &Win, base: *mut c_void, size: i64) -> Result<()> {
    let attachments = win.attachments("MPI_Win_attach")?;
    let length = u64::try_from(size).map_err(|_| fail!(Size, "size={size} is negative"))?;
    let start = base.addr() as u64;
    if start.checked_add(length).is_none() || (base.is_null() && length > 0) {
        return Err(fail!(RmaAttach, "base={base:p}, size={size}: no such memory"));
    }
    let mut own = attachments.own.lock().unwrap_or_else(PoisonError::into_inner);
    let overlaps = |key: &RegionKey| start < key.base() + key.length() && key.base() < start + length;
    if let Some(other) = own.entries.iter().find(|key| overlaps(key)) {
        return Err(fail!(
            RmaAttach,
            "base={base:p}, size={size} overlaps {} bytes at {:#x} that are attached already",
            other.length(),
            other.base()
        ));
    }
    let key = expose(start, start + length)?;
    let run = own.run_with(&key)?;
    own.entries.push(key);
    own.runs.extend(run);
    own.show(win).inspect_err(|_| {
        own.entries.pop();
        own.runs.retain(|other| Some(*other) != run);
        run.into_iter().chain([key]).for_each(rma::deregister);
    })?;
    if let Some(run) = run {
        own.retire(|other| is_within(other, &run) && *other != run);
    }
    Ok(())
}

/// The bytes from `start` to `end`, for others. Entries and runs overlap, so one rule makes elements of all of them atomic.
fn expose(start: u64, end: u64) -> Result<RegionKey> {
    let base = with_exposed_provenance_mut(start as usize);
    Ok(rma::register_as(base, end - start, Atomicity::Locked)?.key())
}

fn end(key: &RegionKey) -> u64 {
    key.base() + key.length()
}

fn is_within(key: &RegionKey, other: &RegionKey) -> bool {
    other.base() <= key.base() && end(key) <= end(other)
}

/// `MPI_Win_detach`: what begins at `base` may not be accessed any more.
pub fn win_detach(win: &Win, base: *const c_void) -> Result<()> {
    let attachments = win.attachments("MPI_Win_detach")?;
    let mut own = attachments.own.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = own.entries.iter().rposition(|key| key.base() == base.addr() as u64) else {
        return Err(fail!(
            RmaAttach,
            "base={base:p} is not the beginning of memory that is attached"
        ));
    };
    let gone = own.entries.remove(at);
    let rest = own.runs_without(&gone).inspect_err(|_| own.entries.insert(at, gone))?;
    own.retire(|run| is_within(&gone, run));
    own.runs.extend(rest);
    own.show(win)?;
    rma::deregister(gone);
    Ok(())
}

impl Attachments {
    /// The window is freed: nobody accesses what is still attached, or looks into the directory.
    pub fn deregister(&self) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let Directory {
            entries,
            runs,
            former,
            offset,
            room,
        } = std::mem::take(&mut *own);
        let keys = entries.into_iter().chain(runs).chain(former);
        keys.for_each(rma::deregister);
        if room > 0 {
            rma::give_shared(offset, bytes(room));
        }
    }
}

impl Directory {
    /// The run that a new entry makes with those before and behind it, if there are any.
    fn run_with(&self, new: &RegionKey) -> Result<Option<RegionKey>> {
        // Allocations of a device are mapped each by itself.
        if new.is_on_device() {
            return Ok(None);
        }
        let joins = |key: &&RegionKey| key.length() > 0 && !key.is_on_device();
        let known = || self.runs.iter().chain(&self.entries).filter(joins);
        let start = known()
            .find(|key| end(key) == new.base())
            .map_or(new.base(), RegionKey::base);
        let stop = known().find(|key| key.base() == end(new)).map_or(end(new), end);
        let is_longer = new.length() > 0 && stop - start > new.length();
        is_longer.then(|| expose(start, stop)).transpose()
    }

    /// The runs that remain, before and behind it, of the one in which an entry lay that is gone.
    fn runs_without(&self, gone: &RegionKey) -> Result<Vec<RegionKey>> {
        let Some(run) = self.runs.iter().find(|run| gone.length() > 0 && is_within(gone, run)) else {
            return Ok(Vec::new());
        };
        let mut rest = Vec::new();
        for (start, stop) in [(run.base(), gone.base()), (end(gone), end(run))] {
            let is_one = |key: &RegionKey| (key.base(), end(key)) == (start, stop);
            if start < stop && !self.entries.iter().any(is_one) {
                rest.push(expose(start, stop)?);
            }
        }
        Ok(rest)
    }

    /// These are runs no more.
    fn retire(&mut self, is_former: impl Fn(&RegionKey) -> bool) {
        self.former.extend(self.runs.extract_if(.., |run| is_former(run)));
        while self.former.len() > FORMER {
            self.former.pop_front().into_iter().for_each(rma::deregister);
        }
    }

    /// Tell the others.
    fn show(&mut self, win: &Win) -> Result<()> {
        let part = &win.own.part;
        let shown = self.entries.len() + self.runs.len();
        let mut old = None;
        if shown > self.room {
            let room = shown.next_power_of_two().max(8);
            let offset = rma::take_shared(bytes(room))
                .map_err(|error| fail!(RmaAttach, "no memory for the directory of what is attached: {error}"))?;
            old = Some((self.offset, self.room)).filter(|(_, room)| *room > 0);
            (self.offset, self.room) = (offset, room);
        }
        let sequence = part.sequence().load(Ordering::Relaxed);
        part.sequence().store(sequence.wrapping_add(1), Ordering::Relaxed);
        // SYNC: window-directory
        fence(Ordering::Release);
        if let Some(first) = rma::shared_at(self.offset, bytes(self.room)).filter(|_| self.room > 0) {
            for (index, key) in self.entries.iter().chain(&self.runs).enumerate() {
                // SAFETY: there is room for it; a concurrent reader notices by the sequence number.
                unsafe { first.as_ptr().cast::<RegionKey>().add(index).write_volatile(*key) };
            }
        }
        part.directory().store(self.offset, Ordering::Relaxed);
        part.attached().store(shown as u32, Ordering::Relaxed);
        // SYNC: window-directory
        part.sequence().store(sequence.wrapping_add(2), Ordering::Release);
        if let Some((offset, room)) = old {
            rma::give_shared(offset, bytes(room));
        }
        Ok(())
    }
}

impl Win {
    fn attachments(&self, what: &str) -> Result<&Attachments> {
        match &self.attachments {
            Some(attachments) => Ok(attachments),
            None => Err(fail!(RmaFlavor, "{what} on {}, which is not dynamic", self.label())),
        }
    }

    /// The attached memory of a member in which `count` elements at the address `disp` lie, and where in it.
    #[cold]
    pub(super) fn attached_at(
        &self,
        member: usize,
        disp: i64,
        datatype: &Datatype,
        count: i64,
    ) -> Result<(Arc<Target>, u64)> {
        let (low, high) = span(disp as u64, datatype, count);
        let holds = |target: &&Arc<Target>| {
            let base = i128::from(target.base());
            base <= low && high <= base + i128::from(target.length())
        };
        let outside = || {
            fail!(
                RmaRange,
                "target_disp={disp:#x}: rank {member} of {} has not attached the {} bytes from {low:#x} on",
                self.label(),
                high - low
            )
        };
        let attachments = self.attachments("an access by address")?;
        if let Some(part) = self.part(member) {
            let sequence = part.sequence().load(Ordering::Acquire);
            let others = attachments.others.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((known, targets)) = others.get(&member)
                && *known == sequence
            {
                let target = targets.iter().find(holds).ok_or_else(outside)?;
                return Ok((Arc::clone(target), (disp as u64).wrapping_sub(target.base())));
            }
        }
        let copied = self.copy_directory(member)?;
        let found = copied.1.iter().find(holds).cloned();
        let mut others = attachments.others.write().unwrap_or_else(PoisonError::into_inner);
        others.insert(member, copied);
        let target = found.ok_or_else(outside)?;
        let at = (disp as u64).wrapping_sub(target.base());
        Ok((target, at))
    }

    /// What a member has attached.
    fn copy_directory(&self, member: usize) -> Result<Copied> {
        let peer = self
            .group
            .peer(member as i32)
            .unwrap_or_else(|| unreachable!("seats are those of members"));
        let attach = |key| Ok::<_, Error>(Arc::new(Target::attach(peer, key)?));
        let Some(part) = self.part(member) else {
            let keys = self.directory_away(member)?;
            return Ok((0, keys.into_iter().map(attach).collect::<Result<_>>()?));
        };
        loop {
            if let Some((sequence, keys)) = read(&part) {
                return Ok((sequence, keys.into_iter().map(attach).collect::<Result<_>>()?));
            }
            let mut inside = enter();
            if self.has_failed(&mut inside, member) {
                return Err(self.failed(member));
            }
            inside.poll();
        }
    }
}

/// What the directory of a part says, with its sequence number; `None`: it is being changed.
pub(super) fn read(part: &MemberPart) -> Option<(u32, Vec<RegionKey>)> {
    // SYNC: window-directory
    let sequence = part.sequence().load(Ordering::Acquire);
    let count = part.attached().load(Ordering::Relaxed) as usize;
    let offset = part.directory().load(Ordering::Relaxed);
    let mut keys = Vec::new();
    if sequence.is_multiple_of(2)
        && let Some(first) = rma::shared_at(offset, bytes(count))
    {
        for index in 0..count {
            // SAFETY: within the job's memory; if it is being changed, the sequence number says so.
            keys.push(unsafe { first.as_ptr().cast::<RegionKey>().add(index).read_volatile() });
        }
    }
    // SYNC: window-directory
    fence(Ordering::Acquire);
    (sequence.is_multiple_of(2) && part.sequence().load(Ordering::Relaxed) == sequence).then_some((sequence, keys))
}

/// Addresses from the lowest of `count` elements at `address` to behind the highest.
fn span(address: u64, datatype: &Datatype, count: i64) -> (i128, i128) {
    let first = i128::from(address) + i128::from(datatype.true_lb());
    let last = i128::from(datatype.extent()) * i128::from((count - 1).max(0));
    (
        first + last.min(0),
        first + last.max(0) + i128::from(datatype.true_extent()),
    )
}
