//! Requests that the user frees instead of completing them (MPI-5.0 §3.7.3).

use isthmus_engine::{Entered, enter, wait_until};
use isthmus_os::switches::Switch;

use super::background::bury_orphans;
use super::finish::finish;
use super::{Look, Plain, REQUEST_NULL, REQUESTS, Request, Work, generalized, look, scope_inside, with_comm};
use crate::check::sites;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::ledger;

/// `MPI_Request_free` (MPI-5.0 §3.7.3): the operation, if active, completes by itself.
pub fn request_free(request: Handle<Request>) -> Result<()> {
    let mut inside = enter();
    if Switch::Check.is_on() {
        if matches!(Plain::of(request), Some(Plain::Receive(_))) && look(&mut inside, request)? == Look::Pending {
            sites::freed(ledger::site_of(request));
        }
        ledger::forget(request);
        sites::gone(request.raw());
    }
    if generalized::free(&mut inside, request)? {
        return Ok(());
    }
    if let Some(plain) = Plain::of(request) {
        free_plain(&mut inside, plain);
        return Ok(());
    }
    if REQUESTS.get(&mut inside).entry(request)?.work.is_not_cancellable() && look(&mut inside, request)?.is_complete()
    {
        // Completed, as a query of its status may have said; nobody asks how.
        let mut complete = request;
        let _ = finish(&mut inside, &mut complete);
        if complete == REQUEST_NULL {
            return Ok(());
        }
    }
    let requests = REQUESTS.get(&mut inside);
    if requests.entry(request)?.work.is_not_cancellable() {
        let error = fail!(
            Request,
            "request={request:?} is a collective or partitioned, and can be freed only when it is complete or not active"
        );
        return Err(with_comm(error, scope_inside(&mut inside, request)));
    }
    let work = match &mut requests.entry(request)?.work {
        Work::Persistent(persistent) => persistent.current.take(),
        work => Some(std::mem::replace(work, Work::Lent)),
    };
    requests.remove(request);
    match work {
        Some(Work::Plain(plain)) => free_plain(&mut inside, plain),
        Some(Work::Other(operation)) => {
            REQUESTS.get(&mut inside).orphans.push(operation);
            bury_orphans(&mut inside);
        }
        _ => {}
    }
    Ok(())
}

fn free_plain(inside: &mut Entered, plain: Plain) {
    match plain {
        Plain::Receive(op) => inside.detach(op),
        Plain::Send(op) => {
            inside.take_from_user(op);
            let sends = &mut REQUESTS.get(inside).freed_sends;
            sends.push(op);
            if sends.len().is_power_of_two() {
                bury_sends(inside);
            }
        }
    }
}

/// Wait for freed operations that must not be cut off.
pub(crate) fn drain_freed() -> Result<()> {
    wait_until(|inside| {
        bury_orphans(inside);
        bury_sends(inside);
        let requests = REQUESTS.get(inside);
        let owed = requests.orphans.iter().any(|operation| operation.blocks_finalize());
        (!owed && requests.freed_sends.is_empty()).then_some(())
    })?;
    Ok(())
}

/// Let go of freed sends that have completed by now.
#[cold]
fn bury_sends(inside: &mut Entered) {
    let mut sends = std::mem::take(&mut REQUESTS.get(inside).freed_sends);
    sends.retain(|op| inside.take(*op).is_none());
    REQUESTS.get(inside).freed_sends = sends;
}
