//! Unguessable bytes.

use crate::error::{Result, check_size};

/// Fill `bytes` from the kernel's generator.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        // SAFETY: the buffer is ours and as long as we say.
        done += check_size("getrandom", unsafe {
            libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0)
        })?;
    }
    Ok(())
}
