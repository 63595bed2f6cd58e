//! Puts and gets (MPI-5.0 §12.3).

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::Entered;
use isthmus_engine::layout::Layout;
use isthmus_engine::rma::{self, Scope, Target};
use isthmus_mem::Kind;

use super::epoch::Mode;
use super::record::WindowAccess;
use super::{Flavor, Win};
use crate::constants::PROC_NULL;
use crate::datatype::Datatype;
use crate::device::{Mirrors, Use};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::ledger::{Given, loans};
use crate::request::{self, Look, Operation, Request, Work};
use crate::status::Status;

/// Elements at the origin.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // Named as the arguments of the procedures are, without `origin_` or `result_`.
pub struct Origin<'a> {
    pub addr: *const c_void,
    pub count: i64,
    pub datatype: &'a Datatype,
}

impl<'a> Origin<'a> {
    /// Are the arguments good? `name` is that of the address. The kind of its memory.
    #[inline]
    pub(super) fn check(&self, name: &str) -> Result<Kind> {
        self.datatype.check_committed("origin_datatype")?;
        self.datatype.check_buffer(name, self.addr, self.count)
    }

    /// What an operation does with it that reads it.
    pub(super) fn sends(&self) -> Given<'a> {
        Given::sends(self.addr, self.count, self.datatype)
    }

    /// What an operation does with it that writes it.
    pub(super) fn receives(&self) -> Given<'a> {
        Given::receives(self.addr.cast_mut(), self.count, self.datatype)
    }

    fn with_layout<R>(&self, f: impl FnOnce(&Layout<'_>) -> R) -> R {
        self.datatype
            .with_places(self.addr.expose_provenance() as u64, self.count, f)
    }
}

/// Elements at a target.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // Named as the arguments of the procedures are, without `target_`.
pub struct TargetElements<'a> {
    pub rank: i32,
    pub disp: i64,
    pub count: i64,
    pub datatype: &'a Datatype,
}

/// What both sides amount to, which must be the same.
#[inline]
pub(super) fn bytes(origin: Origin<'_>, target: TargetElements<'_>) -> Result<i64> {
    target.datatype.check_committed("target_datatype")?;
    same_bytes((origin.count, origin.datatype), (target.count, target.datatype))
}

/// What elements at the origin and at the target amount to, which must be the same.
#[inline]
pub(super) fn same_bytes(origin: (i64, &Datatype), target: (i64, &Datatype)) -> Result<i64> {
    let (here, there) = (origin.1.bytes(origin.0)?, target.1.bytes(target.0)?);
    if here != there {
        return Err(fail!(
            Type,
            "origin_count={} elements of {} are {here} bytes, target_count={} of {} are {there}",
            origin.0,
            origin.1.label(),
            target.0,
            target.1.label()
        ));
    }
    Ok(here)
}

/// Which of the two operations, and the scope that completes it with another node besides the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Put(Option<Scope>),
    Get(Option<Scope>),
}

#[inline(never)]
fn transfer(origin: Origin<'_>, elements: TargetElements<'_>, win: &Win, direction: Direction) -> Result<()> {
    if elements.rank == PROC_NULL {
        return Ok(());
    }
    let bytes = bytes(origin, elements)?;
    win.check_types(origin.datatype, elements.datatype, bytes)?;
    let target = win.member("target_rank", elements.rank)?;
    win.admit(target)?;
    if bytes == 0 {
        return match elements.disp {
            ..0 => Err(fail!(Disp, "target_disp={} is negative", elements.disp)),
            _ => Ok(()),
        };
    }
    win.record(
        target,
        elements,
        match direction {
            Direction::Put(_) => WindowAccess::Put,
            Direction::Get(_) => WindowAccess::Get,
        },
    )?;
    let given = match direction {
        Direction::Put(_) => origin.sends(),
        Direction::Get(_) => origin.receives(),
    };
    let loan = win.lend(target, [Some(given)])?;
    let begun = win.at(
        target,
        elements.disp,
        elements.datatype,
        elements.count,
        |target, at| {
            if origin.datatype.is_contiguous() && elements.datatype.is_contiguous() {
                // SAFETY: the user gives the buffer, of as many bytes; the other one is checked against the window.
                return unsafe { copy(origin.addr.cast(), target, at, bytes as usize, win, direction) };
            }
            scattered(origin, elements, target, at, win, direction)
        },
    );
    win.has_begun(loan, target, matches!(direction, Direction::Get(_)), begun)
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
            _ if target.is_elsewhere() => {
                let length = length as u64;
                start(
                    target,
                    &Layout::contiguous(at, length),
                    &Layout::local(buffer, length),
                    win,
                    direction,
                )?;
            }
            // Nobody may look before the target's MPI_Win_wait.
            Direction::Put(_) if win.epochs.mode() == Mode::Start => return leave(buffer, target, at, length, win),
            // The target may have detached the memory before a flush.
            Direction::Put(_) if win.flavor == Flavor::Dynamic => win.flow.put_bytes(target, at, buffer, length)?,
            Direction::Put(_) => win.flow.held_put(target, at, buffer, length)?,
            Direction::Get(_) => win.flow.get_bytes(target, at, buffer.cast_mut(), length)?,
        };
    }
    Ok(())
}

/// Start it. With another node it may be under way when this returns.
///
/// # Safety
/// As for [`copy`], where the bytes of `here` lie, until it is over.
unsafe fn start(target: &Target, there: &Layout<'_>, here: &Layout<'_>, win: &Win, direction: Direction) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            Direction::Put(scope) => win.flow.put_in(scope, target, there, here)?,
            Direction::Get(scope) => win.flow.get_in(scope, target, there, here)?,
        }
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
fn alike<'a>(origin: Origin<'_>, elements: TargetElements<'_>, win: &'a Win) -> Option<(&'a Target, u64, usize)> {
    if origin.count != elements.count
        || !std::ptr::eq(origin.datatype, elements.datatype)
        || !origin.datatype.is_contiguous()
    {
        return None;
    }
    let length = usize::try_from(origin.count.checked_mul(origin.datatype.size())?).ok()?;
    let (memory, at) = win.plain_target(elements.rank, elements.disp)?;
    Some((&memory.target, at, length))
}

/// A put or get of such elements where no memory is mapped, or something is wrong.
#[inline(never)]
fn unmapped(origin: Origin<'_>, elements: TargetElements<'_>, win: &Win, direction: Direction) -> Result<()> {
    match alike(origin, elements, win) {
        Some((target, at, length)) if length > 0 => {
            // SAFETY: the user gives the buffer, of as many bytes; the other one is checked against the window.
            unsafe { copy(origin.addr.cast(), target, at, length, win, direction) }
                .map_err(|error| win.about(error, elements.rank as usize, elements.disp))
        }
        _ => transfer(origin, elements, win, direction),
    }
}

#[cold]
fn scattered(
    origin: Origin<'_>,
    elements: TargetElements<'_>,
    target: &Target,
    at: u64,
    win: &Win,
    direction: Direction,
) -> Result<()> {
    origin.with_layout(|here| {
        elements.datatype.with_places(at, elements.count, |there| {
            // SAFETY: the user gives the buffer, where these elements lie; the other ones are checked against the window.
            unsafe { start(target, there, here, win, direction) }
        })
    })
}

/// `MPI_Put`.
///
/// # Safety
/// The origin must be readable where the elements lie.
#[inline(always)]
pub unsafe fn put(origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { put_in(None, origin, target, win) }
}

/// # Safety
/// As for [`put`].
#[inline(always)]
unsafe fn put_in(scope: Option<Scope>, origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<()> {
    if origin.check("origin_addr")?.is_device() {
        return mirrored(win, target.rank, [(origin, Use::Reads)], |[origin]| {
            transfer(origin, target, win, Direction::Put(None))
        });
    }
    if let Some((region, at, length)) = alike(origin, target, win)
        && let Some(there) = region.mapped_at(at, length as u64)
    {
        // SAFETY: the caller's promise; the other bytes are the window's.
        unsafe { win.flow.store(there, origin.addr.cast(), length) };
        return Ok(());
    }
    unmapped(origin, target, win, Direction::Put(scope))
}

/// `MPI_Get`.
///
/// # Safety
/// The origin must be writable where the elements lie.
#[inline(always)]
pub unsafe fn get(origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { get_in(None, origin, target, win) }
}

/// # Safety
/// As for [`get`].
#[inline(always)]
unsafe fn get_in(scope: Option<Scope>, origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<()> {
    origin.datatype.check_apart("origin_addr", origin.count)?;
    if origin.check("origin_addr")?.is_device() {
        return mirrored(win, target.rank, [(origin, Use::Writes)], |[origin]| {
            transfer(origin, target, win, Direction::Get(None))
        });
    }
    if let Some((region, at, length)) = alike(origin, target, win)
        && let Some(there) = region.mapped_at(at, length as u64)
    {
        // SAFETY: the caller's promise; the other bytes are the window's.
        unsafe { win.flow.load(there, origin.addr.cast_mut().cast(), length) };
        return Ok(());
    }
    unmapped(origin, target, win, Direction::Get(scope))
}

/// An operation whose elements at the origin are in memory of a device, some of them or all: `operate` gets copies in host memory, and what it has
/// written is back on the device when this returns. Blocks until the operation is complete at the origin.
#[cold]
pub(super) fn mirrored<const N: usize>(
    win: &Win,
    target: i32,
    sides: [(Origin<'_>, Use); N],
    operate: impl FnOnce([Origin<'_>; N]) -> Result<()>,
) -> Result<()> {
    let mut mirrors = Mirrors::default();
    let mut stand_ins = sides.map(|(origin, _)| origin);
    for (side, (origin, does)) in stand_ins.iter_mut().zip(sides) {
        let buffer = origin.addr.cast_mut().cast();
        let host = mirrors.host("origin_addr", buffer, origin.count, origin.datatype, does)?;
        side.addr = host.cast_const().cast();
    }
    mirrors.load()?;
    let operate = || with_results(win, target, || operate(stand_ins));
    let done = if win.is_checked {
        loans::during(operate)
    } else {
        operate()
    };
    mirrors.stored(done)
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
    // Outside the engine.
    let work = work()?;
    request::launch(None, |_| Ok(work))
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
    elements: TargetElements<'_>,
    access: WindowAccess,
    start: impl FnOnce() -> Result<()>,
) -> Result<Handle<Request>> {
    let target = elements.rank;
    let work = || {
        if !win.is_checked || target == PROC_NULL {
            return Ok(Work::Complete);
        }
        Ok(Work::Other(Box::new(Got {
            win: win.handle().share("win")?,
            access,
            target,
            disp: elements.disp,
            count: elements.count,
            datatype: elements.datatype.share_object(),
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

/// A put or get with a request, which is over locally with its scope: with another node it may be under way when this returns.
fn request_of_scope(
    win: &Win,
    target: i32,
    start: impl FnOnce(Option<Scope>) -> Result<()>,
) -> Result<Handle<Request>> {
    let scope = win.away.is_some().then(Scope::new);
    let start = || {
        start(scope)?;
        if scope.is_some() && target != PROC_NULL {
            rma::send_if_idle(win.peer(target as usize));
        }
        Ok(())
    };
    request_of(win, target, start, || {
        Ok(match scope.filter(|scope| scope.is_under_way()) {
            Some(scope) => Work::Other(Box::new(UnderWay(scope))),
            None => Work::Complete,
        })
    })
}

/// `MPI_Rput`.
///
/// # Safety
/// As for [`put`], until the request is complete.
pub unsafe fn rput(origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    let start = |scope| unsafe { put_in(scope, origin, target, win) };
    match win.is_checked {
        true => request_without_results(win, target.rank, || start(None)),
        false => request_of_scope(win, target.rank, start),
    }
}

/// `MPI_Rget`.
///
/// # Safety
/// As for [`get`], until the request is complete.
pub unsafe fn rget(origin: Origin<'_>, target: TargetElements<'_>, win: &Win) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    let start = |scope| unsafe { get_in(scope, origin, target, win) };
    match win.is_checked {
        true => request_with_results(win, target, WindowAccess::Get, || start(None)),
        false => request_of_scope(win, target.rank, start),
    }
}

/// An operation with another node.
struct UnderWay(Scope);

impl Operation for UnderWay {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        match inside.is_over(self.0) {
            true => Look::Complete,
            false => Look::Pending,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        self.0.finish()?;
        Ok(Status::SENT)
    }
}

/// An operation whose results are there, and whose record ends with its request.
struct Got {
    access: WindowAccess,
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
        let elements = TargetElements {
            rank: self.target,
            disp: self.disp,
            count: self.count,
            datatype: &self.datatype,
        };
        self.win.forget_done(self.target as usize, elements, self.access);
        Ok(())
    }
}
