//! Non-blocking operations. Those on memory that is mapped here are over when their calls return. Those with other nodes are under way then, and
//! go on while the program computes; a handle has the number of their [`Scope`], and 0 when nothing is under way.

use isthmus_engine::rma::Scope;

use crate::error::Result;
use crate::far;
use crate::form::{Form, form, with};
use crate::life::job;

/// Start operations on the handle with this number; `None`: the implicit handle. The answer is that of the calls, and the number that the handle has
/// then. A handle that still has something under way keeps its scope: it aggregates, or was not waited for. Blocks only as the calls do.
pub fn start<T>(handle: Option<u32>, calls: impl FnOnce() -> T) -> (T, u32) {
    if !far::is_on() {
        return (calls(), 0);
    }
    let scope = handle.map(|number| Scope::under_way(number).unwrap_or_else(Scope::new));
    let answer = with(Form::NonBlocking(scope), calls);
    let under_way = scope.filter(|scope| scope.is_under_way());
    (answer, under_way.map_or(0, Scope::number))
}

/// Make calls as one: if their form is blocking, operations with other nodes are started by all of them before they are waited for.
///
/// # Errors
/// What the calls say, or a process has failed.
pub fn together<T>(calls: impl FnOnce() -> Result<T>) -> Result<T> {
    if form() != Form::Blocking || !far::is_on() {
        return calls();
    }
    let scope = Scope::new();
    let answer = with(Form::NonBlocking(Some(scope)), calls);
    // Nobody writes to the caller's memory afterwards, whatever the calls say.
    let finished = scope.finish();
    let answer = answer?;
    finished?;
    Ok(answer)
}

/// Wait for what belongs to a handle. Blocks.
///
/// # Errors
/// A process has failed.
pub fn wait(handle: u32) -> Result<()> {
    job()?;
    match Scope::under_way(handle) {
        Some(scope) => Ok(scope.finish()?),
        None => Ok(()),
    }
}

/// Is it over? Does not block.
///
/// # Errors
/// A process has failed.
pub fn test(handle: u32) -> Result<bool> {
    job()?;
    match Scope::under_way(handle) {
        Some(scope) if !scope.is_over() => Ok(false),
        // It may have failed.
        Some(scope) => Ok(scope.finish().map(|()| true)?),
        None => Ok(true),
    }
}

/// Wait for all operations with a process, or with all, whatever handle they belong to. Blocks.
///
/// # Errors
/// There is no such process, or it has failed.
pub fn wait_for(proc: Option<i32>) -> Result<()> {
    let job = job()?;
    let proc = proc.map(|proc| job.process(proc)).transpose()?;
    match &job.far {
        Some(far) => Ok(far.finish(proc.map(|proc| job.peer(proc)))?),
        None => Ok(()),
    }
}
