//! Symmetric memory: the heap, static data, and where a peer's copy of an object is.

pub mod heap;
pub mod routines;
pub mod statics;
pub mod symmetric;
