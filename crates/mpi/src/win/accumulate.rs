//! Accumulates, fetch-and-op, compare-and-swap (MPI-5.0 §12.3.4 - §12.3.6). Atomic for each element.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use isthmus_engine::rma::Target;

use super::Win;
use super::access::{
    Origin, TargetElements, bytes, mirrored, request_with_results, request_without_results, same_bytes,
};
use super::operation::{check_predefined_op, combine, is_row, of_row, with_elements};
use super::record::WindowAccess;
use crate::constants::PROC_NULL;
use crate::datatype::{Datatype, Family, is_host};
use crate::device::Use;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::ledger::Given;
use crate::op::{Op, Predefined};
use crate::request::Request;

/// Elements of origin and target must be of one predefined type.
#[inline]
fn check_signature(origin: Origin<'_>, target: TargetElements<'_>) -> Result<()> {
    if std::ptr::eq(origin.datatype, target.datatype) {
        return Ok(());
    }
    let (here, there) = (origin.datatype.signature(), target.datatype.signature());
    if here.digest(origin.count) == there.digest(target.count) {
        return Ok(());
    }
    Err(fail!(
        Type,
        "{} at the origin and {} at the target are not made of the same predefined type",
        origin.datatype.label(),
        target.datatype.label()
    ))
}

/// The most frequent case: elements of one predefined type in a row, in the target's mapped memory, which may be accessed now. False: nothing was
/// done: it is another case, or what is wrong with the arguments is found out elsewhere.
///
/// # Safety
/// `operand` must be readable, unless it is a no-op, and `result` writable, or null, for so many elements.
#[inline(always)] // Half of what a short one costs is calls.
unsafe fn row(operand: *const c_void, result: *mut c_void, elements: TargetElements<'_>, op: &Op, win: &Win) -> bool {
    let Some(of_row) = of_row(op, elements.datatype).filter(|_| elements.count > 0) else {
        return false;
    };
    let Some((memory, at)) = win.plain_target(elements.rank, elements.disp) else {
        return false;
    };
    let (operand, result, count) = (operand.cast(), result.cast(), elements.count as usize);
    // SAFETY: the caller's promise; the target's elements are checked against the window.
    unsafe {
        win.flow
            .combine_mapped(&memory.target, at, operand, result, count, of_row)
    }
}

/// Does it only fetch?
#[inline]
fn is_no_op(op: &Op) -> bool {
    op.which() == Some(Predefined::NoOp)
}

/// What an operation does to the target.
fn access_of(op: &Op) -> WindowAccess {
    match is_no_op(op) {
        true => WindowAccess::Fetch,
        false => WindowAccess::Accumulate,
    }
}

/// `origin`: `None` for what fetches only. `result`: where what was there before goes.
#[inline(never)]
fn run(
    origin: Option<Origin<'_>>,
    result: Option<Origin<'_>>,
    elements: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<()> {
    let other = origin.or(result);
    let Some(other) = other else { return Ok(()) };
    if elements.rank == PROC_NULL {
        return Ok(());
    }
    let bytes = bytes(other, elements)?;
    for side in [origin, result].into_iter().flatten() {
        check_signature(side, elements)?;
    }
    let target = win.member("target_rank", elements.rank)?;
    win.admit(target)?;
    // Of no elements nothing is done, whatever that would be.
    if bytes == 0 {
        return Ok(());
    }
    let combine = combine(op, elements.datatype)?;
    win.record(target, elements, access_of(op))?;
    let loan = win.lend(
        target,
        [
            origin.map(|origin| origin.sends()),
            result.map(|result| result.receives()),
        ],
    )?;
    let begun = win.at(
        target,
        elements.disp,
        elements.datatype,
        elements.count,
        |target, at| {
            let row = is_row(elements.datatype)
                && [origin, result]
                    .into_iter()
                    .flatten()
                    .all(|side| std::ptr::eq(side.datatype, elements.datatype));
            let one = row
                || elements.count == 1
                    && i64::from(combine.width()) == bytes
                    && elements.datatype.is_contiguous()
                    && [origin, result]
                        .into_iter()
                        .flatten()
                        .all(|side| side.datatype.is_contiguous());
            if one {
                let operand = origin.map_or(null(), |origin| origin.addr.cast());
                let result = result.map_or(null_mut(), |result| result.addr.cast_mut().cast());
                let count = elements.count as usize;
                // SAFETY: the user gives the buffers, of as many elements each; the target's are checked against the window.
                unsafe { win.flow.combine_row(target, at, operand, result, count, &combine)? };
                return Ok(());
            }
            with_elements(elements.datatype, at, elements.count, |there| {
                let with = |side: Origin<'_>, f: &mut dyn FnMut(&isthmus_engine::layout::Layout<'_>) -> Result<()>| {
                    with_elements(side.datatype, side.addr.expose_provenance() as u64, side.count, f)
                };
                match (origin, result) {
                    (Some(origin), None) => with(origin, &mut |here| {
                        // SAFETY: the user gives the buffer; the target's bytes are checked against the window.
                        unsafe { win.flow.accumulate(target, there, here, combine)? };
                        Ok(())
                    }),
                    (origin, Some(result)) => with(result, &mut |result| {
                        let mut fetch = |here: &isthmus_engine::layout::Layout<'_>| {
                            // SAFETY: as above; an origin without operands fetches only, and gives the result's address, which is not read.
                            unsafe { win.flow.get_accumulate(target, there, here, result, combine)? };
                            Ok::<_, Error>(())
                        };
                        match origin {
                            Some(origin) => with(origin, &mut fetch),
                            None => fetch(result),
                        }
                    }),
                    (None, None) => Ok(()),
                }
            })
        },
    );
    win.has_begun(loan, target, result.is_some(), begun)
}

/// As [`run`], of an operation with a result, if an address at the origin is in memory of a device.
#[cold]
fn run_mirrored(
    origin: Option<Origin<'_>>,
    result: Origin<'_>,
    elements: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<()> {
    match origin {
        None => mirrored(win, elements.rank, [(result, Use::Writes)], |[result]| {
            run(None, Some(result), elements, op, win)
        }),
        Some(origin) => {
            let sides = [(origin, Use::Reads), (result, Use::Writes)];
            mirrored(win, elements.rank, sides, |[origin, result]| {
                run(Some(origin), Some(result), elements, op, win)
            })
        }
    }
}

/// `MPI_Accumulate`.
///
/// # Safety
/// The origin must be readable where the elements lie.
#[inline(always)]
pub unsafe fn accumulate(origin: Origin<'_>, target: TargetElements<'_>, op: &Op, win: &Win) -> Result<()> {
    if origin.count == target.count
        && std::ptr::eq(origin.datatype, target.datatype)
        && is_host(origin.addr)
        // SAFETY: the caller's promise.
        && unsafe { row(origin.addr, null_mut(), target, op, win) }
    {
        return Ok(());
    }
    accumulate_any(origin, target, op, win)
}

/// As [`accumulate`], in any case.
#[inline(never)]
fn accumulate_any(origin: Origin<'_>, target: TargetElements<'_>, op: &Op, win: &Win) -> Result<()> {
    check_predefined_op(op)?;
    if origin.check("origin_addr")?.is_device() {
        return mirrored(win, target.rank, [(origin, Use::Reads)], |[origin]| {
            run(Some(origin), None, target, op, win)
        });
    }
    run(Some(origin), None, target, op, win)
}

/// `MPI_Get_accumulate`. For `MPI_NO_OP` the origin's arguments mean nothing.
///
/// # Safety
/// `origin_addr` must be readable, and `result` writable, where the elements lie.
#[inline(always)]
pub unsafe fn get_accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle<Datatype>,
    result: Origin<'_>,
    target: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<()> {
    let is_alike = || target.datatype.is(origin_datatype) && origin_count == target.count && is_host(origin_addr);
    if result.count == target.count
        && std::ptr::eq(result.datatype, target.datatype)
        && is_host(result.addr)
        && (is_alike() || is_no_op(op))
        // SAFETY: the caller's promise.
        && unsafe { row(origin_addr, result.addr.cast_mut(), target, op, win) }
    {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { get_accumulate_any(origin_addr, origin_count, origin_datatype, result, target, op, win) }
}

/// As [`get_accumulate`], in any case.
///
/// # Safety
/// As for [`get_accumulate`].
#[inline(never)]
unsafe fn get_accumulate_any(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle<Datatype>,
    result: Origin<'_>,
    target: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<()> {
    check_predefined_op(op)?;
    result.datatype.check_apart("result_addr", result.count)?;
    let mut on_device = result.check("result_addr")?.is_device();
    let origin = match is_no_op(op) {
        true => None,
        false => {
            let datatype = origin_datatype.resolve_with(origin_count, target.rank, "origin_datatype")?;
            if origin_count < 0 {
                return Err(fail!(Count, "origin_count={origin_count} is negative"));
            }
            let origin = Origin {
                addr: origin_addr,
                count: origin_count,
                datatype,
            };
            on_device |= origin.check("origin_addr")?.is_device();
            Some(origin)
        }
    };
    if let Some(origin) = origin
        && target.rank != PROC_NULL
    {
        same_bytes((origin.count, origin.datatype), (result.count, result.datatype))?;
    }
    if on_device {
        return run_mirrored(origin, result, target, op, win);
    }
    run(origin, Some(result), target, op, win)
}

fn check_predefined(datatype: &Datatype) -> Result<()> {
    if datatype.named().is_some() {
        return Ok(());
    }
    Err(fail!(Type, "datatype={} is not predefined", datatype.label()))
}

/// `MPI_Fetch_and_op`: one element of a predefined type.
///
/// # Safety
/// `origin_addr` must be readable, unless `op` is `MPI_NO_OP`, and `result_addr` writable, for an element.
#[inline(always)]
pub unsafe fn fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    op: &Op,
    win: &Win,
) -> Result<()> {
    let target = TargetElements {
        rank: target_rank,
        disp: target_disp,
        count: 1,
        datatype,
    };
    if is_host(result_addr)
        && (is_host(origin_addr) || is_no_op(op))
        // SAFETY: the caller's promise.
        && unsafe { row(origin_addr, result_addr, target, op, win) }
    {
        return Ok(());
    }
    fetch_and_op_any(origin_addr, result_addr, target, op, win)
}

/// As [`fetch_and_op`], in any case.
#[inline(never)]
fn fetch_and_op_any(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    target: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<()> {
    let datatype = target.datatype;
    check_predefined(datatype)?;
    check_predefined_op(op)?;
    let element = |addr| Origin {
        addr,
        count: 1,
        datatype,
    };
    let result = element(result_addr.cast_const());
    let mut on_device = result.check("result_addr")?.is_device();
    let origin = (!is_no_op(op)).then(|| element(origin_addr));
    if let Some(origin) = origin {
        on_device |= origin.check("origin_addr")?.is_device();
    }
    if on_device {
        return run_mirrored(origin, result, target, op, win);
    }
    run(origin, Some(result), target, op, win)
}

/// `MPI_Compare_and_swap`: one integer, logical or byte.
///
/// # Safety
/// `origin_addr` and `compare_addr` must be readable, and `result_addr` writable, for an element.
pub unsafe fn compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: &Datatype,
    target_rank: i32,
    target_disp: i64,
    win: &Win,
) -> Result<()> {
    check_predefined(datatype)?;
    let suits = datatype.named().is_some_and(|named| {
        matches!(
            named.family,
            Family::CInteger | Family::FortranInteger | Family::Logical | Family::MultiLanguage | Family::Byte
        )
    });
    if !suits {
        return Err(fail!(
            Type,
            "datatype={} is no integer, logical, multi-language type or byte",
            datatype.label()
        ));
    }
    let mut on_device = false;
    for (name, address) in [
        ("origin_addr", origin_addr),
        ("compare_addr", compare_addr),
        ("result_addr", result_addr.cast_const()),
    ] {
        on_device |= datatype.check_buffer(name, address, 1)?.is_device();
    }
    if on_device {
        let element = |addr, does| {
            (
                Origin {
                    addr,
                    count: 1,
                    datatype,
                },
                does,
            )
        };
        let sides = [
            element(origin_addr, Use::Reads),
            element(compare_addr, Use::Reads),
            element(result_addr.cast_const(), Use::Writes),
        ];
        return mirrored(win, target_rank, sides, |[origin, compare, result]| {
            let (swap, compare, result) = (origin.addr, compare.addr, result.addr.cast_mut());
            // SAFETY: host memory of an element each, complete when this returns.
            unsafe { compare_and_swap(swap, compare, result, datatype, target_rank, target_disp, win) }
        });
    }
    let width = datatype.size() as u32;
    let swap = |target: &Target, at| {
        let (compare, swap) = (compare_addr.cast(), origin_addr.cast());
        // SAFETY: the user gives the buffers, of an element each; the target's is checked against the window.
        unsafe {
            win.flow
                .compare_swap(target, at, width, compare, swap, result_addr.cast())
        }
    };
    if let Some((memory, at)) = win.plain_target(target_rank, target_disp) {
        return swap(&memory.target, at).map_err(|error| win.about(error.into(), target_rank as usize, target_disp));
    }
    if target_rank == PROC_NULL {
        return Ok(());
    }
    let target = win.member("target_rank", target_rank)?;
    win.admit(target)?;
    let elements = TargetElements {
        rank: target_rank,
        disp: target_disp,
        count: 1,
        datatype,
    };
    win.record(target, elements, WindowAccess::Accumulate)?;
    // The compare buffer may be the result buffer (MPI-5.0 §12.3.4): it is read first.
    let is_apart = compare_addr.addr().abs_diff(result_addr.addr()) >= datatype.size() as usize;
    let given = [
        Some(Given::sends(origin_addr, 1, datatype)),
        is_apart.then(|| Given::sends(compare_addr, 1, datatype)),
        Some(Given::receives(result_addr, 1, datatype)),
    ];
    let loan = win.lend(target, given)?;
    let begun = win.at(target, target_disp, datatype, 1, |target, at| Ok(swap(target, at)?));
    win.has_begun(loan, target, true, begun)
}

/// `MPI_Raccumulate`.
///
/// # Safety
/// As for [`accumulate`].
pub unsafe fn raccumulate(
    origin: Origin<'_>,
    target: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    request_without_results(win, target.rank, || unsafe { accumulate(origin, target, op, win) })
}

/// `MPI_Rget_accumulate`.
///
/// # Safety
/// As for [`get_accumulate`].
pub unsafe fn rget_accumulate(
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Handle<Datatype>,
    result: Origin<'_>,
    target: TargetElements<'_>,
    op: &Op,
    win: &Win,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    request_with_results(win, target, access_of(op), || unsafe {
        get_accumulate(origin_addr, origin_count, origin_datatype, result, target, op, win)
    })
}
