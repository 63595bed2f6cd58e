//! Puts and gets: copies, made by the caller, complete at both ends when they return. Those with other nodes are the engine's: puts complete
//! there at the next fence, and non-blocking forms are over when they are waited for ([`crate::nonblocking`]).

use std::sync::atomic::{AtomicI32, Ordering};

use isthmus_os::switches::Switch;
use isthmus_transfer::Layout;
use isthmus_transfer::copy::copy;
use isthmus_transfer::local::copy_range;
use isthmus_transfer::rows::copy_alike;

use crate::arguments::check_host;
use crate::directory;
use crate::elsewhere;
use crate::error::{Error, Result, argument};
use crate::far::Change;
use crate::life::{Job, job};
use crate::section::Section;
use crate::vector::{End, Vector};

/// Below this nothing is ever mapped.
const LOWEST: u64 = 4096;

/// May the calling process touch these bytes of `proc`?
///
/// Of the calling process itself it may touch any, as its own memory.
///
/// # Errors
/// They are not within one block of global memory of `proc`.
#[inline]
pub fn check(job: &Job, what: &'static str, proc: usize, start: u64, end: u64) -> Result<()> {
    if directory::knows(proc, start, end) || (proc == job.me && start >= LOWEST) {
        return Ok(());
    }
    Err(Error::Outside {
        what,
        address: start,
        length: end - start,
        proc,
    })
}

/// Check that the caller's own end is host memory.
///
/// # Errors
/// It lies in the memory of a device.
#[inline(always)]
pub fn check_own(end: End, from: *const u8, to: *const u8) -> Result<()> {
    match end {
        End::Source => check_host("dst", to),
        End::Target => check_host("src", from),
    }
}

/// As [`check_own`], for each piece.
///
/// # Errors
/// As for [`check_own`].
///
/// # Safety
/// The arrays must be as long as they say.
pub unsafe fn check_own_vectors(end: End, entries: &[Vector]) -> Result<()> {
    if !Switch::Devices.is_on() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let check = |entry: &Vector| unsafe { entry.for_each(|source, target, _| check_own(end, source, target)) };
    entries.iter().try_for_each(check)
}

/// Check the global end of a section, and answer the process.
#[inline]
pub fn checked(job: &Job, section: &Section, end: End, from: u64, to: u64, proc: i32) -> Result<usize> {
    let proc = job.process(proc)?;
    let (what, layout) = match end {
        End::Source => ("src", section.source(from)),
        End::Target => ("dst", section.target(to)),
    };
    let extent = layout.extent().ok_or(Error::Outside {
        what,
        address: if end == End::Source { from } else { to },
        length: u64::MAX,
        proc,
    })?;
    check(job, what, proc, extent.start, extent.end)?;
    Ok(proc)
}

/// Copy `bytes` bytes of a row.
///
/// # Errors
/// The global end is not global memory of `proc`; there is no such process.
///
/// # Safety
/// The other end must be good for as many bytes.
#[inline]
pub unsafe fn row(end: End, from: *const u8, to: *mut u8, bytes: i32, proc: i32) -> Result<()> {
    let job = job()?;
    let proc = job.process(proc)?;
    let Ok(bytes) = u64::try_from(bytes) else {
        return Err(argument(format!("bytes={bytes} is negative")));
    };
    if bytes == 0 {
        return Ok(());
    }
    let (what, start) = match end {
        End::Source => ("src", from.addr() as u64),
        End::Target => ("dst", to.addr() as u64),
    };
    check_own(end, from, to)?;
    let ends = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    // SAFETY: the caller's promise.
    if job.far.is_some() && unsafe { move_far(job, end, &Section::row(bytes), ends.0, ends.1, proc) }? {
        return Ok(());
    }
    check(job, what, proc, start, start.saturating_add(bytes))?;
    // SAFETY: the global end is mapped memory, the other one is the caller's.
    unsafe { copy(from, to, bytes as usize) };
    Ok(())
}

/// Copy a section.
///
/// # Errors
/// As for [`row`].
///
/// # Safety
/// As for [`row`].
pub unsafe fn section(end: End, section: &Section, from: *const u8, to: *mut u8, proc: i32) -> Result<()> {
    let job = job()?;
    check_own(end, from, to)?;
    let (source, target) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    // SAFETY: the caller's promise.
    if unsafe { move_far(job, end, section, source, target, job.process(proc)?) }? {
        return Ok(());
    }
    checked(job, section, end, source, target, proc)?;
    // SAFETY: as above.
    unsafe { copy_section(section, source, target) };
    Ok(())
}

/// Copy a section from or to a process of another node. False: it is on this one, and nothing was done.
///
/// # Errors
/// The global end is not global memory of `proc`, or it has failed.
///
/// # Safety
/// As for [`row`].
#[inline]
pub unsafe fn move_far(job: &Job, end: End, section: &Section, from: u64, to: u64, proc: usize) -> Result<bool> {
    match job.far(proc) {
        None => Ok(false),
        // SAFETY: the caller's promise.
        Some(far) => unsafe { elsewhere::section(job, far, end, section, (from, to), proc) }.map(|()| true),
    }
}

/// Copy `bytes` bytes from global memory of a process, by the address that this process knows it by. They are there when this returns, from
/// another node as the form of the call says.
///
/// # Errors
/// It is not global memory of `proc`, of another node; or it has failed.
///
/// # Safety
/// Both ends must be good; of another node `to` alone.
pub unsafe fn read(job: &Job, proc: usize, from: *const u8, to: *mut u8, bytes: usize) -> Result<()> {
    let section = Section::row(bytes as u64);
    let (from, to) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    // SAFETY: the caller's promise.
    unsafe {
        if bytes > 0 && !move_far(job, End::Source, &section, from, to, proc)? {
            copy_section(&section, from, to);
        }
    }
    Ok(())
}

/// Copy a section between addresses of this process.
///
/// # Safety
/// Both ends must be good, and may not overlap.
#[inline]
pub unsafe fn copy_section(section: &Section, from: u64, to: u64) {
    let (source, target) = (section.source(from), section.target(to));
    // SAFETY: the caller's promise.
    unsafe {
        match (source, target) {
            (Layout::Contiguous(a), Layout::Contiguous(b)) => copy(
                std::ptr::with_exposed_provenance(a.address as usize),
                std::ptr::with_exposed_provenance_mut(b.address as usize),
                a.length as usize,
            ),
            _ if copy_alike((&source, 0), (&target, 0)) => {}
            // A level more than loops are made for.
            _ => copy_range(&source, &target, 0..section.bytes()),
        }
    }
}

/// Check the global ends of all pieces.
///
/// # Errors
/// As for [`row`].
///
/// # Safety
/// The arrays must be as long as they say.
pub unsafe fn check_vectors(job: &Job, end: End, entries: &[Vector], proc: i32) -> Result<usize> {
    let proc = job.process(proc)?;
    for entry in entries {
        let check = |source: *mut u8, target: *mut u8, bytes: u64| {
            let (what, start) = match end {
                End::Source => ("src_ptr_array", source),
                End::Target => ("dst_ptr_array", target),
            };
            let start = start.addr() as u64;
            check(job, what, proc, start, start.saturating_add(bytes))
        };
        // SAFETY: the caller's promise.
        unsafe { entry.for_each(check) }?;
    }
    Ok(proc)
}

/// Copy the pieces of a vector call. All are checked before the first is touched.
///
/// # Errors
/// As for [`row`].
///
/// # Safety
/// As for [`row`], for each piece; the arrays must be as long as they say.
pub unsafe fn pieces(end: End, entries: &[Vector], proc: i32) -> Result<()> {
    let job = job()?;
    // SAFETY: the caller's promise.
    unsafe { check_own_vectors(end, entries) }?;
    let number = job.process(proc)?;
    if let Some(far) = job.far(number) {
        // SAFETY: the caller's promise.
        return unsafe { elsewhere::pieces(job, far, end, entries, number) };
    }
    // SAFETY: the caller's promise.
    unsafe { check_vectors(job, end, entries, proc) }?;
    for entry in entries {
        let copy = |source: *mut u8, target: *mut u8, bytes: u64| {
            // SAFETY: the global end has been checked, the other one is the caller's.
            unsafe { copy(source, target, bytes as usize) };
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { entry.for_each(copy) }?;
    }
    Ok(())
}

/// Store `value` into the flag of `proc` at `flag`, after everything that was put before.
///
/// # Errors
/// It is not global memory of `proc`, or not at a multiple of 4.
///
/// # Safety
/// The flag of the calling process itself must be good.
pub unsafe fn raise(flag: *mut i32, value: i32, proc: i32) -> Result<()> {
    let job = job()?;
    let proc = job.process(proc)?;
    let start = flag.addr() as u64;
    if !start.is_multiple_of(4) {
        return Err(argument(format!("flag={flag:p} is not at a multiple of 4")));
    }
    if let Some(far) = job.far(proc) {
        let ends = ((&raw const value).cast(), std::ptr::null_mut());
        // SAFETY: the value is ours.
        return unsafe { elsewhere::change(job, far, Change::Swap, ("flag", start, 4), ends, proc) };
    }
    check(job, "flag", proc, start, start.saturating_add(4))?;
    // SAFETY: it is mapped, aligned memory, which others read.
    unsafe { AtomicI32::from_ptr(flag) }.store(value, Ordering::Release);
    Ok(())
}

/// Is `proc` a process? All puts to it are complete when this returns; later stores come after them. Blocks while some are on their way to
/// another node.
///
/// # Errors
/// It is none.
#[inline]
pub fn fence(proc: Option<i32>) -> Result<()> {
    let job = job()?;
    let proc = proc.map(|proc| job.process(proc)).transpose()?;
    std::sync::atomic::fence(Ordering::SeqCst);
    job.fence(proc)
}
