//! Products with sparse matrices. Each process makes the rows of the result that it has, of its own rows of the first factor and copies
//! of those parts of the second one that these need.

use isthmus_armci::error::room;

use super::assemble::{Triplet, of_own_rows};
use super::{Sparse, range};
use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{Generic, dispatch};
use crate::life::{collectively, sync_group};
use crate::onesided::{fetch, store};
use crate::patch::Patch;

/// So many elements of this value.
fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut all = room(count)?;
    all.resize(count, value);
    Ok(all)
}

struct ByVector<'a>(&'a Sparse, &'a Array, &'a Array);

impl Generic for ByVector<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(a, x, y) = self;
        let (first, rows) = a.own_rows();
        let mut sums = vec![T::ZERO; rows];
        for block in 0..a.processes() {
            let Some(mut own) = a.own::<T>(block)? else { continue };
            let (lo, hi) = a.columns_of(block)?;
            let factors: Vec<T> = fetch(x, &Patch::new([lo], [hi]))?;
            own.for_each(|row, column, element| {
                let sum = &mut sums[(row - first) as usize];
                *sum = sum.add(element.mul(factors[(column - lo) as usize]));
            });
        }
        // The vectors may be the same.
        sync_group(&*a.group()?)?;
        if rows > 0 {
            store(y, &Patch::new([first], [first + rows as i64 - 1]), &sums)?;
        }
        let length = y.dims[0];
        if a.me() == 0 && length > a.rows {
            let rest = filled((length - a.rows) as usize, T::ZERO)?;
            store(y, &Patch::new([a.rows], [length - 1]), &rest)?;
        }
        Ok(())
    }
}

/// `NGA_Sprs_array_matvec_multiply`: `y = a x`. `y` may be longer than `a` has rows, as long as it has columns: the rest gets zero.
/// Collective.
///
/// # Errors
/// Vectors of other lengths or types; `a` is not assembled.
pub fn by_vector(a: &Sparse, x: &Array, y: &Array) -> Result<()> {
    a.stored()?;
    a.check_dense(x, &[Some(a.columns)])?;
    if a.check_dense(y, &[Some(a.columns.max(a.rows))]).is_err() {
        a.check_dense(y, &[Some(a.rows)])?;
    }
    collectively(&*a.group()?, || dispatch(a.kind, ByVector(a, x, y)))
}

/// Are both of the same type and group, and do they fit?
fn check_pair(a: &Sparse, b: &Sparse) -> Result<()> {
    if a.kind != b.kind || a.group != b.group {
        return Err(Error::argument(
            "the two sparse arrays are of different types or process groups",
        ));
    }
    if a.columns != b.rows {
        return Err(Error::argument(format!(
            "the first sparse array has {} columns, the second {} rows",
            a.columns, b.rows
        )));
    }
    a.stored()?;
    b.stored()?;
    Ok(())
}

struct BySparse<'a>(&'a Sparse, &'a Sparse);

impl Generic for BySparse<'_> {
    type Output = Sparse;

    /// Row by row with a dense row of sums (F. G. Gustavson, "Two Fast Algorithms for Sparse Matrices", 1978).
    fn call<T: Element>(self) -> Result<Sparse> {
        let Self(a, b) = self;
        let mut entries: Vec<Triplet<T>> = Vec::new();
        let mut sums = filled(b.columns as usize, T::ZERO)?;
        let mut is_used = filled(b.columns as usize, false)?;
        let mut used = Vec::new();
        for block in 0..a.processes() {
            // The columns of this range are the rows of that process.
            let Some(own) = a.fetch::<T>(a.me(), block)? else {
                continue;
            };
            let (lo, _) = a.columns_of(block)?;
            let mut pieces = Vec::new();
            for other in 0..b.processes() {
                pieces.extend(b.fetch::<T>(block, other)?);
            }
            let (first, rows) = a.own_rows();
            for row in 0..rows {
                for (column, left) in own.row(row) {
                    let right = pieces.iter().flat_map(|piece| piece.row((column - lo) as usize));
                    for (column, right) in right {
                        let at = column as usize;
                        if !is_used[at] {
                            is_used[at] = true;
                            used.push(at);
                        }
                        sums[at] = sums[at].add(left.mul(right));
                    }
                }
                for at in used.drain(..) {
                    entries.push((first + row as i64, at as i64, sums[at]));
                    sums[at] = T::ZERO;
                    is_used[at] = false;
                }
            }
        }
        of_own_rows(a, b.columns, entries)
    }
}

/// `NGA_Sprs_array_matmat_multiply`: the new matrix `a b`. It has an element wherever a product of two elements goes, also where the sum
/// is zero. Collective.
///
/// # Errors
/// The matrices do not fit, or are not assembled; there is no memory.
pub fn by_sparse(a: &Sparse, b: &Sparse) -> Result<Sparse> {
    check_pair(a, b)?;
    collectively(&*a.group()?, || dispatch(a.kind, BySparse(a, b)))
}

struct ByDense<'a>(&'a Sparse, &'a Array);

impl Generic for ByDense<'_> {
    type Output = Array;

    fn call<T: Element>(self) -> Result<Array> {
        let Self(a, b) = self;
        let width = b.dims[1];
        let c = Array::create(a.plan_by_rows(&[a.rows, width], a.kind)?)?;
        let (first, rows) = a.own_rows();
        let mut sums = vec![T::ZERO; rows * width as usize];
        for block in 0..a.processes() {
            let Some(mut own) = a.own::<T>(block)? else { continue };
            let (lo, hi) = a.columns_of(block)?;
            let right: Vec<T> = fetch(b, &Patch::new([lo, 0], [hi, width - 1]))?;
            let line = |n: i64| n as usize * width as usize..(n as usize + 1) * width as usize;
            own.for_each(|row, column, left| {
                let to = &mut sums[line(row - first)];
                for (sum, right) in to.iter_mut().zip(&right[line(column - lo)]) {
                    *sum = sum.add(left.mul(*right));
                }
            });
        }
        if rows > 0 {
            let own = Patch::new([first, 0], [first + rows as i64 - 1, width - 1]);
            store(&c, &own, &sums)?;
        }
        Ok(c)
    }
}

/// `NGA_Sprs_array_sprsdns_multiply`: the new dense array `a b`, cut as the rows of `a`. Collective.
///
/// # Errors
/// The factors do not fit, or `a` is not assembled; there is no memory.
pub fn by_dense(a: &Sparse, b: &Array) -> Result<Array> {
    a.stored()?;
    a.check_dense(b, &[Some(a.columns), None])?;
    collectively(&*a.group()?, || dispatch(a.kind, ByDense(a, b)))
}

struct DenseBy<'a>(&'a Array, &'a Sparse);

impl Generic for DenseBy<'_> {
    type Output = Array;

    fn call<T: Element>(self) -> Result<Array> {
        let Self(a, b) = self;
        let (height, width) = (a.dims[0], b.columns);
        let c = Array::create(b.plan_by_rows(&[height, width], b.kind)?)?;
        let (first, last) = range(height, b.processes(), b.me());
        if last < first {
            return Ok(c);
        }
        let mut sums = vec![T::ZERO; (last - first + 1) as usize * width as usize];
        for process in 0..b.processes() {
            let (lo, hi) = b.rows_of(process)?;
            if hi < lo {
                continue;
            }
            let left: Vec<T> = fetch(a, &Patch::new([first, lo], [last, hi]))?;
            let inner = (hi - lo + 1) as usize;
            for block in 0..b.processes() {
                let Some(piece) = b.fetch::<T>(process, block)? else {
                    continue;
                };
                for (sums, left) in sums.chunks_exact_mut(width as usize).zip(left.chunks_exact(inner)) {
                    for (row, left) in left.iter().enumerate() {
                        for (column, right) in piece.row(row) {
                            let sum = &mut sums[column as usize];
                            *sum = sum.add(left.mul(right));
                        }
                    }
                }
            }
        }
        store(&c, &Patch::new([first, 0], [last, width - 1]), &sums)?;
        Ok(c)
    }
}

/// `NGA_Sprs_array_dnssprs_multiply`: the new dense array `a b`, cut by rows. Collective.
///
/// # Errors
/// The factors do not fit, or `b` is not assembled; there is no memory.
pub fn dense_by(a: &Array, b: &Sparse) -> Result<Array> {
    b.stored()?;
    b.check_dense(a, &[None, Some(b.rows)])?;
    collectively(&*b.group()?, || dispatch(b.kind, DenseBy(a, b)))
}
