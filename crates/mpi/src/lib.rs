//! MPI's objects and semantics on the engine: one typed function per procedure, with 64-bit counts and `Result`.
//!
//! The generated C entry points (`crates/abi`) convert, call a function re-exported from [`procedures`], and hand the
//! error to the object's error handler.
#![allow(unsafe_code)] // User buffers and object tables; each site argues its case.

pub mod error;
pub mod handle;
