//! Collective calls under way, as requests hold them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isthmus_collective::{Look as TaskLook, Program, Running, Task};
use isthmus_engine::Entered;

use crate::comm::Comm;
use crate::device::Mirrors;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::request::{self, Look, Operation, Request, UserCode, Work};
use crate::status::Status;

/// Start a program, once `before` is over, and make a request of it.
pub fn launch(
    comm: &'static Comm,
    program: Box<Program>,
    tag: i32,
    before: Option<Running>,
    mirrors: Option<SharedMirrors>,
) -> Result<Handle<Request>> {
    let running = Running::once(program, comm.team().share(), tag).after(before);
    launch_task(comm, running, mirrors)
}

/// Start a call, and make a request of it.
pub fn launch_task(
    comm: &'static Comm,
    task: impl Task + 'static,
    mirrors: Option<SharedMirrors>,
) -> Result<Handle<Request>> {
    let task = Box::new(Pending::new(task, mirrors));
    request::launch(comm, |inside| Ok(begin(task, inside)))
}

/// Make a request that starts a program.
pub fn prepare(
    comm: &'static Comm,
    program: Program,
    tag: i32,
    mirrors: Option<SharedMirrors>,
) -> Result<Handle<Request>> {
    let (program, team) = (Arc::new(program), comm.team().share());
    request::prepare(comm, move |inside| {
        load(mirrors.as_ref())?;
        let running = Running::new(Arc::clone(&program), Arc::clone(&team), tag);
        Ok(begin(Box::new(Pending::new(running, mirrors.clone())), inside))
    })
}

/// What stands for buffers in memory of a device, which a request uses whenever it is active.
pub type SharedMirrors = Arc<Mutex<Mirrors>>;

/// Fill it from the devices, if there is any.
pub fn load(mirrors: Option<&SharedMirrors>) -> Result<()> {
    mirrors.map_or(Ok(()), |mirrors| locked(mirrors).load())
}

fn locked(mirrors: &SharedMirrors) -> MutexGuard<'_, Mirrors> {
    mirrors.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin<T: Task + 'static>(mut task: Box<Pending<T>>, inside: &mut Entered) -> Work {
    match task.advance(inside) {
        Look::Complete if task.result().is_ok() => Work::Complete,
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
struct Pending<T> {
    task: T,
    /// Until what the call has written is back on the devices.
    mirrors: Option<SharedMirrors>,
    /// Why it is not.
    failure: Option<Error>,
}

impl<T: Task> Pending<T> {
    fn new(task: T, mirrors: Option<SharedMirrors>) -> Self {
        Self {
            task,
            mirrors,
            failure: None,
        }
    }

    fn task(&mut self) -> Pin<&mut T> {
        // SAFETY: it is in a box, which is dropped with it where it is.
        unsafe { Pin::new_unchecked(&mut self.task) }
    }

    /// How the call went, once it is complete.
    fn result(&mut self) -> Result<()> {
        self.task.outcome()?;
        self.failure.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn store(&mut self, mirrors: &SharedMirrors) {
        if self.task.outcome().is_ok() {
            self.failure = locked(mirrors).store().err();
        }
    }
}

impl<T: Task + 'static> Operation for Pending<T> {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        let look = self.task().advance(inside).into();
        if look == Look::Complete
            && let Some(mirrors) = self.mirrors.take()
        {
            self.store(&mirrors);
        }
        look
    }

    fn calls_out(&self) -> bool {
        self.task.calls_out()
    }

    fn call_out(&mut self) -> Option<UserCode> {
        self.task().call_out();
        None
    }

    fn outcome(&mut self) -> Result<Status> {
        self.result().map(|()| Status::EMPTY)
    }

    fn is_gone(&self) -> bool {
        self.task.is_gone() && self.mirrors.is_none()
    }

    fn is_autonomous(&self) -> bool {
        true
    }
}
