//! Properties of arrays, and which process owns which part.
//!
//! Restricted arrays, of which only some processes of a group own parts, name processes by their number in the array's group, as in Global
//! Arrays 5.9; the place among the processes that own parts is internal. The world is group -1 and the mirror group 0, the
//! processes of the own node, each of which has a copy of its arrays. An array is mirrored when it was made for group 0, or while that was the default.

use std::ffi::{c_char, c_int};

use super::{entries, find, indexed, list, patch, tell};
use crate::array::Array;
use crate::distribution::{Distribution, place_in};
use crate::error::{Error, fatal};
use crate::handles;
use crate::{life, onesided};

/// Is the distribution one in which programs count blocks instead of processes?
fn is_dealt(array: &Array) -> bool {
    !matches!(array.distribution, Distribution::Regular { .. })
}

fn grid(array: &Array) -> Vec<i64> {
    match &array.distribution {
        Distribution::Regular { cuts } => cuts.iter().map(|cuts| cuts.len() as i64).collect(),
        Distribution::Grid { grid, .. } => grid.clone(),
        Distribution::Cyclic { .. } => {
            let mut grid = vec![1; array.rank()];
            if let Some(last) = grid.last_mut() {
                *last = array.processes() as i64;
            }
            grid
        }
    }
}

indexed! {
    fn isthmus_ga_NGA_Inquire, isthmus_ga_NGA_Inquire64(
        handle: c_int, kind: *mut c_int, ndim: *mut c_int, dims: *mut Index,
    ) {
        let array = find(handle)?;
        tell(kind, [array.kind.number().into()]);
        tell(ndim, [array.rank() as i64]);
        tell(dims, array.dims.iter().copied())
    }
    fn isthmus_ga_NGA_Distribution, isthmus_ga_NGA_Distribution64(
        handle: c_int, process: c_int, lo: *mut Index, hi: *mut Index,
    ) {
        let array = find(handle)?;
        let found = if is_dealt(&array) {
            Some(array.block(process.into())?)
        } else {
            // A process that is not in the array's group has nothing.
            let process = isthmus_armci::life::job()?.process(process)?;
            array.place_of(process).and_then(|place| array.blocks_of(place).into_iter().next())
        };
        match found {
            Some(block) => {
                tell(lo, block.patch.lo);
                tell(hi, block.patch.hi)
            }
            None => {
                tell(lo, vec![-1; array.rank()]);
                tell(hi, vec![-2; array.rank()])
            }
        }
    }
    fn isthmus_ga_NGA_Locate, isthmus_ga_NGA_Locate64(handle: c_int, subscript: *const Index) -> c_int {
        let array = find(handle)?;
        let index = list(subscript, array.rank(), "subscript")?;
        match array.check(&crate::patch::Patch::new(index.clone(), index.clone())) {
            Err(_) => -1,
            Ok(()) if is_dealt(&array) => array.blocks(&crate::patch::Patch::new(index.clone(), index))[0].number as c_int,
            Ok(()) => array.process_at(onesided::locate(&array, &index)?.0) as c_int,
        }
    }
    fn isthmus_ga_NGA_Locate_nnodes, isthmus_ga_NGA_Locate_nnodes64(
        handle: c_int, lo: *const Index, hi: *const Index,
    ) -> c_int {
        let array = find(handle)?;
        let patch = patch(&array, lo, hi)?;
        array.check(&patch)?;
        array.blocks(&patch).len() as c_int
    }
    fn isthmus_ga_NGA_Locate_region, isthmus_ga_NGA_Locate_region64(
        handle: c_int, lo: *const Index, hi: *const Index, map: *mut Index, processes: *mut c_int,
    ) -> c_int {
        let array = find(handle)?;
        let patch = patch(&array, lo, hi)?;
        array.check(&patch)?;
        let blocks = array.blocks(&patch);
        for (n, block) in blocks.iter().enumerate() {
            tell(map.wrapping_add(2 * n * array.rank()), block.patch.lo.iter().chain(&block.patch.hi).copied());
            let number = if is_dealt(&array) { block.number } else { array.process_at(block.owner) as i64 };
            tell(processes.wrapping_add(n), [number]);
        }
        blocks.len() as c_int
    }
}

entries! {
    fn isthmus_ga_NGA_Locate_num_blocks(handle: c_int, lo: *const c_int, hi: *const c_int) -> c_int {
        let array = find(handle)?;
        let patch = patch(&array, lo, hi)?;
        array.check(&patch)?;
        if is_dealt(&array) { array.blocks(&patch).len() as c_int } else { -1 }
    }
    fn isthmus_ga_GA_Ndim(handle: c_int) -> c_int { handles::rank(handle)? as c_int }
    fn isthmus_ga_GA_Get_dimension(handle: c_int) -> c_int { handles::rank(handle)? as c_int }
    fn isthmus_ga_GA_Inquire_name(handle: c_int) -> *const c_char { handles::c_name(&find(handle)?.name) }
    fn isthmus_ga_GA_Inquire_memory() -> usize { life::memory_used() as usize }
    fn isthmus_ga_GA_Memory_avail() -> usize { life::memory_left() as usize }
    fn isthmus_ga_GA_Memory_limited() -> c_int { life::is_memory_limited().into() }
    fn isthmus_ga_GA_Set_memory_limit(limit: usize) { life::set_memory_limit(limit as u64) }
    fn isthmus_ga_GA_Has_ghosts(handle: c_int) -> c_int { find(handle)?.has_ghosts().into() }
    fn isthmus_ga_GA_Is_mirrored(handle: c_int) -> c_int { find(handle)?.plan.is_mirrored.into() }
    fn isthmus_ga_GA_Uses_proc_grid(handle: c_int) -> c_int {
        matches!(find(handle)?.distribution, Distribution::Grid { .. }).into()
    }
    fn isthmus_ga_GA_Valid_handle(handle: c_int) -> c_int { handles::is_valid(handle).into() }
    fn isthmus_ga_GA_Verify_handle(handle: c_int) -> c_int { handles::is_valid(handle).into() }
    fn isthmus_ga_GA_Nblock(handle: c_int, counts: *mut c_int) {
        let array = find(handle)?;
        tell(counts, array.distribution.block_counts(&array.dims))
    }
    fn isthmus_ga_GA_Total_blocks(handle: c_int) -> c_int {
        let array = find(handle)?;
        if is_dealt(&array) { array.distribution.total(&array.dims) as c_int } else { -1 }
    }
    fn isthmus_ga_GA_Get_block_info(handle: c_int, counts: *mut c_int, extents: *mut c_int) {
        let array = find(handle)?;
        tell(counts, array.distribution.block_counts(&array.dims));
        tell(extents, array.distribution.block_extents(&array.dims))
    }
    fn isthmus_ga_GA_Get_proc_grid(handle: c_int, dims: *mut c_int) {
        // The last dimension first, here and below, as in Global Arrays 5.9.
        tell(dims, grid(&*find(handle)?).into_iter().rev())
    }
    fn isthmus_ga_GA_Get_proc_index(handle: c_int, process: c_int, subscript: *mut c_int) {
        let place = place_in(&grid(&*find(handle)?), usize::try_from(process).unwrap_or(usize::MAX));
        tell(subscript, place.ok_or_else(|| Error::argument(format!("iproc={process} is not in the grid")))?)
    }
    fn isthmus_ga_NGA_Proc_topology(handle: c_int, process: c_int, coordinates: *mut c_int) {
        let array = find(handle)?;
        let place = place_in(&grid(&array), usize::try_from(process).unwrap_or(usize::MAX));
        tell(coordinates, place.unwrap_or_else(|| vec![-1; array.rank()]).into_iter().rev())
    }
    fn isthmus_ga_GA_Compare_distr(a: c_int, b: c_int) -> c_int {
        let (a, b) = (find(a)?, find(b)?);
        let same = a.dims == b.dims
            && a.distribution == b.distribution
            && a.plan.group == b.plan.group
            && a.plan.restricted == b.plan.restricted;
        (!same).into()
    }
    fn isthmus_ga_GA_Get_pgroup(handle: c_int) -> c_int {
        let array = find(handle)?;
        life::number_told(array.plan.group, array.plan.is_mirrored)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_ga_GA_Check_handle(handle: c_int, what: *const c_char) {
    if let Err(error) = find(handle) {
        // SAFETY: the program's promise.
        let what = unsafe { super::text(what) };
        fatal(&what, &error.to_string(), 1);
    }
}
