//! Margins.

use std::ffi::{c_int, c_long, c_void};

use super::{entries, find, indexed, list, patch, tell};
use crate::ghosts;
use crate::onesided::Buffer;

indexed! {
    fn isthmus_ga_NGA_Get_ghost_block, isthmus_ga_NGA_Get_ghost_block64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index,
    ) {
        let array = find(handle)?;
        let patch = patch(&array, lo, hi)?;
        let buffer = Buffer::new(at.cast(), &list(ld, array.rank() - 1, "ld")?, &patch)?;
        ghosts::get(&array, &patch, &buffer)?
    }
    fn isthmus_ga_NGA_NbGet_ghost_dir, isthmus_ga_NGA_NbGet_ghost_dir64(
        handle: c_int, mask: *const Index, request: *mut c_long,
    ) {
        let array = find(handle)?;
        let direction = list(mask, array.rank(), "mask")?;
        let direction = direction.into_iter().map(i64::signum).collect();
        ghosts::fill_directions(&array, std::iter::once(direction))?;
        tell(request, [0])
    }
}

entries! {
    fn isthmus_ga_GA_Update_ghosts(handle: c_int) { ghosts::update(&*find(handle)?)? }
    fn isthmus_ga_NGA_Update_ghosts_nb(handle: c_int, request: *mut c_long) {
        ghosts::update(&*find(handle)?)?;
        tell(request, [0])
    }
    fn isthmus_ga_NGA_Update_ghost_dir(handle: c_int, dimension: c_int, side: c_int, corners: c_int) -> c_int {
        let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
        ghosts::update_side(&*find(handle)?, dimension, side.into(), corners != 0)?;
        1
    }
}
