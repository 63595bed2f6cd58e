//! How the pieces of a process lie in its memory, and reading them.
//!
//! A part begins with four 64-bit words for each range of columns: where row starts, columns and values are, in bytes from the part's
//! beginning, and how many elements there are. A piece of `n` rows has `n + 1` starts; columns are those of the matrix, ascending in a
//! row. Access: the owner writes, indexes before the wait that ends assembly, values in collective operations between two
//! waits; others read outside of these.

use isthmus_armci::life::job;
use isthmus_armci::transfer;

use super::Sparse;
use crate::element::Element;
use crate::error::Result;

/// Words of memory for each range of columns.
const WORDS: usize = 4;
/// Lines and vectors begin at multiples of this.
const ALIGNMENT: u64 = 64;

/// Offsets of a piece in a part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PieceOffsets {
    pub starts: u64,
    pub columns: u64,
    pub values: u64,
    pub count: u64,
}

/// Offsets for pieces of so many elements, and the bytes that all need.
pub(super) fn lay_out(rows: u64, index: u64, width: u64, counts: &[u64]) -> (Vec<PieceOffsets>, u64) {
    let mut end = (counts.len() * WORDS * 8) as u64;
    let mut take = |bytes: u64| {
        let at = end.next_multiple_of(ALIGNMENT);
        end = at + bytes;
        at
    };
    let offsets = |&count: &u64| match count {
        0 => PieceOffsets::default(),
        count => PieceOffsets {
            starts: take((rows + 1) * index),
            columns: take(count * index),
            values: take(count * width),
            count,
        },
    };
    let all = counts.iter().map(offsets).collect();
    (all, end)
}

/// Indexes as they are in memory.
#[derive(Debug, Clone, Copy)]
enum Indexes<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl Indexes<'_> {
    #[inline(always)]
    fn at(self, n: usize) -> i64 {
        match self {
            Self::Narrow(list) => list[n].into(),
            Self::Wide(list) => list[n],
        }
    }
}

/// A piece of the calling process.
#[derive(Debug)]
pub(super) struct OwnPiece<'a, T> {
    first: i64,
    starts: Indexes<'a>,
    columns: Indexes<'a>,
    values: &'a mut [T],
}

impl<T: Copy> OwnPiece<'_, T> {
    /// Call `element` with row, column and value of each.
    #[inline(always)]
    pub fn for_each(&mut self, mut element: impl FnMut(i64, i64, &mut T)) {
        let rows = match self.starts {
            Indexes::Narrow(list) => list.len() - 1,
            Indexes::Wide(list) => list.len() - 1,
        };
        for row in 0..rows {
            for n in self.starts.at(row) as usize..self.starts.at(row + 1) as usize {
                element(self.first + row as i64, self.columns.at(n), &mut self.values[n]);
            }
        }
    }
}

/// A copy of a piece.
#[derive(Debug)]
pub struct BlockPiece<T> {
    /// For each row, and one more: the number of its first element.
    pub starts: Vec<i64>,
    /// Column of each element.
    pub columns: Vec<i64>,
    /// Value of each element.
    pub values: Vec<T>,
}

/// Pointers to a piece in the memory of the calling process; null: it has no elements.
#[derive(Debug, Clone, Copy)]
pub struct Pointers {
    /// Of row starts.
    pub starts: *mut u8,
    /// Of columns.
    pub columns: *mut u8,
    /// Of values.
    pub values: *mut u8,
}

impl Sparse {
    pub(super) fn index_bytes(&self) -> u64 {
        if self.is_wide { 8 } else { 4 }
    }

    /// Where a piece is.
    fn offsets(&self, process: usize, block: usize) -> Result<(*mut u8, PieceOffsets)> {
        let part = self.part(self.stored()?, process);
        let from = part.wrapping_add(block * WORDS * 8);
        let mut words = [0_u64; WORDS];
        // SAFETY: every part begins with the words of all ranges, which nobody writes after assembly.
        unsafe { self.read(process, from, words.as_mut_ptr().cast(), WORDS * 8) }?;
        let [starts, columns, values, count] = words;
        let offsets = PieceOffsets {
            starts,
            columns,
            values,
            count,
        };
        Ok((part, offsets))
    }

    /// Read bytes of a part, wherever it is.
    ///
    /// # Safety
    /// The part must have them, and `to` room.
    unsafe fn read(&self, process: usize, from: *const u8, to: *mut u8, bytes: usize) -> Result<()> {
        let owner = self.group()?.absolute(process as i32)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { transfer::read(job()?, owner, from, to, bytes) }?)
    }

    /// Write the offsets of a piece of ours.
    ///
    /// # Safety
    /// The part must have room for the words of all ranges.
    pub(super) unsafe fn write_offsets(part: *mut u8, block: usize, offsets: PieceOffsets) {
        let words = [offsets.starts, offsets.columns, offsets.values, offsets.count];
        for (n, word) in words.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { part.cast::<u64>().add(block * WORDS + n).write(word) };
        }
    }

    /// Elements that a process has in a range of columns.
    ///
    /// # Errors
    /// It is not assembled.
    pub fn count(&self, process: usize, block: usize) -> Result<u64> {
        Ok(self.offsets(process, block)?.1.count)
    }

    /// Where our own piece lies.
    ///
    /// # Errors
    /// There is no such range, or the matrix is not assembled.
    pub fn pointers(&self, block: usize) -> Result<Option<Pointers>> {
        self.check_part("icol", block)?;
        let (part, offsets) = self.offsets(self.me, block)?;
        let at = |bytes: u64| part.wrapping_add(bytes as usize);
        Ok((offsets.count > 0).then(|| Pointers {
            starts: at(offsets.starts),
            columns: at(offsets.columns),
            values: at(offsets.values),
        }))
    }

    /// Our own piece of a range of columns.
    pub(super) fn own<T: Element>(&self, block: usize) -> Result<Option<OwnPiece<'_, T>>> {
        debug_assert_eq!(size_of::<T>(), self.kind.bytes());
        let Some(at) = self.pointers(block)? else {
            return Ok(None);
        };
        let (first, rows) = self.own_rows();
        let count = self.count(self.me, block)? as usize;
        // SAFETY: `lay_out` gave all three so much room, aligned to lines. Indexes do not change any more, and of values only their owner
        // has a slice, within one collective operation.
        unsafe {
            let list = |at: *mut u8, count: usize| match self.is_wide {
                true => Indexes::Wide(std::slice::from_raw_parts(at.cast(), count)),
                false => Indexes::Narrow(std::slice::from_raw_parts(at.cast(), count)),
            };
            Ok(Some(OwnPiece {
                first,
                starts: list(at.starts, rows + 1),
                columns: list(at.columns, count),
                values: std::slice::from_raw_parts_mut(at.values.cast(), count),
            }))
        }
    }

    /// A copy of any process's piece of a range of columns. Waits for nobody.
    ///
    /// # Errors
    /// There is no such process or range, or the matrix is not assembled.
    pub fn fetch<T: Copy>(&self, process: usize, block: usize) -> Result<Option<BlockPiece<T>>> {
        debug_assert_eq!(size_of::<T>(), self.kind.bytes());
        self.check_part("irow", process)?;
        self.check_part("icol", block)?;
        let (part, offsets) = self.offsets(process, block)?;
        if offsets.count == 0 {
            return Ok(None);
        }
        let (lo, hi) = range_rows(self, process);
        let count = offsets.count as usize;
        // SAFETY: the piece is so long; there is room for what is read, all of which is written.
        unsafe {
            let indexes = |at: u64, count: usize| -> Result<Vec<i64>> {
                let at = part.wrapping_add(at as usize);
                if self.is_wide {
                    let mut list = vec![0_i64; count];
                    self.read(process, at, list.as_mut_ptr().cast(), count * 8)?;
                    return Ok(list);
                }
                let mut list = vec![0_i32; count];
                self.read(process, at, list.as_mut_ptr().cast(), count * 4)?;
                Ok(list.into_iter().map(i64::from).collect())
            };
            let mut values = Vec::<T>::with_capacity(count);
            let from = part.wrapping_add(offsets.values as usize);
            self.read(process, from, values.as_mut_ptr().cast(), count * size_of::<T>())?;
            values.set_len(count);
            Ok(Some(BlockPiece {
                starts: indexes(offsets.starts, (hi - lo + 2) as usize)?,
                columns: indexes(offsets.columns, count)?,
                values,
            }))
        }
    }
}

fn range_rows(matrix: &Sparse, process: usize) -> (i64, i64) {
    super::range(matrix.rows, matrix.processes, process)
}

impl<T: Copy> BlockPiece<T> {
    /// The elements of a row, counted from the first of the piece.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (i64, T)> + '_ {
        let elements = self.starts[row] as usize..self.starts[row + 1] as usize;
        elements.map(|n| (self.columns[n], self.values[n]))
    }
}
