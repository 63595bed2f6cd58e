//! What the ABI says of itself, and what a Fortran layer tells it (MPI-5.0 §20.2, §20.5).

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::constants::ABI_VERSION;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::info::{Info, Pair};

/// What the Fortran layer said: once set, it stays.
struct Fortran {
    info: Option<Vec<Pair>>,
    /// `.TRUE.` and `.FALSE.` as bytes, by the size of the logical.
    booleans: Vec<(Vec<u8>, Vec<u8>)>,
}

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran {
    info: None,
    booleans: Vec::new(),
});

fn fortran() -> MutexGuard<'static, Fortran> {
    FORTRAN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Abi_get_version` (`abi_major`, `abi_minor`) of the standard ABI. Other ABIs must answer -1, -1.
pub fn abi_get_version() -> Result<(i32, i32)> {
    Ok(ABI_VERSION)
}

/// `MPI_Abi_get_info`: the sizes of the ABI's integers.
pub fn abi_get_info() -> Result<Handle<Info>> {
    let sizes = ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"];
    Info::from_pairs(sizes.map(|key| (key, size_of::<i64>().to_string()))).publish()
}

/// `MPI_Abi_get_fortran_info`: what [`abi_set_fortran_info`] was told, or the null handle.
pub fn abi_get_fortran_info() -> Result<Handle<Info>> {
    let pairs = fortran().info.clone();
    match pairs {
        Some(pairs) => Info::from_pairs(pairs).publish(),
        None => Ok(Handle::NULL),
    }
}

/// `MPI_Abi_set_fortran_info`: which Fortran types exist, and their sizes.
pub fn abi_set_fortran_info(info: Option<&Info>) -> Result<()> {
    let info = info.ok_or_else(|| fail!(Info, "info is the null handle (MPI_Info)"))?;
    let mut fortran = fortran();
    if fortran.info.is_some() {
        return Err(fail!(Abi, "the Fortran info has been set before"));
    }
    fortran.info = Some(info.pairs());
    Ok(())
}

fn checked_size(logical_size: i32) -> Result<usize> {
    match logical_size {
        1 | 2 | 4 | 8 | 16 => Ok(logical_size as usize),
        _ => Err(fail!(Arg, "logical_size={logical_size} is none of 1, 2, 4, 8, 16")),
    }
}

/// `MPI_Abi_get_fortran_booleans`: `.TRUE.` and `.FALSE.` of that size; `false`, and nothing is written, if they were not set.
///
/// # Safety
/// `logical_true` and `logical_false` must be writable for `logical_size` bytes.
pub unsafe fn abi_get_fortran_booleans(
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<bool> {
    let size = checked_size(logical_size)?;
    let fortran = fortran();
    let Some((yes, no)) = fortran.booleans.iter().find(|(yes, _)| yes.len() == size) else {
        return Ok(false);
    };
    // SAFETY: both are `size` long, and the caller's buffers are as long.
    unsafe {
        logical_true.cast::<u8>().copy_from(yes.as_ptr(), size);
        logical_false.cast::<u8>().copy_from(no.as_ptr(), size);
    }
    Ok(true)
}

/// `MPI_Abi_set_fortran_booleans`: `.TRUE.` and `.FALSE.` of that size.
///
/// # Safety
/// `logical_true` and `logical_false` must be readable for `logical_size` bytes.
pub unsafe fn abi_set_fortran_booleans(
    logical_size: i32,
    logical_true: *const c_void,
    logical_false: *const c_void,
) -> Result<()> {
    let size = checked_size(logical_size)?;
    let mut fortran = fortran();
    if fortran.booleans.iter().any(|(yes, _)| yes.len() == size) {
        return Err(fail!(
            Abi,
            "the Fortran booleans of logical_size={size} have been set before"
        ));
    }
    // SAFETY: the caller's buffers are that long.
    let read = |value: *const c_void| unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) }.to_vec();
    fortran.booleans.push((read(logical_true), read(logical_false)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_set_once() {
        let (mut yes, mut no) = (0_i32, 0_i32);
        let get = |yes: &mut i32, no: &mut i32, size| {
            // SAFETY: both are 4 bytes long, and no larger size is asked for.
            unsafe { abi_get_fortran_booleans(size, (yes as *mut i32).cast(), (no as *mut i32).cast()) }
        };
        let set = |yes: &i32, no: &i32, size| {
            // SAFETY: as above.
            unsafe { abi_set_fortran_booleans(size, (yes as *const i32).cast(), (no as *const i32).cast()) }
        };
        assert_eq!(get(&mut yes, &mut no, 4), Ok(false));
        assert_eq!(set(&-1, &0, 4), Ok(()));
        assert_eq!(get(&mut yes, &mut no, 4), Ok(true));
        assert_eq!((yes, no), (-1, 0));
        assert!(set(&1, &0, 4).is_err());
        assert!(get(&mut yes, &mut no, 3).is_err());
        assert_eq!(get(&mut yes, &mut no, 2), Ok(false));
    }
}
