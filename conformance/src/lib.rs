//! Test kits: what a trait promises is written down once, as tests, and run for each implementation.
//!
//! A kit is a list of checks, generic over a factory that makes the situation, and a macro that makes one `#[test]` of
//! each. The instances are in `tests/`, one file per implementation.
#![allow(unsafe_code)] // The kits make address spaces, and break them.

pub mod stream;
pub mod transfer;
