//! Reductions of memory of devices by kernels, if all ranks have theirs there.
//!
//! Each rank reads the others' memory, which it maps, and combines one slice of the elements; then each gets the other slices from those that have
//! combined them: what a ring does, without its steps. The first rank's elements are the leftmost operands everywhere, so results repeat.

use std::ops::Range;

use isthmus_datatype::Element;
use isthmus_engine::rma;
use isthmus_mem::{self as mem, Device, Export, Kind, Mapped, Number};

use crate::check;
use crate::comm::Comm;
use crate::datatype::{Datatype, Family};
use crate::device;
use crate::error::Result;
use crate::op::{Op, Predefined};

/// Shorter ones are combined by the processor, on copies in host memory: ranks must tell one another first where their elements are.
const FROM: i64 = 64 << 10;

const EXPORT: usize = size_of::<Export>();

/// The kernel of an operation on elements of a type.
#[derive(Clone, Copy)]
pub(crate) struct Combine {
    op: mem::Op,
    number: Number,
}

impl Combine {
    /// `None`: there is no kernel for it.
    pub fn of(op: &Op, datatype: &Datatype) -> Option<Self> {
        let named = datatype.named()?;
        let suits = matches!(
            named.family,
            Family::CInteger | Family::FortranInteger | Family::FloatingPoint
        );
        let [element] = named.elements else { return None };
        let number = match element {
            Element::I8 => Number::I8,
            Element::I16 => Number::I16,
            Element::I32 => Number::I32,
            Element::I64 => Number::I64,
            Element::U8 => Number::U8,
            Element::U16 => Number::U16,
            Element::U32 => Number::U32,
            Element::U64 => Number::U64,
            Element::F32 => Number::F32,
            Element::F64 => Number::F64,
            _ => return None,
        };
        let op = match op.which()? {
            Predefined::Max => mem::Op::Max,
            Predefined::Min => mem::Op::Min,
            Predefined::Sum => mem::Op::Sum,
            Predefined::Prod => mem::Op::Prod,
            Predefined::Land => mem::Op::Land,
            Predefined::Band => mem::Op::Band,
            Predefined::Lor => mem::Op::Lor,
            Predefined::Bor => mem::Op::Bor,
            Predefined::Lxor => mem::Op::Lxor,
            Predefined::Bxor => mem::Op::Bxor,
            _ => return None,
        };
        (suits && mem::combines(op, number)).then_some(Self { op, number })
    }

    /// `result[i] = left[i] op right[i]`.
    ///
    /// # Safety
    /// All are good for as many elements, in memory that `device` reaches.
    pub unsafe fn apply(
        self,
        device: Device,
        result: *mut u8,
        left: *const u8,
        right: *const u8,
        count: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let done = unsafe { mem::combine(self.op, self.number, device, result, left, right, count as usize) };
        done.map_err(|error| device::failed(&error))
    }
}

/// May such a call be one for kernels? All ranks answer alike.
pub(super) fn may_be(count: i64, datatype: &Datatype, op: &Op, comm: &Comm) -> bool {
    mem::is_watched() && !check::is_on() && comm.size() > 1 && !comm.is_inter() && is_long(count, datatype) && {
        let node = |rank| comm.group.peer(rank).map(rma::node_of);
        Combine::of(op, datatype).is_some() && (1..comm.size()).all(|rank| node(rank) == node(0))
    }
}

fn is_long(count: i64, datatype: &Datatype) -> bool {
    count.checked_mul(datatype.size()).is_some_and(|bytes| bytes >= FROM)
}

/// What a rank tells the others of its elements.
fn export(device: Option<Device>, buffer: *const u8, bytes: i64) -> Option<Export> {
    device?;
    let export = mem::export(buffer)?;
    (export.size.checked_sub(export.offset)? >= bytes as u64).then_some(export)
}

/// The elements of all ranks, or none if a rank has told of none.
fn exchange(comm: &Comm, own: [Option<Export>; 2]) -> Result<Option<Vec<[Export; 2]>>> {
    let mut told = [0_u8; 1 + 2 * EXPORT];
    if let [Some(input), Some(output)] = own {
        told[0] = 1;
        // SAFETY: there is room for both; they are plain data.
        unsafe {
            let at = told.as_mut_ptr().add(1).cast::<[Export; 2]>();
            at.write_unaligned([input, output]);
        }
    }
    let mut all = vec![0_u8; told.len() * comm.size() as usize];
    comm.team().allgather(&told, &mut all)?;
    let said = all.chunks_exact(told.len()).map(|told| {
        // SAFETY: as many bytes are there; any are exports.
        (told[0] == 1).then(|| unsafe { told.as_ptr().add(1).cast::<[Export; 2]>().read_unaligned() })
    });
    Ok(said.collect())
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
    let Some(combine) = Combine::of(op, datatype) else {
        return Ok(false);
    };
    let (ranks, me, size) = (comm.size() as usize, comm.rank() as usize, datatype.size() as usize);
    let bytes = count * size as i64;
    let device = match (mem::kind_of(input), mem::kind_of(output)) {
        (Ok(Kind::Device(_)), Ok(Kind::Device(device))) => Some(device),
        _ => None,
    };
    let own = [input, output.cast_const()].map(|buffer| export(device, buffer, bytes));
    let (Some(exports), Some(device)) = (exchange(comm, own)?, device) else {
        return Ok(false);
    };
    // From here on all go this way; a rank that cannot says so at the first meeting.
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
    let (inputs, outputs) = (map(0), map(1));
    let mut is_mapped = [u8::from(inputs.is_some() && outputs.is_some())];
    let mut all_mapped = vec![0; ranks];
    comm.team().allgather(&is_mapped, &mut all_mapped)?;
    is_mapped[0] = u8::from(all_mapped.iter().all(|mapped| *mapped == 1));
    let (Some(inputs), Some(outputs), [1]) = (inputs, outputs, is_mapped) else {
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
    let own = [u8::from(!went_well)];
    let mut all = vec![0; comm.size() as usize];
    comm.team().allgather(&own, &mut all)?;
    match all.iter().position(|failed| *failed != 0) {
        Some(rank) if went_well => Err(crate::fail!(
            Other,
            "rank {rank} could not do its part of a reduction on devices"
        )),
        _ => Ok(()),
    }
}
