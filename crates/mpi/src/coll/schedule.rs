//! Collectives that go on while the user does something else: what an algorithm asked for, noted down and done step by
//! step.
//!
//! A [`Recorder`] is the [`Link`](super::link::Link) that writes down; it makes a [`Program`], which never changes. A
//! [`Running`] is one execution of it: an operation that its request, and every call that blocks or makes progress, moves
//! on. Steps run in order; one that exchanges messages is over when all of them are. User code runs outside the engine
//! ([`Operation::call_out`](crate::request::Operation::call_out)), everything else inside.

mod program;
mod recorder;
mod running;

use std::sync::Arc;

use super::link::Lane;
use crate::error::Result;
use crate::handle::Handle;
use crate::request::{self, Request};

pub(super) use program::{Program, Step};
pub(super) use recorder::Recorder;
pub(super) use running::Running;

/// Start a program, once `before` is over, and make a request of it.
pub(super) fn launch(program: Box<Program>, lane: Lane<'static>, before: Option<Running>) -> Result<Handle<Request>> {
    let comm = lane.comm.handle().share("comm")?;
    let running = Running::once(program, comm, lane.tag).after(before);
    request::launch(lane.comm, |inside| Ok(running.start(inside)))
}

/// Make a request that starts a program.
pub(super) fn prepare(program: Program, lane: Lane<'static>) -> Result<Handle<Request>> {
    let comm = lane.comm.handle().share("comm")?;
    let (program, tag) = (Arc::new(program), lane.tag);
    request::prepare(lane.comm, move |inside| {
        Ok(Running::new(Arc::clone(&program), Arc::clone(&comm), tag).start(inside))
    })
}
