//! Reductions of memory of devices by kernels, if all ranks have theirs there.
//!
//! Each rank maps the others' memory and combines one slice of the elements; then it copies the other slices from the ranks that have combined
//! them. The first rank's elements are the leftmost operands everywhere, so results repeat.

use std::ops::Range;

use isthmus_engine::limits::DEVICE_REDUCED_FROM;
use isthmus_engine::rma;
use isthmus_mem::{self as mem, Device, Export, Kind, Mapped};

use crate::check;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::device::{self, Combine};
use crate::error::Result;
use crate::fail;
use crate::op::Op;

const EXPORT: usize = size_of::<Export>();

/// May such a call be one for kernels? All ranks answer alike.
pub(super) fn may_be(count: i64, datatype: &Datatype, op: &Op, comm: &Comm) -> bool {
    mem::is_watched() && !check::is_on() && comm.size() > 1 && !comm.is_inter() && is_long(count, datatype) && {
        let node = |rank| comm.group.peer(rank).map(rma::node_of);
        datatype.is_contiguous()
            && Combine::of(op.which(), datatype).is_some()
            && (1..comm.size()).all(|rank| node(rank) == node(0))
    }
}

fn is_long(count: i64, datatype: &Datatype) -> bool {
    count
        .checked_mul(datatype.size())
        .is_some_and(|bytes| bytes >= DEVICE_REDUCED_FROM as i64)
}

/// What a rank tells the others of its elements.
fn export(device: Option<Device>, buffer: *const u8, bytes: i64) -> Option<Export> {
    device?;
    let export = mem::export(buffer)?;
    (export.size.checked_sub(export.offset)? >= bytes as u64).then_some(export)
}

/// The elements of all ranks.
fn exchange(comm: &Comm, own: [Export; 2]) -> Result<Vec<[Export; 2]>> {
    const BYTES: usize = 2 * EXPORT;
    // SAFETY: an export is plain data without holes.
    let told: [u8; BYTES] = unsafe { std::mem::transmute(own) };
    let mut all = vec![0_u8; BYTES * comm.size() as usize];
    comm.team().allgather(&told, &mut all)?;
    // SAFETY: as many bytes are there; any are exports.
    let of = |told: &[u8]| unsafe { told.as_ptr().cast::<[Export; 2]>().read_unaligned() };
    Ok(all.chunks_exact(BYTES).map(of).collect())
}

/// Does every rank say yes?
fn do_all(comm: &Comm, yes: bool) -> Result<bool> {
    let mut all = vec![0_u8; comm.size() as usize];
    comm.team().allgather(&[u8::from(yes)], &mut all)?;
    Ok(all.iter().all(|yes| *yes == 1))
}

/// Combine everyone's `count` elements at `input`, to `output` at all. False: nothing was done, since some rank's are not in memory of a device that
/// all can map. Collective; blocks.
///
/// # Safety
/// `input` must be readable and `output` writable by the driver; they are the same or do not overlap. [`may_be`] has said yes.
pub(super) unsafe fn allreduce(
    input: *const u8,
    output: *mut u8,
    count: i64,
    datatype: &Datatype,
    op: &Op,
    comm: &Comm,
) -> Result<bool> {
    let Some(combine) = Combine::of(op.which(), datatype) else {
        return Ok(false);
    };
    let (ranks, me, size) = (comm.size() as usize, comm.rank() as usize, datatype.size() as usize);
    let bytes = count * size as i64;
    let device = match (mem::kind_of(input), mem::kind_of(output)) {
        (Ok(Kind::Device(_)), Ok(Kind::Device(device))) => Some(device),
        _ => None,
    };
    let own = [input, output.cast_const()].map(|buffer| export(device, buffer, bytes));
    let own = match (own, device) {
        ([Some(input), Some(output)], Some(device)) => Some(([input, output], device)),
        _ => None,
    };
    // One byte of each: most calls are on host memory, and end here.
    let (true, Some((own, device))) = (do_all(comm, own.is_some())?, own) else {
        return Ok(false);
    };
    let exports = exchange(comm, own)?;
    let slice = |rank: usize| -> Range<usize> {
        let at = |part: usize| part * count as usize / ranks;
        at(rank)..at(rank + 1)
    };
    let peer = |rank: usize| comm.group.peer(rank as i32).map_or(u64::MAX, |peer| u64::from(peer.0));
    let map = |which: usize| -> Option<Vec<(Option<Mapped>, *mut u8)>> {
        let of_rank = |rank: usize| match rank == me {
            true => Some((None, [input.cast_mut(), output][which])),
            false => {
                let mapped = mem::map(peer(rank), &exports[rank][which])?;
                let start = mapped.start();
                Some((Some(mapped), start))
            }
        };
        (0..ranks).map(of_rank).collect()
    };
    let mapped = map(0).zip(map(1));
    let (true, Some((inputs, outputs))) = (do_all(comm, mapped.is_some())?, mapped) else {
        return Ok(false);
    };
    let mine = slice(me);
    // SAFETY: the caller's promise, of all ranks: each writes its own slice of its own output alone, and of that of others reads what they have
    // finished, before the second meeting.
    unsafe {
        let at = |buffer: *mut u8, element: usize| buffer.wrapping_add(element * size);
        let (target, length) = (at(output, mine.start), mine.len() as i64);
        let operand = |rank: usize| at(inputs[rank].1, mine.start).cast_const();
        // In place this rank's own elements lie where the result goes, until they are combined.
        let kept = match input == output && me > 1 && length > 0 {
            true => Some(keep(device, operand(me), mine.len() * size)),
            false => None,
        };
        let kept = kept.transpose();
        let combined = kept.and_then(|kept| {
            let operand = |rank: usize| match &kept {
                Some(kept) if rank == me => kept.start().cast_const(),
                _ => operand(rank),
            };
            combine.apply(device, target, operand(0), operand(1), length)?;
            (2..ranks).try_for_each(|rank| combine.apply(device, target, target, operand(rank), length))
        });
        let met = agree(comm, combined.is_ok());
        combined?;
        met?;
        let copied = (0..ranks).filter(|rank| *rank != me).try_for_each(|rank| {
            let part = slice(rank);
            let (to, from) = (at(output, part.start), at(outputs[rank].1, part.start));
            mem::copy(to, from, part.len() * size).map_err(|error| device::failed(&error))
        });
        let met = agree(comm, copied.is_ok());
        copied?;
        met?;
    }
    Ok(true)
}

/// A copy of bytes on the device.
///
/// # Safety
/// They must be readable by the driver.
unsafe fn keep(device: Device, from: *const u8, bytes: usize) -> Result<mem::Scratch> {
    let kept = mem::Scratch::on(device, bytes).map_err(|error| device::failed(&error))?;
    // SAFETY: the caller's promise; there is room.
    unsafe { mem::copy(kept.start(), from, bytes) }.map_err(|error| device::failed(&error))?;
    Ok(kept)
}

/// Meet, and say whether all went well here. An error: it did not at another rank.
fn agree(comm: &Comm, went_well: bool) -> Result<()> {
    match do_all(comm, went_well)? {
        false if went_well => Err(fail!(
            Other,
            "another rank could not do its part of a reduction on devices"
        )),
        _ => Ok(()),
    }
}
