//! Puts and gets: copies, made by the caller, complete at both ends when they return.

use std::sync::atomic::{AtomicI32, Ordering};

use isthmus_transfer::Layout;
use isthmus_transfer::copy::copy;
use isthmus_transfer::local::copy_range;
use isthmus_transfer::rows::copy_alike;

use crate::directory;
use crate::error::{Error, Result, argument};
use crate::life::{Job, job};
use crate::section::Section;

/// Which of the two ends is global memory of the process that the call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Of a get.
    Source,
    /// Of a put, an accumulate.
    Target,
}

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
    let (source, target) = (from.expose_provenance() as u64, to.expose_provenance() as u64);
    checked(job, section, end, source, target, proc)?;
    // SAFETY: as above.
    unsafe { copy_section(section, source, target) };
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

/// One entry of a vector call (`armci_giov_t`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Vector {
    /// Where the pieces come from.
    pub sources: *const *mut u8,
    /// Where they go.
    pub targets: *const *mut u8,
    /// How many there are.
    pub count: i32,
    /// Bytes of each.
    pub bytes: i32,
}

impl Vector {
    /// Call `piece(source, target, bytes)` for each.
    ///
    /// # Errors
    /// A negative count, a null array, or what `piece` says.
    ///
    /// # Safety
    /// The arrays must have as many elements as `count` says.
    pub unsafe fn for_each(&self, mut piece: impl FnMut(*mut u8, *mut u8, u64) -> Result<()>) -> Result<()> {
        let (Ok(count), Ok(bytes)) = (usize::try_from(self.count), u64::try_from(self.bytes)) else {
            return Err(argument(format!(
                "ptr_array_len={} or bytes={} is negative",
                self.count, self.bytes
            )));
        };
        if count == 0 || bytes == 0 {
            return Ok(());
        }
        if self.sources.is_null() || self.targets.is_null() {
            return Err(argument("src_ptr_array or dst_ptr_array is null"));
        }
        for at in 0..count {
            // SAFETY: the caller's promise.
            let (source, target) = unsafe { (self.sources.add(at).read(), self.targets.add(at).read()) };
            piece(source, target, bytes)?;
        }
        Ok(())
    }
}

/// The entries of a vector call.
///
/// # Errors
/// A negative length, or a null array.
///
/// # Safety
/// `entries` must have `length` elements, which stay as they are while the result is used.
pub unsafe fn vectors<'a>(entries: *const Vector, length: i32) -> Result<&'a [Vector]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller's promise.
        Ok(length) if !entries.is_null() => Ok(unsafe { std::slice::from_raw_parts(entries, length) }),
        _ => Err(argument(format!("darr={entries:p} with len={length} is no array"))),
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
    check(job, "flag", proc, start, start.saturating_add(4))?;
    if !start.is_multiple_of(4) {
        return Err(argument(format!("flag={flag:p} is not at a multiple of 4")));
    }
    // SAFETY: it is mapped, aligned memory, which others read.
    unsafe { AtomicI32::from_ptr(flag) }.store(value, Ordering::Release);
    Ok(())
}

/// Is `proc` a process? All puts to it are complete when they return; later stores come after them.
///
/// # Errors
/// It is none.
#[inline]
pub fn fence(proc: Option<i32>) -> Result<()> {
    let job = job()?;
    if let Some(proc) = proc {
        job.process(proc)?;
    }
    std::sync::atomic::fence(Ordering::SeqCst);
    Ok(())
}
