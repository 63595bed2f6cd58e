//! What every collective checks of its arguments before a byte moves (MPI-5.0 §6.2).

use std::ffi::c_void;

use isthmus_collective::elements::Elements;
use isthmus_collective::{Link, Operand, Root};
use isthmus_os::switches::Switch;

use super::form::Form;
use crate::comm::Comm;
use crate::constants::{IN_PLACE, PROC_NULL, ROOT};
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::device::Use;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::op::Op;

/// What a reduction works on: `count` elements of a datatype with an operation, which is kept as long as it may be called.
#[inline]
pub(super) fn operand<'a>(datatype: &'a Datatype, count: i64, op: &Op) -> Result<Operand<'a>> {
    let reduction = op.reduction_of(datatype, count)?;
    Ok(Operand::new(datatype, reduction, op.is_commutative()))
}

/// The root that a call names.
pub(super) fn root(root: i32, comm: &Comm) -> Result<Root> {
    let inter = comm.is_inter();
    match root {
        ROOT if inter => Ok(Root::Here),
        PROC_NULL if inter => Ok(Root::Elsewhere),
        rank if !(0..comm.remote_size()).contains(&rank) => {
            let (size, whose) = (comm.remote_size(), if inter { "other group" } else { "communicator" });
            Err(fail!(Root, "root={root}, but the {whose} has {size} ranks"))
        }
        rank if inter => Ok(Root::There(rank as usize)),
        rank => Ok(Root::Rank(rank as usize)),
    }
}

/// A call that is not defined on intercommunicators.
pub(super) fn intra(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return Err(fail!(Comm, "comm={:?} is an intercommunicator", comm.handle()));
    }
    Ok(())
}

/// A buffer of `count` elements, or what stands for it where it is memory of a device.
#[inline(always)] // As for `address`.
pub(super) fn buffer<'a>(
    call: &impl Form,
    name: &str,
    buffer: *const c_void,
    count: i64,
    datatype: &'a Datatype,
) -> Result<Elements<'a>> {
    blocks_in_a_row(call, name, buffer, count, 1, datatype)
}

/// As [`buffer`], the address alone: what is given, without devices.
#[inline(always)] // An address that passes through memory is waited for.
pub(super) fn address(
    call: &impl Form,
    name: &str,
    at: *const c_void,
    count: i64,
    datatype: &Datatype,
) -> Result<*mut u8> {
    let elements = check(name, at, count, datatype)?;
    match Switch::Devices.is_on() {
        false => Ok(at.cast_mut().cast()),
        true => on_host(call, name, elements, 1, datatype),
    }
}

/// How many ranks have a block each: those of the other group, if there is one.
pub(super) fn peers(call: &impl Form) -> usize {
    match call.link().remote_size() {
        0 => call.link().size(),
        remote => remote,
    }
}

/// As [`buffer`], the first of so many blocks of as many elements each.
#[inline(always)] // As for `address`.
pub(super) fn blocks_in_a_row<'a>(
    call: &impl Form,
    name: &str,
    buffer: *const c_void,
    count: i64,
    blocks: usize,
    datatype: &'a Datatype,
) -> Result<Elements<'a>> {
    let elements = check(name, buffer, count, datatype)?;
    let address = match Switch::Devices.is_on() {
        false => elements.address,
        true => on_host(call, name, elements, blocks, datatype)?,
    };
    Ok(Elements { address, ..elements })
}

/// The address of what stands for blocks in memory of a device; theirs, if they are in host memory.
#[cold]
fn on_host(
    call: &impl Form,
    name: &str,
    elements: Elements<'_>,
    blocks: usize,
    datatype: &Datatype,
) -> Result<*mut u8> {
    let kind = datatype.check_buffer(name, elements.address.cast_const().cast(), elements.count)?;
    match kind.is_device() {
        false => Ok(elements.address),
        true => mirrored(call, name, elements, blocks),
    }
}

/// What stands for blocks in memory of a device: of what the standard calls `sendbuf` nothing is written.
fn mirrored(call: &impl Form, name: &str, elements: Elements<'_>, blocks: usize) -> Result<*mut u8> {
    let does = if name == "sendbuf" { Use::Reads } else { Use::Writes };
    let all = elements.count.saturating_mul(blocks as i64);
    call.mirror(elements.address, all, elements.datatype, does)
}

/// A buffer of `count` elements, wherever it lies.
#[inline]
fn check<'a>(name: &str, buffer: *const c_void, count: i64, datatype: &'a Datatype) -> Result<Elements<'a>> {
    if count < 0 {
        return Err(fail!(Count, "count={count} of {name} is negative"));
    }
    datatype.check_committed("datatype")?;
    if is_in_place(buffer) {
        return Err(fail!(Buffer, "{name} is MPI_IN_PLACE, which it may not be here"));
    }
    datatype.check_address(name, buffer, count)?;
    Elements::new(buffer, count, datatype).checked()
}

/// One block of elements per rank (of the other group, if there is one), with a count and a displacement in extents for each.
pub(super) struct Blocks<'a> {
    all: Elements<'a>,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    /// What stands for each of them, where memory of devices is looked for.
    mirrored: Option<Vec<Elements<'a>>>,
}

impl<'a> Blocks<'a> {
    /// The block for a rank.
    pub fn at(&self, rank: usize) -> Elements<'a> {
        if let Some(mirrored) = &self.mirrored {
            return mirrored[rank];
        }
        self.all.at(self.displacements.get(rank), self.counts.get(rank))
    }

    /// Is any of them not empty?
    pub fn hold_data(&self) -> bool {
        self.counts.iter().any(|count| count > 0)
    }
}

/// Blocks in a buffer.
pub(super) fn blocks<'a>(
    call: &impl Form,
    name: &str,
    address: *const c_void,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    datatype: Handle<Datatype>,
    comm: &Comm,
) -> Result<Blocks<'a>> {
    for_every_rank(name, counts, displacements, comm)?;
    let largest = counts.iter().max().unwrap_or(0);
    let datatype = datatype.resolve_for(largest, "datatype")?;
    used_blocks(call, name, (address, largest), counts, displacements, datatype, |_| {
        true
    })
}

/// As [`blocks`], of at most `largest` elements each, of which those are looked at that `is_used` names.
pub(super) fn used_blocks<'a>(
    call: &impl Form,
    name: &str,
    (address, largest): (*const c_void, i64),
    counts: Counts<'a>,
    displacements: Counts<'a>,
    datatype: &'a Datatype,
    is_used: impl Fn(usize) -> bool,
) -> Result<Blocks<'a>> {
    let all = check(name, address, largest, datatype)?;
    let block = |rank| match is_used(rank) {
        true => all.at(displacements.get(rank), counts.get(rank)),
        false => all.at(0, 0),
    };
    let on_host = |rank| {
        let block = block(rank);
        let address = on_host(call, name, block, 1, datatype)?;
        Ok(Elements { address, ..block })
    };
    let mirrored = match Switch::Devices.is_on() {
        false => None,
        true => Some((0..counts.len()).map(on_host).collect::<Result<_>>()?),
    };
    Ok(Blocks {
        all,
        counts,
        displacements,
        mirrored,
    })
}

/// Blocks of a datatype each, with displacements in bytes.
pub(super) fn typed_blocks(
    call: &impl Form,
    name: &str,
    address: *const c_void,
    counts: Counts<'_>,
    displacements: Counts<'_>,
    datatypes: &[Handle<Datatype>],
    comm: &Comm,
) -> Result<Vec<Elements<'static>>> {
    for_every_rank(name, counts, displacements, comm)?;
    if datatypes.len() < comm.remote_size() as usize {
        return Err(fail!(Arg, "the datatypes of {name} are missing"));
    }
    let block = |(rank, datatype): (usize, &Handle<Datatype>)| {
        let place = address.wrapping_byte_offset(displacements.get(rank) as isize);
        let count = counts.get(rank);
        buffer(call, name, place, count, datatype.resolve_for(count, "datatype")?)
    };
    datatypes
        .iter()
        .take(comm.remote_size() as usize)
        .enumerate()
        .map(block)
        .collect()
}

fn for_every_rank(name: &str, counts: Counts<'_>, displacements: Counts<'_>, comm: &Comm) -> Result<()> {
    let size = comm.remote_size() as usize;
    if counts.len() < size || displacements.len() < size {
        return Err(fail!(Arg, "the counts or displacements of {name} are missing"));
    }
    not_negative(name, counts)
}

/// Counts of one block per rank.
pub(super) fn not_negative(name: &str, counts: Counts<'_>) -> Result<()> {
    match counts.iter().enumerate().find(|(_, count)| *count < 0) {
        Some((rank, count)) => Err(fail!(Count, "count={count} for rank {rank} of {name} is negative")),
        None => Ok(()),
    }
}

/// Refuse one buffer given twice where both hold data.
pub(super) fn distinct(sendbuf: *const c_void, recvbuf: *const c_void, holds_data: bool) -> Result<()> {
    if holds_data && sendbuf == recvbuf && !sendbuf.is_null() {
        return Err(fail!(
            Buffer,
            "sendbuf and recvbuf are both {sendbuf:?}; MPI_IN_PLACE says that this is meant"
        ));
    }
    Ok(())
}

/// As [`is_in_place`], which means nothing on an intercommunicator: there, where a buffer matters, it is an error.
pub(super) fn in_place(buffer: *const c_void, comm: &Comm) -> Result<bool> {
    let in_place = is_in_place(buffer);
    if in_place && comm.is_inter() {
        return Err(fail!(
            Buffer,
            "sendbuf is MPI_IN_PLACE, which it may not be on an intercommunicator"
        ));
    }
    Ok(in_place)
}

/// Is it `MPI_IN_PLACE`?
pub(super) fn is_in_place(buffer: *const c_void) -> bool {
    std::ptr::eq(buffer, IN_PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[test]
    fn counts_without_elements_are_checked() {
        let code = |result: Result<Elements<'_>>| result.map(drop).unwrap_err().code();
        let int = Handle::<Datatype>::from_raw(0x209).resolve("datatype").unwrap();
        let value = 5i32;
        let good = (&raw const value).cast();
        assert!(check("buf", good, 1, int).is_ok());
        assert_eq!(code(check("buf", good, -1, int)), Class::Count as i32);
        assert_eq!(code(check("buf", good, i64::MAX, int)), Class::Count as i32);
        assert_eq!(code(check("buf", std::ptr::null(), 1, int)), Class::Buffer as i32);
        assert_eq!(code(check("buf", IN_PLACE, 1, int)), Class::Buffer as i32);
        assert!(distinct(good, good, true).is_err());
        assert!(distinct(good, good, false).is_ok());
        assert!(not_negative("buf", Counts::Int(&[1, -1])).is_err());
    }
}
