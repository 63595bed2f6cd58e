//! Puts and gets (MPI-5.0 §12.3).

#![allow(clippy::too_many_arguments)] // As the standard has them.

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::Entered;
use isthmus_engine::layout::Layout;
use isthmus_engine::rma::Target;

use super::Win;
use super::epoch::Mode;
use super::record::Access;
use crate::constants::PROC_NULL;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::ledger::{Given, loans};
use crate::request::{self, Look, Operation, Request, Work};
use crate::status::Status;

/// Elements at the origin, whose arguments have been checked.
#[derive(Clone, Copy)]
pub(super) struct Local<'a> {
    pub buffer: *const u8,
    pub count: i64,
    pub datatype: &'a Datatype,
}

impl<'a> Local<'a> {
    #[inline]
    pub fn check(name: &str, buffer: *const c_void, count: i64, datatype: &'a Datatype) -> Result<Self> {
        datatype.check_committed("origin_datatype")?;
        datatype.check_buffer(name, buffer, count)?;
        Ok(Self {
            buffer: buffer.cast(),
            count,
            datatype,
        })
    }

    /// What an operation does with it that reads it.
    pub fn sends(&self) -> Given<'a> {
        Given::sends(self.buffer.cast(), self.count, self.datatype)
    }

    /// What an operation does with it that writes it.
    pub fn receives(&self) -> Given<'a> {
        Given::receives(self.buffer.cast_mut().cast(), self.count, self.datatype)
    }

    pub fn with_layout<R>(&self, f: impl FnOnce(&Layout<'_>) -> R) -> R {
        self.datatype
            .with_places(self.buffer.expose_provenance() as u64, self.count, f)
    }
}

/// Elements at a target.
#[derive(Clone, Copy)]
pub(super) struct Remote<'a> {
    pub rank: i32,
    pub disp: i64,
    pub count: i64,
    pub datatype: &'a Datatype,
}

/// What both sides amount to, which must be the same.
#[inline]
pub(super) fn bytes(local: (i64, &Datatype), remote: (i64, &Datatype)) -> Result<i64> {
    remote.1.check_committed("target_datatype")?;
    let (here, there) = (local.1.bytes(local.0)?, remote.1.bytes(remote.0)?);
    if here != there {
        return Err(fail!(
            Type,
            "origin_count={} elements of {} are {here} bytes, target_count={} of {} are {there}",
            local.0,
            local.1.label(),
            remote.0,
            remote.1.label()
        ));
    }
    Ok(here)
}

/// Which of the two operations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Put,
    Get,
}

#[inline(never)]
fn transfer(local: Local<'_>, remote: Remote<'_>, win: &Win, direction: Direction) -> Result<()> {
    if remote.rank == PROC_NULL {
        return Ok(());
    }
    let bytes = bytes((local.count, local.datatype), (remote.count, remote.datatype))?;
    win.check_types(local.datatype, remote.datatype, bytes)?;
    let target = win.member("target_rank", remote.rank)?;
    win.admit(target)?;
    if bytes == 0 {
        return match remote.disp {
            ..0 => Err(fail!(Disp, "target_disp={} is negative", remote.disp)),
            _ => Ok(()),
        };
    }
    win.record(
        target,
        remote,
        match direction {
            Direction::Put => Access::Put,
            Direction::Get => Access::Get,
        },
    )?;
    let given = match direction {
        Direction::Put => local.sends(),
        Direction::Get => local.receives(),
    };
    let loan = win.lend(target, [Some(given)])?;
    let begun = win.at(target, remote.disp, remote.datatype, remote.count, |target, at| {
        if local.datatype.is_contiguous() && remote.datatype.is_contiguous() {
            // SAFETY: the user gives the buffer, of as many bytes; the other one is checked against the window.
            return unsafe { copy(local.buffer, target, at, bytes as usize, win, direction) };
        }
        scattered(local, remote, target, at, win, direction)
    });
    win.has_begun(loan, target, matches!(direction, Direction::Get), begun)
}

/// # Safety
/// So many bytes must be readable at `buffer`, or for a get writable.
#[inline(always)]
unsafe fn copy(
    buffer: *const u8,
    target: &Target,
    at: u64,
    length: usize,
    win: &Win,
    direction: Direction,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            // Nobody may look before the target's MPI_Win_wait.
            Direction::Put if win.epochs.mode() == Mode::Start => return leave(buffer, target, at, length, win),
            Direction::Put => win.flow.put_bytes(target, at, buffer, length)?,
            Direction::Get => win.flow.get_bytes(target, at, buffer.cast_mut(), length)?,
        };
    }
    Ok(())
}

/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn leave(buffer: *const u8, target: &Target, at: u64, length: usize, win: &Win) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { win.flow.deferred_put(target, at, buffer, length)? };
    Ok(())
}

/// The most frequent case: elements of the same contiguous datatype at both sides, which may be accessed now. Where they are, and their
/// bytes; `None`: it is another case, or what is wrong with the arguments is found out elsewhere.
#[inline(always)] // Half of what a short put costs is calls.
fn alike<'a>(local: Local<'_>, remote: Remote<'_>, win: &'a Win) -> Option<(&'a Target, u64, usize)> {
    if local.count != remote.count || !std::ptr::eq(local.datatype, remote.datatype) || !local.datatype.is_contiguous()
    {
        return None;
    }
    let length = usize::try_from(local.count.checked_mul(local.datatype.size())?).ok()?;
    let (memory, at) = win.plain_target(remote.rank, remote.disp)?;
    Some((&memory.target, at, length))
}

/// A put or get of such elements where no memory is mapped, or something is wrong.
#[inline(never)]
fn unmapped(local: Local<'_>, remote: Remote<'_>, win: &Win, direction: Direction) -> Result<()> {
    match alike(local, remote, win) {
        // SAFETY: the user gives the buffer, of as many bytes; the other one is checked against the window.
        Some((target, at, length)) if length > 0 => unsafe { copy(local.buffer, target, at, length, win, direction) }
            .map_err(|error| win.about(error, remote.rank as usize, remote.disp)),
        _ => transfer(local, remote, win, direction),
    }
}

#[cold]
fn scattered(
    local: Local<'_>,
    remote: Remote<'_>,
    target: &Target,
    at: u64,
    win: &Win,
    direction: Direction,
) -> Result<()> {
    local.with_layout(|here| {
        remote.datatype.with_places(at, remote.count, |there| {
            // SAFETY: the user gives the buffer, where these elements lie; the other ones are checked against the window.
            unsafe {
                match direction {
                    Direction::Put => win.flow.put(target, there, here)?,
                    Direction::Get => win.flow.get(target, there, here)?,
                };
            }
            Ok::<_, Error>(())
        })
    })
}

/// `MPI_Put`.
///
/// # Safety
/// `origin_addr` must be readable where the elements lie.
#[inline(always)]
pub unsafe fn put(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Datatype,
    win: &Win,
) -> Result<()> {
    let local = Local::check("origin_addr", origin_addr, origin_count, origin_datatype)?;
    let remote = Remote {
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
    };
    if let Some((target, at, length)) = alike(local, remote, win)
        && let Some(there) = target.mapped_at(at, length as u64)
    {
        // SAFETY: the caller's promise; the other bytes are the window's.
        unsafe { win.flow.store(there, local.buffer, length) };
        return Ok(());
    }
    unmapped(local, remote, win, Direction::Put)
}

/// `MPI_Get`.
///
/// # Safety
/// `origin_addr` must be writable where the elements lie.
#[inline(always)]
pub unsafe fn get(
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Datatype,
    win: &Win,
) -> Result<()> {
    origin_datatype.check_apart("origin_addr", origin_count)?;
    let local = Local::check("origin_addr", origin_addr, origin_count, origin_datatype)?;
    let remote = Remote {
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
    };
    if let Some((target, at, length)) = alike(local, remote, win)
        && let Some(there) = target.mapped_at(at, length as u64)
    {
        // SAFETY: the caller's promise; the other bytes are the window's.
        unsafe { win.flow.load(there, local.buffer.cast_mut(), length) };
        return Ok(());
    }
    unmapped(local, remote, win, Direction::Get)
}

/// The request of an operation, whose buffers may be used again when this ends: `work`.
fn request_of(
    win: &Win,
    target: i32,
    start: impl FnOnce() -> Result<()>,
    work: impl FnOnce() -> Result<Work>,
) -> Result<Handle<Request>> {
    match win.epochs.mode() {
        Mode::Lock | Mode::LockAll => start()?,
        // A lock of nobody is none.
        _ if target == PROC_NULL => start()?,
        _ => {
            return Err(fail!(
                RmaSync,
                "an operation with a request on {}, where no target is locked",
                win.label()
            ));
        }
    }
    request::launch(None, |_| work())
}

/// The request has the buffers of the operation that `start` starts, where that is checked.
fn owning(win: &Win, start: impl FnOnce() -> Result<Handle<Request>>) -> Result<Handle<Request>> {
    if win.is_checked {
        loans::by_request(start)
    } else {
        start()
    }
}

/// The request of an operation without results.
pub(super) fn request_without_results(
    win: &Win,
    target: i32,
    start: impl FnOnce() -> Result<()>,
) -> Result<Handle<Request>> {
    owning(win, || request_of(win, target, start, || Ok(Work::Complete)))
}

/// As [`request_without_results`], of an operation with results: they are there.
pub(super) fn request_with_results(
    win: &Win,
    remote: Remote<'_>,
    access: Access,
    start: impl FnOnce() -> Result<()>,
) -> Result<Handle<Request>> {
    let target = remote.rank;
    let work = || {
        if !win.is_checked || target == PROC_NULL {
            return Ok(Work::Complete);
        }
        Ok(Work::Other(Box::new(Got {
            win: win.handle().share("win")?,
            access,
            target,
            disp: remote.disp,
            count: remote.count,
            datatype: remote.datatype.share_object(),
        })))
    };
    owning(win, || {
        request_of(win, target, || with_results(win, target, start), work)
    })
}

/// Start an operation, and wait for its results.
fn with_results(win: &Win, target: i32, start: impl FnOnce() -> Result<()>) -> Result<()> {
    start()?;
    match target {
        PROC_NULL => Ok(()),
        _ => Ok(win.flow.flush_local(|| win.peer(target as usize))?),
    }
}

/// `MPI_Rput`.
///
/// # Safety
/// As for [`put`].
pub unsafe fn rput(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Datatype,
    win: &Win,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    request_without_results(win, target_rank, || unsafe {
        put(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    })
}

/// `MPI_Rget`.
///
/// # Safety
/// As for [`get`].
pub unsafe fn rget(
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: &Datatype,
    win: &Win,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    let start = || unsafe {
        get(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    };
    let remote = Remote {
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
    };
    request_with_results(win, remote, Access::Get, start)
}

/// An operation whose results are there, and whose record ends with its request.
struct Got {
    access: Access,
    win: Arc<Win>,
    target: i32,
    disp: i64,
    count: i64,
    datatype: Arc<Datatype>,
}

impl Operation for Got {
    fn advance(&mut self, _inside: &mut Entered) -> Look {
        Look::Complete
    }

    fn outcome(&mut self) -> Result<Status> {
        Ok(Status::SENT)
    }

    fn retire(self: Box<Self>) -> Result<()> {
        let remote = Remote {
            rank: self.target,
            disp: self.disp,
            count: self.count,
            datatype: &self.datatype,
        };
        self.win.forget_done(self.target as usize, remote, self.access);
        Ok(())
    }
}
