//! Systems of equations and inverses on block-cyclic matrices.

use std::ffi::{c_char, c_int};

use super::{BlockCyclic, ONE, outcome};
use crate::element::Element;
use crate::error::Result;
use crate::scalapack::{function, name};

type Factor = unsafe extern "C" fn(
    *const c_char,
    *const c_int,
    *mut u8,
    *const c_int,
    *const c_int,
    *const c_int,
    *mut c_int,
    usize,
);

/// `potrf` or `potri`: a positive definite matrix, or its factor, whose lower triangle is overwritten.
pub(super) fn factor<T: Element>(routine: &str, a: &mut BlockCyclic<T>) -> Result<c_int> {
    let (n, descriptor, mut info) = (a.extents[0] as c_int, a.descriptor(), 0);
    // SAFETY: ScaLAPACK's signature; the part has as many elements as the descriptor says.
    unsafe {
        let call: Factor = function(&name(T::KIND, routine)?)?;
        call(c"L".as_ptr(), &n, a.at(), &ONE, &ONE, descriptor.as_ptr(), &mut info, 1);
    }
    outcome(routine, info)
}

/// Solve `a x = b` by the factors of a positive definite matrix. 0, or the row at which it is not. Collective.
///
/// # Errors
/// There is no ScaLAPACK.
pub(crate) fn solve_positive<T: Element>(a: &mut BlockCyclic<T>, b: &mut BlockCyclic<T>) -> Result<c_int> {
    type Solve = unsafe extern "C" fn(
        *const c_char,
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_int,
        usize,
    );
    let (n, columns, mut info) = (a.extents[0] as c_int, b.extents[1] as c_int, 0);
    let (of_a, of_b) = (a.descriptor(), b.descriptor());
    // SAFETY: as above.
    unsafe {
        let call: Solve = function(&name(T::KIND, "posv")?)?;
        call(
            c"L".as_ptr(),
            &n,
            &columns,
            a.at(),
            &ONE,
            &ONE,
            of_a.as_ptr(),
            b.at(),
            &ONE,
            &ONE,
            of_b.as_ptr(),
            &mut info,
            1,
        );
    }
    outcome("posv", info)
}

/// Solve `a x = b` by LU factors. 0, or the row at which the matrix is singular. Collective.
///
/// # Errors
/// There is no ScaLAPACK.
pub(crate) fn solve<T: Element>(a: &mut BlockCyclic<T>, b: &mut BlockCyclic<T>) -> Result<c_int> {
    type Solve = unsafe extern "C" fn(
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_int,
    );
    let (n, columns, mut info) = (a.extents[0] as c_int, b.extents[1] as c_int, 0);
    let (of_a, of_b) = (a.descriptor(), b.descriptor());
    let mut pivots = vec![0; a.here[0] + a.block];
    // SAFETY: as above; pivots are as many as the rows here and a block.
    unsafe {
        let call: Solve = function(&name(T::KIND, "gesv")?)?;
        call(
            &n,
            &columns,
            a.at(),
            &ONE,
            &ONE,
            of_a.as_ptr(),
            pivots.as_mut_ptr(),
            b.at(),
            &ONE,
            &ONE,
            of_b.as_ptr(),
            &mut info,
        );
    }
    outcome("gesv", info)
}

/// The lower triangle of a positive definite matrix becomes that of its inverse. 0; the row at which it is not positive definite; less:
/// that at which its factor is singular. Collective.
///
/// # Errors
/// There is no ScaLAPACK.
pub(crate) fn invert<T: Element>(a: &mut BlockCyclic<T>) -> Result<c_int> {
    match factor("potrf", a)? {
        0 => Ok(-factor("potri", a)?),
        row => Ok(row),
    }
}
