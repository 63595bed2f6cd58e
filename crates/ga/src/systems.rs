//! Systems of equations, inverses, eigenvalues; collective. By ScaLAPACK on all processes, or by LAPACK on the first one, on the whole
//! matrix: for small matrices, and where there is no ScaLAPACK (tunable `ga_linear`).

use std::ffi::c_int;

use isthmus_armci::group::Group;
use isthmus_armci::reduction::{Operator, all_reduce};
use isthmus_engine::tunables;

use crate::array::Array;
use crate::blas;
use crate::block_cyclic::{self, BlockCyclic};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::kind::{ElementKind, Generic, dispatch};
use crate::life::collectively;
use crate::onesided::{fetch, store};
use crate::scalapack::{self, Grid};

/// Rows of matrices from which several processes do it together.
const LEAST_ROWS: usize = 256;

fn square(array: &Array) -> Result<usize> {
    match array.dims.as_slice() {
        [rows, columns] if rows == columns => Ok(*rows as usize),
        _ => Err(Error::argument(format!("array '{}' is no square matrix", array.name))),
    }
}

fn turned<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| values[row * columns + column]))
        .collect()
}

/// Linear algebra knows these elements?
///
/// # Errors
/// It does not.
fn check_kind(array: &Array) -> Result<()> {
    scalapack::name(array.kind, "")
        .map(drop)
        .map_err(|error| Error::argument(format!("array '{}': {error}", array.name)))
}

/// The largest of what the members say.
fn largest(group: &Group, value: c_int) -> Result<c_int> {
    let mut bytes = value.to_ne_bytes();
    all_reduce(
        &group.link()?,
        &mut bytes,
        ElementKind::Int.of_reduction()?,
        Operator::Max,
    )?;
    Ok(c_int::from_ne_bytes(bytes))
}

/// The grid on which ScaLAPACK is to do it; `None`: LAPACK does.
fn grid(group: &Group, rows: usize) -> Result<Option<Grid>> {
    let wanted = match tunables::GA_LINEAR.get() {
        // Of one element ScaLAPACK's LU does not see that it is 0.
        _ if rows == 1 => return Ok(None),
        Some("scalapack") => true,
        Some("lapack") => return Ok(None),
        _ if group.size() == 1 || rows < LEAST_ROWS => return Ok(None),
        _ => false,
    };
    let usable = scalapack::check();
    let nobody_lacks_it = largest(group, c_int::from(usable.is_err()))? == 0;
    match (usable, wanted) {
        (Ok(()), _) if nobody_lacks_it => Grid::of(group).map(Some),
        (_, false) => Ok(None),
        (Err(why), true) => Err(why),
        (Ok(()), true) => Err(Error::argument("another process cannot use ScaLAPACK; it says why")),
    }
}

/// Let the first process of a group do something, and all hear whether it went well, and what came of it.
fn first_does(group: &Group, work: impl FnOnce() -> Result<c_int>) -> Result<c_int> {
    const FAILED: c_int = c_int::MAX;
    let outcome = if group.me() == Some(0) { work() } else { Ok(c_int::MIN) };
    let heard = largest(group, *outcome.as_ref().unwrap_or(&FAILED))?;
    outcome?;
    match heard {
        FAILED => Err(Error::argument("the first process could not do it; it says why")),
        info => Ok(info),
    }
}

/// How a system is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factors {
    /// By LU.
    General,
    /// That of the transposed matrix.
    Transposed,
    /// By Cholesky's, which wants a positive definite matrix.
    Positive,
}

struct DoSolve<'a> {
    a: &'a Array,
    b: &'a Array,
    factors: Factors,
}

impl Generic for DoSolve<'_> {
    type Output = c_int;

    fn call<T: Element>(self) -> Result<c_int> {
        let rows = square(self.a)?;
        let columns = match self.b.dims.as_slice() {
            [length] if *length as usize == rows => 1,
            [length, columns] if *length as usize == rows => *columns as usize,
            _ => {
                return Err(Error::argument(format!(
                    "array '{}' must have {rows} rows, as '{}' has",
                    self.b.name, self.a.name
                )));
            }
        };
        if self.a.kind != self.b.kind {
            return Err(Error::argument("the arrays have elements of different types"));
        }
        let (is_transposed, is_positive) = (self.factors == Factors::Transposed, self.factors == Factors::Positive);
        let group = self.b.group()?;
        if let Some(grid) = grid(&group, rows)? {
            let mut a: BlockCyclic<T> = BlockCyclic::load(grid, self.a, is_transposed)?;
            let mut b: BlockCyclic<T> = BlockCyclic::load(grid, self.b, false)?;
            // Nobody writes before all have read.
            let info = match is_positive {
                true => block_cyclic::solve::solve_positive(&mut a, &mut b)?,
                false => block_cyclic::solve::solve(&mut a, &mut b)?,
            };
            group.link()?.barrier()?;
            if info == 0 {
                b.store(self.b)?;
            }
            return Ok(info);
        }
        first_does(&group, || {
            let values: Vec<T> = fetch(self.a, &self.a.whole())?;
            // By rows is the transpose by columns.
            let mut matrix = match is_transposed {
                true => values,
                false => turned(&values, rows, rows),
            };
            let mut right = turned(&fetch::<T>(self.b, &self.b.whole())?, rows, columns);
            let info = blas::solve(rows, columns, &mut matrix, &mut right, is_positive)?;
            if info == 0 {
                store(self.b, &self.b.whole(), &turned(&right, columns, rows))?;
            }
            Ok(info)
        })
    }
}

/// `b` becomes `x` of `a x = b`. 0; or the row at which `a` is singular, or not positive definite, and `b` is as it was. Collective.
///
/// # Errors
/// Extents or types that do not fit, no LAPACK.
pub fn solve(a: &Array, b: &Array, factors: Factors) -> Result<c_int> {
    check_kind(a)?;
    collectively(&*b.group()?, || dispatch(a.kind, DoSolve { a, b, factors }))
}

struct DoInvert<'a>(&'a Array);

impl Generic for DoInvert<'_> {
    type Output = c_int;

    fn call<T: Element>(self) -> Result<c_int> {
        let rows = square(self.0)?;
        let group = self.0.group()?;
        if let Some(grid) = grid(&group, rows)? {
            let mut a: BlockCyclic<T> = BlockCyclic::load(grid, self.0, false)?;
            let info = block_cyclic::solve::invert(&mut a)?;
            group.link()?.barrier()?;
            if info == 0 {
                a.store_mirrored(self.0)?;
            }
            return Ok(info);
        }
        first_does(&group, || {
            let mut values: Vec<T> = fetch(self.0, &self.0.whole())?;
            values = turned(&values, rows, rows);
            let info = blas::invert(rows, &mut values)?;
            if info != 0 {
                return Ok(info);
            }
            // The lower triangle by columns; the rest is its mirror.
            for column in 0..rows {
                for row in column + 1..rows {
                    values[row * rows + column] = values[column * rows + row].conjugate();
                }
            }
            store(self.0, &self.0.whole(), &turned(&values, rows, rows))?;
            Ok(0)
        })
    }
}

/// `GA_Spd_invert`: a symmetric positive definite matrix becomes its inverse. 0; the row at which it is not positive definite; less: that
/// at which its factor is singular. Then the matrix is as it was. Collective.
///
/// # Errors
/// There is no LAPACK.
pub fn invert(a: &Array) -> Result<c_int> {
    check_kind(a)?;
    collectively(&*a.group()?, || dispatch(a.kind, DoInvert(a)))
}

/// The metric of a generalized eigenproblem.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    /// The matrix.
    pub of: &'a Array,
    /// Its factor is kept for later calls of the group (ScaLAPACK's only).
    pub keeps: bool,
    /// The factor that was kept last is taken, if there is one for a matrix of this size.
    pub reuses: bool,
}

impl<'a> Metric<'a> {
    /// To be factored, and forgotten.
    pub fn once(of: &'a Array) -> Self {
        Self {
            of,
            keeps: false,
            reuses: false,
        }
    }
}

fn factor_of(grid: Grid, metric: Metric<'_>) -> Result<BlockCyclic<f64>> {
    let kept = match metric.keeps || metric.reuses {
        true => block_cyclic::eigen::take_kept(grid.context),
        false => None,
    };
    let rows = metric.of.dims[0] as usize;
    match kept.filter(|kept| metric.reuses && kept.rows() == rows) {
        Some(factor) => Ok(factor),
        None => block_cyclic::eigen::factored(BlockCyclic::load(grid, metric.of, false)?),
    }
}

/// Forget the factor of a metric that was kept for the group of an array (`GA_Diag_reuse` with a negative flag). Collective.
///
/// # Errors
/// The array was destroyed.
pub fn forget_metric(a: &Array) -> Result<()> {
    let group = a.group()?;
    collectively(&group, || {
        if let Some(context) = scalapack::context_of(&group) {
            block_cyclic::eigen::take_kept(context);
        }
        Ok(())
    })
}

/// Give back what was made for a group, which is to be destroyed. Collective over the group. Blocks.
pub fn forget(group: &Group) {
    if let Some(context) = scalapack::forget(group) {
        block_cyclic::eigen::take_kept(context);
    }
}

/// Give back what was made for all groups. Collective. Blocks.
pub fn forget_all() {
    block_cyclic::eigen::forget_kept();
    scalapack::forget_all();
}

/// `GA_Diag` and its kin: eigenvalues of a symmetric matrix, ascending, and its eigenvectors as the columns of `vectors`; with a metric
/// of the generalized problem. Collective; all get the values. Those that are to be computed by one process are, whatever there is.
///
/// # Errors
/// The arrays are no square matrices of doubles of one size, or there is no LAPACK.
pub fn eigen(a: &Array, metric: Option<Metric<'_>>, vectors: &Array, by_one: bool) -> Result<Vec<f64>> {
    let rows = square(a)?;
    for array in [a, vectors].into_iter().chain(metric.map(|metric| metric.of)) {
        if square(array)? != rows || array.kind != ElementKind::Double {
            return Err(Error::argument(format!(
                "array '{}' must be a matrix of {rows} x {rows} doubles",
                array.name
            )));
        }
    }
    let group = a.group()?;
    collectively(&group, || {
        let grid = if by_one { None } else { grid(&group, rows)? };
        if let Some(grid) = grid {
            let matrix = BlockCyclic::load(grid, a, false)?;
            let mut factor = metric.map(|metric| factor_of(grid, metric)).transpose()?;
            let (values, found) = block_cyclic::eigen::eigen(matrix, factor.as_mut())?;
            if let (Some(Metric { keeps: true, .. }), Some(factor)) = (metric, factor) {
                block_cyclic::eigen::keep(factor);
            }
            group.link()?.barrier()?;
            found.store(vectors)?;
            return Ok(values);
        }
        let mut values = vec![0.0_f64; rows];
        first_does(&group, || {
            let mut matrix: Vec<f64> = fetch(a, &a.whole())?;
            let metric = metric.map(|metric| fetch::<f64>(metric.of, &metric.of.whole()));
            let mut metric = metric.transpose()?;
            values = blas::eigen(rows, &mut matrix, metric.as_deref_mut())?;
            store(vectors, &vectors.whole(), &turned(&matrix, rows, rows))?;
            Ok(0)
        })?;
        group.link()?.broadcast(crate::local::as_bytes(&mut values), 0)?;
        Ok(values)
    })
}
