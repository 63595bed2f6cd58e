//! Reductions of memory of devices by kernels, if all ranks have theirs there.
//!
//! Each rank maps the others' memory, combines one slice of all elements, and writes what comes of it wherever it belongs: no other rank reads or
//! writes that slice, so that ranks meet once after that. The first rank's elements are the leftmost operands everywhere, so results repeat.

use std::ffi::c_void;
use std::ops::Range;

use isthmus_engine::limits::DEVICE_REDUCED_FROM;
use isthmus_engine::{counters, rma};
use isthmus_mem::{self as mem, Device, Export, Kind, Mapped, Scratch};
use isthmus_os::switches::Switch;

use super::arguments::is_in_place;
use super::form::Form;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::device::{self, Combine};
use crate::error::Result;
use crate::fail;
use crate::op::Op;

const EXPORT: usize = size_of::<Export>();

/// Which results a reduction has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Results<'a> {
    /// All, for every rank.
    All,
    /// All, for this rank.
    At(usize),
    /// For each rank, those of the ranks before it and, if `inclusive`, its own.
    Prefixes { inclusive: bool },
    /// So many for each rank, which follow one another.
    Blocks(&'a [i64]),
}

impl Results<'_> {
    /// Has this rank some?
    fn are_at(self, rank: usize) -> bool {
        match self {
            Self::All | Self::Prefixes { inclusive: true } => true,
            Self::At(root) => rank == root,
            Self::Prefixes { inclusive: false } => rank > 0,
            Self::Blocks(counts) => counts[rank] > 0,
        }
    }

    /// The elements that this rank combines, of `count`.
    fn slice(self, rank: usize, ranks: usize, count: usize) -> Range<usize> {
        match self {
            Self::Blocks(counts) => {
                let start: i64 = counts[..rank].iter().sum();
                start as usize..(start + counts[rank]) as usize
            }
            _ => rank * count / ranks..(rank + 1) * count / ranks,
        }
    }
}

/// The arguments of a reduction of `count` elements of each rank.
#[derive(Clone, Copy)]
pub(super) struct ReductionArguments<'a> {
    pub sendbuf: *const c_void,
    pub recvbuf: *mut c_void,
    pub count: i64,
    pub datatype: &'a Datatype,
    pub op: &'a Op,
    pub comm: &'a Comm,
}

/// Make the call by kernels, if it is a blocking one, long, and all ranks' elements are in memory of devices that all can map. `None`: nothing
/// was done. Called only where devices are looked for ([`Switch::Devices`]). Collective; blocks.
///
/// # Safety
/// `sendbuf` must be readable and `recvbuf` writable, where results are, by the driver.
#[cold]
#[inline(never)]
pub(super) unsafe fn instead<F: Form>(
    results: Results<'_>,
    arguments: ReductionArguments<'_>,
) -> Result<Option<F::Done>> {
    match may_be(arguments) {
        false => Ok(None),
        // SAFETY: the caller's promise.
        true => F::instead(|| unsafe { reduce(results, arguments) }),
    }
}

/// May such a call be one for kernels? All ranks answer alike.
fn may_be(arguments: ReductionArguments<'_>) -> bool {
    let ReductionArguments {
        count,
        datatype,
        op,
        comm,
        ..
    } = arguments;
    // Each rank maps two buffers of each other one.
    let can_map = comm.size() > 1 && 2 * (comm.size() as usize - 1) <= mem::MOST_MAPPINGS;
    can_map && !Switch::Check.is_on() && !comm.is_inter() && is_long(count, datatype) && {
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

/// What a rank tells the others of its elements: where its own are, and where its results belong, if others write them.
fn exports(results: Results<'_>, me: usize, own: Own, bytes: u64) -> Option<[Export; 2]> {
    let export = |buffer: *const u8| -> Option<Export> {
        let export = mem::export(buffer)?;
        (export.size.checked_sub(export.offset)? >= bytes).then_some(export)
    };
    let input = export(own.input)?;
    let output = match results {
        Results::All | Results::At(_) | Results::Prefixes { .. } if results.are_at(me) => export(own.output)?,
        _ => input,
    };
    Some([input, output])
}

/// The elements of this rank.
#[derive(Clone, Copy)]
struct Own {
    input: *const u8,
    output: *mut u8,
    device: Device,
}

impl Own {
    /// `None`: they are not all in memory of a device, or these are not the arguments of such a call.
    fn of(results: Results<'_>, me: usize, arguments: ReductionArguments<'_>) -> Option<Self> {
        let ReductionArguments { sendbuf, recvbuf, .. } = arguments;
        let has_results = results.are_at(me);
        let input = match is_in_place(sendbuf) {
            true if matches!(results, Results::At(_)) && !has_results => return None,
            true => recvbuf.cast_const(),
            false if has_results && sendbuf == recvbuf.cast_const() => return None,
            false => sendbuf,
        };
        let on_device = |address: *const c_void| match mem::kind_of(address.cast()) {
            Ok(Kind::Device(device)) => Some(device),
            _ => None,
        };
        let device = on_device(input)?;
        if has_results {
            on_device(recvbuf)?;
        }
        Some(Self {
            input: input.cast(),
            output: recvbuf.cast(),
            device,
        })
    }
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

/// Combine everyone's elements. False: nothing was done. Collective; blocks.
///
/// # Safety
/// As for [`instead`]; [`may_be`] has said yes.
unsafe fn reduce(results: Results<'_>, arguments: ReductionArguments<'_>) -> Result<bool> {
    let ReductionArguments {
        count,
        datatype,
        op,
        comm,
        ..
    } = arguments;
    let Some(combine) = Combine::of(op.which(), datatype) else {
        return Ok(false);
    };
    let (ranks, me, size) = (comm.size() as usize, comm.rank() as usize, datatype.size() as usize);
    let own = Own::of(results, me, arguments);
    let told = own.and_then(|own| Some((own, exports(results, me, own, count as u64 * size as u64)?)));
    // One byte of each: most calls are on host memory, and end here.
    let (true, Some((own, told))) = (do_all(comm, told.is_some())?, told) else {
        return Ok(false);
    };
    let exports = exchange(comm, told)?;
    let bytes = count as u64 * size as u64;
    let has_all = |export: &Export| export.offset.checked_add(bytes).is_some_and(|end| end <= export.size);
    let peer = |rank: usize| comm.group.peer(rank as i32).map_or(u64::MAX, |peer| u64::from(peer.0));
    let at = |which: usize| -> Option<Vec<Place>> {
        let of_rank = |rank: usize| match rank == me {
            true => Some(Place {
                start: [own.input.cast_mut(), own.output][which],
                _mapped: None,
            }),
            false => {
                let export = Some(&exports[rank][which]).filter(|export| has_all(export))?;
                let mapped = mem::map(peer(rank), export)?;
                Some(Place {
                    start: mapped.start(),
                    _mapped: Some(mapped),
                })
            }
        };
        (0..ranks).map(of_rank).collect()
    };
    let is_in_place = |rank: usize| {
        let [input, output] = &exports[rank];
        results.are_at(rank) && (input.buffer, input.offset) == (output.buffer, output.offset)
    };
    let slice = results.slice(me, ranks, count as usize);
    let is_own_in_place = own.input == own.output.cast_const();
    let needed = match results {
        Results::All => usize::from(me > 1 && is_in_place(me)),
        Results::At(root) => usize::from(root > 1 && is_in_place(root)),
        Results::Prefixes { .. } => 2,
        Results::Blocks(_) => usize::from(is_own_in_place),
    };
    // Without memory for it the call goes on in host memory.
    let take = || {
        (0..needed)
            .map(|_| Scratch::on(own.device, (slice.len() * size).max(1)).ok())
            .collect::<Option<Vec<_>>>()
    };
    let ready = at(0).zip(at(1)).zip(take());
    let (true, Some(((inputs, outputs), scratch))) = (do_all(comm, ready.is_some())?, ready) else {
        return Ok(false);
    };
    let work = Work {
        combine,
        device: own.device,
        inputs,
        outputs,
        bytes: slice.start * size..slice.end * size,
        count: slice.len(),
        scratch,
    };
    // SAFETY: the caller's promise, of all ranks: this slice of the elements is this rank's alone, and its own block comes to its beginning when
    // all have read their slices.
    unsafe {
        let combined = match results {
            Results::All => work.all(me, is_in_place(me)),
            Results::At(root) => work.combine_to(work.output(root), is_in_place(root).then_some(root)),
            Results::Prefixes { inclusive } => work.prefixes(inclusive),
            Results::Blocks(_) if is_own_in_place => work.combine_to(work.scratch(0), None),
            Results::Blocks(_) => work.combine_to(own.output, None),
        };
        let met = agree(comm, combined.is_ok());
        combined?;
        met?;
        if let (Results::Blocks(_), true) = (results, is_own_in_place) {
            work.copy(own.output, work.scratch(0))?;
        }
    }
    counters::DEVICE_REDUCTIONS.add_anywhere(1);
    Ok(true)
}

/// Elements of a rank.
struct Place {
    start: *mut u8,
    /// Keeps them there; `None`: they are this rank's.
    _mapped: Option<Mapped>,
}

/// The slice of the elements that this rank combines.
struct Work {
    combine: Combine,
    device: Device,
    inputs: Vec<Place>,
    outputs: Vec<Place>,
    /// Where the slice lies in each.
    bytes: Range<usize>,
    count: usize,
    /// Memory of the device, each for the slice: as many as the results need.
    scratch: Vec<Scratch>,
}

/// Its unsafe functions ask for this: the slice of all inputs is readable and that of outputs, where there are results, writable by the driver,
/// and no other rank uses it.
impl Work {
    fn input(&self, rank: usize) -> *const u8 {
        self.inputs[rank].start.wrapping_add(self.bytes.start).cast_const()
    }

    fn output(&self, rank: usize) -> *mut u8 {
        self.outputs[rank].start.wrapping_add(self.bytes.start)
    }

    fn scratch(&self, which: usize) -> *mut u8 {
        self.scratch[which].start()
    }

    unsafe fn copy(&self, to: *mut u8, from: *const u8) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { mem::copy(to, from, self.bytes.len()) }.map_err(|error| device::failed(&error))
    }

    unsafe fn apply(&self, result: *mut u8, left: *const u8, right: *const u8) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.combine.apply(self.device, result, left, right, self.count as i64) }
    }

    /// Combine all to `result`, which is where the elements of the rank `in_place` lie.
    unsafe fn combine_to(&self, result: *mut u8, in_place: Option<usize>) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            // The first two may be overwritten by what comes of them.
            let later = in_place.filter(|rank| *rank > 1);
            if let Some(rank) = later {
                self.copy(self.scratch(0), self.input(rank))?;
            }
            self.apply(result, self.input(0), self.input(1))?;
            (2..self.inputs.len()).try_for_each(|rank| {
                let right = match later == Some(rank) {
                    true => self.scratch(0).cast_const(),
                    false => self.input(rank),
                };
                self.apply(result, result, right)
            })
        }
    }

    /// For every rank; of this one, `me`, the results may lie in place.
    unsafe fn all(&self, me: usize, in_place: bool) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.combine_to(self.output(me), in_place.then_some(me))?;
            let others = (0..self.outputs.len()).filter(|rank| *rank != me);
            others
                .into_iter()
                .try_for_each(|rank| self.copy(self.output(rank), self.output(me)))
        }
    }

    unsafe fn prefixes(&self, inclusive: bool) -> Result<()> {
        let (mut before, mut with) = (self.scratch(0), self.scratch(1));
        // SAFETY: the caller's promise.
        unsafe {
            for rank in 0..self.inputs.len() {
                match rank {
                    0 => self.copy(with, self.input(0))?,
                    _ => self.apply(with, before, self.input(rank))?,
                }
                match inclusive {
                    true => self.copy(self.output(rank), with)?,
                    false if rank > 0 => self.copy(self.output(rank), before)?,
                    false => {}
                }
                std::mem::swap(&mut before, &mut with);
            }
        }
        Ok(())
    }
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
