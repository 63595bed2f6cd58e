//! What lives in memory that processes share.
//!
//! Nothing here holds a pointer, a descriptor or a Rust type with a niche: positions are [`Offset`]s into the
//! [`Segment`]. Bytes that a peer may write are only touched through atomics or raw copies, and every index or length
//! read from them is checked once, here, before anybody uses it.
#![allow(unsafe_code)] // Shared memory is raw memory; each structure states who may touch what, and when.

pub mod advert;
pub mod agreement;
pub mod backoff;
pub mod card;
pub mod descriptor;
pub mod directory;
pub mod doorbell;
pub mod mailbox;
pub mod noted;
pub mod occupancy;
pub mod post;
pub mod registry;
mod reserve;
pub mod revocation;
pub mod ring;
pub mod segment;
pub mod slot;
pub mod stripe;
pub mod switchover;
mod sync;

pub use advert::Advert;
pub use descriptor::Descriptor;
pub use doorbell::{Doorbell, Slept};
pub use registry::{Registry, SharedAddress};
pub use reserve::MemoryWait;
pub use segment::{Offset, Segment};
pub use slot::Slot;
pub use stripe::Stripe;
