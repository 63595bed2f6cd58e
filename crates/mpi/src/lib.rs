//! MPI's objects and semantics on the engine: one typed function per procedure, with 64-bit counts and `Result`.
//!
//! The generated C entry points (`crates/abi`) convert, call a function re-exported from [`procedures`], and hand the
//! error to the object's error handler.
#![allow(unsafe_code)] // User buffers and object tables; each site argues its case.

pub mod attribute;
pub mod comm;
pub mod constants;
pub mod environment;
pub mod errhandler;
pub mod error;
pub mod group;
pub mod handle;
pub mod info;

/// Every procedure, by its name without `MPI_`, in lower case.
pub mod procedures {
    // Environment, errors, names: environment.rs, errhandler.rs, info.rs, session.rs, abi_info.rs.

    // Groups and communicators: group.rs, comm.rs, attribute.rs.

    // Datatypes, operations, collectives: datatype.rs, op.rs, coll.rs.

    // Point-to-point: p2p.rs, request.rs, status.rs, probe.rs.
}
