//! Requests that can be started again and again (MPI-5.0 §3.9).

use isthmus_engine::{Entered, enter};
use isthmus_os::switches::Switch;

use super::background;
use super::{Operation, Plain, REQUESTS, Request, Work, launch_inside, scope, with_comm};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::ledger;

/// Makes what a persistent request stands for, started.
type Make = Box<dyn Fn(&mut Entered) -> Result<Work> + Send>;

/// How to start what a persistent request stands for.
enum Recipe {
    /// It is made anew each time.
    Make(Make),
    /// It is the same operation each time. `None`: it is active.
    Again(Option<Box<dyn Operation>>),
}

/// A persistent request.
pub(crate) struct Persistent {
    recipe: Recipe,
    /// `None`: inactive.
    pub current: Option<Work>,
}

impl Persistent {
    fn start(&mut self, inside: &mut Entered, request: Handle<Request>) -> Result<()> {
        let active = || fail!(Request, "request={request:?} is active already");
        if self.current.is_some() {
            return Err(active());
        }
        let work = match &mut self.recipe {
            Recipe::Make(make) => make(inside)?,
            Recipe::Again(idle) => {
                // Without it another thread is about to complete the request.
                let mut operation = idle.take().ok_or_else(active)?;
                if let Err(error) = operation.restart(inside) {
                    *idle = Some(operation);
                    return Err(error);
                }
                Work::Other(operation)
            }
        };
        self.current = Some(work);
        Ok(())
    }

    /// Is it the same operation each time, which [`Self::rest`] takes back?
    pub fn is_again(&self) -> bool {
        matches!(self.recipe, Recipe::Again(_))
    }

    /// The operation is over, until it is started again.
    pub fn rest(&mut self, operation: Box<dyn Operation>) {
        if let Recipe::Again(idle) = &mut self.recipe {
            *idle = Some(operation);
        }
    }
}

/// Make a persistent request on `comm` that is started by `recipe`.
pub(crate) fn prepare(
    comm: &Comm,
    recipe: impl Fn(&mut Entered) -> Result<Work> + Send + 'static,
) -> Result<Handle<Request>> {
    make(&mut enter(), comm, Recipe::Make(Box::new(recipe)))
}

/// Make a persistent request on `comm` of an operation that is [started](Operation::restart) again and again.
pub(crate) fn prepare_again(inside: &mut Entered, comm: &Comm, operation: impl Operation) -> Result<Handle<Request>> {
    make(inside, comm, Recipe::Again(Some(Box::new(operation))))
}

fn make(inside: &mut Entered, comm: &Comm, recipe: Recipe) -> Result<Handle<Request>> {
    let current = None;
    launch_inside(inside, comm, |_| {
        Ok(Work::Persistent(Box::new(Persistent { recipe, current })))
    })
}

/// `MPI_Start` (MPI-5.0 §3.9).
pub fn start(request: &mut Handle<Request>) -> Result<()> {
    start_work(*request).map_err(|error| with_comm(error, scope(*request)))
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
    let started = match Switch::Check.is_on() && persistent.current.is_none() {
        true => ledger::restart(request).and_then(|()| persistent.start(&mut inside, request)),
        false => persistent.start(&mut inside, request),
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
