//! Work that every process does on what it has itself.

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::onesided::fetch;
use crate::patch::{Patch, offset, strides};

/// Elements of an operand that are fetched at a time: they stay in a near cache, and in memory that the C library keeps.
pub(crate) const AT_A_TIME: i64 = 4096;

/// Call `row` with the first index and the elements of each row, along the last dimension, that the calling process has of a patch.
///
/// # Errors
/// The patch is not within the array, or what `row` says.
pub fn for_each_row<T: Copy>(
    array: &Array,
    patch: &Patch,
    mut row: impl FnMut(&[i64], &mut [T]) -> Result<()>,
) -> Result<()> {
    debug_assert_eq!(size_of::<T>(), array.kind.bytes());
    array.check(patch)?;
    let base = array.own_part().cast::<T>();
    for block in array.own_blocks(patch) {
        let length = block.patch.extents().last().copied().unwrap_or(0) as usize;
        for first in block.patch.rows() {
            // SAFETY: the block lies within our own part, and its elements along the last dimension lie one after the other. Another process that
            // accesses them meanwhile is a program that is wrong: collective operations wait for all before they begin.
            let elements = unsafe { std::slice::from_raw_parts_mut(base.offset(block.place(&first) as isize), length) };
            row(&first, elements)?;
        }
    }
    Ok(())
}

/// The elements of `other`'s patch that go with those of a piece of `patch`: in the same places, if both have the same extents, else
/// with the same number, counted with the last dimension fastest. In the order of the piece.
///
/// # Errors
/// The patch is not within the other array.
pub fn operand<T: Copy>(piece: &Patch, patch: &Patch, other: &Array, its: &Patch) -> Result<Vec<T>> {
    if patch.extents() == its.extents() {
        return fetch(other, &piece.moved(&patch.lo, &its.lo));
    }
    let all: Vec<T> = fetch(other, its)?;
    let steps = strides(&patch.extents());
    let places = piece.indexes().map(|index| offset(&index, &patch.lo, &steps) as usize);
    Ok(places.map(|place| all[place]).collect())
}

/// As [`operand`], of the elements of `other`'s patch transposed: its dimensions in the other order.
///
/// # Errors
/// As for [`operand`].
pub fn turned_operand<T: Copy>(piece: &Patch, patch: &Patch, other: &Array, its: &Patch) -> Result<Vec<T>> {
    let turned = its.transposed();
    let is_alike = patch.extents() == turned.extents();
    let source = match is_alike {
        true => piece.moved(&patch.lo, &turned.lo).transposed(),
        false => its.clone(),
    };
    let values: Vec<T> = fetch(other, &source)?;
    // The steps in what was fetched, by dimension of the transposed patch.
    let mut steps = strides(&source.extents());
    steps.reverse();
    if is_alike {
        let places = piece.indexes().map(|index| offset(&index, &piece.lo, &steps) as usize);
        return Ok(places.map(|place| values[place]).collect());
    }
    let (order, counts) = (strides(&patch.extents()), strides(&turned.extents()));
    let places = piece.indexes().map(|index| {
        let (mut number, mut place) = (offset(&index, &patch.lo, &order), 0);
        for (count, step) in counts.iter().zip(&steps) {
            place += number / count * step;
            number %= count;
        }
        place as usize
    });
    Ok(places.map(|place| values[place]).collect())
}

/// Replace each element of a patch that the calling process has.
///
/// # Errors
/// As for [`for_each_row`].
pub fn map<T: Element>(array: &Array, patch: &Patch, f: impl Fn(T) -> T) -> Result<()> {
    for_each_row(array, patch, |_, row: &mut [T]| {
        row.iter_mut().for_each(|element| *element = f(*element));
        Ok(())
    })
}

/// An array, and a patch of it.
pub type ArrayPatch<'a> = (&'a Array, &'a Patch);

/// Set each element of `to` that the calling process has to what `f` makes of the elements of the others.
///
/// # Errors
/// The patches are not within the arrays, or differ in number of elements; arrays of different types.
pub fn combine<T: Element, const N: usize>(
    to: ArrayPatch<'_>,
    from: [ArrayPatch<'_>; N],
    f: impl Fn([T; N]) -> T,
) -> Result<()> {
    to.0.check(to.1)?;
    for (other, its) in from {
        other.check(its)?;
        to.0.check_like(to.1, other, its)?;
    }
    let base = to.0.own_part().cast::<T>();
    // Operands of other extents are fetched whole, once for all; and what is overwritten elsewhere must have been read.
    let may_be_cut = from
        .iter()
        .all(|(other, its)| its.extents() == to.1.extents() && (!std::ptr::eq(*other, to.0) || *its == to.1));
    let most = if may_be_cut { AT_A_TIME } else { i64::MAX };
    for block in to.0.own_blocks(to.1) {
        for piece in block.patch.slabs(most) {
            let mut operands = Vec::with_capacity(N);
            for (other, its) in from {
                operands.push(operand::<T>(&piece, to.1, other, its)?);
            }
            let length = piece.extents().last().copied().unwrap_or(0) as usize;
            let mut at = 0;
            for first in piece.rows() {
                // SAFETY: as in `for_each_row`.
                let row = unsafe { std::slice::from_raw_parts_mut(base.offset(block.place(&first) as isize), length) };
                for element in row {
                    *element = f(std::array::from_fn(|n| operands[n][at]));
                    at += 1;
                }
            }
        }
    }
    Ok(())
}

/// What the calling process's elements of a patch come to.
///
/// # Errors
/// As for [`for_each_row`].
pub fn fold<T: Element, R>(array: &Array, patch: &Patch, begin: R, f: impl Fn(R, &[i64], T) -> R) -> Result<R> {
    let mut so_far = Some(begin);
    for_each_row(array, patch, |first, row: &mut [T]| {
        let mut index = first.to_vec();
        for element in row.iter() {
            so_far = so_far.take().map(|value| f(value, &index, *element));
            if let Some(last) = index.last_mut() {
                *last += 1;
            }
        }
        Ok(())
    })?;
    so_far.ok_or_else(|| Error::argument("nothing was folded"))
}

/// Bytes of elements, for reductions.
pub fn as_bytes<T: Element>(values: &mut [T]) -> &mut [u8] {
    let bytes = size_of_val(values);
    // SAFETY: elements are numbers without padding, and any bytes are elements.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) }
}

/// The calling process's element behind an untyped pointer of the program.
///
/// # Errors
/// It is null.
///
/// # Safety
/// It must be good for one element.
pub unsafe fn scalar<T: Copy>(at: *const u8, name: &str) -> Result<T> {
    if at.is_null() {
        return Err(Error::argument(format!("{name} is null")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { at.cast::<T>().read_unaligned() })
}
