//! Global Arrays: dense arrays that are distributed over the processes of a job, and read and written by any of them with one-sided
//! operations, on ARMCI ([`isthmus_armci`]).
//!
//! The elements of an array lie in memory that all processes of the node map: put, get and accumulate are strided copies by the caller,
//! without a lock or a message. Everything else is made of these and of work on the own part.
//!
//! | file | what is there |
//! |---|---|
//! | `distribution.rs` | who has which elements, and where they lie |
//! | `array.rs`, `plan.rs`, `handles.rs` | arrays, plans of arrays, handles |
//! | `onesided.rs` | put, get, accumulate, strided, periodic, by element |
//! | `local.rs` | work on the own part; `elementwise.rs`, `matrix.rs`, `reduce.rs`, `scan.rs` are made of it |
//! | `ghosts.rs` | margins |
//! | `sparse.rs` | sparse matrices |
//! | `linear.rs`, `blas.rs` | matrix products |
//! | `systems.rs`, `block_cyclic.rs`, `scalapack.rs` | systems of equations, eigenvalues |
//! | `entry.rs` | the C functions |
//!
//! Source of the interface: the header and manual of Global Arrays 5.9 (<https://github.com/GlobalArrays/ga>); J. Nieplocha,
//! R. J. Harrison, R. J. Littlefield, "Global Arrays: a nonuniform memory access programming model for high-performance computers",
//! 1996. Dimensions are in C's order everywhere.
#![allow(unsafe_code)] // Memory that programs name, and parts of arrays that peers write; each site argues its case.

pub mod allocator;
pub mod array;
pub mod blas;
mod block_cyclic;
pub mod counter;
pub mod distribution;
pub mod element;
pub mod elementwise;
pub mod entry;
pub mod error;
pub mod getmem;
pub mod ghosts;
pub mod handles;
pub mod kind;
pub mod life;
pub mod linear;
pub mod local;
pub mod matrix;
pub mod merge;
pub mod mirror;
pub mod onesided;
pub mod patch;
pub mod plan;
pub mod print;
pub mod reduce;
pub mod registered;
pub mod scalapack;
pub mod scan;
pub mod sparse;
pub mod systems;

pub use error::{Error, Result};
