//! Generalized requests: operations that the user carries out (MPI-5.0 §13.2).

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::{Entered, enter};

use super::{Look, Operation, REQUESTS, Request, UserCode, Work, launch, with_work};
use crate::completion::of_operation;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::status::Status;

/// Fills in the status of the complete operation: (extra state, status), answering an error code.
pub type QueryFn = Box<dyn Fn(*mut c_void, &mut Status) -> i32 + Send + Sync>;
/// Frees what belongs to the operation: (extra state), answering an error code.
pub type FreeFn = Box<dyn Fn(*mut c_void) -> i32 + Send + Sync>;
/// Asks the operation to end: (extra state, is it complete?), answering an error code.
pub type CancelFn = Box<dyn Fn(*mut c_void, bool) -> i32 + Send + Sync>;

/// What the user has given.
struct Functions {
    query: QueryFn,
    free: FreeFn,
    cancel: CancelFn,
    extra: *mut c_void,
}

// SAFETY: the functions are Send; the extra state is the user's, who passes it between threads knowingly, since any
// thread may complete any request.
unsafe impl Send for Functions {}
// SAFETY: as above: the functions are Sync, and the extra state is only handed to them.
unsafe impl Sync for Functions {}

struct Generalized {
    /// Shared, since they may complete or free the request, from whichever thread.
    functions: Arc<Functions>,
    complete: bool,
    /// The user has freed the request before completing the operation.
    freed: bool,
}

impl Operation for Generalized {
    fn advance(&mut self, _inside: &mut Entered) -> Look {
        if self.complete { Look::Complete } else { Look::Pending }
    }

    fn outcome(&mut self) -> Result<Status> {
        let mut status = Status::EMPTY;
        let code = (self.functions.query)(self.functions.extra, &mut status);
        status.error = None;
        answer("query_fn", code).map_or_else(|error| Err(of_operation(error, status)), |()| Ok(status))
    }

    fn retire(self: Box<Self>) -> Result<()> {
        answer("free_fn", (self.functions.free)(self.functions.extra))
    }

    fn cancel(&mut self, _inside: &mut Entered) -> Option<UserCode> {
        let (functions, complete) = (Arc::clone(&self.functions), self.complete);
        Some(Box::new(move || {
            answer("cancel_fn", (functions.cancel)(functions.extra, complete))
        }))
    }
}

fn answer(function: &str, code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::from_code(code, format!("{function} returned {code}"))),
    }
}

/// `MPI_Grequest_start`.
pub fn grequest_start(
    query: QueryFn,
    free: FreeFn,
    cancel: CancelFn,
    extra_state: *mut c_void,
) -> Result<Handle<Request>> {
    let operation = Generalized {
        functions: Arc::new(Functions {
            query,
            free,
            cancel,
            extra: extra_state,
        }),
        complete: false,
        freed: false,
    };
    launch(None, |_| Ok(Work::Other(Box::new(operation))))
}

/// `MPI_Grequest_complete`: the operation that `request` stands for is complete. Wakes whoever waits for it.
pub fn grequest_complete(request: Handle<Request>) -> Result<()> {
    let mut inside = enter();
    let freed = with_work(&mut inside, request, |work, _| match generalized(work) {
        Some(operation) => {
            operation.complete = true;
            Ok(operation.freed)
        }
        None => Err(fail!(Request, "request={request:?} is not a generalized request")),
    })??;
    if freed { remove(&mut inside, request) } else { Ok(()) }
}

/// Free `request` if it is a generalized one: at once if it is complete, else once it will be. False: it is of
/// another kind. Steps outside the engine for user code.
pub(super) fn free(inside: &mut Entered, request: Handle<Request>) -> Result<bool> {
    let complete = with_work(inside, request, |work, _| {
        generalized(work).map(|operation| {
            operation.freed = true;
            operation.complete
        })
    })?;
    match complete {
        None => Ok(false),
        Some(false) => Ok(true),
        Some(true) => remove(inside, request).map(|()| true),
    }
}

fn remove(inside: &mut Entered, request: Handle<Request>) -> Result<()> {
    let requests = REQUESTS.get(inside);
    let work = std::mem::replace(&mut requests.entry(request)?.work, Work::Lent);
    requests.remove(request);
    match work {
        Work::Other(operation) => inside.outside(|| operation.retire()),
        _ => Ok(()),
    }
}

fn generalized(work: &mut Work) -> Option<&mut Generalized> {
    let Work::Other(operation) = work else {
        return None;
    };
    let any: &mut dyn Any = &mut **operation;
    any.downcast_mut()
}
