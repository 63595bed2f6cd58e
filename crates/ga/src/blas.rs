//! BLAS and LAPACK of the system, opened when they are first needed. Their Fortran names and conventions: arguments by reference,
//! matrices by columns, lengths of strings behind all others.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

use libloading::Library;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::ElementKind;

const BLAS: [&str; 3] = ["libblas.so.3", "libopenblas.so.0", "libmkl_rt.so.2"];
const LAPACK: [&str; 3] = ["liblapack.so.3", "libopenblas.so.0", "libmkl_rt.so.2"];

fn open(names: &[&str]) -> std::result::Result<Library, String> {
    let mut why = String::new();
    for name in names {
        // SAFETY: the initializers of these libraries set up their own state only.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                use_one_thread(|name| {
                    // SAFETY: the function of this name has this type, wherever there is one.
                    unsafe { library.get::<SetThreads>(name) }.ok().map(|symbol| *symbol)
                });
                return Ok(library);
            }
            Err(error) => {
                if why.is_empty() {
                    why = error.to_string();
                }
            }
        }
    }
    Err(why)
}

/// How OpenBLAS is told how many threads to use.
type SetThreads = unsafe extern "C" fn(c_int);

/// Every process computes; threads of each would fight for the CPUs. Unless the program's user has said how many there are to be.
pub(crate) fn use_one_thread(function: impl FnOnce(&[u8]) -> Option<SetThreads>) {
    let said = std::env::var_os("OPENBLAS_NUM_THREADS").or_else(|| std::env::var_os("OMP_NUM_THREADS"));
    if said.is_none()
        && isthmus_engine::world().size > 1
        && let Some(set) = function(b"openblas_set_num_threads\0")
    {
        // SAFETY: `function` found it by its name.
        unsafe { set(1) };
    }
}

fn blas() -> &'static std::result::Result<Library, String> {
    static LIBRARY: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| open(&BLAS))
}

fn lapack(routine: &'static str) -> Result<&'static Library> {
    static LIBRARY: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| open(&LAPACK))
        .as_ref()
        .map_err(|why| Error::Library {
            routine,
            library: LAPACK[0],
            why: why.clone(),
            package: "liblapack3 (or libopenblas0)",
        })
}

type Gemm = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_int,
    *const c_int,
    *const c_int,
    *const u8,
    *const u8,
    *const c_int,
    *const u8,
    *const c_int,
    *const u8,
    *mut u8,
    *const c_int,
    usize,
    usize,
);

/// A matrix in memory, by rows: rows are `leading` elements apart. Transposed, it is used the other way round.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<T> {
    /// First element.
    pub at: *const T,
    /// Elements from a row to the next.
    pub leading: usize,
    /// Rows are columns.
    pub is_transposed: bool,
}

impl<T: Copy> Matrix<T> {
    /// # Safety
    /// The element must be there.
    unsafe fn element(&self, row: usize, column: usize) -> T {
        let place = if self.is_transposed {
            column * self.leading + row
        } else {
            row * self.leading + column
        };
        // SAFETY: the caller's promise.
        unsafe { self.at.add(place).read() }
    }
}

/// `c = alpha * a * b + c`, where `c` has `m` rows of `n` elements, `leading` apart, and `a` has `k` columns. By the BLAS where there is
/// one that knows the type, else by loops.
///
/// # Safety
/// The matrices must have as many elements, and `c` overlap none of the others.
pub unsafe fn multiply<T: Element>(
    [m, n, k]: [usize; 3],
    alpha: T,
    a: Matrix<T>,
    b: Matrix<T>,
    c: *mut T,
    leading: usize,
) {
    let name: Option<&[u8]> = match T::KIND {
        ElementKind::Float => Some(b"sgemm_\0"),
        ElementKind::Double => Some(b"dgemm_\0"),
        ElementKind::Complex => Some(b"cgemm_\0"),
        ElementKind::DoubleComplex => Some(b"zgemm_\0"),
        _ => None,
    };
    if let (Some(name), Ok(library)) = (name, blas())
        // SAFETY: BLAS's routines of these names have this signature.
        && let Ok(gemm) = unsafe { library.get::<Gemm>(name) }
    {
        let letter = |matrix: &Matrix<T>| if matrix.is_transposed { c"T" } else { c"N" };
        let [m, n, k] = [m, n, k].map(|count| count as c_int);
        let [lda, ldb, ldc] = [a.leading, b.leading, leading].map(|count| count.max(1) as c_int);
        let one = T::ONE;
        // By rows is transposed by columns: c' = b' a'.
        // SAFETY: the caller's promise.
        unsafe {
            gemm(
                letter(&b).as_ptr(),
                letter(&a).as_ptr(),
                &n,
                &m,
                &k,
                (&raw const alpha).cast(),
                b.at.cast(),
                &ldb,
                a.at.cast(),
                &lda,
                (&raw const one).cast(),
                c.cast(),
                &ldc,
                1,
                1,
            );
        }
        return;
    }
    // Rows of the second factor are read one after the other, many times.
    // SAFETY: the caller's promise.
    let rows: Vec<T> = (0..k * n).map(|at| unsafe { b.element(at / n, at % n) }).collect();
    for row in 0..m {
        // SAFETY: the caller's promise; rows of the product do not overlap.
        let sums = unsafe { std::slice::from_raw_parts_mut(c.add(row * leading), n) };
        for (inner, values) in rows.chunks_exact(n.max(1)).enumerate() {
            // SAFETY: the caller's promise.
            let factor = unsafe { alpha.mul(a.element(row, inner)) };
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.add(factor.mul(*value));
            }
        }
    }
}

/// The LAPACK routine of that name for the type: `d` stands for the type's letter.
fn symbol<F: Copy>(library: &Library, kind: ElementKind, real: &str, complex: &str) -> Result<F> {
    let name = match kind {
        ElementKind::Float => format!("s{real}"),
        ElementKind::Double => format!("d{real}"),
        ElementKind::Complex => format!("c{complex}"),
        ElementKind::DoubleComplex => format!("z{complex}"),
        _ => return Err(Error::argument("linear algebra needs real or complex numbers")),
    };
    // SAFETY: callers ask for the signature of the routine.
    let found = unsafe { library.get::<F>(format!("{name}_\0").as_bytes()) };
    found
        .map(|symbol| *symbol)
        .map_err(|error| Error::argument(format!("{name}: {error}")))
}

/// What LAPACK's `info` says: 0, or where a matrix is not what it must be.
fn check(routine: &str, info: c_int) -> Result<c_int> {
    match info {
        wrong if wrong < 0 => Err(Error::argument(format!("{routine}: argument {} is wrong", -wrong))),
        info => Ok(info),
    }
}

/// Solve `a x = b` for the columns of `b`, of a square matrix by columns. Both are overwritten. 0, or the row at which the matrix is
/// singular, or not positive definite.
///
/// # Errors
/// There is no LAPACK.
pub fn solve<T: Element>(rows: usize, columns: usize, a: &mut [T], b: &mut [T], is_positive: bool) -> Result<c_int> {
    let library = lapack(if is_positive { "posv" } else { "gesv" })?;
    let (n, nrhs) = (rows as c_int, columns as c_int);
    let mut info = 0;
    if is_positive {
        type Posv = unsafe extern "C" fn(
            *const c_char,
            *const c_int,
            *const c_int,
            *mut u8,
            *const c_int,
            *mut u8,
            *const c_int,
            *mut c_int,
            usize,
        );
        let posv: Posv = symbol(library, T::KIND, "posv", "posv")?;
        // SAFETY: LAPACK's signature; the matrices have `rows` rows and as many columns as they say.
        unsafe {
            posv(
                c"L".as_ptr(),
                &n,
                &nrhs,
                a.as_mut_ptr().cast(),
                &n,
                b.as_mut_ptr().cast(),
                &n,
                &mut info,
                1,
            );
        }
        return check("posv", info);
    }
    type Gesv = unsafe extern "C" fn(
        *const c_int,
        *const c_int,
        *mut u8,
        *const c_int,
        *mut c_int,
        *mut u8,
        *const c_int,
        *mut c_int,
    );
    let gesv: Gesv = symbol(library, T::KIND, "gesv", "gesv")?;
    let mut pivots = vec![0; rows];
    // SAFETY: as above.
    unsafe {
        gesv(
            &n,
            &nrhs,
            a.as_mut_ptr().cast(),
            &n,
            pivots.as_mut_ptr(),
            b.as_mut_ptr().cast(),
            &n,
            &mut info,
        );
    }
    check("gesv", info)
}

/// Invert a symmetric positive definite matrix: its lower triangle, by columns, is overwritten with that of the inverse. 0; the row at
/// which it is not positive definite; less: that at which its factor is singular.
///
/// # Errors
/// There is no LAPACK.
pub fn invert<T: Element>(rows: usize, a: &mut [T]) -> Result<c_int> {
    type Factor = unsafe extern "C" fn(*const c_char, *const c_int, *mut u8, *const c_int, *mut c_int, usize);
    let library = lapack("potri")?;
    let n = rows as c_int;
    for (routine, sign) in [("potrf", 1), ("potri", -1)] {
        let call: Factor = symbol(library, T::KIND, routine, routine)?;
        let mut info = 0;
        // SAFETY: LAPACK's signature; the matrix has `rows` rows and columns.
        unsafe { call(c"L".as_ptr(), &n, a.as_mut_ptr().cast(), &n, &mut info, 1) };
        if let row @ 1.. = check(routine, info)? {
            return Ok(sign * row);
        }
    }
    Ok(0)
}

/// Eigenvalues, ascending, and eigenvectors of a real symmetric matrix, or of the pair with a positive definite `metric`. The vectors
/// replace the matrix, one behind the other.
///
/// # Errors
/// There is no LAPACK, or it does not converge.
pub fn eigen(rows: usize, a: &mut [f64], metric: Option<&mut [f64]>) -> Result<Vec<f64>> {
    type Syev = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const c_int,
        *mut f64,
        *const c_int,
        *mut f64,
        *mut f64,
        *const c_int,
        *mut c_int,
        usize,
        usize,
    );
    type Sygv = unsafe extern "C" fn(
        *const c_int,
        *const c_char,
        *const c_char,
        *const c_int,
        *mut f64,
        *const c_int,
        *mut f64,
        *const c_int,
        *mut f64,
        *mut f64,
        *const c_int,
        *mut c_int,
        usize,
        usize,
    );
    let library = lapack("syev")?;
    let n = rows as c_int;
    let mut values = vec![0.0; rows];
    let mut work = vec![0.0; (34 * rows).max(4)];
    let length = work.len() as c_int;
    let mut info = 0;
    match metric {
        None => {
            let syev: Syev = symbol(library, ElementKind::Double, "syev", "heev")?;
            // SAFETY: LAPACK's signature; the matrix has `rows` rows and columns, the workspace is longer than needed.
            unsafe {
                syev(
                    c"V".as_ptr(),
                    c"L".as_ptr(),
                    &n,
                    a.as_mut_ptr(),
                    &n,
                    values.as_mut_ptr(),
                    work.as_mut_ptr(),
                    &length,
                    &mut info,
                    1,
                    1,
                );
            }
        }
        Some(metric) => {
            let sygv: Sygv = symbol(library, ElementKind::Double, "sygv", "hegv")?;
            // SAFETY: as above.
            unsafe {
                sygv(
                    &1,
                    c"V".as_ptr(),
                    c"L".as_ptr(),
                    &n,
                    a.as_mut_ptr(),
                    &n,
                    metric.as_mut_ptr(),
                    &n,
                    values.as_mut_ptr(),
                    work.as_mut_ptr(),
                    &length,
                    &mut info,
                    1,
                    1,
                );
            }
        }
    }
    match check("syev", info)? {
        0 => Ok(values),
        at if at as usize > rows => Err(Error::argument(format!(
            "the metric is not positive definite, at row {}",
            at as usize - rows
        ))),
        at => Err(Error::argument(format!("syev: eigenvalue {at} did not converge"))),
    }
}
