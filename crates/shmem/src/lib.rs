//! OpenSHMEM 1.6: symmetric memory that every PE of the node maps, and what works on it. PEs on other nodes are reached by the engine's
//! one-sided operations (`far.rs`).
//!
//! Life of a put: `shmem_int_put` is a trampoline in `liboshmem.so` that jumps to its entry here (`generated`, one line a function),
//! which calls the generic `routines` with the function's name. The target's address is that of the symmetric object plus what the
//! PE's memory is displaced by (`memory/symmetric.rs`); the rest is a copy, a store or one instruction of the CPU. Nothing enters the
//! engine but waits.
//!
//! Collectives are `isthmus_collective::symmetric`: the PEs meet in cells of memory that all find by name, and load from each other's
//! memory.
#![allow(unsafe_code)] // C calls these functions with pointers, and all memory is shared; each site argues its case.
#![allow(clippy::too_many_arguments)] // As the specification has them.

mod atomic;
mod cache;
mod call;
mod collective;
mod compare;
mod context;
mod far;
mod generated;
mod handle;
mod job;
mod lock;
mod memory;
mod near;
mod numbers;
mod order;
mod rma;
mod routines;
mod setup;
mod signal;
mod team;
mod wait;
