//! Read-modify-write of one number of a process.

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use crate::arguments::check_host;
use crate::elsewhere;
use crate::error::{Result, argument};
use crate::far::{Change, Far};
use crate::life::{Job, job};
use crate::transfer::check;

/// The operation, and the type of the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Exchange two `int`s.
    Swap,
    /// Exchange two `long`s.
    SwapLong,
    /// Add to an `int`.
    FetchAndAdd,
    /// Add to a `long`.
    FetchAndAddLong,
}

impl Operation {
    /// By the numbers of `armci.h`.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn of(number: i32) -> Result<Self> {
        Ok(match number {
            10 => Self::Swap,
            11 => Self::SwapLong,
            12 => Self::FetchAndAdd,
            13 => Self::FetchAndAddLong,
            _ => return Err(argument(format!("op={number} is no read-modify-write operation"))),
        })
    }
}

/// The same at a process of another node. Blocks until the answer is there.
///
/// # Safety
/// `local` must be good or null.
#[cold]
unsafe fn rmw_far(
    job: &Job,
    far: &Far,
    operation: Operation,
    (start, width): (u64, u64),
    local: *mut u8,
    extra: i32,
    proc: usize,
) -> Result<()> {
    if !start.is_multiple_of(width) {
        return Err(argument(format!("prem={start:#x} is not at a multiple of {width}")));
    }
    if local.is_null() {
        return Err(argument("ploc is null"));
    }
    let mut operand = i64::from(extra).to_le_bytes();
    let change = match operation {
        Operation::Swap | Operation::SwapLong => {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(local, operand.as_mut_ptr(), width as usize) };
            Change::Swap
        }
        Operation::FetchAndAdd | Operation::FetchAndAddLong => Change::Add,
    };
    // SAFETY: the caller's promise.
    unsafe {
        elsewhere::change(
            job,
            far,
            change,
            ("prem", start, width as u32),
            (operand.as_ptr(), local),
            proc,
        )
    }
}

/// Do it to the number at `remote` of `proc`; what was there goes to `local`, from where a swap takes what to store.
/// Atomic against other read-modify-writes.
///
/// # Errors
/// It is not global memory of `proc`, or not aligned.
///
/// # Safety
/// `local` must be good.
pub unsafe fn rmw(operation: Operation, local: *mut u8, remote: *mut u8, extra: i32, proc: i32) -> Result<()> {
    let job = job()?;
    let proc = job.process(proc)?;
    check_host("ploc", local)?;
    let width = match operation {
        Operation::Swap | Operation::FetchAndAdd => 4,
        Operation::SwapLong | Operation::FetchAndAddLong => 8,
    };
    let start = remote.addr() as u64;
    if let Some(far) = job.far(proc) {
        // SAFETY: the caller's promise.
        return unsafe { rmw_far(job, far, operation, (start, width), local, extra, proc) };
    }
    check(job, "prem", proc, start, start.saturating_add(width))?;
    if !start.is_multiple_of(width) {
        return Err(argument(format!("prem={remote:p} is not at a multiple of {width}")));
    }
    if local.is_null() {
        return Err(argument("ploc is null"));
    }
    // SAFETY: the remote number is mapped and aligned, the local one is the caller's.
    unsafe {
        match operation {
            Operation::Swap => {
                let local = local.cast::<i32>();
                let number = AtomicI32::from_ptr(remote.cast());
                local.write_unaligned(number.swap(local.read_unaligned(), Ordering::SeqCst));
            }
            Operation::SwapLong => {
                let local = local.cast::<i64>();
                let number = AtomicI64::from_ptr(remote.cast());
                local.write_unaligned(number.swap(local.read_unaligned(), Ordering::SeqCst));
            }
            Operation::FetchAndAdd => {
                let number = AtomicI32::from_ptr(remote.cast());
                local
                    .cast::<i32>()
                    .write_unaligned(number.fetch_add(extra, Ordering::SeqCst));
            }
            Operation::FetchAndAddLong => {
                let number = AtomicI64::from_ptr(remote.cast());
                local
                    .cast::<i64>()
                    .write_unaligned(number.fetch_add(i64::from(extra), Ordering::SeqCst));
            }
        }
    }
    Ok(())
}
