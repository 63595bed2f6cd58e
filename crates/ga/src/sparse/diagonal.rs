//! Values of a sparse matrix that change where they are: scaling, and what concerns the diagonal.

use super::Sparse;
use crate::array::Array;
use crate::element::Element;
use crate::error::Result;
use crate::kind::{Generic, dispatch};
use crate::life::collectively;
use crate::local::scalar;
use crate::onesided::{fetch, store};
use crate::patch::Patch;

/// The operation on the values.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Be multiplied by this one.
    Scale(*const u8),
    /// This one is added to what there is on the diagonal.
    Shift(*const u8),
    /// Each row is multiplied by its element of this vector.
    Rows(&'a Array),
    /// Each column is multiplied by its element of this vector.
    Columns(&'a Array),
}

struct DoChange<'a>(&'a Sparse, Change<'a>);

impl Generic for DoChange<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(matrix, change) = self;
        let (first, rows) = matrix.own_rows();
        // SAFETY: `change`'s caller vouches for scalars.
        let value = |at| unsafe { scalar::<T>(at, "the scalar") };
        for block in 0..matrix.processes() {
            let Some(mut own) = matrix.own::<T>(block)? else {
                continue;
            };
            match change {
                Change::Scale(at) => {
                    let factor = value(at)?;
                    own.for_each(|_, _, element| *element = factor.mul(*element));
                }
                Change::Shift(at) => {
                    let shift = value(at)?;
                    own.for_each(|row, column, element| {
                        if row == column {
                            *element = element.add(shift);
                        }
                    });
                }
                Change::Rows(vector) => {
                    let factors: Vec<T> = fetch(vector, &Patch::new([first], [first + rows as i64 - 1]))?;
                    own.for_each(|row, _, element| *element = factors[(row - first) as usize].mul(*element));
                }
                Change::Columns(vector) => {
                    let (lo, hi) = matrix.columns_of(block)?;
                    let factors: Vec<T> = fetch(vector, &Patch::new([lo], [hi]))?;
                    own.for_each(|_, column, element| *element = element.mul(factors[(column - lo) as usize]));
                }
            }
        }
        Ok(())
    }
}

/// Do it. Collective.
///
/// # Errors
/// The matrix is not assembled; a vector of another length or type; a null scalar.
///
/// # Safety
/// A scalar must be null or good for one element.
pub unsafe fn change(matrix: &Sparse, change: Change<'_>) -> Result<()> {
    match change {
        Change::Scale(at) | Change::Shift(at) if at.is_null() => {
            return Err(crate::Error::argument("the scalar is null"));
        }
        Change::Scale(_) | Change::Shift(_) => {}
        Change::Rows(vector) => matrix.check_dense(vector, &[Some(matrix.rows)])?,
        Change::Columns(vector) => matrix.check_dense(vector, &[Some(matrix.columns)])?,
    }
    collectively(&*matrix.group()?, || dispatch(matrix.kind, DoChange(matrix, change)))
}

/// Elements that make a vector with one number for each row.
#[derive(Debug, Clone, Copy)]
pub enum Line {
    /// Those on the diagonal.
    Diagonal,
    /// Those of one column.
    Column(i64),
}

struct DoLine<'a>(&'a Sparse, Line);

impl Generic for DoLine<'_> {
    type Output = Array;

    fn call<T: Element>(self) -> Result<Array> {
        let Self(matrix, line) = self;
        let vector = Array::create(matrix.plan_by_rows(&[matrix.rows], matrix.kind)?)?;
        let (first, rows) = matrix.own_rows();
        let mut values = vec![T::ZERO; rows];
        for block in 0..matrix.processes() {
            let Some(mut own) = matrix.own::<T>(block)? else {
                continue;
            };
            own.for_each(|row, column, element| {
                let is_meant = match line {
                    Line::Diagonal => row == column,
                    Line::Column(wanted) => column == wanted,
                };
                if is_meant {
                    values[(row - first) as usize] = *element;
                }
            });
        }
        if rows > 0 {
            store(&vector, &Patch::new([first], [first + rows as i64 - 1]), &values)?;
        }
        Ok(vector)
    }
}

/// A new vector of these elements, zero where there is none, cut as the rows are. Collective.
///
/// # Errors
/// The matrix is not assembled, or has no such column; there is no memory.
pub fn line(matrix: &Sparse, line: Line) -> Result<Array> {
    if let Line::Column(column) = line {
        matrix.check(0, column)?;
    }
    matrix.stored()?;
    collectively(&*matrix.group()?, || dispatch(matrix.kind, DoLine(matrix, line)))
}
