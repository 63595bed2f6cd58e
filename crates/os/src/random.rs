//! Unguessable bytes.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::{Result, named};

/// Fill `bytes` from the kernel's generator.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        done += named("getrandom", getrandom(&mut bytes[done..], GetRandomFlags::empty()))?;
    }
    Ok(())
}
