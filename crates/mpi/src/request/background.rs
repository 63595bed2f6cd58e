//! Collectives, partitioned receives, and generalized requests that are polled, move on whenever the process makes progress, whichever request it waits for.

use isthmus_engine::{Background, Entered, enter};

use super::{Look, Operation, REQUESTS, Request, Requests, lend, look};
use crate::handle::Handle;

/// From now on move on this request too.
pub(super) fn begin(inside: &mut Entered, request: Handle<Request>) {
    REQUESTS.get(inside).autonomous.push(request);
    inside.set_background(Some(Background { advance, call_out }));
}

/// Let an operation without a request go on by itself, until it ends.
pub(crate) fn detach(operation: Box<dyn Operation>) {
    let mut inside = enter();
    REQUESTS.get(&mut inside).orphans.push(operation);
    bury_orphans(&mut inside);
    inside.set_background(Some(Background { advance, call_out }));
}

/// Let go of operations without a request that have completed by now.
#[cold]
pub(super) fn bury_orphans(inside: &mut Entered) {
    let mut orphans = std::mem::take(&mut REQUESTS.get(inside).orphans);
    orphans.retain_mut(|operation| {
        let complete = operation.advance(inside).is_complete();
        if complete {
            // A receive unpacks here. Nobody is left to hear of a failure.
            let _ = operation.outcome();
        }
        !complete
    });
    REQUESTS.get(inside).orphans.append(&mut orphans);
}

/// Is there nothing to be moved on?
fn is_idle(requests: &Requests) -> bool {
    requests.autonomous.is_empty() && !requests.orphans.iter().any(|operation| operation.is_autonomous())
}

/// This request is over.
pub(super) fn end(inside: &mut Entered, request: Handle<Request>) {
    let autonomous = &mut REQUESTS.get(inside).autonomous;
    if let Some(at) = autonomous.iter().position(|other| *other == request) {
        autonomous.remove(at);
        if is_idle(REQUESTS.get(inside)) {
            inside.set_background(None);
        }
    }
}

/// User code is to run for this request.
pub(super) fn call_for(inside: &mut Entered, request: Handle<Request>) {
    let due = &mut REQUESTS.get(inside).due;
    if !due.contains(&request) {
        due.push(request);
    }
}

/// Move on all of them; true if user code is to run.
fn advance(inside: &mut Entered) -> bool {
    let mut autonomous = std::mem::take(&mut REQUESTS.get(inside).autonomous);
    autonomous.retain(|request| matches!(look(inside, *request), Ok(Look::Pending)));
    REQUESTS.get(inside).autonomous = autonomous;
    if !REQUESTS.get(inside).orphans.is_empty() {
        bury_orphans(inside);
    }
    let requests = REQUESTS.get(inside);
    let due = !requests.due.is_empty();
    if is_idle(requests) {
        inside.set_background(None);
    }
    due
}

/// Run the user code that is due, for as many requests as there are now: what polls the user may be due again at once. A request is taken off the list
/// just before it is lent, so that no other thread completes it in between.
fn call_out() {
    let mut inside = enter();
    for _ in 0..REQUESTS.get(&mut inside).due.len() {
        let due = &mut REQUESTS.get(&mut inside).due;
        if due.is_empty() {
            break;
        }
        let request = due.remove(0);
        // One that has ended meanwhile needs nothing.
        let asked = lend(&mut inside, request, |work| {
            work.operation().and_then(|operation| operation.call_out())
        });
        if let Ok(Some(user_code)) = asked {
            // An error is told when the request is completed.
            let _ = inside.outside(user_code);
        }
    }
}
