//! Reductions by kernels.

use std::ptr::null_mut;

use crate::copy::Reached;
use crate::error::{Error, Result};
use crate::kernels::{Kernel, parameter};
use crate::look::{look, watched_driver};
use crate::{Device, Kind, Number, Op, place};

/// Bytes that are combined at a time where some of them have to be brought to the device.
const PORTION: usize = 32 << 20;

/// See [`crate::combines`].
pub fn combines(op: Op, number: Number) -> bool {
    let float = matches!(number, Number::F32 | Number::F64);
    !float || matches!(op, Op::Max | Op::Min | Op::Sum | Op::Prod)
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
    let reached = |at: usize| Reached::of(api, place, addresses[at], seen[at], size, (count * size).min(PORTION));
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
            let threads = elements.div_ceil((16 / size as u64).clamp(2, 4));
            // SAFETY: these are what the kernel takes; all are reached and aligned.
            unsafe { Kernel::Combine(op, number).launch(api, place, lane, threads, &mut parameters) }
        })?;
        // SAFETY: as above.
        unsafe { result.bring(api, place.context, offset, bytes, true)? };
    }
    Ok(())
}
