//! Matrix products; collective: everybody makes the blocks that it has.

use crate::blas::{self, Matrix};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{Generic, dispatch};
use crate::life::collectively;
use crate::local::{ArrayPatch, map, scalar};
use crate::onesided::{at_once, fetch_into};
use crate::patch::Patch;

/// Columns of the first matrix that are multiplied at a time: bounds the memory for what is fetched.
const STEP: i64 = 512;

/// How a factor of a product is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// As it is.
    Plain,
    /// Columns as rows.
    Transposed,
    /// That, and each element conjugated.
    Adjoint,
}

/// A factor of a product: a matrix, or a patch that is one, and how it is read.
pub type Factor<'a> = (ArrayPatch<'a>, Orientation);

struct DoMultiply<'a> {
    a: Factor<'a>,
    b: Factor<'a>,
    c: ArrayPatch<'a>,
    alpha: *const u8,
    beta: *const u8,
}

/// What of a patch can be rows and columns of a matrix: the dimensions that are more than one long. Where it is one, the other may stand
/// before it or behind it.
fn readings(patch: &Patch) -> Result<Vec<[usize; 2]>> {
    let extents = patch.extents();
    let rank = extents.len();
    if rank < 2 {
        return Err(Error::argument("a vector is no matrix"));
    }
    let long: Vec<usize> = (0..rank).filter(|d| extents[*d] > 1).collect();
    match long.as_slice() {
        [] => Ok(vec![[rank - 2, rank - 1]]),
        [one] => {
            let behind = (one + 1 < rank).then(|| [*one, rank - 1]);
            let before = (*one > 0).then(|| [one - 1, *one]);
            Ok(behind.into_iter().chain(before).collect())
        }
        [rows, columns] => Ok(vec![[*rows, *columns]]),
        _ => Err(Error::argument("a patch with more than two dimensions is no matrix")),
    }
}

/// The part of the stored array that a factor of `GA_Matmul_patch` is: its corners are those of op(A), after the transposition, as upstream
/// has it (`global/src/matmul.c`).
pub fn stored(mut corners: Patch, orientation: Orientation) -> Result<Patch> {
    if orientation != Orientation::Plain
        && let Some([row, column]) = readings(&corners)?.pop()
    {
        corners.lo.swap(row, column);
        corners.hi.swap(row, column);
    }
    Ok(corners)
}

/// How the three matrices are read, so that they make a product; and its inner extent. No two ways to read them that both
/// fit have different products.
fn fitting(a: Factor<'_>, b: Factor<'_>, c: ArrayPatch<'_>) -> Result<([[usize; 2]; 3], i64)> {
    let extents = |((_, patch), orientation): Factor<'_>, [row, column]: [usize; 2]| {
        let extents = patch.extents();
        match orientation {
            Orientation::Plain => [extents[row], extents[column]],
            Orientation::Transposed | Orientation::Adjoint => [extents[column], extents[row]],
        }
    };
    let mut first = None;
    for left in readings(a.0.1)? {
        for right in readings(b.0.1)? {
            for made in readings(c.1)? {
                let ([m, k], [k2, n]) = (extents(a, left), extents(b, right));
                let [m2, n2] = extents((c, Orientation::Plain), made);
                if k == k2 && m == m2 && n == n2 {
                    return Ok(([left, right, made], k));
                }
                first.get_or_insert_with(|| {
                    format!("matrices of {m} x {k} and {k2} x {n} do not make one of {m2} x {n2}")
                });
            }
        }
    }
    Err(Error::argument(first.unwrap_or_default()))
}

/// Elements `rows` x `columns` of a factor with these dimensions, counted within it after it was transposed: where they lie, if one process of
/// this node has all of them in rows; else fetched to `values`.
fn piece<T: Element>(
    factor: Factor<'_>,
    [row, column]: [usize; 2],
    rows: [i64; 2],
    columns: [i64; 2],
    values: &mut Vec<T>,
) -> Result<Matrix<T>> {
    let ((array, patch), orientation) = factor;
    let is_transposed = orientation != Orientation::Plain;
    let (first, second) = if is_transposed {
        (columns, rows)
    } else {
        (rows, columns)
    };
    let mut wanted = patch.clone();
    (wanted.lo[row], wanted.hi[row]) = (patch.lo[row] + first[0], patch.lo[row] + first[1]);
    (wanted.lo[column], wanted.hi[column]) = (patch.lo[column] + second[0], patch.lo[column] + second[1]);
    if orientation != Orientation::Adjoint
        && let Some(block) = array.block_around(&wanted.lo, &wanted.hi)
        && block.strides[column] == 1
        && !array.is_far(block.owner)?
    {
        let at = array.part(block.owner).cast::<T>().cast_const();
        return Ok(Matrix {
            at: at.wrapping_offset(block.place(&wanted.lo) as isize),
            leading: block.strides[row] as usize,
            is_transposed,
        });
    }
    fetch_into(array, &wanted, values)?;
    Ok(Matrix {
        at: values.as_ptr(),
        leading: (second[1] - second[0] + 1) as usize,
        is_transposed,
    })
}

impl Generic for DoMultiply<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        // SAFETY: `multiply`'s caller vouches for the scalars.
        let (alpha, beta) = unsafe { (scalar::<T>(self.alpha, "alpha")?, scalar::<T>(self.beta, "beta")?) };
        let (array, patch) = self.c;
        for (array, patch) in [self.a.0, self.b.0, self.c] {
            array.check(patch)?;
        }
        let ([left, right, [row, column]], k) = fitting(self.a, self.b, self.c)?;
        for other in [self.a.0.0, self.b.0.0] {
            if other.kind != array.kind {
                return Err(Error::argument("the matrices have elements of different types"));
            }
        }
        let mut fetched = [Vec::new(), Vec::new()];
        for block in array.own_blocks(patch) {
            map(array, &block.patch, |element: T| match beta == T::ZERO {
                true => T::ZERO,
                false => beta.mul(element),
            })?;
            let along = |d: usize| [block.patch.lo[d] - patch.lo[d], block.patch.hi[d] - patch.lo[d]];
            let (rows, columns) = (along(row), along(column));
            let [height, width] = [rows, columns].map(|[lo, hi]| (hi - lo + 1) as usize);
            // SAFETY: the block lies in our own part.
            let ours = unsafe { array.own_part().cast::<T>().offset(block.offset as isize) };
            // Rows with gaps are made elsewhere.
            let is_dense = block.strides[column] == 1;
            let mut beside = vec![T::ZERO; if is_dense { 0 } else { height * width }];
            let (to, leading) = match is_dense {
                true => (ours, block.strides[row] as usize),
                false => (beside.as_mut_ptr(), width),
            };
            for begin in (0..k).step_by(STEP as usize) {
                let inner = [begin, (begin + STEP).min(k) - 1];
                let depth = (inner[1] - inner[0] + 1) as usize;
                let [of_a, of_b] = &mut fetched;
                let (a, b) = at_once(|| {
                    let a = piece::<T>(self.a, left, rows, inner, of_a)?;
                    Ok((a, piece::<T>(self.b, right, inner, columns, of_b)?))
                })?;
                for (factor, values) in [self.a, self.b].iter().zip(&mut fetched) {
                    if factor.1 == Orientation::Adjoint {
                        values.iter_mut().for_each(|value| *value = value.conjugate());
                    }
                }
                // SAFETY: the factors have as many elements, and what the product is added to, too.
                unsafe { blas::multiply([height, width, depth], alpha, a, b, to, leading) };
            }
            for (at, product) in beside.into_iter().enumerate() {
                let place = at / width * block.strides[row] as usize + at % width * block.strides[column] as usize;
                // SAFETY: as above.
                unsafe { ours.add(place).write(ours.add(place).read().add(product)) };
            }
        }
        Ok(())
    }
}

/// `c = alpha * a * b + beta * c`, for matrices and patches that are matrices. Collective.
///
/// # Errors
/// Extents that do not fit, different types.
///
/// # Safety
/// The scalars must be good for one element.
pub unsafe fn multiply(
    alpha: *const u8,
    a: Factor<'_>,
    b: Factor<'_>,
    beta: *const u8,
    c: ArrayPatch<'_>,
) -> Result<()> {
    collectively(&*c.0.group()?, || {
        dispatch(c.0.kind, DoMultiply { a, b, c, alpha, beta })
    })
}
