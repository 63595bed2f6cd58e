//! Moving bytes between two address spaces, one file per mechanism.
//!
//! The ring, which always works, is part of the channels in the engine; what stands here copies without it.
#![allow(unsafe_code)] // Copies into user buffers by address.

pub mod cma;
pub mod copy;
