//! Moving bytes between nodes, on [libfabric](https://ofiwg.github.io/libfabric/), which is opened at run time: a job whose ranks
//! share one node never loads it.
//!
//! An [`Endpoint`] sends and receives *frames*: messages of up to [`FRAME`] bytes, each whole, whose buffers
//! it owns and has registered where the provider wants that. Which provider it uses stands in [`provider`]; what is in a frame is
//! the engine's business, and so is their order: a long frame may be there after a short one that was sent later. Long messages need no
//! frames where the provider has RMA: a rank that has [exposed](Endpoint::expose) memory lets others [read](Endpoint::read) it. Nothing here blocks, and no thread is made.
#![allow(unsafe_code)] // Calls into libfabric, by the function tables that it gives out.

mod abi;
mod absent;
pub mod bare;
mod endpoint;
mod library;
mod operations;
pub mod provider;
mod queue;
mod relocation;
mod remote_memory;

pub use endpoint::{Destination, Endpoint, Event, Frame, MAX_NAME, Sent};
pub use operations::FRAME;
pub use remote_memory::Exposed;

/// Why the network could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no libfabric.
    #[error("libfabric cannot be opened: {0} (install it, on Debian `libfabric1`, on every node)")]
    Missing(String),
    /// It is too old.
    #[error("libfabric {major}.{minor} is too old: 1.17 is the oldest that serves")]
    Old {
        /// Of the version that was found.
        major: u32,
        /// Of the version that was found.
        minor: u32,
    },
    /// No provider can do what is needed.
    #[error(
        "libfabric has no provider here that serves ({0}): see `fi_info -t FI_EP_RDM`, and what FI_PROVIDER and ISTHMUS_FABRIC say"
    )]
    NoProvider(String),
    /// A provider has said twice that an operation is over.
    #[error(
        "libfabric's provider {0} has ended an operation twice, so its memory is not as it should be: is there a newer libfabric?"
    )]
    EndedTwice(String),
    /// A call failed.
    #[error("{call}: {text} (libfabric error {errno})")]
    Failed {
        /// Which call.
        call: &'static str,
        /// Its error, positive.
        errno: i32,
        /// What libfabric says of it.
        text: String,
    },
}

/// The outcome of what the network was asked to do.
pub type Result<T> = std::result::Result<T, Error>;
