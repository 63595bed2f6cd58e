//! Collectives that go on while the user does something else: what an algorithm asked for, noted down and done step by
//! step.
//!
//! A [`Recorder`] is the [`Link`](crate::link::Link) that writes down; it makes a [`Program`], which never changes. A
//! [`Running`] is one execution of it: an operation that its request, and every call that blocks or makes progress, moves
//! on. Steps run in order; one that exchanges messages is over when all of them are. User code runs outside the engine
//! ([`Task::call_out`](crate::task::Task::call_out)), everything else inside.

mod program;
mod recorder;
mod running;

pub use program::{Program, Step};
pub use recorder::Recorder;
pub use running::Running;
