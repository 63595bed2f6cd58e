//! Types that programs register: so many bytes each.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::kind::FIRST_REGISTERED;

/// Bytes by number; 0 where a type was deregistered.
static TYPES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// `NGA_Register_type`: the number of a new type.
///
/// # Errors
/// An element of nothing, or of more than 4 GiB.
pub fn register(bytes: usize) -> Result<i32> {
    let width = u32::try_from(bytes).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| Error::argument(format!("bytes={bytes} is no size of an element")))?;
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    types.push(width);
    Ok(FIRST_REGISTERED + types.len() as i32 - 1)
}

/// `NGA_Deregister_type`.
///
/// # Errors
/// There is no such type.
pub fn deregister(number: i32) -> Result<()> {
    bytes(number)?;
    TYPES.lock().unwrap_or_else(PoisonError::into_inner)[(number - FIRST_REGISTERED) as usize] = 0;
    Ok(())
}

/// Bytes of an element.
///
/// # Errors
/// There is no such type.
pub fn bytes(number: i32) -> Result<u32> {
    let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let width = usize::try_from(number - FIRST_REGISTERED)
        .ok()
        .and_then(|at| types.get(at).copied());
    width
        .filter(|width| *width > 0)
        .ok_or_else(|| Error::argument(format!("type={number} is not registered")))
}

/// The first type of so many bytes.
pub fn number_of(bytes: u32) -> i32 {
    let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let at = types.iter().position(|width| *width == bytes).unwrap_or(0);
    FIRST_REGISTERED + at as i32
}
