//! Put, get, accumulate and their kin: copies between a buffer and the blocks that a patch touches.

use isthmus_armci::accumulate::{self, Sum};
use isthmus_armci::arguments::check_host;
use isthmus_armci::error::room;
use isthmus_armci::life::job;
use isthmus_armci::nonblocking::together;
use isthmus_armci::section::Section;
use isthmus_armci::transfer::{copy_section, move_far};
use isthmus_armci::vector::End;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::life;
use crate::patch::{MOST_DIMENSIONS, Patch, offset};

/// An operation on a patch.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    /// From the buffer to the array.
    Put,
    /// From the array to the buffer.
    Get,
    /// Added to the array, after each element of the buffer was multiplied with this one.
    Accumulate(*const u8),
}

/// A buffer of the program: where the first element is, and the distance between neighbours in each dimension, in elements.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// First element.
    pub at: *mut u8,
    /// By dimension.
    pub strides: Vec<i64>,
}

impl Buffer {
    /// As C programs tell it: `ld[d]` is the extent of dimension `d + 1` in the buffer, anything where the patch has one row.
    ///
    /// # Errors
    /// It is null, or an extent is less than the patch's.
    pub fn new(at: *mut u8, ld: &[i64], patch: &Patch) -> Result<Self> {
        if at.is_null() {
            return Err(Error::argument("buf is null"));
        }
        check_host("buf", at)?;
        let extents = patch.extents();
        let mut strides = vec![1; extents.len()];
        for d in (0..extents.len().saturating_sub(1)).rev() {
            // An extent is used if there is more than one row to step over.
            if extents[..=d].iter().all(|extent| *extent == 1) {
                strides[d] = strides[d + 1] * extents[d + 1];
                continue;
            }
            if ld[d] < extents[d + 1] {
                return Err(Error::argument(format!(
                    "ld[{d}]={} is less than the patch's extent of dimension {}, {}",
                    ld[d],
                    d + 1,
                    extents[d + 1]
                )));
            }
            strides[d] = strides[d + 1] * ld[d];
        }
        Ok(Self { at, strides })
    }

    /// Without gaps.
    pub fn dense(at: *mut u8, patch: &Patch) -> Self {
        Self {
            at,
            strides: crate::patch::strides(&patch.extents()),
        }
    }
}

/// Move a patch, which may be checked already. Blocks while there is something under way with other nodes, in the blocking form of a call.
///
/// # Errors
/// The patch is not within the array; elements that cannot be added.
///
/// # Safety
/// The buffer must be good for the patch, until the operation is over.
pub unsafe fn transfer(array: &Array, patch: &Patch, buffer: &Buffer, operation: Operation) -> Result<()> {
    array.check(patch)?;
    // SAFETY: the caller's promise.
    unsafe { transfer_every(array, patch, buffer, operation, Pick::ALL) }
}

/// As [`transfer`], of every `skip`-th element in each dimension; the buffer has these one after the other.
///
/// # Errors
/// As for [`transfer`]; a step that is not positive.
///
/// # Safety
/// As for [`transfer`].
pub unsafe fn transfer_strided(
    array: &Array,
    patch: &Patch,
    skip: &[i64],
    buffer: &Buffer,
    operation: Operation,
) -> Result<()> {
    array.check(patch)?;
    if let Some(d) = skip.iter().position(|step| *step < 1) {
        return Err(Error::argument(format!("skip[{d}]={} must be positive", skip[d])));
    }
    let pick = Pick {
        skip: Some(skip),
        field: None,
    };
    // SAFETY: the caller's promise.
    unsafe { transfer_every(array, patch, buffer, operation, pick) }
}

/// As [`transfer`], of the `bytes` bytes at `offset` of each element; the buffer has only these.
///
/// # Errors
/// As for [`transfer`]; bytes that are not within an element.
///
/// # Safety
/// As for [`transfer`].
pub unsafe fn transfer_field(
    array: &Array,
    patch: &Patch,
    (offset, bytes): (i64, i64),
    buffer: &Buffer,
    operation: Operation,
) -> Result<()> {
    array.check(patch)?;
    let width = array.kind.bytes() as i64;
    if offset < 0 || bytes < 1 || offset.checked_add(bytes).is_none_or(|end| end > width) {
        return Err(Error::argument(format!(
            "foff={offset}, fsize={bytes}: an element of array '{}' has {width} bytes",
            array.name
        )));
    }
    let pick = Pick {
        skip: None,
        field: Some((offset, bytes)),
    };
    // SAFETY: the caller's promise.
    unsafe { transfer_every(array, patch, buffer, operation, pick) }
}

/// What of a patch is meant.
#[derive(Debug, Clone, Copy)]
struct Pick<'a> {
    /// Every so-manieth element of each dimension.
    skip: Option<&'a [i64]>,
    /// Of each element so many bytes from an offset on.
    field: Option<(i64, i64)>,
}

impl Pick<'_> {
    const ALL: Pick<'static> = Pick {
        skip: None,
        field: None,
    };
}

/// Move a patch that lies within one block, without taking memory; `ld` as for [`Buffer::new`]. False: it does not, or something is
/// wrong; nothing was done.
///
/// # Errors
/// Elements that cannot be added.
///
/// # Safety
/// As for [`transfer`].
#[inline]
pub unsafe fn transfer_within(
    array: &Array,
    lo: &[i64],
    hi: &[i64],
    at: *mut u8,
    ld: &[i64],
    operation: Operation,
) -> Result<bool> {
    let Some(block) = array.block_around(lo, hi) else {
        return Ok(false);
    };
    let rank = lo.len();
    let width = array.kind.bytes() as i64;
    let extent = |d: usize| hi[d] - lo[d] + 1;
    if at.is_null() || (1..rank).any(|d| ld[d - 1] < extent(d)) {
        return Ok(false);
    }
    check_host("buf", at)?;
    let is_get = matches!(operation, Operation::Get);
    let mut here = width;
    let levels = (0..rank - 1).rev().map(|d| {
        here *= ld[d];
        let there = block.strides[d] * width;
        let (from, to) = if is_get { (there, here) } else { (here, there) };
        (extent(d) as u64, from, to)
    });
    let section = Section::of((extent(rank - 1) * width) as u64, levels);
    let place = (block.place(lo) * width) as isize;
    let there = array.part(block.owner).wrapping_offset(place).expose_provenance() as u64;
    // SAFETY: the block lies within its owner's part, which is mapped; the buffer is the caller's promise.
    unsafe {
        carry(
            array,
            &section,
            at.expose_provenance() as u64,
            there,
            block.owner,
            operation,
        )
    }?;
    Ok(true)
}

/// Move a section between a buffer and a part of an array.
///
/// # Safety
/// Both must be good for it.
#[inline]
unsafe fn carry(
    array: &Array,
    section: &Section,
    here: u64,
    there: u64,
    owner: usize,
    operation: Operation,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match operation {
            Operation::Put => {
                let job = job()?;
                if !move_far(job, End::Target, section, here, there, array.absolute(owner))? {
                    copy_section(section, here, there);
                }
            }
            Operation::Get => {
                let job = job()?;
                if !move_far(job, End::Source, section, there, here, array.absolute(owner))? {
                    copy_section(section, there, here);
                }
            }
            Operation::Accumulate(scale) => {
                if scale.is_null() {
                    return Err(Error::argument("alpha is null"));
                }
                let kind = array.kind.of_accumulate()?;
                let sum = Sum { kind, scale };
                accumulate::add_section(job()?, sum, section, here, there, array.absolute(owner))?;
            }
        }
    }
    if !matches!(operation, Operation::Get) && array.me() != Some(owner) {
        life::wrote_elsewhere();
    }
    Ok(())
}

/// # Safety
/// As for [`transfer`].
unsafe fn transfer_every(
    array: &Array,
    patch: &Patch,
    buffer: &Buffer,
    operation: Operation,
    pick: Pick<'_>,
) -> Result<()> {
    let all = || {
        sections(array, patch, buffer, operation, pick, |section, here, there, owner| {
            // SAFETY: the block lies within its owner's part, which is mapped; the buffer is the caller's promise.
            unsafe { carry(array, section, here, there, owner, operation) }
        })
    };
    at_once(all)
}

/// Operations on several blocks, of which none waits for another; what they move is there when this returns.
pub fn at_once<R>(all: impl FnOnce() -> Result<R>) -> Result<R> {
    together(|| Ok(all())).map_err(Error::from)?
}

/// Call `each` with what is between a buffer and each block that a patch touches: the section, where it begins in the buffer and in the
/// array, and whose block it is.
fn sections(
    array: &Array,
    patch: &Patch,
    buffer: &Buffer,
    operation: Operation,
    pick: Pick<'_>,
    mut each: impl FnMut(&Section, u64, u64, usize) -> Result<()>,
) -> Result<()> {
    let width = array.kind.bytes() as i64;
    let (offset, bytes) = pick.field.unwrap_or((0, width));
    let step = |d: usize| pick.skip.map_or(1, |skip| skip[d]);
    let rank = array.rank();
    for block in array.blocks(patch) {
        // The first element of the block that is meant, how many there are, and which of the buffer it is.
        let mut first = block.patch.lo.clone();
        let mut counts = vec![0; rank];
        let mut place = 0;
        for d in 0..rank {
            let before = (first[d] - patch.lo[d] + step(d) - 1) / step(d);
            first[d] = patch.lo[d] + before * step(d);
            counts[d] = (block.patch.hi[d] - first[d] + step(d)) / step(d);
            place += before * buffer.strides[d];
        }
        if counts.iter().any(|count| *count < 1) {
            continue;
        }
        let there = array
            .part(block.owner)
            .wrapping_offset((block.place(&first) * width + offset) as isize);
        let here = buffer.at.wrapping_offset((place * bytes) as isize);
        let stride = |d: usize| (buffer.strides[d] * bytes, block.strides[d] * step(d) * width);
        let is_row = stride(rank - 1) == (bytes, bytes);
        let (row, inner) = match is_row {
            true => (counts[rank - 1] * bytes, rank - 1),
            false => (bytes, rank),
        };
        let is_get = matches!(operation, Operation::Get);
        let levels = (0..inner).rev().map(|d| {
            let (here, there) = stride(d);
            let (from, to) = if is_get { (there, here) } else { (here, there) };
            (counts[d] as u64, from, to)
        });
        let section = Section::of(row as u64, levels);
        let (here, there) = (here.expose_provenance() as u64, there.expose_provenance() as u64);
        each(&section, here, there, block.owner)?;
    }
    Ok(())
}

/// What a periodic get of a patch into a buffer copies: the sections, where each begins in the array and in the buffer, and whose block it
/// is from. In each dimension both ends are `wider` by as many elements, which must be there on both sides: margins of blocks.
///
/// # Errors
/// As for [`periodic`].
pub fn plan_periodic(
    array: &Array,
    patch: &Patch,
    buffer: &Buffer,
    wider: &[i64],
) -> Result<Vec<(Section, u64, u64, usize)>> {
    let mut copies = Vec::new();
    let width = array.kind.bytes() as i64;
    let last = array.rank() - 1;
    for_each_turn(array, patch, buffer, |patch, buffer| {
        for block in array.blocks(patch) {
            let counts: Vec<i64> = block
                .patch
                .extents()
                .iter()
                .zip(wider)
                .map(|(count, wider)| count + 2 * wider)
                .collect();
            let levels = (0..last)
                .rev()
                .map(|d| (counts[d] as u64, block.strides[d] * width, buffer.strides[d] * width));
            let section = Section::of((counts[last] * width) as u64, levels);
            let back = |strides: &[i64]| {
                strides
                    .iter()
                    .zip(wider)
                    .map(|(stride, wider)| stride * wider)
                    .sum::<i64>()
            };
            let there = block.place(&block.patch.lo) - back(&block.strides);
            let there = array.part(block.owner).wrapping_offset((there * width) as isize);
            let here = offset(&block.patch.lo, &patch.lo, &buffer.strides) - back(&buffer.strides);
            let here = buffer.at.wrapping_offset((here * width) as isize);
            copies.push((
                section,
                there.expose_provenance() as u64,
                here.expose_provenance() as u64,
                block.owner,
            ));
        }
        Ok(())
    })?;
    Ok(copies)
}

/// The elements of a patch, one after the other.
///
/// # Errors
/// As for [`transfer`].
pub fn fetch<T: Copy>(array: &Array, patch: &Patch) -> Result<Vec<T>> {
    let mut values = Vec::new();
    fetch_into(array, patch, &mut values)?;
    Ok(values)
}

/// As [`fetch`], in place of what `values` has; its memory serves again if it is long enough.
///
/// # Errors
/// As for [`transfer`].
pub fn fetch_into<T: Copy>(array: &Array, patch: &Patch, values: &mut Vec<T>) -> Result<()> {
    debug_assert_eq!(size_of::<T>(), array.kind.bytes());
    let count = patch.count() as usize;
    values.clear();
    if values.capacity() < count {
        *values = room::<T>(count)?;
    }
    let buffer = Buffer::dense(values.as_mut_ptr().cast(), patch);
    // SAFETY: there is room for all of them, and all are written.
    unsafe {
        transfer(array, patch, &buffer, Operation::Get)?;
        values.set_len(count);
    }
    Ok(())
}

/// Put elements, one after the other, into a patch.
///
/// # Errors
/// As for [`transfer`].
pub fn store<T: Copy>(array: &Array, patch: &Patch, values: &[T]) -> Result<()> {
    debug_assert_eq!(size_of::<T>(), array.kind.bytes());
    assert_eq!(values.len() as i64, patch.count(), "as many as the patch has");
    let buffer = Buffer::dense(values.as_ptr().cast_mut().cast(), patch);
    // SAFETY: a put only reads the buffer, which has all of them.
    unsafe { transfer(array, patch, &buffer, Operation::Put) }
}

/// A patch that may lie beyond the edges: what is beyond one comes in at the other (`NGA_Periodic_put` and its kin).
///
/// # Errors
/// As for [`transfer`]; a patch that is longer than twice the array.
///
/// # Safety
/// As for [`transfer`].
pub unsafe fn periodic(array: &Array, patch: &Patch, buffer: &Buffer, operation: Operation) -> Result<()> {
    for_each_turn(array, patch, buffer, |patch, buffer| {
        // SAFETY: the caller's promise.
        unsafe { transfer(array, patch, buffer, operation) }
    })
}

/// Call `each` with the pieces of a periodic patch that lie in the array, and their parts of the buffer.
fn for_each_turn(
    array: &Array,
    patch: &Patch,
    buffer: &Buffer,
    mut each: impl FnMut(&Patch, &Buffer) -> Result<()>,
) -> Result<()> {
    let rank = array.rank();
    // In each dimension the pieces of 0..dim that the patch is made of: beginning in the patch, beginning in the array, length.
    let mut pieces: Vec<Vec<(i64, i64, i64)>> = Vec::with_capacity(rank);
    for d in 0..rank {
        let (dim, length) = (array.dims[d], patch.hi[d] - patch.lo[d] + 1);
        if length < 1 || length > 2 * dim {
            return Err(Error::argument(format!(
                "array '{}': the patch has {length} elements in dimension {d}, the array {dim}: it may have twice as many at most",
                array.name
            )));
        }
        let mut cut = Vec::with_capacity(3);
        let (mut done, mut begin) = (0, patch.lo[d].rem_euclid(dim));
        while done < length {
            let next = (length - done).min(dim - begin);
            cut.push((done, begin, next));
            done += next;
            begin = 0;
        }
        pieces.push(cut);
    }
    let choices = Patch::new(
        vec![0; rank],
        pieces.iter().map(|cut| cut.len() as i64 - 1).collect::<Vec<_>>(),
    );
    for choice in choices.indexes() {
        let piece = |d: usize| pieces[d][choice[d] as usize];
        let lo: Vec<i64> = (0..rank).map(|d| piece(d).1).collect();
        let hi: Vec<i64> = (0..rank).map(|d| piece(d).1 + piece(d).2 - 1).collect();
        let place: i64 = (0..rank).map(|d| piece(d).0 * buffer.strides[d]).sum();
        let at = buffer.at.wrapping_offset((place * array.kind.bytes() as i64) as isize);
        let part = Buffer {
            at,
            strides: buffer.strides.clone(),
        };
        each(&Patch { lo, hi }, &part)?;
    }
    Ok(())
}

/// One element at each of these indexes, one behind the other: `values` has them in the same order.
///
/// # Errors
/// As for [`transfer`].
///
/// # Safety
/// `values` must be good for as many elements.
pub unsafe fn elements(array: &Array, values: *mut u8, indexes: &[i64], operation: Operation) -> Result<()> {
    let indexes = indexes.chunks_exact(array.rank());
    // Nothing is touched if one of them is wrong.
    for index in indexes
        .clone()
        .filter(|index| array.block_around(index, index).is_none())
    {
        array.check(&Patch::new(index, index))?;
    }
    at_once(|| {
        for (at, index) in indexes.enumerate() {
            let value = values.wrapping_add(at * array.kind.bytes());
            // SAFETY: the caller's promise.
            unsafe {
                if !transfer_within(array, index, index, value, &[1; MOST_DIMENSIONS], operation)? {
                    let patch = Patch::new(index, index);
                    transfer_every(array, &patch, &Buffer::dense(value, &patch), operation, Pick::ALL)?;
                }
            }
        }
        Ok(())
    })
}

/// Where an element lies, as mapped here or by the name that its part on another node has, and whose it is.
///
/// # Errors
/// It is not in the array.
pub fn locate(array: &Array, index: &[i64]) -> Result<(usize, *mut u8)> {
    if let Some(block) = array.block_around(index, index) {
        let place = (block.place(index) * array.kind.bytes() as i64) as isize;
        return Ok((block.owner, array.part(block.owner).wrapping_offset(place)));
    }
    let patch = Patch::new(index, index);
    array.check(&patch)?;
    let block = &array.blocks(&patch)[0];
    let place = (block.offset * array.kind.bytes() as i64) as isize;
    Ok((block.owner, array.part(block.owner).wrapping_offset(place)))
}
