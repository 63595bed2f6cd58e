//! Entries that no rule covers, by subject. The generator exports what stands here under the standard's names.
#![allow(clippy::too_many_arguments)] // As the standard has them.

mod abi_info;
mod attribute;
pub mod callback;
mod datarep;
mod datatype;
mod environment;
mod errhandler;
mod failures;
mod fortran;
mod handle;
mod info;
mod op;
pub mod request;
mod tool;
mod tool_events;
mod topology;

pub use abi_info::*;
pub use attribute::*;
pub use datarep::*;
pub use datatype::*;
pub use environment::*;
pub use errhandler::*;
pub use failures::*;
pub use fortran::*;
pub use handle::*;
pub use info::*;
pub use op::*;
pub use request::*;
pub use tool::*;
pub use tool_events::*;
pub use topology::*;
