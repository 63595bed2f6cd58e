//! Matrices as ScaLAPACK has them: square blocks distributed cyclically to the rows and columns of a grid of processes; the blocks of a process
//! form one matrix by columns.

pub(crate) mod eigen;
pub(crate) mod solve;

use std::ffi::c_int;

use crate::array::Array;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::onesided::{fetch, store};
use crate::patch::Patch;
use crate::scalapack::Grid;

/// Rows and columns of the largest blocks.
const BLOCK: usize = 32;

/// The calling process's part of a matrix.
pub(crate) struct BlockCyclic<T> {
    grid: Grid,
    extents: [usize; 2],
    block: usize,
    /// Rows and columns here.
    here: [usize; 2],
    values: Vec<T>,
}

/// Indexes of a dimension that `place` of `among` processes has, in blocks: each with the first index in the whole, that in the part, and
/// how many.
fn blocks_of(
    extent: usize,
    block: usize,
    place: usize,
    among: usize,
) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
    let firsts = (place * block..extent).step_by(among * block);
    firsts
        .enumerate()
        .map(move |(turn, first)| (first, turn * block, block.min(extent - first)))
}

/// The patch of an array that is `rows` from its first and `columns` from its first; a vector is one column.
fn patch(array: &Array, row: usize, height: usize, column: usize, width: usize) -> Patch {
    let (lo, hi) = ([row, column], [row + height - 1, column + width - 1]);
    let rank = array.rank();
    Patch {
        lo: lo[..rank].iter().map(|at| *at as i64).collect(),
        hi: hi[..rank].iter().map(|at| *at as i64).collect(),
    }
}

/// Rows and columns of a block. Small matrices are distributed, too.
fn block_of(grid: &Grid, extents: [usize; 2]) -> usize {
    (extents[0] / grid.extents[0].max(grid.extents[1])).clamp(1, BLOCK)
}

/// Rows and columns that the process at a place of the grid has.
fn part_of(grid: &Grid, extents: [usize; 2], place: [usize; 2]) -> [usize; 2] {
    let block = block_of(grid, extents);
    [0, 1].map(|d| {
        let blocks = blocks_of(extents[d], block, place[d], grid.extents[d]);
        blocks.map(|(_, _, count)| count).sum()
    })
}

/// Can ScaLAPACK count the elements of a matrix, `times` as many as a process has, in its 32 bits? The same at every process.
///
/// # Errors
/// It cannot.
pub(crate) fn check_size(grid: &Grid, extents: [usize; 2], times: usize) -> Result<()> {
    // The first process of the grid has most.
    let [rows, columns] = part_of(grid, extents, [0, 0]);
    let block = block_of(grid, extents);
    let most = (rows + block).saturating_mul(columns + block).saturating_mul(times);
    let longest = extents[0].max(extents[1]).saturating_mul(8);
    if most.saturating_add(longest) <= c_int::MAX as usize {
        return Ok(());
    }
    Err(Error::argument(format!(
        "a matrix of {} x {} is too large for {} processes: ScaLAPACK counts the elements of each in 32 bits; use more processes",
        extents[0],
        extents[1],
        grid.extents[0] * grid.extents[1]
    )))
}

impl<T: Element> BlockCyclic<T> {
    /// Zeros.
    pub fn zeros(grid: Grid, extents: [usize; 2]) -> Self {
        let block = block_of(&grid, extents);
        let here = part_of(&grid, extents, grid.place);
        Self {
            grid,
            extents,
            block,
            here,
            values: vec![T::ZERO; here[0] * here[1]],
        }
    }

    /// The elements of an array: a square matrix, or one whose blocks are those of such a matrix with as many rows.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn load(grid: Grid, array: &Array, is_transposed: bool) -> Result<Self> {
        let columns = array.dims.get(1).map_or(1, |columns| *columns as usize);
        check_size(&grid, [array.dims[0] as usize, columns], 1)?;
        let mut matrix = Self::zeros(grid, [array.dims[0] as usize, columns]);
        for (row, column, at, [height, width]) in matrix.blocks() {
            let wanted = match is_transposed {
                true => patch(array, column, width, row, height),
                false => patch(array, row, height, column, width),
            };
            let values: Vec<T> = fetch(array, &wanted)?;
            for (n, value) in values.into_iter().enumerate() {
                let (r, c) = match is_transposed {
                    true => (n % height, n / height),
                    false => (n / width, n % width),
                };
                let place = at + r + c * matrix.here[0];
                matrix.values[place] = value;
            }
        }
        Ok(matrix)
    }

    /// Blocks here: first row and column in the whole, place of the first element here, rows and columns.
    fn blocks(&self) -> Vec<(usize, usize, usize, [usize; 2])> {
        let along = |d: usize| blocks_of(self.extents[d], self.block, self.grid.place[d], self.grid.extents[d]);
        let columns = along(1);
        along(0)
            .flat_map(|(row, local_row, height)| {
                columns.clone().map(move |(column, local_column, width)| {
                    let at = local_row + local_column * self.here[0];
                    (row, column, at, [height, width])
                })
            })
            .collect()
    }

    /// A block by rows.
    fn by_rows(&self, at: usize, [height, width]: [usize; 2]) -> Vec<T> {
        let places = (0..height * width).map(|n| at + n / width + n % width * self.here[0]);
        places.map(|place| self.values[place]).collect()
    }

    /// Put the elements into an array.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn store(&self, array: &Array) -> Result<()> {
        for (row, column, at, [height, width]) in self.blocks() {
            store(
                array,
                &patch(array, row, height, column, width),
                &self.by_rows(at, [height, width]),
            )?;
        }
        Ok(())
    }

    /// Put the lower triangle into an array, and its mirror, conjugated.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn store_mirrored(&self, array: &Array) -> Result<()> {
        for (row, column, at, [height, width]) in self.blocks() {
            if row < column {
                continue;
            }
            let mut values = self.by_rows(at, [height, width]);
            if row == column {
                for n in 0..height * width {
                    let (r, c) = (n / width, n % width);
                    if r < c {
                        values[n] = values[c * width + r].conjugate();
                    }
                }
            } else {
                let mirror = |n: usize| values[n % height * width + n / height].conjugate();
                let mirrored: Vec<T> = (0..height * width).map(mirror).collect();
                store(array, &patch(array, column, width, row, height), &mirrored)?;
            }
            store(array, &patch(array, row, height, column, width), &values)?;
        }
        Ok(())
    }

    /// Rows of the whole matrix.
    pub fn rows(&self) -> usize {
        self.extents[0]
    }

    /// As routines are told of it.
    fn descriptor(&self) -> Descriptor {
        let [rows, columns] = self.extents.map(|extent| extent as c_int);
        let block = self.block as c_int;
        let leading = self.here[0].max(1) as c_int;
        [1, self.grid.context, rows, columns, block, block, 0, 0, leading]
    }

    fn at(&mut self) -> *mut u8 {
        self.values.as_mut_ptr().cast()
    }
}

type Descriptor = [c_int; 9];

/// What a routine's `info` says: 0, or where a matrix is not what it must be.
fn outcome(routine: &str, info: c_int) -> Result<c_int> {
    match info {
        wrong if wrong < 0 => Err(Error::argument(format!("{routine}: argument {} is wrong", -wrong))),
        info => Ok(info),
    }
}

const ONE: c_int = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_32_bits_cannot_count_is_refused() {
        let grid = |rows, columns| Grid {
            context: 0,
            extents: [rows, columns],
            place: [0, 0],
        };
        assert!(check_size(&grid(1, 1), [46_000, 46_000], 1).is_ok());
        assert!(check_size(&grid(1, 1), [46_400, 46_400], 1).is_err());
        assert!(check_size(&grid(2, 2), [60_000, 60_000], 1).is_ok());
        assert!(check_size(&grid(2, 2), [60_000, 60_000], 2).is_ok());
        assert!(check_size(&grid(2, 2), [70_000, 70_000], 2).is_err());
    }

    #[test]
    fn each_row_and_column_is_dealt_to_one_process() {
        for extents in [[1, 1], [7, 3], [100, 100], [301, 2]] {
            let place = |row, column| Grid {
                context: 0,
                extents: [2, 3],
                place: [row, column],
            };
            let parts = (0..2).flat_map(|row| (0..3).map(move |column| (row, column)));
            let parts = parts.map(|(row, column)| BlockCyclic::<f64>::zeros(place(row, column), extents).values.len());
            assert_eq!(parts.sum::<usize>(), extents[0] * extents[1]);
        }
    }
}
