//! The forms of a collective: blocking, completed by a request (MPI-5.0 §6.12), persistent (§6.13).
//!
//! One text checks the arguments, selects and runs the algorithm for all of them: it begins with [`Form::begin`], states what
//! it was given ([`Form::compare`]), and ends with [`Form::finish`].

use super::check::{self, Asking, Terms, When};
use super::link::{Call, Lane, Link};
use super::schedule::{self, Recorder};
use crate::comm::Comm;
use crate::error::Result;
use crate::handle::Handle;
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

    /// The algorithm has ended like this.
    fn finish(self, result: Result<()>) -> Result<Self::Done>;
}

/// Done when it returns.
pub(super) struct Blocking {
    call: Call<'static>,
    asking: Option<Box<Asking>>,
}

impl Form for Blocking {
    type Link = Call<'static>;
    type Done = ();

    #[inline]
    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = check::begin(comm, || format!("MPI_{name}"), When::Now)?;
        Ok(Self {
            call: Call::new(comm)?,
            asking,
        })
    }

    #[inline]
    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        compare(self.asking.as_deref(), state)
    }

    #[inline]
    fn link(&self) -> &Call<'static> {
        &self.call
    }

    #[inline]
    fn finish(self, result: Result<()>) -> Result<()> {
        self.call.finish(result)
    }
}

#[inline]
fn compare(asking: Option<&Asking>, state: impl FnOnce(&mut Terms)) -> Result<()> {
    match asking {
        None => Ok(()),
        Some(asking) => asking.compare(state),
    }
}

/// Recorded, started and completed by a request.
pub(super) struct Immediate {
    recorder: Recorder,
    lane: Lane<'static>,
    asking: Option<Box<Asking>>,
}

impl Form for Immediate {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = check::begin(comm, || format!("MPI_I{}", name.to_ascii_lowercase()), When::Later)?;
        let tag = match &asking {
            None => comm.next_immediate(),
            Some(asking) => asking.tag_of_messages(),
        };
        Ok(Self {
            asking,
            recorder: Recorder::new(comm),
            lane: Lane { comm, tag },
        })
    }

    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        compare(self.asking.as_deref(), state)
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn finish(self, result: Result<()>) -> Result<Handle<Request>> {
        result?;
        let before = self.asking.map(|asking| asking.into_running());
        schedule::launch(self.recorder.finish(), self.lane, before)
    }
}

/// Recorded, to be started by a request as often as one likes. Starts need no order: messages are matched by the order of
/// initialization.
pub(super) struct Persistent {
    recorder: Recorder,
    lane: Lane<'static>,
    asking: Option<Box<Asking>>,
}

impl Form for Persistent {
    type Link = Recorder;
    type Done = Handle<Request>;

    fn begin(comm: &'static Comm, name: &str) -> Result<Self> {
        let asking = check::begin(comm, || format!("MPI_{name}_init"), When::Now)?;
        let tag = comm.next_persistent();
        Ok(Self {
            asking,
            recorder: Recorder::new(comm),
            lane: Lane { comm, tag },
        })
    }

    fn compare(&self, state: impl FnOnce(&mut Terms)) -> Result<()> {
        compare(self.asking.as_deref(), state)
    }

    fn link(&self) -> &Recorder {
        &self.recorder
    }

    fn finish(self, result: Result<()>) -> Result<Handle<Request>> {
        result?;
        schedule::prepare(*self.recorder.finish(), self.lane)
    }
}

/// A call of a collective failed before it could begin: its arguments are no arguments at all. Where ranks are checked to call
/// the same it begins nonetheless, and fails then, as if it had looked at the arguments itself: so the others are told, and the
/// next call finds everyone in step.
#[cold]
pub fn refused(comm: &'static Comm, procedure: &str) {
    if !check::concerns(comm) {
        return;
    }
    let name = procedure.strip_prefix("MPI_").unwrap_or(procedure);
    let immediate = name
        .strip_prefix('I')
        .filter(|rest| rest.starts_with(char::is_lowercase));
    // What it has begun says on its end that the arguments are wrong. If it cannot begin, all know.
    match (immediate, name.strip_suffix("_init")) {
        (Some(name), _) => drop(Immediate::begin(comm, name)),
        (_, Some(name)) => drop(Persistent::begin(comm, name)),
        _ => drop(Blocking::begin(comm, name)),
    }
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
