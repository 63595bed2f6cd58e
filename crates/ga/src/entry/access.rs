//! Pointers to the own part of an array. Mapped memory needs no release.

use std::ffi::{c_int, c_void};

use super::{Number, entries, find, indexed, list, patch, tell};
use crate::array::Array;
use crate::distribution::Block;
use crate::error::{Error, Result};
use crate::patch::offset;

/// Tell where an element of a block lies, and the extents of the block in memory but for the slowest dimension.
///
/// # Safety
/// The pointers must be good, or null.
unsafe fn show<I: Number>(array: &Array, block: &Block, place: i64, to: *mut *mut c_void, ld: *mut I) -> Result<()> {
    if to.is_null() {
        return Err(Error::argument("ptr is null"));
    }
    let bytes = array.kind.bytes() as i64;
    check_near(array, block.owner)?;
    array.show(block.owner);
    let at = array.part(block.owner).wrapping_offset((place * bytes) as isize);
    let rank = array.rank();
    // SAFETY: the caller's promise.
    unsafe {
        to.write(at.cast());
        tell(
            ld,
            (0..rank - 1).map(|d| block.strides[d] / block.strides[d + 1].max(1)),
        );
    }
    Ok(())
}

/// Pointers lead only to what this process maps.
fn check_near(array: &Array, process: usize) -> Result<()> {
    match array.is_far(process)? {
        false => Ok(()),
        true => Err(Error::argument(format!(
            "that part of array '{}' is on another node: NGA_Get and NGA_Put reach it",
            array.name
        ))),
    }
}

/// The block in which a process has a patch, whichever it is of those on the node.
fn block_with(array: &Array, patch: &crate::patch::Patch) -> Result<Block> {
    array.check(patch)?;
    let found = array.blocks(patch).into_iter().next();
    found.filter(|block| block.patch == *patch).ok_or_else(|| {
        Error::argument(format!(
            "{} does not lie in one block",
            crate::print::title(array, patch)
        ))
    })
}

fn block_in_grid(array: &Array, index: &[i64]) -> Result<Block> {
    let counts = array.distribution.block_counts(&array.dims);
    if let Some(d) = (0..counts.len()).find(|&d| !(0..counts[d]).contains(&index[d])) {
        return Err(Error::argument(format!(
            "index[{d}]={} is outside 0..{}",
            index[d], counts[d]
        )));
    }
    array.block(array.distribution.number(&array.dims, index))
}

fn own_whole(array: &Array) -> Result<Block> {
    let block = array.me().and_then(|me| array.blocks_of(me).into_iter().next());
    block.ok_or_else(|| Error::argument(format!("this process has nothing of array '{}'", array.name)))
}

indexed! {
    fn isthmus_ga_NGA_Access, isthmus_ga_NGA_Access64(
        handle: c_int, lo: *const Index, hi: *const Index, to: *mut *mut c_void, ld: *mut Index,
    ) {
        let array = find(handle)?;
        let block = block_with(&array, &patch(&array, lo, hi)?)?;
        show(&array, &block, block.offset, to, ld)?
    }
    fn isthmus_ga_NGA_Access_block, isthmus_ga_NGA_Access_block64(
        handle: c_int, number: Index, to: *mut *mut c_void, ld: *mut Index,
    ) {
        let array = find(handle)?;
        let block = array.block(number.wide())?;
        show(&array, &block, block.offset, to, ld)?
    }
    fn isthmus_ga_NGA_Access_block_grid, isthmus_ga_NGA_Access_block_grid64(
        handle: c_int, index: *const Index, to: *mut *mut c_void, ld: *mut Index,
    ) {
        let array = find(handle)?;
        let block = block_in_grid(&array, &list(index, array.rank(), "index")?)?;
        show(&array, &block, block.offset, to, ld)?
    }
    fn isthmus_ga_NGA_Access_block_segment, isthmus_ga_NGA_Access_block_segment64(
        handle: c_int, process: c_int, to: *mut *mut c_void, length: *mut Index,
    ) {
        let array = find(handle)?;
        let process = usize::try_from(process).ok().and_then(|process| array.place_of(process));
        let process = process.ok_or_else(|| Error::argument("proc is no process of the array"))?;
        if to.is_null() {
            return Err(Error::argument("ptr is null"));
        }
        check_near(&array, process)?;
        array.show(process);
        to.write(array.part(process).cast());
        tell(length, [array.distribution.room(&array.dims, &array.ghosts, array.processes(), process)])
    }
    fn isthmus_ga_NGA_Access_ghosts, isthmus_ga_NGA_Access_ghosts64(
        handle: c_int, dims: *mut Index, to: *mut *mut c_void, ld: *mut Index,
    ) {
        let array = find(handle)?;
        let block = own_whole(&array)?;
        let extents = block.patch.extents();
        tell(dims, (0..array.rank()).map(|d| extents[d] + 2 * array.ghosts[d]));
        show(&array, &block, 0, to, ld)?
    }
    fn isthmus_ga_NGA_Access_ghost_element, isthmus_ga_NGA_Access_ghost_element64(
        handle: c_int, to: *mut *mut c_void, subscript: *const Index, ld: *mut Index,
    ) {
        let array = find(handle)?;
        let block = own_whole(&array)?;
        let index = list(subscript, array.rank(), "subscript")?;
        let extents = block.patch.extents();
        if let Some(d) = (0..array.rank()).find(|&d| !(0..extents[d] + 2 * array.ghosts[d]).contains(&index[d])) {
            return Err(Error::argument(format!("subscript[{d}]={} is outside the block and its margin", index[d])));
        }
        let place = offset(&index, &vec![0; array.rank()], &block.strides);
        show(&array, &block, place, to, ld)?
    }
    fn isthmus_ga_NGA_Release, isthmus_ga_NGA_Release64(handle: c_int, _lo: *const Index, _hi: *const Index) {
        find(handle).map(drop)?
    }
    fn isthmus_ga_NGA_Release_update, isthmus_ga_NGA_Release_update64(
        handle: c_int, _lo: *const Index, _hi: *const Index,
    ) {
        find(handle).map(drop)?
    }
    fn isthmus_ga_NGA_Release_ghost_element, isthmus_ga_NGA_Release_ghost_element64(handle: c_int, _index: *const Index) {
        find(handle).map(drop)?
    }
    fn isthmus_ga_NGA_Release_update_ghost_element, isthmus_ga_NGA_Release_update_ghost_element64(
        handle: c_int, _index: *const Index,
    ) {
        find(handle).map(drop)?
    }
}

entries! {
    fn isthmus_ga_NGA_Release_block(handle: c_int, _number: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_update_block(handle: c_int, _number: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_block_grid(handle: c_int, _index: *const c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_update_block_grid(handle: c_int, _index: *const c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_block_segment(handle: c_int, _process: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_update_block_segment(handle: c_int, _process: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_ghosts(handle: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_NGA_Release_update_ghosts(handle: c_int) { find(handle).map(drop)? }
}
