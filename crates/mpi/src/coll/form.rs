//! The forms of a collective: blocking, completed by a request (MPI-5.0 §6.12), persistent (§6.13).
//!
//! One text checks the arguments, selects and runs the algorithm for all of them: it begins with [`Form::begin`], states what
//! it was given ([`Form::compare`]), and ends with [`run!`].

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::{Arc, Mutex};

use isthmus_collective::{Call, Kept, Lane, Launching, Link, Recorder, Turn, begin_immediate};
use isthmus_datatype::Type;
use isthmus_engine::enter;
use isthmus_os::switches::Switch;

use super::check::{self, Asking, Terms, When};
use super::tasks;
use crate::comm::Comm;
use crate::counts::Counts;
use crate::device::{Mirrors, Use};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::ledger;
use crate::request::Request;

/// A form of a collective call.
pub(super) trait Form: Sized {
    /// What the algorithm sees.
    type Link: Link;
    /// What the caller gets.
    type Done;

    /// Begin a call of the collective `name`, as in `Bcast`. Even one whose arguments turn out to be wrong counts, so that
    /// this rank stays in step with those whose arguments are right.
    fn begin(comm: &'static Comm, name: &str) -> Result<Self>;

    /// The arguments are right: do all ranks mean the same? Asked only if that is to be checked.
    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()>;

    /// What the algorithm sees.
    fn link(&self) -> &Self::Link;

    /// What stands for `count` elements at `buffer` in memory of a device, for the time of the call: its algorithm works on host memory.
    fn mirror(&self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8>;

    /// The algorithm works on elements of this type, whose handle may be freed before it ends.
    #[inline]
    fn keep(&self, _datatype: &Type) {}

    /// The algorithm looks at these. Until a request is complete the user leaves such arrays alone (MPI-5.0 §6.12), but programs
    /// free them when the call returns (mpi4py's calls with large counts, where a library has none, do).
    ///
    /// # Safety
    /// They must be used for this call only.
    #[inline]
    unsafe fn keep_counts(&self, counts: Counts<'_>) -> Counts<'static> {
        // SAFETY: they are not looked at when the call has returned.
        unsafe { counts.lasting() }
    }

    /// Run the algorithm: what it does not do at once it writes down.
    fn run(self, algorithm: impl FnOnce(&Self::Link) -> Result<()>) -> Result<Self::Done>;

    /// Make the call on devices instead, if `on_devices` can and the form is one that is done when it returns. `None`: it was not made.
    fn instead(_on_devices: impl FnOnce() -> Result<bool>) -> Result<Option<Self::Done>> {
        Ok(None)
    }

    /// Must the algorithm be one that can be gone on with later? Else it must not.
    #[inline]
    fn is_for_later(&self) -> bool {
        false
    }

    /// Run such an algorithm as far as it comes, and see to it that it goes on. It holds nothing but what is
    /// [kept](Self::keep), and what the user leaves to the call.
    fn run_later<A>(self, _algorithm: A) -> Result<Self::Done>
    where
        A: AsyncFnOnce(&Self::Link) -> Result<()> + 'static,
    {
        Err(fail!(Intern, "a call that is for now was to go on later"))
    }
}

/// Run an algorithm that is there [twice](isthmus_twice::twice) in the form of a call: `run!(call, name, name_later, (arguments))`.
macro_rules! run {
    ($call:ident, $now:ident, $later:ident, ($($argument:expr),*)) => {
        if $call.is_for_later() {
            $call.run_later(async move |link| {
                // SAFETY: the caller of an algorithm promises its preconditions.
                unsafe { $later(link, $($argument),*).await }
            })
        } else {
            $call.run(move |link| {
                // SAFETY: as above.
                unsafe { $now(link, $($argument),*) }
            })
        }
    };
}
pub(super) use run;

/// Done when it returns.
pub(super) struct Blocking {
    call: Call<'static>,
    aside: OnceCell<Box<Aside>>,
}

/// What few calls have.
#[derive(Default)]
struct Aside {
    asking: Option<Box<Asking>>,
    mirrored: Mirrored,
}

/// What stands for buffers of a call that are in memory of a device, if any are.
#[derive(Default)]
struct Mirrored(Cell<Option<Box<Mirrors>>>);

impl Mirrored {
    #[cold]
    fn add(&self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        let mut mirrors = self.0.take().unwrap_or_default();
        let address = mirrors.add(buffer, count, datatype, does);
        self.0.set(Some(mirrors));
        address
    }

    /// What a request keeps.
    fn into_shared(self) -> Option<tasks::SharedMirrors> {
        let mirrors = self.0.into_inner()?;
        Some(Arc::new(Mutex::new(*mirrors)))
    }
}

/// It is handed about by value: up to so many bytes that is a few instructions, beyond them a call of `memcpy`, which reads what was written
/// just now.
const _: () = assert!(size_of::<Blocking>() <= 128);

impl Form for Blocking {
    type Link = Call<'static>;
    type Done = ();

    #[inline(always)] // As for `Call::new`.
    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = match Switch::Check.is_on() {
            false => None,
            true => check::begin(comm, || format!("MPI_{name}"), When::Now)?,
        };
        let aside = match asking {
            None => OnceCell::new(),
            Some(_) => OnceCell::from(Box::new(Aside {
                asking,
                ..Aside::default()
            })),
        };
        Ok(Self {
            call: Call::new(comm.team())?,
            aside,
        })
    }

    fn mirror(&self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        let aside = self.aside.get_or_init(Box::default);
        aside.mirrored.add(buffer, count, datatype, does)
    }

    #[cold]
    fn instead(on_devices: impl FnOnce() -> Result<bool>) -> Result<Option<()>> {
        on_devices().map(|done| done.then_some(()))
    }

    #[inline]
    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        match self.aside.get() {
            None => Ok(()),
            Some(aside) => compare(aside.asking.as_deref(), state),
        }
    }

    #[inline]
    fn link(&self) -> &Call<'static> {
        &self.call
    }

    #[inline(always)] // As for `Call::new`.
    fn run(self, algorithm: impl FnOnce(&Self::Link) -> Result<()>) -> Result<()> {
        if let Some(mirrors) = self.aside.get().and_then(|aside| aside.mirrored.0.take()) {
            return self.run_mirrored(*mirrors, algorithm);
        }
        let result = algorithm(&self.call);
        self.call.finish(result)
    }
}

impl Blocking {
    #[cold]
    fn run_mirrored(self, mut mirrors: Mirrors, algorithm: impl FnOnce(&Call<'static>) -> Result<()>) -> Result<()> {
        let result = mirrors.load().and_then(|()| algorithm(&self.call));
        let finished = self.call.finish(result);
        mirrors.stored(finished)
    }
}

#[inline]
fn compare(asking: Option<&Asking>, state: impl FnOnce(&mut Terms)) -> Result<()> {
    match asking {
        None => Ok(()),
        Some(asking) => asking.compare(state),
    }
}

/// Completed by a request: goes on whenever progress is made, through shared memory, or as messages that are recorded.
pub(super) struct Immediate {
    recorder: Recorder,
    comm: &'static Comm,
    lane: Lane<'static>,
    asking: Option<Box<Asking>>,
    turn: Option<Turn>,
    kept: RefCell<Kept>,
    launching: Launching<'static>,
    mirrored: Mirrored,
}

impl Form for Immediate {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = check::begin(comm, || format!("MPI_I{}", name.to_ascii_lowercase()), When::Later)?;
        let (tag, turn) = match &asking {
            None => (comm.next_immediate(), Turn::take(comm.team())),
            Some(asking) => (asking.tag_of_messages(), None),
        };
        let lane = Lane::new(comm.team(), tag);
        Ok(Self {
            comm,
            lane,
            launching: Launching::new(lane),
            asking,
            turn,
            kept: RefCell::default(),
            recorder: Recorder::new(comm.team()),
            mirrored: Mirrored::default(),
        })
    }

    fn mirror(&self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        self.mirrored.add(buffer, count, datatype, does)
    }

    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        compare(self.asking.as_deref(), state)
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn keep(&self, datatype: &Type) {
        if datatype.named().is_none() {
            self.kept.borrow_mut().push(datatype.share());
        }
    }

    unsafe fn keep_counts(&self, counts: Counts<'_>) -> Counts<'static> {
        // SAFETY: the owner lives as long as the algorithm.
        let (copy, owner) = unsafe { counts.copied() };
        self.kept.borrow_mut().push(owner);
        copy
    }

    fn run(self, algorithm: impl FnOnce(&Self::Link) -> Result<()>) -> Result<Handle<Request>> {
        let lane = self.lane;
        self.launching.launched();
        let mirrors = self.mirrored.into_shared();
        let launch = || {
            tasks::load(mirrors.as_ref())?;
            algorithm(&self.recorder)?;
            let buffers = self.asking.as_ref().map(|asking| asking.take_buffers());
            let before = self.asking.map(|asking| asking.into_running());
            let request = tasks::launch(self.comm, self.recorder.finish(), lane.tag, before, mirrors)?;
            if let Some(buffers) = buffers {
                ledger::hold_for_collective(request, buffers, true);
            }
            Ok(request)
        };
        launch().inspect_err(|_| lane.fail(&mut enter()))
    }

    fn is_for_later(&self) -> bool {
        self.turn.as_ref().is_some_and(Turn::may_have_board)
    }

    fn run_later<A>(self, algorithm: A) -> Result<Handle<Request>>
    where
        A: AsyncFnOnce(&Self::Link) -> Result<()> + 'static,
    {
        self.launching.launched();
        let turn = self
            .turn
            .ok_or_else(|| fail!(Intern, "a call without a turn was to go on later"))?;
        let mirrors = self.mirrored.into_shared();
        let launch = || {
            tasks::load(mirrors.as_ref())?;
            let task = begin_immediate(turn, self.lane.tag, self.kept.into_inner(), algorithm);
            tasks::launch_task(self.comm, task, mirrors)
        };
        launch().inspect_err(|_| self.lane.fail(&mut enter()))
    }
}

/// Recorded, to be started by a request as often as one likes. Starts need no order: messages are matched by the order of
/// initialization.
pub(super) struct Persistent {
    recorder: Recorder,
    comm: &'static Comm,
    lane: Lane<'static>,
    asking: Option<Box<Asking>>,
    launching: Launching<'static>,
    mirrored: Mirrored,
}

impl Form for Persistent {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = check::begin(comm, || format!("MPI_{name}_init"), When::Now)?;
        let lane = Lane::new(comm.team(), comm.next_persistent());
        Ok(Self {
            asking,
            recorder: Recorder::new(comm.team()),
            comm,
            lane,
            launching: Launching::new(lane),
            mirrored: Mirrored::default(),
        })
    }

    fn mirror(&self, buffer: *mut u8, count: i64, datatype: &Type, does: Use) -> Result<*mut u8> {
        self.mirrored.add(buffer, count, datatype, does)
    }

    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        compare(self.asking.as_deref(), state)
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn run(self, algorithm: impl FnOnce(&Self::Link) -> Result<()>) -> Result<Handle<Request>> {
        let lane = self.lane;
        self.launching.launched();
        let mirrors = self.mirrored.into_shared();
        let prepare = || {
            algorithm(&self.recorder)?;
            let request = tasks::prepare(self.comm, *self.recorder.finish(), lane.tag, mirrors)?;
            if let Some(asking) = &self.asking {
                ledger::hold_for_collective(request, asking.take_buffers(), false);
            }
            Ok(request)
        };
        prepare().inspect_err(|_| lane.fail(&mut enter()))
    }
}

/// A call of the collective `name` (as in `Bcast`) failed before it could begin: its arguments are no arguments at all. It begins
/// all the same, and fails then, as if it had looked at the arguments itself: so the others are told, and the next call finds
/// everyone in step.
#[cold]
pub fn refused(comm: &'static Comm, name: &str) {
    // What it has begun says on its end that the call is given up. If it cannot begin, all know.
    drop(Blocking::begin(comm, name));
}

/// As [`refused`], of a call that a request completes.
#[cold]
pub fn refused_immediate(comm: &'static Comm, name: &str) {
    drop(Immediate::begin(comm, name));
}

/// As [`refused`], of a call that makes a persistent request.
#[cold]
pub fn refused_persistent(comm: &'static Comm, name: &str) {
    drop(Persistent::begin(comm, name));
}

/// The three procedures of a collective, from one text that is generic over the form `F`.
macro_rules! forms {
    (
        $(#[$about:meta])*
        pub unsafe fn $blocking:ident, $immediate:ident, $persistent:ident = $any:ident<$form:ident>(
            $($argument:ident: $type:ty,)*
        ) $body:block
    ) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $blocking($($argument: $type,)*) -> crate::error::Result<()> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::form::Blocking>($($argument,)*) }
        }

        #[doc = concat!("As [`", stringify!($blocking), "`], completed by the request.")]
        ///
        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`], until the request is complete.")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $immediate(
            $($argument: $type,)*
        ) -> crate::error::Result<crate::handle::Handle<crate::request::Request>> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::form::Immediate>($($argument,)*) }
        }

        #[doc = concat!("As [`", stringify!($blocking), "`], by a request that can be started again and again. There are no hints.")]
        ///
        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`], whenever the request is active.")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        pub unsafe fn $persistent(
            $($argument: $type,)*
            _info: Option<&crate::info::Info>,
        ) -> crate::error::Result<crate::handle::Handle<crate::request::Request>> {
            // SAFETY: the caller's promise.
            unsafe { $any::<crate::coll::form::Persistent>($($argument,)*) }
        }

        /// # Safety
        #[doc = concat!("As for [`", stringify!($blocking), "`].")]
        #[allow(clippy::too_many_arguments)] // The standard's.
        unsafe fn $any<$form: crate::coll::form::Form>(
            $($argument: $type,)*
        ) -> crate::error::Result<$form::Done> $body
    };
}
pub(super) use forms;
