//! What a window answers: its group, its name, where others' memory lies here.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use super::{Flavor, Win};
use crate::constants::{MAX_OBJECT_NAME, PROC_NULL};
use crate::error::Result;
use crate::fail;
use crate::group::Group;
use crate::handle::{Handle, Object};
use crate::process;

/// `MPI_Win_get_group`. To be freed by the caller.
pub fn win_get_group(win: &Win) -> Result<Handle<Group>> {
    Group::table().insert(Arc::clone(&win.group))
}

/// `MPI_Win_set_name`. A longer name is cut.
pub fn win_set_name(win: &Win, win_name: &CStr) -> Result<()> {
    let mut name = win_name.to_string_lossy().into_owned();
    process::cut(&mut name, MAX_OBJECT_NAME - 1);
    *win.name() = name.into();
    Ok(())
}

/// `MPI_Win_get_name`. The null handle has a name too.
pub fn win_get_name(handle: Handle<Win>) -> Result<String> {
    if handle.is_null() {
        return Ok("MPI_WIN_NULL".to_owned());
    }
    Ok(handle.resolve("win")?.name().to_string())
}

/// `MPI_Win_shared_query`: size, displacement unit and address here of a member's memory; for `MPI_PROC_NULL` of the first that has
/// any, or of nobody where some are on other nodes (as MPICH answers). Memory that cannot be loaded and stored here has no bytes and no address.
pub fn win_shared_query(win: &Win, rank: i32) -> Result<(i64, i64, *mut c_void)> {
    if win.flavor == Flavor::Dynamic {
        return Err(fail!(
            RmaFlavor,
            "MPI_Win_shared_query on {}, which is dynamic",
            win.label()
        ));
    }
    let member = match rank {
        PROC_NULL if (0..win.size).any(|member| win.part(member).is_none()) => {
            return Ok((0, win.unit, std::ptr::null_mut()));
        }
        PROC_NULL => {
            let has_bytes = |member: &usize| win.key(*member).length() > 0;
            (0..win.size).find(has_bytes).unwrap_or(0)
        }
        rank => win.member("rank", rank)?,
    };
    let memory = win.target_memory(member)?;
    Ok(match memory.target.mapped() {
        // As MPICH answers for a rank that brought nothing.
        Some(_) if memory.target.length() == 0 => (0, memory.unit, std::ptr::null_mut()),
        Some(base) => (memory.target.length() as i64, memory.unit, base.as_ptr().cast()),
        None if member == win.rank() => (win.bytes, win.unit, win.base.cast()),
        None => (0, memory.unit, std::ptr::null_mut()),
    })
}
