//! Copies, transposes, and operations on rows, columns and diagonals of matrices; collective.

use isthmus_armci::group::{self, Group};

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{Generic, dispatch};
use crate::life::collectively;
use crate::local::{ArrayPatch, for_each_row, operand, scalar, turned_operand};
use crate::onesided::{Buffer, Operation, fetch, store, transfer};
use crate::patch::Patch;

/// `GA_Copy`, `NGA_Copy_patch`: `to` becomes `from`, perhaps transposed (dimensions in the other order). Patches of different extents have
/// their elements in the same order, that of the transposed one. Collective over the group of `to`; if that of `from` is another, which has
/// no more members, over that of `from`; where one is mirrored and the other is not, on several nodes, over all.
///
/// # Errors
/// Patches of different numbers of elements, different types; the caller is not a member of the group.
pub fn copy(from: ArrayPatch<'_>, to: ArrayPatch<'_>, transpose: bool) -> Result<()> {
    let (source, target) = (from.0.group()?, to.0.group()?);
    // Each node fills its own copy; and of what is distributed each process its part, from its node's copy.
    let is_between = from.0.plan.is_on_nodes()? != to.0.plan.is_on_nodes()?;
    let is_put = !is_between && from.0.plan.group != to.0.plan.group && source.size() <= target.size();
    let group = match is_between {
        true => group::find(group::WORLD)?,
        false if is_put => source,
        false => target,
    };
    collectively(&group, || {
        from.0.check(from.1)?;
        to.0.check(to.1)?;
        to.0.check_like(to.1, from.0, from.1)?;
        if transpose || is_put || from.1.extents() != to.1.extents() {
            let pieces = match is_put {
                true => dealt(to, &group),
                false => to.0.own_blocks(to.1).into_iter().map(|block| block.patch).collect(),
            };
            return dispatch(
                to.0.kind,
                DoCopy {
                    from,
                    to,
                    transpose,
                    pieces,
                },
            );
        }
        // Everybody fetches what it has of the destination, straight to where it belongs.
        let width = to.0.kind.bytes();
        for block in to.0.own_blocks(to.1) {
            let buffer = Buffer {
                at: to.0.own_part().wrapping_add(block.offset as usize * width),
                strides: block.strides.clone(),
            };
            let source = block.patch.moved(&to.1.lo, &from.1.lo);
            // SAFETY: the block lies in our own part.
            unsafe { transfer(from.0, &source, &buffer, Operation::Get)? };
        }
        Ok(())
    })
}

/// The pieces of a patch of `to` that the calling process fills, where others than the members of the group own them.
fn dealt(to: ArrayPatch<'_>, group: &Group) -> Vec<Patch> {
    let blocks = to.0.blocks(to.1).into_iter().enumerate();
    let mine = blocks.filter(|(n, _)| group.me() == Some(n % group.size()));
    mine.map(|(_, block)| block.patch).collect()
}

struct DoCopy<'a> {
    from: ArrayPatch<'a>,
    to: ArrayPatch<'a>,
    transpose: bool,
    pieces: Vec<Patch>,
}

impl Generic for DoCopy<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let (from, to) = (self.from, self.to);
        let operand = if self.transpose {
            turned_operand::<T>
        } else {
            operand::<T>
        };
        for piece in self.pieces {
            let values = operand(&piece, to.1, from.0, from.1)?;
            store(to.0, &piece, &values)?;
        }
        Ok(())
    }
}

fn matrix(array: &Array) -> Result<(i64, i64)> {
    match array.dims.as_slice() {
        [rows, columns] => Ok((*rows, *columns)),
        _ => Err(Error::argument(format!("array '{}' is no matrix", array.name))),
    }
}

struct DoSymmetrize<'a>(&'a Array);

impl Generic for DoSymmetrize<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let array = self.0;
        let group = array.group()?;
        let half = T::from_real(0.5);
        let mut results = Vec::new();
        for block in array.own_blocks(&array.whole()) {
            let ours: Vec<T> = fetch(array, &block.patch)?;
            let theirs: Vec<T> = fetch(array, &block.patch.transposed())?;
            let extents = block.patch.extents();
            let (height, width) = (extents[0] as usize, extents[1] as usize);
            let mean = |at: usize| {
                let sum = ours[at].add(theirs[at % width * height + at / width]);
                // Half of an integer would be lost.
                match T::KIND {
                    crate::kind::ElementKind::Int
                    | crate::kind::ElementKind::Long
                    | crate::kind::ElementKind::LongLong => sum.div(T::from_real(2.0)),
                    _ => sum.mul(half),
                }
            };
            results.push((block.patch, (0..ours.len()).map(mean).collect::<Vec<T>>()));
        }
        // Nobody writes before everybody has read.
        crate::life::sync_group(&group)?;
        for (patch, values) in results {
            store(array, &patch, &values)?;
        }
        Ok(())
    }
}

/// `GA_Symmetrize`: a square matrix becomes the mean of itself and its transpose. Collective.
///
/// # Errors
/// It is no square matrix.
pub fn symmetrize(array: &Array) -> Result<()> {
    let (rows, columns) = matrix(array)?;
    if rows != columns {
        return Err(Error::argument(format!("array '{}' is not square", array.name)));
    }
    collectively(&*array.group()?, || dispatch(array.kind, DoSymmetrize(array)))
}

/// Operations on the diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagonal {
    /// This one is added.
    Shift(*const u8),
    /// It becomes 0.
    Zero,
}

/// Operations on rows, columns or a diagonal and a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByVector {
    /// The diagonal becomes the vector.
    SetDiagonal,
    /// The vector is added to the diagonal.
    AddDiagonal,
    /// The vector becomes the diagonal.
    GetDiagonal,
    /// Each row is multiplied by its element.
    ScaleRows,
    /// Each column is.
    ScaleColumns,
}

struct DoDiagonal<'a>(&'a Array, Diagonal);

impl Generic for DoDiagonal<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let by = match self.1 {
            // SAFETY: `diagonal`'s caller vouches for the scalar.
            Diagonal::Shift(at) => Some(unsafe { scalar::<T>(at, "c") }?),
            Diagonal::Zero => None,
        };
        for_each_row(self.0, &self.0.whole(), |first, row: &mut [T]| {
            if let Some(element) = on_diagonal(first, row) {
                *element = by.map_or(T::ZERO, |by| element.add(by));
            }
            Ok(())
        })
    }
}

/// The element of a row that is on the diagonal.
fn on_diagonal<'a, T>(first: &[i64], row: &'a mut [T]) -> Option<&'a mut T> {
    let at = usize::try_from(first[0] - first[1]).ok()?;
    row.get_mut(at)
}

/// `GA_Shift_diagonal`, `GA_Zero_diagonal`. Collective.
///
/// # Errors
/// It is no matrix.
///
/// # Safety
/// A scalar must be good for one element.
pub unsafe fn diagonal(array: &Array, operation: Diagonal) -> Result<()> {
    matrix(array)?;
    collectively(&*array.group()?, || dispatch(array.kind, DoDiagonal(array, operation)))
}

struct DoByVector<'a>(&'a Array, &'a Array, ByVector);

impl Generic for DoByVector<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(array, vector, operation) = self;
        let whole = Patch::new([0], [vector.dims[0] - 1]);
        if operation == ByVector::GetDiagonal {
            return for_each_row(vector, &whole, |first, row: &mut [T]| {
                for (at, element) in (first[0]..).zip(row) {
                    *element = fetch::<T>(array, &Patch::new([at, at], [at, at]))?[0];
                }
                Ok(())
            });
        }
        let values: Vec<T> = fetch(vector, &whole)?;
        for_each_row(array, &array.whole(), |first, row: &mut [T]| {
            match operation {
                ByVector::SetDiagonal | ByVector::AddDiagonal => {
                    if let Some(element) = on_diagonal(first, row) {
                        let value = values[first[0] as usize];
                        *element = match operation {
                            ByVector::SetDiagonal => value,
                            _ => element.add(value),
                        };
                    }
                }
                ByVector::ScaleRows => {
                    let by = values[first[0] as usize];
                    row.iter_mut().for_each(|element| *element = element.mul(by));
                }
                ByVector::ScaleColumns => {
                    let by = &values[first[1] as usize..];
                    row.iter_mut()
                        .zip(by)
                        .for_each(|(element, by)| *element = element.mul(*by));
                }
                ByVector::GetDiagonal => {}
            }
            Ok(())
        })
    }
}

/// `GA_Set_diagonal` and its kin. Collective.
///
/// # Errors
/// It is no matrix, or the vector's length or type is another.
pub fn by_vector(array: &Array, vector: &Array, operation: ByVector) -> Result<()> {
    let (rows, columns) = matrix(array)?;
    let needed = match operation {
        ByVector::ScaleRows => rows,
        ByVector::ScaleColumns => columns,
        _ => rows.min(columns),
    };
    if vector.rank() != 1 || vector.dims[0] != needed || vector.kind != array.kind {
        return Err(Error::argument(format!(
            "array '{}' must be a vector of {needed} elements of the type of '{}'",
            vector.name, array.name
        )));
    }
    collectively(&*array.group()?, || {
        dispatch(array.kind, DoByVector(array, vector, operation))
    })
}
