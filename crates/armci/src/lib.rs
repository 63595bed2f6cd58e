//! ARMCI, the Aggregate Remote Memory Copy Interface of Global Arrays, on the communication engine.
//!
//! Global memory comes from the job's shared heap, which every process maps: a put or a get is a copy, made by the caller,
//! with nobody's help and no lock. So every operation is complete, also at its target, when it returns. Accumulates take a lock of the
//! target's stripes while they add. Memory of other nodes is reached by the engine ([`far`]): there a put or an accumulate is complete at
//! the target after the next fence, and non-blocking forms go on while the program computes ([`nonblocking`]).
//!
//! Typed Rust functions stand here, by topic; [`entry`] has the C functions, which the trampolines of `libarmci.so` jump to. A
//! C function that gets what is wrong ends the job with one line that names it ([`error::fatal`]).
//!
//! Sources: J. Nieplocha and B. Carpenter, "ARMCI: A Portable Remote Memory Copy Library for Distributed Array Libraries and
//! Compiler Run-time Systems", RTSPP 1999; the header and manual of Global Arrays 5.9.
#![allow(unsafe_code)] // Copies between memory that users name, and words in memory that peers write; each site argues its case.

pub mod accumulate;
pub mod arguments;
pub mod control;
pub mod directory;
pub mod domain;
pub mod elsewhere;
pub mod entry;
pub mod error;
pub mod far;
pub mod form;
pub mod group;
pub mod life;
pub mod link;
pub mod lock;
pub mod memory;
pub mod mutex;
pub mod nonblocking;
pub mod notify;
pub mod reduction;
pub mod rmw;
pub mod section;
pub mod transfer;
pub mod vector;

pub use error::{Error, Result};
