//! Count sketch: a matrix with fewer rows, whose products with vectors are like those of the original.
//!
//! Source: M. Charikar, K. Chen, M. Farach-Colton, "Finding Frequent Items in Data Streams", 2002; as a transform of matrices K. Clarkson,
//! D. Woodruff, "Low Rank Approximation and Regression in Input Sparsity Time", 2013.

use super::Sparse;
use super::convert::put_rows;
use crate::array::Array;
use crate::element::Element;
use crate::elementwise::random;
use crate::error::{Error, Result};
use crate::kind::{ElementKind, Generic, dispatch};
use crate::life::collectively;
use crate::onesided::{Buffer, Operation, transfer};
use crate::patch::Patch;
use crate::plan::Plan;

/// A sketch, and what it was made with.
#[derive(Debug)]
pub struct Sketch {
    /// Its rows are sums of rows.
    pub sums: Array,
    /// For each row of the original, which row it was added to; `int`s.
    pub labels: Array,
    /// For each row of the original 1 or -1, which it was multiplied with.
    pub weights: Array,
}

/// All of them, or none: if one fails, at every process, those before it are given back. Collective.
fn create_all<const N: usize>(plans: [Plan; N]) -> Result<[Array; N]> {
    let mut made = Vec::with_capacity(N);
    for plan in plans {
        match Array::create(plan) {
            Ok(array) => made.push(array),
            Err(error) => {
                made.iter().try_for_each(Array::destroy)?;
                return Err(error);
            }
        }
    }
    made.try_into()
        .map_err(|_| Error::argument("not as many arrays as plans were made"))
}

struct DoSketch<'a>(&'a Sparse, i64);

impl Generic for DoSketch<'_> {
    type Output = Sketch;

    fn call<T: Element>(self) -> Result<Sketch> {
        let Self(matrix, height) = self;
        let (first, rows) = matrix.own_rows();
        let labels: Vec<i32> = (0..rows).map(|_| (height as f64 * random()) as i32).collect();
        let minus = T::ZERO.sub(T::ONE);
        let weights: Vec<T> = (0..rows).map(|_| if random() < 0.5 { minus } else { T::ONE }).collect();
        let mut plan = Plan::new();
        plan.set_data(vec![height, matrix.columns], matrix.kind)?;
        plan.group = matrix.group;
        let (of_labels, of_weights) = (
            matrix.plan_by_rows(&[matrix.rows], ElementKind::Int)?,
            matrix.plan_by_rows(&[matrix.rows], matrix.kind)?,
        );
        let [sums, labels_there, weights_there] = create_all([plan, of_labels, of_weights])?;
        let made = Sketch {
            sums,
            labels: labels_there,
            weights: weights_there,
        };
        put_rows(&made.labels, first, &labels)?;
        put_rows(&made.weights, first, &weights)?;
        for block in 0..matrix.processes() {
            let Some(piece) = matrix.fetch::<T>(matrix.me(), block)? else {
                continue;
            };
            let (lo, hi) = matrix.columns_of(block)?;
            let mut by_label: Vec<usize> = (0..rows).collect();
            by_label.sort_by_key(|row| labels[*row]);
            for rows in by_label.chunk_by(|a, b| labels[*a] == labels[*b]) {
                let mut sums = vec![T::ZERO; (hi - lo + 1) as usize];
                for &row in rows {
                    for (column, value) in piece.row(row) {
                        let sum = &mut sums[(column - lo) as usize];
                        *sum = sum.add(weights[row].mul(value));
                    }
                }
                let label = i64::from(labels[rows[0]]);
                let patch = Patch::new([label, lo], [label, hi]);
                let buffer = Buffer::dense(sums.as_mut_ptr().cast(), &patch);
                let one = T::ONE;
                // SAFETY: the buffer has all of the patch.
                unsafe {
                    transfer(
                        &made.sums,
                        &patch,
                        &buffer,
                        Operation::Accumulate((&raw const one).cast()),
                    )
                }?;
            }
        }
        Ok(made)
    }
}

/// `NGA_Sprs_array_count_sketch`: each row is multiplied with 1 or -1 and added to one of `height` rows, both by chance. Collective.
///
/// # Errors
/// More rows than the matrix has, or none; it is not assembled; there is no memory.
pub fn count_sketch(matrix: &Sparse, height: i64) -> Result<Sketch> {
    matrix.stored()?;
    if !(1..=matrix.rows).contains(&height) {
        return Err(Error::argument(format!(
            "size_k={height} must be 1 to {}, the rows of the sparse array",
            matrix.rows
        )));
    }
    collectively(&*matrix.group()?, || dispatch(matrix.kind, DoSketch(matrix, height)))
}
