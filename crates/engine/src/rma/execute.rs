//! Doing what others ask of this process's regions, however the request came.
//!
//! # Safety
//! A request comes from a peer: region, offsets, lengths and the kernel's number are checked before anything is touched. That the elements
//! are as wide as the kernel takes them to be is believed: it maps our segment, and could as well write there itself.

use std::sync::Mutex;

use isthmus_datatype::Kernel;
use isthmus_datatype::op;
use isthmus_transfer::{Layout, Level};

use super::combine::{Class, Combine, Operator};
use super::flow::Flow;
use super::mailbox::Rows;
use super::region;
use super::target::Target;
use crate::types::Peer;

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum What {
    Put = 1,
    Get = 2,
    Accumulate = 3,
    GetAccumulate = 4,
    CompareSwap = 5,
    /// What a layer above understands: the data.
    Active = 6,
    /// A key by which the network reaches the region.
    Expose = 7,
    /// Several operations, one after the other: each after its length. The answer has their results in a row.
    Batch = 8,
}

impl What {
    /// From its number.
    #[inline]
    pub fn of(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Put,
            2 => Self::Get,
            3 => Self::Accumulate,
            4 => Self::GetAccumulate,
            5 => Self::CompareSwap,
            6 => Self::Active,
            7 => Self::Expose,
            8 => Self::Batch,
            _ => return None,
        })
    }
}

/// What a peer asks for, in its numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PeerRequest {
    pub what: u32,
    pub region: u32,
    pub class: u32,
    pub operator: u32,
    pub width: u32,
    pub number: u32,
}

/// Do what is asked to the `length` bytes from offset `at` on. False: it makes no sense.
///
/// # Safety
/// `given` bytes must be readable at `data`, and if there are results, as many as are asked for writable at `result`.
#[inline]
pub(super) unsafe fn do_at(
    wanted: PeerRequest,
    at: u64,
    length: u64,
    data: *const u8,
    given: usize,
    result: *mut u8,
) -> bool {
    let done = with_own(wanted.region, |target| {
        let flow = Flow::new();
        let enough = |wanted: u64| (given as u64 == wanted).then_some(());
        // SAFETY: the caller's promise; lengths are compared, and the functions check offsets against the region, which is ours.
        unsafe {
            match What::of(wanted.what)? {
                What::Put => {
                    enough(length)?;
                    flow.put_bytes(target, at, data, given).ok()?;
                }
                What::Get => {
                    flow.get_bytes(target, at, result, length as usize).ok()?;
                }
                _ => return execute_on(target, wanted, &Layout::contiguous(at, length), data, given, result),
            }
        }
        Some(())
    });
    done.is_some()
}

/// As [`do_at`], on rows of the region.
///
/// # Safety
/// As for [`do_at`].
pub(super) unsafe fn do_rows(
    wanted: PeerRequest,
    (at, length): (u64, u64),
    Rows { block, stride }: Rows,
    (data, given): (*const u8, usize),
    result: *mut u8,
) -> bool {
    let done = with_own(wanted.region, |target| {
        if block == 0 || !length.is_multiple_of(block) {
            return None;
        }
        let levels = [Level {
            count: length / block,
            stride,
        }];
        // SAFETY: the caller's promise.
        unsafe {
            execute_on(
                target,
                wanted,
                &Layout::strided(at, block, &levels),
                data,
                given,
                result,
            )
        }
    });
    done.is_some()
}

/// Use the region of this process that has this number.
#[inline]
pub(super) fn with_own(region: u32, f: impl FnOnce(&Target) -> Option<()>) -> Option<()> {
    /// The last one that was asked for.
    static LAST: Mutex<Option<(u32, u64, Target)>> = Mutex::new(None);
    let now = region::generation();
    // Another thread may be at it.
    let mut last = LAST.try_lock();
    if let Ok(last) = &last
        && let Some((number, then, target)) = &**last
        && (*number, *then) == (region, now)
    {
        return f(target);
    }
    let target = Target::attach(Peer(super::home().ok()?.me), region::own_key(region)?).ok()?;
    let done = f(&target);
    if let Ok(last) = &mut last {
        **last = Some((region, now, target));
    }
    done
}

/// # Safety
/// As for [`do_at`].
pub(super) unsafe fn execute_on(
    target: &Target,
    wanted: PeerRequest,
    at: &Layout<'_>,
    data: *const u8,
    given: usize,
    result: *mut u8,
) -> Option<()> {
    let bytes = at.length();
    let enough = |wanted: u64| (given as u64 == wanted).then_some(());
    let flow = Flow::new();
    let into = Layout::local(result, bytes);
    let from = Layout::local(data, bytes);
    // SAFETY: lengths were compared, and the functions check offsets against the region, which is ours.
    let done = unsafe {
        match What::of(wanted.what)? {
            What::Put => {
                enough(bytes)?;
                flow.put(target, at, &from)
            }
            What::Get => flow.get(target, at, &into),
            What::Accumulate => {
                enough(bytes)?;
                flow.accumulate(target, at, &from, combine(wanted)?)
            }
            What::GetAccumulate => {
                // A no-op looks at no operands.
                let is_kept = wanted.operator == Operator::NoOp as u32;
                enough(if is_kept && given == 0 { 0 } else { bytes })?;
                flow.get_accumulate(target, at, &from, &into, combine(wanted)?)
            }
            What::CompareSwap => {
                enough(2 * bytes)?;
                (u64::from(wanted.width) == bytes).then_some(())?;
                let first = at.cursor(0).block();
                let swap = data.add(bytes as usize);
                flow.compare_swap(target, first.address, wanted.width, data, swap, result)
            }
            What::Active | What::Expose | What::Batch => return None,
        }
    };
    done.ok().map(|_| ())
}

/// As [`op::find_numbered`], which may have to look through tables.
fn find_last_kernel(number: u32) -> Option<Kernel> {
    static LAST: Mutex<Option<(u32, Kernel)>> = Mutex::new(None);
    if number < op::FIRST_NUMBER {
        return None;
    }
    let mut last = LAST.try_lock();
    if let Ok(last) = &last
        && let Some((known, kernel)) = **last
        && known == number
    {
        return Some(kernel);
    }
    let kernel = op::find_numbered(number)?;
    if let Ok(last) = &mut last {
        **last = Some((number, kernel));
    }
    Some(kernel)
}

fn combine(header: PeerRequest) -> Option<Combine> {
    let class = match header.class {
        0 => Class::Signed,
        1 => Class::Unsigned,
        2 => Class::Float,
        3 => Class::Complex,
        _ => Class::Opaque,
    };
    let operator = match header.operator {
        0 => Operator::Replace,
        1 => Operator::NoOp,
        2 => Operator::Sum,
        3 => Operator::Product,
        4 => Operator::Minimum,
        5 => Operator::Maximum,
        6 => Operator::And,
        7 => Operator::Or,
        8 => Operator::Xor,
        _ => Operator::Other,
    };
    match find_last_kernel(header.number) {
        // SAFETY: the kernel is the number's.
        Some(kernel) => unsafe { Combine::with(class, header.width, operator, header.number, kernel) },
        None => Combine::of(class, header.width, operator),
    }
}
