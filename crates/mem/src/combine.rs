//! Reductions by kernels.

use std::ptr::null_mut;

use crate::api::{Address, Api, Object};
use crate::copy::{At, PORTION, copy_at, is_reached};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::launch::{launch, parameter};
use crate::look::{Seen, look, watched_driver};
use crate::place::Place;
use crate::{Device, Kind, Number, Op, Scratch, place, ptx};

/// See [`crate::combines`].
pub fn combines(op: Op, number: Number) -> bool {
    use Number::*;
    match op {
        Op::Minloc | Op::Maxloc => matches!(number, I16I32 | I32I32 | I64I32 | F32I32 | F64I32 | F32F32 | F64F64),
        Op::Sum | Op::Prod if matches!(number, C32 | C64) => true,
        Op::Max | Op::Min | Op::Sum | Op::Prod if matches!(number, F16 | BF16 | F32 | F64) => true,
        _ => matches!(number, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64),
    }
}

/// Bytes that the address of an element must be a multiple of.
fn alignment(number: Number) -> usize {
    use Number::*;
    match number {
        C32 | I16I32 | I32I32 | F32I32 | F32F32 => 4,
        C64 | I64I32 | F64I32 | F64F64 => 8,
        simple => simple.bytes(),
    }
}

/// See [`crate::combine`].
pub unsafe fn combine(
    op: Op,
    number: Number,
    device: Device,
    result: *mut u8,
    left: *const u8,
    right: *const u8,
    count: usize,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let api = watched_driver().ok_or_else(Error::unsupported)?;
    if !combines(op, number) {
        return Err(Error::plain(format!("there is no kernel for {op:?} of {number:?}")));
    }
    let addresses = [
        result.expose_provenance(),
        left.expose_provenance(),
        right.expose_provenance(),
    ];
    let mut seen = Vec::with_capacity(addresses.len());
    for address in addresses {
        seen.push(look(api, address)?);
    }
    let context = seen
        .iter()
        .find(|seen| seen.kind == Kind::Device(device))
        .map_or(null_mut(), |seen| seen.context);
    let place = place::of(api, device, context)?;
    let size = number.bytes();
    let reached = |at: usize| {
        Reached::of(
            api,
            place,
            addresses[at],
            seen[at],
            alignment(number),
            (count * size).min(PORTION),
        )
    };
    let (result, left, right) = (reached(0)?, reached(1)?, reached(2)?);
    let direct = result.is_direct() && left.is_direct() && right.is_direct();
    let at_once = if direct { count } else { PORTION / size };
    for begin in (0..count).step_by(at_once) {
        let count = at_once.min(count - begin);
        let (offset, bytes) = (begin * size, count * size);
        // SAFETY: the caller's promise; memory in its stead has as many bytes.
        unsafe {
            left.bring(api, place.context, offset, bytes, false)?;
            right.bring(api, place.context, offset, bytes, false)?;
        }
        place.run(api, |lane| {
            let (mut to, mut a, mut b) = (result.address(offset), left.address(offset), right.address(offset));
            let mut elements = count as u64;
            let mut parameters = [
                parameter(&mut to),
                parameter(&mut a),
                parameter(&mut b),
                parameter(&mut elements),
            ];
            let threads = elements.div_ceil(u64::from(ptx::at_once(number)));
            // SAFETY: these are what the kernel takes; all are reached and aligned.
            unsafe { launch(Kernel::Combine(op, number), api, place, lane, threads, &mut parameters) }
        })?;
        // SAFETY: as above.
        unsafe { result.bring(api, place.context, offset, bytes, true)? };
    }
    Ok(())
}

/// An end of a kernel's work that the device reaches and whose elements are aligned, or memory on the device in its stead.
struct Reached {
    scratch: Option<Scratch>,
    at: At,
}

impl Reached {
    fn of(api: &Api, place: &Place, address: usize, seen: Seen, aligned_to: usize, bytes: usize) -> Result<Self> {
        let scratch = match is_reached(place, &seen) && address.is_multiple_of(aligned_to) {
            true => None,
            false => Some(Scratch::in_place(api, place, bytes)?),
        };
        Ok(Self {
            scratch,
            at: At { address, seen },
        })
    }

    /// Is it used as it is?
    fn is_direct(&self) -> bool {
        self.scratch.is_none()
    }

    /// Where the kernel works; `offset` bytes behind the first.
    fn address(&self, offset: usize) -> Address {
        match &self.scratch {
            Some(scratch) => scratch.start().expose_provenance() as Address,
            None => (self.at.address + offset) as Address,
        }
    }

    /// Bring `bytes` bytes, `offset` bytes behind the first, to where the kernel works, or with `back` from there.
    ///
    /// # Safety
    /// The memory has as many, and so has that on the device.
    unsafe fn bring(&self, api: &Api, context: Object, offset: usize, bytes: usize, back: bool) -> Result<()> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let own = self.at.plus(offset as isize);
        let mut between = At {
            address: scratch.start().expose_provenance(),
            seen: self.at.seen,
        };
        between.seen = look(api, between.address)?;
        between.seen.context = context;
        let (to, from) = if back { (own, between) } else { (between, own) };
        // SAFETY: the caller's promise.
        unsafe { copy_at(api, to, from, bytes) }
    }
}
