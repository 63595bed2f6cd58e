//! Making and destroying arrays.

use std::ffi::{c_char, c_int, c_void};

use isthmus_armci::group;

use super::{Number, entries, find, indexed, list, text};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::getmem;
use crate::handles::{self, Reserved};
use crate::kind::ElementKind;
use crate::life::{default_is_mirror, number_told};
use crate::plan::{Cut, Plan};
use crate::registered;
use crate::{merge, mirror};

/// What a program gets when memory cannot be had.
const NONE: c_int = 0;

/// The handle of a new array; 0, at every process, if its memory cannot be had.
fn create(plan: Plan) -> Result<c_int> {
    let reserved = Reserved::new();
    match (Array::create_if(plan, reserved.is_ok()), reserved) {
        (Ok(array), Ok(reserved)) => Ok(reserved.array(array)),
        (Err(Error::Armci(isthmus_armci::Error::Memory { .. })), Ok(_)) => Ok(NONE),
        (Err(error), Ok(_)) | (_, Err(error)) => Err(error),
    }
}

fn plan(kind: c_int, dims: Vec<i64>, name: &str, group: c_int) -> Result<Plan> {
    let mut plan = Plan::new();
    plan.set_data(dims, ElementKind::of(kind)?)?;
    plan.name = name.to_owned();
    plan.set_group(group);
    Ok(plan)
}

/// The number that programs know of the default group.
fn default_group() -> c_int {
    number_told(group::default_number(), default_is_mirror())
}

fn rank(ndim: c_int) -> Result<usize> {
    match usize::try_from(ndim) {
        Ok(rank) if (1..=crate::patch::MOST_DIMENSIONS).contains(&rank) => Ok(rank),
        _ => Err(Error::argument(format!("ndim={ndim}, there may be 1 to 7"))),
    }
}

fn margins(plan: &mut Plan, widths: Vec<i64>) -> Result<()> {
    if let Some(d) = widths.iter().position(|width| *width < 0) {
        return Err(Error::argument(format!("width[{d}]={} is negative", widths[d])));
    }
    plan.ghosts = widths;
    Ok(())
}

/// The blocks of each dimension, one dimension behind the other.
///
/// # Safety
/// The arrays must be as long as they say.
unsafe fn cuts<I: Number>(block: *const I, map: *const I, rank: usize) -> Result<Vec<Vec<i64>>> {
    // SAFETY: the caller's promise.
    let counts = unsafe { list(block, rank, "block") }?;
    let mut at = map;
    let mut cuts = Vec::with_capacity(rank);
    for (d, count) in counts.into_iter().enumerate() {
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| Error::argument(format!("block[{d}] must be positive")))?;
        // SAFETY: the caller's promise.
        cuts.push(unsafe { list(at, count, "map") }?);
        at = at.wrapping_add(count);
    }
    Ok(cuts)
}

/// A chunk, which may be left out.
///
/// # Safety
/// It must be null or have `rank` numbers.
unsafe fn chunks<I: Number>(chunk: *const I, rank: usize) -> Result<Vec<i64>> {
    match chunk.is_null() {
        true => Ok(Vec::new()),
        // SAFETY: the caller's promise.
        false => unsafe { list(chunk, rank, "chunk") },
    }
}

indexed! {
    fn isthmus_ga_NGA_Create, isthmus_ga_NGA_Create64(
        kind: c_int, ndim: c_int, dims: *const Index, name: *const c_char, chunk: *const Index,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), default_group())?;
        plan.chunk = chunks(chunk, rank)?;
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_config, isthmus_ga_NGA_Create_config64(
        kind: c_int, ndim: c_int, dims: *const Index, name: *const c_char, chunk: *const Index, group: c_int,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), group)?;
        plan.chunk = chunks(chunk, rank)?;
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_ghosts, isthmus_ga_NGA_Create_ghosts64(
        kind: c_int, ndim: c_int, dims: *const Index, width: *const Index, name: *const c_char, chunk: *const Index,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), default_group())?;
        margins(&mut plan, list(width, rank, "width")?)?;
        plan.chunk = chunks(chunk, rank)?;
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_ghosts_config, isthmus_ga_NGA_Create_ghosts_config64(
        kind: c_int, ndim: c_int, dims: *const Index, width: *const Index, name: *const c_char, chunk: *const Index,
        group: c_int,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), group)?;
        margins(&mut plan, list(width, rank, "width")?)?;
        plan.chunk = chunks(chunk, rank)?;
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_irreg, isthmus_ga_NGA_Create_irreg64(
        kind: c_int, ndim: c_int, dims: *const Index, name: *const c_char, block: *const Index, map: *const Index,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), default_group())?;
        plan.cut = Cut::Irregular(cuts(block, map, rank)?);
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_irreg_config, isthmus_ga_NGA_Create_irreg_config64(
        kind: c_int, ndim: c_int, dims: *const Index, name: *const c_char, block: *const Index, map: *const Index,
        group: c_int,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), group)?;
        plan.cut = Cut::Irregular(cuts(block, map, rank)?);
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_ghosts_irreg, isthmus_ga_NGA_Create_ghosts_irreg64(
        kind: c_int, ndim: c_int, dims: *const Index, width: *const Index, name: *const c_char, block: *const Index,
        map: *const Index,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), default_group())?;
        margins(&mut plan, list(width, rank, "width")?)?;
        plan.cut = Cut::Irregular(cuts(block, map, rank)?);
        create(plan)?
    }
    fn isthmus_ga_NGA_Create_ghosts_irreg_config, isthmus_ga_NGA_Create_ghosts_irreg_config64(
        kind: c_int, ndim: c_int, dims: *const Index, width: *const Index, name: *const c_char, block: *const Index,
        map: *const Index, group: c_int,
    ) -> c_int {
        let rank = rank(ndim)?;
        let mut plan = plan(kind, list(dims, rank, "dims")?, &text(name), group)?;
        margins(&mut plan, list(width, rank, "width")?)?;
        plan.cut = Cut::Irregular(cuts(block, map, rank)?);
        create(plan)?
    }
    fn isthmus_ga_GA_Set_data, isthmus_ga_GA_Set_data64(handle: c_int, ndim: c_int, dims: *const Index, kind: c_int) {
        let dims = list(dims, rank(ndim)?, "dims")?;
        handles::change_plan(handle, |plan| plan.set_data(dims, ElementKind::of(kind)?))?
    }
    fn isthmus_ga_GA_Set_chunk, isthmus_ga_GA_Set_chunk64(handle: c_int, chunk: *const Index) {
        let given = handles::plan(handle)?;
        let chunk = chunks(chunk, given.dims.len())?;
        handles::change_plan(handle, |plan| { plan.chunk = chunk; Ok(()) })?
    }
    fn isthmus_ga_GA_Set_ghosts, isthmus_ga_GA_Set_ghosts64(handle: c_int, width: *const Index) {
        let widths = list(width, handles::plan(handle)?.dims.len(), "width")?;
        handles::change_plan(handle, |plan| margins(plan, widths))?
    }
    fn isthmus_ga_GA_Set_irreg_distr, isthmus_ga_GA_Set_irreg_distr64(
        handle: c_int, map: *const Index, block: *const Index,
    ) {
        let cuts = cuts(block, map, handles::plan(handle)?.dims.len())?;
        handles::change_plan(handle, |plan| { plan.cut = Cut::Irregular(cuts); Ok(()) })?
    }
    fn isthmus_ga_GA_Set_block_cyclic, isthmus_ga_GA_Set_block_cyclic64(handle: c_int, dims: *const Index) {
        let block = list(dims, handles::plan(handle)?.dims.len(), "dims")?;
        handles::change_plan(handle, |plan| { plan.cut = Cut::Cyclic(block); Ok(()) })?
    }
    fn isthmus_ga_GA_Set_block_cyclic_proc_grid, isthmus_ga_GA_Set_block_cyclic_proc_grid64(
        handle: c_int, block: *const Index, grid: *const Index,
    ) {
        let rank = handles::plan(handle)?.dims.len();
        let (block, grid) = (list(block, rank, "block")?, list(grid, rank, "proc_grid")?);
        handles::change_plan(handle, |plan| { plan.cut = Cut::Grid(block, grid, false); Ok(()) })?
    }
    fn isthmus_ga_GA_Set_tiled_proc_grid, isthmus_ga_GA_Set_tiled_proc_grid64(
        handle: c_int, block: *const Index, grid: *const Index,
    ) {
        let rank = handles::plan(handle)?.dims.len();
        let (block, grid) = (list(block, rank, "block")?, list(grid, rank, "proc_grid")?);
        handles::change_plan(handle, |plan| { plan.cut = Cut::Grid(block, grid, true); Ok(()) })?
    }
    fn isthmus_ga_GA_Set_tiled_irreg_proc_grid, isthmus_ga_GA_Set_tiled_irreg_proc_grid64(
        handle: c_int, map: *const Index, blocks: *const Index, grid: *const Index,
    ) {
        let rank = handles::plan(handle)?.dims.len();
        let (cuts, grid) = (cuts(blocks, map, rank)?, list(grid, rank, "proc_grid")?);
        handles::change_plan(handle, |plan| { plan.cut = Cut::TiledIrregular(cuts, grid); Ok(()) })?
    }
}

entries! {
    fn isthmus_ga_GA_Create_handle() -> c_int {
        isthmus_armci::life::job()?;
        handles::add_plan(Plan::new())?
    }
    fn isthmus_ga_GA_Allocate(handle: c_int) -> c_int {
        match Array::create(handles::plan(handle)?) {
            Ok(array) => {
                handles::replace(handle, array);
                1
            }
            Err(Error::Armci(isthmus_armci::Error::Memory { .. })) => 0,
            Err(error) => return Err(error),
        }
    }
    fn isthmus_ga_GA_Deallocate(handle: c_int) -> c_int {
        let array = find(handle)?;
        array.destroy()?;
        handles::put_back(handle, array.plan.clone());
        1
    }
    fn isthmus_ga_GA_Destroy(handle: c_int) {
        if let Ok(array) = find(handle) {
            array.destroy()?;
        }
        handles::remove(handle)?;
    }
    fn isthmus_ga_GA_Assemble_duplicate(handle: c_int, name: *const c_char, at: *mut c_void) -> c_int {
        let reserved = Reserved::new();
        let array = getmem::assemble(&*find(handle)?, text(name).into_owned(), at.cast(), reserved.is_ok());
        reserved?.array(array?)
    }
    fn isthmus_ga_GA_Overlay(handle: c_int, parent: c_int) -> c_int {
        handles::replace(handle, getmem::overlay(handles::plan(handle)?, &*find(parent)?)?);
        1
    }
    fn isthmus_ga_GA_Duplicate(handle: c_int, name: *const c_char) -> c_int {
        let mut plan = find(handle)?.plan.clone();
        plan.name = text(name).into_owned();
        create(plan)?
    }
    fn isthmus_ga_GA_Set_array_name(handle: c_int, name: *const c_char) {
        let name = text(name).into_owned();
        handles::change_plan(handle, |plan| { plan.name = name; Ok(()) })?
    }
    fn isthmus_ga_GA_Set_pgroup(handle: c_int, group: c_int) {
        crate::life::group(group)?;
        handles::change_plan(handle, |plan| { plan.set_group(group); Ok(()) })?
    }
    fn isthmus_ga_GA_Set_restricted(handle: c_int, processes: *const c_int, size: c_int) {
        let list = list(processes, usize::try_from(size).unwrap_or(0), "list")?;
        restrict(handle, list)?
    }
    fn isthmus_ga_GA_Set_restricted_range(handle: c_int, lo: c_int, hi: c_int) {
        restrict(handle, (i64::from(lo)..=i64::from(hi)).collect())?
    }
    // Both are what an irregular distribution and corners are here without being asked.
    fn isthmus_ga_GA_Set_irreg_flag(handle: c_int, _flag: c_int) { handles::plan(handle).map(drop)? }
    fn isthmus_ga_GA_Set_ghost_corner_flag(handle: c_int, _flag: c_int) { handles::rank(handle).map(drop)? }
    // Hints about caches and devices of other implementations.
    fn isthmus_ga_GA_Set_property(handle: c_int, _property: *const c_char) { find(handle).map(drop)? }
    fn isthmus_ga_GA_Unset_property(handle: c_int) { find(handle).map(drop)? }
    fn isthmus_ga_GA_Set_memory_dev(handle: c_int, _device: *const c_char) { handles::plan(handle).map(drop)? }
    fn isthmus_ga_NGA_Register_type(bytes: usize) -> c_int { registered::register(bytes)? }
    fn isthmus_ga_NGA_Deregister_type(kind: c_int) -> c_int {
        registered::deregister(kind)?;
        0
    }
    fn isthmus_ga_GA_Merge_mirrored(handle: c_int) { merge::mirrored(&*find(handle)?)? }
}

fn restrict(handle: c_int, list: Vec<i64>) -> Result<()> {
    handles::change_plan(handle, |plan| {
        let size = match plan.is_mirrored {
            true => mirror::members()?.len(),
            false => crate::life::group(plan.group)?.size(),
        } as i64;
        if list.is_empty() || list.iter().any(|process| !(0..size).contains(process)) {
            return Err(Error::argument(format!(
                "list={list:?} must name processes of 0..{size}"
            )));
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err(Error::argument(format!("list={list:?} names a process twice")));
        }
        plan.restricted = Some(list.iter().map(|process| *process as usize).collect());
        Ok(())
    })
}
