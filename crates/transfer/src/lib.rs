//! Moving bytes between two address spaces, one file per mechanism.
//!
//! A mechanism is a [`Transfer`]: one object per mechanism and peer. What both sides look like is said by a
//! [`Layout`], what is to be moved by a range of the stream of bytes that a layout stands for, so that two processes can
//! share the work of one message. `cost` makes mechanisms comparable; nothing here chooses.
//!
//! [`trace::Trace`] and [`fault::Fault`] wrap any mechanism and are mechanisms themselves.
//!
//! Mechanisms that need the peer to act are [`stream`]s: one side feeds, the other drains. The ring, which always works, is
//! part of the channels in the engine.
#![allow(unsafe_code)] // Copies into user buffers by address.

pub mod attached;
pub mod cma;
pub mod copy;
pub mod cuda;
pub mod device;
pub mod fault;
pub mod helper;
pub mod kmod;
pub mod layout;
pub mod local;
pub mod loopback;
pub mod mapped;
mod probed;
pub mod rows;
pub mod stream;
pub mod trace;
mod transfer;
pub mod vmsplice;
pub mod writev;

pub use isthmus_os::process_vm::Span;
pub use layout::{Layout, Level};
pub use probed::share;
pub use transfer::{Cause, Direction, Interrupted, Pending, Shape, Transfer};
