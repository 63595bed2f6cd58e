//! Bytes of a layout in memory of a device, to and from a row of bytes in memory of any kind.
//!
//! A few blocks are copied one by one, blocks at even distances by copies of rows, and many others by a kernel that is given their list
//! ([`isthmus_mem::copy_pieces`]).

use std::ops::Range;

use isthmus_mem::{self as mem, Piece, Rows};

use crate::Layout;

/// So many blocks, or runs of blocks, are worth a call of the driver each.
const FEW: u64 = 8;
/// A list of blocks is handed over when it has so many.
const LIST: usize = 1 << 16;

/// Copy bytes `range` of the stream that the layout stands for to `to`.
///
/// # Safety
/// The layout's bytes are readable by the driver, and `to` is writable for as many.
pub unsafe fn pack(layout: &Layout<'_>, range: Range<u64>, to: *mut u8) -> mem::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { walk(layout, range, to, false) }
}

/// Put what is at `from` where bytes `range` of the stream belong.
///
/// # Safety
/// The layout's bytes are writable by the driver, and `from` is readable for as many.
pub unsafe fn unpack(layout: &Layout<'_>, range: Range<u64>, from: *const u8) -> mem::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { walk(layout, range, from.cast_mut(), true) }
}

/// # Safety
/// As for [`pack`] or [`unpack`].
unsafe fn walk(layout: &Layout<'_>, range: Range<u64>, packed: *mut u8, unpacks: bool) -> mem::Result<()> {
    let mut cursor = layout.cursor(range.start);
    let mut rest = range.end.saturating_sub(range.start);
    let mut batch = Batch {
        base: cursor.block().address,
        packed,
        pieces: Vec::new(),
        unpacks,
    };
    // As rows only if there are few runs of them.
    let by_rows = runs(layout) <= FEW;
    let few = layout.blocks() <= FEW;
    while rest > 0 {
        let block = cursor.block();
        if block.length == 0 {
            break;
        }
        if by_rows
            && let Some(run) = cursor.run()
            && run.stride > 0
            && run.stride as u64 >= run.block
            && rest >= 2 * run.block
        {
            let rows = run.count.min(rest / run.block);
            // SAFETY: the caller's promise.
            unsafe {
                batch.flush()?;
                batch.rows(block.address, run.stride, run.block, rows)?;
            }
            cursor.skip(rows);
            rest -= rows * run.block;
            continue;
        }
        let length = block.length.min(rest);
        batch.pieces.push(Piece {
            offset: block.address.wrapping_sub(batch.base) as i64,
            length,
        });
        cursor.advance(length);
        rest -= length;
        if few || batch.pieces.len() == LIST {
            // SAFETY: the caller's promise.
            unsafe { batch.flush()? };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { batch.flush() }
}

/// Runs of blocks at even distances.
fn runs(layout: &Layout<'_>) -> u64 {
    match *layout {
        Layout::Strided { levels, .. } => {
            let outer = levels.get(1..).unwrap_or_default();
            outer
                .iter()
                .fold(1, |product: u64, level| product.saturating_mul(level.count))
        }
        _ => u64::MAX,
    }
}

/// Blocks that are copied next.
struct Batch {
    /// Offsets of pieces count from here.
    base: u64,
    /// Where the bytes of what comes next are in the row.
    packed: *mut u8,
    pieces: Vec<Piece>,
    unpacks: bool,
}

impl Batch {
    /// Copy the pieces.
    ///
    /// # Safety
    /// As for [`walk`].
    unsafe fn flush(&mut self) -> mem::Result<()> {
        let length: u64 = self.pieces.iter().map(|piece| piece.length).sum();
        let base = std::ptr::with_exposed_provenance_mut::<u8>(self.base as usize);
        // SAFETY: the caller's promise.
        unsafe {
            match self.pieces[..] {
                [] => {}
                [Piece { offset, length }] => {
                    let block = base.wrapping_offset(offset as isize);
                    self.copy(block, length as usize)?;
                }
                ref pieces => mem::copy_pieces(base, pieces, self.packed, self.unpacks)?,
            }
        }
        self.pieces.clear();
        self.packed = self.packed.wrapping_add(length as usize);
        Ok(())
    }

    /// # Safety
    /// As for [`walk`].
    unsafe fn copy(&self, block: *mut u8, length: usize) -> mem::Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.unpacks {
                true => mem::copy(block, self.packed, length),
                false => mem::copy(self.packed, block, length),
            }
        }
    }

    /// Copy rows that follow what has been copied.
    ///
    /// # Safety
    /// As for [`walk`].
    unsafe fn rows(&mut self, first: u64, stride: i64, width: u64, rows: u64) -> mem::Result<()> {
        let first = std::ptr::with_exposed_provenance_mut::<u8>(first as usize);
        let (pitch, width, rows) = (stride as isize, width as usize, rows as usize);
        // SAFETY: the caller's promise.
        unsafe {
            if self.unpacks {
                let from = Rows {
                    at: self.packed.cast_const(),
                    pitch: width as isize,
                };
                mem::copy_rows(Rows { at: first, pitch }, from, width, rows)?;
            } else {
                let to = Rows {
                    at: self.packed,
                    pitch: width as isize,
                };
                let from = Rows {
                    at: first.cast_const(),
                    pitch,
                };
                mem::copy_rows(to, from, width, rows)?;
            }
        }
        self.packed = self.packed.wrapping_add(width * rows);
        Ok(())
    }
}
