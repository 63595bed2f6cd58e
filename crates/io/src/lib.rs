//! Files that several processes share: where the bytes of an access lie, how they get there, which ranks write for others. No MPI objects.
//!
//! | module | what |
//! |---|---|
//! | [`backend`] | [`Backend`](backend::Backend): what moves bytes to and from one file, and loops that finish what a call leaves undone |
//! | [`posix`] | the system's own calls |
//! | [`stream`] | the same for pipes and terminals, which cannot seek |
//! | [`fault`] | a wrapper that injects errors, for tests |
//! | [`failure`] | a call of the system that failed, and the class of error that MPI has for it |
//! | `rooms` | buffers that are used again |
//! | [`view`] | which bytes of a file a process sees, in which order |
//! | [`layout`] | stripes and blocks, as the file system says |
//! | [`systems`] | kinds of file systems, and what is different about them: a table |
//! | [`memory`] | the user's side of an access |
//! | [`hints`] | what users may say, and what follows |
//! | [`independent`] | an access that one process makes: piece by piece, or through a window (data sieving) |
//! | [`worker`] | a thread that makes accesses while the program computes |
//! | [`written`] | bytes that several processes have written, where programs are checked |
//! | [`two_phase`] | an access that all make: some processes write and read for the others |
#![allow(unsafe_code)] // User buffers, and three system calls; each site argues its case.

pub mod backend;
pub mod failure;
pub mod fault;
pub mod hints;
pub mod independent;
pub mod layout;
pub mod memory;
pub mod posix;
mod rooms;
pub mod stream;
pub mod systems;
pub mod two_phase;
pub mod view;
pub mod worker;
pub mod written;

use isthmus_datatype::{error, fail};

/// Bytes of a non-blocking access from which on another thread makes it: shorter ones take less time than it takes to hand them over.
pub const OFFLOADED: u64 = 256 << 10;
