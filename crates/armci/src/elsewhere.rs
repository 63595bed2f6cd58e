//! Puts, gets and changes of memory of other nodes, as ARMCI's calls name it: by addresses in its owner ([`crate::far`]).

use std::ops::Range;

use isthmus_engine::layout::{Layout, Span};

use crate::error::{Error, Result};
use crate::far::{self, BlockTarget, Change, Far};
use crate::life::Job;
use crate::nonblocking;
use crate::section::Section;
use crate::vector::{End, Vector};

/// The position of these addresses of a process in its block.
///
/// # Errors
/// No block of it has them all.
pub fn target_of(job: &Job, what: &'static str, proc: usize, addresses: &Range<u64>) -> Result<BlockTarget> {
    far::find(job.peer(proc), addresses).ok_or(Error::Outside {
        what,
        address: addresses.start,
        length: addresses.end.saturating_sub(addresses.start),
        proc,
    })
}

/// The addresses that a layout touches.
///
/// # Errors
/// It leaves the address space.
pub fn extent(what: &'static str, layout: &Layout<'_>, proc: usize) -> Result<Range<u64>> {
    layout.extent().ok_or(Error::Outside {
        what,
        address: 0,
        length: u64::MAX,
        proc,
    })
}

/// Copy a section from or to a process of another node. Blocks in its blocking form.
///
/// # Errors
/// The global end is no global memory of it, or it has failed.
///
/// # Safety
/// The other end must be good until it is over.
#[cold]
#[inline(never)]
pub unsafe fn section(
    job: &Job,
    far: &Far,
    end: End,
    section: &Section,
    (from, to): (u64, u64),
    proc: usize,
) -> Result<()> {
    let (what, global) = match end {
        End::Source => ("src", section.source(from)),
        End::Target => ("dst", section.target(to)),
    };
    let extent = extent(what, &global, proc)?;
    let target = target_of(job, what, proc, &extent)?;
    let offset = |address: u64| target.at.wrapping_add(address.wrapping_sub(extent.start));
    // SAFETY: the caller's promise.
    unsafe {
        match end {
            End::Target => far.put(&target, &section.target(offset(to)), &section.source(from))?,
            End::Source => far.get(&target, &section.source(offset(from)), &section.target(to))?,
        }
    }
    Ok(())
}

/// The pieces of a vector call that lie in one block: offsets there, and addresses here.
#[derive(Default)]
struct Pieces {
    block: Option<BlockTarget>,
    there: Vec<Span>,
    here: Vec<Span>,
}

/// Call `each` with the pieces of the entries, block by block, in their order.
///
/// # Errors
/// Global ends of pieces are no global memory of the process; or what `each` says.
///
/// # Safety
/// The arrays must be as long as they say.
pub unsafe fn by_block(
    job: &Job,
    end: End,
    entries: &[Vector],
    proc: usize,
    mut each: impl FnMut(&BlockTarget, &Layout<'_>, &Layout<'_>) -> Result<()>,
) -> Result<()> {
    let mut pieces = Pieces::default();
    for entry in entries {
        let add = |source: *mut u8, target: *mut u8, length: u64| {
            let (what, there, here) = match end {
                End::Source => ("src_ptr_array", source, target),
                End::Target => ("dst_ptr_array", target, source),
            };
            let start = there.addr() as u64;
            let found = target_of(job, what, proc, &(start..start.saturating_add(length)))?;
            let address = found.at;
            if !pieces.block.as_ref().is_some_and(|block| block.is_with(&found)) {
                pieces.flush(&mut each)?;
                pieces.block = Some(found);
            }
            pieces.there.push(Span { address, length });
            let address = here.expose_provenance() as u64;
            pieces.here.push(Span { address, length });
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { entry.for_each(add) }?;
    }
    pieces.flush(&mut each)
}

impl Pieces {
    fn flush(&mut self, each: &mut impl FnMut(&BlockTarget, &Layout<'_>, &Layout<'_>) -> Result<()>) -> Result<()> {
        let (there, here) = (std::mem::take(&mut self.there), std::mem::take(&mut self.here));
        match self.block.take() {
            Some(block) => each(&block, &Layout::Spans(&there), &Layout::Spans(&here)),
            None => Ok(()),
        }
    }
}

/// Copy the pieces of a vector call from or to a process of another node. As [`section`].
///
/// # Errors
/// As for [`section`].
///
/// # Safety
/// As for [`section`]; the arrays must be as long as they say.
#[cold]
#[inline(never)]
pub unsafe fn pieces(job: &Job, far: &Far, end: End, entries: &[Vector], proc: usize) -> Result<()> {
    let copy = |block: &BlockTarget, there: &Layout<'_>, here: &Layout<'_>| {
        // SAFETY: as in `section`.
        unsafe {
            match end {
                End::Target => far.put(block, there, here)?,
                End::Source => far.get(block, there, here)?,
            }
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    nonblocking::together(|| unsafe { by_block(job, end, entries, proc, copy) })
}

/// Change the number of `width` bytes at `at`, by the operand; what was there goes to `result`, unless that is null, and is there when this
/// returns.
///
/// # Errors
/// It is no global memory of the process, or the process has failed.
///
/// # Safety
/// The operand must be readable, and `result` writable or null, for as many bytes.
#[cold]
#[inline(never)]
pub unsafe fn change(
    job: &Job,
    far: &Far,
    change: Change,
    (what, at, width): (&'static str, u64, u32),
    ends: (*const u8, *mut u8),
    proc: usize,
) -> Result<()> {
    let target = target_of(job, what, proc, &(at..at.saturating_add(u64::from(width))))?;
    // SAFETY: the caller's promise.
    Ok(unsafe { far.change(&target, change, width, ends) }?)
}
