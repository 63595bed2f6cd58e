//! Requests that can be started again and again (MPI-5.0 §3.9).

use isthmus_engine::{Entered, enter};

use super::background;
use super::{Plain, REQUESTS, Request, Work, blame, launch_inside, scope};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;

/// How to start what a persistent request stands for.
type Recipe = Box<dyn Fn(&mut Entered) -> Result<Work> + Send>;

/// A persistent request.
pub(crate) struct Persistent {
    recipe: Recipe,
    /// `None`: inactive.
    pub current: Option<Work>,
}

/// Make a persistent request on `comm` that is started by `recipe`.
pub(crate) fn prepare(
    comm: &Comm,
    recipe: impl Fn(&mut Entered) -> Result<Work> + Send + 'static,
) -> Result<Handle<Request>> {
    prepare_inside(&mut enter(), comm, recipe)
}

/// As [`prepare`], from inside.
pub(crate) fn prepare_inside(
    inside: &mut Entered,
    comm: &Comm,
    recipe: impl Fn(&mut Entered) -> Result<Work> + Send + 'static,
) -> Result<Handle<Request>> {
    launch_inside(inside, comm, |_| {
        Ok(Work::Persistent(Box::new(Persistent {
            recipe: Box::new(recipe),
            current: None,
        })))
    })
}

/// `MPI_Start` (MPI-5.0 §3.9).
pub fn start(request: &mut Handle<Request>) -> Result<()> {
    start_work(*request).map_err(|error| blame(error, scope(*request)))
}

fn start_work(request: Handle<Request>) -> Result<()> {
    let mut inside = enter();
    if Plain::of(request).is_some_and(|plain| inside.users(plain.op()).is_some()) {
        return Err(not_persistent(request));
    }
    let entry = REQUESTS.get(&mut inside).entry(request)?;
    let mut persistent = match std::mem::replace(&mut entry.work, Work::Lent) {
        Work::Persistent(persistent) => persistent,
        other => {
            entry.work = other;
            return Err(not_persistent(request));
        }
    };
    let started = match &persistent.current {
        Some(_) => Err(fail!(Request, "request={request:?} is active already")),
        None => (persistent.recipe)(&mut inside).map(|work| persistent.current = Some(work)),
    };
    let autonomous = persistent.current.as_mut().is_some_and(Work::is_autonomous);
    REQUESTS.get(&mut inside).entry(request)?.work = Work::Persistent(persistent);
    if autonomous && started.is_ok() {
        background::begin(&mut inside, request);
    }
    started
}

#[cold]
fn not_persistent(request: Handle<Request>) -> Error {
    fail!(Request, "request={request:?} is not persistent")
}

/// `MPI_Startall`: as [`start`], one after the other; ends at the first that fails.
pub fn startall(requests: &mut [Handle<Request>]) -> Result<()> {
    requests.iter_mut().try_for_each(start)
}
