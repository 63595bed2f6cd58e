//! Which process has which elements, and where they lie in its memory.
//!
//! An array is cut into blocks. Blocks that touch each other in memory order are what put, get and all other operations work with:
//! [`Distribution::blocks`] lists those that a patch touches.

use crate::error::{Error, Result};
use crate::patch::{Patch, offset, strides};

/// How an array is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// One block per process: the first index of each block in each dimension. Blocks are numbered with the last dimension fastest.
    Regular {
        /// For each dimension, ascending; the first is 0.
        cuts: Vec<Vec<i64>>,
    },
    /// Blocks distributed cyclically, one behind the other in the memory of their process.
    Cyclic {
        /// Extents of a block.
        block: Vec<i64>,
    },
    /// Blocks distributed cyclically in each dimension of a grid of processes.
    Grid {
        /// Of the blocks: for each dimension the first index of each block.
        cuts: Vec<Vec<i64>>,
        /// Extents of a block; the largest, if they differ.
        block: Vec<i64>,
        /// Processes in each dimension; the last one fastest.
        grid: Vec<i64>,
        /// The blocks of a process lie one behind the other; else all of them form one matrix, as ScaLAPACK has it.
        tiled: bool,
    },
}

/// A block, or what a patch touches of it.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its number.
    pub number: i64,
    /// Its owner, by the place among the processes of the array.
    pub owner: usize,
    /// Its elements.
    pub patch: Patch,
    /// Where its first element lies in the owner's memory, in elements.
    pub offset: i64,
    /// Distance between neighbours in each dimension, in elements; of the last dimension 1.
    pub strides: Vec<i64>,
}

impl Block {
    /// Where an element lies in the owner's memory, in elements.
    pub fn place(&self, index: &[i64]) -> i64 {
        self.offset + offset(index, &self.patch.lo, &self.strides)
    }

    /// The part of it in a patch.
    #[must_use]
    pub fn within(&self, patch: &Patch) -> Option<Self> {
        let part = self.patch.and(patch)?;
        Some(Self {
            offset: self.place(&part.lo),
            patch: part,
            ..self.clone()
        })
    }
}

/// First indexes of blocks of `size` in `dim`.
fn even_cuts(dim: i64, size: i64) -> Vec<i64> {
    (0..dim.max(1)).step_by(size.max(1) as usize).collect()
}

/// The block of `cuts` in which `index` is.
#[inline]
pub(crate) fn find(cuts: &[i64], index: i64) -> usize {
    cuts.partition_point(|cut| *cut <= index).saturating_sub(1)
}

impl Distribution {
    /// One block for each of at most `processes`, cut evenly. A positive `chunk` is the least extent that blocks may have in a
    /// dimension; a chunk of the whole dimension does not cut it.
    pub fn even(dims: &[i64], chunk: &[i64], processes: usize) -> Self {
        let grid = grid(dims, chunk, processes);
        let cuts = dims.iter().zip(&grid);
        let cuts = cuts.map(|(&dim, &parts)| (0..parts).map(|part| part * dim / parts).collect());
        Self::Regular { cuts: cuts.collect() }
    }

    /// The user's own cuts.
    ///
    /// # Errors
    /// They are not ascending from 0, beyond the dimension, or make more blocks than there are processes.
    pub fn irregular(dims: &[i64], cuts: Vec<Vec<i64>>, processes: usize) -> Result<Self> {
        for (d, cuts) in cuts.iter().enumerate() {
            let is_ascending = cuts.windows(2).all(|pair| pair[0] <= pair[1]);
            if cuts.first() != Some(&0) || !is_ascending || cuts.iter().any(|cut| *cut > dims[d]) {
                return Err(Error::argument(format!(
                    "map: the blocks of dimension {d} must begin at ascending indexes of 0..{}, the first at 0; they are {cuts:?}",
                    dims[d]
                )));
            }
        }
        let blocks: usize = cuts.iter().map(Vec::len).product();
        if blocks > processes {
            return Err(Error::argument(format!("{blocks} blocks, but {processes} processes")));
        }
        Ok(Self::Regular { cuts })
    }

    /// Blocks in each dimension.
    pub fn block_counts(&self, dims: &[i64]) -> Vec<i64> {
        match self {
            Self::Regular { cuts } | Self::Grid { cuts, .. } => cuts.iter().map(|cuts| cuts.len() as i64).collect(),
            Self::Cyclic { block } => dims
                .iter()
                .zip(block)
                .map(|(dim, block)| (dim + block - 1) / (*block).max(1))
                .collect(),
        }
    }

    /// Blocks in all.
    pub fn total(&self, dims: &[i64]) -> i64 {
        self.block_counts(dims).iter().product()
    }

    /// Extents that a block has, but at the edges; of a regular distribution the largest.
    pub fn block_extents(&self, dims: &[i64]) -> Vec<i64> {
        match self {
            Self::Cyclic { block } | Self::Grid { block, .. } => block.clone(),
            Self::Regular { cuts } => (0..dims.len())
                .map(|d| {
                    (0..cuts[d].len())
                        .map(|at| part(&cuts[d], dims[d], at).1)
                        .max()
                        .unwrap_or(0)
                })
                .collect(),
        }
    }

    /// The coordinates of a block's number.
    pub fn coordinates(&self, dims: &[i64], mut number: i64) -> Vec<i64> {
        let counts = self.block_counts(dims);
        let mut at = vec![0; counts.len()];
        for d in (0..counts.len()).rev() {
            at[d] = number % counts[d].max(1);
            number /= counts[d].max(1);
        }
        at
    }

    /// The number of the block at these coordinates.
    pub fn number(&self, dims: &[i64], coordinates: &[i64]) -> i64 {
        let counts = self.block_counts(dims);
        (0..counts.len()).fold(0, |number, d| number * counts[d] + coordinates[d])
    }

    /// A block by its number. `ghosts` are the widths of the margin around each block.
    pub fn block(&self, dims: &[i64], ghosts: &[i64], processes: usize, number: i64) -> Block {
        let at = self.coordinates(dims, number);
        let rank = dims.len();
        match self {
            Self::Regular { cuts } => {
                let patch = patch_at(cuts, dims, &at);
                let extents: Vec<i64> = (0..rank).map(|d| patch.extents()[d] + 2 * ghosts[d]).collect();
                let strides = strides(&extents);
                Block {
                    number,
                    owner: number as usize,
                    offset: (0..rank).map(|d| ghosts[d] * strides[d]).sum(),
                    patch,
                    strides,
                }
            }
            Self::Cyclic { block } => {
                let lo: Vec<i64> = (0..rank).map(|d| at[d] * block[d]).collect();
                let hi: Vec<i64> = (0..rank).map(|d| (lo[d] + block[d]).min(dims[d]) - 1).collect();
                let patch = Patch { lo, hi };
                let room: i64 = block.iter().product();
                Block {
                    number,
                    owner: number as usize % processes,
                    offset: number / processes as i64 * room,
                    strides: strides(&patch.extents()),
                    patch,
                }
            }
            Self::Grid {
                cuts,
                block,
                grid,
                tiled,
            } => {
                let patch = patch_at(cuts, dims, &at);
                let place: Vec<i64> = (0..rank).map(|d| at[d] % grid[d]).collect();
                let owner = (0..rank).fold(0, |owner, d| owner * grid[d] + place[d]) as usize;
                let turn: Vec<i64> = (0..rank).map(|d| at[d] / grid[d]).collect();
                if *tiled {
                    let room: i64 = block.iter().product();
                    let counts = |d: usize| owned(cuts[d].len() as i64, grid[d], place[d]);
                    let before = (0..rank).fold(0, |before, d| before * counts(d) + turn[d]);
                    return Block {
                        number,
                        owner,
                        offset: before * room,
                        strides: strides(&patch.extents()),
                        patch,
                    };
                }
                let extents: Vec<i64> = (0..rank)
                    .map(|d| local_extent(&cuts[d], dims[d], grid[d], place[d]))
                    .collect();
                let strides = strides(&extents);
                Block {
                    number,
                    owner,
                    offset: (0..rank).map(|d| turn[d] * block[d] * strides[d]).sum(),
                    patch,
                    strides,
                }
            }
        }
    }

    /// Elements of memory that a process needs, margins included.
    pub fn room(&self, dims: &[i64], ghosts: &[i64], processes: usize, process: usize) -> i64 {
        match self {
            Self::Regular { .. } => {
                if process as i64 >= self.total(dims) {
                    return 0;
                }
                let extents = self.block(dims, ghosts, processes, process as i64).patch.extents();
                (0..dims.len()).map(|d| extents[d] + 2 * ghosts[d]).product()
            }
            Self::Cyclic { block } => {
                owned(self.total(dims), processes as i64, process as i64) * block.iter().product::<i64>()
            }
            Self::Grid {
                cuts,
                block,
                grid,
                tiled,
            } => {
                let Some(place) = place_in(grid, process) else { return 0 };
                (0..dims.len())
                    .map(|d| match tiled {
                        true => owned(cuts[d].len() as i64, grid[d], place[d]) * block[d],
                        false => local_extent(&cuts[d], dims[d], grid[d], place[d]),
                    })
                    .product()
            }
        }
    }

    /// The blocks that a patch touches, cut to it.
    pub fn blocks(&self, dims: &[i64], ghosts: &[i64], processes: usize, patch: &Patch) -> Vec<Block> {
        if patch.is_empty() {
            return Vec::new();
        }
        let at = |d: usize, index: i64| match self {
            Self::Regular { cuts } | Self::Grid { cuts, .. } => find(&cuts[d], index) as i64,
            Self::Cyclic { block } => index / block[d],
        };
        let first: Vec<i64> = (0..dims.len()).map(|d| at(d, patch.lo[d])).collect();
        let last: Vec<i64> = (0..dims.len()).map(|d| at(d, patch.hi[d])).collect();
        let touched = Patch { lo: first, hi: last };
        let blocks = touched.indexes().filter_map(|at| {
            let number = self.number(dims, &at);
            self.block(dims, ghosts, processes, number).within(patch)
        });
        blocks.collect()
    }

    /// All blocks of a process.
    pub fn of_process(&self, dims: &[i64], ghosts: &[i64], processes: usize, process: usize) -> Vec<Block> {
        let all = 0..self.total(dims);
        let numbers: Vec<i64> = match self {
            Self::Regular { .. } => all.filter(|number| *number == process as i64).collect(),
            Self::Cyclic { .. } => all.skip(process).step_by(processes).collect(),
            Self::Grid { .. } => all
                .filter(|number| self.block(dims, ghosts, processes, *number).owner == process)
                .collect(),
        };
        let blocks = numbers
            .into_iter()
            .map(|number| self.block(dims, ghosts, processes, number));
        blocks.filter(|block| !block.patch.is_empty()).collect()
    }
}

/// How many of `count` things the process at `place` of `among` gets, in cyclic order.
fn owned(count: i64, among: i64, place: i64) -> i64 {
    (count - place + among - 1).max(0) / among
}

/// First index and extent of a block.
fn part(cuts: &[i64], dim: i64, at: usize) -> (i64, i64) {
    let end = cuts.get(at + 1).copied().unwrap_or(dim);
    (cuts[at], end - cuts[at])
}

fn patch_at(cuts: &[Vec<i64>], dims: &[i64], at: &[i64]) -> Patch {
    let parts = (0..dims.len()).map(|d| part(&cuts[d], dims[d], at[d] as usize));
    let (lo, extents): (Vec<i64>, Vec<i64>) = parts.unzip();
    let hi = lo.iter().zip(extents).map(|(lo, extent)| lo + extent - 1).collect();
    Patch { lo, hi }
}

/// Indexes of one dimension that the processes at `place` have.
fn local_extent(cuts: &[i64], dim: i64, among: i64, place: i64) -> i64 {
    let own = (place as usize..cuts.len()).step_by(among.max(1) as usize);
    own.map(|at| part(cuts, dim, at).1).sum()
}

/// Where a process is in a grid, the last dimension fastest; `None`: it is in none.
pub fn place_in(grid: &[i64], process: usize) -> Option<Vec<i64>> {
    let mut left = process as i64;
    let mut place = vec![0; grid.len()];
    for d in (0..grid.len()).rev() {
        place[d] = left % grid[d].max(1);
        left /= grid[d].max(1);
    }
    (left == 0).then_some(place)
}

/// Blocks of a size, distributed cyclically in a grid.
pub fn block_cyclic(dims: &[i64], block: Vec<i64>, grid: Vec<i64>, tiled: bool) -> Distribution {
    Distribution::Grid {
        cuts: dims
            .iter()
            .zip(&block)
            .map(|(dim, size)| even_cuts(*dim, *size))
            .collect(),
        block,
        grid,
        tiled,
    }
}

/// Blocks in each dimension, for at most so many processes: prime factors, the largest first, go to the dimension whose blocks are
/// longest, if it may be cut further.
fn grid(dims: &[i64], chunk: &[i64], processes: usize) -> Vec<i64> {
    let most: Vec<i64> = (0..dims.len())
        .map(|d| match chunk.get(d) {
            Some(&least) if least > 0 => (dims[d] / least).max(1),
            _ => dims[d].max(1),
        })
        .collect();
    // With fewer processes it may go up better: 7 processes on a 6 x 6 array.
    (1..=processes as i64)
        .rev()
        .find_map(|count| {
            let mut grid = vec![1; dims.len()];
            for factor in factors(count) {
                let d = (0..dims.len())
                    .filter(|&d| grid[d] * factor <= most[d])
                    .max_by_key(|&d| dims[d] / grid[d])?;
                grid[d] *= factor;
            }
            Some(grid)
        })
        .unwrap_or_else(|| vec![1; dims.len()])
}

/// Prime factors, the largest first.
fn factors(mut number: i64) -> Vec<i64> {
    let mut found = Vec::new();
    let mut factor = 2;
    while number > 1 {
        while number % factor == 0 {
            found.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is in one block, and no two of a process lie at the same place.
    fn sound(distribution: &Distribution, dims: &[i64], ghosts: &[i64], processes: usize) {
        let mut seen = std::collections::HashSet::new();
        let mut count = 0;
        for process in 0..processes {
            let room = distribution.room(dims, ghosts, processes, process);
            for block in distribution.of_process(dims, ghosts, processes, process) {
                assert_eq!(block.owner, process);
                for index in block.patch.indexes() {
                    let place = block.place(&index);
                    assert!((0..room).contains(&place), "{index:?} at {place} of {room}");
                    assert!(seen.insert((process, place)), "{index:?} twice");
                    count += 1;
                    let found = distribution.blocks(dims, ghosts, processes, &Patch::new(index.clone(), index.clone()));
                    assert_eq!(found.len(), 1);
                    assert_eq!((found[0].owner, found[0].offset), (process, place));
                }
            }
        }
        assert_eq!(count, dims.iter().product::<i64>());
    }

    #[test]
    fn every_element_has_one_place() {
        for processes in [1, 2, 3, 4, 6, 7, 9] {
            for dims in [vec![10], vec![7, 5], vec![4, 6, 3], vec![1, 1, 2, 3]] {
                let none = vec![0; dims.len()];
                let one = vec![1; dims.len()];
                let even = Distribution::even(&dims, &[], processes);
                sound(&even, &dims, &none, processes);
                sound(&even, &dims, &one, processes);
                let block = vec![2; dims.len()];
                sound(&Distribution::Cyclic { block: block.clone() }, &dims, &none, processes);
                let mut grid = vec![1; dims.len()];
                grid[0] = processes as i64;
                for tiled in [false, true] {
                    sound(
                        &block_cyclic(&dims, block.clone(), grid.clone(), tiled),
                        &dims,
                        &none,
                        processes,
                    );
                }
            }
        }
    }

    #[test]
    fn chunks_bound_the_cuts() {
        let whole = Distribution::even(&[100, 100], &[100, 0], 4);
        assert_eq!(whole.block_counts(&[100, 100]), [1, 4]);
        let square = Distribution::even(&[100, 100], &[], 4);
        assert_eq!(square.block_counts(&[100, 100]), [2, 2]);
        assert!(Distribution::even(&[2], &[], 7).total(&[2]) <= 2);
    }

    #[test]
    fn bad_maps_are_refused() {
        assert!(Distribution::irregular(&[10], vec![vec![0, 5]], 2).is_ok());
        assert!(Distribution::irregular(&[10], vec![vec![1, 5]], 2).is_err());
        assert!(Distribution::irregular(&[10], vec![vec![0, 5, 3]], 3).is_err());
        assert!(Distribution::irregular(&[10], vec![vec![0, 11]], 2).is_err());
        assert!(Distribution::irregular(&[10], vec![vec![0, 5]], 1).is_err());
    }
}
