//! Generalized requests: operations that the user carries out (MPI-5.0 §13.2).

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use isthmus_engine::{Entered, enter};

use super::{Look, Operation, REQUESTS, Request, UserCode, Work, background, launch, with_work};
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

/// Asks how the operation is, which the function completes if it is over: (extra state), answering an error code. An extension of MPICH.
pub type PollFn = Box<dyn Fn(*mut c_void) -> i32 + Send + Sync>;
/// Blocks until the operation is over, and completes it: (extra state), answering an error code. An extension of MPICH.
pub type WaitFn = Box<dyn Fn(*mut c_void) -> i32 + Send + Sync>;

/// What the user has given, perhaps for several requests.
pub struct Functions {
    /// Says how it went.
    pub query: QueryFn,
    /// Ends it.
    pub free: FreeFn,
    /// Asks it to end.
    pub cancel: CancelFn,
    /// Called while this process makes progress.
    pub poll: Option<PollFn>,
    /// Called by a call that waits for the request.
    pub wait: Option<WaitFn>,
}

/// One operation of the user's.
struct Theirs {
    functions: Arc<Functions>,
    extra: *mut c_void,
    /// What a function that was to complete it has returned instead of 0.
    failed: AtomicI32,
}

// SAFETY: the functions are Send; the extra state is the user's, who passes it between threads knowingly, since any
// thread may complete any request.
unsafe impl Send for Theirs {}
// SAFETY: as above: the functions are Sync, and the extra state is only handed to them.
unsafe impl Sync for Theirs {}

impl Theirs {
    fn check(&self, code: i32) {
        if code != 0 {
            self.failed.store(code, Ordering::Relaxed);
        }
    }
}

struct Generalized {
    /// Shared, since they may complete or free the request, from whichever thread.
    theirs: Arc<Theirs>,
    complete: bool,
    /// The user has freed the request before completing the operation.
    freed: bool,
}

impl Generalized {
    fn has_failed(&self) -> bool {
        self.theirs.failed.load(Ordering::Relaxed) != 0
    }

    /// Has it a function that waits, and is it not complete?
    fn is_to_be_awaited(&self) -> bool {
        self.theirs.functions.wait.is_some() && !self.complete && !self.has_failed()
    }
}

impl Operation for Generalized {
    fn advance(&mut self, _inside: &mut Entered) -> Look {
        if self.complete || self.has_failed() {
            Look::Complete
        } else {
            Look::Pending
        }
    }

    fn calls_out(&self) -> bool {
        self.theirs.functions.poll.is_some() && !self.complete && !self.has_failed()
    }

    fn call_out(&mut self) -> Option<UserCode> {
        let theirs = Arc::clone(&self.theirs);
        Some(Box::new(move || {
            poll(&theirs);
            Ok(())
        }))
    }

    fn outcome(&mut self) -> Result<Status> {
        let mut status = Status::EMPTY;
        if !self.complete {
            answer("poll_fn or wait_fn", self.theirs.failed.load(Ordering::Relaxed))?;
        }
        let code = (self.theirs.functions.query)(self.theirs.extra, &mut status);
        status.error = None;
        answer("query_fn", code).map_or_else(|error| Err(of_operation(error, status)), |()| Ok(status))
    }

    fn retire(self: Box<Self>) -> Result<()> {
        answer("free_fn", (self.theirs.functions.free)(self.theirs.extra))
    }

    fn cancel(&mut self, _inside: &mut Entered) -> Option<UserCode> {
        let (theirs, complete) = (Arc::clone(&self.theirs), self.complete);
        Some(Box::new(move || {
            answer("cancel_fn", (theirs.functions.cancel)(theirs.extra, complete))
        }))
    }

    fn is_autonomous(&self) -> bool {
        self.theirs.functions.poll.is_some() || self.theirs.functions.wait.is_some()
    }

    fn is_not_cancellable(&self) -> bool {
        false
    }
}

/// Ask how the operation is. Not from within another such call: what is asked may call MPI, and be slow.
fn poll(theirs: &Theirs) {
    static ASKING: AtomicBool = AtomicBool::new(false);
    /// The function may end by an exception.
    struct Asking;
    impl Drop for Asking {
        fn drop(&mut self) {
            // SYNC: polling-the-user
            ASKING.store(false, Ordering::Release);
        }
    }
    // SYNC: polling-the-user
    if ASKING.swap(true, Ordering::Acquire) {
        return;
    }
    let _asking = Asking;
    if let Some(poll) = &theirs.functions.poll {
        theirs.check(poll(theirs.extra));
    }
}

fn answer(function: &str, code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::from_code(code, format!("{function} returned {code}"))),
    }
}

/// `MPI_Grequest_start`; `MPIX_Grequest_start` and `MPIX_Grequest_class_allocate` of MPICH, which have more functions. A function that polls is
/// called whenever this process makes progress, one at a time; one that waits, by a call that waits for the request.
pub fn grequest_start(functions: Arc<Functions>, extra_state: *mut c_void) -> Result<Handle<Request>> {
    let operation = Generalized {
        theirs: Arc::new(Theirs {
            functions,
            extra: extra_state,
            failed: AtomicI32::new(0),
        }),
        complete: false,
        freed: false,
    };
    launch(None, |_| Ok(Work::Other(Box::new(operation))))
}

/// A call waits for this request: if it has a function that waits, that is called, outside the engine.
pub(super) fn wait_as_told(inside: &mut Entered, request: Handle<Request>) -> Result<()> {
    let theirs = match &mut REQUESTS.get(inside).entry(request)?.work {
        work @ Work::Other(_) => generalized(work).filter(|operation| operation.is_to_be_awaited()),
        _ => None,
    };
    if let Some(theirs) = theirs.map(|operation| Arc::clone(&operation.theirs))
        && let Some(wait) = &theirs.functions.wait
    {
        theirs.check(inside.outside(|| wait(theirs.extra)));
    }
    Ok(())
}

/// A call waits for one of these requests: the function that waits for the first that has only this one is called.
pub(super) fn wait_for_first(inside: &mut Entered, requests: &[Handle<Request>]) -> Result<()> {
    let mut only_waits = |request: &Handle<Request>| match REQUESTS.get(inside).entry(*request) {
        Ok(entry) => generalized(&mut entry.work)
            .is_some_and(|operation| operation.is_to_be_awaited() && operation.theirs.functions.poll.is_none()),
        Err(_) => false,
    };
    match requests.iter().find(|request| only_waits(request)) {
        Some(request) => wait_as_told(inside, *request),
        None => Ok(()),
    }
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
    background::end(inside, request);
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
