//! Eigenvalues of symmetric block-cyclic matrices.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

use super::solve::factor;
use super::{BLOCK, BlockCyclic, ONE, check_size, outcome};
use crate::error::{Error, Result};
use crate::scalapack::function;

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix, or of the pair with a positive definite metric, which [`factored`] gave.
/// Collective.
///
/// # Errors
/// There is no ScaLAPACK, or it does not converge.
pub(crate) fn eigen(
    mut a: BlockCyclic<f64>,
    metric: Option<&mut BlockCyclic<f64>>,
) -> Result<(Vec<f64>, BlockCyclic<f64>)> {
    check_size(&a.grid, a.extents, WORKSPACES)?;
    let Some(metric) = metric else {
        return eigen_of_one(&mut a);
    };
    let scale = to_standard(&mut a, metric)?;
    let (mut values, mut vectors) = eigen_of_one(&mut a)?;
    values.iter_mut().for_each(|value| *value *= scale);
    from_standard(metric, &mut vectors)?;
    Ok((values, vectors))
}

/// A metric becomes its Cholesky factor. Collective.
///
/// # Errors
/// There is no ScaLAPACK, or the metric is not positive definite.
pub(crate) fn factored(mut metric: BlockCyclic<f64>) -> Result<BlockCyclic<f64>> {
    match factor("potrf", &mut metric)? {
        0 => Ok(metric),
        row => Err(Error::argument(format!(
            "the metric is not positive definite, at row {row}"
        ))),
    }
}

/// Factors that the next call is to use again, by the context of their grid: all processes of a grid keep and forget them together.
static KEPT: Mutex<BTreeMap<c_int, BlockCyclic<f64>>> = Mutex::new(BTreeMap::new());

/// Keep a factor.
pub(crate) fn keep(factor: BlockCyclic<f64>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.insert(factor.grid.context, factor);
}

/// Take the factor that was kept for a grid.
pub(crate) fn take_kept(context: c_int) -> Option<BlockCyclic<f64>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).remove(&context)
}

/// Forget all that were kept.
pub(crate) fn forget_kept() {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// `syevd` works with about two more matrices.
const WORKSPACES: usize = 3;

/// `sygst`: the problem with a factored metric becomes one without; what eigenvalues must be multiplied with.
fn to_standard(a: &mut BlockCyclic<f64>, metric: &mut BlockCyclic<f64>) -> Result<f64> {
    type Reduce = unsafe extern "C" fn(
        *const c_int,
        *const c_char,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut f64,
        *mut c_int,
        usize,
    );
    let (n, mut scale, mut info) = (a.extents[0] as c_int, 1.0, 0);
    let (of_a, of_b) = (a.descriptor(), metric.descriptor());
    // SAFETY: as above.
    unsafe {
        let call: Reduce = function("pdsygst_")?;
        call(
            &ONE,
            c"L".as_ptr(),
            &n,
            a.at(),
            &ONE,
            &ONE,
            of_a.as_ptr(),
            metric.at(),
            &ONE,
            &ONE,
            of_b.as_ptr(),
            &mut scale,
            &mut info,
            1,
        );
    }
    outcome("sygst", info).map(|_| scale)
}

/// `trsm`: the eigenvectors of the problem with the metric.
fn from_standard(metric: &mut BlockCyclic<f64>, vectors: &mut BlockCyclic<f64>) -> Result<()> {
    type Solve = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const c_char,
        *const c_char,
        *const c_int,
        *const c_int,
        *const f64,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        usize,
        usize,
        usize,
        usize,
    );
    let n = metric.extents[0] as c_int;
    let (of_a, of_b) = (metric.descriptor(), vectors.descriptor());
    // SAFETY: as above.
    unsafe {
        let call: Solve = function("pdtrsm_")?;
        call(
            c"L".as_ptr(),
            c"L".as_ptr(),
            c"T".as_ptr(),
            c"N".as_ptr(),
            &n,
            &n,
            &1.0,
            metric.at(),
            &ONE,
            &ONE,
            of_a.as_ptr(),
            vectors.at(),
            &ONE,
            &ONE,
            of_b.as_ptr(),
            1,
            1,
            1,
            1,
        );
    }
    Ok(())
}

/// `syevd`: divide and conquer.
fn eigen_of_one(a: &mut BlockCyclic<f64>) -> Result<(Vec<f64>, BlockCyclic<f64>)> {
    type Eigen = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const c_int,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut f64,
        *mut u8,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut f64,
        *const c_int,
        *mut c_int,
        *const c_int,
        *mut c_int,
        usize,
        usize,
    );
    let n = a.extents[0] as c_int;
    let mut vectors = BlockCyclic::zeros(a.grid, a.extents);
    let (of_a, of_z) = (a.descriptor(), vectors.descriptor());
    let mut values = vec![0.0; a.extents[0]];
    let (mut work, mut numbers) = (vec![0.0; 4], vec![0; 4]);
    let mut info = 0;
    // SAFETY: the routine's signature is this.
    let call: Eigen = unsafe { function("pdsyevd_")? };
    // The first call, with lengths of -1, tells how much room it needs.
    for (length, count) in [(-1, -1), (0, 0)] {
        let (mut length, mut count) = (length, count);
        if length == 0 {
            // What it tells is too little for the back transformation of small matrices.
            let least = 1 + 6 * a.extents[0] + 2 * (a.here[0] + a.block) * (a.here[1] + a.block);
            work = vec![0.0; (work[0] as usize).max(least) + 4 * BLOCK * BLOCK];
            numbers = vec![0; (numbers[0] as usize).max(7 * a.extents[0] + 8 * a.grid.extents[1] + 2)];
            (length, count) = (work.len() as c_int, numbers.len() as c_int);
        }
        // SAFETY: as above; workspaces are as long as is said.
        unsafe {
            call(
                c"V".as_ptr(),
                c"L".as_ptr(),
                &n,
                a.at(),
                &ONE,
                &ONE,
                of_a.as_ptr(),
                values.as_mut_ptr(),
                vectors.at(),
                &ONE,
                &ONE,
                of_z.as_ptr(),
                work.as_mut_ptr(),
                &length,
                numbers.as_mut_ptr(),
                &count,
                &mut info,
                1,
                1,
            );
        }
        if let found @ 1.. = outcome("syevd", info)? {
            return Err(Error::argument(format!("syevd: eigenvalue {found} did not converge")));
        }
    }
    Ok((values, vectors))
}
