//! Typed data: what its elements are and where they lie, how it is packed, copied and combined.
//!
//! Bytes and types, no handles: MPI's datatypes and operations are objects around a [`Type`] and a [`op::Reduction`], and the
//! one-sided models use these directly.
//!
//! | module | what |
//! |---|---|
//! | [`error`] | classes of errors with a sentence, and the shorthand [`fail!`] |
//! | [`predefined`] | the predefined datatypes and their basic elements |
//! | [`layout`] | where the bytes of an element lie, in a canonical form |
//! | [`signature`] | its basic elements in order, and a digest of them |
//! | [`shape`] | layout, signature and bounds, and the operations that constructors are made of |
//! | [`types`] | [`Type`]: a shape that is shared, packed, unpacked, told as spans to code that copies between address spaces |
//! | [`op`] | operation kernels |
#![allow(unsafe_code)] // Memory of users, element by element; each site argues its case.

mod apart;
mod bounds;
mod copy;
pub mod error;
pub mod layout;
pub mod op;
pub mod predefined;
pub mod shape;
pub mod signature;
mod spans;
pub mod types;

pub use layout::{Layout, Loop};
pub use op::{Custom, Kernel, Predefined, Reduction};
pub use predefined::{Element, Families, Family, NAMED, Named};
pub use shape::Shape;
pub use signature::{Digest, Signature};
pub use types::Type;
