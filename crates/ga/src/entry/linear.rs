//! Linear algebra.

use std::ffi::{c_char, c_double, c_float, c_int, c_void};

use super::{Number, entries, find, indexed, is_transposed, orientation, patch};
use crate::element::Complex;
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::linear::{self, Factor, Orientation};
use crate::patch::Patch;
use crate::systems::{self, Factors, Metric};

/// `GA_?gemm`: the leading parts of three matrices.
///
/// # Safety
/// The scalars must be good for an element.
unsafe fn gemm(
    kind: ElementKind,
    letters: (c_char, c_char),
    [m, n, k]: [i64; 3],
    alpha: *const u8,
    (a, b): (c_int, c_int),
    beta: *const u8,
    c: c_int,
) -> Result<()> {
    let (a, b, c) = (find(a)?, find(b)?, find(c)?);
    let (ta, tb) = (orientation(letters.0)?, orientation(letters.1)?);
    if c.kind != kind {
        return Err(Error::argument(format!(
            "array '{}' has elements of type {:?}, not {kind:?}",
            c.name, c.kind
        )));
    }
    let leading = |rows: i64, columns: i64, orientation: Orientation| match orientation {
        Orientation::Plain => Patch::new([0, 0], [rows - 1, columns - 1]),
        Orientation::Transposed | Orientation::Adjoint => Patch::new([0, 0], [columns - 1, rows - 1]),
    };
    let (p, q, r) = (leading(m, k, ta), leading(k, n, tb), leading(m, n, Orientation::Plain));
    // SAFETY: the caller's promise.
    unsafe { linear::multiply(alpha, ((&a, &p), ta), ((&b, &q), tb), beta, (&c, &r)) }
}

/// Rows and columns, both from and to.
type Corners = [i64; 4];

/// # Safety
/// The scalars must be good for an element.
unsafe fn matmul(
    letters: (c_char, c_char),
    alpha: *const u8,
    beta: *const u8,
    (a, ac): (c_int, Corners),
    (b, bc): (c_int, Corners),
    (c, cc): (c_int, Corners),
) -> Result<()> {
    let (a, b, c) = (find(a)?, find(b)?, find(c)?);
    let patch = |[ilo, ihi, jlo, jhi]: Corners| Patch::new([ilo, jlo], [ihi, jhi]);
    let (ta, tb) = (orientation(letters.0)?, orientation(letters.1)?);
    let (p, q, r) = (
        linear::stored(patch(ac), ta)?,
        linear::stored(patch(bc), tb)?,
        patch(cc),
    );
    let factors: [Factor<'_>; 2] = [((&a, &p), ta), ((&b, &q), tb)];
    // SAFETY: the caller's promise.
    unsafe { linear::multiply(alpha, factors[0], factors[1], beta, (&c, &r)) }
}

macro_rules! gemms {
    ($($name:ident $wide:ident $type:ty, $kind:expr;)*) => {
        indexed! {$(
            fn $name, $wide(
                ta: c_char, tb: c_char, m: Index, n: Index, k: Index, alpha: $type, a: c_int, b: c_int, beta: $type,
                c: c_int,
            ) {
                let extents = [m.wide(), n.wide(), k.wide()];
                gemm($kind, (ta, tb), extents, (&raw const alpha).cast(), (a, b), (&raw const beta).cast(), c)?
            }
        )*}
    };
}

gemms! {
    isthmus_ga_GA_Sgemm isthmus_ga_GA_Sgemm64 c_float, ElementKind::Float;
    isthmus_ga_GA_Dgemm isthmus_ga_GA_Dgemm64 c_double, ElementKind::Double;
    isthmus_ga_GA_Cgemm isthmus_ga_GA_Cgemm64 Complex<f32>, ElementKind::Complex;
    isthmus_ga_GA_Zgemm isthmus_ga_GA_Zgemm64 Complex<f64>, ElementKind::DoubleComplex;
}

indexed! {
    fn isthmus_ga_GA_Matmul_patch, isthmus_ga_GA_Matmul_patch64(
        ta: c_char, tb: c_char, alpha: *const c_void, beta: *const c_void,
        a: c_int, ailo: Index, aihi: Index, ajlo: Index, ajhi: Index,
        b: c_int, bilo: Index, bihi: Index, bjlo: Index, bjhi: Index,
        c: c_int, cilo: Index, cihi: Index, cjlo: Index, cjhi: Index,
    ) {
        matmul(
            (ta, tb), alpha.cast(), beta.cast(),
            (a, [ailo.wide(), aihi.wide(), ajlo.wide(), ajhi.wide()]),
            (b, [bilo.wide(), bihi.wide(), bjlo.wide(), bjhi.wide()]),
            (c, [cilo.wide(), cihi.wide(), cjlo.wide(), cjhi.wide()]),
        )?
    }
    fn isthmus_ga_NGA_Matmul_patch, isthmus_ga_NGA_Matmul_patch64(
        ta: c_char, tb: c_char, alpha: *const c_void, beta: *const c_void, a: c_int, alo: *const Index,
        ahi: *const Index, b: c_int, blo: *const Index, bhi: *const Index, c: c_int, clo: *const Index,
        chi: *const Index,
    ) {
        let (a, b, c) = (find(a)?, find(b)?, find(c)?);
        let (ta, tb) = (orientation(ta)?, orientation(tb)?);
        let (p, q) = (linear::stored(patch(&a, alo, ahi)?, ta)?, linear::stored(patch(&b, blo, bhi)?, tb)?);
        let r = patch(&c, clo, chi)?;
        let factors = (((&*a, &p), ta), ((&*b, &q), tb));
        linear::multiply(alpha.cast(), factors.0, factors.1, beta.cast(), (&c, &r))?
    }
}

/// # Safety
/// There must be room for as many values as the matrix has rows, or the pointer be null.
unsafe fn tell(to: *mut c_void, values: &[f64]) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<f64>().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

/// The system of a matrix that LU is to factor.
fn solve_generally(a: c_int, b: c_int, factors: Factors) -> Result<()> {
    match systems::solve(&*find(a)?, &*find(b)?, factors)? {
        0 => Ok(()),
        row => Err(Error::argument(format!("the matrix is singular, at row {row}"))),
    }
}

entries! {
    fn isthmus_ga_GA_Lu_solve(letter: c_char, a: c_int, b: c_int) {
        let factors = if is_transposed(letter)? { Factors::Transposed } else { Factors::General };
        solve_generally(a, b, factors)?
    }
    fn isthmus_ga_GA_Llt_solve(a: c_int, b: c_int) -> c_int {
        systems::solve(&*find(a)?, &*find(b)?, Factors::Positive)?
    }
    fn isthmus_ga_GA_Solve(a: c_int, b: c_int) -> c_int {
        let row = systems::solve(&*find(a)?, &*find(b)?, Factors::Positive)?;
        if row != 0 {
            solve_generally(a, b, Factors::General)?;
        }
        row
    }
    fn isthmus_ga_GA_Spd_invert(a: c_int) -> c_int { systems::invert(&*find(a)?)? }
    fn isthmus_ga_GA_Diag(a: c_int, s: c_int, v: c_int, values: *mut c_void) {
        tell(values, &systems::eigen(&*find(a)?, Some(Metric::once(&*find(s)?)), &*find(v)?, false)?)
    }
    fn isthmus_ga_GA_Diag_seq(a: c_int, s: c_int, v: c_int, values: *mut c_void) {
        tell(values, &systems::eigen(&*find(a)?, Some(Metric::once(&*find(s)?)), &*find(v)?, true)?)
    }
    fn isthmus_ga_GA_Diag_reuse(reuse: c_int, a: c_int, s: c_int, v: c_int, values: *mut c_void) {
        if reuse < 0 {
            // The factor is erased, and nothing computed.
            systems::forget_metric(&*find(a)?)?
        } else {
            let of = find(s)?;
            let metric = Metric { of: &of, keeps: true, reuses: reuse > 0 };
            tell(values, &systems::eigen(&*find(a)?, Some(metric), &*find(v)?, false)?)
        }
    }
    fn isthmus_ga_GA_Diag_std(a: c_int, v: c_int, values: *mut c_void) {
        tell(values, &systems::eigen(&*find(a)?, None, &*find(v)?, false)?)
    }
    fn isthmus_ga_GA_Diag_std_seq(a: c_int, v: c_int, values: *mut c_void) {
        tell(values, &systems::eigen(&*find(a)?, None, &*find(v)?, true)?)
    }
}
