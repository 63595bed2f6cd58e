//! Sparse matrices from dense ones and back, copies, and files.

use std::fmt::Write as _;

use super::assemble::{assemble, of_own_rows};
use super::{Sparse, range};
use crate::array::Array;
use crate::element::{Complex, Element};
use crate::error::{Error, Result};
use crate::kind::{ElementKind, Generic, dispatch};
use crate::life::collectively;
use crate::local::for_each_row;
use crate::onesided::store;
use crate::patch::Patch;

struct FromDense<'a>(&'a Array, &'a Sparse);

impl Generic for FromDense<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(dense, matrix) = self;
        for_each_row(dense, &dense.whole(), |first, row: &mut [T]| {
            for (n, element) in row.iter().enumerate() {
                let column = first[1] + n as i64;
                if *element != T::ZERO || first[0] == column {
                    // SAFETY: a good element.
                    unsafe { matrix.add(first[0], column, std::ptr::from_ref(element).cast()) }?;
                }
            }
            Ok(())
        })
    }
}

/// `NGA_Sprs_array_create_from_dense`: of all elements that are not zero, and those on the diagonal. Collective.
///
/// # Errors
/// The array has not two dimensions, or belongs to another group than the default one; there is no memory.
pub fn from_dense(dense: &Array, is_wide: bool) -> Result<Sparse> {
    let &[rows, columns] = &dense.dims[..] else {
        return Err(Error::argument(format!(
            "array '{}' has {} dimensions, a sparse array 2",
            dense.name,
            dense.rank()
        )));
    };
    let matrix = Sparse::create(rows, columns, dense.kind, is_wide)?;
    if matrix.group != dense.plan.group {
        return Err(Error::argument(format!(
            "array '{}' belongs to group {}, the default group is {}",
            dense.name, dense.plan.group, matrix.group
        )));
    }
    collectively(&*matrix.group()?, || dispatch(dense.kind, FromDense(dense, &matrix)))?;
    assemble(&matrix)?;
    Ok(matrix)
}

struct ToDense<'a>(&'a Sparse);

impl Generic for ToDense<'_> {
    type Output = Array;

    fn call<T: Element>(self) -> Result<Array> {
        let matrix = self.0;
        let dense = Array::create(matrix.plan_by_rows(&[matrix.rows, matrix.columns], matrix.kind)?)?;
        let (first, _) = matrix.own_rows();
        let base = dense.own_part().cast::<T>();
        for block in 0..matrix.processes() {
            let Some(mut own) = matrix.own::<T>(block)? else {
                continue;
            };
            own.for_each(|row, column, element| {
                let place = (row - first) * matrix.columns + column;
                // SAFETY: both are cut alike, so that our rows are our part of the array, which others touch after this call.
                unsafe { base.offset(place as isize).write(*element) };
            });
        }
        Ok(dense)
    }
}

/// `NGA_Sprs_array_create_from_sparse`: a new dense array, cut as the rows. Collective.
///
/// # Errors
/// The matrix is not assembled; there is no memory.
pub fn to_dense(matrix: &Sparse) -> Result<Array> {
    matrix.stored()?;
    collectively(&*matrix.group()?, || dispatch(matrix.kind, ToDense(matrix)))
}

struct Duplicate<'a>(&'a Sparse);

impl Generic for Duplicate<'_> {
    type Output = Sparse;

    fn call<T: Element>(self) -> Result<Sparse> {
        let mut entries = Vec::new();
        for block in 0..self.0.processes() {
            let Some(mut own) = self.0.own::<T>(block)? else {
                continue;
            };
            own.for_each(|row, column, element| entries.push((row, column, *element)));
        }
        of_own_rows(self.0, self.0.columns, entries)
    }
}

/// `NGA_Sprs_array_duplicate`. Collective.
///
/// # Errors
/// It is not assembled; there is no memory.
pub fn duplicate(matrix: &Sparse) -> Result<Sparse> {
    matrix.stored()?;
    collectively(&*matrix.group()?, || dispatch(matrix.kind, Duplicate(matrix)))
}

struct Export<'a>(&'a Sparse, &'a str);

/// A value as Matrix Market has it, so that reading gives the same number.
fn number<T: Element>(element: T) -> String {
    let at = std::ptr::from_ref(&element).cast::<u8>();
    // SAFETY: `KIND` says what type it is.
    unsafe {
        match T::KIND {
            ElementKind::Int => at.cast::<i32>().read().to_string(),
            ElementKind::Long | ElementKind::LongLong => at.cast::<i64>().read().to_string(),
            ElementKind::Float => format!("{:e}", at.cast::<f32>().read()),
            ElementKind::Double => format!("{:e}", at.cast::<f64>().read()),
            ElementKind::Complex => {
                let Complex { re, im } = at.cast::<Complex<f32>>().read();
                format!("{re:e} {im:e}")
            }
            ElementKind::DoubleComplex => {
                let Complex { re, im } = at.cast::<Complex<f64>>().read();
                format!("{re:e} {im:e}")
            }
            ElementKind::Registered(_) => String::new(),
        }
    }
}

impl Generic for Export<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(matrix, file) = self;
        if matrix.me() != 0 {
            return Ok(());
        }
        let processes = matrix.processes();
        let mut total = 0;
        for process in 0..processes {
            for block in 0..processes {
                total += matrix.count(process, block)?;
            }
        }
        let field = match matrix.kind {
            ElementKind::Complex | ElementKind::DoubleComplex => "complex",
            ElementKind::Float | ElementKind::Double => "real",
            _ => "integer",
        };
        let mut text = format!("%%MatrixMarket matrix coordinate {field} general\n");
        let _ = writeln!(text, "{} {} {total}", matrix.rows, matrix.columns);
        for process in 0..processes {
            let (lo, hi) = range(matrix.rows, processes, process);
            let mut pieces = Vec::new();
            for block in 0..processes {
                pieces.extend(matrix.fetch::<T>(process, block)?);
            }
            for row in lo..=hi {
                for (column, value) in pieces.iter().flat_map(|piece| piece.row((row - lo) as usize)) {
                    let _ = writeln!(text, "{} {} {}", row + 1, column + 1, number(value));
                }
            }
        }
        std::fs::write(file, text).map_err(|error| Error::argument(format!("file=\"{file}\": {error}")))
    }
}

/// `NGA_Sprs_array_export`: the first process writes a file in the Matrix Market format. Collective.
///
/// # Errors
/// It is not assembled, or the file cannot be written.
pub fn export(matrix: &Sparse, file: &str) -> Result<()> {
    matrix.stored()?;
    collectively(&*matrix.group()?, || dispatch(matrix.kind, Export(matrix, file)))
}

/// Put values, one after the other, into rows of a dense array.
pub(super) fn put_rows<T: Element>(array: &Array, first: i64, values: &[T]) -> Result<()> {
    match values.len() as i64 {
        0 => Ok(()),
        count => store(array, &Patch::new([first], [first + count - 1]), values),
    }
}
