//! Collectives, partitioned receives, and generalized requests that are polled, move on whenever the process makes progress, whichever request it waits for.

use isthmus_engine::{Background, Entered, enter};

use super::{Look, REQUESTS, Request, lend, look};
use crate::handle::Handle;

/// From now on move on this request too.
pub(super) fn begin(inside: &mut Entered, request: Handle<Request>) {
    REQUESTS.get(inside).autonomous.push(request);
    inside.set_background(Some(Background { advance, call_out }));
}

/// This request is over.
pub(super) fn end(inside: &mut Entered, request: Handle<Request>) {
    let autonomous = &mut REQUESTS.get(inside).autonomous;
    if let Some(at) = autonomous.iter().position(|other| *other == request) {
        autonomous.remove(at);
        if autonomous.is_empty() {
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
    let requests = REQUESTS.get(inside);
    requests.autonomous = autonomous;
    let due = !requests.due.is_empty();
    if requests.autonomous.is_empty() {
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
