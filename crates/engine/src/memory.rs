//! Memory: the job's segment as this process uses it, and what lies in private memory.
//!
//! Owns pieces of the segment (arena, shared heap with its registry of addresses, boards, staging buffers), the description of a user's
//! buffer, and unmatched payload. It knows nothing of channels.
//!
//! Offers: [`arena`] (small pieces), [`heap`] (memory for users, short blocks of it by `small.rs`), [`huge_pages`] (what of it is in such), [`board`] and [`staging`] (for collectives), [`buffer`],
//! [`payload`] and [`spare`]; [`devices`] (memory of CUDA devices: is it supported, and the refusal of libraries that take none).

pub(crate) mod arena;
pub(crate) mod board;
pub(crate) mod buffer;
pub(crate) mod devices;
pub mod heap;
pub(crate) mod huge_pages;
pub(crate) mod payload;
mod small;
pub(crate) mod spare;
pub(crate) mod staging;
pub mod symmetric;

use arena::Arena;
use spare::Spare;
use staging::Staging;

/// The memory of this process.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Small pieces of the segment.
    pub arena: Arena,
    /// Staging buffers of collectives, and those of calls that do not follow one another.
    staging: Staging,
    staging_apart: Staging,
    /// Blocks for unexpected payload.
    pub spare: Spare,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            arena: Arena::default(),
            staging: Staging::default(),
            staging_apart: Staging::apart(),
            spare: Spare::default(),
        }
    }
}
