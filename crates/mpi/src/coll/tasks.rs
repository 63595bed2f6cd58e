//! Collective calls under way, as requests hold them.

use std::pin::Pin;
use std::sync::Arc;

use isthmus_collective::{Look as TaskLook, Program, Running, Task};
use isthmus_engine::Entered;

use crate::comm::Comm;
use crate::error::Result;
use crate::handle::Handle;
use crate::request::{self, Look, Operation, Request, UserCode, Work};
use crate::status::Status;

/// Start a program, once `before` is over, and make a request of it.
pub fn launch(
    comm: &'static Comm,
    program: Box<Program>,
    tag: i32,
    before: Option<Running>,
) -> Result<Handle<Request>> {
    launch_task(comm, Running::once(program, comm.team().share(), tag).after(before))
}

/// Start a call, and make a request of it.
pub fn launch_task(comm: &'static Comm, task: impl Task + 'static) -> Result<Handle<Request>> {
    let task = Box::new(Pending(task));
    request::launch(comm, |inside| Ok(begin(task, inside)))
}

/// Make a request that starts a program.
pub fn prepare(comm: &'static Comm, program: Program, tag: i32) -> Result<Handle<Request>> {
    let (program, team) = (Arc::new(program), comm.team().share());
    request::prepare(comm, move |inside| {
        let running = Running::new(Arc::clone(&program), Arc::clone(&team), tag);
        Ok(begin(Box::new(Pending(running)), inside))
    })
}

fn begin<T: Task + 'static>(mut task: Box<Pending<T>>, inside: &mut Entered) -> Work {
    match task.advance(inside) {
        Look::Complete if task.0.outcome().is_ok() => Work::Complete,
        _ => Work::Other(task),
    }
}

impl From<TaskLook> for Look {
    fn from(look: TaskLook) -> Self {
        match look {
            TaskLook::Pending => Self::Pending,
            TaskLook::Complete => Self::Complete,
            TaskLook::PeerFailed => Self::PeerFailed,
        }
    }
}

/// A call as an operation. It lies in a box from the start, and is never taken out.
struct Pending<T>(T);

impl<T: Task> Pending<T> {
    fn task(&mut self) -> Pin<&mut T> {
        // SAFETY: it is in a box, which is dropped with it where it is.
        unsafe { Pin::new_unchecked(&mut self.0) }
    }
}

impl<T: Task + 'static> Operation for Pending<T> {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        self.task().advance(inside).into()
    }

    fn calls_out(&self) -> bool {
        self.0.calls_out()
    }

    fn call_out(&mut self) -> Option<UserCode> {
        self.task().call_out();
        None
    }

    fn outcome(&mut self) -> Result<Status> {
        self.0.outcome().map(|()| Status::EMPTY)
    }

    fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    fn is_autonomous(&self) -> bool {
        true
    }
}
